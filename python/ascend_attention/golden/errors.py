# SPDX-License-Identifier: Apache-2.0
"""The errors of the golden model. It is no argument checker: it refuses what has no meaning."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

# What the three operators call by different names.
_SAME = (
    ("num_query_heads", "num_heads"),
    ("softmax_scale", "scale_value", "scale"),
    ("actual_seq_qlen", "actual_seq_lengths"),
    ("actual_seq_kvlen", "actual_seq_lengths_kv"),
    ("quant_scale_out", "quant_scale2"),
    ("quant_offset_out", "quant_offset2"),
    ("return_softmax_lse", "softmax_lse_flag", "softmax_lse"),
    ("input_layout", "q_input_layout"),
    ("atten_mask", "attn_mask", "mask"),
)


class GoldenError(ValueError):
    """The arguments contradict each other or mean nothing. ``argument`` names the one to look at."""

    def __init__(self, argument: str, message: str, owner: str = "golden model") -> None:
        super().__init__(f"{owner}: {argument}: {message}")
        self.argument = argument
        self._message, self._owner = message, owner

    def of(self, owner: str) -> GoldenError:
        """The same, told by a function that leans on the golden model."""
        return type(self)(self.argument, self._message, owner)

    def __reduce__(self) -> tuple[type[GoldenError], tuple[str, str, str]]:
        # The default would call it with the whole text alone; errors cross process borders in test runners and pools.
        return type(self), (self.argument, self._message, self._owner)


def suggesting(function: Function) -> Function:
    """The function, whose TypeError for an argument that it does not have says which one was probably meant."""
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def call(*positional: Any, **arguments: Any) -> Any:
        for unknown in arguments.keys() - known.keys():
            others = [name for same in _SAME if unknown in same for name in same if name in known]
            meant = others or difflib.get_close_matches(unknown, known, n=1)
            text = f"golden.{function.__name__} has no argument {unknown!r}"
            raise TypeError(text + (f"; did you mean {meant[0]!r}?" if meant else ""))
        return function(*positional, **arguments)

    return call  # type: ignore[return-value]
