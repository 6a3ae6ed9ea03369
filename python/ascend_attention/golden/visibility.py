# SPDX-License-Identifier: Apache-2.0
"""Which keys a query row sees.

Positions count inside one sequence: row i of s1 queries, key j of s2 keys, with the sequence's actual lengths. All
sparse modes are a band ``i + low <= j <= i + high``, modes 0 and 1 with an explicit mask besides. The content of the
2048 x 2048 mask of modes 2, 3 and 4 is the caller's promise about positions and is never read.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ascend_attention.golden.errors import GoldenError, GoldenNotCovered
from ascend_attention.golden.numbers import Array

_FAR = 2**40  # farther than any two positions are apart


@dataclass(frozen=True)
class Visibility:
    """What the rows of one sequence see; ``hidden`` has at least (s1, s2) entries, non-zero hides the pair."""

    keys: int
    low: int = -_FAR
    high: int = _FAR
    hidden: Array | None = None

    def rows(self, first: int, last: int) -> Array:
        """bool (last - first, keys): True where the pair is kept."""
        distance = np.arange(self.keys)[None, :] - np.arange(first, last)[:, None]
        kept: Array = (distance >= self.low) & (distance <= self.high)
        if self.hidden is not None:
            kept &= self.hidden[first:last, : self.keys] == 0
        return kept


def band(sparse_mode: int, pre_tokens: int, next_tokens: int, queries: int, keys: int, masked: bool) -> tuple[int, int]:
    """(low, high) of a sequence with these actual lengths."""
    pre = min(max(int(pre_tokens), -_FAR), _FAR)
    after = min(max(int(next_tokens), -_FAR), _FAR)
    if sparse_mode == 0:
        return (-pre, after) if masked else (-_FAR, _FAR)  # tokens count from the upper left corner
    if sparse_mode == 1:
        return -_FAR, _FAR
    if sparse_mode == 2:
        return -_FAR, 0
    if sparse_mode == 3:
        return -_FAR, keys - queries  # the diagonal ends in the lower right corner
    if sparse_mode == 4:
        return keys - queries - pre, keys - queries + after
    raise GoldenNotCovered("sparse_mode", f"{sparse_mode} is not covered, only 0, 1, 2, 3 and 4")


def mask_planes(mask: Array, batch: int, queries: int, keys: int) -> Array:
    """The explicit mask as (1 or B, >= queries, >= keys), from any documented shape; padding stays on."""
    if not isinstance(mask, np.ndarray) or mask.dtype not in (np.bool_, np.int8, np.uint8):
        raise GoldenError("atten_mask", f"must be a bool, int8 or uint8 array, not {getattr(mask, 'dtype', mask)}")
    shape = mask.shape
    if queries == 1 and mask.ndim == 2:
        mask = mask[:, None]  # (B, KV_S)
    elif mask.ndim == 2:
        mask = mask[None]
    elif mask.ndim == 4 and shape[1] == 1:
        mask = mask[:, 0]
    fits = mask.ndim == 3 and mask.shape[0] in (1, batch) and mask.shape[1] >= queries and mask.shape[2] >= keys
    if not fits:
        raise GoldenError(
            "atten_mask", f"shape {shape} does not cover batch {batch}, Q_S = {queries}, KV_S = {keys} in this mode"
        )
    return mask
