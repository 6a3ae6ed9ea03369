# SPDX-License-Identifier: Apache-2.0
"""Sort32, MrgSort, the library's Sort: pairs of score and index, descending, the earlier of equals first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.single_instruction import DTYPES, Memory, execute, given, random_memory, refused

FLOATS = ["float16", "float32"]


def pairs(scores: np.ndarray, index: np.ndarray) -> np.ndarray:
    """As they lie in a sorted queue."""
    raw = np.zeros((scores.size, 8), np.uint8)
    size = scores.dtype.itemsize
    raw[:, :size] = np.ascontiguousarray(scores).view(np.uint8).reshape(-1, size)
    raw[:, 4:] = np.ascontiguousarray(index.astype(np.uint32)).view(np.uint8).reshape(-1, 4)
    return raw


def descending(scores: np.ndarray) -> np.ndarray:
    key = -scores.astype(np.float64)
    return np.argsort(np.where(np.isnan(key), -np.inf, key), kind="stable")


def draw_scores(rng: np.random.Generator, dtype: str, count: int) -> np.ndarray:
    values = np.rint(rng.standard_normal(count) * 4) / 2 if rng.random() < 0.5 else rng.standard_normal(count)
    values[rng.random(count) < 0.05] = np.inf
    values[rng.random(count) < 0.05] = -0.0
    return values.astype(DTYPES[dtype])


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("repeats", [0, 1, 4, 7])
@pytest.mark.parametrize("dtype", FLOATS)
def test_sort(dtype: str, repeats: int, full: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = 32 * max(repeats, 1)
    scores = draw_scores(rng, dtype, count)
    index = rng.permutation(count).astype(np.uint32)
    dst = random_memory(rng, "ub", dtype, count * 8, 0)
    work = given("ub", "uint8", np.zeros(count * 8, np.uint8), 65536)
    expected = dst.data.copy()
    if repeats != 0:
        groups = [np.arange(count)] if full else np.split(np.arange(count), repeats)
        order = np.concatenate([group[descending(scores[group])] for group in groups])
        expected = pairs(scores[order], index[order]).ravel()
    operands = [dst, given("ub", dtype, scores, 16384), given("ub", "uint32", index, 32768)]
    for mode in ("fast", "checked"):
        given_operands = [*operands, work] if full else operands
        results, report = execute("Sort32", given_operands, {"repeatTimes": repeats}, "vector", mode)
        np.testing.assert_array_equal(results[0].data, expected)
        assert report["findings"] == []
    if full and repeats != 0:
        assert not results[3].defined.any()


def test_sort_refuses() -> None:
    dst = given("ub", "float32", np.zeros(64, np.float32), 0)
    src = given("ub", "float32", np.zeros(32, np.float32), 1024)
    index = given("ub", "uint32", np.zeros(32, np.uint32), 2048)
    refused("Sort32", [dst, src, index], {"repeatTimes": 256}, "vector", "0..255")
    refused("Sort32", [dst, src, index], {"repeatTimes": 2}, "vector", "reads bytes")
    refused("Sort32", [dst, dst, index], {}, "vector", "apart from dst")
    refused("Sort32", [dst, src, src], {}, "vector", "uint32")
    ints = given("ub", "int32", np.zeros(64, np.int32), 0)
    refused("Sort32", [ints, ints, index], {}, "vector", "float16, float32")
    unset = Memory("ub", "float32", src.data, np.zeros(128, np.uint8), 1024)
    refused("Sort32", [dst, unset, index], {}, "vector", "nothing has defined")


def queue(rng: np.random.Generator, dtype: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    scores = draw_scores(rng, dtype, count)
    scores = scores[descending(scores)]
    return scores, rng.integers(0, 1 << 32, count, np.uint32)


def merged(queues: list[tuple[np.ndarray, np.ndarray]], suspend: bool) -> tuple[np.ndarray, list[int]]:
    at = [0] * len(queues)
    result = []
    while True:
        alive = [q for q in range(len(queues)) if at[q] < queues[q][0].size]
        if not alive or (suspend and len(alive) < len(queues)):
            break
        best = max(alive, key=lambda q: (float(queues[q][0][at[q]]), -q))
        scores, index = queues[best]
        result.append(pairs(scores[at[best] : at[best] + 1], index[at[best] : at[best] + 1]))
        at[best] += 1
    raw = np.concatenate(result).ravel() if result else np.zeros(0, np.uint8)
    return raw, at


@pytest.mark.parametrize("suspend", [False, True])
@pytest.mark.parametrize("count", [2, 3, 4])
@pytest.mark.parametrize("dtype", FLOATS)
def test_merge(dtype: str, count: int, suspend: bool, seed: int) -> None:
    from ascend_attention import _core

    rng = np.random.default_rng(seed)
    for lengths in ([32] * count, [int(rng.integers(1, 70)) for _ in range(count)], [0, 5, 9, 1][:count]):
        queues = [queue(rng, dtype, length) for length in lengths]
        sources = [given("ub", dtype, pairs(*q), 32768 + 8192 * i + 8) for i, q in enumerate(queues)]
        dst = random_memory(rng, "ub", dtype, max(sum(lengths), 1) * 8, 0)
        expected, taken = merged(queues, suspend)
        whole = dst.data.copy()
        whole[: expected.size] = expected
        for mode in ("fast", "checked"):
            params: dict[str, Any] = {"elementLengths": lengths, "ifExhaustedSuspension": suspend}
            listed = [(o.space, o.dtype, o.data, o.address, o.defined) for o in [dst, *sources]]
            outputs, report = _core.sim.execute("MrgSort", listed, params, "vector", mode, None)
            np.testing.assert_array_equal(np.asarray(outputs[0]), whole, err_msg=f"{lengths} {mode}")
            assert [params["counts"] >> 16 * i & 0xFFFF for i in range(count)] == taken
            assert report["findings"] == []


@pytest.mark.parametrize("dtype", FLOATS)
def test_merge_repeats(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    length, repeats = 16, 3
    queues = [queue(rng, dtype, length) for _ in range(4 * repeats)]
    memory = np.concatenate([pairs(*q) for q in queues]).ravel()
    sources = [given("ub", dtype, memory[i * length * 8 :], 32768 + i * length * 8) for i in range(4)]
    dst = random_memory(rng, "ub", dtype, memory.size, 0)
    expected = np.concatenate([merged(queues[4 * r : 4 * r + 4], False)[0] for r in range(repeats)])
    results, _ = execute("MrgSort", [dst, *sources], {"elementLengths": [length] * 4, "repeatTimes": repeats}, "vector")
    np.testing.assert_array_equal(results[0].data, expected)


def test_merge_carries_undefined_indices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    queues = [queue(rng, "float32", 4) for _ in range(2)]
    sources = [given("ub", "float32", pairs(*q), 8192 * (i + 1)) for i, q in enumerate(queues)]
    sources[1].defined[4:8] = 0  # an index
    dst = random_memory(rng, "ub", "float32", 64, 0)
    results, report = execute("MrgSort", [dst, *sources], {"elementLengths": [4, 4]}, "vector")
    assert report["findings"] == []
    assert results[0].defined.sum() == 60


def test_merge_refuses() -> None:
    dst = given("ub", "float32", np.zeros(512, np.float32), 0)
    sources = [given("ub", "float32", np.zeros(64, np.float32), 4096 + 256 * i) for i in range(4)]
    lengths = {"elementLengths": [32, 32, 32, 32]}
    refused("MrgSort", [dst, *sources], lengths | {"validBit": 5}, "vector", "3, 7, 15")
    refused("MrgSort", [dst, *sources[:2]], {"elementLengths": [4096, 1]}, "vector", "0..4095")
    refused("MrgSort", [dst, *sources[:2]], {"elementLengths": [33, 1]}, "vector", "reads bytes")
    refused("MrgSort", [dst, *sources[:3]], lengths | {"repeatTimes": 2}, "vector", "validBit is 15")
    uneven = {"elementLengths": [32, 32, 32, 31], "repeatTimes": 2}
    refused("MrgSort", [dst, *sources], uneven, "vector", "equal lengths")
    refused("MrgSort", [dst, *sources[::-1]], lengths | {"repeatTimes": 2}, "vector", "one behind the other")
    refused("MrgSort", [sources[0], *sources[:2]], {"elementLengths": [4, 4]}, "vector", "apart from dst")
    shifted = given("ub", "float32", np.zeros(64, np.float32), 4100)
    refused("MrgSort", [dst, shifted, sources[1]], {"elementLengths": [4, 4]}, "vector", "multiple of 8")
