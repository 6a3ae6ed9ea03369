# SPDX-License-Identifier: Apache-2.0
"""Compare packs one bit per element; Select consumes such bits."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest
from helpers.single_instruction import DTYPES, Memory, execute, given, refused
from helpers.vector_lanes import (
    FORMS,
    Form,
    Operand,
    compare_typed,
    draw_call,
    draw_form,
    draw_strides,
    element,
    offsets,
    place,
    scalar_bits,
    values,
)

HALF, FLOAT, INT32 = "float16", "float32", "int32"
MODES = [operator.lt, operator.gt, operator.eq, operator.le, operator.ge, operator.ne]
EQ = 2


def whole_repeats(rng: np.random.Generator, lanes: int, kind: str) -> Form:
    """The mask has no effect on these calls: all lanes of all repeats."""
    repeats = int(rng.integers(1, 6))
    index = np.arange(repeats * lanes)
    if kind == "count":
        return Form({"calCount": repeats * lanes}, index // lanes, index % lanes)
    mask: Any = int(rng.integers(0, lanes + 1)) if kind == "lanes" else [int(rng.integers(0, 1 << 40)), 0]
    return Form({"mask": mask, "repeatTimes": repeats}, index // lanes, index % lanes)


def check_bits(name: str, form: Form, sources: list[Operand], params: dict[str, Any], expected: np.ndarray) -> None:
    rng = np.random.default_rng(expected.size)
    call = form.params | params
    if not form.packed:
        for operand in sources:
            call |= {f"{operand.prefix}BlkStride": operand.block, f"{operand.prefix}RepStride": operand.repeat}
        call |= {"dstRepStride": int(rng.integers(1, 20))}  # has no effect: results are packed
    packed = np.packbits(expected, bitorder="little")
    dst = Memory("ub", "uint8", rng.integers(0, 256, 1024, np.uint8), np.zeros(1024, np.uint8), 0)
    for mode in ("fast", "checked"):
        actual, _ = execute(name, [dst, *(s.memory for s in sources)], call, "vector", mode, form.state)
        what = f"{name} {call} {mode}"
        assert np.array_equal(actual[0].data[: packed.size], packed), what
        if mode == "checked":
            assert actual[0].defined[: packed.size].all() and not actual[0].defined[packed.size :].any(), what


@pytest.mark.parametrize("mode", range(6))
@pytest.mark.parametrize("kind", ["count", "lanes", "bits"])
@pytest.mark.parametrize("dtype", [HALF, FLOAT, INT32])
def test_compare(dtype: str, kind: str, mode: int, seed: int) -> None:
    if dtype == INT32 and mode != EQ:
        zeros = given("ub", INT32, np.zeros(64, np.int32), 1024)
        refused("Compare", [given("ub", "uint8", np.zeros(32, np.uint8)), zeros, zeros],
                {"calCount": 64, "cmpMode": mode}, "vector", "EQ for int32")  # fmt: skip
        return
    rng = np.random.default_rng(seed)
    lanes = 256 // DTYPES[dtype].itemsize
    form = whole_repeats(rng, lanes, kind)
    sources = [Operand(dtype, "src0"), Operand(dtype, "src1")]
    address = 1024
    for source in sources:
        source.block, source.repeat = (1, 8) if form.packed else draw_strides(rng, 8, True)
        address = place(rng, source, form, address, True)
    # Equal pairs must occur.
    first, second = (s.memory.data.view(DTYPES[dtype]) for s in sources)
    common = min(first.size, second.size)
    second[:common] = np.where(rng.random(common) < 0.4, first[:common], second[:common])
    with np.errstate(all="ignore"):
        expected = MODES[mode](element(sources[0]), element(sources[1]))
    check_bits("Compare", form, sources, {"cmpMode": mode}, expected)


@pytest.mark.parametrize("mode", range(6))
@pytest.mark.parametrize("kind", ["count", "lanes", "bits"])
@pytest.mark.parametrize("dtype", [HALF, FLOAT, INT32])
def test_compare_scalar(dtype: str, kind: str, mode: int, seed: int) -> None:
    if dtype == INT32:
        mode = EQ
    rng = np.random.default_rng(seed)
    form = whole_repeats(rng, 256 // DTYPES[dtype].itemsize, kind)
    source = Operand(dtype, "src")
    source.block, source.repeat = (1, 8) if form.packed else draw_strides(rng, 8, True)
    place(rng, source, form, 1024, True)
    scalar = element(source)[0] if rng.random() < 0.5 else values(rng, dtype, 1)[0]
    with np.errstate(all="ignore"):
        expected = MODES[mode](element(source), scalar)
    params = {"cmpMode": mode, "scalarValue": scalar_bits(dtype, scalar)}
    check_bits("CompareScalar", form, [source], params, expected)


def test_compare_count_is_a_multiple_of_256_bytes() -> None:
    for dtype, lanes in ((HALF, 128), (FLOAT, 64)):
        source = given("ub", dtype, np.zeros(256, DTYPES[dtype]), 1024)
        dst = given("ub", "uint8", np.zeros(64, np.uint8))
        for count in (1, lanes - 1, lanes + 8):
            refused("Compare", [dst, source, source], {"calCount": count}, "vector", "256 bytes")
            refused("CompareScalar", [dst, source], {"calCount": count}, "vector", "256 bytes")


@pytest.mark.parametrize("dtype", [HALF, FLOAT])
def test_compare_to_register(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lanes = 256 // DTYPES[dtype].itemsize
    for mask in (lanes, 5, [0x00FF00FF00FF00FF, 0xF0F0]):
        data = [values(rng, dtype, lanes) for _ in range(2)]
        operands = [given("ub", "uint8", np.zeros(16, np.uint8), 0), *(
            given("ub", dtype, x, 1024 * (i + 1)) for i, x in enumerate(data))]  # fmt: skip
        out, _ = execute("CompareToRegister", operands, {"mask": mask, "cmpMode": 0}, "vector")
        with np.errstate(all="ignore"):
            less = data[0] < data[1]
        active = [i < mask if isinstance(mask, int) else bool(mask[i // 64] >> (i % 64) & 1) for i in range(lanes)]
        expected = np.zeros(128, bool)
        expected[:lanes] = less & np.array(active)
        assert np.array_equal(out[0].data, np.packbits(expected, bitorder="little"))


@pytest.mark.parametrize("mode", ["fast", "checked"])
def test_compare_modes_end_at_ne(mode: str) -> None:
    source = given("ub", FLOAT, np.zeros(64, np.float32), 1024)
    dst = given("ub", "uint8", np.zeros(32, np.uint8))
    for name, operands, form in (
        ("Compare", [dst, source, source], {"calCount": 64}),
        ("CompareScalar", [dst, source], {"calCount": 64}),
        ("CompareToRegister", [dst, source, source], {"mask": 64}),
    ):
        execute(name, operands, form | {"cmpMode": 5}, "vector", mode)
        refused(name, operands, form | {"cmpMode": 6}, "vector", "cmpMode is 6", mode)


def test_compare_to_register_is_one_repeat() -> None:
    """In counter mode the mask is an element count, which may ask for more than the register holds."""
    from ascend_attention import _core

    for dtype, lanes in ((HALF, 128), (FLOAT, 64)):
        listed = [("ub", "uint8", np.zeros(16, np.uint8), 0), ("ub", dtype, np.zeros(1024, np.uint8), 1024),
                  ("ub", dtype, np.zeros(1024, np.uint8), 2048)]  # fmt: skip
        counter = {"counter_mode": True}
        _core.sim.execute("CompareToRegister", listed, {"mask": [lanes, 0]}, "vector", "checked", counter)
        with pytest.raises(_core.SimulatorError, match="one repeat"):
            _core.sim.execute("CompareToRegister", listed, {"mask": [lanes + 1, 0]}, "vector", "checked", counter)


def test_compare_mask_goes_to_and_fro(seed: int) -> None:
    """SetCmpMask and GetCmpMask move 16 bytes, at multiples of 16."""
    bits = np.random.default_rng(seed).integers(0, 256, 16, np.uint8)
    for to, source in ((0, 1024), (16, 1040)):
        operands = [given("ub", "uint8", np.zeros(16, np.uint8), to), given("ub", "uint8", bits, source)]
        out, _ = execute("CmpMask", operands, {}, "vector")
        assert np.array_equal(out[0].data, bits)
    for index, name in ((0, "dst"), (1, "src")):
        for shift in (1, 8):
            operands = [given("ub", "uint8", np.zeros(16, np.uint8), 0), given("ub", "uint8", bits, 1024)]
            operands[index].address += shift
            refused("CmpMask", operands, {}, "vector", f"{name} (UB uint8)")
        operands = [given("ub", "uint8", np.zeros(16, np.uint8), 0), given("ub", "uint8", bits, 1024)]
        operands[index].space, operands[index].address = "gm", 0
        refused("CmpMask", operands, {}, "vector", "must lie in UB")


SAME_BITS, SCALAR, TENSOR = range(3)


@pytest.mark.parametrize("select", [SAME_BITS, SCALAR, TENSOR])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [HALF, FLOAT])
def test_select(dtype: str, form: str, select: int, seed: int) -> None:
    """Only the chosen side counts: the other may be undefined, and an undefined choice stays undefined."""
    rng = np.random.default_rng(seed)
    lanes, size = 256 // DTYPES[dtype].itemsize, DTYPES[dtype].itemsize
    for _ in range(2):
        dst, sources, drawn = draw_call(
            rng, form, dtype, [dtype] if select == SCALAR else [dtype, dtype], distinct=True
        )
        for source in sources:
            source.memory.defined[:] = np.repeat(rng.random(source.memory.data.size // size) < 0.7, size)
        bit_count = (int(drawn.repeat.max()) + 1) * lanes if drawn.repeat.size else lanes
        bits = rng.integers(0, 256, bit_count // 8, np.uint8)
        position = drawn.lane if select == SAME_BITS else drawn.repeat * lanes + drawn.lane
        chosen = (bits[position // 8] >> (position % 8) & 1).astype(bool)
        scalar = values(rng, dtype, 1)[0]
        other = np.full(chosen.shape, scalar) if select == SCALAR else element(sources[1])
        result = np.where(chosen, element(sources[0]), other)
        first_ok = sources[0].memory.defined[sources[0].at]
        second_ok = np.ones(chosen.shape, np.uint8) if select == SCALAR else sources[1].memory.defined[sources[1].at]
        call = drawn.params | {"selMode": select, "scalarValue": scalar_bits(dtype, scalar)}
        if not drawn.packed:
            for operand in [dst, *sources]:
                call |= {f"{operand.prefix}BlkStride": operand.block, f"{operand.prefix}RepStride": operand.repeat}
        selector = given("ub", "uint8", bits, 131072)
        where = dst.at[:, None] + np.arange(size)
        expected = dst.memory.copy()
        expected.data[where] = np.ascontiguousarray(result).view(np.uint8).reshape(-1, size)
        expected.defined[where] = np.where(chosen, first_ok, second_ok)[:, None]
        for mode in ("fast", "checked"):
            operands = [dst.memory, *(s.memory for s in sources), selector]
            actual, _ = execute("Select", operands, call, "vector", mode, drawn.state)
            what = f"Select {call} {mode}"
            live = expected.defined == 1
            if mode == "checked":
                assert np.array_equal(actual[0].defined, expected.defined), what
            assert np.array_equal(actual[0].data[live], expected.data[live]), what


@pytest.mark.parametrize("dtype", [HALF, FLOAT])
def test_select_from_register(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lanes = 256 // DTYPES[dtype].itemsize
    state = {"mask": [(1 << 64) - 1] * 2, "mask_specified": True}
    first, second = values(rng, dtype, 3 * lanes), values(rng, dtype, 3 * lanes)
    bits = rng.integers(0, 256, 16, np.uint8)
    chosen = np.tile(np.unpackbits(bits, bitorder="little")[:lanes].astype(bool), 3)
    operands = [given("ub", dtype, np.zeros(3 * lanes, DTYPES[dtype])), given("ub", dtype, first, 1024),
                given("ub", dtype, second, 2048), given("ub", "uint8", bits, 4096)]  # fmt: skip
    params = {"isSetMask": False, "repeatTimes": 3, "selMode": -1}
    out, _ = execute("Select", operands, params, "vector", "checked", state)
    compare_typed("Select", out[0].typed(), np.where(chosen, first, second), dtype)
    # Mode 1: bits from the tensor, the scalar from the register.
    selector = given("ub", "uint8", np.resize(bits, 3 * lanes // 8), 8192)
    register = given("ub", dtype, np.full(16 // DTYPES[dtype].itemsize, 3.5, DTYPES[dtype]), 4096)
    chosen = np.unpackbits(selector.data, bitorder="little").astype(bool)
    params = {"isSetMask": False, "repeatTimes": 3, "selMode": -2}
    out, _ = execute("Select", [operands[0], operands[1], selector, register], params, "vector", "checked", state)
    compare_typed("Select", out[0].typed(), np.where(chosen, first, DTYPES[dtype].type(3.5)), dtype)


def test_select_reads_no_bit_beyond_its_lanes(seed: int) -> None:
    """70 elements use 9 bytes of the selector; the tenth may be undefined, the ninth may not."""
    rng = np.random.default_rng(seed)
    data = given("ub", FLOAT, rng.standard_normal(70).astype(np.float32), 1024)
    dst = given("ub", FLOAT, np.zeros(70, np.float32))
    selector = given("ub", "uint8", rng.integers(0, 256, 10, np.uint8), 4096)
    selector.defined[9:] = 0
    params = {"calCount": 70, "selMode": 1, "scalarValue": 0}
    execute("Select", [dst, data, selector], params, "vector")
    selector.defined[8:] = 0
    refused("Select", [dst, data, selector], params, "vector", "selMask")


def test_forms_use_the_same_lanes(seed: int) -> None:
    """A guard on the helpers: every form names at least one lane, and offsets follow blocks of 32 bytes."""
    rng = np.random.default_rng(seed)
    for kind in FORMS:
        drawn = draw_form(rng, 64, kind)
        assert drawn.lane.size and drawn.lane.max() < 64
        assert offsets(drawn, FLOAT, 1, 8).tolist() == (drawn.repeat * 256 + drawn.lane * 4).tolist()
