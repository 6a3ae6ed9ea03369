# SPDX-License-Identifier: Apache-2.0
"""Where the operands of a vector instruction may overlap: in place, shifted, accumulating through the destination."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.single_instruction import DTYPES, Memory, execute, given, refused
from helpers.vector_lanes import scalar_bits

HALF, FLOAT, INT32 = "float16", "float32", "int32"


def zeros(dtype: str, address: int, count: int = 1024) -> Memory:
    return given("ub", dtype, np.zeros(count, DTYPES[dtype]), address)


def over(dtype: str, address: int, area: np.ndarray, base: int) -> Memory:
    """An operand that is a view into one shared area of UB."""
    data = area[address - base :].copy()
    return Memory("ub", dtype, data, np.ones(data.size, np.uint8), address)


@pytest.mark.parametrize("mode", ["fast", "checked"])
def test_in_place_and_shifted(mode: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    area = rng.standard_normal(2048).astype(np.float32).view(np.uint8)
    values = area.view(np.float32)
    for call in ({"calCount": 1000}, {"mask": 64, "repeatTimes": 5}, {"mask": 20, "repeatTimes": 5}):
        memory = over(FLOAT, 0, area, 0)
        out, _ = execute("Muls", [memory, memory], call | {"scalarValue": scalar_bits(FLOAT, 2.0)}, "vector", mode)
        lanes = np.arange(call.get("calCount", 0)) if "calCount" in call else np.concatenate(
            [np.arange(call["mask"]) + 64 * r for r in range(5)])  # fmt: skip
        expected = values.copy()
        expected[lanes] *= 2
        assert np.array_equal(out[0].typed(), expected)
    # One block behind the source: a later repeat would read what this one writes, and within a repeat they overlap.
    behind, ahead = over(FLOAT, 32, area, 0), over(FLOAT, 0, area, 0)
    refused("Muls", [behind, ahead], {"calCount": 1000}, "vector", "exactly on dst or apart", mode)
    # A whole repeat ahead of the source: each repeat writes where an earlier one has read.
    lower, upper = over(FLOAT, 0, area, 0), over(FLOAT, 256, area, 0)
    out, _ = execute("Adds", [lower, upper], {"calCount": 640, "scalarValue": scalar_bits(FLOAT, 1.0)}, "vector", mode)
    assert np.array_equal(out[0].typed()[:640], values[64:704] + np.float32(1))
    # And a whole repeat behind it: what repeat r writes is what repeat r + 1 reads.
    refused("Adds", [upper, lower], {"calCount": 640}, "vector", "an earlier repeat", mode)
    execute("Adds", [upper, lower], {"calCount": 64}, "vector", mode)


@pytest.mark.parametrize("mode", ["fast", "checked"])
@pytest.mark.parametrize("dtype", [HALF, FLOAT, INT32])
@pytest.mark.parametrize("name", ["Add", "Sub", "Mul", "Max", "Min"])
def test_accumulation_through_the_destination(name: str, dtype: str, mode: str, seed: int) -> None:
    """src1 on dst with a repeat stride of 0: repeat r continues what repeat r - 1 left."""
    operation = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Max": np.maximum, "Min": np.minimum}[name]
    rng = np.random.default_rng(seed)
    lanes = 256 // DTYPES[dtype].itemsize
    first = rng.integers(-3, 4, (6, lanes)).astype(DTYPES[dtype])
    start = rng.integers(-3, 4, lanes).astype(DTYPES[dtype])
    expected = start
    with np.errstate(all="ignore"):
        for row in first:
            expected = operation(row, expected)
    memory, source = given("ub", dtype, start, 8192), given("ub", dtype, first)
    call = {"mask": lanes, "repeatTimes": 6, "dstRepStride": 0, "src0RepStride": 8, "src1RepStride": 0}
    out, _ = execute(name, [memory, source, memory], call, "vector", mode)
    assert np.array_equal(out[0].typed(), expected)
    # Not for src0, and not for other instructions and types.
    call |= {"src0RepStride": 0, "src1RepStride": 8}
    refused(name, [memory, memory, source], call, "vector", "an earlier repeat", mode)


def test_accumulation_is_for_documented_types_only() -> None:
    call = {"mask": 64, "repeatTimes": 2, "dstRepStride": 0, "src1RepStride": 0}
    for name, dtype in (("Add", "int16"), ("Div", FLOAT)):
        memory, source = zeros(dtype, 8192), zeros(dtype, 0)
        refused(name, [memory, source, memory], call, "vector", "an earlier repeat")
    for name in ("MulAddDst", "FusedMulAdd"):
        memory, source, other = zeros(FLOAT, 8192), zeros(FLOAT, 0), zeros(FLOAT, 16384)
        refused(name, [memory, source, other], call, "vector", "an earlier repeat")


def test_broadcast_source_may_not_lie_on_the_destination() -> None:
    memory, source = zeros(FLOAT, 8192), zeros(FLOAT, 0)
    refused("Mul", [memory, source, memory], {"mask": 64, "repeatTimes": 1, "src1BlkStride": 0}, "vector",
            "exactly on dst or apart")  # fmt: skip


@pytest.mark.parametrize("mode", ["fast", "checked"])
def test_reduction_over_its_source(mode: str, seed: int) -> None:
    """Results may replace a source that has been read; they may not run ahead of it."""
    rng = np.random.default_rng(seed)
    area = rng.standard_normal(1024).astype(np.float32).view(np.uint8)
    values = area.view(np.float32).reshape(-1, 64)
    memory = over(FLOAT, 0, area, 0)
    out, _ = execute("WholeReduceMax", [memory, memory], {"mask": 64, "repeatTimes": 8, "order": 2}, "vector", mode)
    assert np.array_equal(out[0].typed()[:8], values[:8].max(1))
    inside = over(FLOAT, 512, area, 0)
    refused("WholeReduceMax", [inside, memory], {"mask": 64, "repeatTimes": 8, "order": 2}, "vector",
            "an earlier repeat", mode)  # fmt: skip
