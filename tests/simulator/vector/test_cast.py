# SPDX-License-Identifier: Apache-2.0
"""Cast: every rounding mode over every 16-bit value, float32 at the places where rounding decides, all type pairs in
all forms. The statement works on exact rational values (float64 or Python integers), not on bit patterns."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers.single_instruction import DTYPES, Memory, given, refused
from helpers.single_instruction import execute as execute_one
from helpers.vector_lanes import FORMS, compare_typed, draw_call, run, same_floats

NONE, RINT, FLOOR, CEIL, ROUND, TRUNC, ODD = range(7)
DIRECTED = (RINT, FLOOR, CEIL, ROUND, TRUNC)
WITH_NONE = (NONE, *DIRECTED)
HALF, BF16, FLOAT = "float16", "bfloat16", "float32"

PAIRS: dict[tuple[str, str], tuple[int, ...]] = {
    ("int8", HALF): (NONE,),
    ("uint8", HALF): (NONE,),
    ("int16", HALF): WITH_NONE,
    ("int16", FLOAT): (NONE,),
    (HALF, "int8"): WITH_NONE,
    (HALF, "uint8"): WITH_NONE,
    (HALF, "int16"): DIRECTED,
    (HALF, "int32"): DIRECTED,
    (HALF, FLOAT): (NONE,),
    (BF16, "int32"): DIRECTED,
    (BF16, FLOAT): (NONE,),
    ("int32", "int16"): (NONE,),
    ("int32", FLOAT): WITH_NONE,
    ("int32", "int64"): (NONE,),
    (FLOAT, "int16"): DIRECTED,
    (FLOAT, HALF): (*WITH_NONE, ODD),
    (FLOAT, BF16): DIRECTED,
    (FLOAT, "int32"): DIRECTED,
    (FLOAT, FLOAT): DIRECTED,
    (FLOAT, "int64"): DIRECTED,
    ("int64", "int32"): (NONE,),
    ("int64", FLOAT): DIRECTED,
}


def to_integer(x: np.ndarray, mode: int) -> np.ndarray:
    """An integral float64; every value here has at most 53 significant bits, so the arithmetic is exact."""
    down = np.floor(x)
    part = x - down
    if mode in (NONE, RINT):
        up = (part > 0.5) | ((part == 0.5) & (np.mod(down, 2) == 1))
    elif mode == FLOOR:
        up = np.zeros(x.shape, bool)
    elif mode == CEIL:
        up = part > 0
    elif mode == ROUND:  # ties away from zero
        up = (part > 0.5) | ((part == 0.5) & (x > 0))
    elif mode == TRUNC:
        up = (part > 0) & (x < 0)
    else:  # to odd
        up = (part > 0) & (np.mod(down, 2) == 0)
    return np.where(np.isfinite(x), np.where(up, down + 1, down), x)


def to_float(x: np.ndarray, dtype: str, mode: int) -> np.ndarray:
    """float64 values rounded to a narrower float: scale the unit in the last place to 1, round, scale back."""
    info = ml_dtypes.finfo(DTYPES[dtype])
    _, exponent = np.frexp(np.where(np.isfinite(x), x, 1.0))
    unit = np.maximum(exponent - 1 - info.nmant, info.minexp - info.nmant)
    rounded = np.ldexp(to_integer(np.ldexp(np.where(np.isfinite(x), x, 0.0), -unit), mode), unit)
    largest = float(info.max)
    limit = np.full(x.shape, np.inf)
    # Beyond the largest value a mode that rounds towards zero there stays finite.
    if mode in (TRUNC, ODD):
        limit[:] = largest
    elif mode == FLOOR:
        limit = np.where(x > 0, largest, np.inf)
    elif mode == CEIL:
        limit = np.where(x < 0, largest, np.inf)
    rounded = np.where(np.abs(rounded) > largest, np.copysign(limit, x), rounded)
    rounded = np.copysign(rounded, x)
    return np.where(np.isfinite(x), rounded, x).astype(DTYPES[dtype])


def integer_to_float(x: np.ndarray, mode: int) -> np.ndarray:
    """int64 has more bits than float64: in Python's integers."""
    result = []
    for value in x.tolist():
        magnitude, shift = abs(value), max(abs(value).bit_length() - 24, 0)
        kept, rest, half = magnitude >> shift, magnitude & ((1 << shift) - 1), (1 << shift) // 2
        more = {
            NONE: rest > half or (rest == half and rest != 0 and kept % 2 == 1),
            RINT: rest > half or (rest == half and rest != 0 and kept % 2 == 1),
            FLOOR: value < 0 and rest > 0,
            CEIL: value > 0 and rest > 0,
            ROUND: rest >= half and rest != 0,
            TRUNC: False,
        }[mode]
        result.append(np.copysign(np.float64((kept + more) << shift), value))
    return np.array(result, np.float64).astype(np.float32)


def cast(x: np.ndarray, src: str, dst: str, mode: int) -> np.ndarray:
    to_kind = DTYPES[dst]
    if src in (HALF, BF16, FLOAT):
        wide = x.astype(np.float64)
        if dst in (HALF, BF16):
            return to_float(wide, dst, mode)
        if dst == FLOAT and src != FLOAT:
            return x.astype(np.float32)
        rounded = to_integer(wide, mode)
        if dst == FLOAT:
            return np.copysign(rounded, wide).astype(np.float32)
        info = np.iinfo(to_kind)
        number = np.where(np.isnan(rounded), 0.0, rounded)
        inside = (number >= float(info.min)) & (number < float(info.max) + (dst in ("int8", "uint8", "int16")))
        exact = np.where(inside, number, 0.0).astype(np.int64)
        return np.where(inside, exact, np.where(number < 0, info.min, info.max)).astype(to_kind)
    if dst == FLOAT:
        return integer_to_float(x, mode)
    if dst == HALF:
        return to_float(x.astype(np.float64), HALF, mode)
    info = np.iinfo(to_kind)
    return np.clip(x.astype(np.int64), info.min, info.max).astype(to_kind)


def cast_all(values: np.ndarray, src: str, dst: str, mode: int, state: dict[str, Any] | None = None) -> np.ndarray:
    """In portions that fit UB, in fast mode."""
    results = []
    portion = 8192
    for first in range(0, values.size, portion):
        part = values[first : first + portion]
        operands = [
            given("ub", dst, np.zeros(part.size, DTYPES[dst])),
            given("ub", src, part, portion * DTYPES[dst].itemsize),
        ]
        out, _ = execute_one("Cast", operands, {"calCount": part.size, "round_mode": mode}, "vector", "fast", state)
        results.append(out[0].typed())
    return np.concatenate(results)


def check_all(values: np.ndarray, src: str, dst: str, mode: int) -> None:
    with np.errstate(all="ignore"):
        expected = cast(values, src, dst, mode)
    compare_typed(f"{src} to {dst} mode {mode}", cast_all(values, src, dst, mode), expected, dst)


EVERY_16_BITS = np.arange(65536, dtype=np.uint32).astype(np.uint16)


@pytest.mark.parametrize(
    ("src", "dst", "mode"), [(s, d, m) for (s, d), modes in PAIRS.items() if s in (HALF, BF16, "int16") for m in modes]
)
def test_every_16_bit_value(src: str, dst: str, mode: int) -> None:
    check_all(EVERY_16_BITS.view(DTYPES[src]), src, dst, mode)


@pytest.mark.parametrize("src", ["int8", "uint8"])
def test_every_8_bit_value(src: str) -> None:
    check_all(np.arange(256, dtype=np.uint16).astype(np.uint8).view(DTYPES[src]), src, HALF, NONE)


def float32_edges(rng: np.random.Generator, dst: str) -> np.ndarray:
    """Every target value of the narrow type, the midpoints, and their float32 neighbours; integers and halves around
    every limit; random bit patterns."""
    parts = [np.frombuffer(rng.bytes(4 * 20000), np.float32)]
    if dst in (HALF, BF16):
        with np.errstate(all="ignore"):
            targets = EVERY_16_BITS.view(DTYPES[dst]).astype(np.float64)
        targets = np.sort(targets[np.isfinite(targets)])
        with np.errstate(all="ignore"):
            parts.append(targets.astype(np.float32))
            parts.append(((targets[1:] + targets[:-1]) / 2).astype(np.float32))
            top = float(ml_dtypes.finfo(DTYPES[dst]).max)
            parts.append(np.array([top * (1 + 2.0**-k) for k in range(1, 24)] + [3e38, -3e38], np.float32))
    for bits in range(0, 66):
        base = 2.0**bits
        parts.append(np.array([s * (base + d) for s in (1, -1) for d in (-1.5, -1, -0.5, 0, 0.5, 1, 1.5)], np.float32))
    parts.append(np.array([np.inf, -np.inf, np.nan, 0.0, -0.0, 0.5, -0.5, 1e-45, -1e-45, 0.49999997, 2.5], np.float32))
    points = np.concatenate(parts).astype(np.float32)
    with np.errstate(all="ignore"):
        return np.concatenate(
            [points, np.nextafter(points, np.float32(np.inf)), np.nextafter(points, -np.float32(np.inf))]
        )


@pytest.mark.parametrize(("dst", "mode"), [(d, m) for (s, d), modes in PAIRS.items() if s == FLOAT for m in modes])
def test_float32_where_rounding_decides(dst: str, mode: int, seed: int) -> None:
    check_all(float32_edges(np.random.default_rng(seed), dst), FLOAT, dst, mode)


def integer_edges(rng: np.random.Generator, dtype: str) -> np.ndarray:
    info = np.iinfo(dtype)
    values = [0]
    for bit in range(63 if dtype == "int64" else 31):
        values += [s * ((1 << bit) + d) for s in (1, -1) for d in (-2, -1, 0, 1, 2)]
        # Ties and their neighbours: 24 significant bits, then a half.
        values += [s * (((3 << 23) | 1 | odd << 1) << bit) + d for s in (1, -1) for odd in (0, 1) for d in (-1, 0, 1)]
    values += [info.min, info.max, info.min + 1, info.max - 1]
    values += rng.integers(info.min, info.max, 3000, dtype=dtype, endpoint=True).tolist()
    return np.array([v for v in values if info.min <= v <= info.max], np.dtype(dtype))


@pytest.mark.parametrize(
    ("src", "dst", "mode"), [(s, d, m) for (s, d), modes in PAIRS.items() if s in ("int32", "int64") for m in modes]
)
def test_integers_where_rounding_decides(src: str, dst: str, mode: int, seed: int) -> None:
    check_all(integer_edges(np.random.default_rng(seed), src), src, dst, mode)


@pytest.mark.parametrize("scale", [1.0, 0.5, 0.00390625, 0.1, 3.0, -2.0])
@pytest.mark.parametrize("mode", [NONE, CEIL, ODD])
def test_int32_to_half_scales(scale: float, mode: int, seed: int) -> None:
    """The mode has no effect: the exact product is rounded to nearest."""
    rng = np.random.default_rng(seed)
    values = np.concatenate([integer_edges(rng, "int32"), np.arange(-4000, 4000, dtype=np.int32)])
    factor = np.float64(np.float16(scale))
    with np.errstate(all="ignore"):
        expected = (values.astype(np.float64) * factor).astype(np.float16)
    compare_typed(f"scale {scale}", cast_all(values, "int32", HALF, mode, {"deq_scale": float(factor)}), expected, HALF)


def test_set_deq_scale_is_state() -> None:
    _, report = execute_one("SetDeqScale", [], {"scale": 0.25}, "vector")
    assert report["state"]["deq_scale"] == 0.25


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("src", "dst"), list(PAIRS))
def test_forms(src: str, dst: str, form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    modes = PAIRS[(src, dst)]
    drawn_dst, sources, drawn = draw_call(rng, form, dst, [src])
    mode = int(rng.choice(modes))
    run("Cast", drawn_dst, sources, drawn, lambda x: cast(x, src, dst, mode), {"round_mode": mode})


@pytest.mark.parametrize("first", range(0, 8))
def test_short_calls_convert_like_long_ones(first: int) -> None:
    """The portable code that finishes a vector of eight, over all values, must agree with the vector code."""
    halves = EVERY_16_BITS.view(np.float16)[first::8]
    floats = cast_all(halves, HALF, FLOAT, NONE)
    for start in range(first * 97, halves.size, 1021):
        part = halves[start : start + 7]
        assert same_floats(cast_all(part, HALF, FLOAT, NONE), floats[start : start + 7]).all()
        wide = cast_all(part, HALF, FLOAT, NONE) * np.float32(1.00037)
        long = np.concatenate([wide, np.zeros(8 - wide.size % 8, np.float32)])
        assert same_floats(cast_all(wide, FLOAT, HALF, RINT), cast_all(long, FLOAT, HALF, RINT)[: wide.size]).all()


@pytest.mark.parametrize("mode", WITH_NONE)
def test_half_to_int4(mode: int) -> None:
    halves = EVERY_16_BITS.view(np.float16)
    with np.errstate(all="ignore"):
        rounded = to_integer(halves.astype(np.float64), mode)
    expected = np.clip(np.where(np.isnan(rounded), 0, rounded), -8, 7).astype(np.int64) & 0xF
    packed = (expected[0::2] | expected[1::2] << 4).astype(np.uint8)
    for first in range(0, 65536, 16384):
        part = halves[first : first + 16384]
        operands = [given("ub", "uint8", np.zeros(8192, np.uint8)), given("ub", HALF, part, 8192)]
        out = run_int4(operands, 0, {"calCount": part.size, "round_mode": mode})
        assert np.array_equal(out, packed[first // 2 : first // 2 + 8192])


def run_int4(operands: list[Any], which: int, params: dict[str, Any]) -> np.ndarray:
    """int4b_t has no NumPy type: its operand goes in as bytes of dtype int4."""
    from ascend_attention import _core

    listed = [
        (o.space, "int4" if index == which else o.dtype, o.data, o.address, o.defined)
        for index, o in enumerate(operands)
    ]
    outputs, _ = _core.sim.execute("Cast", listed, params, "vector", "checked")
    return np.asarray(outputs[0])


def test_int4_to_half() -> None:
    pairs = np.arange(256, dtype=np.uint16).astype(np.uint8)
    nibbles = np.stack([pairs & 0xF, pairs >> 4], 1).ravel().astype(np.int64)
    expected = np.where(nibbles >= 8, nibbles - 16, nibbles).astype(np.float16)
    operands = [given("ub", HALF, np.zeros(512, np.float16)), given("ub", "uint8", pairs, 1024)]
    assert np.array_equal(run_int4(operands, 1, {"calCount": 512, "round_mode": NONE}).view(np.float16), expected)


@pytest.mark.parametrize(
    ("params", "mentions"),
    [
        ({"calCount": 7}, "even number of int4b_t"),
        ({"mask": [0b0110, 0]}, "equal bits for the two int4b_t"),
        ({"mask": 3}, "equal bits for the two int4b_t"),
    ],
)
def test_int4_splits_no_byte(params: dict[str, Any], mentions: str) -> None:
    from ascend_attention import _core

    operands = [("ub", "int4", np.zeros(64, np.uint8), 0), ("ub", HALF, np.zeros(128, np.float16), 64)]
    with pytest.raises(_core.SimulatorError, match=mentions):
        _core.sim.execute("Cast", operands, params | {"round_mode": NONE}, "vector")


def test_refuses_undocumented_pairs_and_modes() -> None:
    every = [d for d in DTYPES if d != "bytes"]
    for src in every:
        for dst in every:
            operands = [given("ub", dst, np.zeros(64, DTYPES[dst])), given("ub", src, np.zeros(64, DTYPES[src]), 1024)]
            allowed = PAIRS.get((src, dst), range(7) if (src, dst) == ("int32", HALF) else ())
            for mode in range(8):
                if mode not in allowed:
                    mentions = "round_mode" if allowed else "a pair that Cast converts"
                    refused("Cast", operands, {"calCount": 32, "round_mode": mode}, "vector", mentions, "fast")


def test_narrowing_in_place_and_widening_apart(seed: int) -> None:
    rng = np.random.default_rng(seed)
    floats = rng.standard_normal(1000).astype(np.float32)
    halves = np.zeros(1000, np.float16)
    source = given("ub", FLOAT, floats, 64)
    target = given("ub", HALF, halves, 64)
    target.data = source.data[:2000]
    target.defined = source.defined[:2000]
    out, _ = execute_one("Cast", [target, source], {"calCount": 1000, "round_mode": RINT}, "vector")
    assert np.array_equal(out[0].typed(), floats.astype(np.float16))
    refused("Cast", [source, target], {"calCount": 1000, "round_mode": NONE}, "vector", "an earlier repeat")


def test_cast_widens_in_place_within_a_repeat(seed: int) -> None:
    """All lanes of a repeat are read before one is written; a second repeat would read what the first one wrote."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 256, 512).astype(np.uint8)
    memory = given("ub", "uint8", values, 0)
    target = Memory("ub", "float16", memory.data, memory.defined, 0)
    for mode in ("fast", "checked"):
        results, _ = execute_one("Cast", [target, memory], {"calCount": 128}, "vector", mode)
        np.testing.assert_array_equal(results[0].typed()[:128], values[:128].astype(np.float16))
    refused("Cast", [target, memory], {"calCount": 256}, "vector", "an earlier repeat")
