# SPDX-License-Identifier: Apache-2.0
"""The documented limits of the vector instructions: each check has a call that it refuses and a twin that it accepts.
What calls leave in the mask register."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.single_instruction import DTYPES, Memory, execute, given, refused
from helpers.vector_lanes import ALL, scalar_bits

HALF, FLOAT, INT32 = "float16", "float32", "int32"
REPEAT_FORM = {"mask": 8, "repeatTimes": 1}


def zeros(dtype: str, address: int, count: int = 1024) -> Memory:
    return given("ub", dtype, np.zeros(count, DTYPES[dtype]), address)


def operands_of(name: str, dtype: str = FLOAT) -> list[Memory]:
    """Legal operands of one instruction, 8 KiB apart."""
    counts = {"Add": 3, "Exp": 2, "Adds": 2, "Duplicate": 1, "CreateVecIndex": 1, "Copy": 2, "Brcb": 2, "Cast": 2,
              "Compare": 3, "CompareScalar": 2, "Select": 4, "WholeReduceSum": 2, "WholeReduceMax": 2,
              "BlockReduceMax": 2, "PairReduceSum": 2, "Gather": 3, "MulAddDst": 3, "Axpy": 2}  # fmt: skip
    memories = [zeros(dtype, 8192 * i) for i in range(counts[name])]
    if name in ("Compare", "CompareScalar"):
        memories[0] = zeros("uint8", 0)
    if name == "Select":
        memories[3] = zeros("uint8", 8192 * 3)
    if name == "Gather":
        memories[2] = zeros("uint32", 8192 * 2)
    if name == "Cast":
        memories[0] = zeros(HALF, 0)
    return memories


EXTRA: dict[str, dict[str, Any]] = {"Cast": {"round_mode": 1}, "Select": {"selMode": 2}}
MASKED = ["Add", "Exp", "Adds", "Duplicate", "CreateVecIndex", "Copy", "Cast", "Select", "WholeReduceSum",
          "BlockReduceMax", "PairReduceSum", "Gather", "MulAddDst", "Axpy"]  # fmt: skip


@pytest.mark.parametrize("name", [*MASKED, "Brcb", "Compare", "CompareScalar"])
def test_repeat_times(name: str) -> None:
    mask = {} if name == "Brcb" else {"mask": 8}
    stride = {"dstRepStride": 0} if name not in ("Compare", "CompareScalar") else {}
    two = ("src0", "src1")
    sources = {"Add": two, "MulAddDst": two, "Select": two, "Compare": two,
               "Duplicate": (), "CreateVecIndex": (), "Brcb": (), "Gather": ()}  # fmt: skip
    for prefix in sources.get(name, ("src",)):
        stride |= {f"{prefix}RepStride": 0}
    if name in ("MulAddDst", "Axpy"):
        del stride["dstRepStride"]
    call = mask | EXTRA.get(name, {}) | stride
    for repeat in (256, -1):
        refused(name, operands_of(name), call | {"repeatTimes": repeat}, "vector", "repeatTimes", "fast")
    accepted = operands_of(name)
    execute(name, accepted, call | {"repeatTimes": 2}, "vector", "fast")
    # No repeats: nothing happens.
    before = [m.data.copy() for m in accepted]
    out, report = execute(name, accepted, call | {"repeatTimes": 0}, "vector")
    assert all(np.array_equal(a.data, b) for a, b in zip(out, before, strict=True)) and not report["findings"]


@pytest.mark.parametrize("name", MASKED)
def test_mask_lanes(name: str) -> None:
    for dtype in (HALF, FLOAT):
        if name == "Cast" and dtype == HALF:
            continue
        lanes = 256 // DTYPES[dtype].itemsize
        call = EXTRA.get(name, {}) | {"repeatTimes": 1}
        refused(name, operands_of(name, dtype), call | {"mask": lanes + 1}, "vector", "mask", "fast")
        execute(name, operands_of(name, dtype), call | {"mask": lanes}, "vector", "fast")
        out, _ = execute(name, operands_of(name, dtype), call | {"mask": 0}, "vector")
        assert not out[0].data.any()


@pytest.mark.parametrize("name", [n for n in MASKED if n != "Copy"])
def test_negative_count(name: str) -> None:
    refused(name, operands_of(name), EXTRA.get(name, {}) | {"calCount": -1}, "vector", "calCount", "fast")


@pytest.mark.parametrize("name", [n for n in MASKED if n not in ("CreateVecIndex", "Gather")])
def test_unspecified_mask_register(name: str) -> None:
    """isSetMask=false after a call that left the register unspecified."""
    call = EXTRA.get(name, {}) | {"isSetMask": False, "repeatTimes": 1}
    from ascend_attention import _core

    listed = [(m.space, m.dtype, m.data, m.address) for m in operands_of(name)]
    with pytest.raises(_core.SimulatorError, match="mask register"):
        _core.sim.execute(name, listed, call, "vector", "fast", {"mask_specified": False})
    _core.sim.execute(name, listed, call, "vector", "fast", {"mask_specified": True, "mask": (1, 0)})


@pytest.mark.parametrize("name", [n for n in MASKED if n != "Copy"])
def test_lane_count_in_counter_mode(name: str) -> None:
    """The device turns a lane count into bits, and counter mode would take those for an element count."""
    from ascend_attention import _core

    listed = [(m.space, m.dtype, m.data, m.address) for m in operands_of(name)]
    call = EXTRA.get(name, {}) | {"repeatTimes": 1}
    with pytest.raises(_core.SimulatorError, match="in counter mode"):
        _core.sim.execute(name, listed, call | {"mask": 8}, "vector", "fast", {"counter_mode": True})
    _core.sim.execute(name, listed, call | {"mask": [8, 0]}, "vector", "fast", {"counter_mode": True})


def test_element_counts_in_counter_mode() -> None:
    """Most instructions take the whole count; Copy, which keeps its repeats, at most a repeat's elements."""
    from ascend_attention import _core

    def run(name: str, dtype: str, count: int) -> None:
        listed = [(m.space, m.dtype, m.data, m.address) for m in operands_of(name, dtype)]
        call = {"mask": [count, 0], "repeatTimes": 1}
        _core.sim.execute(name, listed, call, "vector", "fast", {"counter_mode": True})

    run("Exp", FLOAT, 1024)
    with pytest.raises(_core.SimulatorError, match=r"element count in counter mode\) is 2147483648"):
        run("Exp", FLOAT, 2**31)
    for dtype, lanes in ((HALF, 128), (FLOAT, 64)):
        run("Copy", dtype, lanes + 1)
        with pytest.raises(_core.SimulatorError, match=r"element count in counter mode\) is 2147483648"):
            run("Copy", dtype, 2**31)


@pytest.mark.parametrize("name", ["WholeReduceMax", "WholeReduceMin"])
def test_reduce_orders_end_at_only_index(name: str) -> None:
    operands = operands_of("WholeReduceMax")
    execute(name, operands, REPEAT_FORM | {"order": 3}, "vector", "fast")
    refused(name, operands, REPEAT_FORM | {"order": 4}, "vector", "order is 4", "fast")


@pytest.mark.parametrize("name", ["Add", "Exp", "Adds", "Duplicate", "CreateVecIndex", "Cast", "Select", "Brcb",
                                  "MulAddDst", "Axpy"])  # fmt: skip
def test_destination_block_stride(name: str) -> None:
    call = EXTRA.get(name, {}) | ({} if name == "Brcb" else {"mask": 8}) | {"repeatTimes": 1}
    refused(name, operands_of(name), call | {"dstBlkStride": 0}, "vector", "dstBlkStride", "fast")
    execute(name, operands_of(name), call | {"dstBlkStride": 1}, "vector", "fast")


@pytest.mark.parametrize(
    ("name", "stride", "most"),
    [
        ("Add", "dstBlkStride", 255),
        ("Add", "src0BlkStride", 255),
        ("Add", "src1BlkStride", 255),
        ("Add", "dstRepStride", 255),
        ("Add", "src0RepStride", 255),
        ("Exp", "dstRepStride", 255),
        ("Exp", "srcRepStride", 255),
        ("Exp", "srcBlkStride", 65535),
        ("Adds", "srcRepStride", 255),
        ("Cast", "dstRepStride", 255),
        ("Copy", "dstRepStride", 4095),
        ("Copy", "srcRepStride", 4095),
        ("Copy", "dstBlkStride", 65535),
        ("WholeReduceSum", "dstRepStride", 65535),
        ("WholeReduceSum", "srcBlkStride", 65535),
        ("BlockReduceMax", "srcRepStride", 65535),
        ("Gather", "dstRepStride", 65535),
    ],
)
def test_stride_ranges(name: str, stride: str, most: int) -> None:
    call = EXTRA.get(name, {}) | {"mask": 1, "repeatTimes": 1}
    refused(name, operands_of(name), call | {stride: most + 1}, "vector", "tride", "fast")
    refused(name, operands_of(name), call | {stride: -1}, "vector", "tride", "fast")
    execute(name, operands_of(name), call | {stride: most}, "vector", "fast")


@pytest.mark.parametrize("name", [*MASKED, "Brcb", "Compare", "CompareScalar"])
def test_alignment_and_memory(name: str) -> None:
    """UB operands start at multiples of 32 bytes; the results of reductions have rules of their own."""
    call = dict(EXTRA.get(name, {}))
    if name in ("Compare", "CompareScalar"):
        call |= {"calCount": 64}
    elif name == "Brcb":
        call |= {"repeatTimes": 1}
    else:
        call |= REPEAT_FORM
    for index in range(len(operands_of(name))):
        reduces = "Reduce" in name and index == 0
        if not reduces:
            moved = operands_of(name)
            moved[index].address += 16
            refused(name, moved, call, "vector", "multiple of 32", "fast")
        elsewhere = operands_of(name)
        elsewhere[index].space, elsewhere[index].address = "gm", 0
        refused(name, elsewhere, call, "vector", "must lie in", "fast")


@pytest.mark.parametrize(
    ("name", "dtype", "order", "alignment"),
    [
        ("WholeReduceSum", HALF, 0, 2),
        ("WholeReduceSum", FLOAT, 0, 4),
        ("WholeReduceMax", HALF, 0, 4),
        ("WholeReduceMax", HALF, 2, 2),
        ("WholeReduceMax", HALF, 3, 4),
        ("WholeReduceMax", FLOAT, 1, 8),
        ("WholeReduceMax", FLOAT, 2, 4),
        ("WholeReduceMax", FLOAT, 3, 4),
        ("BlockReduceMax", HALF, 0, 16),
        ("BlockReduceMax", FLOAT, 0, 32),
        ("PairReduceSum", FLOAT, 0, 32),
    ],
)
def test_reduction_results_are_aligned(name: str, dtype: str, order: int, alignment: int) -> None:
    for address in (alignment, 3 * alignment):
        memories = operands_of(name, dtype)
        memories[0].address = address
        execute(name, memories, REPEAT_FORM | {"order": order}, "vector", "fast")
        memories[0].address = address + alignment // 2
        refused(name, memories, REPEAT_FORM | {"order": order}, "vector", f"multiple of {alignment}", "fast")


DTYPE_RULES = {
    "Add": {HALF, FLOAT, "int16", INT32},
    "Div": {HALF, FLOAT},
    "And": {"int16", "uint16"},
    "AddRelu": {HALF, FLOAT, "int16"},
    "FusedMulAdd": {HALF, FLOAT},
    "Exp": {HALF, FLOAT},
    "Relu": {HALF, FLOAT, INT32},
    "Not": {"int16", "uint16"},
    "Adds": {HALF, FLOAT, "int16", INT32},
    "ShiftLeft": {"int16", "uint16", INT32, "uint32"},
    "LeakyRelu": {HALF, FLOAT},
    "Duplicate": {HALF, "bfloat16", FLOAT, "int16", "uint16", INT32, "uint32"},
    "CreateVecIndex": {HALF, FLOAT, "int16", INT32},
    "Brcb": {HALF, "bfloat16", FLOAT, "int16", "uint16", INT32, "uint32"},
    "WholeReduceSum": {HALF, FLOAT},
    "BlockReduceMin": {HALF, FLOAT},
    "PairReduceSum": {HALF, FLOAT},
    "Compare": {HALF, FLOAT, INT32},
    "Select": {HALF, FLOAT},
}


@pytest.mark.parametrize("name", list(DTYPE_RULES))
def test_element_types(name: str) -> None:
    counts = {"Add": 3, "Div": 3, "And": 3, "AddRelu": 3, "FusedMulAdd": 3, "Duplicate": 1, "CreateVecIndex": 1,
              "Compare": 3, "Select": 4}  # fmt: skip
    call: dict[str, Any] = {"calCount": 128} if "Reduce" not in name else {"mask": 8, "repeatTimes": 1}
    if name == "Brcb":
        call = {"repeatTimes": 1}
    if name == "Compare":
        call |= {"cmpMode": 2}
    for dtype in DTYPES:
        memories = [zeros(dtype, 8192 * i) for i in range(counts.get(name, 2))]
        if name == "Compare":
            memories[0] = zeros("uint8", 0)
        if name == "Select":
            memories[3] = zeros("uint8", 8192 * 3)
        if dtype in DTYPE_RULES[name]:
            execute(name, memories, call, "vector", "fast")
        else:
            refused(name, memories, call, "vector", "dtype", "fast")


@pytest.mark.parametrize("name", ["Add", "Exp", "Adds", "Copy", "Brcb", "WholeReduceSum", "MulAddDst", "Axpy"])
def test_one_type_for_all_operands(name: str) -> None:
    call = {"repeatTimes": 1} if name == "Brcb" else REPEAT_FORM
    memories = operands_of(name)
    memories[0].dtype = HALF
    refused(name, memories, call, "vector", "dtype", "fast")


def test_shift_distance() -> None:
    for dtype, width in (("int16", 16), ("uint16", 16), (INT32, 32), ("uint32", 32)):
        memories = [zeros(dtype, 0), zeros(dtype, 8192)]
        for name in ("ShiftLeft", "ShiftRight"):
            execute(name, memories, {"calCount": 8, "scalarValue": width}, "vector", "fast")
            refused(name, memories, {"calCount": 8, "scalarValue": width + 1}, "vector", "scalarValue", "fast")
        if dtype.startswith("int"):
            negative = scalar_bits(dtype, -1)
            refused("ShiftRight", memories, {"calCount": 8, "scalarValue": negative}, "vector", "scalarValue", "fast")


def test_select_keeps_clear_of_its_temporary_data() -> None:
    """Modes 1 and 2 use the last 8 KiB of UB; mode 0 does not."""
    top = 184 * 1024
    memories = [zeros(FLOAT, top, 64), zeros(FLOAT, 0, 64), zeros(FLOAT, 1024, 64), zeros("uint8", 2048, 32)]
    refused("Select", memories, {"calCount": 64, "selMode": 2}, "vector", "last 8 KiB")
    execute("Select", memories, {"calCount": 64, "selMode": 0}, "vector")
    memories[0].address = top - 256
    execute("Select", memories, {"calCount": 64, "selMode": 2}, "vector")


# ---- bounds and initialisation ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["fast", "checked"])
def test_bounds_follow_the_active_lanes(mode: str) -> None:
    dst, src = zeros(FLOAT, 0, 1024), zeros(FLOAT, 8192, 100)
    execute("Exp", [dst, src], {"calCount": 100}, "vector", mode)
    refused("Exp", [dst, src], {"calCount": 101}, "vector", "reads bytes", mode)
    # Lanes 36.. of the second repeat lie outside, but are not active.
    execute("Exp", [dst, src], {"mask": 36, "repeatTimes": 2}, "vector", mode)
    refused("Exp", [dst, src], {"mask": 37, "repeatTimes": 2}, "vector", "reads bytes", mode)
    short = zeros(FLOAT, 0, 99)
    refused("Exp", [short, src], {"calCount": 100}, "vector", "writes bytes", mode)


@pytest.mark.parametrize("name", ["Add", "Exp", "Adds", "Cast", "WholeReduceSum", "Compare", "MulAddDst", "Axpy"])
def test_uninitialised_lanes(name: str) -> None:
    call = EXTRA.get(name, {}) | ({"calCount": 64} if name == "Compare" else {"mask": 64, "repeatTimes": 1})
    for index in range(1, len(operands_of(name))):
        memories = operands_of(name)
        memories[index].defined[63 * 4] = 0
        refused(name, memories, call, "vector", "src")
        execute(name, memories, call, "vector", "fast")
        if name != "Compare":
            execute(name, memories, call | {"mask": 63}, "vector")


# ---- the mask register -----------------------------------------------------------------------------------------


def state_after(name: str, params: dict[str, Any], state: dict[str, Any] | None = None) -> dict[str, Any]:
    memories = operands_of(name) if name in ("Add", "Compare") else []
    _, report = execute(name, memories, params, "vector", "checked", state)
    return report["state"]


def test_mask_state() -> None:
    counter = {"counter_mode": True, "mask": (5, 0), "mask_specified": True}
    assert state_after("SetMaskCount", {})["counter_mode"] is True
    assert state_after("SetMaskNorm", {}, counter)["counter_mode"] is False
    after = state_after("SetVectorMask", {"maskLow": 3, "maskHigh": 9}, {"mask_specified": False})
    assert after["mask"] == (3, 9) and after["mask_specified"] is True
    after = state_after("ResetMask", {}, {"mask": (1, 0), "mask_specified": False})
    assert after["mask"] == (ALL, ALL) and after["mask_specified"] is True
    # The element-count forms end in normal mode; the register is then unspecified.
    after = state_after("Add", {"calCount": 100}, counter)
    assert after["counter_mode"] is False and after["mask_specified"] is False
    # isSetMask = true stays in its mode but sets the register.
    after = state_after("Add", {"mask": [7, 0], "repeatTimes": 1}, counter)
    assert after["counter_mode"] is True and after["mask_specified"] is False
    # isSetMask = false and Compare leave everything alone.
    assert state_after("Add", {"isSetMask": False}, counter)["mask_specified"] is True
    after = state_after("Compare", {"calCount": 64}, counter)
    assert after["counter_mode"] is True and after["mask_specified"] is True and after["mask"] == (5, 0)


@pytest.mark.parametrize(("bytes_", "lanes"), [(2, 128), (4, 64), (8, 32)])
def test_set_vector_mask_lanes(bytes_: int, lanes: int) -> None:
    for length in (0, 1, lanes // 2, lanes):
        after = state_after("SetVectorMask", {"len": length, "elementBytes": bytes_})
        bits = (1 << length) - 1
        assert after["mask"] == (bits & ALL, bits >> 64)
    refused("SetVectorMask", [], {"len": lanes + 1, "elementBytes": bytes_}, "vector", "len")
    refused("SetVectorMask", [], {"len": -1, "elementBytes": bytes_}, "vector", "len")
    after = state_after("SetVectorMask", {"len": 5000, "elementBytes": bytes_, "counter": True})
    assert after["mask"] == (5000, 0)
