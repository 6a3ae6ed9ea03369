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


@pytest.mark.parametrize("module", ["ascend_attention", "ascend_attention.golden", "ascend_attention.precision"])
def test_light_imports_load_neither_torch_nor_compiled_parts(module: str) -> None:
    assert run(f"import sys, {module}; print(*{{'torch', 'ascend_attention._core'}} & set(sys.modules))") == ""
    script = f"import torch, sys, {module}; torch.ops.aten; print('ascend_attention._core' in sys.modules)"
    assert run(script) == "False"
    script = f"import {module}, torch, sys; torch.ops.aten; print('ascend_attention._core' in sys.modules)"
    assert run(script) == "False"


def test_numpy_calls_do_not_load_torch() -> None:
    script = """
import sys, numpy, ascend_attention
q = numpy.ones((1, 2, 4, 16), numpy.float16)
out, lse = ascend_attention.npu_fused_infer_attention_score_v2(q, q, q, num_query_heads=2, input_layout="BNSD")
print(out.max(), "torch" in sys.modules)
"""
    assert run(script) == "1.0 False"


CALL = """
q = torch.ones(1, 2, 4, 16).half()
arguments = dict(num_query_heads=2, input_layout="BNSD")
"""
OPERATOR = "torch.ops.ascend_attention.npu_fused_infer_attention_score_v2"


@pytest.mark.parametrize("imports", ["import torch, ascend_attention", "import ascend_attention, torch"])
@pytest.mark.parametrize(
    "use",
    [
        f"print({OPERATOR}(q, q, q, **arguments)[0].max().item())",
        f"print(torch.compile(lambda q: {OPERATOR}(q, q, q, **arguments)[0], fullgraph=True)(q).max().item())",
        "import ascend_attention.torch_ops\n"
        f"print(torch.compile(lambda q: {OPERATOR}.default(q, q, q, **arguments)[0])(q).max().item())",
        "f = ascend_attention.npu_fused_infer_attention_score_v2\n"
        "print(torch.compile(lambda q: f(q, q, q, **arguments)[0], fullgraph=True)(q).max().item())",
    ],
    ids=["eager", "compiled", "explicit", "package-compiled"],
)
def test_operators_are_there_in_any_order(imports: str, use: str) -> None:
    assert run(imports + CALL + use) == "1.0"


def test_names() -> None:
    for name in ascend_attention.__all__:
        assert getattr(ascend_attention, name) is not None
    assert set(ascend_attention.__all__) <= set(dir(ascend_attention))
    with pytest.raises(AttributeError, match="no attribute 'flash'"):
        ascend_attention.flash  # noqa: B018
    assert issubclass(ascend_attention.SimulatorError, RuntimeError)
    assert issubclass(ascend_attention.AttentionNotSupported, ascend_attention.AttentionError)
