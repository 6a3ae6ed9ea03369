# SPDX-License-Identifier: Apache-2.0
"""How the rows of a FiaCase lie in tensors: each layout's axes, and the three forms of a paged cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from helpers.fia_values import encode, poison

if TYPE_CHECKING:
    from helpers.fia_cases import FiaCase

CACHES = ("BBH", "BNBD", "NZ")
LANE = 16  # numbers of 16 bits in the last axis of an NZ cache


def lay(rows: np.ndarray, axes: str, lengths: list[int]) -> np.ndarray:
    """(B, N, S, D) as a tensor of these axes. On a T axis only the sequences' own rows are left."""
    if axes == "TND":
        parts = [rows[b, :, :length].swapaxes(0, 1) for b, length in enumerate(lengths)]
        return np.ascontiguousarray(np.concatenate(parts, axis=0))
    if axes == "NTD":
        return np.ascontiguousarray(np.concatenate([rows[b, :, :length] for b, length in enumerate(lengths)], axis=1))
    if axes != "BNSD":
        rows = rows.swapaxes(1, 2)
    if axes == "BSH":
        rows = rows.reshape(*rows.shape[:2], rows.shape[2] * rows.shape[3])
    return np.ascontiguousarray(rows)


@dataclass(frozen=True)
class Pages:
    """Which block holds which tokens."""

    case: FiaCase
    ids: list[list[int]]  # of each sequence, in the order of its tokens
    count: int  # blocks of the cache

    @property
    def columns(self) -> int:
        return self.case.table_columns

    def table(self, rng: np.random.Generator) -> np.ndarray:
        """int32 (B, columns). What no token needs is garbage."""
        garbage = np.array([-1, -(2**31), 2**31 - 1, self.count, 123456789], np.int64)
        table = rng.choice(garbage, (len(self.ids), self.columns)).astype(np.int32)
        for row, ids in zip(table, self.ids, strict=True):
            row[: len(ids)] = ids
        return table

    def put(self, rows: np.ndarray, bfloat16: str, rng: np.random.Generator) -> np.ndarray:
        """(B, N, S, D) as a cache. Rows of blocks that belong to no token are poison, whole blocks too."""
        case, size = self.case, self.case.block_size
        heads, dim = rows.shape[1], rows.shape[3]
        cache = np.zeros((self.count, heads, size, dim), np.float32)
        if case.poison:
            poison(cache, rng)
        for b, length in enumerate(case.key_lengths()):
            for column, block in enumerate(self.ids[b]):
                first = column * size
                last = min(first + size, length)
                cache[block, :, : last - first] = rows[b, :, first:last]
        if case.storage == "BBH":
            cache = cache.swapaxes(1, 2).reshape(self.count, size, heads * dim)
        elif case.storage == "NZ":
            cache = cache.reshape(self.count, heads, size, dim // LANE, LANE).swapaxes(2, 3)
        return encode(np.ascontiguousarray(cache), case.dtype, bfloat16)


def make_pages(case: FiaCase, rng: np.random.Generator) -> Pages:
    needed = [-(-length // case.block_size) for length in case.key_lengths()]
    # The document wants a block for each use, also of blocks that several sequences share.
    count = max(sum(needed), 1) + int(rng.integers(0, 3))
    order = {
        "in_order": np.arange(count),
        "reversed": np.arange(count)[::-1],
    }.get(case.blocks, rng.permutation(count))
    if case.blocks not in ("in_order", "reversed", "shuffled", "shared"):
        raise ValueError(f"unknown order of blocks {case.blocks!r}")
    fresh = iter(int(block) for block in order)
    ids: list[list[int]] = []
    for number, blocks in enumerate(needed):
        # A common prefix: the first half of the blocks of the sequence before.
        shared = ids[-1][: -(-min(len(ids[-1]), blocks) // 2)] if case.blocks == "shared" and number else []
        ids.append(shared + [next(fresh) for _ in range(blocks - len(shared))])
    return Pages(case, ids, count)
