# SPDX-License-Identifier: Apache-2.0
"""LoadData (2D and feature map) and LoadDataWithTranspose: L1 to L0A and L0B in fractals of 512 bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.single_instruction import Memory, check, execute, given, item_size, move_bytes, random_memory, refused

FRACTAL = 512
TYPES = ["int8", "uint8", "int16", "uint16", "float16", "bfloat16", "int32", "uint32", "float32"]
TYPES_16 = ["int16", "uint16", "float16", "bfloat16"]


def load_2d(params: dict[str, Any]) -> Any:
    def statement(operands: list[Memory]) -> None:
        target, source = operands
        sign = -1 if params.get("addrMode", 0) == 1 else 1
        for repeat in range(params["repeatTimes"]):
            start = (params["startIndex"] + sign * repeat * params["srcStride"]) * FRACTAL
            to = repeat * (params["dstGap"] + 1) * FRACTAL
            if not params.get("ifTranspose", False):
                move_bytes(target, to, source, start, FRACTAL)
                continue
            for row in range(16):
                for column in range(16):
                    move_bytes(target, to + (column * 16 + row) * 2, source, start + (row * 16 + column) * 2, 2)

    return statement


def random_2d(rng: np.random.Generator, repeat_limit: int = 6) -> dict[str, Any]:
    return {
        "startIndex": int(rng.integers(0, 5)),
        "repeatTimes": int(rng.integers(0, repeat_limit)),
        "srcStride": int(rng.integers(0, 4)),
        "dstGap": int(rng.integers(0, 4)),
    }


@pytest.mark.parametrize("target", ["l0a", "l0b"])
@pytest.mark.parametrize("dtype", TYPES)
def test_fractals_are_copied_from_l1(dtype: str, target: str, sample_rng: np.random.Generator) -> None:
    params = random_2d(sample_rng)
    operands = [
        random_memory(sample_rng, target, dtype, 24 * FRACTAL, 1024, undefined=0.2),
        random_memory(sample_rng, "l1", dtype, 24 * FRACTAL, 96, undefined=0.2),
    ]
    check("LoadData", operands, params, "cube", load_2d(params))


@pytest.mark.parametrize("target", ["l0a", "l0b"])
@pytest.mark.parametrize("dtype", TYPES_16)
def test_fractals_are_transposed(dtype: str, target: str, sample_rng: np.random.Generator) -> None:
    params = random_2d(sample_rng, 4) | {"ifTranspose": True}
    operands = [
        random_memory(sample_rng, target, dtype, 16 * FRACTAL, undefined=0.2),
        random_memory(sample_rng, "l1", dtype, 24 * FRACTAL, 64, undefined=0.2),
    ]
    check("LoadData", operands, params, "cube", load_2d(params))


@pytest.mark.parametrize("target", ["l0a", "l0b", "l1"])
def test_fractals_come_from_global_memory(target: str, sample_rng: np.random.Generator) -> None:
    rng = sample_rng
    params = random_2d(rng)
    if target == "l1" and rng.random() < 0.5:
        params |= {"addrMode": 1, "startIndex": params["srcStride"] * 6 + params["startIndex"]}
    operands = [
        random_memory(rng, target, "float16", 24 * FRACTAL, undefined=0.2),
        random_memory(rng, "gm", "float16", 32 * FRACTAL, int(rng.integers(0, 9))),
    ]
    check("LoadData", operands, params, "cube", load_2d(params))


BAD_2D = [
    ({"startIndex": 65536}, "startIndex is 65536"),
    ({"repeatTimes": 256}, "repeatTimes is 256"),
    ({"srcStride": 65536}, "srcStride is 65536"),
    ({"dstGap": 65536}, "dstGap is 65536"),
    ({"addrMode": 1}, "addrMode is 1"),
    ({"startIndex": 8}, "reads bytes"),
    ({"repeatTimes": 2, "dstGap": 8}, "writes bytes"),
]


@pytest.mark.parametrize("mode", ["fast", "checked"])
@pytest.mark.parametrize(("change", "mentions"), BAD_2D)
def test_limits_of_the_2d_load(change: dict[str, int], mentions: str, mode: str) -> None:
    operands = [given("l0a", "float16", np.zeros(2048, np.uint8)), given("l1", "float16", np.zeros(4096, np.uint8))]
    params = {"startIndex": 0, "repeatTimes": 1, "srcStride": 1, "dstGap": 0} | change
    refused("LoadData", operands, params, "cube", mentions, mode)


def test_place_and_type_of_the_2d_load() -> None:
    one = {"repeatTimes": 1}
    l1 = given("l1", "float16", np.zeros(1024, np.uint8))
    l0a = given("l0a", "float16", np.zeros(1024, np.uint8))
    refused("LoadData", [given("l0a", "float16", np.zeros(1024, np.uint8), 256), l1], one, "cube", "multiple of 512")
    refused("LoadData", [l0a, given("l1", "float16", np.zeros(1024, np.uint8), 16)], one, "cube", "multiple of 32")
    refused("LoadData", [given("l0c", "float16", np.zeros(1024, np.uint8)), l1], one, "cube", "memory of dst")
    refused("LoadData", [l0a, given("l0b", "float16", np.zeros(1024, np.uint8))], one, "cube", "memory of src")
    refused("LoadData", [l0a, given("l1", "bfloat16", np.zeros(1024, np.uint8))], one, "cube", "dtype of src")
    for dtype in ("int64", "uint64"):
        for target, source in (("l0a", "l1"), ("l0b", "gm"), ("l1", "gm")):
            long = [given(target, dtype, np.zeros(1024, np.uint8)), given(source, dtype, np.zeros(1024, np.uint8))]
            refused("LoadData", long, one, "cube", "dtype")
    flip = one | {"ifTranspose": True}
    wide = [given("l0a", "float32", np.zeros(1024, np.uint8)), given("l1", "float32", np.zeros(1024, np.uint8))]
    refused("LoadData", wide, flip, "cube", "ifTranspose")
    refused("LoadData", [l0a, given("gm", "float16", np.zeros(1024, np.uint8))], flip, "cube", "ifTranspose")


def load_transposed(params: dict[str, int], dtype: str) -> Any:
    """Squares of 32 x 32 bytes, 16 x 16 16-bit or 16 x 16 32-bit elements, put together from whole fractals."""
    size = item_size(dtype)
    side = 32 if size == 1 else 16
    per_square = 1 if size == 2 else 2

    def statement(operands: list[Memory]) -> None:
        target, source = operands
        sign = -1 if params.get("addrMode", 0) else 1
        for repeat in range(params["repeatTimes"]):
            square = (params["startIndex"] + sign * repeat * params["srcStride"]) * per_square * FRACTAL
            result = repeat * (params["dstGap"] + 1) * FRACTAL
            step = (params["dstFracGap"] + 1) * FRACTAL
            for row in range(side):
                for column in range(side):
                    # The fractal a square's element is in: below for 8-bit types, to the right for 32-bit types.
                    start = square + row // 16 * FRACTAL + row % 16 * 32 + column * size
                    to = result + column // 16 * step + column % 16 * 32 + row * size
                    if size == 4:
                        start = square + column // 8 * FRACTAL + row * 32 + column % 8 * 4
                        to = result + row // 8 * step + column * 32 + row % 8 * 4
                    move_bytes(target, to, source, start, size)

    return statement


@pytest.mark.parametrize("target", ["l0a", "l0b"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "float16", "bfloat16", "float32", "int32", "uint32"])
def test_squares_are_transposed(dtype: str, target: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(4):
        repeats = int(rng.integers(0, 4))
        params = {
            "startIndex": int(rng.integers(0, 3)),
            "repeatTimes": repeats,
            "srcStride": int(rng.integers(0, 3)),
            "dstGap": int(rng.integers(1, 3)),
            "dstFracGap": int(rng.choice([0, 10])),
        }
        if rng.random() < 0.3:
            params |= {"addrMode": 1, "startIndex": params["srcStride"] * max(0, repeats - 1) + params["startIndex"]}
        operands = [
            random_memory(rng, target, dtype, 24 * FRACTAL, undefined=0.2),
            random_memory(rng, "l1", dtype, 24 * FRACTAL, 32, undefined=0.2),
        ]
        check("LoadDataWithTranspose", operands, params, "cube", load_transposed(params, dtype))


BAD_TRANSPOSE = [
    ({"startIndex": 65536}, "startIndex is 65536"),
    ({"repeatTimes": 256}, "repeatTimes is 256"),
    ({"srcStride": 65536}, "srcStride is 65536"),
    ({"dstGap": 65536}, "dstGap is 65536"),
    ({"dstFracGap": 65536}, "dstFracGap is 65536"),
    ({"addrMode": 2}, "addrMode is 2"),
    ({"addrMode": 1, "repeatTimes": 2, "srcStride": 1}, "startIndex - srcStride"),
    ({"startIndex": 8}, "reads bytes"),
    ({"repeatTimes": 2, "dstGap": 8}, "writes bytes"),
]


@pytest.mark.parametrize(("change", "mentions"), BAD_TRANSPOSE)
def test_limits_of_the_transposing_load(change: dict[str, int], mentions: str) -> None:
    operands = [given("l0b", "float16", np.zeros(2048, np.uint8)), given("l1", "float16", np.zeros(4096, np.uint8))]
    refused("LoadDataWithTranspose", operands, {"startIndex": 0, "repeatTimes": 1} | change, "cube", mentions)


def test_place_and_type_of_the_transposing_load() -> None:
    one = {"repeatTimes": 1}
    l1 = given("l1", "float16", np.zeros(1024, np.uint8))
    refused(
        "LoadDataWithTranspose",
        [given("l0b", "float16", np.zeros(1024, np.uint8), 256), l1],
        one,
        "cube",
        "multiple of 512",
    )
    refused("LoadDataWithTranspose", [given("l0c", "float16", np.zeros(1024, np.uint8)), l1], one, "cube", "memory of")
    short = [given("l0b", "int16", np.zeros(1024, np.uint8)), given("l1", "int16", np.zeros(1024, np.uint8))]
    refused("LoadDataWithTranspose", short, one, "cube", "dtype")


def image_to_columns(params: dict[str, Any], image: Memory, dtype: str) -> tuple[np.ndarray, np.ndarray]:
    """Values and states of the whole matrix: rows are output positions, columns (channel group, filter point, lane)."""
    size = item_size(dtype)
    c0 = 32 // size
    height, width = params["l1H"], params["l1W"]
    groups = params["channelSize"] // c0
    left, right, top, bottom = params["padList"]
    kind = np.dtype(f"u{size}")
    shape = (groups, height, width, c0)
    values = image.data[: groups * height * width * 32].view(kind).reshape(shape)
    states = image.defined[: groups * height * width * 32].reshape(groups, height, width, c0, size).min(axis=-1)
    wide = np.full((groups, height + top + bottom, width + left + right, c0), params["padValue"], kind)
    known = np.ones(wide.shape, np.uint8)
    wide[:, top : top + height, left : left + width] = values
    known[:, top : top + height, left : left + width] = states
    reach_h = (params["filterH"] - 1) * params["dilationFilterH"] + 1
    reach_w = (params["filterW"] - 1) * params["dilationFilterW"] + 1
    rows, row_states = [], []
    for y in range(0, wide.shape[1] - reach_h + 1, params["strideH"]):
        for x in range(0, wide.shape[2] - reach_w + 1, params["strideW"]):
            window = (
                slice(None),
                slice(y, y + reach_h, params["dilationFilterH"]),
                slice(x, x + reach_w, params["dilationFilterW"]),
            )
            rows.append(wide[window].reshape(-1))
            row_states.append(known[window].reshape(-1))
    return np.array(rows), np.array(row_states)


def load_window(params: dict[str, Any], dtype: str, space: str) -> Any:
    size = item_size(dtype)
    c0 = 32 // size

    def statement(operands: list[Memory]) -> None:
        target, image = operands
        values, states = image_to_columns(params, image, dtype)
        m_end = params["mStartPt"] + params["mExtension"]
        k_end = params["kStartPt"] + -(-params["kExtension"] // c0) * c0
        window = values[params["mStartPt"] : m_end, params["kStartPt"] : k_end]
        window_states = states[params["mStartPt"] : m_end, params["kStartPt"] : k_end]
        m_full = -(-params["mExtension"] // 16) * 16
        k_full = window.shape[1]
        turned = params["enTranspose"] or space == "l0b"
        lines = k_full
        if turned:
            k_full = -(-k_full // 16) * 16
        before = target.defined.copy()
        target.defined[: m_full * k_full * size] = 0
        if turned and lines != k_full:  # half of the last fractals is not written at all
            fractals = np.arange(m_full * k_full * size // FRACTAL)
            per_line = k_full // 16
            last = fractals % per_line == per_line - 1 if space == "l0b" else fractals >= (per_line - 1) * m_full // c0
            for fractal in fractals[last]:
                at = fractal * FRACTAL + 256
                target.defined[at : at + 256] = before[at : at + 256]
        for m in range(window.shape[0]):
            for k in range(window.shape[1]):
                if space == "l0b":  # ZN: m is the matrix's k there
                    fractal = m // c0 * (k_full // 16) + k // 16
                    to = fractal * FRACTAL + k % 16 * 32 + m % c0 * size
                elif params["enTranspose"]:  # ZZ of the transposed window
                    fractal = k // 16 * (m_full // c0) + m // c0
                    to = fractal * FRACTAL + k % 16 * 32 + m % c0 * size
                else:
                    fractal = m // 16 * (k_full // c0) + k // c0
                    to = fractal * FRACTAL + m % 16 * 32 + k % c0 * size
                target.data[to : to + size] = np.frombuffer(window[m, k].tobytes(), np.uint8)
                target.defined[to : to + size] = window_states[m, k]

    return statement


WINDOWS = [
    ("l0a", "float16", False),
    ("l0a", "float16", True),
    ("l0b", "float16", False),
    ("l0b", "bfloat16", False),
    ("l0a", "float32", False),
    ("l0a", "float32", True),
    ("l0b", "float32", False),
    ("l0a", "int8", False),
    ("l0a", "uint8", False),
    ("l0a", "bfloat16", True),
    ("l0a", "int32", False),
    ("l0a", "int32", True),
    ("l0b", "int32", False),
    ("l0a", "uint32", True),
    ("l0b", "uint32", False),
]


@pytest.mark.parametrize(("space", "dtype", "transpose"), WINDOWS)
def test_windows_of_a_feature_map(space: str, dtype: str, transpose: bool, sample_rng: np.random.Generator) -> None:
    rng = sample_rng
    size = item_size(dtype)
    c0 = 32 // size
    plain = rng.random() < 0.4  # a matrix: one filter point, no padding
    params: dict[str, Any] = {
        "l1H": int(rng.integers(3, 8)),
        "l1W": int(rng.integers(3, 8)),
        "padList": [0, 0, 0, 0] if plain else [int(p) for p in rng.integers(0, 3, 4)],
        "channelSize": int(rng.integers(1, 4)) * c0,
        "strideW": 1 if plain else int(rng.integers(1, 3)),
        "strideH": 1 if plain else int(rng.integers(1, 3)),
        "filterW": 1 if plain else int(rng.integers(1, 3)),
        "filterH": 1 if plain else int(rng.integers(1, 3)),
        "dilationFilterW": int(rng.integers(1, 3)),
        "dilationFilterH": int(rng.integers(1, 3)),
        "enTranspose": transpose,
        "padValue": int(rng.integers(0, 2 ** (8 * size))),
    }
    groups = params["channelSize"] // c0 * params["filterW"] * params["filterH"]
    first = int(rng.integers(0, groups))
    params["kStartPt"] = first * c0
    params["kExtension"] = int(rng.integers(1, groups - first + 1)) * c0 - int(rng.integers(0, 3))
    image = random_memory(rng, "l1", dtype, 8192, 64)
    # 16-bit elements are undefined as a whole; states of 32-bit elements are per element too.
    image.defined = np.repeat((rng.random(8192 // size) > 0.1).astype(np.uint8), size)
    positions = image_to_columns(params, image, dtype)[0].shape[0]
    params["mStartPt"] = int(rng.integers(0, positions))
    params["mExtension"] = int(rng.integers(1, positions - params["mStartPt"] + 1))
    operands = [random_memory(rng, space, dtype, 40960, 512, undefined=0.2), image]
    check("LoadData3D", operands, params, "cube", load_window(params, dtype, space))


PLAIN_3D = {
    "l1H": 1,
    "l1W": 16,
    "channelSize": 16,
    "kExtension": 16,
    "mExtension": 16,
    "kStartPt": 0,
    "mStartPt": 0,
}


def test_the_feature_map_register_is_set_by_the_call_or_before() -> None:
    operands = [
        given("l0a", "float16", np.zeros(512, np.uint8)),
        given("l1", "float16", np.arange(256, dtype=np.int16)),
    ]
    refused("LoadData3D", operands, PLAIN_3D | {"isSetFMatrix": False}, "cube", "SetFmatrix")

    def statement(copies: list[Memory]) -> None:
        move_bytes(copies[0], 0, copies[1], 0, 512)

    check("LoadData3D", operands, PLAIN_3D | {"isSetFMatrix": False, "SetFmatrix": True}, "cube", statement)


@pytest.mark.parametrize("change", [{"l1H": 0}, {"l1W": 0}, {"channelSize": 0}, {"kExtension": 0}, {"filterW": 0}])
def test_empty_windows_change_nothing(change: dict[str, int]) -> None:
    operands = [given("l0a", "float16", np.zeros(512, np.uint8)), given("l1", "float16", np.zeros(512, np.uint8))]
    check("LoadData3D", operands, PLAIN_3D | change, "cube", lambda copies: None)


BAD_3D = [
    ({"l1H": 32768}, "l1H is 32768"),
    ({"l1W": 32768}, "l1W is 32768"),
    ({"channelSize": 65552}, "channelSize is 65552"),
    ({"channelSize": 18}, "channelSize is 18"),
    ({"kExtension": 65536}, "kExtension is 65536"),
    ({"mExtension": 65536}, "mExtension is 65536"),
    ({"kStartPt": 8}, "kStartPt is 8"),
    ({"mStartPt": 32768}, "mStartPt is 32768"),
    ({"strideW": 64}, "strideW is 64"),
    ({"strideH": 0}, "strideH is 0"),
    ({"filterW": 512}, "filterW is 512"),
    ({"filterH": 512}, "filterH is 512"),
    ({"dilationFilterW": 256}, "dilationFilterW is 256"),
    ({"dilationFilterH": 0}, "dilationFilterH is 0"),
    ({"enSmallK": True}, "enSmallK is 1"),
    ({"kExtension": 32}, "kStartPt + kExtension is 32"),
    ({"mStartPt": 16}, "mStartPt is 16"),
    ({"l1W": 32, "mExtension": 32}, "writes bytes"),
    ({"l1W": 32, "mStartPt": 16}, "reads bytes"),
]


@pytest.mark.parametrize(("change", "mentions"), BAD_3D)
def test_limits_of_the_window_load(change: dict[str, Any], mentions: str) -> None:
    operands = [given("l0a", "float16", np.zeros(512, np.uint8)), given("l1", "float16", np.zeros(512, np.uint8))]
    refused("LoadData3D", operands, PLAIN_3D | change, "cube", mentions)


def test_limits_of_the_feature_map_register() -> None:
    execute("SetFmatrix", [], {"l1H": 32767, "l1W": 32767}, "cube")
    refused("SetFmatrix", [], {"l1H": 32768, "l1W": 1}, "cube", "l1H is 32768")
    refused("SetFmatrix", [], {"l1H": 1, "l1W": 32768}, "cube", "l1W is 32768")


def test_type_of_the_window_load() -> None:
    bytes_to_right = [given("l0b", "int8", np.zeros(512, np.uint8)), given("l1", "int8", np.zeros(512, np.uint8))]
    refused("LoadData3D", bytes_to_right, PLAIN_3D | {"channelSize": 32}, "cube", "dtype")
