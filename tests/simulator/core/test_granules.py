# SPDX-License-Identifier: Apache-2.0
"""Order of instructions that touch a 32-byte unit of memory piece by piece: each piece has its own history."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import errors, launch, scratch

SCENES = ["read_other_lane", "reduce_ahead", "store_after_vector", "store_after_both", "overwrite_after_reads"]


def arguments(scene: int, wrong: bool) -> list:
    x = np.arange(512, dtype=np.float32)
    y = {"data": np.zeros(8, np.float32), "name": "y", "writable": True}
    return [x, y, 2 * scene + int(wrong)]


@pytest.mark.parametrize("scene", range(len(SCENES)), ids=SCENES)
def test_ordered_pieces_are_silent(scene: int) -> None:
    args = arguments(scene, False)
    assert launch("granule", "vector", args)["findings"] == []
    assert args[1]["data"][0] == (63 if scene in (2, 3) else 0)


@pytest.mark.parametrize(
    ("scene", "words"),
    [
        (0, ["Duplicate", "UB byte 0", "GetValue", "write after read", "HardEvent::S_V"]),
        (1, ["GetValue", "UB byte 2076", "WholeReduceMax", "read after write", "HardEvent::V_S"]),
        (2, ["DataCopyPad", "UB byte 2048", "WholeReduceMax", "read after write", "HardEvent::V_MTE3"]),
        (3, ["DataCopyPad", "UB byte 2048", "WholeReduceMax", "read after write", "HardEvent::V_MTE3"]),
        (4, ["Duplicate", "UB byte 28", "GetValue", "write after read", "HardEvent::S_V"]),
    ],
    ids=SCENES,
)
def test_one_piece_without_order_is_a_race(scene: int, words: list[str]) -> None:
    found = errors("granule", "vector", arguments(scene, True))
    assert [entry["kind"] for entry in found] == ["race"]
    for word in words:
        assert word in found[0]["text"], found[0]["text"]


@pytest.mark.parametrize(("scene", "blocks"), [(0, 2), (1, 3)])
def test_ordered_pieces_of_global_memory_are_silent(scene: int, blocks: int) -> None:
    words = np.zeros(8, np.float32)
    args = [scratch(words, "words", initialised=True), 2 * scene]
    assert launch("granule_global", "vector", args, blocks=blocks)["findings"] == []
    np.testing.assert_array_equal(words, [1, 1, 1, 1, 0, 0, 0, 0] if scene == 0 else np.full(8, 3))


@pytest.mark.parametrize(
    ("scene", "blocks", "words"),
    [
        (0, 2, ["write after read", "block 1 AIV, pipe MTE3", "block 0 AIV, pipe MTE2"]),
        (1, 3, ["write after write", "block 1 AIV, pipe MTE3", "block 0 AIV, pipe MTE3"]),
    ],
    ids=["write_what_is_read", "add_before_the_store"],
)
def test_one_piece_of_global_memory_without_order_is_a_race(scene: int, blocks: int, words: list[str]) -> None:
    args = [scratch(np.zeros(8, np.float32), "words", initialised=True), 2 * scene + 1]
    found = errors("granule_global", "vector", args, blocks=blocks)
    assert [entry["kind"] for entry in found] == ["race"]
    for word in words:
        assert word in found[0]["text"], found[0]["text"]
