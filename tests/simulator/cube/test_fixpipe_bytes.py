# SPDX-License-Identifier: Apache-2.0
"""Fixpipe with scales: results of one byte, shifts, offsets, and results that go to L1 instead of global memory."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from helpers.single_instruction import DTYPES, Memory, check, execute, given, random_memory, refused

BYTE_MODES = {
    "QF322B8_PRE": "float32",
    "VQF322B8_PRE": "float32",
    "REQ8": "int32",
    "VREQ8": "int32",
}


def config_of(factor: float, shift: int = 0, offset: int = 0, signed: bool = True) -> int:
    """The 64 bits of a scale; a shift of 0 is none."""
    bits = int(struct.unpack("<I", struct.pack("<f", factor))[0])
    if shift:
        bits |= (shift - 1) << 32 | 1 << 36
    return bits | (offset & 0x1FF) << 37 | int(signed) << 46


def factor_of(config: int) -> np.float32:
    return np.float32(struct.unpack("<f", struct.pack("<I", config & 0xFFFFE000))[0])


def scaled(value: Any, config: int, relu: bool) -> np.float32:
    """What the document says up to the rounding. Relu comes first: a negative value counts as 0."""
    if relu and value < 0:
        value = value.dtype.type(0)
    if isinstance(value, np.int32) and config >> 36 & 1:
        value = min(max(int(value) >> ((config >> 32 & 0xF) + 1), -32768), 32767)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.float32(value) * factor_of(config)


def to_byte(value: np.float32, config: int) -> int:
    # Python's round takes halves to even. (np.clip of single numbers would be half the time of these tests.)
    rounded = 0 if np.isnan(value) else round(min(max(float(value), -256.0), 255.0))
    offset = config >> 37 & 0x1FF
    total = rounded + (offset - 512 if offset >= 256 else offset)
    low, high = (-128, 127) if config >> 46 & 1 else (0, 255)
    return min(max(total, low), high) & 0xFF


def place(params: dict[str, Any], row: int, column: int, size: int) -> int:
    if params["config"] == "ROW_MAJOR":
        return (row * int(params["dstStride"]) + column) * size
    width = 32 if size == 1 else 16
    # The last 16 columns of an odd number of fractals stay a fractal of their own.
    merged = min(width, params["nSize"] - column // width * width)
    return column // width * int(params["dstStride"]) * 32 + (row * merged + column % width) * size


def move(params: dict[str, Any], configs: list[int]) -> Any:
    def statement(operands: list[Memory]) -> None:
        target, source = operands[0], operands[1]
        values = source.typed()
        for row in range(params["mSize"]):
            for column in range(params["nSize"]):
                value = values[(column // 16 * params["srcStride"] + row) * 16 + column % 16]
                result = scaled(value, configs[column], params["reluEn"])
                if target.dtype == "float16":
                    with np.errstate(over="ignore"):
                        raw = np.float16(result).tobytes()
                else:
                    raw = bytes([to_byte(result, configs[column])])
                to = place(params, row, column, len(raw))
                target.data[to : to + len(raw)] = np.frombuffer(raw, np.uint8)
                target.defined[to : to + len(raw)] = 1

    return statement


def random_configs(rng: np.random.Generator, count: int, signed: bool) -> list[int]:
    return [
        config_of(
            float(rng.choice([0.5, 1.1e-3, 0.02, -0.25, 2.0**-14, 100.0])),
            int(rng.choice([0, 1, 5, 16])),
            int(rng.choice([0, 0, 7, 255, -256, -3])),
            signed,
        )
        for _ in range(count)
    ]


def fill(rng: np.random.Generator, memory: Memory) -> None:
    count = memory.data.size // 4
    if memory.dtype == "int32":
        values = rng.integers(-(10.0 ** rng.integers(1, 10, count)), 10.0 ** rng.integers(1, 10, count)).astype(
            np.int32
        )
    else:
        values = (rng.standard_normal(count) * 10.0 ** rng.integers(-3, 6, count)).astype(np.float32)
        values[::13] = rng.choice(np.array([0.5, 1.5, 2.5, -0.5, np.inf, -np.inf, np.nan, -0.0], np.float32))
    memory.data[:] = values.view(np.uint8)


def random_case(
    rng: np.random.Generator, space: str, config: str, quant: str, target: str, source: str
) -> tuple[list[Memory], dict[str, Any], list[int]]:
    rows = int(rng.integers(1, 40))
    columns = int(rng.integers(1, 50)) if config == "ROW_MAJOR" else int(rng.integers(1, 6)) * 16
    params: dict[str, Any] = {
        "config": config,
        "quantPre": quant,
        "mSize": rows,
        "nSize": columns,
        "srcStride": -(-rows // 16) * 16,
        "dstStride": columns + int(rng.integers(1, 9)) if config == "ROW_MAJOR" else rows + int(rng.integers(0, 5)),
        "reluEn": bool(rng.random() < 0.4),
    }
    configs = random_configs(rng, columns, target == "int8")
    address = 64 if space == "l1" else 0
    operands = [
        random_memory(rng, space, target, 16384, address, undefined=0.2 if space == "l1" else 0.0),
        random_memory(rng, "l0c", source, 6 * 48 * 64, 64),
    ]
    fill(rng, operands[1])
    if quant.startswith("V"):
        operands.append(given("l1", "uint64", np.array(configs, np.uint64), 32768))
    else:
        params["deqScalar"] = configs[0]
        configs = [configs[0]] * columns
    return operands, params, configs


@pytest.mark.parametrize(("space", "config"), [("gm", "ROW_MAJOR"), ("gm", "NZ"), ("l1", "NZ")])
@pytest.mark.parametrize("target", ["int8", "uint8"])
@pytest.mark.parametrize("quant", BYTE_MODES)
def test_results_become_bytes(
    quant: str, target: str, space: str, config: str, sample_rng: np.random.Generator
) -> None:
    operands, params, configs = random_case(sample_rng, space, config, quant, target, BYTE_MODES[quant])
    check("Fixpipe", operands, params, "cube", move(params, configs))


@pytest.mark.parametrize("space", ["gm", "l1"])
@pytest.mark.parametrize("quant", ["DEQF16", "VDEQF16"])
def test_integers_are_shifted_before_they_are_scaled(quant: str, space: str, sample_rng: np.random.Generator) -> None:
    operands, params, configs = random_case(sample_rng, space, "NZ", quant, "float16", "int32")
    params["dstStride"] *= 2
    check("Fixpipe", operands, params, "cube", move(params, configs))


@pytest.mark.parametrize(("target", "quant"), [("float16", "F322F16"), ("bfloat16", "F322BF16")])
def test_results_go_to_l1_as_16_bits(target: str, quant: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    operands = [random_memory(rng, "l1", target, 4096, 32), random_memory(rng, "l0c", "float32", 4096)]
    values = rng.standard_normal(1024).astype(np.float32)
    operands[1].data[:] = values.view(np.uint8)
    params = {"config": "NZ", "quantPre": quant, "mSize": 20, "nSize": 32, "srcStride": 32, "dstStride": 40}

    def statement(copies: list[Memory]) -> None:
        for row in range(20):
            for column in range(32):
                value = values[(column // 16 * 32 + row) * 16 + column % 16].astype(DTYPES[target])
                to = column // 16 * 40 * 32 + row * 32 + column % 16 * 2
                copies[0].data[to : to + 2] = np.frombuffer(value.tobytes(), np.uint8)
                copies[0].defined[to : to + 2] = 1

    check("Fixpipe", operands, params, "cube", statement)


def test_a_store_to_l1_is_never_atomic(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.standard_normal(256).astype(np.float32)
    operands = [given("l1", "float16", np.ones(256, np.float16)), given("l0c", "float32", values)]
    params = {"config": "NZ", "quantPre": "F322F16", "mSize": 16, "nSize": 16, "srcStride": 16, "dstStride": 16}
    outputs, _ = execute("Fixpipe", operands, params, "cube", "checked", {"atomic_mode": 1, "atomic_dtype": 2})
    assert np.array_equal(outputs[0].typed(), values.astype(np.float16))


def test_data_copy_moves_to_l1_with_the_state(seed: int) -> None:
    rng = np.random.default_rng(seed)
    operands, params, configs = random_case(rng, "l1", "NZ", "REQ8", "int8", "int32")
    expected = [memory.copy() for memory in operands]
    move(params, configs)(expected)
    given_params = {name: params[name] for name in ("mSize", "nSize", "srcStride", "dstStride", "quantPre")}
    given_params["reluPre"] = int(params["reluEn"])
    outputs, _ = execute("DataCopy", operands, given_params, "cube", "checked", {"quant_scalar": configs[0]})
    assert np.array_equal(outputs[0].data, expected[0].data)


def test_the_calls_own_scales_pass_through_the_registers() -> None:
    l0c = given("l0c", "int32", np.zeros(256, np.int32))
    gm = given("gm", "int8", np.zeros(256, np.int8))
    params = {"config": "ROW_MAJOR", "mSize": 16, "nSize": 16, "srcStride": 16, "dstStride": 16}
    _, report = execute("Fixpipe", [gm, l0c], params | {"quantPre": "REQ8", "deqScalar": config_of(0.5)}, "cube")
    assert report["state"]["quant_scalar"] == config_of(0.5)
    scales = given("l1", "uint64", np.full(16, config_of(0.5), np.uint64))
    state = {"quant_vector_address": 256}
    _, report = execute("Fixpipe", [gm, l0c, scales], params | {"quantPre": "VREQ8"}, "cube", "checked", state)
    assert report["state"]["quant_vector_address"] == 0


TO_L1 = {"mSize": 16, "nSize": 16, "srcStride": 16, "dstStride": 16, "quantPre": "F322F16", "config": "NZ"}


@pytest.mark.parametrize(
    ("space", "dtype", "change", "mentions"),
    [
        ("l1", "float16", {"config": "ROW_MAJOR"}, "format"),
        ("l1", "float32", {"quantPre": "NoQuant"}, "quantPre"),
        ("l1", "float16", {"nSize": 8}, "nSize is 8"),
        ("l0a", "float16", {}, "memory of dst"),
        ("l1", "int16", {}, "quantPre"),
        ("l1", "int8", {"quantPre": "REQ8"}, "quantPre"),
    ],
)
def test_what_l1_does_not_take(space: str, dtype: str, change: dict[str, Any], mentions: str) -> None:
    operands = [given(space, dtype, np.zeros(2048, np.uint8)), given("l0c", "float32", np.zeros(256, np.float32))]
    refused("Fixpipe", operands, TO_L1 | change, "cube", mentions)


def test_the_relu_tensor_shares_a_register_with_the_scales() -> None:
    tensor = given("fb", "uint64", np.zeros(16, np.uint64), 128)
    state = {"quant_vector_address": 256}
    _, report = execute("SetFixPipeConfig", [tensor], {"setRelu": True}, "cube", "checked", state)
    assert report["state"]["quant_vector_address"] == 0
