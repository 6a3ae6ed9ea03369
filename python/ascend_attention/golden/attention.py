# SPDX-License-Identifier: Apache-2.0
"""Attention over one sequence.

    scores = scale * sum over terms of (query keysᵀ) + bias       hidden pairs: -infinity
    weights = exp(scores - maximum)                                of each row
    total = sum(weights) + exp(sink - maximum)
    output = weights value / total,   lse = maximum + log(total)

Two flows of numbers:

exact   float64 throughout, from the values as given.
device  the plain peer: what a straightforward kernel with this hardware's number formats computes, and the yardstick
        for the error of a clever one. Scores in float32, each accumulated one channel after the other (a matrix library
        would sum in an order of its own, which differs between machines and flatters the error); softmax in float32
        against the row's maximum; the exponentials rounded to the 16-bit dtype for the second product, their sum taken
        in float32 before that; the product and the division in float32; one rounding to the output dtype.

Rows are taken a few at a time with all keys that any of them sees, so memory grows with the number of keys and not with
its square, and no running maximum is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from ascend_attention.golden.bias import Bias
from ascend_attention.golden.cache import Floats
from ascend_attention.golden.numbers import Array, Format
from ascend_attention.golden.visibility import BlockMap, Columns, Visibility

# Score entries held at a time: 4 MiB in float64, few enough for a CPU's caches to help.
_CHUNK = 1 << 19
# Rows and keys of a block whose float32 scores stay in a CPU's level 2 cache while channels are added.
_BLOCK_ROWS, _BLOCK_KEYS = 64, 1024

# (product of shape (heads, rows, keys), which query heads, which rows, which keys) -> product, rescaled
Rescale = Callable[[Array, slice, slice, Columns], Array]


@dataclass(frozen=True)
class Term:
    """One summand of the scores before scaling: query @ keys.T, through ``rescale`` if there is one."""

    query: Array  # (N, s1, D)
    keys: Floats
    rescale: Rescale | None = None


@dataclass(frozen=True)
class Sequence:
    """One sequence; rows and keys outside its actual lengths are not in it."""

    terms: tuple[Term, ...]
    values: Floats
    sees: Visibility | BlockMap
    output: Array  # (N, s1, D_v) in the flow's work type; zero on entry
    lse: Array  # (N, s1) in the flow's work type; +inf on entry
    bias: Bias | None = None  # added to the scaled scores
    sink: Array | None = None  # (N,), a score without a value


@dataclass(frozen=True)
class Flow:
    """Number formats. A quantised operator replaces ``operand``."""

    work: str  # "float64" or "float32": scores, softmax, results before their last rounding
    product: Callable[[Array, Array, Array | None], Array]  # query (heads, rows, D), key (keys, D), kept (rows, keys)
    operand: Callable[[Array, Array], Array]  # exponentials and their sums -> left operand of the second product
    after: float = 1.0  # what the second product is multiplied by
    tile: int | None = None  # keys that share a running maximum; None: the maximum of the row, known beforehand


def attend(sequence: Sequence, scale: float, flow: Flow) -> None:
    """Fills output and lse. Rows that see no key keep zeros and +inf."""
    queries = sequence.terms[0].query.shape[1]
    start, stop = sequence.sees.window(0, queries)
    if queries == 0 or start == stop:
        return
    with np.errstate(invalid="ignore", divide="ignore", over="ignore", under="ignore"):
        for key_head in range(sequence.values.heads):
            keys = [term.keys.read(key_head, start, stop).astype(flow.work) for term in sequence.terms]
            terms, keys = _one_sum(sequence.terms, keys)
            values = sequence.values.read(key_head, start, stop).astype(flow.work)
            for heads, rows in _pieces(sequence, key_head, stop - start):
                columns, kept = sequence.sees.rows(rows.start, rows.stop, heads.start)
                near = _shifted(columns, start)
                if values[near].shape[0] == 0:
                    continue
                scores = _scores(sequence, terms, keys, heads, rows, columns, near, kept, scale, flow)
                sink = None if sequence.sink is None else sequence.sink[heads, None, None].astype(flow.work)
                softmax_times_value = _softmax_times_value if flow.tile is None else _softmax_times_value_by_tiles
                output, lse = softmax_times_value(scores, kept, values[near], sink, flow)
                sequence.output[heads, rows] = output
                sequence.lse[heads, rows] = lse


def _pieces(sequence: Sequence, key_head: int, keys: int) -> Iterator[tuple[slice, slice]]:
    """Query heads of this key head and rows whose scores are computed together."""
    heads, queries = sequence.terms[0].query.shape[:2]
    group = heads // sequence.values.heads
    together = 1 if sequence.sees.by_head else min(group, max(1, _CHUNK // keys))
    rows = max(1, _CHUNK // (together * keys))
    if rows > sequence.sees.grain:
        rows -= rows % sequence.sees.grain
    for head in range(key_head * group, (key_head + 1) * group, together):
        last = min(head + together, (key_head + 1) * group)
        for row in range(0, queries, rows):
            yield slice(head, last), slice(row, min(row + rows, queries))


def _shifted(columns: Columns, start: int) -> Columns:
    return slice(columns.start - start, columns.stop - start) if isinstance(columns, slice) else columns - start


def _scores(
    sequence: Sequence,
    terms: tuple[Term, ...],
    keys: list[Array],
    heads: slice,
    rows: slice,
    columns: Columns,
    near: Columns,
    kept: Array | None,
    scale: float,
    flow: Flow,
) -> Array:
    scores: Array | None = None
    for term, key in zip(terms, keys, strict=True):
        product = flow.product(term.query[heads, rows].astype(flow.work), key[near], kept)
        if term.rescale is not None:
            product = term.rescale(product, heads, rows, columns)
        scores = product if scores is None else scores + product
    assert scores is not None
    scores *= scores.dtype.type(scale)
    if sequence.bias is not None:
        scores += sequence.bias(heads, rows, columns)
    return scores


def _one_sum(terms: tuple[Term, ...], keys: list[Array]) -> tuple[tuple[Term, ...], list[Array]]:
    """Terms that nothing is done to by themselves are one sum over all channels, those of rope last."""
    if len(terms) == 1 or any(term.rescale is not None for term in terms):
        return terms, keys
    query = np.concatenate([term.query for term in terms], axis=2)
    return (Term(query, terms[0].keys),), [np.concatenate(keys, axis=1)]


def _softmax_times_value(
    scores: Array, kept: Array | None, value: Array, sink: Array | None, flow: Flow
) -> tuple[Array, Array]:
    seen: Array = np.asarray(np.ones(scores.shape[1], bool) if kept is None else kept.any(axis=1))
    if kept is not None:
        np.copyto(scores, -np.inf, where=~kept)
    maximum = scores.max(axis=2, keepdims=True)
    if sink is not None:
        maximum = np.maximum(maximum, sink)
    nothing = _nothing(maximum, seen)
    maximum[nothing] = 0
    scores -= maximum
    weights = np.exp(scores, out=scores)
    total = weights.sum(axis=2, keepdims=True)
    if sink is not None:
        total += np.exp(sink - maximum)
    total[nothing] = 1
    output = _weighted_sum(flow.operand(weights, total), kept, value)
    if flow.after != 1:
        output *= output.dtype.type(flow.after)
    output /= total
    lse = (maximum + np.log(total))[..., 0]
    output[nothing[..., 0]] = 0
    lse[nothing[..., 0]] = np.inf
    return output, lse


def _nothing(maximum: Array, seen: Array) -> Array:
    """(heads, rows, 1): rows that see no key, and rows whose every score is -infinity: without any weight."""
    return np.asarray(np.isneginf(maximum) | ~seen[None, :, None])


def _softmax_times_value_by_tiles(
    scores: Array, kept: Array | None, value: Array, sink: Array | None, flow: Flow
) -> tuple[Array, Array]:
    """The same as a kernel does it that sees flow.tile keys at a time: what it has is rescaled when the maximum rises.

    Only where exponentials are rounded to a fixed step does it matter which maximum they refer to: for integers, so
    values are finite here.
    """
    assert flow.tile is not None
    seen: Array = np.asarray(np.ones(scores.shape[1], bool) if kept is None else kept.any(axis=1))
    if kept is not None:
        np.copyto(scores, -np.inf, where=~kept)
    after = scores.dtype.type(flow.after)
    maximum = np.full((*scores.shape[:2], 1), -np.inf, scores.dtype)
    total = np.zeros_like(maximum)
    if sink is not None:
        maximum, total = np.broadcast_to(sink, maximum.shape), total + 1
    output = np.zeros((*scores.shape[:2], value.shape[1]), scores.dtype)
    for first in range(0, scores.shape[2], flow.tile):
        part = slice(first, first + flow.tile)
        higher = np.maximum(maximum, scores[:, :, part].max(axis=2, keepdims=True))
        reference = np.where(np.isneginf(higher), 0, higher)  # rows that have seen nothing so far
        weights = np.exp(scores[:, :, part] - reference)
        keep = np.exp(maximum - reference)
        total = total * keep + weights.sum(axis=2, keepdims=True)
        output = output * keep + _product(flow.operand(weights, total), value[part]) * after
        maximum = higher
    nothing = _nothing(maximum, seen)
    total[nothing] = 1
    output /= total
    lse = (maximum + np.log(total))[..., 0]
    output[nothing[..., 0]] = 0
    lse[nothing[..., 0]] = np.inf
    return output, lse


def _weighted_sum(weights: Array, kept: Array | None, value: Array) -> Array:
    """weights @ value, where a value row that a query does not see has no influence even if it is not finite."""
    finite: Array = np.asarray(np.isfinite(value).all(axis=1))
    if kept is None or finite.all():
        return _product(weights, value)
    total: Array = _product(weights, np.where(finite[:, None], value, 0))
    for key in np.flatnonzero(~finite):
        rows = kept[:, key]
        total[:, rows] += weights[:, rows, key, None] * value[key]
    return total


def _product(left: Array, right: Array) -> Array:
    """(heads, rows, inner) @ (inner, columns) as one matrix product."""
    heads, rows, inner = left.shape
    flat: Array = left.reshape(heads * rows, inner) @ right
    return flat.reshape(heads, rows, right.shape[1])


def _scores_by_channel(query: Array, key: Array, kept: Array | None) -> Array:
    """query @ key.T in float32, summed one channel after the other. Products of 16-bit values are exact.

    Blocks that no row sees stay zero: a causal mask halves the work.
    """
    heads, rows, channels = query.shape
    if kept is not None and heads > 1:
        kept = np.tile(kept, (heads, 1))
    factors = np.ascontiguousarray(query.reshape(heads * rows, channels).T)
    by_channel = np.ascontiguousarray(key.T)
    scores = np.zeros((heads * rows, key.shape[0]), np.float32)
    for row in range(0, heads * rows, _BLOCK_ROWS):
        some = slice(row, row + _BLOCK_ROWS)
        for column in range(0, key.shape[0], _BLOCK_KEYS):
            near = slice(column, column + _BLOCK_KEYS)
            if kept is None or kept[some, near].any():
                scores[some, near] = _in_channel_order(factors[:, some], by_channel[:, near])
    return scores.reshape(heads, rows, key.shape[0])


def _in_channel_order(query: Array, key: Array) -> Array:
    """(channels, rows), (channels, keys) -> (rows, keys).

    einsum without optimisation walks the axis with the largest stride outermost and adds each product to its sum: one
    channel after the other. A single row and a single key would leave it one axis, along which it sums in parts.
    """
    if query.shape[1] == key.shape[1] == 1:
        return np.cumsum(query * key, axis=0, dtype=np.float32)[-1:]
    return np.asarray(np.einsum("cr,ck->rk", np.ascontiguousarray(query), np.ascontiguousarray(key)))


EXACT = Flow("float64", lambda query, key, kept: _product(query, key.T), lambda weights, total: weights)


def device_flow(number: Format | None) -> Flow:
    """The plain peer of a kernel whose second product takes operands of this dtype; None: rounded by somebody else."""
    if number is None:
        return Flow("float32", _scores_by_channel, lambda weights, total: weights)
    return Flow("float32", _scores_by_channel, lambda weights, total: number.round(weights))
