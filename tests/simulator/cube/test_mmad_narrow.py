# SPDX-License-Identifier: Apache-2.0
"""Mmad beyond the plain types: int4b_t, float rounded to HF32, two-of-four sparse matrices, and undefined columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.single_instruction import Memory, check, execute, given, random_memory, refused


def ceil(value: int, unit: int) -> int:
    return -(-value // unit)


def pack(values: np.ndarray) -> np.ndarray:
    """Pairs of 4-bit values to bytes, the first in the lower half."""
    return np.asarray((values[..., 0::2] & 0xF) | (values[..., 1::2] & 0xF) << 4, np.uint8)


def fractals(rows: np.ndarray, group: int, by_row: bool) -> np.ndarray:
    """Values padded and cut into fractals of 16 rows and `group` columns: row of fractals by row (A), or by column."""
    height, width = ceil(rows.shape[0], 16) * 16, ceil(rows.shape[1], group) * group
    padded = np.zeros((height, width), rows.dtype)
    padded[: rows.shape[0], : rows.shape[1]] = rows
    cut = padded.reshape(height // 16, 16, width // group, group)
    return cut.transpose((0, 2, 1, 3) if by_row else (2, 0, 1, 3)).reshape(-1, group)


def result_of(memory: Memory, m: int, n: int) -> np.ndarray:
    strips = memory.typed()[: ceil(n, 16) * ceil(m, 16) * 256].reshape(ceil(n, 16), ceil(m, 16) * 16, 16)
    return strips.transpose(1, 0, 2).reshape(ceil(m, 16) * 16, -1)[:m, :n]


def size_of(m: int, n: int) -> int:
    return ceil(m, 16) * ceil(n, 16) * 1024


@pytest.mark.parametrize("gemv", [False, True])
def test_products_of_int4(gemv: bool, sample_rng: np.random.Generator) -> None:
    rng = sample_rng
    m, n, k = 1 if gemv else int(rng.integers(2, 40)), int(rng.integers(1, 40)), int(rng.integers(1, 200))
    a, b = rng.integers(-8, 8, (m, k)), rng.integers(-8, 8, (k, n))
    left = np.pad(a[0], (0, 64)) if gemv else fractals(a, 64, True)
    left = left[: ceil(k, 2) * 2] if gemv else left
    operands = [
        random_memory(rng, "l0c", "int32", size_of(m, n)),
        given("l0a", "int4", pack(left)),
        given("l0b", "int4", pack(fractals(b.T, 64, False))),
    ]
    for mode in ("fast", "checked"):
        outputs, _ = execute("Mmad", operands, {"m": m, "n": n, "k": k}, "cube", mode)
        assert np.array_equal(result_of(outputs[0], m, n), a @ b)


def test_int4_has_no_bias() -> None:
    operands = [
        given("l0c", "int32", np.zeros(256, np.int32)),
        given("l0a", "int4", np.zeros(512, np.uint8)),
        given("l0b", "int4", np.zeros(512, np.uint8)),
        given("bt", "int32", np.zeros(16, np.int32)),
    ]
    refused("Mmad", operands, {"m": 16, "n": 16, "k": 64, "cmatrixInitVal": False}, "cube", "bias is 1")


def to_hf32(values: np.ndarray, mode: str) -> np.ndarray:
    """11 fraction bits: a multiple of the last kept one, to nearest; the exact tie goes where the mode says."""
    exponent = np.frexp(values.astype(np.float64))[1]
    scaled = np.ldexp(values.astype(np.float64), 12 - exponent)  # 2**11 <= |scaled| < 2**12
    rounded = np.rint(scaled) if mode == "NEAREST_EVEN" else np.copysign(np.ceil(np.abs(scaled) - 0.5), scaled)
    return np.ldexp(rounded, exponent - 12).astype(np.float32)


@pytest.mark.parametrize("mode", ["NEAREST_EVEN", "NEAREST_ZERO"])
def test_hf32_rounds_the_operands(mode: str, sample_rng: np.random.Generator) -> None:
    rng = sample_rng
    m, n, k = (int(size) for size in rng.integers(2, 40, 3))
    a, b = (
        (rng.integers(-(2**14), 2**14, shape) * 2.0 ** rng.integers(-20, 20, shape)).astype(np.float32)
        for shape in ((m, k), (k, n))
    )
    expected = np.zeros((m, n), np.float32)
    for step in range(k):
        expected = expected + np.outer(to_hf32(a[:, step], mode), to_hf32(b[step], mode))
    operands = [
        random_memory(rng, "l0c", "float32", size_of(m, n)),
        given("l0a", "float32", fractals(a, 8, True)),
        given("l0b", "float32", fractals(b.T, 8, False)),
    ]
    params: dict[str, Any] = {"m": m, "n": n, "k": k}
    outputs, _ = execute("Mmad", operands, params | {"hf32": mode}, "cube")
    assert np.array_equal(result_of(outputs[0], m, n), expected)
    outputs, _ = execute("Mmad", operands, params, "cube")
    assert not np.array_equal(result_of(outputs[0], m, n), expected)


def sparse_case(rng: np.random.Generator, m: int, n: int, k: int) -> tuple[list[Memory], np.ndarray, np.ndarray]:
    """C with A * B, where each four values of a column of B have at most two that are not zero."""
    a = rng.integers(-128, 128, (m, k)).astype(np.int8)
    full = np.zeros((n, k), np.int64)
    kept = np.zeros((n, k // 2), np.int8)
    indices = np.zeros((n, k // 2), np.uint8)
    for row in range(n):
        for block in range(k // 4):
            first = int(rng.integers(0, 3))
            second = int(rng.integers(first + 1, 4))
            values = rng.integers(-128, 128, 2)
            full[row, 4 * block + first], full[row, 4 * block + second] = values
            kept[row, 2 * block : 2 * block + 2] = values
            indices[row, 2 * block : 2 * block + 2] = (first, second - 1)
    padded = np.zeros((ceil(n, 16) * 16, ceil(k // 2, 32) * 32), np.uint8)
    padded[:n, : k // 2] = indices
    packed = (padded.reshape(padded.shape[0], -1, 4) << np.array([0, 2, 4, 6], np.uint8)).sum(-1).astype(np.uint8)
    packed = packed.reshape(ceil(n, 16), 16, -1, 8).transpose(2, 0, 1, 3)
    filter_data = fractals(kept, 32, False)
    operands = [
        random_memory(rng, "l0c", "int32", size_of(m, n)),
        given("l0a", "int8", fractals(a, 32, True)),
        given("l1", "int8", filter_data),
        given("l1", "uint8", packed, 65536),
        random_memory(rng, "l0b", "int8", filter_data.size, 1024),
    ]
    return operands, a.astype(np.int64), full


def test_sparse_products(sample_rng: np.random.Generator) -> None:
    rng = sample_rng
    m, n, k = int(rng.integers(2, 40)), int(rng.integers(1, 40)), int(rng.integers(1, 40)) * 4
    operands, a, full = sparse_case(rng, m, n, k)
    params = {"m": m, "n": n, "k": k, "repeatTimes": operands[2].data.size // 512}
    for mode in ("fast", "checked"):
        outputs, _ = execute("MmadWithSparse", operands, params, "cube", mode)
        assert np.array_equal(result_of(outputs[0], m, n), a @ full.T)
        assert np.array_equal(outputs[4].data, operands[2].data)


def test_indices_must_be_loaded_and_name_a_column() -> None:
    rng = np.random.default_rng(1)
    operands, _, _ = sparse_case(rng, 16, 16, 64)
    params = {"m": 16, "n": 16, "k": 64, "repeatTimes": 1}
    refused("MmadWithSparse", operands, params | {"repeatTimes": 0}, "cube", "LoadDataWithSparse")
    operands[3].data[0] |= 3
    refused("MmadWithSparse", operands, params, "cube", "index is 3")


BAD_SPARSE = [
    ({"startIndex": 65536}, "startIndex is 65536"),
    ({"repeatTimes": 256}, "repeatTimes is 256"),
    ({"startIndex": 1}, "reads bytes"),
    ({"repeatTimes": 2}, "bytes"),
]


@pytest.mark.parametrize(("change", "mentions"), BAD_SPARSE)
def test_limits_of_the_sparse_load(change: dict[str, int], mentions: str) -> None:
    operands = [
        given("l0b", "int8", np.zeros(512, np.uint8)),
        given("l1", "int8", np.zeros(512, np.uint8)),
        given("l1", "uint8", np.zeros(128, np.uint8), 1024),
    ]
    check("LoadDataWithSparse", operands, {"repeatTimes": 0}, "cube", lambda copies: None)
    refused("LoadDataWithSparse", operands, {"repeatTimes": 1} | change, "cube", mentions)
    wrong = [operands[1], *operands[1:]]
    refused("LoadDataWithSparse", wrong, {"repeatTimes": 1}, "cube", "must lie in L0B")
    undefined = operands[2].copy()
    undefined.defined[5] = 0
    refused("LoadDataWithSparse", [*operands[:2], undefined], {"repeatTimes": 1}, "cube", "uninitialised")


def bias_case(defined: list[int]) -> list[Memory]:
    bias = given("bt", "float32", np.arange(32, dtype=np.float32))
    for column in range(32):
        bias.defined[column * 4 : column * 4 + 4] = int(column in defined)
    return [
        given("l0c", "float32", np.zeros(512, np.float32)),
        given("l0a", "float16", np.zeros(256, np.float16)),
        given("l0b", "float16", np.zeros(512, np.float16)),
        bias,
    ]


def test_columns_without_a_bias_hold_nothing() -> None:
    """Kernels round n up: columns at the end that have no bias are nobody's."""
    params = {"m": 16, "n": 32, "k": 16, "cmatrixInitVal": False}
    outputs, _ = execute("Mmad", bias_case(list(range(20))), params, "cube")
    states = outputs[0].defined.reshape(2, 16, 16, 4).transpose(1, 0, 2, 3).reshape(16, 32, 4)
    assert states[:, :20].all() and not states[:, 20:].any()
    # A gap is a mistake, and so is no bias at all.
    refused("Mmad", bias_case([*range(10), *range(11, 32)]), params, "cube", "uninitialised")
    refused("Mmad", bias_case([]), params, "cube", "uninitialised")


def test_an_accumulator_may_end_in_such_columns() -> None:
    operands = bias_case([])[:3]
    operands[0].defined.reshape(2, 16, 64)[1] = 0
    params = {"m": 16, "n": 32, "k": 16, "cmatrixInitVal": False}
    outputs, _ = execute("Mmad", operands, params, "cube")
    assert outputs[0].defined[:1024].all() and not outputs[0].defined[1024:].any()
    operands[0].defined[0] = 0
    refused("Mmad", operands, params, "cube", "uninitialised")
