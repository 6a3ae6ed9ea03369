# SPDX-License-Identifier: Apache-2.0
"""Formats and scales of quantised tensors: every code, round trips, every documented shape."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest

from ascend_attention.golden import GoldenError
from ascend_attention.golden import quantisation as quant


def test_every_nibble_of_a_word() -> None:
    word = 0x8F7E0193  # nibbles from the lowest: 3, 9, 1, 0, E, 7, F, 8
    packed = np.array([[word]], np.uint32).view(np.int32)
    assert quant.unpack_int4(packed).tolist() == [[3, -7, 1, 0, -2, 7, -1, -8]]
    assert quant.unpack_int4(packed).dtype == np.int8


def test_int4_there_and_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.integers(-8, 8, (2, 3, 5, 64)).astype(np.int8)
    packed = quant.pack_int4(values)
    assert packed.shape == (2, 3, 5, 8) and packed.dtype == np.int32
    np.testing.assert_array_equal(quant.unpack_int4(packed), values)
    strided = np.repeat(packed, 2, axis=2)[:, :, ::2]
    np.testing.assert_array_equal(quant.unpack_int4(strided), values)
    assert quant.pack_int4(np.zeros((3, 0, 16), np.int8)).shape == (3, 0, 2)
    for wrong in (np.full(8, 8), np.full(8, -9), np.zeros(7)):
        with pytest.raises(GoldenError):
            quant.pack_int4(wrong)


def test_int8_rounds_half_to_even_and_saturates() -> None:
    given = [-0.5, 0.5, 1.5, 2.5, -1.5, -2.5, 126.5, 127.5, 127.4, -128.5, -129.0, 1e30, -math.inf, math.nan, 0.4999]
    want = [0, 0, 2, 2, -2, -2, 126, 127, 127, -128, -128, 127, -128, 0, 0]
    for dtype in (np.float32, np.float64):
        got = quant.to_int8(np.array(given, dtype))
        assert got.dtype == np.int8
        assert got.tolist() == want


def test_int8_through_float16_rounds_twice() -> None:
    # Between 64 and 128 float16 has steps of 1/16: what lies within 1/32 of a tie lands on it.
    given = np.array([100.49, 101.49, 100.46, 3.4999, 70000.0, -70000.0, 126.97], np.float32)
    assert quant.to_int8(given).tolist() == [100, 101, 100, 3, 127, -128, 127]
    assert quant.to_int8_through_half(given).tolist() == [100, 102, 100, 4, 127, -128, 127]
    fine = np.concatenate([np.linspace(-140, 140, 50_001), np.linspace(-0.6, 0.6, 5_001), [1e-30, np.nan, np.inf]])
    fine = fine.astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        want = np.nan_to_num(np.clip(np.rint(fine.astype(np.float16).astype(np.float64)), -128, 127)).astype(np.int8)
    np.testing.assert_array_equal(quant.to_int8_through_half(fine), want)


def _float8(code: int) -> float:
    """The definition: sign, four bits of exponent with bias 7, three of mantissa."""
    sign = -1.0 if code & 0x80 else 1.0
    exponent, mantissa = code >> 3 & 0xF, code & 7
    if exponent == 15 and mantissa == 7:
        return math.nan
    return sign * (mantissa / 8 * 2.0**-6 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 7))


def test_every_float8_code() -> None:
    codes = np.arange(256).astype(np.uint8)
    ours = quant.float8_to_float(codes)
    np.testing.assert_array_equal(ours, np.array([_float8(int(c)) for c in codes], np.float32))
    assert math.copysign(1, ours[0x80]) == -1
    number = ~np.isnan(ours)
    np.testing.assert_array_equal(quant.float8_from_float(ours)[number], codes[number])
    assert set(quant.float8_from_float(ours)[~number].tolist()) <= {0x7F, 0xFF}


def test_float8_agrees_with_ml_dtypes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ml_dtypes = pytest.importorskip("ml_dtypes")
    codes = np.arange(256).astype(np.uint8)
    theirs = codes.view(ml_dtypes.float8_e4m3fn)
    np.testing.assert_array_equal(quant.float8_to_float(theirs), theirs.astype(np.float32))
    assert quant.is_float8(theirs) and quant.is_float8(codes) and not quant.is_float8(codes.view(np.int8))
    exact = np.sort(quant.float8_to_float(codes[:0x7F]))
    ties = (exact[1:] + exact[:-1]) / 2
    values = np.concatenate([rng.uniform(-440, 440, 20000), rng.uniform(-0.1, 0.1, 20000), ties]).astype(np.float32)
    want = values.astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    np.testing.assert_array_equal(quant.float8_from_float(values), want)


def test_float8_saturates() -> None:
    codes = quant.float8_from_float(np.array([448.0, 464.0, 1e9, math.inf, -1e9, 2.0**-10, 2.0**-9, 0.0, -0.0]))
    assert codes.tolist() == [0x7E, 0x7E, 0x7E, 0x7E, 0xFE, 0, 1, 0, 0x80]


@pytest.mark.parametrize("scale", [1.0, 0.0078125, 0.1, 3.0e-5, -2.75])
def test_packed_deq_scale_bit_by_bit(scale: float) -> None:
    (word,) = struct.unpack("<I", struct.pack("<f", scale))
    want = 1 << 46
    for bit in range(13, 32):
        want |= word & (1 << bit)
    assert quant.pack_deq_scale(scale).tolist() == [want]
    assert quant.pack_deq_scale(scale, -3.0).tolist() == [want | (512 - 3) << 37]
    assert quant.pack_deq_scale(scale, 300.0).tolist() == [want | 255 << 37]
    for packed in (quant.pack_deq_scale(scale), quant.pack_deq_scale(scale, 7.0)):
        value = quant.deq_scale_value(packed, "deq_scale1")
        assert abs(value) <= abs(np.float32(scale)) < abs(value) * (1 + 2.0**-10)  # cut, never rounded away from zero
        np.testing.assert_array_equal(quant.pack_deq_scale(value), quant.pack_deq_scale(scale))


def test_deq_scale_as_float32_is_taken_whole() -> None:
    assert quant.deq_scale_value(np.array([0.1], np.float32), "deq_scale1") == float(np.float32(0.1))
    for wrong in (np.array([0.1]), np.array([1, 2], np.uint64), 0.1, np.array([1], np.int64)):
        with pytest.raises(GoldenError, match="deq_scale2"):
            quant.deq_scale_value(wrong, "deq_scale2")


B, KV_N, D, KV_S, BLOCKS, SIZE = 3, 2, 16, 20, 9, 8
PER_CHANNEL = [(KV_N, 1, D), (KV_N, D), (KV_N * D,), (1, KV_N, 1, D), (1, KV_N, D), (1, KV_N * D)]


@pytest.mark.parametrize("shape", PER_CHANNEL)
def test_per_channel_shapes(shape: tuple[int, ...]) -> None:
    numbers = np.arange(KV_N * D, dtype=np.float32)
    scale = quant.key_value_scale(numbers.reshape(shape), 0, B, KV_N, D, "dequant_scale_key")
    for b in range(B):
        for n in range(KV_N):
            assert scale.read(b, n, 0, 11, None).tolist() == [[n * D + d for d in range(D)]]


def test_other_dense_shapes() -> None:
    tensor = quant.key_value_scale(np.array([0.5], np.float16), 0, B, KV_N, D, "x")
    assert tensor.read(2, 1, 0, 5, None).tolist() == [[0.5]]
    per_head = quant.key_value_scale(np.arange(KV_N, dtype=np.float32), 2, B, KV_N, D, "x")
    assert [per_head.read(1, n, 0, 7, None).tolist() for n in range(KV_N)] == [[[0.0]], [[1.0]]]
    for length in (KV_S, KV_S + 4):  # longer than KV_S is allowed
        tokens = np.arange(B * length, dtype=np.float32).reshape(B, length)
        for array in (tokens, tokens[None]):
            scale = quant.key_value_scale(array, 1, B, KV_N, D, "x")
            assert scale.read(1, 1, 3, 7, None).tolist() == [[length + t] for t in range(3, 7)]
        both = np.arange(B * KV_N * length, dtype=np.float32).reshape(B, KV_N, length)
        scale = quant.key_value_scale(both, 3, B, KV_N, D, "x")
        assert all(scale.read(2, n, 1, 6, None).tolist() == [[both[2, n, t]] for t in range(1, 6)] for n in range(KV_N))


@pytest.mark.parametrize("mode", [4, 5])
def test_paged_shapes(mode: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    array = rng.normal(size=(BLOCKS, SIZE) if mode == 4 else (BLOCKS, KV_N, SIZE)).astype(np.float32)
    scale = quant.key_value_scale(array, mode, B, KV_N, D, "x")
    blocks = np.array([7, 0, 5, -123456], np.int32)  # the last is not used by 20 tokens
    for first, last in ((0, KV_S), (3, 9), (8, 16), (5, 5)):
        for n in range(KV_N):
            part = scale.read(1, n, first, last, blocks)
            assert part.shape == (last - first, 1)
            for t in range(first, last):
                at = (blocks[t // SIZE], t % SIZE) if mode == 4 else (blocks[t // SIZE], n, t % SIZE)
                assert part[t - first, 0] == array[at]
    with pytest.raises(GoldenError, match="block_table"):
        scale.read(1, 0, 0, KV_S, None)


def test_too_few_entries_are_refused() -> None:
    for length in (1, KV_S):
        dense = quant.key_value_scale(np.ones((B, length), np.float32), 1, B, KV_N, D, "dequant_scale_key")
        with pytest.raises(GoldenError, match="dequant_scale_key"):
            dense.read(0, 0, 0, length + 1, None)
    paged = quant.key_value_scale(np.ones((BLOCKS, SIZE), np.float32), 4, B, KV_N, D, "dequant_scale_key")
    for ids in ([0, BLOCKS], [0, -1]):
        assert paged.read(0, 0, 0, SIZE, np.array(ids)).shape == (SIZE, 1)
        with pytest.raises(GoldenError, match="dequant_scale_key"):
            paged.read(0, 0, 0, SIZE + 1, np.array(ids))


@pytest.mark.parametrize(
    ("mode", "shape"),
    [(0, (KV_N, D + 1)), (0, (D,)), (1, (B + 1, KV_S)), (1, (KV_S,)), (2, (KV_N + 1,)), (3, (B, KV_N + 1, KV_S)),
     (3, (B, KV_S)), (4, (BLOCKS, KV_N, SIZE)), (5, (BLOCKS, SIZE)), (6, (1,)), (-1, (1,))],
)  # fmt: skip
def test_undocumented_shapes_are_refused(mode: int, shape: tuple[int, ...]) -> None:
    with pytest.raises(GoldenError, match="dequant_offset_value"):
        quant.key_value_scale(np.ones(shape, np.float32), mode, B, KV_N, D, "dequant_offset_value")


def test_output_scale_shapes() -> None:
    heads, dim = 4, 8
    numbers = np.arange(heads * dim, dtype=np.float32)
    for shape in ((1, 1, 32), (1, 32), (32,), (1, 4, 1, 8), (1, 1, 4, 8), (4, 1, 8), (1, 4, 8), (4, 8)):
        scale = quant.per_output_channel(numbers.reshape(shape), heads, dim, "quant_scale_out")
        assert scale.shape == (heads, 1, dim) and scale[3, 0, 2] == 26
    for shape in ((1,), (1, 1, 1)):
        assert quant.per_output_channel(np.full(shape, 3, np.float32), heads, dim, "x").shape == (1, 1, 1)
    with pytest.raises(GoldenError, match="quant_offset_out"):
        quant.per_output_channel(numbers[:8], heads, dim, "quant_offset_out")


def test_scale_dtypes() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    values = np.array([0.5, -3.0, 1.25], np.float32)
    for array in (values, values.astype(np.float16), values.astype(ml_dtypes.bfloat16)):
        np.testing.assert_array_equal(quant.scale_values(array, "x"), values)
    np.testing.assert_array_equal(quant.scale_values(values.astype(ml_dtypes.bfloat16).view(np.uint16), "x"), values)
    for wrong in (values.astype(np.float64), [0.5], values.astype(np.int8)):
        with pytest.raises(GoldenError, match="x"):
            quant.scale_values(wrong, "x")


def test_dequantise_adds_then_multiplies() -> None:
    integers = np.array([[-128, 0, 127]], np.int8)
    scale, offset = np.array([0.25], np.float32), np.array([3.0], np.float32)
    assert quant.dequantise(integers, scale, offset, np.float64).tolist() == [[-31.25, 0.75, 32.5]]
    assert quant.dequantise(integers, scale, None, np.float32).tolist() == [[-32.0, 0.0, 31.75]]
