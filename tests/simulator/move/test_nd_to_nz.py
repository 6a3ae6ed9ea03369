# SPDX-License-Identifier: Apache-2.0
"""DataCopy with Nd2NzParams: row-major matrices become columns of 32-byte groups."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.single_instruction import Memory, check, execute, given, item_size, move_bytes, random_memory, refused

BLOCK = 32
TYPES = ["float16", "bfloat16", "float32", "int8", "uint8", "int16", "uint16", "int32", "uint32"]


def rearrange(params: dict[str, int], dtype: str) -> Any:
    size = item_size(dtype)
    c0 = BLOCK // size

    def statement(operands: list[Memory]) -> None:
        target, source = operands
        for nd in range(params["ndNum"]):
            for n in range(params["nValue"]):
                for d in range(-(-params["dValue"] // c0) * c0):
                    to = nd * params["dstNzMatrixStride"] * size
                    to += (d // c0 * params["dstNzC0Stride"] + n * params["dstNzNStride"]) * BLOCK + d % c0 * size
                    start = (nd * params["srcNdMatrixStride"] + n * params["srcDValue"] + d) * size
                    if d < params["dValue"]:
                        move_bytes(target, to, source, start, size)
                    else:
                        target.data[to : to + size] = 0
                        target.defined[to : to + size] = 1

    return statement


@pytest.mark.parametrize("dtype", TYPES)
def test_groups_lie_where_their_strides_say(dtype: str, sample_rng: np.random.Generator) -> None:
    rng = sample_rng
    c0 = BLOCK // item_size(dtype)
    rows = int(rng.integers(0, 20))
    columns = int(rng.integers(0, 3 * c0 + 1))
    row_stride = int(rng.integers(1, 3))
    c0_stride = max(1, rows * row_stride) + int(rng.integers(0, 4))
    groups = -(-columns // c0)
    params = {
        "ndNum": int(rng.integers(0, 4)),
        "nValue": rows,
        "dValue": columns,
        "srcNdMatrixStride": int(rng.integers(0, 300)),
        "srcDValue": max(1, columns + int(rng.integers(0, 9))),
        "dstNzC0Stride": c0_stride,
        "dstNzNStride": row_stride,
        "dstNzMatrixStride": (max(1, groups) * c0_stride + int(rng.integers(0, 3))) * c0,
    }
    operands = [
        random_memory(rng, "l1", dtype, 65536, 1024, undefined=0.2),
        random_memory(rng, "gm", dtype, 16384, int(rng.integers(0, 8))),
    ]
    check("DataCopy", operands, params, "cube", rearrange(params, dtype))


def test_one_matrix_ignores_the_strides_between_matrices(seed: int) -> None:
    rng = np.random.default_rng(seed)
    params = {
        "ndNum": 1,
        "nValue": 16,
        "dValue": 23,
        "srcNdMatrixStride": 65535,
        "srcDValue": 32,
        "dstNzC0Stride": 16,
        "dstNzNStride": 1,
        "dstNzMatrixStride": 16384,
    }
    operands = [random_memory(rng, "l1", "float16", 1024), random_memory(rng, "gm", "float16", 16 * 64)]
    check("DataCopy", operands, params, "cube", rearrange(params, "float16"))


def test_undefined_source_bytes_stay_undefined_in_l1() -> None:
    """An input is fully defined; a workspace that no core has written is not."""
    source = Memory("gm", "float16", np.zeros(1024, np.uint8), np.zeros(1024, np.uint8))
    target = given("l1", "float16", np.zeros(512, np.float16))
    params = dict(GOOD, nValue=16, dValue=16)
    outputs, _ = execute("DataCopy", [target, source], params, "cube")
    assert not outputs[0].defined[:512].any()
    assert outputs[0].defined[512:].all()


GOOD = {
    "ndNum": 1,
    "nValue": 16,
    "dValue": 32,
    "srcNdMatrixStride": 0,
    "srcDValue": 32,
    "dstNzC0Stride": 16,
    "dstNzNStride": 1,
    "dstNzMatrixStride": 0,
}
BAD_PARAMETERS = [
    ({"ndNum": 4096}, "ndNum is 4096"),
    ({"nValue": 16385}, "nValue is 16385"),
    ({"dValue": 65536}, "dValue is 65536"),
    ({"srcDValue": 0}, "srcDValue is 0"),
    ({"srcDValue": 65536}, "srcDValue is 65536"),
    ({"dstNzC0Stride": 0}, "dstNzC0Stride is 0"),
    ({"dstNzC0Stride": 16385}, "dstNzC0Stride is 16385"),
    ({"dstNzNStride": 0}, "dstNzNStride is 0"),
    ({"dstNzNStride": 16385}, "dstNzNStride is 16385"),
    ({"dstNzMatrixStride": 16385}, "dstNzMatrixStride is 16385"),
    ({"ndNum": 2, "dstNzMatrixStride": 17}, "dstNzMatrixStride is 17"),
    ({"dstNzC0Stride": 64}, "writes bytes"),
    ({"srcDValue": 512}, "reads bytes"),
]


@pytest.mark.parametrize("mode", ["fast", "checked"])
@pytest.mark.parametrize(("change", "mentions"), BAD_PARAMETERS)
def test_limits(change: dict[str, int], mentions: str, mode: str) -> None:
    operands = [given("l1", "float16", np.zeros(512, np.float16)), given("gm", "float16", np.zeros(1024, np.float16))]
    refused("DataCopy", operands, GOOD | change, "cube", mentions, mode)


def test_place_and_type() -> None:
    gm = given("gm", "float16", np.zeros(512, np.float16))
    refused("DataCopy", [given("l1", "float16", np.zeros(512, np.float16), 16), gm], GOOD, "cube", "multiple of 32")
    refused("DataCopy", [given("l0a", "float16", np.zeros(512, np.float16)), gm], GOOD, "cube", "memory of dst")
    wide = [given("l1", "int64", np.zeros(512, np.int64)), given("gm", "int64", np.zeros(512, np.int64))]
    refused("DataCopy", wide, GOOD, "cube", "sizeof(T) is 8")
