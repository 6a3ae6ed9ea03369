# SPDX-License-Identifier: Apache-2.0
"""The device headers pass every argument to where it belongs: one kernel calls each form, NumPy says each result."""

from __future__ import annotations

import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "core"))
from kernels import launch, output

COUNT = 512


def expected_rows(x: np.ndarray, y: np.ndarray) -> list[tuple[str, np.ndarray, float]]:
    """(what, values from the row's start, tolerance). The rest of a row is zero."""
    lanes = np.arange(COUNT) % 64
    striped = (0x00FF00FF00FF00FF >> lanes) & 1 == 1
    blocks = x.reshape(-1, 8)
    repeats = x.reshape(8, 64)
    index = repeats.argmax(1).astype(np.uint32).view(np.float32)
    rows: list[tuple[str, np.ndarray, float]] = []

    def row(what: str, values: np.ndarray, tolerance: float = 0.0) -> None:
        rows.append((what, np.asarray(values), tolerance))

    def tree(values: np.ndarray) -> np.ndarray:
        while values.shape[-1] > 1:
            values = values[..., 0::2] + values[..., 1::2]
        return values[..., 0]

    zero = np.float32(0)
    row("Add count", (x + y)[:500])
    row("Add lanes", np.where(lanes < 40, x + y, zero))
    row("Sub bits", np.where(striped, x - y, zero))
    row("Mul register", np.where(lanes < 4, x * y, zero))
    row("Max register", np.where(lanes < 5, np.maximum(x, y), zero))
    row("Min counter", np.minimum(x, y)[:70])
    row("Div", x / y)
    row("Adds", (x + np.float32(1.5))[:500])
    row("Muls lanes", np.where(lanes < 33, x * np.float32(-2), zero))
    row("Maxs bits", np.where(striped, np.maximum(x, np.float32(0.25)), zero))
    row("Mins", np.minimum(x, np.float32(0.25)))
    row("Adds counter register", (x + np.float32(1))[:100])
    row("Abs", np.abs(x))
    row("Exp", np.exp(x.astype(np.float64)).astype(np.float32), 1e-6)
    row("Relu bits", np.where(striped, np.maximum(x, zero), zero))
    row("Duplicate lanes", np.where((lanes < 10) & (np.arange(COUNT) < 256), np.float32(3), zero))
    # Repeat stride 16: every other repeat.
    row("Duplicate bits", np.where(striped & (np.arange(COUNT) // 64 % 2 == 0), np.float32(4), zero))
    row("Axpy", x * np.float32(2))
    row("MulAddDst", x * y)
    row("LeakyRelu", np.where(x >= 0, x, x * np.float32(0.5)))
    row("WholeReduceSum", tree(repeats))
    row("WholeReduceMax", np.stack([repeats.max(1), index], 1).ravel())
    row("WholeReduceMin", repeats.min(1))
    row("BlockReduceMax", blocks.max(1))
    row("PairReduceSum", x[0::2] + x[1::2])
    row("RepeatReduceSum", tree(repeats))
    row("ReduceMax", np.array([x.max(), np.uint32(x.argmax()).view(np.float32)], np.float32))
    total = tree(repeats)[0]
    for value in tree(repeats)[1:]:
        total = total + value
    row("ReduceSum", np.array([total]))
    row("Brcb", np.repeat(x[:64], 8))
    copied = np.zeros(COUNT, np.float32)
    for repeat in range(4):
        copied[repeat * 128 : repeat * 128 + 64] = y[repeat * 64 : repeat * 64 + 64]
    row("Copy", copied)
    halves = x.astype(np.float16)
    row("Cast half", halves)
    row("Cast bfloat16", x.astype(ml_dtypes.bfloat16))
    row("Cast int32", np.floor(x).astype(np.int32))
    row("Cast back", halves.astype(np.float32))
    row("Muls half", halves * np.float16(0.5))
    row("Compare", np.packbits(x > y, bitorder="little"))
    row("CompareScalar", np.packbits(x <= 0, bitorder="little"))
    row("Select tensor", np.where(x > y, x, y))
    row("Select scalar", np.where(x > y, x, np.float32(-1)))
    row("CreateVecIndex", np.arange(7, 7 + COUNT, dtype=np.int32))
    row("ShiftLeft", np.arange(COUNT, dtype=np.int32) * 4)
    row("Gather", x[np.arange(16) * 4])
    row("GatherMask", np.concatenate([x[1::2], np.zeros(192, np.float32), np.full(64, 256, np.float32)]))
    row("And", x.view(np.int16) & y.view(np.int16))
    row("Not", ~x.view(np.int16))
    return rows


@pytest.mark.parametrize("mode", ["fast", "checked"])
def test_every_form(mode: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(COUNT).astype(np.float32)
    y = rng.standard_normal(COUNT).astype(np.float32)
    rows = expected_rows(x, y)
    out = np.zeros((len(rows), COUNT), np.float32)
    assert launch("vector_headers", "vector", [x, y, output(out, "out")], mode=mode)["findings"] == []
    for (what, values, tolerance), actual in zip(rows, out, strict=True):
        raw = np.zeros(COUNT * 4, np.uint8)
        raw[: values.nbytes] = np.ascontiguousarray(values).view(np.uint8).ravel()
        if tolerance:
            np.testing.assert_allclose(actual, raw.view(np.float32), rtol=tolerance, err_msg=what)
        else:
            np.testing.assert_array_equal(actual.view(np.uint8), raw, err_msg=what)
