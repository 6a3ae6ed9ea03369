# SPDX-License-Identifier: Apache-2.0
"""DataCopy with SliceInfo, with Nz2NdParamsFull, with Nd2NzParams into UB, and half to float on the way to BT."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from helpers.single_instruction import DTYPES, Memory, check, given, item_size, move_bytes, random_memory, refused

Slice = tuple[int, int, int, int, int]


def offsets(slices: list[Slice], size: int) -> list[int]:
    """Byte offsets of all 32-byte blocks of a box, outermost dimension first."""
    block = 32 // size
    start, end, stride, burst, _ = slices[0]
    bursts = (end - start + 1 + stride) // (burst * block + stride)
    inner = [start + i * (burst * block + stride) + j * block for i in range(bursts) for j in range(burst)]
    pitch, outer = 1, []
    for (start, end, stride, _, _), below in zip(slices[1:], slices, strict=False):
        pitch *= below[4]
        outer.append([(start + i * (1 + stride)) * pitch for i in range((end - start + 1 + stride) // (1 + stride))])
    return [(sum(reversed(index)) + at) * size for index in itertools.product(*reversed(outer)) for at in inner]


def cut(source: list[Slice], target: list[Slice], size: int) -> Any:
    def statement(copies: list[Memory]) -> None:
        for to, start in zip(offsets(target, size), offsets(source, size), strict=True):
            move_bytes(copies[0], to, copies[1], start, 32)

    return statement


def random_box(rng: np.random.Generator, size: int, counts: list[int], burst: int, aligned: bool) -> list[Slice]:
    block = 32 // size
    stride = int(rng.integers(0, 3)) * block if aligned else int(rng.integers(0, 9))
    start = int(rng.integers(0, 3)) * (block if aligned else 1)
    end = start + counts[0] * (burst * block + stride) - stride - 1
    shape = end + 1 + (int(rng.integers(0, 3)) * block if aligned else int(rng.integers(0, 5)))
    slices = [(start, end, stride, burst, shape)]
    for count in counts[1:]:
        start, stride = int(rng.integers(0, 2)), int(rng.integers(0, 2))
        end = start + count * (1 + stride) - stride - 1
        slices.append((start, end, stride, 1, end + 1 + int(rng.integers(0, 2))))
    return slices


@pytest.mark.parametrize("dtype", ["int8", "float16", "bfloat16", "float32", "uint32"])
@pytest.mark.parametrize("direction", ["in", "out"])
def test_slices_are_cut_out_of_boxes(direction: str, dtype: str, sample_rng: np.random.Generator) -> None:
    rng = sample_rng
    size = item_size(dtype)
    counts = [int(c) for c in rng.integers(1, 4, int(rng.integers(1, 4)))]
    burst = int(rng.integers(1, 4))
    gm = random_box(rng, size, counts, burst, False)
    ub = random_box(rng, size, counts, burst, True)
    source, target = (gm, ub) if direction == "in" else (ub, gm)
    params = {"srcSliceInfo": source, "dstSliceInfo": target}
    places = ("ub", "gm") if direction == "in" else ("gm", "ub")
    operands = [
        random_memory(rng, places[0], dtype, 65536, undefined=0.2 if places[0] == "ub" else 0.0),
        random_memory(rng, places[1], dtype, 65536, undefined=0.0),
    ]
    check("DataCopy", operands, params, "vector", cut(source, target, size))


SOURCE: list[Slice] = [(16, 70, 7, 3, 87), (0, 2, 1, 1, 3)]
TARGET: list[Slice] = [(0, 47, 0, 3, 48), (0, 1, 0, 1, 2)]


def changed(slices: list[Slice], dim: int, field: int, value: int) -> list[Slice]:
    result = [list(one) for one in slices]
    result[dim][field] = value
    return [tuple(one) for one in result]  # type: ignore[misc]


def test_the_example_of_the_document() -> None:
    values = np.arange(3 * 87, dtype=np.float32)
    operands = [given("ub", "float32", np.zeros(96, np.float32)), given("gm", "float32", values)]
    rows = values.reshape(3, 87)[[0, 2]]
    expected = np.concatenate([rows[:, 16:40], rows[:, 47:71]], axis=1)

    def statement(copies: list[Memory]) -> None:
        copies[0].data[:] = np.ascontiguousarray(expected).view(np.uint8).ravel()

    check("DataCopy", operands, {"srcSliceInfo": SOURCE, "dstSliceInfo": TARGET}, "vector", statement)


BAD_SLICES = [
    (changed(SOURCE, 0, 1, 71), TARGET, "endIndex of src is 71"),
    (changed(SOURCE, 0, 0, 80), TARGET, "endIndex of src is 70"),
    (changed(SOURCE, 0, 4, 60), TARGET, "endIndex of src is 70"),
    (changed(SOURCE, 1, 1, 4), TARGET, "endIndex of src is 4"),
    (changed(SOURCE, 1, 3, 2), TARGET, "burstLen is 2"),
    (changed(SOURCE, 0, 3, 0), TARGET, "burstLen is 0"),
    (SOURCE, changed(TARGET, 0, 3, 2), "burstLen of dst is 2"),
    (SOURCE, changed(TARGET, 1, 1, 0), "endIndex of dst is 0"),
    (SOURCE, [(0, 51, 4, 3, 52), (0, 1, 0, 1, 2)], "stride in UB is 4"),
    (SOURCE, [(4, 51, 0, 3, 56), (0, 1, 0, 1, 2)], "multiple of 32"),
    (SOURCE, [(0, 47, 0, 3, 4800), (0, 1, 0, 1, 2)], "writes bytes"),
]


@pytest.mark.parametrize(("source", "target", "mentions"), BAD_SLICES)
def test_limits_of_slices(source: list[Slice], target: list[Slice], mentions: str) -> None:
    operands = [given("ub", "float32", np.zeros(96, np.float32)), given("gm", "float32", np.zeros(261, np.float32))]
    refused("DataCopy", operands, {"srcSliceInfo": source, "dstSliceInfo": target}, "vector", mentions)


def test_dimensions_and_places_of_slices() -> None:
    ub = given("ub", "float32", np.zeros(96, np.float32))
    gm = given("gm", "float32", np.zeros(261, np.float32))
    good = {"srcSliceInfo": SOURCE, "dstSliceInfo": TARGET}
    for dims in (0, 9):
        refused("DataCopy", [ub, gm], good | {"dimValue": dims}, "vector", f"dimValue is {dims}")
    refused("DataCopy", [ub, ub], good, "vector", "must lie in")
    wide = [given("ub", "int64", np.zeros(96, np.int64)), given("gm", "int64", np.zeros(261, np.int64))]
    refused("DataCopy", wide, good, "vector", "sizeof(T) is 8")


@pytest.mark.parametrize("dtype", ["int16", "float16", "bfloat16", "int32", "float32"])
def test_fractals_become_rows(dtype: str, sample_rng: np.random.Generator) -> None:
    rng = sample_rng
    size = item_size(dtype)
    rows, strips, matrices = (int(n) for n in rng.integers(1, 5, 3))
    params = {
        "ndNum": matrices,
        "nValue": rows,
        "dValue": strips * 16,
        "srcNdMatrixStride": 2,
        "srcNStride": rows + int(rng.integers(0, 3)),
        "dstDStride": strips * 16 + int(rng.integers(0, 5)),
    }
    params["dstNdMatrixStride"] = rows * params["dstDStride"] + int(rng.integers(0, 9))
    operands = [
        random_memory(rng, "gm", dtype, 16384, int(rng.integers(0, 3)) * size),
        random_memory(rng, "ub", dtype, 16384),
    ]

    def statement(copies: list[Memory]) -> None:
        for nd in range(matrices):
            for row in range(rows):
                for strip in range(strips):
                    start = nd * 512 + strip * params["srcNStride"] * 16 + row * 16
                    to = nd * params["dstNdMatrixStride"] + row * params["dstDStride"] + strip * 16
                    move_bytes(copies[0], to * size, copies[1], start * size, 16 * size)

    check("DataCopy", operands, params, "vector", statement)


GOOD_ROWS = {"ndNum": 1, "nValue": 4, "dValue": 32, "srcNdMatrixStride": 1, "srcNStride": 4, "dstDStride": 32,
             "dstNdMatrixStride": 1}  # fmt: skip
BAD_ROWS = [
    ({"ndNum": 4096}, "ndNum is 4096"),
    ({"nValue": 0}, "nValue is 0"),
    ({"nValue": 8193}, "nValue is 8193"),
    ({"dValue": 24}, "dValue is 24"),
    ({"srcNdMatrixStride": 513}, "srcNdMatrixStride is 513"),
    ({"srcNStride": 4097}, "srcNStride is 4097"),
    ({"dstDStride": 16}, "dstDStride is 16"),
    ({"dstNdMatrixStride": 0}, "dstNdMatrixStride is 0"),
    ({"dstDStride": 400}, "writes bytes"),
    ({"srcNStride": 400}, "reads bytes"),
]


@pytest.mark.parametrize(("change", "mentions"), BAD_ROWS)
def test_limits_of_fractals_to_rows(change: dict[str, int], mentions: str) -> None:
    operands = [given("gm", "float16", np.zeros(512, np.float16)), given("ub", "float16", np.zeros(512, np.float16))]
    refused("DataCopy", operands, GOOD_ROWS | change, "vector", mentions)


TO_UB = {"ndNum": 1, "nValue": 7, "dValue": 40, "srcDValue": 44, "dstNzC0Stride": 9, "dstNzNStride": 1}


@pytest.mark.parametrize("dtype", ["int8", "float16", "int32"])
def test_rows_become_groups_in_ub(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = item_size(dtype)
    operands = [random_memory(rng, "ub", dtype, 8192), random_memory(rng, "gm", dtype, 4096)]

    def statement(copies: list[Memory]) -> None:
        for row in range(7):
            for at in range(0, 40 * size, 32):
                count = min(32, 40 * size - at)
                to = at * 9 + row * 32
                move_bytes(copies[0], to, copies[1], row * 44 * size + at, count)
                copies[0].defined[to + count : to + 32] = 0

    check("DataCopy", operands, TO_UB, "vector", statement)


@pytest.mark.parametrize(
    ("change", "dtype", "mentions"),
    [
        ({}, "float32", "dtype"),
        ({"ndNum": 2, "dstNzMatrixStride": 16}, "float16", "ndNum is 2"),
        ({"dstNzNStride": 2}, "float16", "dstNzNStride is 2"),
        ({"nValue": 256, "dstNzC0Stride": 256}, "float16", "srcDValue is 44"),
    ],
)
def test_what_the_copy_into_ub_cannot_do(change: dict[str, int], dtype: str, mentions: str) -> None:
    operands = [given("ub", dtype, np.zeros(32768, np.uint8)), given("gm", dtype, np.zeros(32768, np.uint8))]
    refused("DataCopy", operands, TO_UB | change, "vector", mentions)


def test_half_becomes_float_in_the_bias_table(sample_rng: np.random.Generator) -> None:
    rng = sample_rng
    params = {"blockCount": int(rng.integers(1, 3)), "blockLen": int(rng.integers(1, 4)),
              "srcStride": int(rng.integers(0, 3)), "dstStride": int(rng.integers(0, 3))}  # fmt: skip
    values = rng.standard_normal(512).astype(np.float16)
    operands = [random_memory(rng, "bt", "float32", 1024), given("l1", "float16", values)]
    count = params["blockLen"] * 16

    def statement(copies: list[Memory]) -> None:
        for block in range(params["blockCount"]):
            start = block * (count + params["srcStride"] * 16)
            to = block * (count * 4 + params["dstStride"] * 64)
            wide = values[start : start + count].astype(np.float32)
            copies[0].data[to : to + count * 4] = np.frombuffer(wide.tobytes(), np.uint8)

    check("DataCopy", operands, params, "cube", statement)
    other = [given("bt", "int32", np.zeros(64, np.int32)), operands[1]]
    refused("DataCopy", other, params, "cube", "dtype of src")


def test_types_of_a_copy_must_agree() -> None:
    assert DTYPES["float32"].itemsize == DTYPES["int32"].itemsize
    operands = [given("ub", "float32", np.zeros(8, np.float32)), given("gm", "int32", np.zeros(8, np.int32))]
    refused("DataCopy", operands, {"blockLen": 1}, "vector", "dtype of src")
