# SPDX-License-Identifier: Apache-2.0
"""SelectWithBytesMask and BilinearInterpolation, which the vendor's library makes of several instructions; what a
reduction leaves for the scalar unit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.single_instruction import DTYPES, Memory, execute, given, random_memory, refused
from helpers.vector_lanes import scalar_bits

MASKS = ["int8", "uint8", "int16", "uint16", "int32", "uint32"]


@pytest.mark.parametrize("reuse", [False, True])
@pytest.mark.parametrize("scalar_where_set", [False, True])
@pytest.mark.parametrize("mask_dtype", MASKS)
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_select_with_bytes_mask(dtype: str, mask_dtype: str, scalar_where_set: bool, reuse: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    size, mask_size = DTYPES[dtype].itemsize, DTYPES[mask_dtype].itemsize
    for rows, columns, mask_columns in ((1, 32, 32), (5, 16, 32), (3, 64, 96)):
        src = random_memory(rng, "ub", dtype, rows * columns * size, 0)
        src.defined = np.repeat((rng.random(rows * columns) < 0.9).astype(np.uint8), size)
        bits = rng.integers(-2, 2, rows * mask_columns).astype(DTYPES[mask_dtype])
        if mask_size == 4:
            bits[rng.random(bits.size) < 0.2] = np.array(1 << 31, np.uint32).view(DTYPES[mask_dtype])
        mask = given("ub", mask_dtype, bits, 16384)
        work = given("ub", "uint8", np.zeros(4096, np.uint8), 65536)
        dst = random_memory(rng, "ub", dtype, rows * columns * size, 32768, 0.5)
        # The library reads a 32-bit mask as a float, so a lone sign bit is a zero.
        chosen = (bits.view(np.float32) != 0) if mask_size == 4 else bits != 0
        use_scalar = chosen.reshape(rows, mask_columns)[:, :columns].ravel() == scalar_where_set
        value = np.array(-1.5, DTYPES[dtype])
        expected = np.where(use_scalar, value, src.typed())
        defined = src.defined.reshape(-1, size)[:, 0] | use_scalar
        params: dict[str, Any] = {
            "firstAxis": rows, "srcLastAxis": columns, "maskLastAxis": mask_columns, "isReuseMask": reuse,
            "scalarWhereSet": scalar_where_set, "scalarValue": scalar_bits(dtype, value),
        }  # fmt: skip
        for mode in ("fast", "checked"):
            results, _ = execute("SelectWithBytesMask", [dst, src, mask, work], params, "vector", mode)
            live = defined == 1
            raw = np.uint16 if size == 2 else np.uint32
            np.testing.assert_array_equal(results[0].data.view(raw)[live], expected.view(raw)[live])
        np.testing.assert_array_equal(results[0].defined.reshape(-1, size)[:, 0], defined)
        assert not results[3].defined.any()
        assert results[2].defined.all() == (not reuse or columns == mask_columns)


def test_select_with_bytes_mask_refuses() -> None:
    dst, src = (given("ub", "float32", np.zeros(64, np.float32), at) for at in (0, 1024))
    mask = given("ub", "uint8", np.zeros(128, np.uint8), 2048)
    work = given("ub", "uint8", np.zeros(1100, np.uint8), 8192)
    call = {"firstAxis": 2, "srcLastAxis": 32, "maskLastAxis": 64}
    name = "SelectWithBytesMask"
    refused(name, [dst, src, mask, work], call | {"firstAxis": 3}, "vector", "the size of the source")
    refused(name, [dst, src, mask, work], call | {"maskLastAxis": 32}, "vector", "the size of the mask")
    short = given("ub", "uint8", np.zeros(32, np.uint8), 2048)
    refused(name, [dst, src, short, work], call | {"maskLastAxis": 16}, "vector", "srcLastAxis or more")
    assert execute(name, [dst, src, mask, work], call | {"isReuseMask": False}, "vector")[1]["findings"] == []
    small = given("ub", "uint8", np.zeros(1023, np.uint8), 8192)
    refused(name, [dst, src, mask, small], call, "vector", "1024 bytes")
    less = given("ub", "uint8", np.zeros(1087, np.uint8), 8192)
    refused(name, [dst, src, mask, less], call | {"isReuseMask": False}, "vector", "isReuseMask is false")
    unset = Memory("ub", "uint8", mask.data, np.zeros(128, np.uint8), 2048)
    refused(name, [dst, src, unset, work], call, "vector", "nothing has defined")


@pytest.mark.parametrize("per_block", [False, True])
@pytest.mark.parametrize("mask", [128, 40, [0xFF00FF, 0xF]])
def test_bilinear(mask: Any, per_block: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    h, v, block_stride, v_offset = 3, 2, 2, 320
    source = (rng.standard_normal(1024) * 3).astype(np.float16)
    offset = (rng.integers(0, 64, h * v * 8) * 32).astype(np.uint32)
    weight = rng.standard_normal(48).astype(np.float16)
    blocks = source.reshape(64, 16)[offset // 32].reshape(h * v, 8, 16)
    factors = weight[: h * v * 8].reshape(h * v, 8, 1) if per_block else weight[: h * v].reshape(h * v, 1, 1)
    products = (blocks * factors).reshape(v, h, 128)
    sums = products[:, 0]
    for k in range(1, h):
        sums = sums + products[:, k]
    dst = random_memory(rng, "ub", "float16", v * v_offset * 2, 0, 0.5)
    expected = dst.copy()
    active = [i for i in range(128) if (i < mask if isinstance(mask, int) else mask[i // 64] >> (i % 64) & 1)]
    for row in range(v):
        for lane in active:
            at = row * v_offset * 2 + lane // 16 * block_stride * 32 + lane % 16 * 2
            expected.data[at : at + 2] = (sums[row, lane : lane + 1] + np.float16(0)).view(np.uint8)
            expected.defined[at : at + 2] = 1
    work = given("ub", "uint8", np.zeros(h * v * 256 + 6 * 256, np.uint8), 65536)
    operands = [dst, given("ub", "float16", source, 8192), given("ub", "uint32", offset, 16384),
                given("ub", "float16", weight, 32768), work]  # fmt: skip
    params = {"mask": mask, "hRepeat": h, "vRepeat": v, "repeatMode": per_block, "dstBlkStride": block_stride,
              "vROffset": v_offset}  # fmt: skip
    for mode in ("fast", "checked"):
        results, _ = execute("BilinearInterpolation", operands, params, "vector", mode)
        live = expected.defined == 1
        np.testing.assert_array_equal(results[0].data[live], expected.data[live])
    np.testing.assert_array_equal(results[0].defined, expected.defined)
    assert not results[4].defined.any()


def test_bilinear_refuses() -> None:
    halves = np.zeros(1024, np.float16)
    operands = [given("ub", "float16", halves, 0), given("ub", "float16", halves, 4096),
                given("ub", "uint32", np.zeros(64, np.uint32), 16384), given("ub", "float16", halves[:16], 32768),
                given("ub", "uint8", np.zeros(8192, np.uint8), 65536)]  # fmt: skip
    call = {"mask": 128, "hRepeat": 2, "vRepeat": 2}
    name = "BilinearInterpolation"
    refused(name, operands, call | {"hRepeat": 0}, "vector", "1..255")
    refused(name, operands, call | {"hRepeat": 16, "vRepeat": 16}, "vector", "8 bits")
    refused(name, operands, call | {"vROffset": 100}, "vector", "128..4080")
    refused(name, operands, call | {"vROffset": 4096}, "vector", "128..4080")
    refused(name, operands, call | {"repeatMode": True}, "vector", "a weight per iteration")
    odd = given("ub", "uint32", np.full(64, 16, np.uint32), 16384)
    refused(name, [*operands[:2], odd, *operands[3:]], call, "vector", "multiple of 32")
    far = given("ub", "uint32", np.full(64, 4096, np.uint32), 16384)
    refused(name, [*operands[:2], far, *operands[3:]], call, "vector", "reads bytes")
    small = given("ub", "uint8", np.zeros(512, np.uint8), 65536)
    refused(name, [*operands[:4], small], call, "vector", "writes bytes")


@pytest.mark.parametrize("op", ["Max", "Min"])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_reductions_leave_the_extreme(dtype: str, op: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lanes = 256 // DTYPES[dtype].itemsize
    values = rng.standard_normal(5 * lanes).astype(DTYPES[dtype])
    best = int(values.argmax() if op == "Max" else values.argmin())
    dst = random_memory(rng, "ub", dtype, 1024, 0)
    src = given("ub", dtype, values, 8192)
    call = {"mask": lanes, "repeatTimes": 5}
    _, report = execute(f"WholeReduce{op}", [dst, src], call, "vector")
    assert report["state"]["extreme"] == (True, scalar_bits(dtype, values[best]), best)
    _, report = execute(f"WholeReduce{op}", [dst, src], call | {"srcRepStride": 4}, "vector")
    assert not report["state"]["extreme"][0]
    work = random_memory(rng, "ub", dtype, 1024, 16384)
    _, report = execute(f"Reduce{op}", [dst, src, work], {"calCount": values.size}, "vector")
    assert report["state"]["extreme"][:2] == (True, scalar_bits(dtype, values[best]))
    results, report = execute("ReduceSum", [dst, src, work], {"calCount": values.size}, "vector")
    assert report["state"]["sum"][:2] == (True, scalar_bits(dtype, results[0].typed()[0]))
    _, report = execute("ReduceSum", [dst, src, work], call, "vector")
    assert not report["state"]["sum"][0]
