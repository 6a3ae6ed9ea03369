# SPDX-License-Identifier: Apache-2.0
"""Errors of the golden model. It is no argument checker: it refuses what has no meaning and what it does not know."""

from __future__ import annotations


class GoldenError(ValueError):
    """The arguments contradict each other. ``argument`` names the one to look at."""

    def __init__(self, argument: str, message: str) -> None:
        super().__init__(f"golden model: {argument}: {message}")
        self.argument = argument


class GoldenNotCovered(GoldenError):
    """The document gives this a meaning, the golden model does not compute it yet."""
