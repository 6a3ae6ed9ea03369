# SPDX-License-Identifier: Apache-2.0
"""Each kind of check catches an engine that lacks the thing it checks for; the unchanged engine passes the same run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from helpers.engine_mutants import Edit, compiler, run_mutant

CUBE = "engine/cube_stages.h"
VECTOR = "engine/vector_stages.h"


def without(file: str, *statements: str) -> tuple[Edit, ...]:
    return tuple(Edit(file, statement, "") for statement in statements)


SYNC_MUTANTS = {
    "fixpipe does not wait for the product": without(
        CUBE,
        "AscendC::SetFlag<AscendC::HardEvent::M_FIX>(CubeEvent::kAccumulator + product);",
        "AscendC::WaitFlag<AscendC::HardEvent::M_FIX>(CubeEvent::kAccumulator + product);",
    ),
    "cube does not wait for P": (
        Edit(CUBE, "AscendC::CrossCoreWaitFlag(CrossCoreFlag::kCubeWaitsForProbs);", ""),
        Edit(
            VECTOR, "AscendC::CrossCoreSetFlag<kCubeVectorMode, PIPE_MTE3>(CrossCoreFlag::kCubeWaitsForProbs);", ""
        ),
    ),
    "scores share one ring slot": tuple(
        Edit(file, "(step.step % kRingSlots) * (kScoreSlotBytes", "(0) * (kScoreSlotBytes") for file in (CUBE, VECTOR)
    ),
    "P is stored before it is computed": without(
        VECTOR,
        "AscendC::SetFlag<AscendC::HardEvent::V_MTE3>(VectorEvent::kStore + buffer);",
        "AscendC::WaitFlag<AscendC::HardEvent::V_MTE3>(VectorEvent::kStore + buffer);",
    ),
    "no barrier after the exponential": (
        Edit(
            VECTOR,
            "AscendC::Exp(scores, scores, count * pitch);\n        AscendC::PipeBarrier<PIPE_V>();",
            "AscendC::Exp(scores, scores, count * pitch);",
        ),
    ),
}  # fmt: skip

VALUE_MUTANTS = {
    "causal edge off by one": (Edit("parts/band_mask.h", "sequence.band_high + 1 -", "sequence.band_high -"),),
    "running output is not rescaled": without(
        VECTOR, "ApplyToRows<RowOperation::kMul>(accumulator, Broadcast(), count, channels_, output_pitch_);"
    ),
    "scale is forgotten": (Edit(VECTOR, "plan_.scale, count", "1.0F, count"),),
}


def test_compiler_is_a_command_of_any_shape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "ccache 'g++ 12' -m64")
    assert compiler(tmp_path) == ["ccache", "g++ 12", "-m64"]
    monkeypatch.delenv("CXX")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("clang++", "c++", "recorded++"):
        (programs / name).write_text("")
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(programs))
    assert compiler(tmp_path) == [str(programs / "clang++")]
    record = tmp_path / str(sys.implementation.cache_tag) / "CMakeFiles" / "3.25.1" / "CMakeCXXCompiler.cmake"
    record.parent.mkdir(parents=True)
    record.write_text(f'set(CMAKE_CXX_COMPILER "{programs}/recorded++")\nset(CMAKE_CXX_COMPILER_ARG1 " g++")\n')
    assert compiler(tmp_path) == [str(programs / "recorded++"), "g++"]
    record.write_text('set(CMAKE_CXX_COMPILER "/gone/c++")\nset(CMAKE_CXX_COMPILER_ARG1 "")\n')
    assert compiler(tmp_path) == [str(programs / "clang++")]
    monkeypatch.setenv("PATH", "")
    with pytest.raises(FileNotFoundError, match="set CXX"):
        compiler(tmp_path)


def test_unchanged_engine_passes(tmp_path: Path) -> None:
    kinds, output = run_mutant(tmp_path, ())
    assert kinds == {"passed"}, output


@pytest.mark.parametrize("name", SYNC_MUTANTS)
def test_missing_synchronisation_is_a_race(tmp_path: Path, name: str) -> None:
    kinds, output = run_mutant(tmp_path, SYNC_MUTANTS[name])
    assert "race" in kinds, output


@pytest.mark.parametrize("name", VALUE_MUTANTS)
def test_wrong_arithmetic_is_a_wrong_result(tmp_path: Path, name: str) -> None:
    kinds, output = run_mutant(tmp_path, VALUE_MUTANTS[name])
    assert kinds == {"wrong-result"}, output


def test_unmasked_tail_is_an_uninitialised_read(tmp_path: Path) -> None:
    edits = (Edit(VECTOR, "const bool tail = step.keys < pitch;", "const bool tail = false;"),)
    kinds, output = run_mutant(tmp_path, edits)
    assert "uninitialised" in kinds, output
