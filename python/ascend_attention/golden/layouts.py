# SPDX-License-Identifier: Apache-2.0
"""Layouts. Inside the model every tensor is seen as (B, N, S, D); these are views, data stays where it is."""

from __future__ import annotations

import numpy as np

from ascend_attention.golden.errors import GoldenError, GoldenNotCovered
from ascend_attention.golden.numbers import Array

# input_layout -> axes of query (and dense key, value), axes of attention_out
LAYOUTS: dict[str, tuple[str, str]] = {
    "BSH": ("BSH", "BSH"),
    "BSND": ("BSND", "BSND"),
    "BNSD": ("BNSD", "BNSD"),
    "BNSD_BSND": ("BNSD", "BSND"),
}


def axes_of(input_layout: str) -> tuple[str, str]:
    if input_layout not in LAYOUTS:
        raise GoldenNotCovered("input_layout", f"{input_layout!r} is not covered, only {', '.join(LAYOUTS)}")
    return LAYOUTS[input_layout]


def as_heads(array: Array, axes: str, heads: int, argument: str) -> Array:
    """The tensor as (B, N, S, D)."""
    if array.ndim != len(axes):
        raise GoldenError(argument, f"layout {axes} has {len(axes)} dimensions, the shape given is {array.shape}")
    if axes == "BSH":
        batch, length, width = array.shape
        if width % heads:
            raise GoldenError(argument, f"H = {width} is not a multiple of the {heads} heads")
        array = array.reshape(batch, length, heads, width // heads)
    if axes != "BNSD":
        array = array.transpose(0, 2, 1, 3)
    if array.shape[1] != heads:
        raise GoldenError(argument, f"the N axis is {array.shape[1]}, the number of heads given is {heads}")
    return array


def new_output(batch: int, heads: int, length: int, dim: int, axes: str, dtype: str) -> tuple[Array, Array]:
    """A zeroed tensor in the layout of the output, and the same memory seen as (B, N, S, D)."""
    if axes == "BNSD":
        by_head = np.zeros((batch, heads, length, dim), dtype)
        return by_head, by_head
    by_token = np.zeros((batch, length, heads, dim), dtype)
    by_head = by_token.transpose(0, 2, 1, 3)
    return (by_token.reshape(batch, length, heads * dim), by_head) if axes == "BSH" else (by_token, by_head)
