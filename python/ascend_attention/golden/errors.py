# SPDX-License-Identifier: Apache-2.0
"""The error of the golden model. It is no argument checker: it refuses what has no meaning."""

from __future__ import annotations


class GoldenError(ValueError):
    """The arguments contradict each other or mean nothing. ``argument`` names the one to look at."""

    def __init__(self, argument: str, message: str) -> None:
        super().__init__(f"golden model: {argument}: {message}")
        self.argument = argument
        self._message = message

    def __reduce__(self) -> tuple[type[GoldenError], tuple[str, str]]:
        # The default would call it with the whole text alone; errors cross process borders in test runners and pools.
        return type(self), (self.argument, self._message)
