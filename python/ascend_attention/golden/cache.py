# SPDX-License-Identifier: Apache-2.0
"""Where the key and value rows of a sequence come from: a dense tensor, a list of tensors, or pages of a cache.

``Rows`` hands out the stored rows of one head as they are, whatever dtype they have; ``Floats`` puts a conversion to
numbers on top. Both read what they are asked for and nothing else: rows beyond the sequence and block_table entries
beyond its last block are never looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Sequence as Listing
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ascend_attention.golden.errors import GoldenError
from ascend_attention.golden.layouts import Layout, Span, by_head
from ascend_attention.golden.lengths import Lengths, as_integers, packed_cumulative, padded, per_batch
from ascend_attention.golden.numbers import Array, as_array, as_integer


class Rows(Protocol):
    """Stored rows of one sequence."""

    @property
    def heads(self) -> int: ...

    def read(self, head: int, first: int, last: int) -> Array:
        """(last - first, D), as stored."""
        ...


@dataclass(frozen=True)
class Dense:
    """Rows of a tensor seen by head."""

    array: Array  # (KV_N, s2, D)

    @property
    def heads(self) -> int:
        return int(self.array.shape[0])

    def read(self, head: int, first: int, last: int) -> Array:
        return self.array[head, first:last]


@dataclass(frozen=True)
class Paged:
    """Token t is row t % block_size of block ids[t // block_size]."""

    blocks: Array  # (blocknum, KV_N, block_size, D), or of NZ form (blocknum, KV_N, D / c, block_size, c)
    dim: int
    ids: Array  # of this sequence, its row of block_table
    argument: str

    @property
    def heads(self) -> int:
        return int(self.blocks.shape[1])

    def read(self, head: int, first: int, last: int) -> Array:
        size = self.blocks.shape[-2]
        start, stop = first // size, -(-last // size)
        if last <= first:
            start = stop = 0
        if stop > len(self.ids):
            raise GoldenError(
                "block_table", f"has {len(self.ids)} blocks of {size} a sequence, {last} tokens need {stop}"
            )
        ids = self.ids[start:stop]
        for entry in ids:
            if not 0 <= entry < len(self.blocks):
                raise GoldenError(
                    "block_table", f"block {entry} of a sequence's {last} tokens is not in {self.argument}"
                )
        found = self.blocks[ids, head]  # copies
        if found.ndim == 4:
            found = found.swapaxes(1, 2)  # NZ: (blocks, D / c, size, c) to (blocks, size, D / c, c)
        tokens: Array = found.reshape(len(ids) * size, self.dim)
        return tokens[first - start * size : last - start * size]


def pages(cache: Array, heads: int, block_size: int, argument: str) -> Array:
    """A cache as (blocknum, KV_N, block_size, D), NZ as (blocknum, KV_N, D / c, block_size, c); a view."""
    shape = cache.shape
    if cache.ndim == 3:
        if shape[2] % heads:
            raise GoldenError(argument, f"H = {shape[2]} of the cache is not a multiple of the {heads} heads")
        cache = cache.reshape(shape[0], shape[1], heads, shape[2] // heads).swapaxes(1, 2)
    elif cache.ndim not in (4, 5):
        raise GoldenError(argument, f"a cache has 3, 4 or 5 dimensions, the shape given is {shape}")
    if cache.shape[1] != heads:
        raise GoldenError(
            argument, f"the N axis of the cache is {cache.shape[1]}, the number of heads given is {heads}"
        )
    if cache.shape[-2] != block_size:
        raise GoldenError("block_size", f"{block_size} is given, the blocks of {argument} have {cache.shape[-2]} rows")
    return cache


def table_rows(block_table: Array, batch: int) -> Array:
    if not isinstance(block_table, np.ndarray) or block_table.dtype.kind not in "iu" or block_table.ndim != 2:
        raise GoldenError("block_table", "must be a two-dimensional array of integers")
    if block_table.shape[0] != batch:
        raise GoldenError("block_table", f"has {block_table.shape[0]} rows for a batch of {batch}")
    return block_table


@dataclass(frozen=True)
class Floats:
    """Rows as numbers. ``convert(stored, head, first)`` gets the rows first, first + 1, ... of that head."""

    rows: Rows
    convert: Callable[[Array, int, int], Array]

    @property
    def heads(self) -> int:
        return self.rows.heads

    def read(self, head: int, first: int, last: int) -> Array:
        return self.convert(self.rows.read(head, first, last), head, first)


@dataclass(frozen=True)
class Source:
    """Where the rows of each sequence are in one argument."""

    argument: str
    dim: int
    rows: list[Rows]


@dataclass(frozen=True)
class Storage:
    """How the keys of a call are stored; value and key_rope are stored the same way."""

    lengths: list[int]  # keys of each sequence
    longest: int  # KV_S, which a full mask or a bias has to cover
    source: Callable[[Any, str], Source]  # from a tensor (or list of tensors) and its argument's name
    table: Array | None = None  # block_table of a paged cache, a row for each sequence


def stored(
    key: Any,
    layout: Layout,
    heads: int,
    batch: int,
    lengths: Lengths,
    block_table: Array | None = None,
    block_size: int = 0,
    length_argument: str = "actual_seq_kvlen",
) -> Storage:
    """Dense padded, dense packed, a list with a tensor for each sequence, or pages: whichever these arguments mean."""
    if block_table is not None:
        return _paged(layout, heads, batch, lengths, block_table, block_size, length_argument)
    if isinstance(key, (list, tuple)):
        return _listed(key, layout, heads, batch, lengths, length_argument)
    seen = by_head(as_array(key, "key"), layout.query, heads, "key")
    if layout.packed:
        spans = packed_cumulative(lengths, seen.shape[2], length_argument)
        if len(spans) != batch:
            raise GoldenError(length_argument, f"has {len(spans)} entries for {batch} sequences of query")
    else:
        if seen.shape[0] != batch:
            raise GoldenError("key", f"has a batch of {seen.shape[0]}, query one of {batch}")
        spans = padded(per_batch(lengths, [seen.shape[2]] * batch, length_argument))
    return dense(seen, layout.query, heads, spans)


def dense(key: Array, axes: str, heads: int, spans: list[Span]) -> Storage:
    """Rows of a tensor like key, which is seen by head already."""
    batch, _, length, _ = key.shape

    def source(tensor: Any, argument: str) -> Source:
        seen = by_head(as_array(tensor, argument), axes, heads, argument)
        if (seen.shape[0], seen.shape[2]) != (batch, length):
            raise GoldenError(argument, f"shape {tensor.shape} does not go with the {batch} x {length} tokens of key")
        return Source(argument, seen.shape[3], [Dense(span.of(seen)) for span in spans])

    return Storage([span.count for span in spans], length, source)


def _listed(
    keys: Listing[Array], layout: Layout, heads: int, batch: int, lengths: Lengths, length_argument: str
) -> Storage:
    if layout.packed:
        raise GoldenError("key", "a list of tensors has no meaning in a layout with a T axis")
    if len(keys) != batch:
        raise GoldenError("key", f"a list of {len(keys)} tensors for a batch of {batch}")
    limits = [by_head(as_array(key, "key"), layout.query, heads, "key").shape[2] for key in keys]
    counts = per_batch(lengths, limits, length_argument)

    def source(tensors: Any, argument: str) -> Source:
        if not isinstance(tensors, (list, tuple)) or len(tensors) != batch:
            raise GoldenError(argument, f"has to be a list of {batch} tensors, as key is")
        found: list[Rows] = []
        dims = set()
        for tensor, limit, count in zip(tensors, limits, counts, strict=True):
            seen = by_head(as_array(tensor, argument), layout.query, heads, argument)
            if (seen.shape[0], seen.shape[2]) != (1, limit):
                raise GoldenError(argument, f"shape {tensor.shape} is not one sequence of key's {limit} tokens")
            found.append(Dense(seen[0, :, :count]))
            dims.add(seen.shape[3])
        if len(dims) > 1:
            raise GoldenError(argument, f"its tensors have different head dims: {sorted(dims)}")
        return Source(argument, dims.pop() if dims else 0, found)

    return Storage(counts, max(limits, default=0), source)


def _paged(
    layout: Layout,
    heads: int,
    batch: int,
    lengths: Lengths,
    block_table: Any,
    block_size: int,
    length_argument: str,
) -> Storage:
    table = table_rows(block_table, batch)
    given = as_integers(lengths, length_argument)
    entries = len(given)
    if batch and not entries:
        raise GoldenError(length_argument, "is needed with block_table: it says how many tokens a sequence has")
    if layout.packed and entries != batch:
        raise GoldenError(length_argument, f"has {entries} entries for {batch} sequences of query")
    block_size = as_integer(block_size, "block_size")
    if block_size < 1:
        said = "is needed with block_table" if block_size == 0 else f"{block_size} is not positive"
        raise GoldenError("block_size", f"{said}: it says how many tokens a block of the cache holds")
    columns = table.shape[1]
    longest = max(given[:batch], default=0)
    if longest > columns * block_size:
        needed = -(-longest // block_size)
        raise GoldenError("block_table", f"has {columns} columns; {longest} keys need {needed} blocks of {block_size}")
    counts = per_batch(lengths, [columns * block_size] * batch, length_argument)

    def source(cache: Any, argument: str) -> Source:
        blocks = pages(as_array(cache, argument), heads, block_size, argument)
        dim = blocks.shape[-1] * (blocks.shape[2] if blocks.ndim == 5 else 1)
        return Source(argument, dim, [Paged(blocks, dim, ids, argument) for ids in table])

    return Storage(counts, max(counts, default=0), source, table)
