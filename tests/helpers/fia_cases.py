# SPDX-License-Identifier: Apache-2.0
"""Cases of npu_fused_infer_attention_score_v2 without quantisation, for the tests of every room.

A ``FiaCase`` is a small description; ``case.arguments()`` makes the NumPy inputs and all keyword arguments of the call
from it, the same ones each time. ``fia_draws.py`` draws cases, ``fia_edges.py`` lists hand-picked ones,
``tests/conformance/fia_kernel`` has more of them as data. Nothing of the package is used here: the inputs must not
share a mistake with what they test.

    case = random_case(np.random.default_rng(7), max_work=2**22)
    out, lse = ascend_attention.npu_fused_infer_attention_score_v2(**case.arguments())

Every case is legal by the operator's document. Its padding is poisoned by default: NaN and infinity in query rows
beyond actual_seq_qlen, in key and value rows beyond actual_seq_kvlen (in the last block of a cache and in blocks that
nobody uses too) and in the padding of pse_shift; block ids that are none; random bytes in mask rows and columns that
are padding and in the content of the 2048 x 2048 mask that nobody may read.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from helpers.fia_storage import CACHES, lay, make_pages
from helpers.fia_values import encode, make_bias, make_mask, make_values, poison, promised_mask, round_to

LAYOUTS = ("BSH", "BSND", "BNSD", "BNSD_BSND")
PACKED_LAYOUTS = ("TND", "TND_NTD", "NTD_TND")
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
ONE_ROW_MASK_SHAPES = ("BK", "B1K", "B11K")


@dataclass(frozen=True)
class FiaCase:
    """One call. Lengths, layouts and masks as the operator's document names them."""

    operator: ClassVar[str] = "npu_fused_infer_attention_score_v2"

    name: str
    input_layout: str = "BNSD"
    dtype: str = "float16"
    batch: int = 1  # in layouts with a T axis the lengths say it
    num_query_heads: int = 1
    num_key_value_heads: int = 0  # 0: as many as query heads
    query_length: int = 16  # Q_S
    key_length: int = 16  # KV_S; of a cache the length of each sequence, where actual_seq_kvlen says nothing
    head_dim: int = 64
    softmax_scale: float | None = None  # None: what suits the data
    sparse_mode: int = 0
    # Of FULL_MASK_SHAPES (modes 0, 1), COMPRESSED_MASK_SHAPES (2, 3, 4); of one row without rope ONE_ROW_MASK_SHAPES.
    mask_shape: str | None = None
    mask_dtype: str = "bool"
    mask_pattern: str = "random"  # "random", "causal", "padding", "all", "none", "rows" (some rows all masked)
    mask_padded: bool = False  # rows and columns up to the next multiple of 32
    pre_tokens: int = UNLIMITED
    next_tokens: int = UNLIMITED
    # Of each sequence by itself, in every layout; arguments() makes sums of them where the operator wants sums.
    actual_seq_qlen: tuple[int, ...] | None = None
    actual_seq_kvlen: tuple[int, ...] | None = None
    inner_precise: int = 0
    return_softmax_lse: bool = True
    data: str = "normal"
    poison: bool = True
    seed: int = 1
    value_head_dim: int = 0  # 0: as head_dim
    rope_dim: int = 0  # of query_rope and key_rope; 0: there are none
    value_is_key: bool = False  # one tensor for both, as MLA has it
    storage: str = "dense"  # or "list", or a cache: "BBH", "BNBD", "NZ"
    list_lengths: tuple[int, ...] | None = None  # KV_S of each tensor of a list
    block_size: int = 128
    blocks: str = "shuffled"  # "in_order", "reversed", "shared" (with the sequence before, the first half)
    table_slack: int = 1  # columns of block_table beyond the longest sequence
    pse: str | None = None  # "random", "slopes", "minus_infinity" (three in ten), "minus_infinity_rows", "large"
    pse_shape: str = "B"  # or "1"
    pse_padded: bool = False
    sink: bool = False
    contract: str = "document"  # or "extended": for what the document refuses

    @property
    def packed(self) -> bool:
        return self.input_layout in PACKED_LAYOUTS

    @property
    def paged(self) -> bool:
        return self.storage in CACHES

    @property
    def one_row(self) -> bool:
        """Q_S is 1: actual_seq_qlen has no meaning then, and without rope sparse_mode and tokens have none."""
        return self.query_length == 1 and not self.packed

    @property
    def key_heads(self) -> int:
        return self.num_key_value_heads or self.num_query_heads

    @property
    def value_dim(self) -> int:
        return self.value_head_dim or self.head_dim

    @property
    def sequences(self) -> int:
        return len(self.actual_seq_qlen or ()) if self.packed else self.batch

    @property
    def most_queries(self) -> int:
        return max(self.query_lengths(), default=0) if self.packed else self.query_length

    @property
    def most_keys(self) -> int:
        """Rows of the longest sequence as it is stored."""
        if self.packed or self.paged:
            return max(self.key_lengths(), default=0)
        return max(self.list_lengths, default=0) if self.list_lengths else self.key_length

    @property
    def table_columns(self) -> int:
        return max(-(-self.most_keys // self.block_size), 1) + self.table_slack

    @property
    def kv_s(self) -> int:
        """KV_S as masks and pse_shift have to cover it."""
        return self.table_columns * self.block_size if self.paged else self.most_keys

    @property
    def work(self) -> int:
        """Multiply-adds of QK^T if nothing were hidden; what a slow test limits itself by."""
        dims = self.num_query_heads * (self.head_dim + self.rope_dim)
        if not self.packed and not self.paged:
            return self.batch * dims * self.query_length * self.most_keys
        return dims * sum(q * k for q, k in zip(self.query_lengths(), self.key_lengths(), strict=True))

    def query_lengths(self) -> list[int]:
        if self.packed:
            return list(self.actual_seq_qlen or ())
        return _per_batch(None if self.one_row else self.actual_seq_qlen, self.batch, self.query_length)

    def key_lengths(self) -> list[int]:
        if self.packed:
            return list(self.actual_seq_kvlen or ())
        if self.list_lengths and not self.actual_seq_kvlen:
            return list(self.list_lengths)
        return _per_batch(self.actual_seq_kvlen, self.batch, self.key_length)

    def scale(self) -> float:
        if self.softmax_scale is not None:
            return self.softmax_scale
        if self.data in ("below_minus_50000", "above_65504", "wide", "growing"):
            return 1.0
        return 1.0 / math.sqrt(self.head_dim + self.rope_dim)

    def values(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """query, key, value as float32 in (B, N, S, D), exactly representable in the dtype, poison included."""
        rng = np.random.default_rng([self.seed, 0])
        query, key, value = self._poisoned(make_values(self, rng), rng)
        return query, key, key if self.value_is_key else value

    def rope_values(self) -> tuple[np.ndarray, np.ndarray]:
        """query_rope and key_rope, as values() gives query and key."""
        rng = np.random.default_rng([self.seed, 3])
        shape = (self.sequences, self.num_query_heads, self.most_queries, self.rope_dim)
        query = rng.standard_normal(shape).astype(np.float32)
        shape = (self.sequences, self.key_heads, self.most_keys, self.rope_dim)
        key = rng.standard_normal(shape).astype(np.float32)
        if self.data == "peaked":
            query *= 10.0
            key *= 10.0
        query, key = self._poisoned((query, key), rng)
        return query, key

    def _poisoned(self, rows: tuple[np.ndarray, ...], rng: np.random.Generator) -> list[np.ndarray]:
        rounded = [round_to(x, self.dtype) for x in rows]
        if self.poison:
            for b, (queries, keys) in enumerate(zip(self.query_lengths(), self.key_lengths(), strict=True)):
                poison(rounded[0][b, :, queries:], rng)
                for x in rounded[1:]:
                    poison(x[b, :, keys:], rng)
        return rounded

    @property
    def has_full_mask(self) -> bool:
        return self.mask_shape is not None and (self.sparse_mode <= 1 or (self.one_row and not self.rope_dim))

    def hidden_pairs(self) -> np.ndarray | None:
        """The full mask without padding as bool (B or 1, Q_S, KV_S), or None when the mode takes no full mask."""
        if self.mask_shape is None or not self.has_full_mask:
            return None
        rng = np.random.default_rng([self.seed, 1])
        return make_mask(self, self.batch if self.mask_shape.startswith("B") else 1, rng)

    def atten_mask(self) -> np.ndarray | None:
        if self.mask_shape is None:
            return None
        hidden = self.hidden_pairs()
        one_row = self.one_row and not self.rope_dim
        shapes = ONE_ROW_MASK_SHAPES if one_row else COMPRESSED_MASK_SHAPES if hidden is None else FULL_MASK_SHAPES
        if self.mask_shape not in shapes:
            raise ValueError(f"{self.name}: mask_shape {self.mask_shape!r} does not fit sparse_mode and Q_S")
        if hidden is None:
            return promised_mask(self.mask_dtype, self.poison).reshape(*[1] * (len(self.mask_shape) - 2), 2048, 2048)
        rng = np.random.default_rng([self.seed, 2])
        mask = hidden
        if self.mask_padded:
            rows = self.query_length if one_row else -(-self.query_length // 32) * 32
            mask = rng.random((hidden.shape[0], rows, -(-self.kv_s // 32) * 32)) < 0.5
            mask[:, : self.query_length, : self.kv_s] = hidden
        if one_row:
            mask = mask[:, 0]
        lead = {"S": (), "1": (1,), "B": (self.batch,)}[self.mask_shape[0]]
        tail = mask.shape[-1:] if one_row else mask.shape[-2:]
        mask = mask.reshape(*lead, *[1] * (len(self.mask_shape) - len(lead) - len(tail)), *tail)
        if self.mask_dtype == "bool":
            return mask
        # Any non-zero byte hides a pair, not only 1.
        byte = rng.integers(1, 256, mask.shape) if self.mask_pattern == "random" else 1
        return (mask * byte).astype(np.uint8).view(self.mask_dtype)

    def arguments(self, bfloat16: str = "ml_dtypes") -> dict[str, Any]:
        """All arguments of the call. bfloat16 arrays as ml_dtypes.bfloat16, or ("bits") as uint16 bit patterns."""
        axes = self.input_layout.split("_")[0]
        query, key, value = self.values()
        rows = {"query": query, "key": key, "value": value}
        if self.rope_dim:
            rows["query_rope"], rows["key_rope"] = self.rope_values()
        arguments: dict[str, Any] = {}
        for name in ("query", "query_rope"):
            if name in rows:
                arguments[name] = encode(lay(rows[name], axes, self.query_lengths()), self.dtype, bfloat16)
        keys = {name: rows[name] for name in ("key", "value", "key_rope") if name in rows}
        arguments.update(self._stored(keys, axes, bfloat16))
        if self.value_is_key:
            arguments["value"] = arguments["key"]
        if self.pse is not None:
            bias = make_bias(self, np.random.default_rng([self.seed, 4]))
            arguments["pse_shift"] = encode(bias, self.dtype, bfloat16)
        if self.sink:
            scores = np.random.default_rng([self.seed, 5]).standard_normal(self.num_query_heads) * 3
            arguments["learnable_sink"] = encode(scores.astype(np.float32), "bfloat16", bfloat16)
        return {
            **arguments,
            "atten_mask": self.atten_mask(),
            **self._lengths(),
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

    def _stored(self, rows: dict[str, np.ndarray], axes: str, bfloat16: str) -> dict[str, Any]:
        if self.paged:
            rng = np.random.default_rng([self.seed, 6])
            pages = make_pages(self, rng)
            stored: dict[str, Any] = {"block_table": pages.table(rng), "block_size": self.block_size}
            return stored | {name: pages.put(x, bfloat16, rng) for name, x in rows.items()}
        if self.storage == "list":
            limits = self.list_lengths or (self.key_length,) * self.batch
            return {
                name: [encode(lay(x[b : b + 1, :, :n], axes, []), self.dtype, bfloat16) for b, n in enumerate(limits)]
                for name, x in rows.items()
            }
        return {name: encode(lay(x, axes, self.key_lengths()), self.dtype, bfloat16) for name, x in rows.items()}

    def _lengths(self) -> dict[str, list[int] | None]:
        queries, keys = self.actual_seq_qlen, self.actual_seq_kvlen
        if self.paged and not keys:
            keys = (self.key_length,) * self.batch
        given = {"actual_seq_qlen": queries, "actual_seq_kvlen": keys}
        lengths = {name: None if entries is None else list(entries) for name, entries in given.items()}
        if self.packed:
            lengths["actual_seq_qlen"] = np.cumsum(queries or ()).tolist()
            lengths["actual_seq_kvlen"] = list(keys or ()) if self.paged else np.cumsum(keys or ()).tolist()
        return lengths

    def __str__(self) -> str:
        """Only what differs from the defaults; paste it to run the case again."""
        changed = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        ]
        return f"{type(self).__name__}({', '.join(changed)})"


def _per_batch(lengths: tuple[int, ...] | None, batch: int, full: int) -> list[int]:
    if not lengths:
        return [full] * batch
    return [lengths[0]] * batch if len(lengths) == 1 else list(lengths[:batch])
