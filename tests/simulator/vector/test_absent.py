# SPDX-License-Identifier: Apache-2.0
"""Vector calls that other architectures have: A2/A3 refuse them, when they are compiled or when they run. And results
that the scalar unit reads from registers: it must wait for the vector pipe."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.device_headers import INCLUDE

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "core"))
from kernels import launch, only_error

RUN_TIME = [
    *(["Scatter"] * 3),
    *(["VectorPadding"] * 3),
    *("MrgSort4", "RpSort16", "ProposalConcat", "ProposalExtract"),
    *("GetReduceMaxMinCount", "GetReduceRepeatMaxMinSpr"),
]
FLEXIBLE = "(t, t, 1.0f, 64)"
COMPILE_TIME = {
    **dict.fromkeys(("Subs", "Divs", "Ands", "Ors", "MulsCast", "FusedMulsCast"), FLEXIBLE),
    "Neg": "(t, t, 64)",
    **dict.fromkeys(("Prelu", "AbsSub", "FusedAbsSub", "ExpSub", "FusedExpSub"), "(t, t, t, 64)"),
    **dict.fromkeys(("Mull", "Interleave", "DeInterleave"), "(t, t, t, t, 64)"),
    "Truncate": "<float, AscendC::RoundMode::CAST_TRUNC>(t, t, 64)",
}


def compiles(call: str) -> subprocess.CompletedProcess[str]:
    source = f'#include "kernel_operator.h"\nvoid Kernel(AscendC::LocalTensor<float> t) {{ AscendC::{call}; }}\n'
    command = [os.environ.get("CXX", "c++"), "-std=c++17", "-fsyntax-only", "-D__DAV_C220_VEC__", f"-I{INCLUDE}"]
    return subprocess.run([*command, "-x", "c++", "-"], input=source, capture_output=True, text=True, check=False)


def test_what_the_architecture_has_compiles() -> None:
    result = compiles("Adds(t, t, 1.0f, 64)")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("name", COMPILE_TIME)
def test_refused_by_the_compiler(name: str) -> None:
    result = compiles(name + COMPILE_TIME[name])
    assert result.returncode != 0
    assert f"{name} is not supported on A2/A3" in result.stderr


@pytest.mark.parametrize("which", range(1, len(RUN_TIME) + 1))
def test_refused_at_run_time(which: int) -> None:
    found = only_error("vector_misuse", "vector", [which], mode="fast")
    assert found["text"].startswith(f"{RUN_TIME[which - 1]} (vector_misuse.cpp:")
    assert "A2/A3" in found["text"]


@pytest.mark.parametrize("mode", ["fast", "checked"])
def test_results_read_after_waiting(mode: str) -> None:
    assert launch("vector_misuse", "vector", [0], mode=mode)["findings"] == []


@pytest.mark.parametrize(
    ("which", "words"),
    [
        (20, ["GetReduceMaxMinCount", "reads the extreme", "WholeReduceMax", "HardEvent::V_S"]),
        (21, ["GetMrgSortResult", "reads the counts", "MrgSort", "HardEvent::V_S"]),
        (22, ["GetAccVal", "a ReduceSum of the element-count form"]),
        (23, ["GetReduceMaxMinCount", "T is", "the element type of the reduction"]),
    ],
)
def test_results_read_too_early_or_wrongly(which: int, words: list[str]) -> None:
    found = only_error("vector_misuse", "vector", [which], mode="checked")
    assert all(word in found["text"] for word in words), found["text"]
