# SPDX-License-Identifier: Apache-2.0
"""Cases of npu_fused_infer_attention_score_v2 with Q_S > 1, for the tests of every room.

A ``FiaCase`` is a small description; ``case.arguments()`` makes the NumPy inputs and all keyword arguments of the call
from it, the same ones each time. ``random_case(rng, **limits)`` draws one; ``edge_cases()`` in fia_edges.py lists the
hand-picked ones. Nothing of the package is used here: the inputs must not share a mistake with what they test.

    case = random_case(np.random.default_rng(7), max_work=2**22)
    out, lse = ascend_attention.npu_fused_infer_attention_score_v2(**case.arguments())

Every case is legal by the operator's document. Its padding is poisoned by default: NaN and infinity in query rows
beyond actual_seq_qlen and in key and value rows beyond actual_seq_kvlen, random bytes in mask rows and columns that
are padding and in the content of the 2048 x 2048 mask that nobody may read.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

LAYOUTS = ("BSH", "BSND", "BNSD", "BNSD_BSND")
DTYPES = ("float16", "bfloat16")
MASK_DTYPES = ("bool", "int8", "uint8")
UNLIMITED = 2147483647

# What the values look like. The first is ordinary data; the others aim at one thing that goes wrong each.
DATA_KINDS = (
    "normal",
    "peaked",  # scores of +-100: nearly one-hot rows
    "below_minus_50000",  # every score about -65536, differences of order one
    "above_65504",  # every score about +65536: infinity in float16
    "wide",  # scores of +-100000 in one row
    "equal_rows",  # all keys equal and large: exactly uniform rows
    "zeros",  # +0 and -0 only, in query and key
    "subnormal",  # the smallest numbers of the dtype
    "growing",  # each key scores higher than all before it: the running maximum moves at every tile
)

# Shapes of a full mask: (Q_S, KV_S) with these leading axes. "B" is the batch.
FULL_MASK_SHAPES = ("SS", "1SS", "BSS", "11SS", "B1SS")
COMPRESSED_MASK_SHAPES = ("SS", "1SS", "11SS")


@dataclass(frozen=True)
class FiaCase:
    """One call. Lengths, layouts and masks as the operator's document names them."""

    name: str
    input_layout: str = "BNSD"
    dtype: str = "float16"
    batch: int = 1
    num_query_heads: int = 1
    num_key_value_heads: int = 0  # 0: as many as query heads
    query_length: int = 16  # Q_S
    key_length: int = 16  # KV_S
    head_dim: int = 64
    softmax_scale: float | None = None  # None: what suits the data
    sparse_mode: int = 0
    mask_shape: str | None = None  # FULL_MASK_SHAPES (modes 0, 1), COMPRESSED_MASK_SHAPES (modes 2, 3, 4)
    mask_dtype: str = "bool"
    mask_pattern: str = "random"  # "random", "causal", "padding", "all", "none", "rows" (some rows all masked)
    mask_padded: bool = False  # rows and columns up to the next multiple of 32
    pre_tokens: int = UNLIMITED
    next_tokens: int = UNLIMITED
    actual_seq_qlen: tuple[int, ...] | None = None
    actual_seq_kvlen: tuple[int, ...] | None = None
    inner_precise: int = 0
    return_softmax_lse: bool = True
    data: str = "normal"
    poison: bool = True
    seed: int = 1

    @property
    def key_heads(self) -> int:
        return self.num_key_value_heads or self.num_query_heads

    @property
    def work(self) -> int:
        """Multiply-adds of QK^T if nothing were hidden; what a slow test limits itself by."""
        return self.batch * self.num_query_heads * self.query_length * self.key_length * self.head_dim

    def query_lengths(self) -> list[int]:
        return _per_batch(self.actual_seq_qlen, self.batch, self.query_length)

    def key_lengths(self) -> list[int]:
        return _per_batch(self.actual_seq_kvlen, self.batch, self.key_length)

    def scale(self) -> float:
        if self.softmax_scale is not None:
            return self.softmax_scale
        if self.data in ("below_minus_50000", "above_65504", "wide", "growing"):
            return 1.0
        return 1.0 / math.sqrt(self.head_dim)

    def values(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """query, key, value as float32 in (B, N, S, D), exactly representable in the dtype, poison included."""
        rng = np.random.default_rng([self.seed, 0])
        query, key, value = _make_values(self, rng)
        query, key, value = (round_to(x, self.dtype) for x in (query, key, value))
        if self.poison:
            for b in range(self.batch):
                _poison(query[b, :, self.query_lengths()[b] :], rng)
                _poison(key[b, :, self.key_lengths()[b] :], rng)
                _poison(value[b, :, self.key_lengths()[b] :], rng)
        return query, key, value

    def hidden_pairs(self) -> np.ndarray | None:
        """The full mask without padding as bool (B or 1, Q_S, KV_S), or None when the mode takes no full mask."""
        if self.mask_shape is None or self.sparse_mode > 1:
            return None
        rng = np.random.default_rng([self.seed, 1])
        masks = self.batch if self.mask_shape.startswith("B") else 1
        return _make_mask(self, masks, rng)

    def atten_mask(self) -> np.ndarray | None:
        if self.mask_shape is None:
            return None
        if self.mask_shape not in (FULL_MASK_SHAPES if self.sparse_mode <= 1 else COMPRESSED_MASK_SHAPES):
            raise ValueError(f"{self.name}: mask_shape {self.mask_shape!r} does not fit sparse_mode")
        rng = np.random.default_rng([self.seed, 2])
        hidden = self.hidden_pairs()
        if hidden is None:
            promise = np.triu(np.ones((2048, 2048), bool), 1)
            mask = (rng.random((2048, 2048), np.float32) < 0.5) if self.poison else promise
            mask = mask[None]
        elif self.mask_padded:
            rows, keys = -(-self.query_length // 32) * 32, -(-self.key_length // 32) * 32
            mask = rng.random((hidden.shape[0], rows, keys)) < 0.5
            mask[:, : self.query_length, : self.key_length] = hidden
        else:
            mask = hidden
        shape = {"SS": mask.shape[1:], "1SS": mask.shape, "BSS": mask.shape}.get(
            self.mask_shape, (mask.shape[0], 1, *mask.shape[1:])
        )
        mask = np.ascontiguousarray(mask.reshape(shape))
        if self.mask_dtype == "bool":
            return mask
        # Any non-zero byte hides a pair, not only 1.
        byte = rng.integers(1, 256, mask.shape) if self.mask_pattern == "random" else 1
        return (mask * byte).astype(np.uint8).view(self.mask_dtype)

    def arguments(self, bfloat16: str = "ml_dtypes") -> dict[str, Any]:
        """All arguments of the call. bfloat16 arrays as ml_dtypes.bfloat16, or ("bits") as uint16 bit patterns."""
        query, key, value = self.values()
        by_token = self.input_layout in ("BSH", "BSND")

        def lay(x: np.ndarray) -> np.ndarray:
            if by_token:
                x = x.transpose(0, 2, 1, 3)
            if self.input_layout == "BSH":
                x = x.reshape(x.shape[0], x.shape[1], x.shape[2] * x.shape[3])
            return encode(np.ascontiguousarray(x), self.dtype, bfloat16)

        return {
            "query": lay(query),
            "key": lay(key),
            "value": lay(value),
            "atten_mask": self.atten_mask(),
            "actual_seq_qlen": None if self.actual_seq_qlen is None else list(self.actual_seq_qlen),
            "actual_seq_kvlen": None if self.actual_seq_kvlen is None else list(self.actual_seq_kvlen),
            "num_query_heads": self.num_query_heads,
            "num_key_value_heads": self.num_key_value_heads,
            "softmax_scale": self.scale(),
            "pre_tokens": self.pre_tokens,
            "next_tokens": self.next_tokens,
            "input_layout": self.input_layout,
            "sparse_mode": self.sparse_mode,
            "inner_precise": self.inner_precise,
            "return_softmax_lse": self.return_softmax_lse,
        }

    def __str__(self) -> str:
        """Only what differs from the defaults; paste it to run the case again."""
        changed = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        ]
        return f"FiaCase({', '.join(changed)})"


def bfloat16_bits(x: np.ndarray) -> np.ndarray:
    """float32 to bfloat16 bit patterns, to nearest even; NaN stays NaN."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    rounded = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
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


def _per_batch(lengths: tuple[int, ...] | None, batch: int, full: int) -> list[int]:
    if not lengths:
        return [full] * batch
    return [lengths[0]] * batch if len(lengths) == 1 else list(lengths[:batch])


def _poison(rows: np.ndarray, rng: np.random.Generator) -> None:
    rows[...] = rng.choice(np.array([np.nan, np.inf, -np.inf], np.float32), rows.shape)


def _make_values(case: FiaCase, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    dim = case.head_dim
    q_shape = (case.batch, case.num_query_heads, case.query_length, dim)
    k_shape = (case.batch, case.key_heads, case.key_length, dim)
    query = rng.standard_normal(q_shape).astype(np.float32)
    key = rng.standard_normal(k_shape).astype(np.float32)
    value = rng.standard_normal(k_shape).astype(np.float32)
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
        value = np.where(rng.random(k_shape) < 0.25, np.copysign(np.float32(0), value), value)
    elif case.data == "subnormal":
        smallest = np.float32(2.0**-24) if case.dtype == "float16" else np.float32(2.0**-133)
        query = rng.integers(-3, 4, q_shape).astype(np.float32) * smallest
        value = rng.integers(-1000, 1001, k_shape).astype(np.float32) * smallest
        if case.dtype == "bfloat16":
            value = rng.integers(-100, 101, k_shape).astype(np.float32) * smallest
    elif case.data == "growing":
        query = np.abs(np.round(query)) + 1
        key = np.zeros(k_shape, np.float32)
        key[..., 0] = np.floor(np.arange(case.key_length) / 4) * 0.25
        key[..., 1] = np.round(rng.standard_normal(k_shape[:-1]) * 4) * 0.25
    else:
        raise ValueError(f"unknown data kind {case.data!r}")
    return query, key, value


def _make_mask(case: FiaCase, masks: int, rng: np.random.Generator) -> np.ndarray:
    shape = (masks, case.query_length, case.key_length)
    row, column = np.arange(case.query_length)[:, None], np.arange(case.key_length)[None]
    if case.mask_pattern == "all":
        return np.ones(shape, bool)
    if case.mask_pattern == "none":
        return np.zeros(shape, bool)
    if case.mask_pattern == "causal":
        return np.broadcast_to(column > row, shape).copy()
    if case.mask_pattern == "padding":
        lengths = rng.integers(1, case.key_length + 1, masks) if case.key_length else np.zeros(masks, int)
        return np.broadcast_to(column[None] >= lengths[:, None, None], shape).copy()
    hidden = rng.random(shape) < rng.choice([0.1, 0.5, 0.9])
    if case.mask_pattern == "rows":
        hidden |= rng.random((masks, case.query_length, 1)) < 0.4
    elif case.mask_pattern != "random":
        raise ValueError(f"unknown mask pattern {case.mask_pattern!r}")
    return hidden


def _pick(rng: np.random.Generator, options: Any) -> Any:
    return options[int(rng.integers(len(options)))]


def _pick_length(rng: np.random.Generator, low: int, high: int) -> int:
    """A length in [low, high]: near a tile border as often as anywhere, small ones often."""
    kind = rng.integers(3)
    if kind == 0:
        value = int(rng.integers(low, high + 1))
    elif kind == 1:
        value = int(_pick(rng, (16, 32, 64, 128, 256, 512, 1024))) + int(rng.integers(-1, 2))
    else:
        value = low + int((high - low) ** rng.random())
    return min(max(value, low), high)


def _pick_tokens(rng: np.random.Generator, case: FiaCase) -> tuple[int, int]:
    """pre_tokens and next_tokens that the document accepts for these lengths (at most one of them is negative)."""
    high = case.query_length + case.key_length
    pre, next_ = (UNLIMITED if rng.random() < 0.2 else int(rng.integers(0, high + 1)) for _ in range(2))
    queries, keys = min(case.query_lengths(), default=0), min(case.key_lengths(), default=0)
    if case.sparse_mode == 0:
        pre_room, next_room = keys, queries
    else:
        pre_room, next_room = queries, keys
    kind = rng.integers(4)
    if kind == 0 and pre_room > 1:
        pre = -int(rng.integers(1, pre_room))
        next_ = max(next_, -pre)
    elif kind == 1 and next_room > 1:
        next_ = -int(rng.integers(1, next_room))
        pre = max(pre, -next_)
    return pre, next_


def _pick_heads(rng: np.random.Generator, max_query_heads: int, max_group: int) -> tuple[int, int]:
    """Key heads and query heads per key head; one time in eight a group of up to ``max_group``."""
    key_heads = int(rng.integers(1, max_query_heads + 1))
    group = int(rng.integers(1, max_query_heads // key_heads + 1))
    if rng.random() < 0.125 and max_group > 1:
        return 1, int(rng.integers(1, max_group + 1))
    return key_heads, group


def _shrink(batch: int, query_length: int, key_length: int, most: int) -> tuple[int, int, int]:
    """Smaller until batch x query_length x key_length is at most ``most``, or nothing is left to take away."""
    while batch * query_length * key_length > most:
        if query_length >= max(2, key_length // 4) and query_length > 2:
            query_length = max(2, query_length * 2 // 3)
        elif key_length > 1:
            key_length = max(1, key_length * 2 // 3)
        elif batch > 1:
            batch -= 1
        else:
            break
    return batch, query_length, key_length


def _pick_mask_shape(rng: np.random.Generator, mode: int) -> str | None:
    if mode >= 2:
        return str(_pick(rng, COMPRESSED_MASK_SHAPES))
    return str(_pick(rng, FULL_MASK_SHAPES)) if mode == 1 or rng.random() < 0.6 else None


def _pick_lengths(rng: np.random.Generator, batch: int, full: int) -> tuple[int, ...] | None:
    """None, one length for all, one per batch, or more than there are batches."""
    kind = rng.integers(4)
    if kind == 0:
        return None
    count = 1 if kind == 1 else batch + int(rng.integers(0, 3)) * int(kind == 3)
    return tuple(int(_pick(rng, (0, 1, full, *rng.integers(0, full + 1, 4)))) for _ in range(count))


def random_case(
    rng: np.random.Generator,
    *,
    layouts: tuple[str, ...] = LAYOUTS,
    dtypes: tuple[str, ...] = DTYPES,
    sparse_modes: tuple[int, ...] = (0, 1, 2, 3, 4),
    data_kinds: tuple[str, ...] = DATA_KINDS,
    max_batch: int = 3,
    max_query_heads: int = 8,
    max_group: int = 64,
    max_query_length: int = 300,
    max_key_length: int = 1100,
    max_head_dim: int = 256,
    max_work: int = 2**26,
    poison: bool = True,
) -> FiaCase:
    """One legal case. ``max_work`` bounds ``case.work``; one case in eight has a large group (up to ``max_group``)."""
    batch = int(rng.integers(1, max_batch + 1))
    key_heads, group = _pick_heads(rng, max_query_heads, max_group)
    head_dim = 16 * int(rng.integers(1, max_head_dim // 16 + 1))
    query_length = _pick_length(rng, 2, max_query_length)
    key_length = _pick_length(rng, 1, max_key_length)
    batch, query_length, key_length = _shrink(
        batch, query_length, key_length, max_work // (key_heads * group * head_dim)
    )
    mode = int(_pick(rng, sparse_modes))
    mask_shape = _pick_mask_shape(rng, mode)
    case = FiaCase(
        name="random",
        input_layout=_pick(rng, layouts),
        dtype=_pick(rng, dtypes),
        batch=batch,
        num_query_heads=key_heads * group,
        num_key_value_heads=0 if group == 1 and rng.random() < 0.5 else key_heads,
        query_length=query_length,
        key_length=key_length,
        head_dim=head_dim,
        sparse_mode=mode,
        mask_shape=mask_shape,
        mask_dtype=_pick(rng, MASK_DTYPES),
        mask_pattern=_pick(rng, ("random", "random", "rows", "causal", "padding", "all", "none")),
        mask_padded=bool(rng.random() < 0.3),
        actual_seq_qlen=_pick_lengths(rng, batch, query_length),
        actual_seq_kvlen=_pick_lengths(rng, batch, key_length),
        inner_precise=int(rng.integers(4)),
        return_softmax_lse=bool(rng.random() < 0.8),
        data=_pick(rng, data_kinds) if rng.random() < 0.5 else data_kinds[0],
        poison=poison,
        seed=int(rng.integers(2**31)),
    )
    pre, next_ = _pick_tokens(rng, case)
    return dataclasses.replace(case, pre_tokens=pre, next_tokens=next_)
