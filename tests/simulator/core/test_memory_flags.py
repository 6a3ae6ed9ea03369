# SPDX-License-Identifier: Apache-2.0
"""Vector cores that meet through words of a workspace: IBSet, ordered turns, GroupBarrier, the soft SyncAll."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import errors, launch, line_of, only_error, scratch

MODES = ["fast", "checked"]
ROW = 32
IB, IB_FORGOTTEN, TURNS, TURNS_MISSING, GROUP, GROUP_ALONE, SOFT, SOFT_TOO_MANY, NOTHING, SOFT_TWICE, SOFT_ABSENT = (
    range(11)
)


def arguments(how: int, words: int = 2048, initialised: bool = True) -> list:
    rows = np.zeros((16, ROW), np.float32)
    return [scratch(rows, "rows", True), scratch(np.zeros(words, np.int32), "flags", initialised), how]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_chain_of_blocks(mode: str, threads: int) -> None:
    args = arguments(IB)
    assert launch("memory_flags", "vector", args, blocks=6, mode=mode, threads=threads)["findings"] == []
    np.testing.assert_array_equal(args[0]["data"][:6, 5], np.arange(1, 7))
    assert not args[1]["data"].any()  # every word is 0 again


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("threads", [1, 2])
def test_blocks_take_turns(mode: str, threads: int) -> None:
    blocks = 5
    args = arguments(TURNS, initialised=False)
    assert launch("memory_flags", "vector", args, blocks=blocks, mode=mode, threads=threads)["findings"] == []
    value = 0.0
    for _ in range(2):
        for block in range(blocks):
            value = value * 2 + block
    assert args[0]["data"][0].tolist() == [value] * ROW


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("blocks", [3, 7])
def test_groups_meet_again_and_again(blocks: int, mode: str, threads: int) -> None:
    args = arguments(GROUP)
    assert launch("memory_flags", "vector", args, blocks=blocks, mode=mode, threads=threads)["findings"] == []
    expected = [20, 21] + [20 + block % 2 for block in range(2, blocks)]
    assert args[0]["data"][:blocks, 0].tolist() == expected


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("threads", [1, 2])
def test_the_first_cores_meet(mode: str, threads: int) -> None:
    args = arguments(SOFT)
    assert launch("memory_flags", "vector", args, blocks=5, mode=mode, threads=threads)["findings"] == []
    assert args[0]["data"][9:12, 0].tolist() == [1, 2, 0]
    assert args[1]["data"][:24].tolist() == [1, 0, 0, 0, 0, 0, 0, 0] * 3


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("how", "call", "words"),
    [
        (IB_FORGOTTEN, "IBWait(data.flags", "blockIdx 1, eventID 1 to become 1"),
        (TURNS_MISSING, "WaitPreBlock(data.flags", "block 0 to call NotifyNextBlock"),
        (GROUP_ALONE, "barrier.Wait(", "GroupBarrier's arrivals"),
        (SOFT_ABSENT, "SyncAll(data.flags", "the other cores' words"),
    ],
    ids=["ib", "turns", "group", "soft"],
)
def test_a_meeting_that_fails_is_a_deadlock(how: int, call: str, words: str, mode: str) -> None:
    found = only_error("memory_flags", "vector", arguments(how), blocks=3, mode=mode)
    assert found["kind"] == "deadlock"
    assert f"(memory_flags.cpp:{line_of('memory_flags', call)}) for {words}" in found["text"]


def test_without_a_meeting_the_blocks_race() -> None:
    found = errors("memory_flags", "vector", arguments(NOTHING), blocks=3)
    assert {entry["kind"] for entry in found} == {"race"}


@pytest.mark.parametrize(("how", "names"), [(IB, ["IBSet", "IBWait"]), (TURNS, ["NotifyNextBlock", "WaitPreBlock"])])
def test_meetings_can_be_ignored(how: int, names: list[str]) -> None:
    calls = launch("memory_flags", "vector", arguments(how), blocks=3, record_sync=True)["sync_calls"]
    assert sorted({call["name"] for call in calls if call["name"] in names}) == names
    own = [call for call in calls if call["name"] in names]
    assert all(call["core"] == "vector" and not call["framework"] for call in own)
    found = errors("memory_flags", "vector", arguments(how), blocks=3, ignored=own)
    assert {entry["kind"] for entry in found} == {"race"}
    sets = [call for call in own if call["name"] == names[0]]
    assert errors("memory_flags", "vector", arguments(how), blocks=3, ignored=sets)[0]["kind"] == "deadlock"


def test_a_meeting_orders_nothing_behind_it() -> None:
    found = only_error("memory_flags", "vector", arguments(SOFT_TWICE), blocks=3)
    assert found["kind"] == "race" and f"'rows' byte {8 * ROW * 4}" in found["text"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", [IB, TURNS, GROUP, SOFT])
def test_a_workspace_that_is_too_small(how: int, mode: str) -> None:
    found = only_error("memory_flags", "vector", arguments(how, words=12), blocks=4, mode=mode, threads=1)
    assert found["kind"] == "bounds" and "but buffer 'flags' has 48 bytes" in found["text"]


@pytest.mark.parametrize("how", [IB, GROUP, SOFT])
def test_a_workspace_that_is_not_zeroed(how: int) -> None:
    found = only_error("memory_flags", "vector", arguments(how, initialised=False), blocks=4)
    assert found["kind"] == "uninitialised" and "must be zero" in found["text"]


@pytest.mark.parametrize("mode", MODES)
def test_a_core_too_many(mode: str) -> None:
    found = only_error("memory_flags", "vector", arguments(SOFT_TOO_MANY), blocks=4, mode=mode)
    assert found["kind"] == "parameter" and "only the first 3 vector cores take part" in found["text"]
