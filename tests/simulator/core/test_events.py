# SPDX-License-Identifier: Apache-2.0
"""Misuse of in-core events, and the queues that use them."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import errors, launch, line_of, only_error, output

MODES = ["fast", "checked"]


@pytest.mark.parametrize("mode", MODES)
def test_correct_use_is_silent(mode: str) -> None:
    assert launch("event_misuse", "vector", [0], mode=mode)["findings"] == []
    assert launch("cube_event_misuse", "cube", [0], mode=mode)["findings"] == []
    assert launch("cube_event_misuse", "cube", [4], mode=mode)["findings"] == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("which", "kind", "words"),
    [
        (1, "flag", ["SetFlag<HardEvent::MTE2_V>(3)", "has set and nothing has waited for"]),
        (2, "flag", ["SetFlag<HardEvent::V_MTE3>(2)", "never waited for"]),
        (3, "not modelled", ["WaitFlag<HardEvent::MTE3_V>(1)", "no SetFlag before it", "is not modelled"]),
        (4, "parameter", ["eventID is 8", "0..7"]),
        (6, "flag", ["MTE2_M does not exist on this core type"]),
        (7, "flag", ["all eight ids of MTE2_V are taken"]),
        (8, "parameter", ["PipeBarrier<PIPE_M> does not exist"]),
        (9, "deadlock", ["WaitFlag<HardEvent::V_S>(1)", "the core hangs"]),
    ],
)
def test_misuse_is_found(which: int, kind: str, words: list[str], mode: str) -> None:
    found = only_error("event_misuse", "vector", [which], mode=mode)
    assert found["kind"] == kind
    for word in words:
        assert word in found["text"]
    assert "event_misuse.cpp:" in found["text"] and "block 0 AIV" in found["text"]


def test_set_twice_names_both_lines() -> None:
    text = only_error("event_misuse", "vector", [1])["text"]
    first = line_of("event_misuse", "SetFlag<HardEvent::MTE2_V>(3)", 0)
    assert f"event_misuse.cpp:{first + 1}" in text and f"SetFlag (event_misuse.cpp:{first})" in text


@pytest.mark.parametrize("mode", MODES)
def test_reserved_event_id_is_a_warning(mode: str) -> None:
    findings = launch("event_misuse", "vector", [5], mode=mode)["findings"]
    assert [entry["severity"] for entry in findings] == ["warning"]
    assert "event id 7" in findings[0]["text"]


def test_pairs_with_scalar_are_undocumented_on_a_cube_core() -> None:
    findings = launch("cube_event_misuse", "cube", [1])["findings"]
    assert {entry["severity"] for entry in findings} == {"warning"}
    for pair in ("MTE2_S", "MTE3_S", "M_S", "FIX_S", "S_MTE2", "S_MTE3"):
        assert sum(f"lists no use of the pair {pair} on a cube core" in entry["text"] for entry in findings) == 1


def test_a_pair_of_the_other_core_type_is_refused_on_a_cube_core() -> None:
    assert "the pair M_V does not exist" in only_error("cube_event_misuse", "cube", [2])["text"]


@pytest.mark.parametrize("mode", MODES)
def test_cube_pairs_are_dropped_on_a_vector_core(mode: str) -> None:
    findings = launch("event_misuse", "vector", [10], mode=mode)["findings"]
    assert [entry["severity"] for entry in findings] == ["warning"] * 3
    assert "SetFlag (event_misuse.cpp:" in findings[0]["text"] and "MTE1_M does not exist" in findings[0]["text"]
    assert "WaitFlag (event_misuse.cpp:" in findings[2]["text"] and "FIX_M does not exist" in findings[2]["text"]


def test_events_that_tpipe_holds_are_not_free() -> None:
    found = errors("cube_event_misuse", "cube", [3])
    pipe_line = line_of("cube_event_misuse", "TPipe pipe;")
    assert "sets an event that SetFlag (cube_event_misuse.cpp:" + str(pipe_line) in found[0]["text"]


def queue_args(defect: int, tiles: int = 4, blocks: int = 1) -> tuple[list, np.ndarray]:
    count = tiles * 128 * blocks
    x = np.arange(count).astype(np.float16)
    y = (np.arange(count) % 7).astype(np.float16)
    z = np.zeros(count, np.float16)
    return [x, y, output(z, "z"), tiles, defect], (x + y)


@pytest.mark.parametrize("mode", MODES)
def test_queues_are_silent(mode: str) -> None:
    args, expected = queue_args(0, blocks=3)
    assert launch("queue_add", "vector", args, blocks=3, mode=mode)["findings"] == []
    np.testing.assert_array_equal(args[2]["data"], expected)


@pytest.mark.parametrize(
    ("defect", "kind", "words"),
    [
        # Its load is ordered all the same: the event of the second queue, set later by the same pipe, covers it.
        (1, "flag", ["SetFlag<HardEvent::MTE2_V>(0)", "never waited for"]),
        (2, "parameter", ["no buffer of the queue is free"]),
        (3, "race", ["HardEvent::V_MTE3"]),
        (4, "parameter", ["the tensor is not of this queue"]),
        (5, "parameter", ["in the queue already"]),
    ],
)
def test_queue_misuse_is_found(defect: int, kind: str, words: list[str]) -> None:
    tiles = 4 if kind == "parameter" else 1
    found = errors("queue_add", "vector", queue_args(defect, tiles)[0])
    match = [entry for entry in found if entry["kind"] == kind]
    assert match, "\n".join(f"{entry['kind']}: {entry['text']}" for entry in found)
    for word in words:
        assert any(word in entry["text"] for entry in match)
    assert all("queue_add.cpp:" in entry["text"] for entry in match)
