# SPDX-License-Identifier: Apache-2.0
"""Transpose between NCHW and NHWC, and TransDataTo5HD. Undefined values move along."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.single_instruction import DTYPES, Memory, execute, given, move_bytes, random_memory, refused

LISTED = ["int8", "uint8", "int16", "uint16", "float16", "int32", "uint32", "float32"]
SQUARE, LAST, FIRST = 10, 11, 12


def size_of(dtype: str) -> int:
    return DTYPES[dtype].itemsize


def work_bytes(dtype: str, layout: int, c: int) -> int:
    tile = 1024 if size_of(dtype) == 1 else 512
    return tile * (c + 2 if layout == LAST else 2 * c + 1)


def compare(name: str, operands: list[Memory], params: dict[str, Any], expected: Memory) -> list[Memory]:
    for mode in ("fast", "checked"):
        results, _ = execute(name, operands, params, "vector", mode)
        live = expected.defined == 1
        np.testing.assert_array_equal(results[0].data[live], expected.data[live], err_msg=f"{params} {mode}")
    np.testing.assert_array_equal(results[0].defined, expected.defined)
    return results


@pytest.mark.parametrize("shape", [(1, 1, 4, 8), (2, 3, 4, 16), (1, 5, 32, 1), (3, 16, 2, 32)])
@pytest.mark.parametrize("layout", [LAST, FIRST])
@pytest.mark.parametrize("dtype", LISTED)
def test_channels(dtype: str, layout: int, shape: tuple[int, int, int, int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, c, h, w = shape
    size = size_of(dtype)
    src = random_memory(rng, "ub", dtype, n * c * h * w * size, 0)
    src.defined = np.repeat((rng.random(n * c * h * w) < 0.8).astype(np.uint8), size)
    dst = random_memory(rng, "ub", dtype, src.data.size, 65536, 0.5)
    index = np.arange(n * c * h * w)
    if layout == LAST:
        order = index.reshape(n, c, h, w).transpose(0, 2, 3, 1).ravel()
    else:
        order = index.reshape(n, h, w, c).transpose(0, 3, 1, 2).ravel()
    expected = dst.copy()
    for to, source in enumerate(order):
        move_bytes(expected, to * size, src, int(source) * size, size)
    used = work_bytes(dtype, layout, c)
    work = given("ub", "uint8", np.zeros(used + 64, np.uint8), 131072)
    params = {"transposeType": layout, "nSize": n, "cSize": c, "hSize": h, "wSize": w}
    results = compare("TransposeLayout", [dst, src, work], params, expected)
    assert not results[2].defined[:used].any()
    assert results[2].defined[used:].all()


def test_transpose_with_params_square_and_nothing(seed: int) -> None:
    rng = np.random.default_rng(seed)
    src = random_memory(rng, "ub", "uint16", 512, 0)
    dst = random_memory(rng, "ub", "uint16", 512, 1024)
    work = given("ub", "uint8", np.zeros(32, np.uint8), 4096)
    expected = dst.copy()
    expected.data = np.ascontiguousarray(src.typed().reshape(16, 16).T).view(np.uint8).ravel()
    compare("TransposeLayout", [dst, src, work], {"transposeType": SQUARE, "hSize": 16, "wSize": 16}, expected)
    compare("TransposeLayout", [dst, src, work], {"transposeType": 0}, dst.copy())
    empty = {"transposeType": LAST, "nSize": 0, "cSize": 2, "hSize": 4, "wSize": 8}
    compare("TransposeLayout", [dst, src, work], empty, dst.copy())


def test_transpose_refuses() -> None:
    dst = given("ub", "float16", np.zeros(256, np.float16), 1024)
    src = given("ub", "float16", np.zeros(256, np.float16), 0)
    work = given("ub", "uint8", np.zeros(work_bytes("float16", LAST, 2), np.uint8), 4096)
    call = {"transposeType": LAST, "nSize": 1, "cSize": 2, "hSize": 4, "wSize": 4}
    name = "TransposeLayout"
    for layout in (*range(1, 10), 13):
        refused(name, [dst, src, work], call | {"transposeType": layout}, "vector", "TRANSPOSE_NCHW2NHWC")
    refused(name, [dst, src, work], call | {"hSize": 3}, "vector", "multiple of 32 bytes")
    refused(name, [dst, src, work], call | {"hSize": 4096, "wSize": 1}, "vector", "0..4095")
    refused(name, [dst, src, work], call | {"cSize": 4096}, "vector", "0..4095")
    refused(name, [dst, src, work], call | {"transposeType": FIRST}, "vector", "(cSize * 2 + 1)")
    refused(name, [dst, dst, work], call, "vector", "apart from dst")
    refused(name, [dst, src, given("ub", "uint8", np.zeros(4096, np.uint8), 512)], call, "vector", "apart from dst")


def listed_moves(dtype: str, dst_high: bool, src_high: bool) -> list[tuple[int, int, int, int]]:
    """(destination block, byte, source block, byte) of each element: 16 rows become columns."""
    size = size_of(dtype)
    moves = []
    for row in range(16):
        for column in range(8 if size == 4 else 16):
            to = (column * 2 + row // 8, row % 8 * size) if size == 4 else (column, row * size)
            moves.append((to[0], to[1] + 16 * dst_high, row, column * size + 16 * src_high))
    return moves


@pytest.mark.parametrize("repeats", [0, 1, 3])
@pytest.mark.parametrize("dtype", LISTED)
def test_trans_data(dtype: str, repeats: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = size_of(dtype)
    halves = [(False, False), (True, False), (False, True), (True, True)] if size == 1 else [(False, False)]
    for dst_high, src_high in halves:
        src_list = (rng.permutation(24)[:16] * 128).tolist()
        dst_list = (rng.permutation(24)[:16] * 128).tolist()
        src = random_memory(rng, "ub", dtype, 24 * 128, 0)
        src.defined = np.repeat((rng.random(src.data.size // size) < 0.8).astype(np.uint8), size)
        dst = random_memory(rng, "ub", dtype, 24 * 128, 16384, 0.5)
        expected = dst.copy()
        for repeat in range(repeats):
            step = 1 if repeats == 1 else repeat  # a single repeat starts one stride behind the list
            for i, to, row, source in listed_moves(dtype, dst_high, src_high):
                shift = step * 32
                move_bytes(expected, dst_list[i] + shift + to, src, src_list[row] + shift + source, size)
        params: dict[str, Any] = {"repeatTimes": repeats, "dstRepStride": 1, "srcRepStride": 1,
                                  "dstHighHalf": dst_high, "srcHighHalf": src_high}  # fmt: skip
        compare("TransDataTo5HD", [dst, src], params | {"dstList": dst_list, "srcList": src_list}, expected)
        tables = [
            given("ub", "uint64", np.array(dst_list, np.uint64) + 16384, 65536),
            given("ub", "uint64", np.array(src_list, np.uint64), 66560),
        ]
        compare("TransDataTo5HD", [dst, src, *tables], params, expected)


@pytest.mark.parametrize("dtype", ["int16", "float32"])
def test_trans_data_in_place(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    memory = random_memory(rng, "ub", dtype, 512, 0)
    expected = memory.copy()
    for i, to, row, source in listed_moves(dtype, False, False):
        move_bytes(expected, i * 32 + to, memory, row * 32 + source, size_of(dtype))
    blocks = list(range(0, 512, 32))
    compare("TransDataTo5HD", [memory, memory], {"dstList": blocks, "srcList": blocks}, expected)


def test_trans_data_refuses() -> None:
    memory = given("ub", "float16", np.zeros(1024, np.float16), 0)
    other = given("ub", "float16", np.zeros(1024, np.float16), 4096)
    blocks = list(range(0, 512, 32))
    lists = {"dstList": blocks, "srcList": blocks}
    name = "TransDataTo5HD"
    refused(name, [memory, other], lists | {"dstHighHalf": True}, "vector", "8-bit elements")
    refused(name, [memory, other], lists | {"srcList": [8, *blocks[1:]]}, "vector", "multiple of 32")
    refused(name, [memory, memory], lists | {"srcList": blocks[::-1]}, "vector", "blocks apart")
    twice = {"repeatTimes": 2, "dstRepStride": 1, "srcRepStride": 1}
    refused(name, [memory, memory], lists | twice, "vector", "blocks apart")
    refused(name, [memory, other], lists | {"srcRepStride": 1000}, "vector", "reads bytes")
    wide = given("ub", "int64", np.zeros(256, np.int64), 0)
    refused(name, [wide, wide], lists, "vector", "int8, uint8")
    table = given("ub", "uint64", np.full(16, 1 << 40, np.uint64), 65536)
    good = given("ub", "uint64", np.array(blocks, np.uint64), 66560)
    refused(name, [memory, other, table, good], {}, "vector", "within UB")
    unset = Memory("ub", "uint64", good.data, np.zeros(128, np.uint8), 65536)
    refused(name, [memory, other, good, unset], {}, "vector", "nothing has defined")
