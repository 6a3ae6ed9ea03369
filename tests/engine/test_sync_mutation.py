# SPDX-License-Identifier: Apache-2.0
"""The engine needs each piece of its synchronisation, and checked mode says so when it is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers import mutate_sync
from helpers.engine_sync import ROOT, SHAPES, case

from ascend_attention.sync_mutation import Study, study, table

WIDE = [shape for shape in SHAPES if shape.name in ("latent", "wide values")]
NARROW = [shape for shape in SHAPES if shape not in WIDE]


def needs_everything(result: Study) -> None:
    assert result.passed and result.share == 1.0, table(result)


def test_every_event_flag_and_barrier_is_missed() -> None:
    result = study([case(shape) for shape in NARROW], roots=[ROOT], kinds=["pair", "barrier"])
    needs_everything(result)
    assert {outcome.verdict for outcome in result.outcomes} == {"race"}, table(result)
    # What op_kernel/engine/flags.h declares: one event or flag per name and direction.
    names = [outcome.mutant.name for outcome in result.of("pair")]
    assert sorted(names) == sorted([
        "flag CrossCoreFlag::kVectorWaitsForScores", "flag CrossCoreFlag::kCubeWaitsForProbs",
        "flag CrossCoreFlag::kVectorWaitsForPartial",
        "flag CrossCoreFlag::kVectorsWaitForFirstParts", "flag CrossCoreFlag::kVectorsWaitForLastParts",
        "flag CrossCoreFlag::kVectorsWaitForLists", "flag CrossCoreFlag::kCubeWaitsForLists",
        "MTE2_MTE1 CubeEvent::kKeys", "MTE1_MTE2 CubeEvent::kKeys",
        "MTE2_MTE1 CubeEvent::kValues", "MTE1_MTE2 CubeEvent::kValues",
        "MTE2_MTE1 CubeEvent::kProbs", "MTE1_MTE2 CubeEvent::kProbs",
        "MTE1_M CubeEvent::kL0", "M_MTE1 CubeEvent::kL0",
        "MTE2_V VectorEvent::kChunk", "V_MTE2 VectorEvent::kChunk",
        "V_MTE3 VectorEvent::kStore", "MTE3_V VectorEvent::kStore", "MTE3_V VectorEvent::kPart",
        "V_MTE3 VectorEvent::kPart",
    ])  # fmt: skip
    barriers = sum(text.count("PipeBarrier<") for text in
                   (path.read_text() for path in (ROOT / "op_kernel").rglob("*.h")))  # fmt: skip
    assert len(result.of("barrier")) == barriers


def test_every_event_and_flag_of_wide_heads_is_missed() -> None:
    """A study of its own: its events have the numbers of other events of the other schedule.

    Three survive, and why: the other vector events between stores are the same code as for narrow heads, where kStore
    is missed, and here a step has too few stores. kQuery says that Q may be overwritten; between the last S of a task
    and the Q of the next one lie the granules of P V, whose own events order the same thing in every request that the
    documents allow (values of more than 256 channels), and P that takes its place follows S. kProbs says that P in L1
    may be overwritten: all but the last step of a core have waited for the vector cores to read P V of the step that
    used it, and before the last one lie three granules of its P V. Narrower values would need both.
    """
    result = study([case(shape) for shape in WIDE], roots=[ROOT], kinds=["pair"])
    assert not result.unread, table(result)
    survivors = {outcome.mutant.name for outcome in result.survivors}
    assert survivors <= {"MTE3_V VectorEvent::kStore", "MTE1_MTE2 WideCubeEvent::kQuery",
                         "MTE1_MTE2 WideCubeEvent::kProbs"}, table(result)  # fmt: skip
    names = {outcome.mutant.name for outcome in result.of("pair")}
    assert {"flag CrossCoreFlag::kCubeWaitsForUpdate",
            "MTE2_MTE1 WideCubeEvent::kGranules", "MTE1_MTE2 WideCubeEvent::kGranules",
            "MTE2_MTE1 WideCubeEvent::kProbs", "MTE2_FIX WideCubeEvent::kProbs"} <= names - survivors  # fmt: skip


def test_program_judges_one_shape(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "ragged.json"
    # Not every barrier executes in one shape, and not every buffer is used again: the gate is for all of them.
    assert mutate_sync.main(["--shape", "ragged", "--kind", "single", "--json", str(file)]) == 1
    printed = capsys.readouterr().out
    assert "NOT EXECUTED: softmax_stage.h:" in printed and "SURVIVED" not in printed and "FAILED" in printed
    mutants = json.loads(file.read_text())["mutants"]
    assert len(mutants) > 40 and all(mutant["unnoticed"] == [] for mutant in mutants)
    assert {mutant["verdict"] for mutant in mutants} == {"race", "pairing only"}
