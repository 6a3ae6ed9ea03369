# SPDX-License-Identifier: Apache-2.0
"""The headers of the rarer cube and copy calls: kernels call each form, NumPy says each result; calls of other products
end in a finding that names them."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "core"))
from kernels import launch, line_of, only_error, output

SIDE = 16


def aligned_rows(count: int) -> np.ndarray:
    """Fractals are stored at multiples of 32 bytes, which NumPy does not promise."""
    size = SIDE * SIDE * 4
    raw = np.zeros(count * size + 32, np.uint8)
    start = -raw.ctypes.data % 32
    return raw[start : start + count * size].view(np.float32).reshape(count, SIDE * SIDE)


def sparse_operands(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A of 16 x 64 in two fractals, B's kept values and their indices in one, and the product."""
    a = rng.integers(-128, 128, (SIDE, 64)).astype(np.int8)
    first = rng.integers(0, 3, (SIDE, 16))
    second = rng.integers(0, 3, (SIDE, 16))
    clash = first > second  # the first of a pair lies before the second
    first[clash], second[clash] = second[clash], first[clash]
    kept = rng.integers(-128, 128, (SIDE, 32)).astype(np.int8)
    full = np.zeros((SIDE, 64), np.int64)
    for row in range(SIDE):
        for block in range(16):
            full[row, 4 * block + first[row, block]] += kept[row, 2 * block]
            full[row, 4 * block + 1 + second[row, block]] += kept[row, 2 * block + 1]
    indices = np.stack([first, second], -1).reshape(SIDE, 8, 4)
    packed = (indices << np.array([0, 2, 4, 6])).sum(-1).astype(np.uint8)
    return a.reshape(SIDE, 2, 32).transpose(1, 0, 2).copy(), kept, packed, a.astype(np.int64) @ full.T


@pytest.mark.parametrize("mode", ["fast", "checked"])
def test_every_form_of_the_cube_calls(mode: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(-4, 5, (SIDE, SIDE)).astype(np.float16) for _ in range(2))
    product = a.astype(np.float32) @ b.astype(np.float32)
    factors = rng.choice(np.array([0.5, 0.25, 1.0], np.float32), SIDE)
    scales = factors.view(np.uint32).astype(np.uint64) | np.uint64(1 << 46)
    # 12 significant bits and half a unit more: towards zero the tie is cut off.
    floats = (rng.integers(2**11, 2**12, (2, SIDE, 8)) * 2.0 + 1).astype(np.float32)
    kept_floats = floats - 1
    floats[0, :, 1:] = kept_floats[0, :, 1:] = 0  # one product to each result: exact
    values, kept, indices, sparse = sparse_operands(rng)
    halves = product.astype(np.float16).astype(np.float32)
    expected = [
        ("Fixpipe to L1", halves @ b.astype(np.float32)),
        ("DataCopy to L1 with relu", np.maximum(halves, 0) @ b.astype(np.float32)),
        ("Fixpipe to L1 with scales", np.clip(np.rint(product * factors), -128, 127).astype(np.int8)),
        ("LoadData3DParamsV2Pro", product),
        ("HF32", kept_floats[0] @ kept_floats[1].T),
        ("MmadWithSparse", sparse.astype(np.int32)),
    ]
    out = aligned_rows(len(expected))
    args = [a, b, scales, floats, values, kept, indices, output(out, "out")]
    assert launch("cube_to_l1", "cube", args, mode=mode)["findings"] == []
    for (what, result), actual in zip(expected, out, strict=True):
        raw = np.ascontiguousarray(result).view(np.uint8).ravel()
        assert np.array_equal(actual.view(np.uint8)[: raw.size], raw), what


@pytest.mark.parametrize("mode", ["fast", "checked"])
def test_every_form_of_the_copies(mode: str) -> None:
    values = np.arange(261, dtype=np.float32)
    rows = values.reshape(3, 87)[[0, 2]]
    sliced = np.concatenate([rows[:, 16:40], rows[:, 47:71]], axis=1).ravel()
    strips = sliced.reshape(2, 3, 16).transpose(1, 0, 2).ravel()
    words = values.view(np.int32)
    groups = words[:80].reshape(4, 20)[:, :16].reshape(4, 2, 8).transpose(1, 0, 2).ravel()
    before = np.arange(64, dtype=np.int32)
    y = np.zeros(1024, np.float32)
    y.view(np.int32)[320:384] = before
    registers = np.zeros(8, np.int64)
    args = [values, {"data": y, "name": "y", "writable": True, "initialised": True}, output(registers, "registers")]
    assert launch("move_layouts", "vector", args, mode=mode)["findings"] == []
    assert np.array_equal(y[:96], sliced)
    assert np.array_equal(y[96:192], sliced)
    assert np.array_equal(y[192:288], strips)
    assert np.array_equal(y[288:320], values[:32])
    assert np.array_equal(y.view(np.int32)[320:384], groups + before)
    assert registers[:2].tolist() == [4, 0]


ABSENT = [
    "LoadData(local, local",
    "LoadData(local, global",
    "LoadDataWithTranspose(",
    "LoadDataUnzip(",
    "LoadUnzipIndex(",
    "BroadCastVecToMM(",
    "SetFixPipeClipRelu(",
    "SetFixPipeAddr(",
    "DataCopyL1ToUB(local, cube, 16",
    "DataCopyL1ToUB(local, cube, DataCopyParams",
    "DataCopy(cube, local, Nd2NzParams(1",
    "DataCopyPad(cube, local, DataCopyParams",
    "DataCopyPad(cube, local, DataCopyExtParams",
    "DataCopy(cube, local, DataCopyParams(1, 1, 0, 0));",
    "DataCopy(cube, local, DataCopyParams(1, 1, 0, 0), DataCopyEnhancedParams",
]


@pytest.mark.parametrize("which", range(len(ABSENT)))
def test_calls_of_other_products_end_in_a_finding(which: int) -> None:
    found = only_error("absent_calls", "vector", [np.zeros(256, np.float16), which])
    name = ABSENT[which].partition("(")[0]
    assert name in found["text"]
    assert f"absent_calls.cpp:{line_of('absent_calls', ABSENT[which])}" in found["text"]
    assert found["kind"] == ("not modelled" if 10 <= which <= 12 else "parameter")
