# SPDX-License-Identifier: Apache-2.0
"""Timed mode executes as fast mode does: the same results and errors. It refuses what a replay cannot tell the time of,
however the host's threads happen to run, and its prediction does not depend on them."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import errors, launch, only_error, output, scratch
from test_cross_core import MEETINGS, cache, meeting, product, ring
from test_memory_flags import GROUP, IB, SOFT, TURNS, arguments

CACHED, UNCACHED, TWICE, READ_ONCE, READ_ONCE_LATER = 0, 1, 2, 4, 10
MOVED, MOVED_ONCE, STORED = 12, 13, 14
SOFT_MEETING = 5


def predict(*args: object, **settings: object) -> dict:
    timing = launch(*args, mode="timed", **settings)["timing"]  # type: ignore[arg-type]
    assert timing["middle"]["cycles"] > 0
    return timing


@pytest.mark.parametrize("way", [CACHED, UNCACHED, TWICE, READ_ONCE, READ_ONCE_LATER, MOVED, MOVED_ONCE, STORED])
@pytest.mark.parametrize("threads", [1, 2])
def test_polling_is_refused_however_it_went(way: int, threads: int) -> None:
    for _ in range(3):
        args = [scratch(np.zeros(64, np.int32), "words", True), output(np.zeros(8, np.int32)), way]
        found = only_error("polling", "vector", args, blocks=2, threads=threads, mode="timed")
        assert found["kind"] == "not modelled"
        assert "timed mode cannot tell how often" in found["text"]
        assert "polling.cpp:" in found["text"]


@pytest.mark.parametrize("how", [IB, TURNS, GROUP, SOFT])
@pytest.mark.parametrize("threads", [1, 2])
def test_waiting_through_global_memory_is_refused(how: int, threads: int) -> None:
    for found in errors("memory_flags", "vector", arguments(how), blocks=5, threads=threads, mode="timed"):
        assert found["kind"] == "not modelled"
        assert "timed mode does not replay" in found["text"]


@pytest.mark.parametrize(("how", "kind"), MEETINGS)
def test_cores_that_meet(how: int, kind: str) -> None:
    cores = 6 * (2 if kind == "mix" else 1)
    if how == SOFT_MEETING:
        found = errors("sync_all", kind, meeting(how, cores), blocks=6, mode="timed")
        assert found[0]["kind"] == "not modelled"
        return
    args = meeting(how, cores)
    timings = [predict("sync_all", kind, args, blocks=6, threads=threads) for threads in (1, 3)]
    assert timings[0] == timings[1]
    index = np.arange(cores)
    np.testing.assert_array_equal(args[1]["data"][:, 0], index ^ 1 if how == 4 else (index + 1) % cores)
    assert timings[0]["critical_path"]["parts"]["cross-core flag"] >= 100


def test_one_vector_core_to_each_cube_core() -> None:
    args = meeting(2, 6)
    timings = [predict("sync_all", "mix_1_1", args, blocks=6, threads=threads) for threads in (1, 4)]
    assert timings[0] == timings[1] and len(timings[0]["cores"]) == 12
    np.testing.assert_array_equal(args[1]["data"][:, 0], (np.arange(6) + 1) % 6)


@pytest.mark.parametrize(("which", "expected"), [(0, 7), (4, 7), (7, 0)])
def test_words_handed_over_with_flags_are_not_polling(which: int, expected: int) -> None:
    args = cache(which)
    predict("data_cache", "vector", args, blocks=2)
    assert args[1]["data"][0] == expected


def test_unordered_words_are_refused() -> None:
    found = only_error("data_cache", "vector", cache(5), blocks=2, mode="timed")
    assert found["kind"] == "not modelled" and "no cross-core flag orders the two" in found["text"]


def test_the_prediction_does_not_depend_on_threads() -> None:
    first = predict("cross_core", "mix", ring(0, blocks=5, tiles=8)[0], blocks=5, threads=1)
    for threads in (2, 3, 5):
        assert predict("cross_core", "mix", ring(0, blocks=5, tiles=8)[0], blocks=5, threads=threads) == first


def test_kernels_of_cube_cores_alone() -> None:
    args, expected = product(0)
    timing = predict("cube_product", "cube", args)
    np.testing.assert_array_equal(args[2]["data"], np.stack([expected, expected]))
    assert timing["middle"]["busiest"]["M"] > 0 == timing["middle"]["busiest"]["V"]
    assert (
        timing["middle"]["head_microseconds"] < predict("cross_core", "mix", ring(0)[0])["middle"]["head_microseconds"]
    )


@pytest.mark.parametrize("kernel", ["deadlock", "left over"])
def test_errors_are_those_of_fast_mode(kernel: str) -> None:
    fast, timed = (
        errors("sync_all", "vector", meeting(6, 4), blocks=4, mode=mode, threads=1)
        if kernel == "deadlock"
        else errors("cross_core", "mix", ring(1)[0], mode=mode, threads=1)
        for mode in ("fast", "timed")
    )
    assert timed == fast


def test_a_record_that_would_not_fit_is_refused() -> None:
    args, expected = ring(0, tiles=10_000)
    found = only_error("cross_core", "mix", args, mode="timed", threads=1, record_bytes=1 << 20)
    assert found["kind"] == "memory limit"
    assert "more than the 1 MiB" in found["text"]
    predict("cross_core", "mix", args, record_bytes=1 << 28)
    np.testing.assert_array_equal(args[3]["data"], expected)
