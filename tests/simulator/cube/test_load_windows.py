# SPDX-License-Identifier: Apache-2.0
"""LoadData of feature-map windows beyond the plain case: narrow channels, repeats, a boundary, int4b_t; and the loads
of int4b_t without a feature map."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.single_instruction import Memory, check, execute, given, item_size, move_bytes, random_memory, refused

FRACTAL = 512


def columns_of(params: dict[str, Any], image: Memory, dtype: str, start: int = 0, wrap: int = 0) -> np.ndarray:
    """The image-to-column matrix: values [row, k]. A last plane of narrower pixels follows the full ones."""
    size = item_size(dtype)
    c0 = 32 // size
    height, width = params["l1H"], params["l1W"]
    full, rest = divmod(params["channelSize"], c0)
    planes = []
    offset = 0
    for channels in [c0] * full + [rest] * (rest != 0):
        count = height * width * channels * size
        at = (start + offset + np.arange(count)) % wrap if wrap else start + offset + np.arange(count)
        planes.append(image.data[at].view(f"u{size}").reshape(height, width, channels))
        offset += count
    left, right, top, bottom = params["padList"]
    pad = ((top, bottom), (left, right), (0, 0))
    planes = [np.pad(plane, pad, constant_values=params["padValue"]) for plane in planes]
    rows = []
    for y in range(0, planes[0].shape[0] - params["filterH"] + 1):
        for x in range(0, planes[0].shape[1] - params["filterW"] + 1):
            window = [plane[y : y + params["filterH"], x : x + params["filterW"]].reshape(-1) for plane in planes]
            rows.append(np.concatenate(window))
    return np.array(rows)


def put(target: Memory, window: np.ndarray, space: str, transpose: bool, size: int) -> None:
    """A window of whole groups of 32 bytes; what the last fractals hold beyond it is undefined or untouched."""
    c0 = 32 // size
    rows, k_count = window.shape
    bands = -(-rows // 16)
    turned = transpose or space == "l0b"
    lines16 = -(-k_count // 16)
    for m in range(bands * 16):
        for k in range(k_count):
            if not turned:
                to = (m // 16 * (k_count // c0) + k // c0) * FRACTAL + m % 16 * 32 + k % c0 * size
            elif space == "l0b":
                to = (m // c0 * lines16 + k // 16) * FRACTAL + k % 16 * 32 + m % c0 * size
            else:
                to = (k // 16 * (bands * 16 // c0) + m // c0) * FRACTAL + k % 16 * 32 + m % c0 * size
            target.defined[to : to + size] = int(m < rows)
            if m < rows:
                target.data[to : to + size] = np.frombuffer(window[m, k].tobytes(), np.uint8)


BASE: dict[str, Any] = {
    "padList": [0, 0, 0, 0],
    "padValue": 0,
    "filterW": 1,
    "filterH": 1,
    "kStartPt": 0,
    "mStartPt": 0,
}


def whole(params: dict[str, Any], dtype: str, space: str, transpose: bool = False) -> Any:
    size = item_size(dtype)
    c0 = 32 // size

    def statement(copies: list[Memory]) -> None:
        matrix = columns_of(params, copies[1], dtype)
        first, last = params["mStartPt"], params["mStartPt"] + params["mExtension"]
        groups = -(-params["kExtension"] // c0)
        window = np.zeros((params["mExtension"], groups * c0), matrix.dtype)
        part = matrix[first:last, params["kStartPt"] : params["kStartPt"] + groups * c0]
        window[:, : part.shape[1]] = part
        before = copies[0].copy()
        put(copies[0], window, space, transpose, size)
        # Lanes of the last group that the matrix does not have.
        missing = np.zeros_like(window)
        missing[:, part.shape[1] :] = 1
        mark = given(copies[0].space, copies[0].dtype, np.zeros(before.data.size, np.uint8))
        put(mark, missing, space, transpose, size)
        copies[0].defined[mark.data != 0] = 0
        if size > 1:
            gone = mark.data.reshape(-1, size).any(axis=1)
            copies[0].defined.reshape(-1, size)[gone] = 0

    return statement


NARROW = [
    ("float16", 4, "l0a"),
    ("float16", 24, "l0a"),
    ("float16", 8, "l0b"),
    ("bfloat16", 20, "l0b"),
    ("int8", 4, "l0a"),
    ("uint8", 48, "l0a"),
    ("int8", 40, "l0a"),
    ("float32", 4, "l0a"),
    ("float32", 12, "l0b"),
]


@pytest.mark.parametrize(("dtype", "channels", "space"), NARROW)
def test_a_last_plane_may_have_narrower_pixels(
    dtype: str, channels: int, space: str, sample_rng: np.random.Generator
) -> None:
    rng = sample_rng
    size = item_size(dtype)
    params = BASE | {
        "l1H": int(rng.integers(3, 6)),
        "l1W": int(rng.integers(3, 7)),
        "channelSize": channels,
        "filterW": int(rng.integers(1, 4)),
        "filterH": int(rng.integers(1, 4)),
        "padList": [int(p) for p in rng.integers(0, 2, 4)],
        "padValue": int(rng.integers(0, 2 ** (8 * size))),
    }
    image = random_memory(rng, "l1", dtype, 8192, 64)
    matrix = columns_of(params, image, dtype)
    params["mStartPt"] = int(rng.integers(0, matrix.shape[0]))
    params["mExtension"] = int(rng.integers(1, matrix.shape[0] - params["mStartPt"] + 1))
    params["kExtension"] = matrix.shape[1]
    operands = [random_memory(rng, space, dtype, 40960, 512, undefined=0.2), image]
    check("LoadData3D", operands, params, "cube", whole(params, dtype, space))


def test_an_odd_number_of_32_bit_groups_leaves_half_fractals_alone(seed: int) -> None:
    """Of kExtension 24: one and a half bands of lines. The memory behind the last half fractal need not exist."""
    rng = np.random.default_rng(seed)
    params = BASE | {"l1H": 1, "l1W": 16, "channelSize": 24, "kExtension": 24, "mExtension": 16}
    image = random_memory(rng, "l1", "float32", 2048)
    size = 3 * FRACTAL + 256
    operands = [random_memory(rng, "l0b", "float32", size, 65536 - 4 * FRACTAL), image]
    check("LoadData3D", operands, params, "cube", whole(params, "float32", "l0b"))
    operands = [random_memory(rng, "l0a", "float32", 4 * FRACTAL), image]
    check("LoadData3D", operands, params | {"enTranspose": True}, "cube", whole(params, "float32", "l0a", True))


REPEATED = [("float16", "l0a", False), ("float16", "l0a", True), ("float32", "l0b", False), ("int8", "l0a", False)]


@pytest.mark.parametrize(("dtype", "space", "transpose"), REPEATED)
@pytest.mark.parametrize("mode", [0, 1])
def test_repeats_make_one_larger_window(
    mode: int, dtype: str, space: str, transpose: bool, sample_rng: np.random.Generator
) -> None:
    rng = sample_rng
    c0 = 32 // item_size(dtype)
    times, stride = int(rng.integers(1, 4)), int(rng.integers(0, 3))
    one_band = mode == 1 and not transpose and space == "l0a"
    params = BASE | {
        "l1H": 1,
        "l1W": 112,
        "channelSize": 8 * c0,
        "mExtension": 16 if one_band else int(rng.integers(1, 3)) * 16,
        "kExtension": int(rng.integers(1, 3)) * c0,
        "enTranspose": transpose,
        "repeatTime": times,
        "repeatStride": stride,
        "repeatMode": mode,
    }
    image = random_memory(rng, "l1", dtype, 32768)
    operands = [random_memory(rng, space, dtype, 40960, undefined=0.2), image]

    def statement(copies: list[Memory]) -> None:
        matrix = columns_of(params, copies[1], dtype)
        m, k = params["mExtension"], params["kExtension"]
        if mode == 0:
            window = np.concatenate([matrix[i * stride * 16 : i * stride * 16 + m, :k] for i in range(times)])
        else:
            window = np.concatenate([matrix[:m, i * stride * c0 : i * stride * c0 + k] for i in range(times)], axis=1)
        put(copies[0], window, space, transpose, item_size(dtype))

    check("LoadData3D", operands, params, "cube", statement)


def test_repeats_that_are_refused() -> None:
    operands = [given("l0a", "float16", np.zeros(8192, np.uint8)), given("l1", "float16", np.zeros(8192, np.uint8))]
    params = {"l1H": 1, "l1W": 64, "channelSize": 64, "kExtension": 16, "mExtension": 16, "repeatTime": 2}
    refused("LoadData3D", operands, params | {"mExtension": 8}, "cube", "mExtension is 8")
    refused("LoadData3D", operands, params | {"repeatMode": 1, "kExtension": 8}, "cube", "kExtension is 8")
    refused("LoadData3D", operands, params | {"repeatMode": 1, "mExtension": 32}, "cube", "mExtension is 32")
    refused("LoadData3D", operands, params | {"repeatStride": 4}, "cube", "mStartPt is 64")
    refused("LoadData3D", operands, params | {"repeatStride": 4, "repeatMode": 1}, "cube", "kStartPt + kExtension")
    check("LoadData3D", operands, params | {"repeatTime": 0}, "cube", lambda copies: None)


def test_addresses_beyond_the_boundary_start_again(sample_rng: np.random.Generator) -> None:
    rng = sample_rng
    boundary = int(rng.integers(32, 80)) * 32
    start = int(rng.integers(0, boundary // 32)) * 32
    params = BASE | {"l1H": 4, "l1W": 8, "channelSize": 64, "kExtension": 64, "mExtension": 32}
    image = random_memory(rng, "l1", "float16", boundary, 0)
    # The tensor itself lies anywhere below the boundary: its bytes are those of the image's memory.
    source = Memory("l1", "float16", image.data[start:], image.defined[start:], start)
    operands = [random_memory(rng, "l0a", "float16", 8192), source, image]
    matrix = columns_of(params, image, "float16", start, boundary)

    def statement(copies: list[Memory]) -> None:
        put(copies[0], matrix, "l0a", False, 2)

    check("LoadData3D", operands, params | {"boundaryValue": boundary}, "cube", statement)


def test_limits_of_the_registers() -> None:
    execute("SetLoadDataBoundary", [], {"boundaryValue": 0}, "cube")
    execute("SetLoadDataBoundary", [], {"boundaryValue": 1024}, "cube")
    execute("SetLoadDataRepeat", [], {"repeatTime": 255, "repeatStride": 65535, "repeatMode": 1}, "cube")
    refused("SetLoadDataBoundary", [], {"boundaryValue": 1023}, "cube", "boundaryValue is 1023")
    refused("SetLoadDataBoundary", [], {"boundaryValue": 1040}, "cube", "boundaryValue is 1040")
    refused("SetLoadDataRepeat", [], {"repeatTime": 256}, "cube", "repeatTime is 256")
    refused("SetLoadDataRepeat", [], {"repeatStride": 65536}, "cube", "repeatStride is 65536")
    refused("SetLoadDataRepeat", [], {"repeatMode": 2}, "cube", "repeatMode is 2")
    operands = [given("l0a", "float16", np.zeros(512, np.uint8)), given("l1", "float16", np.zeros(512, np.uint8), 2048)]
    params = {"l1H": 1, "l1W": 16, "channelSize": 16, "kExtension": 16, "mExtension": 16, "boundaryValue": 2048}
    refused("LoadData3D", operands, params, "cube", "address of src is 2048")


def test_windows_of_int4(seed: int) -> None:
    """64 values to a group; to L0A only, and never transposed."""
    rng = np.random.default_rng(seed)
    params = {"l1H": 1, "l1W": 32, "channelSize": 128, "kExtension": 128, "mExtension": 32}
    operands = [random_memory(rng, "l0a", "int4", 2048), random_memory(rng, "l1", "int4", 2048)]

    def statement(copies: list[Memory]) -> None:
        for m in range(32):
            for group in range(2):
                to = (m // 16 * 2 + group) * FRACTAL + m % 16 * 32
                move_bytes(copies[0], to, copies[1], (group * 32 + m) * 32, 32)

    check("LoadData3D", operands, params, "cube", statement)
    refused("LoadData3D", operands, params | {"enTranspose": True}, "cube", "dtype")
    refused("LoadData3D", [given("l0b", "int4", np.zeros(2048, np.uint8)), operands[1]], params, "cube", "dtype")
    refused("LoadData3D", operands, params | {"channelSize": 68}, "cube", "channelSize is 68")


def test_fractals_of_int4_come_from_l1_only(seed: int) -> None:
    rng = np.random.default_rng(seed)
    operands = [random_memory(rng, "l0b", "int4", 1024), random_memory(rng, "l1", "int4", 2048)]

    def statement(copies: list[Memory]) -> None:
        move_bytes(copies[0], 0, copies[1], 512, 512)
        move_bytes(copies[0], 512, copies[1], 1536, 512)

    params = {"startIndex": 1, "repeatTimes": 2, "srcStride": 2}
    check("LoadData", operands, params, "cube", statement)
    refused("LoadData", [operands[0], given("gm", "int4", np.zeros(2048, np.uint8))], params, "cube", "dtype")


def test_squares_of_int4_are_transposed(sample_rng: np.random.Generator) -> None:
    """64 x 64 values from four fractals on top of each other, to four fractals."""
    rng = sample_rng
    gap = int(rng.integers(0, 3))
    operands = [random_memory(rng, "l0b", "int4", 4 * (gap + 1) * FRACTAL), random_memory(rng, "l1", "int4", 4096)]
    params = {"startIndex": 1, "repeatTimes": 1, "dstFracGap": gap}

    def statement(copies: list[Memory]) -> None:
        square = copies[1].data[2048:].reshape(64, 32)
        values = np.stack([square & 0xF, square >> 4], -1).reshape(64, 64).T
        packed = values[:, 0::2] | values[:, 1::2] << 4
        for fractal in range(4):
            at = fractal * (gap + 1) * FRACTAL
            copies[0].data[at : at + FRACTAL] = packed[fractal * 16 : fractal * 16 + 16].reshape(-1)
            copies[0].defined[at : at + FRACTAL] = 1

    check("LoadDataWithTranspose", operands, params, "cube", statement)
    refused(
        "LoadDataWithTranspose", [given("l0a", "int4", np.zeros(4096, np.uint8)), operands[1]], params, "cube", "dtype"
    )
