# SPDX-License-Identifier: Apache-2.0
"""Attention one number at a time, for the tests of quantised paths: Python floats, fsum, no broadcasting.

The caller says in small functions what one element means; nothing of the golden model is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np


def half_even(value: float) -> int:
    """int8 of a number: nearest, ties to even, saturating."""
    return max(-128, min(127, round(value)))


def attention(
    shape: tuple[int, int, int, int],
    keys: list[int],
    score: Callable[[int, int, int, int], float],
    value: Callable[[int, int, int, int], float],
    sees: Callable[[int, int, int, int], bool] = lambda b, n, i, j: True,
    weight: Callable[[float], float] = lambda exponential: exponential,
) -> tuple[np.ndarray, np.ndarray]:
    """(out, lse) of ``shape`` (B, N, S1, D_v): score(b, n, i, j), value(b, n, j, d), ``keys`` per sequence.

    ``weight`` is what an exponential becomes before it meets a value; the sum below the line takes it as it was.
    """
    out, lse = np.zeros(shape), np.full(shape[:3], math.inf)
    for b in range(shape[0]):
        for n in range(shape[1]):
            for i in range(shape[2]):
                seen = [j for j in range(keys[b]) if sees(b, n, i, j)]
                if not seen:
                    continue
                scores = [score(b, n, i, j) for j in seen]
                top = max(scores)
                exponentials = [math.exp(s - top) for s in scores]
                total = math.fsum(exponentials)
                lse[b, n, i] = top + math.log(total)
                for d in range(shape[3]):
                    terms = (weight(e) * value(b, n, j, d) for e, j in zip(exponentials, seen, strict=True))
                    out[b, n, i, d] = math.fsum(terms) / total
    return out, lse


def nibble(words: np.ndarray, *index: int) -> int:
    """Element of an int4 tensor in int32 words: eight to a word along the last axis, the lowest bits first."""
    *rest, last = index
    code = int(words[(*rest, last // 8)]) >> (4 * (last % 8)) & 0xF
    return code - 16 if code >= 8 else code
