# SPDX-License-Identifier: Apache-2.0
"""The calls that scripts/bench_kernels predicts: their arguments, what they compute and which bytes they need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import ml_dtypes  # noqa: F401  (NumPy learns bfloat16)
import numpy as np

TILE = 128
BLOCK = 128  # keys of a cache's block
CACHES = ("BBH", "BNBD", "NZ")


@dataclass(frozen=True)
class Shape:
    """One call. ``mask`` is "none", "causal" (bottom right), or a band of so many keys up to the diagonal.

    ``cache``: keys are paged, of this form. With ``rope_dim`` it is latent attention: one tensor is key and value.
    """

    group: str
    batch: int = 1
    heads: int = 16
    key_heads: int = 0  # 0: as many as query heads
    length: int = 4096
    key_length: int = 0  # 0: as many as queries
    head_dim: int = 128
    rope_dim: int = 0
    mask: str = "none"
    layout: str = "BNSD"
    cache: str = ""
    dtype: str = "bfloat16"
    lengths: tuple[int, ...] = ()  # of each sequence, queries and keys alike
    quick: bool = False

    def __str__(self) -> str:
        kv = f"/{self.key_heads}" if self.key_heads else ""
        keys = f"x{self.key_length}" if self.key_length else ""
        ragged = " ragged" if self.lengths else ""
        rope = f"+{self.rope_dim}" if self.rope_dim else ""
        dtype = {"bfloat16": "bf16", "float16": "fp16"}[self.dtype]
        cache = f" {self.cache}" if self.cache else ""
        return (
            f"{self.layout} B{self.batch} N{self.heads}{kv} S{self.length}{keys}{ragged} D{self.head_dim}{rope} "
            f"{dtype} {self.mask}{cache}"
        )

    def keys(self) -> int:
        return self.key_length or self.length

    def pairs(self) -> int:
        """Visible pairs of a query row and a key, of all heads."""
        if self.lengths:
            return self.heads * sum(self._pairs(length, length) for length in self.lengths)
        return self.batch * self.heads * self._pairs(self.length, self.keys())

    def _pairs(self, queries: int, keys: int) -> int:
        if self.mask == "none":
            return queries * keys
        last = np.arange(queries, dtype=np.int64) + (keys - queries)  # the diagonal ends in the lower right corner
        first = np.zeros(queries, np.int64) if self.mask == "causal" else last - int(self.mask.split()[-1]) + 1
        return int(np.maximum(np.minimum(last, keys - 1) - np.maximum(first, 0) + 1, 0).sum())

    def flop(self) -> float:
        return 2.0 * (self.head_dim + self.rope_dim + self.head_dim) * self.pairs()

    def needed_bytes(self) -> int:
        """Each row of query, key and value read once, each row of the output written once."""
        channels = self.head_dim + self.rope_dim
        rows = sum(self.lengths) if self.lengths else self.batch * self.length
        tokens = sum(self.lengths) if self.lengths else self.batch * self.keys()
        per_key = channels if self.rope_dim else 2 * self.head_dim
        elements = rows * self.heads * (channels + self.head_dim) + tokens * (self.key_heads or self.heads) * per_key
        return elements * np.dtype(self.dtype).itemsize

    def arguments(self) -> dict[str, Any]:
        # What the numbers are changes nothing in the prediction; zeros cost no time to make.
        arguments: dict[str, Any] = {
            "query": self._rows(self.heads, self.length, self.head_dim),
            "key": self._keys(self.head_dim),
            "num_query_heads": self.heads,
            "num_key_value_heads": self.key_heads or self.heads,
            "softmax_scale": (self.head_dim + self.rope_dim) ** -0.5,
            "input_layout": self.layout,
        }
        arguments["value"] = arguments["key"] if self.rope_dim else self._keys(self.head_dim)
        if self.rope_dim:
            arguments["query_rope"] = self._rows(self.heads, self.length, self.rope_dim)
            arguments["key_rope"] = self._keys(self.rope_dim)
        if self.cache:
            blocks = np.arange(self.batch * self._blocks(), dtype=np.int32).reshape(self.batch, -1)
            arguments.update(block_table=blocks, block_size=BLOCK, actual_seq_kvlen=[self.keys()] * self.batch)
        if self.mask != "none":
            arguments.update(atten_mask=np.zeros((2048, 2048), bool), sparse_mode=3)
        if self.mask.startswith("band"):
            arguments.update(sparse_mode=4, pre_tokens=int(self.mask.split()[-1]) - 1, next_tokens=0)
        if self.lengths:
            arguments.update(actual_seq_qlen=list(self.lengths), actual_seq_kvlen=list(self.lengths))
        return arguments

    def _rows(self, heads: int, length: int, channels: int) -> np.ndarray:
        sizes = {"B": self.batch, "N": heads, "S": length, "D": channels, "H": heads * channels}
        return np.zeros([sizes[axis] for axis in self.layout], self.dtype)

    def _blocks(self) -> int:
        """Of each sequence."""
        return -(-self.keys() // BLOCK)

    def _keys(self, channels: int) -> np.ndarray:
        heads = self.key_heads or self.heads
        blocks = self.batch * self._blocks()
        if self.cache == "BBH":
            return np.zeros((blocks, BLOCK, heads * channels), self.dtype)
        if self.cache == "BNBD":
            return np.zeros((blocks, heads, BLOCK, channels), self.dtype)
        if self.cache == "NZ":
            return np.zeros((blocks, heads, channels // 16, BLOCK, 16), self.dtype)
        return self._rows(heads, self.keys(), channels)


def tiles_of(length: int) -> int:
    """128 x 128 tiles on or below the diagonal."""
    rows = -(-length // TILE)
    return rows * (rows + 1) // 2


def ragged_pair(count: int, longest: int, seed: int, quick: bool) -> list[Shape]:
    """Sequences of random lengths, and as many of one length with about as many tiles."""
    lengths = tuple(int(length) for length in np.random.default_rng(seed).integers(1, longest + 1, count))
    mean = sum(tiles_of(length) for length in lengths) / count
    uniform = min(range(TILE, longest + 1, TILE), key=lambda length: abs(tiles_of(length) - mean))
    common = {"group": "ragged", "batch": count, "heads": 8, "mask": "causal", "quick": quick}
    return [
        Shape(**common, length=longest, lengths=lengths),  # type: ignore[arg-type]
        Shape(**common, length=uniform),  # type: ignore[arg-type]
    ]


LONG = Shape("target", length=8192)
LONG_CAUSAL = Shape("target", length=8192, mask="causal")
SHORT = Shape("target", heads=1, length=1024, quick=True)
RAGGED, UNIFORM = ragged_pair(64, 4096, seed=5, quick=False)
# One token of each sequence; paged keys of either form. One sequence has its keys split between all cores.
DECODE = tuple(
    Shape("decode", batch=32, heads=64, key_heads=8, length=1, key_length=4096, cache=cache)
    for cache in ("BNBD", "BBH")
)
SPLIT = tuple(
    Shape("decode", heads=64, key_heads=8, length=1, key_length=32768, cache=cache, quick=cache == "BNBD")
    for cache in ("BNBD", "BBH")
)
# Latent attention: 512 + 64 channels, all heads over one key.
LATENT = tuple(
    Shape("latent", batch=16, heads=128, key_heads=1, length=length, key_length=8192, head_dim=512, rope_dim=64,
          layout="BSND", mask="causal" if length > 1 else "none", cache="NZ")
    for length in (1, 2)
)  # fmt: skip
SHAPES = [
    LONG,
    LONG_CAUSAL,
    SHORT,
    RAGGED,
    UNIFORM,
    *ragged_pair(24, 1024, seed=5, quick=True),
    *(Shape("length", heads=max(1, 8192 // length), length=length)
      for length in (1024, 2048, 4096, 16384)),
    Shape("length", heads=1, length=32768),
    *(Shape("causal", heads=max(1, 16384 // length), length=length, mask="causal", quick=length == 1024)
      for length in (1024, 2048, 4096)),
    *(Shape("head", heads=12, length=2048, mask=mask, quick=mask == "causal") for mask in ("none", "causal")),
    *(Shape("head", heads=12, length=2048, head_dim=dim) for dim in (64, 80, 192, 256)),
    *(Shape("layout", heads=12, length=2048, layout=layout, dtype=dtype)
      for layout, dtype in (("BSND", "bfloat16"), ("BSH", "float16"), ("BNSD", "float16"))),
    Shape("grouped", heads=32, key_heads=8, length=2048, mask="causal"),
    Shape("grouped", heads=32, key_heads=8, length=4096, layout="BSND", mask="causal"),
    Shape("band", heads=16, length=4096, mask="band 1024"),
    Shape("band", heads=16, length=8192, mask="band 512"),
    # Short queries against long keys: chunks of a prompt, tokens of speculative decoding.
    Shape("short", heads=32, key_heads=8, length=512, key_length=8192, mask="causal"),
    Shape("short", batch=4, heads=32, key_heads=8, length=16, key_length=4096, mask="causal", quick=True),
    Shape("short", batch=32, heads=32, key_heads=8, length=4, key_length=2048, mask="causal"),
    Shape("short", heads=1, length=128, quick=True),
    Shape("short", heads=8, length=512, quick=True),
    *DECODE,
    *SPLIT,
    Shape("decode", heads=32, key_heads=8, length=1, key_length=4096, cache="BNBD", quick=True),
    Shape("decode", batch=32, heads=64, key_heads=8, length=4, key_length=4096, mask="causal", cache="BNBD"),
    Shape("decode", batch=32, heads=64, key_heads=8, length=4, key_length=4096, mask="causal", cache="BBH"),
    *LATENT,
]  # fmt: skip
