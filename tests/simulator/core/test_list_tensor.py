# SPDX-License-Identifier: Apache-2.0
"""ListTensorDesc: what a kernel learns of a list of tensors, and what it is told about lists that are none."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import launch, only_error, output

DATA = [np.arange(3, 9, dtype=np.float32), np.arange(-7, 1, dtype=np.float32)]
SHAPES = [(2, 3), (4, 2)]
POINTERS = [data.ctypes.data for data in DATA]


def described(first_index: int = 0) -> np.ndarray:
    """Offset of the pointers; per tensor dimensions and index, and the shape; the pointers."""
    words = [0]
    for index, shape in enumerate(SHAPES):
        words += [len(shape) | (index if index else first_index) << 32, *shape]
    words[0] = 8 * len(words)
    return np.array([*words, *POINTERS], np.uint64)


def bare() -> np.ndarray:
    return np.array([24, 2 << 32, 0xFFFFFFFF, *POINTERS], np.uint64)


def run(words: np.ndarray, which: int, mode: str = "checked") -> np.ndarray:
    y = np.zeros(16, np.int64)
    buffers = [{"data": data, "name": f"x{i}"} for i, data in enumerate(DATA)]
    assert launch("list_tensor", "vector", [words, output(y), which], buffers=buffers, mode=mode)["findings"] == []
    return y


@pytest.mark.parametrize("mode", ["fast", "checked"])
@pytest.mark.parametrize("first_index", [0, 2])
def test_a_described_list(first_index: int, mode: str) -> None:
    y = run(described(first_index), 0, mode)
    np.testing.assert_array_equal(y[:13], [2, 2, 0, 2, 3, 4, 3, 2, 1, 4, 2, -6, -7])


def test_a_list_of_pointers_alone() -> None:
    y = run(bare(), 4)
    assert (y[0], y[6], y[12]) == (2, 3, -7)


@pytest.mark.parametrize(
    ("words", "which", "text"),
    [
        (described(), 1, "length or shapeSize"),
        (described(), 2, "SetShapeAddr was not called"),
        (described(), 3, "no such dimension"),
        (described(), 5, "no tensor of this index"),
        (bare(), 0, "describes no tensor of this index"),
        (np.arange(8, dtype=np.uint64), 0, "leaves no room"),
        (np.array([40, 2, 2, 3, 1, 0], np.uint64), 0, "does not hold a list"),
    ],
)
def test_misuse_is_found(words: np.ndarray, which: int, text: str) -> None:
    buffers = [{"data": data, "name": f"x{i}"} for i, data in enumerate(DATA)]
    args = [words, output(np.zeros(16, np.int64)), which]
    found = only_error("list_tensor", "vector", args, buffers=buffers)
    assert found["kind"] == "parameter" and text in found["text"] and "list_tensor.cpp:" in found["text"]


def test_a_list_that_is_cut_off_is_out_of_bounds() -> None:
    found = only_error("list_tensor", "vector", [described()[:4], output(np.zeros(16, np.int64)), 0])
    assert found["kind"] == "bounds"
