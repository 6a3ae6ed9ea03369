# SPDX-License-Identifier: Apache-2.0
"""Formats of quantised tensors and where their scales lie.

Everything here is exact unless it says that it rounds. Scales and offsets become float32: all dtypes that the documents
allow for them fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ascend_attention.golden.errors import GoldenError
from ascend_attention.golden.numbers import Array, bfloat16_to_float

# ---- int8 and int4 ---------------------------------------------------------------------------------------------------


def to_int8(values: Array) -> Array:
    """Rounds half to even, then saturates; NaN gives 0, as the hardware's conversion does."""
    rounded = np.clip(np.rint(values), -128, 127)
    return np.where(np.isnan(rounded), 0, rounded).astype(np.int8)


def to_int8_through_half(values: Array) -> Array:
    """float32 to int8 as the hardware converts: to float16, then to int8, each to nearest even, saturating."""
    # Below a quarter the result is 0 either way, and NumPy takes long over numbers that float16 has as subnormals.
    coarse = np.where(np.abs(values) < 0.25, np.float32(0), values)
    with np.errstate(over="ignore"):
        return to_int8(coarse.astype(np.float16).astype(np.float32))


def unpack_int4(packed: Array) -> Array:
    """int32 words of eight int4 each, as int8: two's complement, low nibble first, eight times the last axis."""
    words = np.ascontiguousarray(packed).view(np.uint32)[..., None]
    nibbles = (words >> np.arange(0, 32, 4, dtype=np.uint32) & 0xF).astype(np.int8)
    signed = np.where(nibbles >= 8, nibbles - 16, nibbles).astype(np.int8)
    return signed.reshape(*packed.shape[:-1], packed.shape[-1] * 8)


def pack_int4(values: Array) -> Array:
    """The inverse of unpack_int4, for integers in [-8, 7]; the last axis must be a multiple of 8."""
    values = np.asarray(values)
    if values.shape[-1] % 8 or (values.size and not -8 <= values.min() <= values.max() <= 7):
        raise GoldenError("values", "need integers in [-8, 7] and a last axis that is a multiple of 8")
    nibbles = (values.astype(np.int64) & 0xF).astype(np.uint32).reshape(*values.shape[:-1], values.shape[-1] // 8, 8)
    words: Array = np.bitwise_or.reduce(nibbles << np.arange(0, 32, 4, dtype=np.uint32), axis=-1)
    return words.view(np.int32)


# ---- FP8 e4m3fn: sign, 4 bits of exponent (bias 7), 3 of mantissa; no infinities, 0x7F and 0xFF are NaN --------------

FLOAT8_MAX = 448.0


def _float8_values() -> Array:
    codes = np.arange(128)
    exponent, mantissa = codes >> 3, codes & 7
    magnitude = np.where(exponent == 0, np.ldexp(mantissa, -9), np.ldexp(8 + mantissa, exponent - 10))
    magnitude[0x7F] = np.nan
    return np.concatenate([magnitude, -magnitude]).astype(np.float32)


_FLOAT8 = _float8_values()


def float8_to_float(array: Array) -> Array:
    """FLOAT8_E4M3FN as float32: an ml_dtypes.float8_e4m3fn array, or uint8 holding the bits."""
    values: Array = _FLOAT8[array.view(np.uint8)]
    return values


def float8_from_float(values: Array) -> Array:
    """The nearest FLOAT8_E4M3FN (uint8 bits), ties to the even code, saturating at 448. NaN stays NaN."""
    magnitude = np.abs(np.asarray(values, np.float64))
    finite = np.minimum(np.where(np.isnan(magnitude), 0, magnitude), FLOAT8_MAX)
    _, exponent = np.frexp(finite)
    step = np.ldexp(1.0, np.maximum(exponent, -5) - 4)  # distance of codes at this size; subnormals share the smallest
    nearest = np.rint(finite / step) * step
    code = np.where(np.isnan(magnitude), 0x7F, np.searchsorted(_FLOAT8[:0x7F], nearest.astype(np.float32)))
    bits: Array = np.where(np.signbit(values), code | 0x80, code).astype(np.uint8)
    return bits


def is_float8(array: object) -> bool:
    """Whether this is FP8 e4m3fn: by the name of its dtype, or uint8 bits."""
    dtype = getattr(array, "dtype", None)
    return dtype is not None and (dtype.name == "float8_e4m3fn" or dtype == np.uint8)


# ---- scales ----------------------------------------------------------------------------------------------------------

_FACTOR_BITS = np.uint64(0xFFFFE000)  # of the packed form: float32 cut to a 10-bit mantissa
_SIGN_BIT, _OFFSET_BIT = 46, 37


def scale_values(array: Any, argument: str) -> Array:
    """A scale or offset tensor as float32, shape kept: float32, float16, bfloat16 or uint16 (bfloat16 bits)."""
    if not isinstance(array, np.ndarray):
        raise GoldenError(argument, f"must be a NumPy array, not {type(array).__name__}")
    if array.dtype == np.float32:
        return array
    if array.dtype == np.float16:
        return array.astype(np.float32)
    if array.dtype.name == "bfloat16" or array.dtype == np.uint16:
        return bfloat16_to_float(array.view(np.uint16))
    raise GoldenError(argument, f"dtype {array.dtype} is none of float32, float16 and bfloat16")


def pack_deq_scale(scale: Any, offset: Any = None) -> Array:
    """The uint64 form of per-tensor and per-channel scales that the hardware reads.

    Bits 31..13 hold the float32 scale with its lowest 13 mantissa bits cut off, bit 46 is set, bits 45..37 hold the
    offset as a 9-bit two's complement number if there is one (rounded half to even, saturated).
    Source: the packing that trans_quant_param documents.
    """
    bits = np.atleast_1d(np.asarray(scale, np.float32)).view(np.uint32).astype(np.uint64)
    packed: Array = bits & _FACTOR_BITS | np.uint64(1 << _SIGN_BIT)
    if offset is not None:
        steps = np.clip(np.rint(np.atleast_1d(np.asarray(offset, np.float32))), -256, 255).astype(np.int64)
        packed = packed | ((steps & 0x1FF).astype(np.uint64) << np.uint64(_OFFSET_BIT))
    return packed


def deq_scale_value(array: Any, argument: str) -> float:
    """deq_scale1 or deq_scale2, per tensor: one float32, or one uint64 in the packed form.

    A dequantisation has no offset and no 8-bit result, so only the factor of the packed form counts.
    """
    if not isinstance(array, np.ndarray) or array.size != 1:
        raise GoldenError(argument, "must be an array of one element: only per tensor is documented")
    if array.dtype == np.uint64:
        factor = (array.reshape(1) & _FACTOR_BITS).astype(np.uint32)
        return float(factor.view(np.float32)[0])
    if array.dtype != np.float32:
        raise GoldenError(argument, f"dtype {array.dtype} is neither uint64 nor float32")
    return float(array.reshape(()))


def per_tensor_value(array: Any, argument: str) -> float:
    values = scale_values(array, argument)
    if values.size != 1:
        raise GoldenError(argument, f"shape {values.shape} must hold one element")
    return float(values.reshape(()))


def per_output_channel(array: Any, heads: int, dim: int, argument: str) -> Array:
    """quant_scale_out, quant_scale2 and their offsets as float32 (N or 1, 1, D or 1), for outputs seen as (N, S, D).

    One element is per tensor. N * D elements are per channel: every documented shape, in each output layout, lists them
    head by head: (1, 1, H), (1, H), (H,), (1, N, 1, D), (1, 1, N, D), (N, 1, D), (1, N, D), (N, D).
    """
    values = scale_values(array, argument)
    if values.size == 1:
        return values.reshape(1, 1, 1)
    if values.size != heads * dim:
        raise GoldenError(argument, f"shape {values.shape} holds neither 1 nor {heads} x {dim} elements")
    return values.reshape(heads, 1, dim)


# ---- scale and offset of key and value -------------------------------------------------------------------------------

MODE_NAMES = (
    "per channel or per tensor",
    "per token",
    "per tensor and head",
    "per token and head",
    "per token, paged",
    "per token and head, paged",
)


@dataclass(frozen=True)
class KeyValueScale:
    """A scale or offset of key or value in any documented shape, found by sequence.

    values is (B or 1, KV_N or 1, KV_S or 1, D or 1). "by block" it is (blocknum, KV_N or 1, blocksize, 1): a token's
    entry lies where block_table puts the token.
    """

    values: Array
    lies: Literal["once", "by token", "by block"]
    argument: str

    def read(self, batch: int, head: int, first: int, last: int, blocks: Array | None) -> Array:
        """(tokens or 1, D or 1) for these tokens of one sequence; ``blocks`` is its row of block_table."""
        by_batch, by_head, size = self.values.shape[:3]
        if self.lies == "once":
            return np.asarray(self.values[0, head % by_head])
        if self.lies == "by token":
            if size < last:
                raise GoldenError(self.argument, f"has entries for {size} tokens, a sequence has {last}")
            return np.asarray(self.values[batch, head % by_head, first:last])
        if blocks is None:
            raise GoldenError("block_table", "quant modes 4 and 5 keep scales by block: they need it")
        start, stop = first // size, -(-last // size)
        ids = blocks[start:stop]
        if len(ids) and not 0 <= ids.min() <= ids.max() < by_batch:
            raise GoldenError(self.argument, f"has {by_batch} blocks, a sequence uses block {ids.max()}")
        tokens: Array = self.values[ids, head % by_head].reshape(-1, 1)
        return tokens[first - start * size : last - start * size]


def key_value_scale(array: Any, mode: int, batch: int, heads: int, dim: int, argument: str) -> KeyValueScale:
    """``array`` is a dequant_scale_* or dequant_offset_* of key or value, ``heads`` KV_N, ``dim`` D of that tensor.

    Shapes by mode (H = KV_N * D; per-token ones may be longer than KV_S):
      0  (1,); (KV_N, 1, D), (KV_N, D), (H,), each also with a leading 1
      1  (B, KV_S), (1, B, KV_S)
      2  (KV_N,)
      3  (B, KV_N, KV_S)
      4  (blocknum, blocksize)
      5  (blocknum, KV_N, blocksize)
    """
    values = scale_values(array, argument)
    shape = values.shape
    if mode == 0 and values.size == 1:
        return KeyValueScale(values.reshape(1, 1, 1, 1), "once", argument)
    bare = shape[1:] if len(shape) > 1 and shape[0] == 1 else shape
    if mode == 0 and any(s in ((heads, 1, dim), (heads, dim), (heads * dim,)) for s in (shape, bare)):
        return KeyValueScale(values.reshape(1, heads, 1, dim), "once", argument)
    if mode == 1 and any(len(s) == 2 and s[0] == batch for s in (shape, bare)):
        return KeyValueScale(values.reshape(batch, 1, -1, 1), "by token", argument)
    if mode == 2 and shape == (heads,):
        return KeyValueScale(values.reshape(1, heads, 1, 1), "once", argument)
    if mode == 3 and len(shape) == 3 and shape[:2] == (batch, heads):
        return KeyValueScale(values[..., None], "by token", argument)
    if mode == 4 and len(shape) == 2:
        return KeyValueScale(values[:, None, :, None], "by block", argument)
    if mode == 5 and len(shape) == 3 and shape[1] == heads:
        return KeyValueScale(values[..., None], "by block", argument)
    if mode not in range(len(MODE_NAMES)):
        raise GoldenError(argument, f"quant mode {mode} is not one of 0 to {len(MODE_NAMES) - 1}")
    raise GoldenError(
        argument, f"shape {shape} is none of mode {mode} ({MODE_NAMES[mode]}) for B {batch}, KV_N {heads}, D {dim}"
    )


def dequantise(integers: Array, scale: Array, offset: Array | None, work_type: Any) -> Array:
    """(integers + offset) * scale, computed in ``work_type``."""
    values: Array = integers.astype(work_type)
    if offset is not None:
        values = values + offset.astype(work_type)
    values = values * scale.astype(work_type)
    return values
