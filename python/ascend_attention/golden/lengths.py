# SPDX-License-Identifier: Apache-2.0
"""Lengths of sequences, as the callers give them, and the rows that they stand for."""

from __future__ import annotations

from collections.abc import Sequence as Listing
from typing import Any

import numpy as np

from ascend_attention.golden.errors import GoldenError
from ascend_attention.golden.layouts import Layout, Span
from ascend_attention.golden.numbers import Array, as_integer

Lengths = Listing[int] | Array | None


def as_integers(given: Any, argument: str) -> list[int]:
    """Any one-dimensional thing of integers (list, tuple, array, tensor, strided or not); None is the empty list."""
    if given is None:
        return []
    try:
        array = np.asarray(given)
    except (TypeError, ValueError, RuntimeError) as error:  # RuntimeError: a tensor that cannot be read
        raise GoldenError(argument, f"must be integers: {error}") from error
    if array.size == 0:
        return []
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise GoldenError(argument, f"must be integers in one dimension, not {array.dtype} of shape {array.shape}")
    return [as_integer(entry, argument) for entry in array]  # of 64 bits, which uint64 need not be


def per_batch(given: Lengths, limits: list[int], argument: str) -> list[int]:
    """One length per sequence, from None (or an empty list), one entry for all, or at least one for each."""
    batch = len(limits)
    entries = as_integers(given, argument)
    if not entries:
        return limits
    if len(entries) == 1:
        entries *= batch
    if len(entries) < batch:
        raise GoldenError(argument, f"has {len(entries)} entries for a batch of {batch}")
    for entry, limit in zip(entries[:batch], limits, strict=True):
        if not 0 <= entry <= limit:
            raise GoldenError(argument, f"{entry} is not in [0, {limit}]")
    return entries[:batch]


def required(given: Lengths, argument: str) -> list[int]:
    entries = as_integers(given, argument)
    if not entries:
        raise GoldenError(argument, "is needed in a layout with a T axis: it says where sequences begin and end")
    return entries


def padded(counts: list[int]) -> list[Span]:
    """Sequence b is the first rows of batch entry b."""
    return [Span(b, 0, count) for b, count in enumerate(counts)]


def packed(counts: list[int], total: int, argument: str) -> list[Span]:
    """Sequences behind each other on the T axis; rows after the last one belong to nobody."""
    spans = []
    first = 0
    for count in counts:
        if count < 0:
            raise GoldenError(argument, f"a sequence would have {count} rows")
        spans.append(Span(0, first, count))
        first += count
    if first > total:
        raise GoldenError(argument, f"the sequences have {first} rows, the T axis has {total}")
    return spans


def packed_cumulative(given: Lengths, total: int, argument: str) -> list[Span]:
    """The same, from sums of all lengths so far."""
    ends = required(given, argument)
    starts = [0, *ends[:-1]]
    if any(end < start for start, end in zip(starts, ends, strict=True)):
        raise GoldenError(
            argument, f"{ends} has to be cumulative: an entry is smaller than the one before it, or than 0"
        )
    return packed([end - start for start, end in zip(starts, ends, strict=True)], total, argument)


def of_queries(given: Lengths, layout: Layout, query: Array, argument: str) -> list[Span]:
    """The sequences of query, seen as (B, N, S, D): cumulative lengths in packed layouts, else one for each."""
    if layout.packed:
        return packed_cumulative(given, query.shape[2], argument)
    return padded(per_batch(given, [query.shape[2]] * query.shape[0], argument))
