# SPDX-License-Identifier: Apache-2.0
"""Reductions per repeat, block and pair, and of whole tensors. Sums follow the documented binary tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.single_instruction import DTYPES, Memory, execute, given, refused
from helpers.vector_lanes import FORMS, Form, Operand, compare_typed, draw_form, element, place, same_floats

HALF, FLOAT = "float16", "float32"
VALUE_INDEX, INDEX_VALUE, ONLY_VALUE, ONLY_INDEX = range(4)


def tree_sum(values: list[np.generic | None]) -> np.generic:
    """Neighbours first, each sum rounded to the element type; a missing element leaves its neighbour as it is."""
    while len(values) > 1:
        pairs = zip(values[0::2], values[1::2], strict=True)
        with np.errstate(all="ignore"):
            values = [b if a is None else a if b is None else a + b for a, b in pairs]
    assert values[0] is not None
    return values[0]


def best(values: list[np.generic | None], largest: bool) -> tuple[np.generic, int]:
    present = [(v, i) for i, v in enumerate(values) if v is not None]
    for value, index in present:
        if value != value:
            return value, index
    chosen = max(v for v, _ in present) if largest else min(v for v, _ in present)
    return next((v, i) for v, i in present if v == chosen)


def by_repeat(form: Form, data: np.ndarray, lanes: int) -> dict[int, list[np.generic | None]]:
    repeats: dict[int, list[np.generic | None]] = {}
    for repeat, lane, value in zip(form.repeat.tolist(), form.lane.tolist(), data, strict=True):
        repeats.setdefault(repeat, [None] * lanes)[lane] = value
    return repeats


def source(rng: np.random.Generator, dtype: str, form: Form) -> Operand:
    operand = Operand(dtype, "src")
    if not form.packed:
        operand.block, operand.repeat = [(1, 8), (2, 17), (0, 3), (3, 9)][rng.integers(4)]
    place(rng, operand, form, 65536, True)
    return operand


def destination(rng: np.random.Generator, dtype: str, size: int) -> Memory:
    return Memory("ub", dtype, rng.integers(0, 256, size, np.uint8), (rng.random(size) < 0.5).astype(np.uint8), 0)


def run_reduce(
    name: str, dst: Memory, operand: Operand, form: Form, params: dict[str, Any], expected: dict[int, np.ndarray]
) -> None:
    """`expected` maps byte offsets to the typed values written there."""
    call = form.params | params
    if not form.packed:
        call |= {"srcBlkStride": operand.block, "srcRepStride": operand.repeat}
    for mode in ("fast", "checked"):
        actual, _ = execute(name, [dst, operand.memory], call, "vector", mode, form.state)
        defined, written = dst.defined.copy(), np.zeros(dst.data.size, bool)
        for offset, value in expected.items():
            got = actual[0].data[offset : offset + value.nbytes].view(value.dtype)
            what = f"{name} {call} {mode} at byte {offset}"
            good = same_floats(got, value) if value.dtype.kind == "f" else got == value
            assert good.all(), f"{what}: {got} for {value}"
            written[offset : offset + value.nbytes] = True
        defined[written] = 1
        if mode == "fast":
            assert np.array_equal(actual[0].data[~written], dst.data[~written])
        else:  # bytes that were undefined before hold a poison pattern
            keep = ~written & (dst.defined == 1)
            assert np.array_equal(actual[0].data[keep], dst.data[keep])
            assert np.array_equal(actual[0].defined, defined)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [HALF, FLOAT])
@pytest.mark.parametrize("name", ["WholeReduceSum", "RepeatReduceSum"])
def test_sum_of_repeats(name: str, dtype: str, form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lanes, size = 256 // DTYPES[dtype].itemsize, DTYPES[dtype].itemsize
    for _ in range(2):
        drawn = draw_form(rng, lanes, form)
        operand = source(rng, dtype, drawn)
        step = 1 if drawn.packed else int(rng.integers(1, 5))
        results = by_repeat(drawn, element(operand), lanes)
        expected = {r * step * size: np.array([tree_sum(v)]) for r, v in results.items()}
        run_reduce(name, destination(rng, dtype, 1024), operand, drawn, {"dstRepStride": step}, expected)


@pytest.mark.parametrize("order", range(4))
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [HALF, FLOAT])
@pytest.mark.parametrize("largest", [True, False], ids=["Max", "Min"])
def test_extreme_of_repeats(largest: bool, dtype: str, form: str, order: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lanes, size = 256 // DTYPES[dtype].itemsize, DTYPES[dtype].itemsize
    drawn = draw_form(rng, lanes, form)
    operand = source(rng, dtype, drawn)
    if rng.random() < 0.5:  # many equal values: the lowest index counts
        view = operand.memory.data.view(DTYPES[dtype])
        view[:] = rng.integers(0, 3, view.size)
    index_type = {2: np.uint16, 4: np.uint32}[size]
    unit = {VALUE_INDEX: 2 * size, INDEX_VALUE: 2 * size, ONLY_VALUE: size, ONLY_INDEX: 4}[order]
    step = 1 if drawn.packed else int(rng.integers(1, 4))
    expected: dict[int, np.ndarray] = {}
    for repeat, values in by_repeat(drawn, element(operand), lanes).items():
        value, index = best(values, largest)
        at = repeat * step * unit
        if order == ONLY_INDEX:
            expected[at] = np.array([index], np.uint32)
        else:
            expected[at + (size if order == INDEX_VALUE else 0)] = np.array([value], DTYPES[dtype])
            if order != ONLY_VALUE:
                expected[at + (0 if order == INDEX_VALUE else size)] = np.array([index], index_type)
    name = "WholeReduceMax" if largest else "WholeReduceMin"
    params = {"dstRepStride": step, "order": order}
    run_reduce(name, destination(rng, dtype, 1024), operand, drawn, params, expected)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [HALF, FLOAT])
@pytest.mark.parametrize("name", ["BlockReduceSum", "BlockReduceMax", "BlockReduceMin", "PairReduceSum"])
def test_blocks_and_pairs(name: str, dtype: str, form: str, seed: int) -> None:
    """A block or pair without an active element leaves its destination alone."""
    rng = np.random.default_rng(seed)
    size = DTYPES[dtype].itemsize
    lanes = 256 // size
    for _ in range(2):
        drawn = draw_form(rng, lanes, form)
        operand = source(rng, dtype, drawn)
        span, unit = (2, 128) if name.startswith("Pair") else (32 // size, 8 * size)
        step = 1 if drawn.packed else int(rng.integers(1, 4))
        expected: dict[int, np.ndarray] = {}
        for repeat, values in by_repeat(drawn, element(operand), lanes).items():
            for index in range(lanes // span):
                part = values[index * span : (index + 1) * span]
                if any(v is not None for v in part):
                    value = tree_sum(part) if name.endswith("Sum") else best(part, name.endswith("Max"))[0]
                    expected[repeat * step * unit + index * size] = np.array([value], DTYPES[dtype])
        run_reduce(name, destination(rng, dtype, 8192), operand, drawn, {"dstRepStride": step}, expected)


def reduce_all(name: str, dtype: str, operand: Operand, form: Form, params: dict[str, Any], mode: str) -> Memory:
    call = form.params | params
    if not form.packed:
        call |= {"srcRepStride": operand.repeat}
    scratch = Memory("ub", dtype, np.zeros(4096, np.uint8), np.zeros(4096, np.uint8), 1024)
    dst = Memory("ub", dtype, np.zeros(32, np.uint8), np.zeros(32, np.uint8), 0)
    out, _ = execute(name, [dst, operand.memory, scratch], call, "vector", mode, form.state)
    return out[0]


@pytest.mark.parametrize("form", ["count", "lanes", "bits"])
@pytest.mark.parametrize("dtype", [HALF, FLOAT])
@pytest.mark.parametrize("mode", ["fast", "checked"])
def test_whole_tensor(mode: str, dtype: str, form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = DTYPES[dtype].itemsize
    lanes = 256 // size
    for _ in range(4):
        drawn = draw_form(rng, lanes, form, 20)
        operand = Operand(dtype, "src")
        if not drawn.packed:
            operand.repeat = [8, 11][rng.integers(2)]
        place(rng, operand, drawn, 65536, True)
        repeats = by_repeat(drawn, element(operand), lanes)
        sums = [tree_sum(v) for v in repeats.values()]
        with np.errstate(all="ignore"):
            if form == "count":  # repeats in order
                total = sums[0]
                for value in sums[1:]:
                    total = total + value
            else:  # repeats as a tree of up to `lanes` of them (20 at most here)
                total = tree_sum([*sums, *[None] * (lanes - len(sums))])
        got = reduce_all("ReduceSum", dtype, operand, drawn, {}, mode).typed()[:1]
        compare_typed(f"ReduceSum {drawn.params}", got, np.array([total], DTYPES[dtype]), dtype)
        for largest in (True, False):
            name = "ReduceMax" if largest else "ReduceMin"
            chosen = [(r, *best(v, largest)) for r, v in repeats.items()]
            value, _ = best([v for _, v, _ in chosen], largest)
            repeat, _, lane = next(c for c in chosen if c[1] == value or (value != value and c[1] != c[1]))
            result = reduce_all(name, dtype, operand, drawn, {"calIndex": True}, mode)
            compare_typed(name, result.typed()[:1], np.array([value], DTYPES[dtype]), dtype)
            index = int(result.data[size : 2 * size].view({2: np.uint16, 4: np.uint32}[size])[0])
            assert index == repeat * operand.repeat * 32 // size + lane
            result = reduce_all(name, dtype, operand, drawn, {}, mode)
            compare_typed(name, result.typed()[:1], np.array([value], DTYPES[dtype]), dtype)
            if mode == "fast":
                assert not result.data[size:].any()
            else:
                assert result.defined[:size].all() and not result.defined[size:].any()


def test_work_buffer_may_hold_the_result(seed: int) -> None:
    """dst on work is documented as allowed, and work is undefined afterwards except for the result."""
    rng = np.random.default_rng(seed)
    data = rng.standard_normal(640).astype(np.float32)
    src = Memory("ub", FLOAT, data.view(np.uint8).copy(), np.ones(2560, np.uint8), 8192)
    area = Memory("ub", FLOAT, np.zeros(256, np.uint8), np.ones(256, np.uint8), 0)
    out, report = execute("ReduceMax", [area, src, area], {"calCount": 640}, "vector")
    assert out[0].data[:4].view(np.float32)[0] == data.max()
    assert out[0].defined[:4].all()
    assert not out[0].defined[4:80].any()
    assert report["findings"] == []


def tensors(dtype: str, dst_at: int = 0, work_at: int = 1024, elements: int = 640) -> list[Memory]:
    kind = DTYPES[dtype]
    return [given("ub", dtype, np.zeros(64, kind), dst_at), given("ub", dtype, np.zeros(elements, kind), 8192),
            given("ub", dtype, np.zeros(1024, kind), work_at)]  # fmt: skip


@pytest.mark.parametrize("mode", ["fast", "checked"])
@pytest.mark.parametrize(("dtype", "size"), [(HALF, 2), (FLOAT, 4)])
@pytest.mark.parametrize("name", ["ReduceSum", "ReduceMax", "ReduceMin"])
def test_result_and_work_of_a_tensor_are_aligned(name: str, dtype: str, size: int, mode: str) -> None:
    call = {"mask": 64, "repeatTimes": 5}
    execute(name, tensors(dtype, 3 * size), call, "vector", mode)
    refused(name, tensors(dtype, 3 * size + size // 2), call, "vector", f"dst (UB {dtype})", mode)
    refused(name, tensors(dtype, 0, 1040), call, "vector", f"work (UB {dtype})", mode)
    if name != "ReduceSum":  # value and index are stored as one
        execute(name, tensors(dtype, 2 * size), call | {"calIndex": True}, "vector", mode)
        refused(name, tensors(dtype, size), call | {"calIndex": True}, "vector", f"multiple of {2 * size}", mode)


@pytest.mark.parametrize("name", ["ReduceSum", "ReduceMax", "ReduceMin"])
def test_types_places_and_repeats_of_a_tensor(name: str) -> None:
    call = {"mask": 64, "repeatTimes": 5}
    for index, mentions in ((0, "src dtype"), (1, "src dtype"), (2, "work dtype")):
        operands = tensors(FLOAT)
        operands[index].dtype = HALF
        refused(name, operands, call, "vector", mentions)
    whole = [given("ub", "int32", np.zeros(64, np.int32), at) for at in (0, 1024, 2048)]
    refused(name, whole, {"mask": 64, "repeatTimes": 1}, "vector", "dst dtype")
    for index in (0, 2):
        operands = tensors(FLOAT)
        operands[index].space, operands[index].address = "gm", 0
        refused(name, operands, call, "vector", "must lie in UB")
    for repeats in (-1, 2**31):
        refused(name, tensors(FLOAT), call | {"repeatTimes": repeats}, "vector", f"repeatTimes is {repeats}")
    # The device's sequence splits more than 255 repeats itself.
    execute(name, tensors(FLOAT, elements=300 * 64), call | {"repeatTimes": 300}, "vector", "fast")
    out, _ = execute(name, tensors(FLOAT), call | {"repeatTimes": 0}, "vector")
    assert not out[0].data.any()
    # The results of 40 repeats do not fit 32 bytes.
    operands = tensors(FLOAT, elements=40 * 64)
    operands[2] = given("ub", FLOAT, np.zeros(8, np.float32), 1024)
    refused(name, operands, call | {"repeatTimes": 40}, "vector", "work (UB float32) writes bytes")


@pytest.mark.parametrize("name", ["ReduceMax", "ReduceMin"])
def test_a_half_index_has_16_bits(name: str) -> None:
    long = tensors(HALF, elements=65536 + 128)
    data = long[1].typed()
    data[65535] = 1 if name == "ReduceMax" else -1
    long[1].data[:] = data.view(np.uint8)
    long[2] = given("ub", HALF, np.zeros(4096, np.float16), 180224)
    call = {"calCount": 65536, "calIndex": True}
    out, _ = execute(name, long, call, "vector", "fast")
    assert int(out[0].data[2:4].view(np.uint16)[0]) == 65535
    refused(name, long, call | {"calCount": 65536 + 128}, "vector", "65536 elements or fewer", "fast")
    execute(name, long, {"calCount": 65536 + 128}, "vector", "fast")
