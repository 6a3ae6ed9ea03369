# SPDX-License-Identifier: Apache-2.0
"""Order between cores: flags of all modes, SyncAll, deadlocks, the data cache."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import errors, launch, line_of, only_error, output, scratch

MODES = ["fast", "checked"]
TILES = 5


def ring(defect: int, blocks: int = 1, tiles: int = TILES) -> tuple[list, np.ndarray]:
    rng = np.random.default_rng(7)
    left = rng.integers(-8, 8, (blocks * tiles, 16, 16)).astype(np.float16)
    identity = np.eye(16, dtype=np.float16)
    slots = np.zeros((blocks, 2, 256), np.float32)
    y = np.zeros((blocks * tiles, 16, 16), np.float32)
    return [left, identity, scratch(slots, "ring"), output(y), tiles, defect], left.astype(np.float32)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("threads", [1, 3])
def test_ring_is_silent(mode: str, threads: int) -> None:
    args, expected = ring(0, blocks=4)
    assert launch("cross_core", "mix", args, blocks=4, mode=mode, threads=threads)["findings"] == []
    np.testing.assert_array_equal(args[3]["data"], expected)


# A pair without order is a race whichever of the two the simulator happens to run first.
@pytest.mark.parametrize("defect", [2, 3, 7], ids=["set_from_wrong_pipe", "slot_reused_early", "free_from_wrong_pipe"])
def test_broken_ring_is_found(defect: int) -> None:
    found = errors("cross_core", "mix", ring(defect)[0])
    store = "Fixpipe (cube_store.h:"
    load = f"DataCopy (cross_core.cpp:{line_of('cross_core', 'DataCopy(half_tile, slots')})"
    for entry in found:
        assert entry["kind"] == "race"
        text = entry["text"]
        assert store in text and load in text and "'ring' byte" in text, text
        assert "block 0 AIC, pipe FIX" in text and "block 0 AIV" in text and "pipe MTE2" in text
        assert "no chain of cross-core flags" in text


def test_missing_wait_is_a_race_and_a_leftover() -> None:
    found = errors("cross_core", "mix", ring(1)[0])
    assert any(entry["kind"] == "race" and "'ring' byte" in entry["text"] for entry in found)
    left = [entry["text"] for entry in found if entry["kind"] == "flag"]
    assert any("flag 0 of block 0 AIV0 still holds 5 sets" in text for text in left), left


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("threads", [1, 2])
def test_missing_set_is_a_deadlock(mode: str, threads: int) -> None:
    found = only_error("cross_core", "mix", ring(4, blocks=2)[0], blocks=2, mode=mode, threads=threads)
    assert found["kind"] == "deadlock"
    full = line_of("cross_core", "CrossCoreWaitFlag(kFull)")
    empty = line_of("cross_core", "CrossCoreWaitFlag(kEmpty)")
    for block in range(2):
        for sub in range(2):
            assert (
                f"block {block} AIV{sub} waits in CrossCoreWaitFlag (cross_core.cpp:{full}) for flag 0" in found["text"]
            )
        assert f"block {block} AIC waits in CrossCoreWaitFlag (cross_core.cpp:{empty}) for flag 1" in found["text"]


@pytest.mark.parametrize("mode", MODES)
def test_counter_of_the_cube_core_needs_both_vector_cores(mode: str) -> None:
    found = only_error("cross_core", "mix", ring(5, tiles=2)[0], mode=mode)
    assert found["kind"] == "deadlock"
    assert "block 0 AIC waits" in found["text"] and "block 0 AIV0 has finished" in found["text"]


@pytest.mark.parametrize("mode", MODES)
def test_set_that_nobody_consumes(mode: str) -> None:
    found = errors("cross_core", "mix", ring(6)[0], mode=mode)
    assert {entry["kind"] for entry in found} == {"flag"}
    assert "flag 5 of block 0 AIV0 still holds 1 set" in found[0]["text"]
    assert f"cross_core.cpp:{line_of('cross_core', 'CrossCoreSetFlag<2, PIPE_FIX>(5)')}" in found[0]["text"]


@pytest.mark.parametrize("mode", MODES)
def test_sixteenth_set(mode: str) -> None:
    found = only_error("cross_core", "mix", ring(8)[0], mode=mode)
    assert found["kind"] == "flag" and "at most 15" in found["text"]


@pytest.mark.parametrize("mode", MODES)
def test_one_flag_in_two_modes(mode: str) -> None:
    found = errors("cross_core", "mix", ring(9, blocks=1)[0], mode=mode)
    assert any("in mode 2 while sets of mode 0 are still pending" in entry["text"] for entry in found)


@pytest.mark.parametrize("mode", MODES)
def test_flags_of_sync_all_are_reserved(mode: str) -> None:
    findings = launch("cross_core", "mix", ring(10)[0], mode=mode)["findings"]
    assert [entry["severity"] for entry in findings] == ["warning"]
    assert "11 to 14 belong to SyncAll" in findings[0]["text"]


def meeting(how: int, cores: int) -> list:
    exchange = np.zeros((cores, 64), np.float32)
    y = np.zeros_like(exchange)
    flags = np.zeros((cores, 8), np.int32)
    return [scratch(exchange, "exchange"), output(y), scratch(flags, "flags", initialised=True), how]


MEETINGS = [(1, "vector"), (2, "mix"), (3, "vector"), (4, "mix"), (5, "vector"), (7, "mix")]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("how", "kind"), MEETINGS)
def test_meetings_order_all_cores(how: int, kind: str, threads: int, mode: str) -> None:
    blocks = 6
    cores = blocks * (2 if kind == "mix" else 1)
    args = meeting(how, cores)
    assert launch("sync_all", kind, args, blocks=blocks, mode=mode, threads=threads)["findings"] == []
    index = np.arange(cores)
    expected = index ^ 1 if how == 4 else (index + 1) % cores
    np.testing.assert_array_equal(args[1]["data"], np.repeat(expected[:, None], 64, axis=1))


def test_without_a_meeting_it_is_a_race() -> None:
    found = errors("sync_all", "vector", meeting(0, 4), blocks=4)
    assert all(entry["kind"] in ("race", "uninitialised") for entry in found)
    races = [entry["text"] for entry in found if entry["kind"] == "race"]
    assert races and "'exchange' byte" in races[0] and "no chain of cross-core flags" in races[0]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_sync_all_of_one_core_is_a_deadlock(mode: str, threads: int) -> None:
    all_found = errors("sync_all", "vector", meeting(6, 4), blocks=4, mode=mode, threads=threads)
    found = next(entry for entry in all_found if entry["kind"] == "deadlock")
    assert f"block 0 AIV waits in SyncAll (sync_all.cpp:{line_of('sync_all', 'SyncAll<true>();', 1)})" in found["text"]
    for block in range(1, 4):
        assert f"block {block} AIV has finished" in found["text"]


def test_vector_only_kernel_has_no_cube_to_meet() -> None:
    found = only_error("sync_all", "vector", meeting(2, 1), blocks=1)
    assert found["kind"] == "parameter" and "needs a mix kernel" in found["text"]


def cache(which: int) -> list:
    words = np.zeros(32, np.int32)
    y = np.zeros(16, np.int32)
    return [scratch(words, "words", initialised=True), output(y), which]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("which", "expected"), [(0, 7), (4, 7), (7, 0)])
def test_scalar_access_through_the_cache_is_silent(which: int, expected: int, mode: str) -> None:
    args = cache(which)
    assert launch("data_cache", "vector", args, blocks=2, mode=mode)["findings"] == []
    assert args[1]["data"][0] == expected
    if which == 7:
        assert args[0]["data"][0] == 5 and args[0]["data"][16] == 5


@pytest.mark.parametrize(
    ("which", "words"),
    [
        (1, ["SetValue", "still dirty when the kernel ends", "'words' byte 0"]),
        (2, ["has not cleaned", "GetValue", "SetValue"]),
        (3, ["reads a stale line", "DataCacheCleanAndInvalid"]),
        (6, ["writes back the 64-byte line", "into the same line"]),
        (8, ["has not cleaned", "DataCopy"]),
    ],
)
def test_incoherent_cache_is_found(which: int, words: list[str]) -> None:
    found = only_error("data_cache", "vector", cache(which), blocks=2)
    assert found["kind"] == "data cache"
    for word in words:
        assert word in found["text"]


def test_the_compiler_cleans_the_cache_at_the_end() -> None:
    args = cache(1)
    (found,) = launch("data_cache", "vector", args, blocks=2, mode="checked", auto_sync=True)["findings"]
    assert (found["severity"], found["kind"]) == ("warning", "data cache")
    assert "still dirty when the kernel ends" in found["text"]
    assert args[0]["data"][0] == 7


def test_unordered_scalar_access_is_a_race() -> None:
    found = errors("data_cache", "vector", cache(5), blocks=2)
    assert any(entry["kind"] == "race" and "'words' byte 0" in entry["text"] for entry in found)


@pytest.mark.parametrize("rows", [32, 160])
@pytest.mark.parametrize("mode", MODES)
def test_cube_product_is_silent(rows: int, mode: str) -> None:
    args, expected = product(0, rows)
    assert launch("cube_product", "cube", args, mode=mode)["findings"] == []
    np.testing.assert_array_equal(args[2]["data"], np.stack([expected, expected]))


def product(defect: int, rows: int = 32) -> tuple[list, np.ndarray]:
    rng = np.random.default_rng(3)
    a = rng.integers(-4, 5, (rows, 32)).astype(np.float16)
    b = rng.integers(-4, 5, (32, 32)).astype(np.float16)
    c = np.zeros((2, rows, 32), np.float32)
    return [a, b, output(c, "c"), rows, defect], a.astype(np.float32) @ b.astype(np.float32)


@pytest.mark.parametrize(
    ("defect", "event", "place"),
    [
        (1, "MTE2_MTE1", "L1"),
        (2, "MTE1_M", "L0"),
        (3, "M_FIX", "L0C"),
        (4, "MTE1_MTE2", "L1"),
        (5, "M_MTE1", "L0"),
        (6, "FIX_M", "L0C"),
    ],
)
def test_missing_event_of_the_cube_core(defect: int, event: str, place: str) -> None:
    found = errors("cube_product", "cube", product(defect)[0])
    assert {entry["kind"] for entry in found} == {"race"}
    assert any(f"HardEvent::{event}>" in entry["text"] and f" {place}" in entry["text"] for entry in found), "\n".join(
        entry["text"] for entry in found
    )


def test_small_accumulation_needs_a_barrier() -> None:
    found = only_error("cube_product", "cube", product(7, 32)[0])  # 2 x 2 fractals
    assert found["kind"] == "race" and "PipeBarrier<PIPE_M>" in found["text"] and "L0C" in found["text"]


def test_large_accumulation_does_not() -> None:
    args, expected = product(7, 160)  # 10 x 2 fractals
    findings = launch("cube_product", "cube", args)["findings"]
    assert [entry for entry in findings if entry["severity"] == "error"] == []
    np.testing.assert_array_equal(args[2]["data"][1], expected)


def counters(waits: int, same_pipe: int) -> list:
    return [scratch(np.zeros(64, np.float32), "exchange"), output(np.zeros(64, np.float32)), waits, same_pipe]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("waits", "same_pipe"), [(2, 0), (1, 1), (2, 1)])
def test_enough_waits_order_the_store(waits: int, same_pipe: int, mode: str) -> None:
    args = counters(waits, same_pipe)
    assert launch("flag_counters", "mix", args, mode=mode)["findings"] == []
    np.testing.assert_array_equal(args[1]["data"], 3)


def test_one_wait_does_not_tell_which_pipe_has_set() -> None:
    found = errors("flag_counters", "mix", counters(1, 0))
    assert {entry["kind"] for entry in found} == {"race"}
    assert "'exchange' byte 0" in found[0]["text"]


@pytest.mark.parametrize("mode", MODES)
def test_neighbours_within_32_bytes_are_no_race(mode: str) -> None:
    y = np.zeros(8, np.float32)
    assert launch("shared_granule", "vector", [output(y), 0, 0], blocks=8, mode=mode)["findings"] == []
    np.testing.assert_array_equal(y, 1)


def test_stores_to_one_place_are_a_race() -> None:
    found = errors("shared_granule", "vector", [output(np.zeros(8, np.float32)), 1, 0], blocks=3)
    assert found[0]["kind"] == "race" and "(write after write)" in found[0]["text"]
    assert "block 0 AIV" in found[0]["text"] and "block 1 AIV" in found[0]["text"]


@pytest.mark.parametrize("mode", MODES)
def test_atomic_stores_commute(mode: str) -> None:
    y = np.zeros(8, np.float32)
    args = [{"data": y, "name": "y", "writable": True}, 1, 1]
    assert launch("shared_granule", "vector", args, blocks=24, mode=mode, threads=3)["findings"] == []
    assert y[0] == 24
