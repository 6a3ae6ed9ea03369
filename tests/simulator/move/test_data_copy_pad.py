# SPDX-License-Identifier: Apache-2.0
"""DataCopyPad both ways: blocks of any length, padding, and what the filler of a block is worth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.single_instruction import DTYPES, Memory, check, execute, given, item_size, random_memory, refused

BLOCK = 32


def round_up(size: int) -> int:
    return -(-size // BLOCK) * BLOCK


def pattern(value: int, size: int) -> np.ndarray:
    return np.frombuffer(int(value).to_bytes(8, "little")[:size], np.uint8)


def copy_in(params: dict[str, Any], dtype: str) -> Any:
    """Per byte of a block in UB: data, or padding, or filler."""
    size = item_size(dtype)

    def statement(operands: list[Memory]) -> None:
        target, source = operands
        left = params.get("leftPadding", 0) * size
        right = params.get("rightPadding", 0) * size
        length = params["blockLen"]
        total = round_up(left + length + right)
        if length == 0:
            return
        for block in range(params["blockCount"]):
            to = block * (total + params["dstStride"] * BLOCK)
            start = block * (length + params["srcStride"])
            for at in range(total):
                if left <= at < left + length:
                    target.data[to + at] = source.data[start + at - left]
                    target.defined[to + at] = source.defined[start + at - left]
                elif params.get("isPad", False) and (left or right):
                    target.data[to + at] = pattern(params["paddingValue"], size)[at % size]
                    target.defined[to + at] = 1
                elif (left or right) and "SetPadValue" in params:
                    target.data[to + at] = pattern(params["SetPadValue"], size)[at % size]
                    target.defined[to + at] = 1
                else:
                    target.defined[to + at] = 0

    return statement


def copy_out(params: dict[str, int]) -> Any:
    def statement(operands: list[Memory]) -> None:
        target, source = operands
        length = params["blockLen"]
        for block in range(params["blockCount"]):
            to = block * (length + params["dstStride"])
            start = block * (round_up(length) + params["srcStride"] * BLOCK)
            for at in range(length):
                target.data[to + at] = source.data[start + at]
                target.defined[to + at] = source.defined[start + at]

    return statement


def random_lengths(rng: np.random.Generator, dtype: str) -> dict[str, Any]:
    size = item_size(dtype)
    return {
        "blockCount": int(rng.integers(0, 8)),
        "blockLen": int(rng.integers(0, 200 // size)) * size,
        "srcStride": int(rng.integers(0, 80)),
        "dstStride": int(rng.integers(0, 4)),
    }


@pytest.mark.parametrize("dtype", DTYPES)
def test_blocks_of_any_length_come_in(dtype: str, sample_rng: np.random.Generator) -> None:
    rng = sample_rng
    size = item_size(dtype)
    params = random_lengths(rng, dtype)
    if rng.random() < 0.7:
        params["leftPadding"] = int(rng.integers(0, BLOCK // size + 1))
        params["rightPadding"] = int(rng.integers(0, BLOCK // size + 1))
    kind = rng.integers(0, 3)
    value = 0 if size == 8 else int(rng.integers(0, 2 ** (8 * size)))
    if kind == 0:
        params |= {"isPad": True, "paddingValue": value}
    elif kind == 1:
        params["SetPadValue"] = value
    operands = [
        random_memory(rng, "ub", dtype, 4096, 64, undefined=0.3),
        random_memory(rng, "gm", dtype, 4096, int(rng.integers(0, 40))),
    ]
    check("DataCopyPad", operands, params, "vector", copy_in(params, dtype))


def test_without_padding_the_filler_repeats_the_first_element() -> None:
    """That is what the machine does; the documentation does not promise it, so the bytes count as undefined."""
    operands = [
        given("ub", "float32", np.zeros(8, np.float32)),
        given("gm", "float32", np.array([1.5, 2.5, 3.5], np.float32)),
    ]
    outputs, _ = execute("DataCopyPad", operands, {"blockCount": 1, "blockLen": 12}, "vector")
    assert list(outputs[0].typed()) == [1.5, 2.5, 3.5, 1.5, 1.5, 1.5, 1.5, 1.5]
    assert list(outputs[0].defined) == [1] * 12 + [0] * 20


def test_the_register_keeps_its_value_after_a_copy() -> None:
    _, report = execute(
        "DataCopyPad",
        [given("ub", "float16", np.zeros(16, np.float16)), given("gm", "float16", np.zeros(8, np.float16))],
        {"blockCount": 1, "blockLen": 16, "SetPadValue": 7, "rightPadding": 2},
        "vector",
    )
    assert report["state"]["padding_value"] == 7


@pytest.mark.parametrize("dtype", DTYPES)
def test_blocks_of_any_length_go_out(dtype: str, sample_rng: np.random.Generator) -> None:
    rng = sample_rng
    params = random_lengths(rng, dtype)
    params["srcStride"], params["dstStride"] = params["dstStride"], params["srcStride"]
    operands = [
        random_memory(rng, "gm", dtype, 4096, int(rng.integers(0, 40))),
        random_memory(rng, "ub", dtype, 4096, 96, undefined=0.3),
    ]
    check("DataCopyPad", operands, params, "vector", copy_out(params))


BAD_PARAMETERS = [
    ("float32", {"blockCount": 4096, "blockLen": 4}, "blockCount is 4096"),
    ("float32", {"blockCount": 1, "blockLen": 2097152}, "blockLen is 2097152"),
    ("float32", {"blockCount": 1, "blockLen": 6}, "blockLen is 6"),
    ("float32", {"blockCount": 1, "blockLen": 4, "leftPadding": 9}, "leftPadding * sizeof(T) is 36"),
    ("float16", {"blockCount": 1, "blockLen": 4, "rightPadding": 17}, "rightPadding * sizeof(T) is 34"),
    (
        "int64",
        {"blockCount": 1, "blockLen": 8, "isPad": True, "paddingValue": 1, "rightPadding": 1},
        "paddingValue is 1",
    ),
    ("float32", {"blockCount": 3, "blockLen": 4, "srcStride": 4000}, "reads bytes"),
    ("float32", {"blockCount": 3, "blockLen": 4, "dstStride": 4000}, "writes bytes"),
    ("float32", {"blockCount": 3, "blockLen": 4, "dstStride": 2**32 - 1}, "writes bytes"),
]


@pytest.mark.parametrize("mode", ["fast", "checked"])
@pytest.mark.parametrize(("dtype", "params", "mentions"), BAD_PARAMETERS)
def test_limits_in(dtype: str, params: dict[str, Any], mentions: str, mode: str) -> None:
    operands = [given("ub", dtype, np.zeros(4096, np.uint8)), given("gm", dtype, np.zeros(4096, np.uint8))]
    refused("DataCopyPad", operands, params, "vector", mentions, mode)


@pytest.mark.parametrize(
    ("params", "mentions"),
    [
        ({"blockCount": 4096, "blockLen": 4}, "blockCount is 4096"),
        ({"blockCount": 1, "blockLen": 2097152}, "blockLen is 2097152"),
        ({"blockCount": 1, "blockLen": 6}, "blockLen is 6"),
        ({"blockCount": 3, "blockLen": 4, "srcStride": 4000}, "reads bytes"),
        ({"blockCount": 3, "blockLen": 4, "dstStride": 4000}, "writes bytes"),
    ],
)
def test_limits_out(params: dict[str, int], mentions: str) -> None:
    operands = [given("gm", "float32", np.zeros(4096, np.uint8)), given("ub", "float32", np.zeros(4096, np.uint8))]
    refused("DataCopyPad", operands, params, "vector", mentions)


def test_ub_addresses_must_be_multiples_of_32() -> None:
    for target, source in ((("ub", 8), ("gm", 0)), (("gm", 0), ("ub", 8))):
        operands = [
            given(target[0], "float32", np.zeros(64, np.float32), target[1]),
            given(source[0], "float32", np.zeros(64, np.float32), source[1]),
        ]
        refused("DataCopyPad", operands, {"blockCount": 1, "blockLen": 8}, "vector", "not a multiple of 32")


def test_only_ub_and_global_memory() -> None:
    operands = [given("l1", "float32", np.zeros(64, np.float32)), given("gm", "float32", np.zeros(64, np.float32))]
    refused("DataCopyPad", operands, {"blockCount": 1, "blockLen": 8}, "cube", "must lie in UB")
