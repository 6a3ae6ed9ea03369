# SPDX-License-Identifier: Apache-2.0
"""The scalar unit: bit helpers, conversions, registers that kernels set; kernels of one AIC and one AIV a block."""

from __future__ import annotations

import math

import numpy as np
import pytest
from kernels import launch, line_of, only_error, output, scratch

MODES = ["fast", "checked"]
WORDS = [0, 1, 0x0100000000000020, 0xFF00, 0xFFFFFFFFFFFFFFFF, 0x8000000000000000, 0x7FFFFFFFFFFFFFFF, 0x00FF]
FLOATS = [0.0, 1.5, 2.5, -1.5, -2.5, 3.14159, 1e10, -1e10, math.inf, -math.inf, math.nan, 65504.0, 65536.0, 1e-8]


def half_to_odd(value: np.float32) -> int:
    bits = int(value.view(np.uint32))
    if np.isnan(value):
        return int(np.float16(value).view(np.uint16))
    with np.errstate(over="ignore"):
        down = np.float16(value)
    if np.isinf(down) and not np.isinf(value):
        return 0x7BFF | (bits >> 31 << 15)
    exact = np.float32(down) == value
    toward = down if abs(np.float32(down)) <= abs(value) else np.nextafter(down, np.float16(0))
    return int(toward.view(np.uint16)) | (0 if exact else 1)


@pytest.mark.parametrize("index", range(max(len(WORDS), len(FLOATS))))
def test_scalar_helpers(index: int) -> None:
    word, value = WORDS[index % len(WORDS)], np.float32(FLOATS[index % len(FLOATS)])
    y = np.zeros(16, np.int64)
    bits = int(value.view(np.uint32))
    assert launch("scalar_helpers", "vector", [output(y), word, bits])["findings"] == []
    text = f"{word:064b}"
    same = len(text) - len(text.lstrip(text[0])) - 1

    def integer(rounded: float) -> int:
        return 0 if math.isnan(rounded) else int(max(-(2.0**31), min(2.0**31 - 1, rounded)))

    number = float(value)
    expected = [
        text.count("0"), text.count("1"), len(text) - len(text.lstrip("0")), len(text) - len(text.lstrip("0")), same,
        text[::-1].find("0"), text[::-1].find("1"), half_to_odd(value),
        integer(np.copysign(np.floor(abs(number) + 0.5), number)), integer(np.ceil(value)), integer(np.floor(value)),
        integer(np.rint(value)),
    ]  # fmt: skip
    assert y[:12].tolist() == expected
    assert y[13] == y[12] << 16
    if not np.isnan(value):
        assert y[12] == (bits + 0x7FFF + (bits >> 16 & 1)) >> 16
    assert y[14:].tolist() == [1, 32]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("which", "value"), [(0, 1), (4, 1), (5, 5), (6, 110), (7, 0), (8, 0), (13, 1)])
def test_registers(which: int, value: int, mode: str) -> None:
    y = np.zeros(8, np.int64)
    assert launch("registers", "vector", [scratch(y), which], mode=mode)["findings"] == []
    assert y[0] == value


@pytest.mark.parametrize(
    ("which", "call"), [(1, "SetCtrlSpr<48, 48>(0)"), (2, "SetSaturationFlag<SaturationMode::CAST>")]
)
def test_saturation_is_not_modelled(which: int, call: str) -> None:
    found = only_error("registers", "vector", [scratch(np.zeros(8, np.int64)), which])
    assert found["kind"] == "not modelled" and f"(registers.cpp:{line_of('registers', call)})" in found["text"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("which", "call"),
    [(9, "tensor.GetValue(31)"), (10, "Adds(tensor, tensor[24]"), (11, "Duplicate(tensor[16], 3")],
    ids=["scalar_read", "vector_read", "vector_write"],
)
def test_a_watched_range_stops_the_core(which: int, call: str, mode: str) -> None:
    found = only_error("registers", "vector", [scratch(np.zeros(8, np.int64)), which], mode=mode)
    assert found["kind"] == "watch" and "watches [64, 128)" in found["text"]
    assert f"(registers.cpp:{line_of('registers', call)})" in found["text"]


def test_there_are_four_watches() -> None:
    found = only_error("registers", "vector", [scratch(np.zeros(8, np.int64)), 12])
    assert found["kind"] == "parameter" and "enableBit is 4, allowed: 0..3" in found["text"]


@pytest.mark.parametrize("mode", MODES)
def test_one_cube_and_one_vector_core_a_block(mode: str) -> None:
    blocks = 3
    y = np.zeros((2 * blocks, 16), np.int32)
    report = launch("identity", "mix_1_1", [scratch(y), 1], blocks=blocks, mode=mode)
    assert report["findings"] == []
    assert [core["core"] for core in report["cores"]] == [
        f"block {block} {core}" for block in range(blocks) for core in ("AIC", "AIV")
    ]
    for row in range(2 * blocks):
        vector = row >= blocks
        assert y[row, :6].tolist() == [2 if vector else 1, row % blocks, blocks, 0, 1, 1]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("how", [1, 2, 3, 5])
def test_one_to_one_kernels_meet(how: int, mode: str) -> None:
    cores = 3
    exchange, y, flags = (np.zeros((cores, 64), np.float32) for _ in range(3))
    args = [scratch(exchange, "exchange"), output(y), scratch(flags.view(np.int32), "flags", True), how]
    assert launch("sync_all", "mix_1_1", args, blocks=cores, mode=mode)["findings"] == []
    np.testing.assert_array_equal(y[:, 0], [(core + 1) % cores for core in range(cores)])


def test_one_to_one_needs_as_many_cube_cores() -> None:
    with pytest.raises(ValueError, match=r"25 blocks, allowed on Ascend910B2: 1\.\.24"):
        launch("printing", "mix_1_1", [9], blocks=25)
