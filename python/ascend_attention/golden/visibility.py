# SPDX-License-Identifier: Apache-2.0
"""Which keys a query row sees.

Positions count inside one sequence: row i of s1 queries, key j of s2 keys, with the sequence's actual lengths. All
sparse modes are a band ``i + low <= j <= i + high``, modes 0 and 1 with an explicit mask besides; block-sparse
attention has a map of blocks instead. The content of the 2048 x 2048 mask of modes 2, 3 and 4 is the caller's promise
about positions and is never read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ascend_attention.golden.errors import GoldenError
from ascend_attention.golden.numbers import Array, as_integer, one_of

_FAR = 2**40  # farther than any two positions are apart

Columns = slice | Array


@dataclass(frozen=True)
class Visibility:
    """What the rows of one sequence see; ``hidden`` has at least (s1, s2) entries, non-zero hides the pair."""

    keys: int
    low: int = -_FAR
    high: int = _FAR
    hidden: Array | None = None

    by_head = False  # all query heads see the same
    grain = 1  # rows that belong together

    def window(self, first: int, last: int) -> tuple[int, int]:
        """A range of keys outside which rows first ... last - 1 see nothing."""
        start = min(max(first + self.low, 0), self.keys)
        stop = min(max(last + self.high, 0), self.keys)  # the last row is last - 1, its last key last - 1 + high
        return start, max(start, stop)

    def rows(self, first: int, last: int, head: int = 0) -> tuple[Columns, Array | None]:
        """Keys that any of these rows sees, and which row sees which of them: bool (rows, columns), None for all."""
        start, stop = self.window(first, last)
        columns = slice(start, stop)
        kept = None
        if last - 1 + self.low > start or first + self.high < stop - 1:
            distance = np.arange(start, stop)[None, :] - np.arange(first, last)[:, None]
            kept = (distance >= self.low) & (distance <= self.high)
        if self.hidden is not None:
            explicit: Array = self.hidden[first:last, columns] == 0
            kept = explicit if kept is None else kept & explicit
        return columns, kept


@dataclass(frozen=True)
class BlockMap:
    """Block-sparse attention: query head n sees key j from row i iff blocks[n, i // rows_each, j // keys_each] is 1."""

    keys: int
    blocks: Array  # (N, query blocks, key blocks) bool
    rows_each: int
    keys_each: int

    by_head = True

    @property
    def grain(self) -> int:
        return self.rows_each

    def window(self, first: int, last: int) -> tuple[int, int]:
        return 0, self.keys

    def rows(self, first: int, last: int, head: int = 0) -> tuple[Columns, Array | None]:
        row_block = np.arange(first, last) // self.rows_each
        selected: Array = np.asarray(self.blocks[head, row_block[0] : row_block[-1] + 1].any(axis=0))
        key_block = np.arange(self.keys) // self.keys_each
        columns = np.flatnonzero(selected[key_block])
        kept = None
        if row_block[0] != row_block[-1]:
            kept = self.blocks[head][row_block[:, None], key_block[columns][None, :]]
        return columns, kept


def band(sparse_mode: int, pre_tokens: int, next_tokens: int, queries: int, keys: int, masked: bool) -> tuple[int, int]:
    """(low, high) of a sequence with these actual lengths."""
    pre = min(max(as_integer(pre_tokens, "pre_tokens"), -_FAR), _FAR)
    after = min(max(as_integer(next_tokens, "next_tokens"), -_FAR), _FAR)
    if sparse_mode == 0:
        return (-pre, after) if masked else (-_FAR, _FAR)  # tokens count from the upper left corner
    if sparse_mode == 1:
        return -_FAR, _FAR
    if sparse_mode == 2:
        return -_FAR, 0
    if sparse_mode == 3:
        return -_FAR, keys - queries  # the diagonal ends in the lower right corner
    return keys - queries - pre, keys - queries + after


def one_row_mask(mask: Array | None) -> Array | None:
    """A query of one row may leave the row's axis out: (B, KV_S) as (B, 1, KV_S)."""
    return mask[:, None] if isinstance(mask, np.ndarray) and mask.ndim == 2 else mask


def mask_planes(mask: Array, batch: int, queries: int, keys: int) -> Array:
    """The explicit mask as (1 or B, >= queries, >= keys), from any documented shape; padding stays on."""
    if not isinstance(mask, np.ndarray) or mask.dtype not in (np.bool_, np.int8, np.uint8):
        raise GoldenError("atten_mask", f"must be a bool, int8 or uint8 array, not {getattr(mask, 'dtype', mask)}")
    shape = mask.shape
    if mask.ndim == 2:
        mask = mask[None]
    elif mask.ndim == 4 and shape[1] == 1:
        mask = mask[:, 0]
    fits = mask.ndim == 3 and mask.shape[0] in (1, batch) and mask.shape[1] >= queries and mask.shape[2] >= keys
    if not fits:
        raise GoldenError(
            "atten_mask", f"shape {shape} does not cover batch {batch}, Q_S = {queries}, KV_S = {keys} in this mode"
        )
    return mask


def of_sequences(
    mode: int,
    pre_tokens: int,
    next_tokens: int,
    mask: Array | None,
    queries: list[int],
    keys: list[int],
    full: tuple[int, int] | None,
) -> list[Visibility]:
    """What the rows of each sequence see. ``full`` is (Q_S, KV_S), which a full mask covers, None in packed layouts."""
    planes = None
    one_of(mode, (0, 1, 2, 3, 4), "sparse_mode")
    if mode == 1 and mask is None:
        raise GoldenError("atten_mask", "sparse_mode 1 needs the full mask")
    if mode in (0, 1) and mask is not None:
        if full is None:
            raise GoldenError("atten_mask", f"sparse_mode {mode} takes no mask in a layout with a T axis")
        planes = mask_planes(mask, len(queries), *full)
    found = []
    for b, (s1, s2) in enumerate(zip(queries, keys, strict=True)):
        low, high = band(mode, pre_tokens, next_tokens, s1, s2, planes is not None)
        found.append(Visibility(s2, low, high, None if planes is None else planes[b % len(planes)]))
    return found
