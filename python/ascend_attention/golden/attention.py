# SPDX-License-Identifier: Apache-2.0
"""Attention over one sequence, in two number flows.

exact   float64 throughout, from the 16-bit values as given.
device  the plain peer: what a straightforward kernel with this hardware's number formats computes, and the yardstick
        for the error of a clever one. Scores in float32, each accumulated one channel after the other (a matrix library
        would sum in an order of its own, which differs between machines and flatters the error); softmax in float32
        against the row's maximum; the exponentials rounded to the 16-bit dtype for the second product, their sum taken
        in float32 before that; the product and the division in float32; one rounding to the output dtype.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ascend_attention.golden.numbers import Array, Format
from ascend_attention.golden.visibility import Visibility

# Score entries held at a time: 32 MiB in float64, a handful of such temporaries.
_CHUNK = 1 << 22
# Rows and keys of a block whose float32 scores stay in a CPU's level 2 cache while channels are added.
_BLOCK_ROWS, _BLOCK_KEYS = 64, 1024


@dataclass(frozen=True)
class Sequence:
    """Views on one sequence; rows and keys outside its actual lengths are not in it."""

    query: Array  # (N, s1, D) float32
    key: Array  # (KV_N, s2, D)
    value: Array  # (KV_N, s2, D_v)
    visibility: Visibility
    output: Array  # (N, s1, D_v): float64 (exact) or float32 (device, not yet rounded); zero on entry
    lse: Array  # (N, s1): float64 or float32; +inf on entry


def attend(sequence: Sequence, scale: float, peer: Format | None) -> None:
    """Fills output and lse. ``peer`` is the 16-bit dtype of the device flow, None for the exact flow.

    Rows that see no key keep zeros and +inf.
    """
    heads, queries = sequence.query.shape[:2]
    key_heads, keys = sequence.key.shape[:2]
    if queries == 0 or keys == 0:
        return
    group = heads // key_heads
    work_type = np.float64 if peer is None else np.float32
    rows = max(1, _CHUNK // keys)
    for first in range(0, queries, rows):
        last = min(first + rows, queries)
        kept = sequence.visibility.rows(first, last)
        seen = kept.any(axis=1)
        if not seen.any():
            continue
        for key_head in range(key_heads):
            key = sequence.key[key_head].astype(work_type)
            value = sequence.value[key_head].astype(work_type)
            for head in range(key_head * group, (key_head + 1) * group):
                query = sequence.query[head, first:last].astype(work_type)
                if peer is None:
                    scores = query @ key.T * scale
                else:
                    scores = _scores_by_channel(query, key, kept) * np.float32(scale)
                out, lse = _softmax_times_value(scores, kept, value, peer)
                sequence.output[head, first:last][seen] = out[seen]
                sequence.lse[head, first:last][seen] = lse[seen]


def _scores_by_channel(query: Array, key: Array, kept: Array) -> Array:
    """query @ key.T in float32, summed one channel after the other. Products of 16-bit values are exact.

    Blocks that no row sees stay zero: a causal mask halves the work.
    """
    channels = np.ascontiguousarray(key.T)
    scores = np.zeros((query.shape[0], key.shape[0]), np.float32)
    for row in range(0, query.shape[0], _BLOCK_ROWS):
        factors = np.ascontiguousarray(query[row : row + _BLOCK_ROWS].T)[:, :, None]
        for column in range(0, key.shape[0], _BLOCK_KEYS):
            if not kept[row : row + _BLOCK_ROWS, column : column + _BLOCK_KEYS].any():
                continue
            block = channels[:, None, column : column + _BLOCK_KEYS]
            total = np.zeros((factors.shape[1], block.shape[2]), np.float32)
            product = np.empty_like(total)
            for channel in range(block.shape[0]):
                np.multiply(factors[channel], block[channel], out=product)
                total += product
            scores[row : row + _BLOCK_ROWS, column : column + _BLOCK_KEYS] = total
    return scores


def _softmax_times_value(scores: Array, kept: Array, value: Array, peer: Format | None) -> tuple[Array, Array]:
    scores[~kept] = -np.inf
    maximum = scores.max(axis=1, keepdims=True)
    scores -= maximum
    weights = np.exp(scores, out=scores)
    weights[~kept] = 0  # also where the maximum is not a number because nothing is kept
    total = weights.sum(axis=1, keepdims=True)
    if peer is not None:
        weights = peer.round(weights)
    out = _weighted_sum(weights, kept, value) / total
    lse = maximum + np.log(total)
    return out, lse[:, 0]


def _weighted_sum(weights: Array, kept: Array, value: Array) -> Array:
    """weights @ value, where a value row that a query does not see has no influence even if it is not finite."""
    finite: Array = np.asarray(np.isfinite(value).all(axis=1))
    if finite.all():
        return weights @ value
    total: Array = weights @ np.where(finite[:, None], value, 0)
    for key in np.flatnonzero(~finite):
        rows = kept[:, key]
        total[rows] += weights[rows, key, None] * value[key]
    return total
