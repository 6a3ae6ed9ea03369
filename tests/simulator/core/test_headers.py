# SPDX-License-Identifier: Apache-2.0
"""What the device headers answer by themselves: scalar types, identity of a core, TPipe's bookkeeping."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from kernels import launch, output


def narrow_and_widen(x: np.ndarray, mode: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    halves = np.zeros(len(x), np.float16)
    brains = np.zeros(len(x), ml_dtypes.bfloat16)
    back = np.zeros((2, len(x)), np.float32)
    args = [x, output(halves, "h"), output(brains.view(np.uint16), "b"), output(back, "back"), len(x)]
    assert launch("scalar_types", "vector", args, mode=mode)["findings"] == []
    return halves, brains, back


def interesting_floats(rng: np.random.Generator) -> np.ndarray:
    bits = rng.integers(0, 2**32, 30000, dtype=np.uint64).astype(np.uint32)
    # Around every half value: itself, its neighbours in float, and the midpoint to the next half, where ties are.
    halves = np.arange(0x7C01, dtype=np.uint16).view(np.float16).astype(np.float32)
    middle = (halves[:-1].astype(np.float64) + halves[1:].astype(np.float64)) / 2
    middle = middle[np.isfinite(middle)].astype(np.float32)
    near = np.concatenate([middle, np.nextafter(middle, np.float32(0)), np.nextafter(middle, np.float32(np.inf))])
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 65504, 65519.99, 65520, 1e-8, 3e38], np.float32)
    return np.concatenate([bits.view(np.float32), halves, near, -near, special])


def test_narrowing_rounds_to_nearest_even(seed: int) -> None:
    x = interesting_floats(np.random.default_rng(seed))
    halves, brains, back = narrow_and_widen(x, "fast")
    with np.errstate(over="ignore", invalid="ignore"):
        np.testing.assert_array_equal(halves, x.astype(np.float16))
        np.testing.assert_array_equal(np.signbit(halves), np.signbit(x))
        np.testing.assert_array_equal(brains.astype(np.float32), x.astype(ml_dtypes.bfloat16).astype(np.float32))
        np.testing.assert_array_equal(back[0], halves.astype(np.float32))
        np.testing.assert_array_equal(back[1], brains.astype(np.float32))


def test_scalar_stores_reach_memory_in_checked_mode() -> None:
    x = np.linspace(-3, 3, 100, dtype=np.float32)
    halves, _, back = narrow_and_widen(x, "checked")
    np.testing.assert_array_equal(halves, x.astype(np.float16))
    np.testing.assert_array_equal(back[0], halves.astype(np.float32))


@pytest.mark.parametrize("mode", ["fast", "checked"])
@pytest.mark.parametrize("kind", ["mix", "cube", "vector"])
def test_identity(kind: str, mode: str) -> None:
    blocks = 3
    cores = {"mix": 9, "cube": 3, "vector": 3}[kind]
    y = np.zeros((cores, 16), np.int32)
    assert launch("identity", kind, [output(y), int(kind == "mix")], blocks=blocks, mode=mode)["findings"] == []
    for row in range(cores):
        cube = kind == "cube" or (kind == "mix" and row < blocks)
        index = row - blocks if kind == "mix" and not cube else row
        subs = 2 if kind == "mix" and not cube else 1
        # ReinterpretCast keeps the address; tensor[4] lies 8 bytes further and is 4 elements shorter.
        expected = [1 if cube else 2, index, blocks, index % subs, subs, subs, 1, 10, 0, 64, 32, 72, 28, 96, 16, 64]
        np.testing.assert_array_equal(y[row], expected, err_msg=f"{kind} row {row}")


@pytest.mark.parametrize("mode", ["fast", "checked"])
def test_system_calls(mode: str) -> None:
    x = np.arange(16, dtype=np.float32)
    y = np.zeros(8, np.int64)
    assert launch("system_calls", "vector", [x, output(y)], mode=mode)["findings"] == []
    np.testing.assert_array_equal(y[:4], [1, 1, 1, 0])
