# SPDX-License-Identifier: Apache-2.0
"""Which element a lane of a vector instruction is, stated from the documentation, and a runner that compares one call
with a NumPy function of those elements.

Sources are defined only where an active lane reads them and destinations start out partly undefined, so a lane too many
shows as an uninitialised read or as a wrong byte.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from helpers.single_instruction import DTYPES, Memory, execute

FLOATS = {"float16": 16, "bfloat16": 16, "float32": 32}
ALL = (1 << 64) - 1


def lanes_per_repeat(*dtypes: str) -> int:
    return 256 // max(DTYPES[d].itemsize for d in dtypes)


def scalar_bits(dtype: str, value: Any) -> int:
    return int.from_bytes(np.asarray(value, DTYPES[dtype]).tobytes(), "little")


def is_float(dtype: str) -> bool:
    return dtype in FLOATS


def values(rng: np.random.Generator, dtype: str, count: int) -> np.ndarray:
    """Ordinary numbers, any bit pattern, and the special values in random places."""
    kind = DTYPES[dtype]
    raw = np.frombuffer(rng.bytes(count * kind.itemsize), kind).copy()
    if not is_float(dtype):
        small = rng.integers(-9 if np.iinfo(kind).min < 0 else 0, 9, count).astype(kind)
        return np.where(rng.random(count) < 0.5, raw, small)
    if rng.random() < 0.5:
        return (rng.standard_normal(count) * 10.0 ** rng.integers(-2, 3)).astype(kind)
    info = ml_dtypes.finfo(kind)
    extremes = [float(info.max), float(info.tiny), float(info.smallest_subnormal), float(info.tiny) / 2]
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, *extremes, *(-x for x in extremes)]).astype(kind)
    return np.where(rng.random(count) < 0.3, rng.choice(special, count), raw)


@dataclass
class Form:
    """How a call names its elements: parameters, machine state, and the active (repeat, lane) pairs it means."""

    params: dict[str, Any]
    repeat: np.ndarray
    lane: np.ndarray
    state: dict[str, Any] | None = None

    @property
    def packed(self) -> bool:
        return "calCount" in self.params


def _pairs(repeats: int, lanes: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    return np.repeat(np.arange(repeats), len(lanes)), np.tile(np.asarray(lanes, np.int64), repeats)


def bit_lanes(mask: Sequence[int], lanes: int) -> list[int]:
    return [lane for lane in range(lanes) if mask[lane // 64] >> (lane % 64) & 1]


def draw_mask(rng: np.random.Generator) -> list[int]:
    kind = rng.integers(4)
    if kind == 0:
        return [ALL, ALL]
    if kind == 1:
        return [int(rng.integers(0, ALL, dtype=np.uint64, endpoint=True)) for _ in range(2)]
    if kind == 2:
        return [0xFF00FF0000FFFF00, 0x00000000FFFF0001]
    return [int(rng.integers(1, 1 << 20)), 0]


def draw_form(rng: np.random.Generator, lanes: int, kind: str, most: int = 6) -> Form:
    repeats = int(rng.integers(1, most))
    if kind == "count":
        count = int(rng.choice([1, lanes - 1, lanes, lanes + 1, int(rng.integers(1, most * lanes)), 8 * lanes]))
        index = np.arange(count)
        return Form({"calCount": count}, index // lanes, index % lanes)
    if kind == "lanes":
        mask = int(rng.choice([1, lanes, int(rng.integers(1, lanes + 1))]))
        return Form({"mask": mask, "repeatTimes": repeats}, *_pairs(repeats, range(mask)))
    if kind == "bits":
        bits = draw_mask(rng)
        return Form({"mask": bits, "repeatTimes": repeats}, *_pairs(repeats, bit_lanes(bits, lanes)))
    if kind == "register":
        bits = draw_mask(rng)
        state = {"mask": bits, "mask_specified": True, "counter_mode": False}
        return Form({"isSetMask": False, "repeatTimes": repeats}, *_pairs(repeats, bit_lanes(bits, lanes)), state)
    count = int(rng.integers(1, most * lanes))
    index = np.arange(count)
    state = {"counter_mode": True, "mask": (count, 0), "mask_specified": True}
    if kind == "counter":  # the repeat count is ignored
        return Form({"mask": [count, 0], "repeatTimes": 1}, index // lanes, index % lanes, {"counter_mode": True})
    return Form({"isSetMask": False, "repeatTimes": 1}, index // lanes, index % lanes, state)


FORMS = ("count", "lanes", "bits", "register", "counter", "counter_register")


def offsets(form: Form, dtype: str, block: int, repeat: int) -> np.ndarray:
    """Byte offset of every active lane: repeats and blocks advance in units of 32 bytes."""
    size = DTYPES[dtype].itemsize
    per_block = 32 // size
    at: np.ndarray = form.repeat * repeat * 32 + form.lane // per_block * block * 32 + form.lane % per_block * size
    return at


def draw_strides(rng: np.random.Generator, packed: int, source: bool) -> tuple[int, int]:
    kind = rng.integers(5)
    if kind <= 1:
        return 1, packed
    if kind == 2:
        return int(rng.integers(1, 4)), int(rng.integers(8, 30))
    if kind == 3:
        return 2, int(rng.integers(0, 5))  # repeats overlap each other
    return (0, 1) if source else (1, packed + 1)  # a source block used for all blocks of a repeat


@dataclass
class Operand:
    dtype: str
    prefix: str  # of the stride parameters: "dst", "src", "src0", "src1"
    block: int = 1
    repeat: int = 8
    memory: Memory = field(init=False)
    at: np.ndarray = field(init=False)


def place(rng: np.random.Generator, operand: Operand, form: Form, address: int, source: bool) -> int:
    """Gives the operand memory for its active lanes at `address`; returns the next free address."""
    operand.at = offsets(form, operand.dtype, operand.block, operand.repeat)
    size = DTYPES[operand.dtype].itemsize
    total = int(operand.at.max()) + size if operand.at.size else size
    total = (total + 31) // 32 * 32
    data = values(rng, operand.dtype, total // size).view(np.uint8).copy()
    defined = (rng.random(total) < 0.5).astype(np.uint8)
    if source:
        defined[:] = 0
        defined[(operand.at[:, None] + np.arange(size)).ravel()] = 1
    operand.memory = Memory("ub", operand.dtype, data, defined, address)
    return address + total + 32


def element(operand: Operand) -> np.ndarray:
    size = DTYPES[operand.dtype].itemsize
    return operand.memory.data[operand.at[:, None] + np.arange(size)].view(DTYPES[operand.dtype]).ravel()


def same_floats(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Equal bits, or both NaN: the payload of a NaN is not promised."""
    raw = {2: np.uint16, 4: np.uint32}[actual.dtype.itemsize]
    a, e = actual.astype(np.float32), expected.astype(np.float32)
    same: np.ndarray = (actual.view(raw) == expected.view(raw)) | (np.isnan(a) & np.isnan(e))
    return same


def compare_typed(what: str, actual: np.ndarray, expected: np.ndarray, dtype: str, ulp: float = 0.0) -> None:
    assert actual.dtype == expected.dtype, (actual.dtype, expected.dtype)
    good = same_floats(actual, expected) if is_float(dtype) else actual == expected
    if ulp:
        wide_a, wide_e = actual.astype(np.float64), expected.astype(np.float64)
        finite = np.isfinite(wide_a) & np.isfinite(wide_e)
        with np.errstate(all="ignore"):
            distance = np.abs(wide_a - wide_e) / np.spacing(
                np.abs(np.where(finite, expected, 1)).astype(expected.dtype)
            )
        good |= finite & (distance <= ulp)
    wrong = np.flatnonzero(~good)
    assert wrong.size == 0, (
        f"{what}: {wrong.size} of {good.size} elements differ, first at {wrong[0]}: "
        f"{actual[wrong[0]]!r} for {expected[wrong[0]]!r}"
    )


def run(
    name: str,
    dst: Operand,
    sources: Sequence[Operand],
    form: Form,
    function: Callable[..., np.ndarray],
    params: dict[str, Any] | None = None,
    reads_dst: bool = False,
    ulp: float = 0.0,
    state: dict[str, Any] | None = None,
) -> None:
    """Executes the call in both modes. `function` maps the active source elements to the destination elements."""
    call = dict(form.params) | dict(params or {})
    if not form.packed:
        for operand in [dst, *sources]:
            call[f"{operand.prefix}BlkStride"] = operand.block
            call[f"{operand.prefix}RepStride"] = operand.repeat
    arguments = [element(source) for source in sources]
    if reads_dst:
        arguments.append(element(dst))
    with np.errstate(all="ignore"):
        result = function(*arguments).astype(DTYPES[dst.dtype])
    size = DTYPES[dst.dtype].itemsize
    expected = dst.memory.copy()
    where = dst.at[:, None] + np.arange(size)
    expected.data[where] = np.ascontiguousarray(result).view(np.uint8).reshape(-1, size)
    expected.defined[where] = 1
    for mode in ("fast", "checked"):
        what = f"{name} {call} {dst.dtype} {mode}"
        given_state = dict(form.state or {}) | dict(state or {})
        actual, _ = execute(name, [dst.memory, *(s.memory for s in sources)], call, "vector", mode, given_state or None)
        kind = DTYPES[dst.dtype]
        written = np.zeros(expected.data.size, bool)
        written[where] = True
        compare_typed(
            what,
            actual[0].data[where].view(kind).ravel(),
            expected.data[where].view(kind).ravel(),
            dst.dtype,
            ulp,
        )
        untouched = ~written & (expected.defined == 1)
        assert np.array_equal(actual[0].data[untouched], expected.data[untouched]), f"{what}: wrote beside its lanes"
        if mode == "checked":
            assert np.array_equal(actual[0].defined, expected.defined), f"{what}: wrong initialisation state"


def draw_call(
    rng: np.random.Generator,
    kind: str,
    dst_dtype: str,
    src_dtypes: Sequence[str],
    reads_dst: bool = False,
    distinct: bool = False,
) -> tuple[Operand, list[Operand], Form]:
    """A random form with random strides for a lane-by-lane instruction. `distinct`: no repeat overwrites another one's
    destination."""
    widest = max(DTYPES[d].itemsize for d in [dst_dtype, *src_dtypes])
    form = draw_form(rng, 256 // widest, kind)
    prefixes = ["src"] if len(src_dtypes) == 1 else ["src0", "src1"]
    dst = Operand(dst_dtype, "dst")
    sources = [Operand(dtype, prefix) for dtype, prefix in zip(src_dtypes, prefixes, strict=True)]
    address = 0
    for index, operand in enumerate([dst, *sources]):
        packed = 8 * DTYPES[operand.dtype].itemsize // widest
        operand.block, operand.repeat = (1, packed) if form.packed else draw_strides(rng, packed, index > 0)
        if index == 0 and (reads_dst or distinct) and not form.packed and operand.repeat < 7 * operand.block + 1:
            operand.block, operand.repeat = 1, packed
        address = place(rng, operand, form, address, index > 0 or reads_dst)
    return dst, sources, form
