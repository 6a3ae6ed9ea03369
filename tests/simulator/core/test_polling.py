# SPDX-License-Identifier: Apache-2.0
"""Flags in global memory that device code itself polls, and what the data cache makes of them."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import errors, launch, line_of, only_error, output, scratch

MODES = ["fast", "checked"]


def arguments(way: int, initialised: bool = True) -> list:
    return [scratch(np.zeros(64, np.int32), "words", initialised), output(np.zeros(1, np.int32)), way]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("way", [0, 1, 2, 8], ids=["cached", "uncached", "both_ways", "tile"])
def test_polling_is_synchronisation(way: int, threads: int, mode: str) -> None:
    args = arguments(way)
    assert launch("polling", "vector", args, blocks=2, mode=mode, threads=threads)["findings"] == []
    assert args[1]["data"][0] == 7
    assert args[0]["data"][0] == (9 if way == 2 else 0 if way == 8 else 7)


@pytest.mark.parametrize(
    ("way", "reader", "writer"),
    [
        (10, "return ReadGmByPassDCache<int32_t>(flag)", "WriteGmByPassDCache<int32_t>(flag, 1)"),
        (3, "ReadGmByPassDCache<int32_t>(flag - kFlag)", "WriteGmByPassDCache<int32_t>(flag - kFlag, 7)"),
        (4, "return ReadGmByPassDCache<int32_t>(flag)", "WriteGmByPassDCache<int32_t>(flag, 1)"),
        (5, "return words.GetValue(kFlag)", "CacheLine::SINGLE_CACHE_LINE"),
        (9, "DataCopy(tile, words[kTileWord], 8)", "DataCopy(words[kTileWord], tile, 8)"),
    ],
    ids=["read_once_first", "no_barrier", "read_once", "read_once_cached", "tile_unfinished"],
)
def test_what_polling_does_not_order_is_a_race(way: int, reader: str, writer: str) -> None:
    found = only_error("polling", "vector", arguments(way), blocks=2)
    assert found["kind"] == "race"
    reads, writes = (0, 1) if way == 10 else (1, 0)
    assert f"(polling.cpp:{line_of('polling', reader)}) on block {reads} AIV" in found["text"]
    assert f"(polling.cpp:{line_of('polling', writer)}) on block {writes} AIV" in found["text"]


def test_polling_a_word_that_nothing_has_set() -> None:
    found = errors("polling", "vector", arguments(1, initialised=False), blocks=2)
    assert {entry["kind"] for entry in found} <= {"uninitialised", "race"}


@pytest.mark.parametrize(
    ("way", "word"),
    [(6, "around the cache since"), (7, "past a dirty line"), (11, "around the cache since")],
    ids=["stale", "dirty", "preloaded"],
)
def test_one_word_by_two_ways(way: int, word: str) -> None:
    found = errors("polling", "vector", arguments(way), blocks=1)
    assert found[0]["kind"] == "data cache" and word in found[0]["text"], found
