# SPDX-License-Identifier: Apache-2.0
"""Accuracy of the machine's own exp and ln against float64, and their exact values."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.single_instruction import execute, given


def apply(name: str, values: np.ndarray) -> np.ndarray:
    results = []
    for first in range(0, values.size, 16384):
        part = values[first : first + 16384]
        dtype = str(part.dtype)
        operands = [given("ub", dtype, np.zeros_like(part)), given("ub", dtype, part, 65536)]
        out, _ = execute(name, operands, {"calCount": part.size}, "vector", "fast")
        results.append(out[0].typed())
    return np.concatenate(results)


def ulps(actual: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Distance in units in the last place of the exact result's float32."""
    unit = np.spacing(np.maximum(np.abs(exact), np.finfo(np.float32).tiny).astype(np.float32)).astype(np.float64)
    return np.abs(actual.astype(np.float64) - exact) / unit


def sample(rng: np.random.Generator, low: float, high: float) -> np.ndarray:
    a, b = (int(np.float32(x).view(np.int32)) for x in (low, high))
    return rng.integers(min(a, b), max(a, b), 100_000, dtype=np.int32).view(np.float32)


@pytest.mark.parametrize(
    ("low", "high"), [(1e-30, 88.72), (-1e-30, -103.97), (0.3, 88.72), (-0.3, -87.3), (-87.3, -103.9)]
)
def test_exp_is_accurate(low: float, high: float, seed: int) -> None:
    x = sample(np.random.default_rng(seed), low, high)
    exact = np.exp(x.astype(np.float64))
    assert ulps(apply("Exp", x), exact).max() < 1.0


@pytest.mark.parametrize(("low", "high"), [(1e-45, 3.4e38), (0.5, 2.0), (0.99, 1.01), (1e-45, 1.17e-38)])
def test_ln_is_accurate(low: float, high: float, seed: int) -> None:
    x = sample(np.random.default_rng(seed), low, high)
    exact = np.log(x.astype(np.float64))
    assert ulps(apply("Ln", x), exact).max() < 1.0


def test_exact_values_of_exp() -> None:
    x = np.array([0.0, -0.0, -np.inf, np.inf, -104.1, -1e30, 88.8, 1e30], np.float32)
    expected = np.array([1, 1, 0, np.inf, 0, 0, np.inf, np.inf], np.float32)
    assert apply("Exp", x).tobytes() == expected.tobytes()
    assert np.isnan(apply("Exp", np.array([np.nan], np.float32)))[0]


def test_exact_values_of_ln() -> None:
    x = np.array([1.0, 0.0, -0.0, np.inf], np.float32)
    assert apply("Ln", x).tobytes() == np.array([0, -np.inf, -np.inf, np.inf], np.float32).tobytes()
    assert np.isnan(apply("Ln", np.array([-1.0, -np.inf, np.nan, -1e-45], np.float32))).all()


def test_exp_is_monotonic(seed: int) -> None:
    x = np.sort(np.concatenate([sample(np.random.default_rng(seed), *pair) for pair in ((0.01, 80), (-0.01, -80))]))
    # Approximations may step back by a unit in the last place, never by more.
    y = apply("Exp", x)
    assert (y[1:] >= np.nextafter(y[:-1], np.float32(0))).all()


@pytest.mark.parametrize(("name", "function"), [("Exp", np.exp), ("Ln", np.log)])
def test_every_float16(name: str, function: np.ufunc) -> None:
    x = np.arange(65536, dtype=np.uint32).astype(np.uint16).view(np.float16)
    with np.errstate(all="ignore"):
        exact = function(x.astype(np.float64))
        expected = exact.astype(np.float16)
    actual = apply(name, x)
    assert (np.isnan(actual) == np.isnan(expected)).all()
    number = ~np.isnan(expected)
    # float32's error moves a result only where the exact value is almost a tie.
    same = actual[number].view(np.uint16) == expected[number].view(np.uint16)
    neighbour = np.abs(actual[number].view(np.int16).astype(int) - expected[number].view(np.int16)) <= 1
    assert (same | neighbour).all()
    assert same.mean() > 0.999
