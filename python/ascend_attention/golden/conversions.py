# SPDX-License-Identifier: Apache-2.0
"""What stored values mean as numbers, which formats the two flows use, and what becomes of the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ascend_attention.golden.attention import EXACT, Flow, Rescale, device_flow
from ascend_attention.golden.errors import GoldenError
from ascend_attention.golden.numbers import Array, Format, common_format, format_of, one_of

# (stored rows, key head, first row) -> numbers; the rows are first, first + 1, ... of a sequence
Convert = Callable[[Array, int, int], Array]


@dataclass(frozen=True)
class Conversions:
    """Everything about number formats that one call needs. ``b`` is the index of a sequence.

    plain() is the one without quantisation; a quantised operator makes its own.
    """

    flow: Flow
    query: Callable[[Array, int], Array]  # (stored rows (N, s1, D), b)
    key: Callable[[int], Convert]  # of sequence b
    value: Callable[[int], Convert]
    # (result, the same memory as (B, N, S, D), bool (B, N, S): rows that see a key) -> attention_out
    finish: Callable[[Array, Array, Array], Array]
    rescale: Callable[[int], Rescale | None] = lambda b: None  # what the product of query and key goes through


def is_exact(dtype_flow: str) -> bool:
    one_of(dtype_flow, ("exact", "device"), "dtype_flow")
    return dtype_flow == "exact"


def plain(query: Any, key: Any, value: Any, exact: bool) -> Conversions:
    """query, key and value of one 16-bit dtype, which attention_out has too."""
    number = format_of(query, "query")
    for name, given in (("key", key), ("value", value)):
        if common_format(given, name).name != number.name:
            raise GoldenError(name, f"is {common_format(given, name).name}, query is {number.name}")
    return Conversions(
        flow=EXACT if exact else device_flow(number),
        query=lambda stored, b: number.decode(stored),
        key=lambda b: decoded(number),
        value=lambda b: decoded(number),
        finish=rounded_to(number, exact),
    )


def rounded_to(number: Format, exact: bool) -> Callable[[Array, Array, Array], Array]:
    """The last step without quantisation: one rounding, and none in the exact flow."""
    return lambda result, by_head, seen: result if exact else number.encode(result)


def unrounded(numbers: Conversions) -> Conversions:
    """The same without the last step."""
    return replace(numbers, finish=lambda result, by_head, seen: result)


def decoded(number: Format) -> Convert:
    return lambda stored, head, first: number.decode(stored)
