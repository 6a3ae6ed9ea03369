# SPDX-License-Identifier: Apache-2.0
"""What importing loads, and that torch.ops.ascend_attention is there in any order."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import ascend_attention


def run(script: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


LIGHT = ["ascend_attention", "ascend_attention.golden", "ascend_attention.precision"]


@pytest.mark.parametrize("module", LIGHT)
def test_light_imports_load_neither_torch_nor_compiled_parts(module: str) -> None:
    assert run(f"import sys, {module}; print(*{{'torch', 'ascend_attention._core'}} & set(sys.modules))") == ""


@pytest.mark.parametrize("imports", [["torch", *LIGHT], [*LIGHT, "torch"]], ids=["torch first", "torch last"])
def test_light_imports_beside_torch_load_no_compiled_parts(imports: list[str]) -> None:
    script = f"import sys, {', '.join(imports)}; torch.ops.aten; print('ascend_attention._core' in sys.modules)"
    assert run(script) == "False"


def test_numpy_calls_do_not_load_torch() -> None:
    script = """
import sys, numpy, ascend_attention
q = numpy.ones((1, 2, 4, 16), numpy.float16)
out, lse = ascend_attention.npu_fused_infer_attention_score_v2(q, q, q, num_query_heads=2, input_layout="BNSD")
print(out.max(), "torch" in sys.modules)
"""
    assert run(script) == "1.0 False"


OPERATOR = "torch.ops.ascend_attention.npu_fused_infer_attention_score_v2"
# Each ends with a callable of query. What Inductor makes of a graph is judged in test_api_torch_ops: here it would only
# be loaded six times.
USES = {
    "eager": f"call = lambda q: {OPERATOR}(q, q, q, **arguments)[0]",
    "compiled": f"""
call = torch.compile(lambda q: {OPERATOR}(q, q, q, **arguments)[0], fullgraph=True, backend="aot_eager")
""",
    "explicit": f"""
import ascend_attention.torch_ops
call = torch.compile(lambda q: {OPERATOR}.default(q, q, q, **arguments)[0], backend="aot_eager")
""",
    "package-compiled": """
f = ascend_attention.npu_fused_infer_attention_score_v2
call = torch.compile(lambda q: f(q, q, q, **arguments)[0], fullgraph=True, backend="aot_eager")
""",
}
# The imports once, then a child of that process for each use, in which it is the first.
FORKS = """
import os, sys
arguments = dict(num_query_heads=2, input_layout="BNSD")
for name, use in uses.items():
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        exec(use)
        print(name, call(torch.ones(1, 2, 4, 16).half()).max().item(), flush=True)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, name
"""


@pytest.mark.parametrize("imports", ["import torch, ascend_attention", "import ascend_attention, torch"])
def test_operators_are_there_in_any_order(imports: str) -> None:
    printed = run(f"{imports}\nuses = {USES!r}\n{FORKS}")
    assert printed.splitlines() == [f"{name} 1.0" for name in USES]


def test_names() -> None:
    for name in ascend_attention.__all__:
        assert getattr(ascend_attention, name) is not None
    assert set(ascend_attention.__all__) <= set(dir(ascend_attention))
    with pytest.raises(AttributeError, match="no attribute 'flash'"):
        ascend_attention.flash  # noqa: B018
    assert issubclass(ascend_attention.SimulatorError, RuntimeError)
    assert issubclass(ascend_attention.AttentionNotSupported, ascend_attention.AttentionError)
