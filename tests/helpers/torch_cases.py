# SPDX-License-Identifier: Apache-2.0
"""A small call of an operator as torch takes it, to be changed by each test."""

from __future__ import annotations

from typing import Any

from helpers.doors import to_torch
from helpers.fia_cases import FiaCase


def small_call(layout: str = "BNSD", *, kind: type[FiaCase] = FiaCase, **changes: Any) -> dict[str, Any]:
    """Two ragged sequences, grouped heads; ``kind`` says which operator's argument names."""
    settings: dict[str, Any] = {
        "batch": 2, "num_query_heads": 4, "num_key_value_heads": 2, "query_length": 20, "key_length": 48,
        "head_dim": 32, "actual_seq_qlen": (20, 11), "actual_seq_kvlen": (48, 30), "poison": False,
    }  # fmt: skip
    made = kind("case", layout, **(settings | changes)).arguments()
    return {name: to_torch(value) for name, value in made.items()}


def split(arguments: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The positional and the keyword arguments."""
    rest = dict(arguments)
    return tuple(rest.pop(name) for name in ("query", "key", "value")), rest
