# SPDX-License-Identifier: Apache-2.0
"""Layouts. Every tensor is seen as (B, N, S, D), a packed one as (1, N, T, D); these are views, data stays where it is.

A sequence is then a ``Span`` of rows in one batch entry, whatever the layout, and what is computed for it is written
through the same kind of view into a result of any other layout.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ascend_attention.golden.errors import GoldenError
from ascend_attention.golden.numbers import Array, as_integer, one_of


@dataclass(frozen=True)
class Layout:
    query: str  # axes of query, and of key and value unless they are paged
    output: str  # axes of attention_out

    @property
    def packed(self) -> bool:
        """Sequences lie behind each other on one T axis."""
        return "T" in self.query

    @property
    def lse(self) -> str:
        return "TN" if self.packed else "BNS"


def layout_of(name: str, known: tuple[str, ...], argument: str = "input_layout") -> Layout:
    """'BNSD_BSND' is BNSD in and BSND out; a single name stands for both."""
    one_of(name, known, argument)
    query, _, output = name.partition("_")
    return Layout(query, output or query)


@dataclass(frozen=True)
class Span:
    """Where the rows of one sequence are, in a tensor seen as (B, N, S, D)."""

    entry: int
    first: int
    count: int

    def of(self, array: Array) -> Array:
        """(N, count, D) of (B, N, S, D), or (N, count) of (B, N, S)."""
        return array[self.entry, :, self.first : self.first + self.count]


def by_head(array: Array, axes: str, heads: int, argument: str) -> Array:
    """The tensor as (B, N, S, D), or (1, N, T, D) where the axes have a T."""
    if array.ndim != len(axes):
        raise GoldenError(argument, f"layout {axes} has {len(axes)} dimensions, the shape given is {array.shape}")
    if axes.endswith("H"):
        width = array.shape[-1]
        if width % heads:
            raise GoldenError(argument, f"H = {width} is not a multiple of the {heads} heads")
        array = array.reshape(*array.shape[:-1], heads, width // heads)
        axes = axes.replace("H", "ND")
    if "T" in axes:
        array = array[None]
        axes = "B" + axes.replace("T", "S")
    array = array.transpose([axes.index(axis) for axis in "BNSD"[: len(axes)]])
    if array.shape[1] != heads:
        raise GoldenError(argument, f"the N axis is {array.shape[1]}, the number of heads given is {heads}")
    return array


def filled(value: float, sizes: dict[str, int], axes: str, dtype: str) -> tuple[Array, Array]:
    """A new tensor with these axes, and the same memory by head. ``sizes`` knows B, N, S, D (S is T's size too)."""
    size = {**sizes, "H": sizes["N"] * sizes["D"], "T": sizes["S"]}
    array = np.full([size[axis] for axis in axes], value, dtype)
    return array, by_head(array, axes, sizes["N"], "attention_out")


def head_counts(heads: int, key_heads: int, argument: str, key_argument: str) -> tuple[int, int]:
    """Query heads and key heads; 0 key heads means as many."""
    heads, key_heads = as_integer(heads, argument), as_integer(key_heads, key_argument)
    if heads < 1:
        raise GoldenError(argument, f"{heads} is not positive")
    key_heads = key_heads or heads
    if key_heads < 0 or heads % key_heads:
        raise GoldenError(key_argument, f"{heads} query heads do not divide over {key_heads}")
    return heads, key_heads
