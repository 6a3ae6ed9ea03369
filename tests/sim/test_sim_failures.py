# SPDX-License-Identifier: Apache-2.0
"""A kernel that misbehaves ends in a SimulatorError with its line; Python goes on, and so does the next launch."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import ascend_attention
from ascend_attention import sim

KERNEL = Path(__file__).parent / "kernels" / "faults.cpp"
X = np.arange(64, dtype=np.float32)
# What the compiler makes of a function's start, and of a loop, belongs to a line beside the one that is meant.
NEAR = {"stack overflow": (-3, -2, -1, 0, 1), "stall": (-1, 0)}


def line(text: str) -> int:
    return next(n for n, source in enumerate(KERNEL.read_text().splitlines(), 1) if text in source)


@pytest.fixture(scope="module")
def fault(session_cache: Path) -> sim.Kernel:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_ATTENTION_CACHE", str(session_cache))
        return sim.compile(KERNEL)


@pytest.mark.parametrize("mode", ["fast", "checked"])
@pytest.mark.parametrize(
    ("which", "kind", "comment"),
    [
        (1, "bounds", "// out of bounds"),
        (2, "parameter", "// misuse of a queue"),
        (3, "instruction limit", "// hangs, with calls"),
        (4, "not modelled", "// hangs, on a flag"),
        (5, "exception", ""),
        (6, "assert", "// asserts"),
        (7, "uninitialised", "// uninitialised"),
        (8, "stack overflow", "room["),
        (9, "memory fault", "// a wild pointer"),
        (10, "stall", "depth = depth + 1"),
        (11, "bounds", "// goes on after its end"),
        (12, "abort", "// raises a signal"),
    ],
)
def test_fault_ends_the_launch_only(which: int, kind: str, comment: str, mode: str, fault: sim.Kernel) -> None:
    if kind == "uninitialised" and mode == "fast":
        assert fault(X, sim.Out(np.zeros_like(X)), which, mode=mode).ok  # what fast mode does not look for
        return
    y = np.zeros_like(X)
    for _ in range(2):
        with pytest.raises(sim.SimulatorError) as caught:
            fault(X, sim.Out(y), which, mode=mode, instruction_limit=5000, stall_seconds=0.3)
        text = str(caught.value)
        assert text.startswith(kind) and not y.any()
        assert not comment or any(f"faults.cpp:{line(comment) + near}" in text for near in NEAR.get(kind, (0,)))
        assert fault(X, sim.Out(y), 0, mode=mode).ok and np.array_equal(y, X)
        y[:] = 0


def test_error_has_a_report(fault: sim.Kernel) -> None:
    with ascend_attention.simulator(mode="checked", soc="Ascend910B4") as run:
        fault(X, sim.Out(np.zeros_like(X)), 0)
        with pytest.raises(sim.SimulatorError) as caught:
            fault(X, sim.Out(np.zeros_like(X)), 1)
    error = caught.value
    assert isinstance(error, ascend_attention.SimulatorError) and isinstance(error.report, sim.Report)
    assert error.findings == error.report.findings and error.findings[0].kind == error.findings[0]["kind"] == "bounds"
    assert error.report.launches[0].kernel == "fault" and error.report.launches[0].soc == "Ascend910B4"
    assert [len(launch.findings) for launch in run.report.launches] == [0, 1]  # the block hears of both
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.report, again.findings) == (str(error), error.report, error.findings)


def test_result_instead_of_an_error(fault: sim.Kernel) -> None:
    y = np.zeros_like(X)
    result = fault(X, sim.Out(y), 7, mode="checked", check=False)
    assert not result.ok and isinstance(result.error, sim.SimulatorError)
    assert [finding.kind for finding in result.findings] == ["uninitialised"] and result.outputs[0] is y
    assert np.isnan(y).all()  # what the kernel wrote by then
    assert fault(X, sim.Out(y), 0, check=False).ok


def test_input_that_the_kernel_writes(fault: sim.Kernel) -> None:
    x, y = X.copy(), np.zeros_like(X)
    with pytest.raises(sim.SimulatorError, match=r"read-only: .* buffer 'y', which is an input"):
        fault(x, y, 0)
    assert not y.any()


UNORDERED = """
#include "kernel_operator.h"
using namespace AscendC;
extern "C" __global__ __aicore__ void unordered(GM_ADDR y) {
    TPipe pipe;
    TQue<TPosition::VECOUT, 1> output;
    pipe.InitBuffer(output, 1, 256);
    LocalTensor<float> tile = output.AllocTensor<float>();
    Duplicate(tile, 1.0F, 64);
    Adds(tile, tile, 2.0F, 64);
    output.EnQue(tile);
    tile = output.DeQue<float>();
    GlobalTensor<float> to;
    to.SetGlobalBuffer(reinterpret_cast<__gm__ float*>(y), 64);
    DataCopy(to, tile, 64);
    output.FreeTensor(tile);
}
"""


def test_synchronisation_of_the_vendors_compiler_is_on_unless_refused() -> None:
    kernel = sim.compile(UNORDERED)
    assert (kernel(sim.Out.empty(64, np.float32), mode="checked").outputs[0] == 3).all()
    with pytest.raises(sim.SimulatorError, match=r"race: Adds \(kernel\.cpp:10\) .*Duplicate \(kernel\.cpp:9\)"):
        kernel(sim.Out.empty(64, np.float32), mode="checked", auto_sync=False)


def test_name_of_a_file_that_is_no_text(tmp_path: Path) -> None:
    hostile = tmp_path / "hostile.cpp"
    hostile.write_bytes(b'#line 3 "/some/where/k\xff.cpp"\n' + KERNEL.read_bytes())
    with pytest.raises(sim.SimulatorError, match=r"k\\xff\.cpp:\d+") as caught:
        sim.compile(hostile)(X, sim.Out(np.zeros_like(X)), 1, mode="fast")
    assert "k\\xff.cpp" in caught.value.findings[0].text
