# SPDX-License-Identifier: Apache-2.0
"""The device headers of the cube core pass every argument to where it belongs: a kernel calls each, NumPy says each
result."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "core"))
from kernels import launch, output

SIDE = 16


def expected_rows(a: np.ndarray, b: np.ndarray, c: np.ndarray, scales: np.ndarray) -> list[tuple[str, np.ndarray]]:
    left, right = a.astype(np.float32), b.astype(np.float32)
    filled = np.full((SIDE, SIDE), -1, np.float32)
    for row in (0, 5, 10):
        filled[row : row + 4] = 3
    padded = np.concatenate([np.full((2, SIDE), 0.5, np.float32), left[:14]])
    # L0B holds a fractal transposed; loaded as it is, b's 32-byte rows are the columns of the matrix.
    bytes_product = a.view(np.int8).astype(np.int32) @ b.view(np.int8).astype(np.int32).T
    product = left @ (c.astype(np.float32))
    by_column = (bytes_product.astype(np.float32) * scales).astype(np.float16)
    return [
        ("LoadDataWithTranspose", left @ right),
        ("LoadDataWithTranspose of the second square", product),
        ("InitConstValue", np.full((SIDE, SIDE), 2, np.float32) @ c.astype(np.float32)),
        ("Fill", filled @ c.astype(np.float32)),
        ("LoadData of a window", product),
        ("SetFmatrix left", padded @ c.astype(np.float32)),
        ("SetFmatrix right", product),
        ("DataCopy", product),
        ("DataCopy relu", np.maximum(product, 0)),
        ("DataCopy channelSplit", product.reshape(SIDE, 2, 8).transpose(1, 0, 2)),
        ("SetFixpipePreQuantFlag", (bytes_product.astype(np.float32) * np.float32(0.125)).astype(np.float16)),
        ("SetFixPipeConfig", by_column),
        ("SetFixPipeConfig two tensors", np.maximum(by_column, np.float16(0))),
        ("Fixpipe with scales", by_column),
    ]


def aligned_rows(count: int) -> np.ndarray:
    """Fractals are stored at multiples of 32 bytes, which NumPy does not promise."""
    size = SIDE * SIDE * 4
    raw = np.zeros(count * size + 32, np.uint8)
    start = -raw.ctypes.data % 32
    return raw[start : start + count * size].view(np.float32).reshape(count, SIDE * SIDE)


@pytest.mark.parametrize("mode", ["fast", "checked"])
def test_every_form(mode: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    # Small integers: sums are exact in any order.
    a, b, c = (rng.integers(-8, 9, (SIDE, SIDE)).astype(np.float16) for _ in range(3))
    scales = rng.choice(np.array([0.5, 0.25, 2.0**-6, 0.0078125], np.float32), SIDE)
    rows = expected_rows(a, b, c, scales)
    out = aligned_rows(len(rows))
    scale = int(np.float32(0.125).view(np.uint32))
    args = [a, np.stack([b, c]), scales.view(np.uint32).astype(np.uint64), output(out, "out"), scale]
    assert launch("cube_headers", "cube", args, mode=mode)["findings"] == []
    for (what, values), actual in zip(rows, out, strict=True):
        raw = np.ascontiguousarray(values).view(np.uint8).ravel()
        assert np.array_equal(actual.view(np.uint8)[: raw.size], raw), what
        # An output arrives with a poison pattern: nothing else was written.
        assert (actual.view(np.uint8)[raw.size :] == 0xFF).all(), what
