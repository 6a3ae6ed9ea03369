# SPDX-License-Identifier: Apache-2.0
"""Studies of small kernels: what is not needed survives, what is needed is missed, and the report says so."""

from __future__ import annotations

import json
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from kernels import launch, line_of, output, scratch

import ascend_attention
from ascend_attention import _core, _settings
from ascend_attention._report import Finding
from ascend_attention.sync_mutation import BrokenCase, Case, Study, study, table, to_dict
from ascend_attention.sync_mutation._calls import Sources
from ascend_attention.sync_mutation._study import (
    OTHER,
    PAIRING,
    RACE,
    SURVIVED,
    UNDOCUMENTED,
    VERDICTS,
    WRONG_RESULT,
    _verdict,
)  # fmt: skip

WHO: ContextVar[str] = ContextVar("who")
ROOT = Path(__file__).resolve().parents[3]


def run(kernel: str, kind: str, args: list[Any], blocks: int = 1) -> None:
    """A launch as the block around it says."""
    scope = _core.SettingsScope.in_force(_settings._current.get())
    assert scope is not None
    launch(kernel, kind, args, blocks=blocks, mode=scope.settings.mode, soc=scope.settings.soc, log=scope.settings)


def doubling(name: str, again: int, factor: float = 2.0) -> Case:
    x = np.arange(128, dtype=np.float32)

    def double() -> list[np.ndarray]:
        y = np.zeros_like(x)
        run("redundant_sync", "vector", [x, output(y), again])
        return [y]

    return Case(name, double, lambda outputs: np.array_equal(outputs[0], factor * x))


def verdicts(result: Study, kind: str) -> dict[str, str]:
    return {outcome.mutant.name: outcome.verdict for outcome in result.of(kind)}


def test_what_orders_nothing_survives() -> None:
    result = study([doubling("once", 0)], roots=[ROOT])
    assert verdicts(result, "pair") == {"MTE2_V kLoaded": RACE, "V_MTE2 kIdle": SURVIVED, "V_MTE3 kDone": RACE}
    lines = [line_of("redundant_sync", "PipeBarrier<PIPE_V>();", number) for number in range(3)]
    assert {outcome.mutant.where: outcome.verdict for outcome in result.of("barrier")} == {
        f"redundant_sync.cpp:{lines[0]}": SURVIVED,
        f"redundant_sync.cpp:{lines[1]}": RACE,
    }
    assert [str(site) for site in result.unexecuted] == [f"redundant_sync.cpp:{lines[2]}"]
    assert [outcome.mutant.name for outcome in result.survivors] == ["V_MTE2 kIdle", "PipeBarrier<PIPE_V>"]
    assert result.share == 3 / 5 and not result.passed
    text = table(result)
    assert "SURVIVED: V_MTE2 kIdle (redundant_sync.cpp:" in text
    assert f"NOT EXECUTED: redundant_sync.cpp:{lines[2]}" in text
    assert "60.0% of events, flags and barriers are noticed" in text and text.endswith("FAILED")


def test_half_of_an_event_is_always_noticed() -> None:
    singles = study([doubling("once", 0)], roots=[ROOT], kinds=["single"]).of("single")
    assert len(singles) == 6 and all(outcome.unnoticed == () for outcome in singles)
    by_name = {outcome.mutant.name: outcome.verdict for outcome in singles}
    # Without its set nothing after the wait runs, so there is nothing to race with.
    assert {name for name, verdict in by_name.items() if verdict == PAIRING} == {
        "SetFlag of MTE2_V kLoaded", "SetFlag of V_MTE2 kIdle", "WaitFlag of V_MTE2 kIdle", "SetFlag of V_MTE3 kDone",
    }  # fmt: skip
    assert by_name["WaitFlag of MTE2_V kLoaded"] == by_name["WaitFlag of V_MTE3 kDone"] == RACE


def test_cases_are_tried_until_one_notices() -> None:
    cases = [doubling("once", 0), doubling("again", 1)]
    result = study(cases, roots=[ROOT])
    assert result.unexecuted == ()
    tried = {outcome.mutant.where: outcome.tried for outcome in result.of("barrier")}
    lines = [line_of("redundant_sync", "PipeBarrier<PIPE_V>();", number) for number in range(3)]
    assert [tried[f"redundant_sync.cpp:{line}"] for line in lines] == [("once", "again"), ("once",), ("again",)]
    every = study(cases, roots=[ROOT], every_case=True, kinds=["pair"])
    assert {outcome.tried for outcome in every.outcomes} == {("once", "again")}
    assert {outcome.case for outcome in every.outcomes} == {"once"}


def test_a_case_that_fails_unchanged_teaches_nothing() -> None:
    with pytest.raises(BrokenCase, match="thrice: the result of the unchanged kernel is not right"):
        study([doubling("thrice", 0, factor=3.0)])
    x = np.arange(256, dtype=np.float32)
    case = Case("racy", lambda: [run("event_pipeline", "vector", [x, output(np.zeros_like(x)), 1, 5])], lambda _: True)
    with pytest.raises(BrokenCase, match="racy: the unchanged kernel fails: race"):
        study([case])
    plain = doubling("elsewhere", 0)

    def on_a_machine_of_its_own() -> Any:
        with ascend_attention.simulator():
            return plain.run()

    with pytest.raises(BrokenCase, match="elsewhere: no launch reports to the study"):
        study([Case("elsewhere", on_a_machine_of_its_own, plain.right)])


def test_runs_see_the_blocks_of_the_caller() -> None:
    seen: list[str] = []
    plain = doubling("once", 0)

    def double() -> Any:
        seen.append(WHO.get())
        return plain.run()

    WHO.set("the caller")
    study([Case("once", double, plain.right)], kinds=["pair"])
    assert len(seen) == 1 + 3 * 2 and set(seen) == {"the caller"}


def test_a_helper_shared_by_events_does_not_mix_them() -> None:
    """event_pipeline sets all its events on one line, slot by slot: each id of each pair is an event of its own."""
    x = np.arange(5 * 256, dtype=np.float32)

    def double() -> list[np.ndarray]:
        y = np.zeros_like(x)
        run("event_pipeline", "vector", [x, output(y), 5, 0])
        return [y]

    result = study([Case("pipeline", double, lambda outputs: np.array_equal(outputs[0], 2 * x))], kinds=["pair"])
    pairs = ("MTE2_V", "V_MTE2", "V_MTE3", "MTE3_V")
    assert verdicts(result, "pair") == {f"{pair} {slot}": RACE for pair in pairs for slot in range(2)}


def test_cross_core_flags_go_by_who_waits() -> None:
    left = np.arange(5 * 256, dtype=np.float16).reshape(5, 16, 16) % 7

    def pass_on() -> list[np.ndarray]:
        y = np.zeros((5, 16, 16), np.float32)
        slots = scratch(np.zeros((1, 2, 256), np.float32), "ring")
        run("cross_core", "mix", [left, np.eye(16, dtype=np.float16), slots, output(y), 5, 0])
        return [y]

    result = study([Case("ring", pass_on, lambda outputs: np.array_equal(outputs[0], left))], roots=[ROOT])
    assert {name: verdict for name, verdict in verdicts(result, "pair").items() if name.startswith("flag")} == {
        "flag kFull": RACE, "flag kEmpty": RACE,
    }  # fmt: skip
    full = next(outcome for outcome in result.outcomes if outcome.mutant.name == "flag kFull")
    assert {(call.name, call.core) for call in full.mutant.calls} == {
        ("CrossCoreSetFlag", "cube"), ("CrossCoreWaitFlag", "vector"),
    }  # fmt: skip


@pytest.mark.parametrize(("how", "kind", "cores"), [(1, "vector", 2), (2, "mix", 4)])
def test_a_meeting_of_all_cores_goes_as_a_whole(how: int, kind: str, cores: int) -> None:
    def exchange() -> list[np.ndarray]:
        y = np.zeros((cores, 64), np.float32)
        rows = scratch(np.zeros((cores, 64), np.float32), "exchange")
        run("sync_all", kind, [rows, output(y), scratch(np.zeros(8 * cores, np.int32), "flags"), how], blocks=2)
        return [y]

    def right(outputs: Any) -> bool:
        return np.array_equal(outputs[0][:, 0], np.roll(np.arange(cores), -1))

    result = study([Case("exchange", exchange, right)], kinds=["pair"])
    meeting = next(outcome for outcome in result.outcomes if outcome.mutant.name == "SyncAll")
    assert meeting.verdict == RACE and {call.core for call in meeting.mutant.calls} == (
        {"vector"} if kind == "vector" else {"cube", "vector"}
    )


def test_the_data_cache_is_a_barrier_of_its_own() -> None:
    def pass_on() -> list[np.ndarray]:
        words, y = np.zeros(64, np.int32), np.zeros(8, np.int32)
        run("data_cache", "vector", [scratch(words, "words", initialised=True), output(y), 0], blocks=2)
        return [y]

    result = study([Case("pass", pass_on, lambda outputs: outputs[0][0] == 7)], roots=[ROOT], kinds=["barrier"])
    (cache,) = [outcome for outcome in result.outcomes if outcome.mutant.name == "DataCacheCleanAndInvalid"]
    assert cache.verdict == OTHER and "cache" in cache.finding
    assert cache.other_bits == ()  # fast mode has no cache that could be stale


def test_queues_have_no_synchronisation_of_the_kernels_own() -> None:
    x = np.ones(256, np.float16)

    def add() -> list[np.ndarray]:
        z = np.zeros_like(x)
        run("queue_add", "vector", [x, x, output(z), 2, 0])
        return [z]

    result = study([Case("queues", add, lambda outputs: bool((outputs[0] == 2).all()))])
    assert result.outcomes == () and result.unexecuted == () and result.passed


def test_the_source_is_found_however_the_build_recorded_it(tmp_path: Path) -> None:
    root = tmp_path / "project"
    kernel, other = root / "tests/kernels/copy.cpp", root / "copy.cpp"
    for file in (kernel, other):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    sources = Sources([tmp_path / "elsewhere", root])
    for recorded in (
        str(kernel),
        "tests/kernels/copy.cpp",
        "../../tests/kernels/copy.cpp",
        "../work/project/tests/kernels/copy.cpp",
        "/built/on/another/machine/tests/kernels/copy.cpp",
    ):
        assert sources.path(recorded) == kernel
    assert sources.path("../kernels/copy.cpp") == other
    assert sources.path("tests/kernels/add.cpp") is None
    assert Sources([root / "tests"]).path("../../tests/kernels/copy.cpp") == kernel


def test_without_the_source_there_are_ids_instead_of_names_and_no_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Sources, "path", lambda self, file: None)
    result = study([doubling("once", 0)], roots=[ROOT], kinds=["pair"])
    assert verdicts(result, "pair") == {"MTE2_V 0": RACE, "V_MTE2 2": SURVIVED, "V_MTE3 3": RACE}
    assert len(result.unread) == 1 and result.unread[0].endswith("redundant_sync.cpp") and not result.passed
    assert f"NOT READ: {result.unread[0]}" in table(result)


def finding(severity: str, kind: str) -> Finding:
    return Finding(severity, kind, f"the {kind}")


def test_verdicts_are_the_strongest_evidence() -> None:
    race, flag = finding("error", "race"), finding("error", "flag")
    other, open_order = finding("error", "uninitialised"), finding("undocumented order", "undocumented order")
    ladder = [
        (RACE, [flag, open_order, other, race], True, "the race"),
        (WRONG_RESULT, [flag, open_order, other], True, "the result is not right"),
        (OTHER, [flag, open_order, other], False, "the uninitialised"),
        (UNDOCUMENTED, [flag, open_order], False, "the undocumented order"),
        (PAIRING, [flag, finding("error", "deadlock")], False, "the flag"),
        (PAIRING, [finding("error", "not modelled")], False, "the not modelled"),
        (SURVIVED, [], False, ""),
    ]
    for verdict, findings, wrong, text in ladder:
        assert _verdict(findings, wrong) == (verdict, text)
    assert [verdict for verdict, *_ in ladder if verdict != PAIRING] == [v for v in VERDICTS if v != PAIRING]


def test_a_study_is_plain_data_too() -> None:
    result = study([doubling("once", 0)], roots=[ROOT], kinds=["pair"])
    data = json.loads(json.dumps(to_dict(result)))
    assert data["share"] == 2 / 3 and data["passed"] is False and data["cases"] == ["once"]
    loaded = data["mutants"][0]
    assert loaded["name"] == "MTE2_V kLoaded" and loaded["verdict"] == RACE and loaded["wrong"] == []
    assert "HardEvent::MTE2_V" in loaded["finding"] and len(loaded["sites"]) == 2
