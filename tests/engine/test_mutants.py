# SPDX-License-Identifier: Apache-2.0
"""Each kind of check catches an engine that was changed in the way it checks for; the unchanged engine passes the same
run. What takes no rebuilding, missing synchronisation, is in test_sync_mutation.py."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from helpers.engine_mutants import CASE, SOC, Edit, compiler, run_mutant

import ascend_attention
from ascend_attention._settings import synchronisation

CUBE = "engine/cube_stages.h"
SOFTMAX = "engine/softmax_stage.h"
OUTPUT = "engine/output_stage.h"


def without(file: str, *statements: str) -> tuple[Edit, ...]:
    return tuple(Edit(file, statement, "") for statement in statements)


VALUE_MUTANTS = {
    "causal edge off by one": (Edit("parts/band_mask.h", "sequence.band_high + 1 -", "sequence.band_high -"),),
    "running output is not rescaled": without(
        OUTPUT, "ApplyToRows<RowOperation::kMul>(accumulator, buffers_.Broadcast(), count, channels_, pitch_);"
    ),
    "scale is forgotten": (Edit(SOFTMAX, "plan_.scale, count", "1.0F, count"),),
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


def test_shared_ring_slot_is_a_race(tmp_path: Path) -> None:
    edits = tuple(Edit(file, "(step.step % Heads::kRingSlots) * (Heads::kScoreSlotBytes", "(0) * (Heads::kScoreSlotBytes")
                  for file in (CUBE, SOFTMAX))  # fmt: skip
    kinds, output = run_mutant(tmp_path, edits)
    assert "race" in kinds, output


def test_an_ignored_event_is_one_that_was_not_compiled(tmp_path: Path) -> None:
    """test_sync_mutation.py takes synchronisation out without rebuilding: the finding is that of a rebuilt engine."""
    arguments = CASE.arguments()
    with synchronisation(SOC, "checked", record=True) as block:
        ascend_attention.npu_fused_infer_attention_score_v2(**arguments)
    calls = block.reports()[0]["sync_calls"]
    ignored = [call for call in calls if (call["source"], call["target"]) == ("M", "FIX")]
    with synchronisation(SOC, "checked", ignored=ignored), pytest.raises(ascend_attention.SimulatorError) as caught:
        ascend_attention.npu_fused_infer_attention_score_v2(**arguments)
    edits = without(
        CUBE,
        "AscendC::SetFlag<AscendC::HardEvent::M_FIX>(CubeEvent::kAccumulator + product);",
        "AscendC::WaitFlag<AscendC::HardEvent::M_FIX>(CubeEvent::kAccumulator + product);",
    )
    kinds, output = run_mutant(tmp_path, edits)
    assert kinds == {finding["kind"] for finding in caught.value.findings} == {"race"}
    assert str(caught.value) in output


@pytest.mark.parametrize("name", VALUE_MUTANTS)
def test_wrong_arithmetic_is_a_wrong_result(tmp_path: Path, name: str) -> None:
    kinds, output = run_mutant(tmp_path, VALUE_MUTANTS[name])
    assert kinds == {"wrong-result"}, output


def test_unmasked_tail_is_an_uninitialised_read(tmp_path: Path) -> None:
    edits = (Edit(SOFTMAX, "const bool tail = keys < pitch;", "const bool tail = false;"),)
    kinds, output = run_mutant(tmp_path, edits)
    assert "uninitialised" in kinds, output
