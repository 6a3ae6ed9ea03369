# SPDX-License-Identifier: Apache-2.0
"""Fixpipe: L0C to global memory as rows or fractals, with conversions, and the unit flags it shares with Mmad."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from helpers.single_instruction import DTYPES, Memory, check, execute, given, random_memory, refused

QUANT = {
    "float32": ("float32", "NoQuant"),
    "float16": ("float32", "F322F16"),
    "bfloat16": ("float32", "F322BF16"),
    "int32": ("int32", "NoQuant"),
    "dequantised": ("int32", "DEQF16"),
    "dequantised by column": ("int32", "VDEQF16"),
}


def scale_bits(value: float) -> int:
    return int(struct.unpack("<I", struct.pack("<f", value))[0])


def hardware_scale(bits: int) -> Any:
    return np.float32(struct.unpack("<f", struct.pack("<I", bits & 0xFFFFE000))[0])


def convert(value: Any, params: dict[str, Any], target: np.dtype[Any], scale: np.float32) -> Any:
    if params.get("reluEn", False) and value < 0:
        value = value.dtype.type(0)
    if params["quantPre"] in ("DEQF16", "VDEQF16"):
        with np.errstate(over="ignore"):
            return np.float16(np.float32(value) * scale)
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray(value).astype(target)[()]


def source_offset(nd: int, row: int, column: int, params: dict[str, Any]) -> int:
    return int(nd * params["srcNdStride"] * 1024 + column // 16 * params["srcStride"] * 64 + row * 64 + column % 16 * 4)


def target_offset(nd: int, row: int, column: int, params: dict[str, Any], size: int) -> int:
    if params["config"] == "ROW_MAJOR":
        return int(nd * params["dstNdStride"] + row * params["dstStride"] + column) * size
    width = 8 if params.get("isChannelSplit", False) else 16
    return column // width * int(params["dstStride"]) * 32 + row * width * size + column % width * size


def move(params: dict[str, Any], scales: list[int]) -> Any:
    def statement(operands: list[Memory]) -> None:
        target, source = operands[0], operands[1]
        kind = DTYPES[target.dtype]
        values = source.typed()
        matrices = params["ndNum"] if params["config"] == "ROW_MAJOR" else 1
        for nd in range(matrices):
            for row in range(params["mSize"]):
                for column in range(params["nSize"]):
                    at = source_offset(nd, row, column, params)
                    value = convert(values[at // 4], params, kind, hardware_scale(scales[column]))
                    to = target_offset(nd, row, column, params, kind.itemsize)
                    target.data[to : to + kind.itemsize] = np.frombuffer(kind.type(value).tobytes(), np.uint8)
                    if kind.itemsize == 4 and not params.get("reluEn", False):
                        target.defined[to : to + 4] = source.defined[at : at + 4]
                    else:
                        target.defined[to : to + kind.itemsize] = 1

    return statement


def fill_source(rng: np.random.Generator, memory: Memory) -> None:
    count = memory.data.size // 4
    if memory.dtype == "int32":
        values = rng.integers(-(10**6), 10**6, count).astype(np.int32)
    else:
        values = (rng.standard_normal(count) * 10.0 ** rng.integers(-9, 6, count)).astype(np.float32)
        values[::17] = rng.choice(np.array([np.inf, -np.inf, 65520, 65519.9, 6e-8, 2.9e-8, 0.0, -0.0], np.float32))
    memory.data[:] = values.view(np.uint8)


@pytest.mark.parametrize("config", ["ROW_MAJOR", "NZ"])
@pytest.mark.parametrize("kind", QUANT)
def test_results_leave_l0c(kind: str, config: str, sample_rng: np.random.Generator) -> None:
    rng = sample_rng
    source_type, quant = QUANT[kind]
    target_type = "float16" if kind.startswith("dequantised") else kind
    rows = int(rng.integers(0, 40))
    columns = int(rng.integers(0, 50)) if config == "ROW_MAJOR" else int(rng.integers(0, 4)) * 16
    pitch = -(-max(rows, 1) // 16) * 16
    params: dict[str, Any] = {
        "config": config,
        "quantPre": quant,
        "mSize": rows,
        "nSize": columns,
        "srcStride": pitch,
        "dstStride": columns + int(rng.integers(1, 9)) if config == "ROW_MAJOR" else 2 * rows + int(rng.integers(1, 5)),
        "ndNum": int(rng.integers(0, 3)) if config == "ROW_MAJOR" else 1,
        "srcNdStride": pitch // 16 * 4,
        "dstNdStride": 40 * 60,
        "reluEn": bool(rng.random() < 0.3),
    }
    undefined = 0.2 if quant == "NoQuant" and not params["reluEn"] else 0.0
    source = random_memory(rng, "l0c", source_type, 3 * 4 * 48 * 64, 64, undefined=undefined)
    source.defined = np.repeat(source.defined[::4], 4)
    fill_source(rng, source)
    scales = [scale_bits(float(rng.choice([0.5, 1.1e-3, 3.14159, 2.0**-14, 100.0]))) for _ in range(max(columns, 1))]
    address = 0 if config == "NZ" else int(rng.integers(0, 9))
    operands = [random_memory(rng, "gm", target_type, 32768, address), source]
    if quant == "DEQF16":
        params["deqScalar"] = scales[0]
        scales = [scales[0]] * len(scales)
    if quant == "VDEQF16":
        operands.append(given("l1", "uint64", np.array(scales + [0] * 4, np.uint64), 32))
    check("Fixpipe", operands, params, "cube", move(params, scales))


def test_channels_are_split_into_fractals_of_8_columns(sample_rng: np.random.Generator) -> None:
    rng = sample_rng
    rows, columns = int(rng.integers(1, 40)), int(rng.integers(1, 7)) * 8
    params = {
        "config": "NZ",
        "quantPre": "NoQuant",
        "mSize": rows,
        "nSize": columns,
        "srcStride": -(-rows // 16) * 16,
        "dstStride": rows + int(rng.integers(0, 5)),
        "ndNum": 1,
        "srcNdStride": 0,
        "dstNdStride": 0,
        "isChannelSplit": True,
    }
    operands = [
        random_memory(rng, "gm", "float32", 16384),
        random_memory(rng, "l0c", "float32", 4 * 48 * 64, undefined=0.2),
    ]
    operands[1].defined = np.repeat(operands[1].defined[::4], 4)
    check("Fixpipe", operands, params, "cube", move(params, [0] * columns))


def test_data_copy_takes_its_configuration_from_the_state(seed: int) -> None:
    rng = np.random.default_rng(seed)
    operands = [random_memory(rng, "gm", "float16", 16384), random_memory(rng, "l0c", "int32", 8192)]
    fill_source(rng, operands[1])
    params = {"mSize": 17, "nSize": 20, "srcStride": 32, "dstStride": 24, "quantPre": "DEQF16", "nz2ndEn": True}
    state = {"nd_count": 2, "source_nd_stride": 2, "target_nd_stride": 600, "quant_scalar": scale_bits(0.25)}
    expected = [memory.copy() for memory in operands]
    full = params | {"config": "ROW_MAJOR", "ndNum": 2, "srcNdStride": 2, "dstNdStride": 600}
    move(full, [scale_bits(0.25)] * 20)(expected)
    outputs, _ = execute("DataCopy", operands, params, "cube", "checked", state)
    assert np.array_equal(outputs[0].data, expected[0].data)


def test_data_copy_takes_scales_from_the_fixpipe_buffer(sample_rng: np.random.Generator) -> None:
    rng = sample_rng
    address = int(rng.integers(0, 4)) * 128
    scales = [scale_bits(float(s)) for s in rng.choice([0.5, 1.1e-3, 3.14159, 2.0**-14, 100.0], 32)]
    operands = [random_memory(rng, "gm", "float16", 16384), random_memory(rng, "l0c", "int32", 8192),
                given("fb", "uint64", np.array(scales, np.uint64), address)]  # fmt: skip
    fill_source(rng, operands[1])
    params = {"mSize": 17, "nSize": 20, "srcStride": 32, "dstStride": 24, "quantPre": "VDEQF16", "nz2ndEn": True}
    if rng.random() < 0.5:
        params |= {"nSize": 32, "dstStride": 40, "nz2ndEn": False}
    full = params | {
        "config": "ROW_MAJOR" if params["nz2ndEn"] else "NZ",
        "ndNum": 1,
        "srcNdStride": 0,
        "dstNdStride": 0,
    }
    for mode in ("fast", "checked"):
        expected = [memory.copy() for memory in operands]
        move(full, scales)(expected)
        outputs, _ = execute("DataCopy", operands, params, "cube", mode, {"quant_vector_address": address})
        assert np.array_equal(outputs[0].data, expected[0].data)
    # Columns without a scale in the buffer, and a buffer that nothing was written to.
    operands[2].defined[8 * 19 :] = 0
    text = refused_in_state("DataCopy", operands, params, {"quant_vector_address": address})
    assert "uninitialised" in text and "cbufWorkspace" in text


def refused_in_state(name: str, operands: list[Memory], params: dict[str, Any], state: dict[str, Any]) -> str:
    from ascend_attention import _core

    with pytest.raises(_core.SimulatorError) as caught:
        execute(name, operands, params, "cube", "checked", state)
    return str(caught.value)


@pytest.mark.parametrize("source_type", ["float32", "int32"])
def test_data_copy_rectifies(source_type: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    operands = [random_memory(rng, "gm", source_type, 4096), random_memory(rng, "l0c", source_type, 4096)]
    fill_source(rng, operands[1])
    params = {"mSize": 17, "nSize": 20, "srcStride": 32, "dstStride": 24, "reluPre": 1, "nz2ndEn": True}
    full = {"config": "ROW_MAJOR", "ndNum": 1, "srcNdStride": 0, "dstNdStride": 0, "quantPre": "NoQuant"}
    check("DataCopy", operands, params, "cube", move(params | full | {"reluEn": True}, [0] * 20))


def test_data_copy_splits_channels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    operands = [random_memory(rng, "gm", "float32", 4096), random_memory(rng, "l0c", "float32", 4096, undefined=0.2)]
    operands[1].defined = np.repeat(operands[1].defined[::4], 4)
    params = {"mSize": 17, "nSize": 24, "srcStride": 32, "dstStride": 19, "channelSplit": True}
    full = {"config": "NZ", "ndNum": 1, "srcNdStride": 0, "dstNdStride": 0, "quantPre": "NoQuant"}
    check("DataCopy", operands, params, "cube", move(params | full | {"isChannelSplit": True}, [0] * 24))
    refused("DataCopy", operands, params | {"nz2ndEn": True, "dstStride": 24}, "cube", "isChannelSplit is 1")


ATOMIC_MODES = {1: np.add, 2: np.maximum, 3: np.minimum}
ATOMIC_TARGETS = {"float32": ("float32", "NoQuant", 2), "int32": ("int32", "NoQuant", 8),
                  "float16": ("float32", "F322F16", 0), "bfloat16": ("float32", "F322BF16", 1)}  # fmt: skip


@pytest.mark.parametrize("target", ATOMIC_TARGETS)
@pytest.mark.parametrize("mode", ATOMIC_MODES)
def test_atomic_modes_apply_to_fixpipe_too(mode: int, target: str, seed: int) -> None:
    source, quant, number = ATOMIC_TARGETS[target]
    rng = np.random.default_rng(seed)
    before = (rng.standard_normal(256) * 1000).astype(DTYPES[target])
    products = (rng.standard_normal(256) * 1000).astype(DTYPES[source])
    operands = [given("gm", target, before), given("l0c", source, products)]
    state = {"atomic_mode": mode, "atomic_dtype": number}
    # One rounding to the stored type, then the operation in float and a second rounding.
    stored = products.astype(DTYPES[target])
    wide = np.int64 if target == "int32" else np.float32
    expected = ATOMIC_MODES[mode](before.astype(wide), stored.astype(wide)).astype(DTYPES[target])
    for run in ("fast", "checked"):
        outputs, _ = execute("Fixpipe", operands, GOOD | {"quantPre": quant}, "cube", run, state)
        assert np.array_equal(outputs[0].typed(), expected)
    wrong = state | {"atomic_dtype": 6}
    assert "dtype of the store" in refused_in_state("Fixpipe", operands, GOOD | {"quantPre": quant}, wrong)


def test_state_setters() -> None:
    nd = {"ndNum": 3, "srcNdStride": 5, "dstNdStride": 7}
    _, report = execute("SetFixpipeNz2ndFlag", [], nd, "cube")
    state = report["state"]
    assert (state["nd_count"], state["source_nd_stride"], state["target_nd_stride"]) == (3, 5, 7)
    _, report = execute("SetFixpipePreQuantFlag", [], {"config": 0x123456789}, "cube")
    assert report["state"]["quant_scalar"] == 0x123456789
    refused("SetFixpipeNz2ndFlag", [], nd | {"ndNum": 0}, "cube", "ndNum is 0")
    refused("SetFixpipeNz2ndFlag", [], nd | {"srcNdStride": 513}, "cube", "srcNdStride is 513")
    refused("SetFixpipeNz2ndFlag", [], nd | {"dstNdStride": 0}, "cube", "dstNdStride is 0")


def test_scales_are_set_from_the_fixpipe_buffer() -> None:
    for address in (0, 128, 1024):
        scales = given("fb", "uint64", np.zeros(16, np.uint64), address)
        _, report = execute("SetFixPipeConfig", [scales], {}, "cube")
        assert report["state"]["quant_vector_address"] == address
    for address in (32, 64):
        scales = given("fb", "uint64", np.zeros(16, np.uint64), address)
        refused("SetFixPipeConfig", [scales], {}, "cube", "multiple of 128")
    # Elsewhere a tensor only serves the call that clears the unit flags.
    in_l1 = given("l1", "uint64", np.zeros(16, np.uint64))
    refused("SetFixPipeConfig", [in_l1], {}, "cube", "memory of preTensor")
    _, report = execute(
        "SetFixPipeConfig", [in_l1], {"isUnitFlag": True}, "cube", "checked", {"quant_vector_address": 256}
    )
    assert report["state"]["quant_vector_address"] == 256


GOOD: dict[str, Any] = {"config": "ROW_MAJOR", "mSize": 16, "nSize": 16, "srcStride": 16, "dstStride": 16}
NZ: dict[str, Any] = GOOD | {"config": "NZ", "dstStride": 32}
BAD_PARAMETERS = [
    (GOOD | {"nSize": 4096, "dstStride": 4096}, "nSize is 4096"),
    (GOOD | {"mSize": 8193}, "mSize is 8193"),
    (NZ | {"mSize": 65536}, "mSize is 65536"),
    (GOOD | {"srcStride": 65536}, "srcStride is 65536"),
    (GOOD | {"dstStride": 0}, "dstStride is 0"),
    (GOOD | {"dstStride": 15}, "dstStride is 15"),
    (GOOD | {"ndNum": 2, "srcNdStride": 0, "dstNdStride": 1}, "srcNdStride is 0"),
    (GOOD | {"ndNum": 2, "srcNdStride": 513, "dstNdStride": 1}, "srcNdStride is 513"),
    (GOOD | {"ndNum": 2, "srcNdStride": 1, "dstNdStride": 0}, "dstNdStride is 0"),
    (GOOD | {"ndNum": 2, "srcNdStride": 1, "dstNdStride": 65536}, "dstNdStride is 65536"),
    (GOOD | {"isChannelSplit": True}, "isChannelSplit is 1"),
    (NZ | {"nSize": 8}, "nSize is 8"),
    (NZ | {"nSize": 4, "isChannelSplit": True}, "nSize is 4"),
    (NZ | {"isChannelSplit": True, "unitFlag": 3}, "unitFlag is 3"),
    (GOOD | {"unitFlag": 1}, "unitFlag is 1"),
    (GOOD | {"quantPre": "F322F16"}, "quantPre"),
    (GOOD | {"quantPre": "QF322B8_PRE"}, "quantPre"),
    (GOOD | {"nSize": 17, "dstStride": 17}, "src (L0C float32) reads bytes"),
    (GOOD | {"dstStride": 64}, "dst (GM float32) writes bytes"),
]


@pytest.mark.parametrize("mode", ["fast", "checked"])
@pytest.mark.parametrize(("params", "mentions"), BAD_PARAMETERS)
def test_limits(params: dict[str, Any], mentions: str, mode: str) -> None:
    operands = [
        given("gm", "float32", np.zeros(256, np.float32)),
        given("l0c", "float32", np.zeros(256, np.float32)),
    ]
    refused("Fixpipe", operands, params, "cube", mentions, mode)


def test_places() -> None:
    gm = given("gm", "float32", np.zeros(1024, np.float32))
    l0c = given("l0c", "float32", np.zeros(256, np.float32))
    refused("Fixpipe", [gm, given("l1", "float32", np.zeros(256, np.float32))], GOOD, "cube", "must lie in L0C")
    refused("Fixpipe", [given("l0a", "float32", np.zeros(256, np.float32)), l0c], GOOD, "cube", "memory of dst")
    shifted = given("l0c", "float32", np.zeros(256, np.float32), 32)
    refused("Fixpipe", [gm, shifted], GOOD, "cube", "multiple of 64")
    refused("Fixpipe", [given("gm", "float32", np.zeros(1024, np.float32), 4), l0c], NZ, "cube", "multiple of 32")


def test_scales() -> None:
    gm = given("gm", "float16", np.zeros(256, np.float16))
    l0c = given("l0c", "int32", np.zeros(256, np.int32))
    columns = given("l1", "uint64", np.full(16, scale_bits(1.0), np.uint64))
    vector = GOOD | {"quantPre": "VDEQF16"}
    refused("Fixpipe", [gm, l0c], vector, "cube", "cbufWorkspace")
    refused("Fixpipe", [gm, l0c, columns], GOOD | {"quantPre": "DEQF16"}, "cube", "cbufWorkspace")
    in_l0a = given("l0a", "uint64", columns.typed())
    refused("Fixpipe", [gm, l0c, in_l0a], vector, "cube", "must lie in L1")
    odd = given("l1", "uint64", columns.typed(), 16)
    refused("Fixpipe", [gm, l0c, odd], vector, "cube", "multiple of 32")
    scalar = GOOD | {"quantPre": "DEQF16"}
    refused("Fixpipe", [gm, l0c], scalar | {"deqScalar": scale_bits(np.inf)}, "cube", "scale is")


@pytest.mark.parametrize("kind", ["float16", "relu"])
def test_conversions_compute_so_undefined_values_are_reported(kind: str) -> None:
    operands = [
        given("gm", "float16" if kind == "float16" else "float32", np.zeros(1024, np.uint8)),
        given("l0c", "float32", np.zeros(256, np.float32)),
    ]
    operands[1].defined[700:704] = 0
    params = GOOD | ({"quantPre": "F322F16"} if kind == "float16" else {"reluEn": True})
    refused("Fixpipe", operands, params, "cube", "uninitialised")


@pytest.mark.parametrize("target", ["float16", "int8"])
def test_columns_of_whole_fractals_may_be_undefined(target: str) -> None:
    """nSize is rounded up on the way to L1: what no Mmad has defined stays undefined there."""
    columns, rows = 48, 5
    quant = {"float16": "F322F16", "int8": "QF322B8_PRE"}[target]
    size = {"float16": 2, "int8": 1}[target]
    l1 = given("l1", target, np.zeros(columns * rows * size, np.uint8).view(target))
    l0c = given("l0c", "float32", np.ones(3 * 16 * 16, np.float32))
    source = np.ones((3, 16, 16), bool)
    source[2, :, 9:] = False
    source[1, 3, 4] = False
    l0c.defined[:] = np.repeat(source.reshape(-1), 4)
    params = NZ | {"nSize": columns, "mSize": rows, "srcStride": 16, "quantPre": quant, "deqScalar": scale_bits(1.0)}
    params["dstStride"] = rows * 16 * size // 32 if target == "float16" else rows
    out, report = execute("Fixpipe", [l1, l0c], params, "cube", "checked")
    assert report["findings"] == []
    defined = source[:, :rows].transpose(1, 0, 2).reshape(rows, columns)
    pieces = [(0, 16), (16, 32), (32, 48)] if target == "float16" else [(0, 32), (32, 48)]
    expected = np.concatenate([defined[:, slice(*piece)].reshape(-1) for piece in pieces])
    np.testing.assert_array_equal(out[0].defined, np.repeat(expected, size))


def hand_over(steps: list[tuple[str, dict[str, Any]]], mode: str = "checked") -> tuple[list[Memory], dict[str, Any]]:
    operands = hand_over_operands()
    return execute("MmadFixpipe", operands, {"steps": steps}, "cube", mode)


def hand_over_operands() -> list[Memory]:
    ones = np.ones(512, np.float16)
    return [
        given("gm", "float32", np.zeros(32 * 16, np.float32)),
        Memory("l0c", "float32", np.zeros(2048, np.uint8), np.zeros(2048, np.uint8)),
        given("l0a", "float16", ones),
        given("l0b", "float16", ones),
    ]


def mmad(flag: int, **more: Any) -> tuple[str, dict[str, Any]]:
    return "Mmad", {"m": 32, "n": 16, "k": 16, "unitFlag": flag} | more


def fixpipe(flag: int) -> tuple[str, dict[str, Any]]:
    return "Fixpipe", {"mSize": 32, "nSize": 16, "srcStride": 32, "dstStride": 16, "unitFlag": flag}


# With each: how often one pipe writes the same place twice without a barrier. The documentation leaves that order open,
# so it is reported as such and nothing else may be.
GOOD_ORDERS = [
    ([mmad(3), fixpipe(3)], []),
    ([mmad(3), fixpipe(2), fixpipe(3)], ["FIX"]),
    ([mmad(3), fixpipe(3), mmad(3), fixpipe(3)], []),  # the second round waits for the first
    ([mmad(3), ("clear", {}), mmad(3), fixpipe(3)], ["M"]),
]


@pytest.mark.parametrize(("steps", "open_orders"), GOOD_ORDERS)
def test_unit_flags_order_mmad_and_fixpipe(steps: list[Any], open_orders: list[str]) -> None:
    """No event, no barrier: in checked mode this is a race unless the flags order the two pipes."""
    outputs, report = hand_over(steps)
    findings = report["findings"]
    assert [finding["severity"] for finding in findings] == ["undocumented order"] * len(open_orders)
    for finding, pipe in zip(findings, open_orders, strict=True):
        assert f"PipeBarrier<PIPE_{pipe}> would order them" in finding["text"]
    assert (outputs[0].typed() == 16).all()


def test_without_unit_flags_the_same_program_is_a_race() -> None:
    from ascend_attention import _core

    with pytest.raises(_core.SimulatorError, match="Mmad"):
        hand_over([mmad(0), fixpipe(0)])


BAD_ORDERS = [
    ([fixpipe(3)], "waits forever"),
    ([mmad(2), fixpipe(3)], "waits forever"),
    ([mmad(3), fixpipe(3), fixpipe(3)], "waits forever"),
    ([mmad(3), ("clear", {}), fixpipe(3)], "waits forever"),
    ([mmad(3), mmad(3)], "still set"),
    ([mmad(3), fixpipe(2), mmad(3)], "still set"),
]


@pytest.mark.parametrize("mode", ["fast", "checked"])
@pytest.mark.parametrize(("steps", "mentions"), BAD_ORDERS)
def test_flags_out_of_step_are_reported(steps: list[Any], mentions: str, mode: str) -> None:
    refused("MmadFixpipe", hand_over_operands(), {"steps": steps}, "cube", mentions, mode)
