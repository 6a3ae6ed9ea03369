# SPDX-License-Identifier: Apache-2.0
"""A launch lists its synchronisation calls, and can run as if some of them were not there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from kernels import SimulatorError, errors, launch, line_of, output, scratch

from ascend_attention import _core

MODES = ["fast", "checked"]
TILES = 5


def pipeline(**settings: Any) -> tuple[dict[str, Any], np.ndarray, np.ndarray]:
    x = np.arange(TILES * 256, dtype=np.float32)
    y = np.zeros_like(x)
    return launch("event_pipeline", "vector", [x, output(y), TILES, 0], **settings), x, y


def ring_arguments(tiles: int = TILES, blocks: int = 1) -> list[Any]:
    left = np.ones((blocks * tiles, 16, 16), np.float16)
    slots, y = np.zeros((blocks, 2, 256), np.float32), np.zeros((blocks * tiles, 16, 16), np.float32)
    return [left, np.eye(16, dtype=np.float16), scratch(slots, "ring"), output(y), tiles, 0]


def find(calls: list[dict[str, Any]], **wanted: Any) -> list[dict[str, Any]]:
    return [call for call in calls if all(call[key] == value for key, value in wanted.items())]


def test_nothing_is_recorded_unless_asked_for() -> None:
    assert "sync_calls" not in pipeline()[0]


@pytest.mark.parametrize("mode", MODES)
def test_every_call_is_listed_once_with_its_count(mode: str) -> None:
    calls = pipeline(mode=mode, record_sync=True)[0]["sync_calls"]
    line = line_of("event_pipeline", "SetFlag<event>(slot)")
    sets = find(calls, name="SetFlag", line=line)
    assert {(call["source"], call["target"], call["id"]): call["count"] for call in sets} == {
        # Two slots: once before the loop for the "free" events, then once a tile, odd tiles in slot 1.
        ("V", "MTE2", 0): 4, ("V", "MTE2", 1): 3, ("MTE2", "V", 0): 3, ("MTE2", "V", 1): 2,
        ("V", "MTE3", 0): 3, ("V", "MTE3", 1): 2, ("MTE3", "V", 0): 4, ("MTE3", "V", 1): 3,
    }  # fmt: skip
    assert all(call["core"] == "vector" and call["file"].endswith("event_pipeline.cpp") for call in sets)
    waits = find(calls, name="WaitFlag")
    assert sum(call["count"] for call in waits) == sum(call["count"] for call in sets)
    barriers = {
        call["line"]: (call["source"], call["count"]) for call in find(calls, name="PipeBarrier", framework=False)
    }
    assert barriers == {
        line_of("event_pipeline", "PipeBarrier<PIPE_MTE2>();", 0): ("MTE2", 1),
        line_of("event_pipeline", "PipeBarrier<PIPE_V>();", 0): ("V", TILES),
        line_of("event_pipeline", "PipeBarrier<PIPE_V>();", 1): ("V", TILES),
        line_of("event_pipeline", "PipeBarrier<PIPE_MTE3>();", 0): ("MTE3", 1),
    }
    # TPipe's destructor.
    assert [(call["source"], call["count"]) for call in find(calls, framework=True)] == [("ALL", 1)]
    assert [call["line"] for call in calls] == sorted(call["line"] for call in calls)


def test_counts_of_all_cores_are_summed_whichever_thread_ran_them() -> None:
    reports = [
        launch("cross_core", "mix", ring_arguments(blocks=3), blocks=3, mode="fast", threads=threads, record_sync=True)
        for threads in (1, 3)
    ]
    assert reports[0]["sync_calls"] == reports[1]["sync_calls"]
    calls = reports[0]["sync_calls"]
    assert [(call["core"], call["source"], call["mode"], call["id"], call["count"])
            for call in find(calls, name="CrossCoreSetFlag")] == [
        ("cube", "FIX", 2, 0, 3 * TILES), ("vector", "MTE2", 2, 1, 3 * 2 * TILES)]  # fmt: skip
    assert sum(call["count"] for call in find(calls, name="CrossCoreWaitFlag", core="cube")) == 3 * TILES
    assert {call["mode"] for call in find(calls, name="CrossCoreWaitFlag")} == {-1}


def test_an_ignored_event_is_a_race_in_checked_mode_only() -> None:
    plain, _, _ = pipeline(record_sync=True)
    ignored = find(plain["sync_calls"], source="MTE2", target="V")
    block = _core.default_settings().with_simulator("Ascend910B2", "checked")
    with pytest.raises(SimulatorError) as caught:
        pipeline(record_sync=True, ignored=ignored, log=block)
    assert {entry["kind"] for entry in caught.value.findings} == {"race"}
    assert "HardEvent::MTE2_V" in caught.value.findings[0]["text"]
    # Ignored calls are listed and counted all the same.
    assert block.reports()[0]["sync_calls"] == plain["sync_calls"]
    assert block.reports()[0]["instructions"] == plain["instructions"]
    report, x, y = pipeline(mode="fast", ignored=ignored)
    assert report["findings"] == [] and "sync_calls" not in report
    np.testing.assert_array_equal(y, 2 * x)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("name", "kind"), [("SetFlag", "not modelled"), ("WaitFlag", "flag")])
def test_half_an_event_is_an_error(name: str, kind: str, mode: str) -> None:
    calls = pipeline(record_sync=True)[0]["sync_calls"]
    half = find(calls, name=name, source="V", target="MTE3", id=1)
    with pytest.raises(SimulatorError) as caught:
        pipeline(mode=mode, ignored=half)
    assert kind in {entry["kind"] for entry in caught.value.findings}


def test_a_single_barrier_of_several() -> None:
    calls = pipeline(record_sync=True)[0]["sync_calls"]
    for occurrence, hazard in ((0, "write after write"), (1, "read after write")):
        line = line_of("event_pipeline", "PipeBarrier<PIPE_V>();", occurrence)
        with pytest.raises(SimulatorError) as caught:
            pipeline(ignored=find(calls, name="PipeBarrier", line=line))
        assert {entry["kind"] for entry in caught.value.findings} == {"race"}
        assert hazard in caught.value.findings[0]["text"]


@pytest.mark.parametrize("threads", [1, 2])
def test_ignored_cross_core_flags(threads: int) -> None:
    calls = launch("cross_core", "mix", ring_arguments(), record_sync=True)["sync_calls"]
    full = [call for call in calls if call["name"].startswith("CrossCore") and call["id"] == 0]
    assert {call["name"] for call in full} == {"CrossCoreSetFlag", "CrossCoreWaitFlag"}
    assert {entry["kind"] for entry in errors("cross_core", "mix", ring_arguments(), ignored=full)} == {"race"}
    # In fast mode nothing is left that holds anybody back, so the vector cores may read what is not there yet.
    launch("cross_core", "mix", ring_arguments(blocks=2), blocks=2, mode="fast", threads=threads, ignored=full)
    found = errors("cross_core", "mix", ring_arguments(), ignored=find(full, name="CrossCoreSetFlag"), mode="fast")
    assert [entry["kind"] for entry in found] == ["deadlock"]


@pytest.mark.parametrize(("how", "kind", "mode"), [(1, "vector", 1), (2, "mix", 0), (5, "vector", 1)])
def test_sync_all_is_one_call(how: int, kind: str, mode: int) -> None:
    cores = 2 if kind == "vector" else 4
    arguments = [
        scratch(np.zeros((cores, 64), np.float32), "exchange"), output(np.zeros((cores, 64), np.float32)),
        scratch(np.zeros(cores * 8, np.int32), "flags", initialised=True), how,
    ]  # fmt: skip
    calls = launch("sync_all", kind, arguments, blocks=2, record_sync=True)["sync_calls"]
    meetings = find(calls, name="SyncAll")
    assert {(call["core"], call["count"], call["mode"]) for call in meetings} == (
        {("vector", 2, mode)} if kind == "vector" else {("cube", 2, mode), ("vector", 4, mode)}
    )
    assert len({call["line"] for call in meetings if call["core"] == "vector"}) == 1
    assert find(calls, name="PipeBarrier", framework=False) == []  # the one inside SyncAll belongs to it
    found = errors("sync_all", kind, arguments, blocks=2, ignored=meetings)
    assert {entry["kind"] for entry in found} <= {"race", "uninitialised"} and found[0]["kind"]


def test_a_call_that_the_kernel_does_not_make_changes_nothing() -> None:
    calls = pipeline(record_sync=True)[0]["sync_calls"]
    for field, other in (("line", 1), ("core", "cube"), ("id", 5), ("file", "event_pipeline.cpp"), ("mode", 2)):
        elsewhere = [{**call, field: other} for call in calls if not call["framework"]]
        assert pipeline(ignored=elsewhere)[0]["findings"] == [], field


def test_calls_of_the_framework_are_marked() -> None:
    x = np.ones(2 * 128, np.float16)
    calls = launch("queue_add", "vector", [x, x, output(np.zeros_like(x)), 2, 0], record_sync=True)["sync_calls"]
    assert calls and all(call["framework"] for call in calls)
    enqueue = line_of("queue_add", "first.EnQue(in_a);")
    assert {(call["name"], call["source"], call["target"]) for call in find(calls, line=enqueue)} == {
        ("SetFlag", "MTE2", "V")
    }


@pytest.mark.parametrize(("field", "value"), [("core", "scalar"), ("source", "MTE9"), ("target", "")])
def test_calls_that_mean_nothing_are_refused(field: str, value: str) -> None:
    call = pipeline(record_sync=True)[0]["sync_calls"][0]
    with pytest.raises(ValueError, match=value or "unknown pipe"):
        pipeline(ignored=[{**call, field: value}])


def test_settings_of_a_block_say_it_too() -> None:
    block = _core.default_settings().with_simulator("Ascend910B2", "checked").with_sync(True, [])
    calls = pipeline(log=block)[0]["sync_calls"]
    assert block.reports()[0]["sync_calls"] == calls
    without = block.with_sync(False, find(calls, source="V", target="MTE3"))
    with pytest.raises(SimulatorError, match="race"):
        pipeline(log=without)
    with pytest.raises(SimulatorError, match="instruction limit"):
        pipeline(log=block.with_instruction_limit(20))
    assert pipeline(log=block.with_instruction_limit(20), instruction_limit=1000)[0]["findings"] == []
    with pytest.raises(ValueError, match="unknown pipe"):
        block.with_sync(
            False,
            [{"name": "SetFlag", "core": "cube", "source": "X", "target": "M", "mode": -1, "id": 0,
              "framework": False, "file": "", "line": 1}],
        )  # fmt: skip
