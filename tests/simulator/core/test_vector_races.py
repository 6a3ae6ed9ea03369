# SPDX-License-Identifier: Apache-2.0
"""Each missing piece of synchronisation inside a vector core is found, and its correct twin is silent."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import errors, launch, line_of, output, scratch

TILES = 5


def pipeline(defect: int, mode: str = "checked") -> tuple[dict, np.ndarray, np.ndarray]:
    x = np.arange(TILES * 256, dtype=np.float32)
    y = np.zeros_like(x)
    report = launch("event_pipeline", "vector", [x, output(y), TILES, defect], mode=mode)
    return report, x, y


@pytest.mark.parametrize("defect", [0, 9], ids=["events", "pipe_all"])
@pytest.mark.parametrize("mode", ["fast", "checked"])
def test_correct_pipeline_is_silent(defect: int, mode: str) -> None:
    report, x, y = pipeline(defect, mode)
    assert report["findings"] == []
    np.testing.assert_array_equal(y, x + x)


@pytest.mark.parametrize(
    ("defect", "event", "hazard", "calls"),
    [
        (1, "MTE2_V", "read after write", ("Add", "DataCopy")),
        (2, "V_MTE3", "read after write", ("DataCopy", "Add")),
        (3, "V_MTE2", "write after read", ("DataCopy", "Add")),
        (4, "MTE3_V", "write after read", ("Duplicate", "DataCopy")),
        (10, "MTE2_V", "read after write", ("Add", "DataCopy")),
    ],
    ids=["MTE2_V", "V_MTE3", "V_MTE2", "MTE3_V", "wrong_id"],
)
def test_missing_event_is_found(defect: int, event: str, hazard: str, calls: tuple[str, str]) -> None:
    x = np.arange(TILES * 256, dtype=np.float32)
    found = errors("event_pipeline", "vector", [x, output(np.zeros_like(x)), TILES, defect])
    races = [entry["text"] for entry in found if entry["kind"] == "race"]
    assert len(races) == len(found)
    wanted = [text for text in races if f"HardEvent::{event}>" in text and f"({hazard})" in text]
    assert wanted, "\n".join(races)
    later, earlier = calls
    assert any(text.startswith(f"{later} (event_pipeline.cpp:") for text in wanted)
    assert any(f"{earlier} (event_pipeline.cpp:" in text for text in wanted)
    assert all("block 0 AIV" in text and "UB byte" in text for text in wanted)


@pytest.mark.parametrize(
    ("defect", "pipe", "hazard", "place"),
    [
        (5, "V", "read after write", "UB byte"),
        (6, "V", "write after write", "UB byte"),
        (7, "MTE2", "write after write", "UB byte"),
        (8, "MTE3", "write after write", "'y' byte"),
    ],
)
def test_missing_barrier_is_found(defect: int, pipe: str, hazard: str, place: str) -> None:
    x = np.arange(TILES * 256, dtype=np.float32)
    found = errors("event_pipeline", "vector", [x, output(np.zeros_like(x)), TILES, defect])
    assert len(found) >= 1
    for entry in found:
        assert entry["kind"] == "race"
        assert f"PipeBarrier<PIPE_{pipe}>" in entry["text"]
        assert place in entry["text"]
    assert any(f"({hazard})" in entry["text"] for entry in found)


def test_race_names_both_lines() -> None:
    x = np.arange(TILES * 256, dtype=np.float32)
    found = errors("event_pipeline", "vector", [x, output(np.zeros_like(x)), TILES, 1])
    add = line_of("event_pipeline", "Add(out, in, in, kTile)")
    load = line_of("event_pipeline", "DataCopy(in, source[tile * kTile], kTile)")
    assert f"Add (event_pipeline.cpp:{add}) on block 0 AIV, pipe V, reads" in found[0]["text"]
    assert f"DataCopy (event_pipeline.cpp:{load}) on block 0 AIV, pipe MTE2, writes" in found[0]["text"]


def turnaround(defect: int) -> list:
    x = np.arange(128, dtype=np.float32)
    return [x, scratch(np.zeros_like(x)), output(np.zeros_like(x)), defect]


def test_global_turnaround_is_silent() -> None:
    assert launch("global_turnaround", "vector", turnaround(0))["findings"] == []


@pytest.mark.parametrize(
    ("defect", "event", "place"),
    [
        (1, "MTE3_MTE2", "'scratch' byte"),
        (2, "MTE2_MTE3", "'scratch' byte"),
        (3, "MTE2_S", "UB byte"),
        (4, "V_S", "UB byte"),
        (5, "S_V", "UB byte"),
        (6, "S_MTE3", "UB byte"),
    ],
)
def test_scalar_and_global_order(defect: int, event: str, place: str) -> None:
    found = errors("global_turnaround", "vector", turnaround(defect))
    assert len(found) == 1, "\n".join(entry["text"] for entry in found)
    assert found[0]["kind"] == "race"
    assert f"HardEvent::{event}>" in found[0]["text"] and place in found[0]["text"]


def test_fast_mode_does_not_look_for_races() -> None:
    report, x, y = pipeline(5, "fast")
    assert report["findings"] == []
    np.testing.assert_array_equal(y, x + x)


def test_findings_are_the_same_in_every_run() -> None:
    x = np.arange(TILES * 256, dtype=np.float32)
    args = [x, output(np.zeros_like(x)), TILES, 3]
    first = errors("event_pipeline", "vector", args, blocks=3)
    for _ in range(3):
        assert errors("event_pipeline", "vector", args, blocks=3) == first
