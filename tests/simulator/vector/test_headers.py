# SPDX-License-Identifier: Apache-2.0
"""The device headers pass every argument to where it belongs: kernels call each form, NumPy says each result."""

from __future__ import annotations

import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "core"))
from kernels import launch, output

COUNT = 512
Row = tuple[str, np.ndarray, float]  # what, values from the row's start, tolerance; the rest of a row is zero


def tree(values: np.ndarray) -> np.ndarray:
    while values.shape[-1] > 1:
        values = values[..., 0::2] + values[..., 1::2]
    return values[..., 0]


def value_and_index(values: np.ndarray, index: np.ndarray) -> np.ndarray:
    return np.stack([values, index.astype(np.uint32).view(np.float32)], -1).ravel()


def expected_rows(x: np.ndarray, y: np.ndarray) -> list[Row]:
    lanes = np.arange(COUNT) % 64
    striped = (0x00FF00FF00FF00FF >> lanes) & 1 == 1
    blocks = x.reshape(-1, 8)
    repeats = x.reshape(8, 64)
    rows: list[Row] = []

    def row(what: str, values: np.ndarray, tolerance: float = 0.0) -> None:
        rows.append((what, np.asarray(values), tolerance))

    zero = np.float32(0)
    row("Add count", (x + y)[:500])
    row("Add lanes", np.where(lanes < 40, x + y, zero))
    row("Sub bits", np.where(striped, x - y, zero))
    row("Mul register", np.where(lanes < 4, x * y, zero))
    row("Max register", np.where(lanes < 5, np.maximum(x, y), zero))
    row("Min counter", np.minimum(x, y)[:70])
    row("Div", x / y)
    row("Adds", (x + np.float32(1.5))[:500])
    row("Muls lanes", np.where(lanes < 33, x * np.float32(-2), zero))
    row("Maxs bits", np.where(striped, np.maximum(x, np.float32(0.25)), zero))
    row("Mins", np.minimum(x, np.float32(0.25)))
    row("Adds counter register", (x + np.float32(1))[:100])
    row("Abs", np.abs(x))
    row("Exp", np.exp(x.astype(np.float64)).astype(np.float32), 1e-6)
    row("Relu bits", np.where(striped, np.maximum(x, zero), zero))
    row("Duplicate lanes", np.where((lanes < 10) & (np.arange(COUNT) < 256), np.float32(3), zero))
    # Repeat stride 16: every other repeat.
    row("Duplicate bits", np.where(striped & (np.arange(COUNT) // 64 % 2 == 0), np.float32(4), zero))
    row("Axpy", x * np.float32(2))
    row("MulAddDst", x * y)
    row("LeakyRelu", np.where(x >= 0, x, x * np.float32(0.5)))
    row("WholeReduceSum", tree(repeats))
    row("WholeReduceMax", value_and_index(repeats.max(1), repeats.argmax(1)))
    row("WholeReduceMin", repeats.min(1))
    row("BlockReduceMax", blocks.max(1))
    row("PairReduceSum", x[0::2] + x[1::2])
    row("RepeatReduceSum", tree(repeats))
    row("ReduceMax", value_and_index(x.max(keepdims=True), x.argmax(keepdims=True)))
    total = tree(repeats)[0]
    for value in tree(repeats)[1:]:
        total = total + value
    row("ReduceSum", np.array([total]))
    row("Brcb", np.repeat(x[:64], 8))
    copied = np.zeros(COUNT, np.float32)
    for repeat in range(4):
        copied[repeat * 128 : repeat * 128 + 64] = y[repeat * 64 : repeat * 64 + 64]
    row("Copy", copied)
    halves = x.astype(np.float16)
    row("Cast half", halves)
    row("Cast bfloat16", x.astype(ml_dtypes.bfloat16))
    row("Cast int32", np.floor(x).astype(np.int32))
    row("Cast back", halves.astype(np.float32))
    row("Muls half", halves * np.float16(0.5))
    row("Compare", np.packbits(x > y, bitorder="little"))
    row("CompareScalar", np.packbits(x <= 0, bitorder="little"))
    row("Select tensor", np.where(x > y, x, y))
    row("Select scalar", np.where(x > y, x, np.float32(-1)))
    row("CreateVecIndex", np.arange(7, 7 + COUNT, dtype=np.int32))
    row("ShiftLeft", np.arange(COUNT, dtype=np.int32) * 4)
    row("Gather", x[np.arange(16) * 4])
    row("GatherMask", np.concatenate([x[1::2], np.zeros(192, np.float32), np.full(64, 256, np.float32)]))
    row("And", x.view(np.int16) & y.view(np.int16))
    row("Not", ~x.view(np.int16))
    return rows


def rarer_rows(x: np.ndarray, y: np.ndarray) -> list[Row]:
    zero = np.float32(0)
    blocks, repeats = x.reshape(64, 8), x.reshape(8, 64)
    even = np.arange(64) % 2 == 0
    even_lanes = np.arange(64) // 8 % 2 == 0
    spread = np.zeros((4, 2, 8), np.float32)
    spread[:, 0] = np.where(even[:8], blocks.max(1).reshape(4, 2, 8)[:, 0], zero)
    every_other = np.where(np.arange(COUNT) // 64 % 2 == 0, x, np.float32(np.nan))
    least, most = np.nanargmin(every_other), np.nanargmax(every_other)
    counted = np.arange(COUNT, dtype=np.int32) - 100
    greater = x > y
    size = np.abs(x).astype(np.float64)
    approximate = [
        ("Sqrt", np.sqrt(size)),
        ("Rsqrt", 1 / np.sqrt(size)),
        ("Reciprocal", 1 / size),
        ("Ln", np.log(size)),
    ]
    rows: list[tuple[str, np.ndarray]] = [
        ("AddRelu", np.maximum(x + y, zero)),
        ("SubRelu", np.maximum(x - y, zero)),
        ("FusedMulAdd", x * np.float32(2) + y),
        ("FusedMulAddRelu", np.maximum(x * np.float32(2) + y, zero)),
        ("Or", x.view(np.int16) | y.view(np.int16)),
        *((what, values.astype(np.float32)) for what, values in approximate),
        ("BlockReduceSum", tree(blocks)),
        ("BlockReduceSum bits", np.where(even, tree(blocks), zero)),
        ("BlockReduceMin", blocks.min(1)),
        ("BlockReduceMin bits", np.where(even, blocks.min(1), zero)),
        ("BlockReduceMax strides", spread),
        ("ReduceMin", value_and_index(x.min(keepdims=True), x.argmin(keepdims=True))),
        ("ReduceMin lanes", value_and_index(x[[least]], np.array([least]))),
        ("ReduceMin bits", repeats[:, even_lanes].min(keepdims=True)),
        ("ReduceMax lanes", value_and_index(x[[most]], np.array([most]))),
        ("ReduceSum bits", tree(np.where(even_lanes, y[:64], zero)).reshape(1)),
        ("Gatherb", blocks[7::-1]),
        ("ShiftRight", counted >> 3),
        ("ShiftRight rounded", (counted >> 1) + (counted & 1)),
        ("ShiftRight bits", np.where(np.arange(COUNT) % 64 < 16, counted >> 2, 0).astype(np.int32)),
        ("Transpose", x.astype(np.float16)[:256].reshape(16, 16).T),
        ("Cast with scale", (counted * 0.25).astype(np.float16)),
        ("Cast without scale", counted.astype(np.float16)),
        ("GetCmpMask", np.packbits(greater[:64], bitorder="little")),
        ("GetCmpMask bits", np.packbits(~greater[:64] & ~even_lanes, bitorder="little")),
        ("Select by register", np.where(np.tile(greater[:64], 8), x, y)),
        ("Select scalar in register", np.where(greater, x, np.float32(2.5))),
        ("SetAtomicAdd", x + y),
        ("SetAtomicMax", np.maximum(x, y)),
        ("SetAtomicMin", np.minimum(x, y)),
        ("SetAtomicNone", y),
        ("InitOutput", np.full(COUNT - 3, 1.5, np.float32)),
        ("SetPadValue", np.concatenate([x[:5], np.full(3, -7, np.float32)])),
    ]
    tolerances = dict.fromkeys(("Sqrt", "Rsqrt", "Reciprocal", "Ln"), 1e-6)
    return [(what, values, tolerances.get(what, 0.0)) for what, values in rows]


def renamed_rows(x: np.ndarray, y: np.ndarray) -> list[Row]:
    zero = np.float32(0)
    blocks, repeats, pairs = x.reshape(64, 8), x.reshape(8, 64), x[0::2] + x[1::2]
    even_lanes = np.arange(64) // 8 % 2 == 0
    spread = np.zeros((8, 2), np.float32)
    spread[:, 0] = repeats[:, even_lanes].min(1)
    rows: list[tuple[str, np.ndarray]] = [
        ("ReduceRepeat sum", tree(repeats)),
        ("ReduceRepeat max", value_and_index(repeats.max(1), repeats.argmax(1))),
        ("ReduceRepeat min", spread),
        ("ReduceDataBlock sum", tree(blocks)),
        ("ReduceDataBlock max", np.where(np.arange(64) % 2 == 0, blocks.max(1), zero)),
        ("ReduceDataBlock min", blocks.min(1).reshape(4, 2, 8)[:, 0]),
        ("ReducePairElem", pairs),
        ("ReducePairElem bits", np.where(np.arange(256) // 4 % 2 == 0, pairs, zero)),
        ("Compares", np.packbits(x < 0.25, bitorder="little")),
        ("Compares lanes", np.packbits(x >= 0, bitorder="little")),
        ("Compares bits", np.packbits(x[:256] > -0.5, bitorder="little")),
        ("DisableDmaAtomic", y),
        ("Fill", np.full(COUNT, -2.5, np.float32)),
        ("Fill integers", np.full(100, 0x12345678, np.int32)),
    ]
    return [(what, values, 0.0) for what, values in rows]


def operator_rows(x: np.ndarray, y: np.ndarray) -> list[Row]:
    bits_x, bits_y = x.view(np.uint32), y.view(np.uint32)
    half_x, half_y = x.astype(np.float16), y.astype(np.float16)
    rows: list[tuple[str, np.ndarray]] = [
        ("+", x + y),
        ("-", x - y),
        ("*", x * y),
        ("/", x / y),
        ("+ of the size of dst", (x + y)[:100]),
        ("& of 16 bits", bits_x & bits_y),
        ("| of 16 bits", bits_x | bits_y),
        ("& of 32 bits", bits_x & bits_y),
        ("| of 32 bits", bits_x | bits_y),
    ]
    comparisons = (np.less, np.greater, np.less_equal, np.greater_equal, np.equal, np.not_equal)
    rows += [(compare.__name__, np.packbits(compare(x, y), bitorder="little")) for compare in comparisons]
    rows += [
        ("- of halves", half_x - half_y),
        ("< of halves", np.packbits(half_x < half_y, bitorder="little")),
    ]
    return [(what, values, 0.0) for what, values in rows]


def dequantised(values: np.ndarray, scale: np.ndarray, offset: np.ndarray, low: int, high: int) -> np.ndarray:
    return np.clip(np.rint(values * scale + offset), low, high).astype(np.int8 if low else np.uint8)


def half_blocks(values: np.ndarray, high: bool) -> np.ndarray:
    """A source block of 16 elements gives half a destination block."""
    blocks = np.zeros((values.size // 16, 2, 16), values.dtype)
    blocks[:, int(high)] = values.reshape(-1, 16)
    return blocks.ravel()


def sorted_pairs(scores: np.ndarray, index: np.ndarray) -> np.ndarray:
    order = np.argsort(-scores, kind="stable")
    return value_and_index(scores[order], index[order])


def conversion_rows(x: np.ndarray, y: np.ndarray) -> list[tuple[str, np.ndarray]]:
    a, b = x.astype(np.float16), y.astype(np.float16)
    floats, lane64, lane128 = np.float32(0), np.arange(COUNT) % 64, np.arange(COUNT) % 128
    in4, in2 = np.arange(COUNT) < 256, np.arange(COUNT) < 256
    added, taken = (np.maximum(v, floats).astype(np.float16) for v in (x + y, x - y))
    nothing = np.float16(0)
    product = np.rint(a * b)
    i, j = np.floor(x).astype(np.int32), np.ceil(y).astype(np.int32)
    scaled = np.maximum((i + j) * np.float32(0.5), 0).astype(np.float16)
    k = np.arange(COUNT) % 16
    vector = dequantised(i, k, 100 - k, 0, 255)
    even = np.where(np.arange(256) % 128 < 64, np.arange(256) % 2 == 0, False)
    return [
        ("AddReluCast", added),
        ("AddReluCast lanes", np.where(in4, added, nothing)),
        ("SubReluCast bits", np.where(in4 & (lane64 < 32), taken, nothing)),
        ("SubReluCast register", np.where(in4, taken, nothing)),
        ("SubReluCast half", np.clip(np.rint(np.maximum(a - b, 0)), 0, 127).astype(np.int8)),
        ("MulCast", np.clip(product, -128, 127).astype(np.int8)),
        ("MulCast lanes", np.where(in2 & (lane128 < 100), np.clip(product, 0, 255), 0).astype(np.uint8)),
        ("MulCast bits", np.where(in2 & (lane128 < 32), np.clip(product, 0, 255), 0).astype(np.uint8)),
        ("AddDeqRelu", scaled),
        ("AddDeqRelu traits", scaled),
        ("AddDeqRelu lanes", scaled),
        ("AddDeqRelu bits", np.where(lane64 < 32, scaled, nothing)),
        ("CastDequant int32", (i * np.float32(0.5)).astype(np.float16)),
        ("CastDeq", half_blocks(dequantised(i, 2, -3, -128, 127), True)),
        ("CastDeq lanes", half_blocks(np.where(lane128 < 16, dequantised(i, 2, -3, -128, 127), 0), False)),
        ("CastDequant vector", half_blocks(vector, False)),
        ("CastDequant bits", half_blocks(np.where(even, vector[:256], 0).astype(np.uint8), True)),
    ]


def transposition_rows(x: np.ndarray) -> list[tuple[str, np.ndarray]]:
    halves, raw = x.view(np.float16), x.view(np.int8)
    listed = x[:256].reshape(16, 16)[:, :8].T
    blocks = halves[: 16 * 32].reshape(16, 2, 16)
    high = np.zeros((16, 32), np.int8)
    high[:, 16:] = raw[:512].reshape(16, 32)[:, :16].T
    return [
        ("Transpose NCHW2NHWC", x.reshape(2, 256).T),
        ("Transpose NHWC2NCHW", x),
        ("Transpose ND2ND_B16", halves[:256].reshape(16, 16).T),
        ("TransDataTo5HD tensors", listed),
        ("TransDataTo5HD addresses", np.stack([blocks[:, 0].T, blocks[:, 1].T])),
        ("TransDataTo5HD tables", high),
    ]


def sorting_rows(x: np.ndarray) -> list[tuple[str, np.ndarray]]:
    index = np.arange(256)

    def groups(count: int) -> np.ndarray:
        return np.concatenate(
            [sorted_pairs(x[32 * g : 32 * g + 32], index[32 * g : 32 * g + 32]) for g in range(count)]
        )

    def merged(queues: int, suspend: bool) -> tuple[np.ndarray, np.ndarray]:
        queue = np.argsort(-x[: 32 * queues], kind="stable")
        if suspend:  # up to and with the last element of the first queue to be used up
            used = np.stack([np.cumsum(queue // 32 == q) for q in range(queues)])
            queue = queue[: int(np.argmax((used == 32).any(0))) + 1]
        counts = np.array([(queue // 32 == q).sum() for q in range(4)])
        return value_and_index(x[queue], queue), counts

    def with_counts(queues: int) -> np.ndarray:
        values, counts = merged(queues, True)
        row = np.zeros(504, np.float32)
        row[: values.size] = values
        row[500:] = counts
        return row

    taken = groups(4).reshape(-1, 2)
    return [
        ("Sort32", groups(8)),
        ("Sort", groups(4)),
        ("Sort full", sorted_pairs(x[:256], index)),
        ("MrgSort", merged(4, False)[0]),
        ("GetMrgSortResult", with_counts(2)),
        ("MrgSort counted", with_counts(3)),
        ("Extract", np.concatenate([taken[:, 0], taken[:, 1]])),
    ]


def library_rows(x: np.ndarray, y: np.ndarray) -> list[Row]:
    bits = x.view(np.int16) ^ y.view(np.int16)
    mask = np.zeros((8, 64), bool)
    mask[:4, 0::2] = True
    mask[4:, 1::2] = True
    part, chosen = x[:256].reshape(8, 32), mask[:, :32]
    source, weight = x.astype(np.float16), y.astype(np.float16)[:32]
    each = source.reshape(4, 8, 16)
    plain = (each * weight[:4, None, None]).reshape(2, 2, 128)
    blocks = (each * weight.reshape(4, 8, 1)).reshape(2, 2, 128)
    spread = np.zeros((2, 256), np.float16)
    lanes = (np.arange(128) < 16) | ((np.arange(128) >= 64) & (np.arange(128) < 72))
    spread[:, :128] = np.where(lanes, blocks[:, 0] + blocks[:, 1], np.float16(0))
    repeats = x.reshape(8, 64)
    extreme = np.zeros(104, np.float32)
    extreme[:16] = value_and_index(repeats.max(1), repeats.argmax(1))
    extreme[100:] = np.tile(value_and_index(x.max(keepdims=True), x.argmax(keepdims=True)), 2)
    least = np.zeros(101, np.float32)
    least[[0, 100]] = x.min()
    total = tree(repeats)[0]
    for value in tree(repeats)[1:]:
        total = total + value
    sums = np.zeros(102, np.float32)
    sums[[0, 100, 101]] = total
    kept = np.zeros(201, np.float32)
    kept[:128] = x[0::4]
    kept[200] = 128
    rows = [
        *conversion_rows(x, y),
        *transposition_rows(x),
        *sorting_rows(x),
        ("Xor work", bits[:1000]),
        ("Xor work all", bits),
        ("Xor", bits[:1000]),
        ("Xor all", bits),
        ("SelectWithBytesMask", np.where(chosen, np.float32(-2), part)),
        ("SelectWithBytesMask scalar first", np.where(chosen, part, np.float32(-2))),
        ("Select bytes", np.where(chosen, np.float32(-2), part)),
        ("BilinearInterpolation", plain[:, 0] + plain[:, 1]),
        ("BilinearInterpolation bits", spread),
        ("GetReduceMaxMinCount", extreme),
        ("GetReduceMaxMinCount of ReduceMin", least),
        ("GetAccVal", sums),
        ("GetGatherMaskRemainCount", kept),
        ("MulAddRelu", np.maximum(x * np.float32(2) + x, np.float32(0))),
    ]
    return [(what, values, 0.0) for what, values in rows]


KERNELS = {
    "vector_library_headers": library_rows,
    "vector_headers": expected_rows,
    "vector_more_headers": rarer_rows,
    "vector_renamed_headers": renamed_rows,
    "vector_operators": operator_rows,
}


@pytest.mark.parametrize("mode", ["fast", "checked"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_form(kernel: str, mode: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(COUNT).astype(np.float32)
    y = rng.standard_normal(COUNT).astype(np.float32)
    rows = KERNELS[kernel](x, y)
    out = np.zeros((len(rows), COUNT), np.float32)
    assert launch(kernel, "vector", [x, y, output(out, "out")], mode=mode)["findings"] == []
    for (what, values, tolerance), actual in zip(rows, out, strict=True):
        raw = np.zeros(COUNT * 4, np.uint8)
        raw[: values.nbytes] = np.ascontiguousarray(values).view(np.uint8).ravel()
        if tolerance:
            np.testing.assert_allclose(actual, raw.view(np.float32), rtol=tolerance, err_msg=what)
        else:
            np.testing.assert_array_equal(actual.view(np.uint8), raw, err_msg=what)
