# SPDX-License-Identifier: Apache-2.0
"""What is added to the scores (pse_shift) and to their sum (learnable_sink)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ascend_attention.golden.errors import GoldenError
from ascend_attention.golden.numbers import Array, format_of
from ascend_attention.golden.visibility import Columns

# (query heads, rows, keys) of one sequence -> (heads, rows, keys)
Bias = Callable[[slice, slice, Columns], Array]


def of_sequences(pse_shift: Any, batch: int, heads: int, full: tuple[int, int] | None) -> list[Bias | None]:
    """The bias of each sequence from (B or 1, N, >= Q_S, >= KV_S); padding beyond the actual lengths is not read."""
    if pse_shift is None:
        return [None] * batch
    number = format_of(pse_shift, "pse_shift")
    shape = pse_shift.shape
    if full is None:
        raise GoldenError("pse_shift", "has no meaning in a layout with a T axis")
    if len(shape) != 4 or shape[0] not in (1, batch) or shape[1] != heads or shape[2] < full[0] or shape[3] < full[1]:
        raise GoldenError("pse_shift", f"shape {shape} does not cover {batch} x {heads} x {full[0]} x {full[1]}")

    def of_sequence(b: int) -> Bias:
        plane = pse_shift[b % shape[0]]
        return lambda heads, rows, keys: number.decode(np.ascontiguousarray(plane[heads, rows][..., keys]))

    return [of_sequence(b) for b in range(batch)]


def sink_scores(learnable_sink: Any, heads: int) -> Array | None:
    if learnable_sink is None:
        return None
    number = format_of(learnable_sink, "learnable_sink")
    if learnable_sink.shape != (heads,):
        raise GoldenError("learnable_sink", f"shape {learnable_sink.shape} is not one score for each of {heads} heads")
    # -infinity counts as bfloat16's lowest number: with a sink no row's sum is zero.
    return np.maximum(number.decode(learnable_sink), -255 * 2.0**120)
