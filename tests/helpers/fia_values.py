# SPDX-License-Identifier: Apache-2.0
"""The numbers of a FiaCase: query, key, value, rope, masks, bias and sink, before they are laid out in tensors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from helpers.fia_cases import FiaCase

# Content of the 2048 x 2048 mask: random bytes, because nobody may read it.
_promise_bytes: dict[str, np.ndarray] = {}


def bfloat16_bits(x: np.ndarray) -> np.ndarray:
    """float32 to bfloat16 bit patterns, to nearest even; NaN stays NaN."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded = ((bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16).astype(np.uint16)  # only a NaN can wrap around
    return np.where(np.isnan(x), np.uint16(0x7FC0), rounded)


def round_to(x: np.ndarray, dtype: str) -> np.ndarray:
    """The nearest values of the 16-bit dtype, as float32."""
    if dtype == "float16":
        return np.asarray(x, np.float32).astype(np.float16).astype(np.float32)
    return (bfloat16_bits(x).astype(np.uint32) << 16).view(np.float32)


def encode(x: np.ndarray, dtype: str, bfloat16: str = "ml_dtypes") -> np.ndarray:
    if dtype == "float16":
        return x.astype(np.float16)
    bits = bfloat16_bits(x)
    if bfloat16 == "bits":
        return bits
    import ml_dtypes

    return bits.view(ml_dtypes.bfloat16)


def poison(rows: np.ndarray, rng: np.random.Generator) -> None:
    if rows.size:
        some = rng.choice(np.array([np.nan, np.inf, -np.inf], np.float32), min(rows.size, 4099))
        rows[...] = np.resize(some, rows.shape)


def make_values(case: FiaCase, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    dim = case.head_dim
    q_shape = (case.sequences, case.num_query_heads, case.most_queries, dim)
    k_shape = (case.sequences, case.key_heads, case.most_keys, dim)
    v_shape = (*k_shape[:-1], case.value_dim)
    query = rng.standard_normal(q_shape).astype(np.float32)
    key = rng.standard_normal(k_shape).astype(np.float32)
    value = rng.standard_normal(v_shape).astype(np.float32)
    if case.data == "normal":
        pass
    elif case.data == "peaked":
        query *= 10.0
        key *= 10.0
    elif case.data in ("below_minus_50000", "above_65504"):
        # base^2 * head_dim is at least 65536. Small integers are added so that each product and each partial sum is an
        # integer below 2^24, exact in float32 in any order: what is left to go wrong is the range. The keys' integers
        # sum to zero, which leaves differences of order one between the scores of a row.
        base = math.ceil(256 / math.sqrt(dim))
        pairs = rng.choice(np.array([-1, 1], np.float32), (*k_shape[:-1], dim // 2))
        key = np.concatenate([pairs, -pairs], axis=-1)
        sign = 1.0 if case.data == "above_65504" else -1.0
        key = (sign * base + key).astype(np.float32)
        chosen = rng.random(q_shape) < 4 / dim
        query = (base + chosen * rng.integers(0, 2, q_shape)).astype(np.float32)
    elif case.data == "wide":
        query = np.round(query * 100.0)
        key = np.round(key * 100.0)
    elif case.data == "equal_rows":
        key = np.broadcast_to(10.0 * key[:, :, :1], k_shape).copy()
        query *= 10.0
    elif case.data == "zeros":
        query = np.copysign(np.float32(0), query)
        key = np.copysign(np.float32(0), key)
        value = np.where(rng.random(v_shape) < 0.25, np.copysign(np.float32(0), value), value)
    elif case.data == "subnormal":
        smallest = np.float32(2.0**-24) if case.dtype == "float16" else np.float32(2.0**-133)
        query = rng.integers(-3, 4, q_shape).astype(np.float32) * smallest
        value = rng.integers(-1000, 1001, v_shape).astype(np.float32) * smallest
        if case.dtype == "bfloat16":
            value = rng.integers(-100, 101, v_shape).astype(np.float32) * smallest
    elif case.data == "growing":
        query = np.abs(np.round(query)) + 1
        key = np.zeros(k_shape, np.float32)
        key[..., 0] = np.floor(np.arange(case.most_keys) / 4) * 0.25
        key[..., 1] = np.round(rng.standard_normal(k_shape[:-1]) * 4) * 0.25
    else:
        raise ValueError(f"unknown data kind {case.data!r}")
    return query, key, value


def make_mask(case: FiaCase, masks: int, rng: np.random.Generator) -> np.ndarray:
    """bool (masks, Q_S, KV_S)."""
    shape = (masks, case.most_queries, case.kv_s)
    row, column = np.arange(case.most_queries)[:, None], np.arange(case.kv_s)[None]
    if case.mask_pattern == "all":
        return np.ones(shape, bool)
    if case.mask_pattern == "none":
        return np.zeros(shape, bool)
    if case.mask_pattern == "causal":
        return np.broadcast_to(column > row, shape).copy()
    if case.mask_pattern == "padding":
        lengths = rng.integers(1, case.kv_s + 1, masks) if case.kv_s else np.zeros(masks, int)
        return np.broadcast_to(column[None] >= lengths[:, None, None], shape).copy()
    hidden = rng.random(shape) < rng.choice([0.1, 0.5, 0.9])
    if case.mask_pattern == "rows":
        hidden |= rng.random((masks, case.most_queries, 1)) < 0.4
    elif case.mask_pattern != "random":
        raise ValueError(f"unknown mask pattern {case.mask_pattern!r}")
    return hidden


def promised_mask(dtype: str, poisoned: bool) -> np.ndarray:
    """(2048, 2048), the same array each time."""
    found = _promise_bytes.get(f"{dtype}{poisoned}")
    if found is None:
        content = np.random.default_rng(2048).integers(0, 256, (2048, 2048), np.uint8)
        if not poisoned:
            content = np.triu(np.ones((2048, 2048), np.uint8), 1)
        found = content.astype(bool) if dtype == "bool" else content.view(dtype)
        _promise_bytes[f"{dtype}{poisoned}"] = found
    return found


def make_bias(case: FiaCase, rng: np.random.Generator) -> np.ndarray:
    """float32 (B or 1, Q_N, >= Q_S, >= KV_S), poison in what is padding."""
    planes = case.sequences if case.pse_shape == "B" else 1
    rows, keys = case.most_queries, case.kv_s
    if case.pse_padded:
        rows, keys = (rows if rows == 1 else -(-rows // 16) * 16), -(-keys // 32) * 32 + 32
    shape = (planes, case.num_query_heads, rows, keys)
    if case.pse == "slopes":
        slope = 2.0 ** -np.arange(1, case.num_query_heads + 1)[None, :, None, None]
        distance = np.abs(np.arange(rows)[:, None] + case.most_keys - case.most_queries - np.arange(keys)[None])
        bias = np.ascontiguousarray(np.broadcast_to(-slope * distance, shape), np.float32)
    elif case.pse in ("random", "minus_infinity", "minus_infinity_rows", "large"):
        bias = rng.standard_normal(shape).astype(np.float32) * (3000 if case.pse == "large" else 1)
        if case.pse == "minus_infinity":
            bias[rng.random(shape) < 0.3] = -np.inf
        if case.pse == "minus_infinity_rows":
            bias[rng.random(shape[:3]) < 0.4] = -np.inf
    else:
        raise ValueError(f"unknown kind of bias {case.pse!r}")
    if case.poison:
        seen = zip(case.query_lengths(), case.key_lengths(), strict=True)
        if planes == 1:
            seen = iter([(max(case.query_lengths(), default=0), max(case.key_lengths(), default=0))])
        for plane, (queries, columns) in zip(bias, seen, strict=True):
            poison(plane[:, queries:], rng)
            poison(plane[..., columns:], rng)
    return bias
