# SPDX-License-Identifier: Apache-2.0
"""InitConstValue (Fill in 9.x) on L1, L0A and L0B, and InitOutput on global memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.single_instruction import Memory, check, execute, given, item_size, random_memory, refused

TYPES = ["float16", "bfloat16", "int16", "uint16", "float32", "int32", "uint32"]


def fill(params: dict[str, int], dtype: str, unit: int) -> Any:
    size = item_size(dtype)

    def statement(operands: list[Memory]) -> None:
        (target,) = operands
        value = np.frombuffer(params["initValue"].to_bytes(8, "little")[:size], np.uint8)
        for repeat in range(params["repeatTimes"]):
            start = repeat * (params["blockNum"] + params["dstGap"]) * unit
            for at in range(params["blockNum"] * unit):
                target.data[start + at] = value[at % size]
                target.defined[start + at] = 1

    return statement


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("space", "unit"), [("l1", 32), ("l0a", 512), ("l0b", 512)])
def test_blocks_are_filled(space: str, unit: int, dtype: str, sample_rng: np.random.Generator) -> None:
    rng = sample_rng
    params = {
        "repeatTimes": int(rng.integers(0, 6)),
        "blockNum": int(rng.integers(0, 6)),
        "dstGap": int(rng.integers(0, 5)),
        "initValue": int(rng.integers(0, 2 ** (8 * item_size(dtype)))),
    }
    operands = [random_memory(rng, space, dtype, 50 * unit, 2 * unit, undefined=0.4)]
    check("InitConstValue", operands, params, "cube", fill(params, dtype, unit))


@pytest.mark.parametrize(("space", "pipe"), [("l1", "MTE2"), ("l0a", "MTE1"), ("l0b", "MTE1")])
def test_the_pipe_depends_on_the_memory(space: str, pipe: str) -> None:
    operands = [given(space, "float16", np.zeros(256, np.float16))]
    _, report = execute("InitConstValue", operands, {"repeatTimes": 1, "blockNum": 1}, "cube")
    assert report["instructions"][pipe] == 1


@pytest.mark.parametrize("mode", ["fast", "checked"])
@pytest.mark.parametrize(
    ("params", "mentions"),
    [
        ({"repeatTimes": 32768, "blockNum": 1}, "repeatTimes is 32768"),
        ({"repeatTimes": 1, "blockNum": 32768}, "blockNum is 32768"),
        ({"repeatTimes": 1, "blockNum": 1, "dstGap": 32768}, "dstGap is 32768"),
        ({"repeatTimes": 2, "blockNum": 1, "dstGap": 31}, "writes bytes"),
    ],
)
def test_limits(params: dict[str, int], mentions: str, mode: str) -> None:
    refused("InitConstValue", [given("l1", "float16", np.zeros(512, np.float16))], params, "cube", mentions, mode)


def test_place_and_type() -> None:
    one = {"repeatTimes": 1, "blockNum": 1}
    l1 = given("l1", "float16", np.zeros(64, np.float16), 16)
    refused("InitConstValue", [l1], one, "cube", "multiple of 32")
    l0 = given("l0a", "float16", np.zeros(512, np.float16), 256)
    refused("InitConstValue", [l0], one, "cube", "multiple of 512")
    refused("InitConstValue", [given("ub", "float16", np.zeros(64, np.float16))], one, "vector", "memory of dst")
    refused("InitConstValue", [given("l1", "int8", np.zeros(64, np.int8))], one, "cube", "sizeof(T) is 1")


@pytest.mark.parametrize("dtype", TYPES)
def test_init_output_sets_every_element(dtype: str, sample_rng: np.random.Generator) -> None:
    rng = sample_rng
    size = item_size(dtype)
    count = int(rng.integers(0, 3000))
    value = int(rng.integers(0, 2 ** (8 * size)))
    operands = [random_memory(rng, "gm", dtype, 3000 * size + 64)]

    def statement(copies: list[Memory]) -> None:
        for at in range(count * size):
            copies[0].data[at] = value.to_bytes(8, "little")[at % size]

    check("InitOutput", operands, {"size": count, "value": value}, "vector", statement)


def test_init_output_limits() -> None:
    gm = given("gm", "float32", np.zeros(64, np.float32))
    refused("InitOutput", [gm], {"size": 65}, "vector", "writes bytes")
    # 2^62 floats would be 0 bytes in 64 bits.
    for size in (2**40 + 1, 2**62):
        refused("InitOutput", [gm], {"size": size}, "vector", f"size is {size}")
    refused("InitOutput", [given("gm", "float32", np.zeros(64, np.float32), 2)], {"size": 1}, "vector", "multiple of 4")
    refused("InitOutput", [given("gm", "int64", np.zeros(64, np.int64))], {"size": 1}, "vector", "sizeof(T) is 8")
    refused("InitOutput", [given("ub", "float32", np.zeros(64, np.float32))], {"size": 1}, "vector", "must lie in")
