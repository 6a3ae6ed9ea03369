# SPDX-License-Identifier: Apache-2.0
"""SetAtomicAdd/Max/Min: stores to global memory combine with what is there."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.single_instruction import DTYPES, Memory, check, execute, given, refused

TYPES = ["float32", "float16", "bfloat16", "int32", "int16", "int8"]


def values(rng: np.random.Generator, dtype: str, count: int) -> np.ndarray:
    kind = DTYPES[dtype]
    if kind.kind == "i":
        limits = np.iinfo(kind)
        return rng.integers(limits.min, limits.max, count, dtype=kind, endpoint=True)
    with np.errstate(over="ignore"):
        return (rng.standard_normal(count) * 10.0 ** rng.integers(-4, 5, count)).astype(kind)


def combined(name: str, old: np.ndarray, new: np.ndarray) -> np.ndarray:
    if name == "SetAtomicMax":
        return np.asarray(np.maximum(old, new))
    if name == "SetAtomicMin":
        return np.asarray(np.minimum(old, new))
    if old.dtype.kind == "i":
        limits = np.iinfo(old.dtype)
        return np.clip(old.astype(np.int64) + new.astype(np.int64), limits.min, limits.max).astype(old.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        return (old.astype(np.float64) + new.astype(np.float64)).astype(np.float32).astype(old.dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["SetAtomicAdd", "SetAtomicMax", "SetAtomicMin"])
def test_stores_combine(name: str, dtype: str, sample_rng: np.random.Generator) -> None:
    count = int(sample_rng.integers(1, 100))
    old, new = values(sample_rng, dtype, 128), values(sample_rng, dtype, 128)
    operands = [given("gm", dtype, old), given("ub", dtype, new)]
    size = DTYPES[dtype].itemsize

    def statement(copies: list[Memory]) -> None:
        result = combined(name, old[:count], new[:count])
        copies[0].data[: count * size] = np.frombuffer(result.tobytes(), np.uint8)

    check(name, operands, {"blockCount": 1, "blockLen": count * size}, "vector", statement)


ATOMIC_STATE = {"SetAtomicAdd": 1, "SetAtomicMax": 2, "SetAtomicMin": 3}
DTYPE_NUMBERS = {"float16": 0, "bfloat16": 1, "float32": 2, "int8": 4, "int16": 6, "int32": 8}


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ATOMIC_STATE)
@pytest.mark.parametrize("form", ["count", "blocks"])
def test_plain_copies_combine(form: str, name: str, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    old, new = values(rng, dtype, 256), values(rng, dtype, 256)
    operands = [given("gm", dtype, old), given("ub", dtype, new)]
    state = {"atomic_mode": ATOMIC_STATE[name], "atomic_dtype": DTYPE_NUMBERS[dtype]}
    per_block = 32 // DTYPES[dtype].itemsize
    expected = old.copy()
    if form == "count":
        params = {"count": 5 * per_block}
        expected[: 5 * per_block] = combined(name, old[: 5 * per_block], new[: 5 * per_block])
    else:  # every other block of the source to every third of the destination
        params = {"blockCount": 2, "blockLen": 1, "srcStride": 1, "dstStride": 2}
        for to, source in ((0, 0), (3 * per_block, 2 * per_block)):
            expected[to : to + per_block] = combined(name, old[to : to + per_block], new[source : source + per_block])
    for mode in ("fast", "checked"):
        outputs, _ = execute("DataCopy", operands, params, "vector", mode, state)
        assert np.array_equal(outputs[0].data, expected.view(np.uint8))
    # Loads are not concerned.
    outputs, _ = execute("DataCopy", [operands[1], operands[0]], params | {"srcStride": 0, "dstStride": 0}
                         if form == "blocks" else params, "vector", "checked", state)  # fmt: skip
    moved = 2 * per_block if form == "blocks" else 5 * per_block
    assert np.array_equal(outputs[0].typed()[:moved], old[:moved])


def test_the_mode_ends_with_set_atomic_none() -> None:
    operands = [given("gm", "float32", np.zeros(8, np.float32)), given("ub", "float32", np.ones(8, np.float32))]
    _, report = execute("SetAtomicAdd", operands, {"blockCount": 1, "blockLen": 32}, "vector")
    assert report["state"]["atomic_mode"] == 0


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "uint32", "int64", "uint64"])
def test_types_without_atomics_are_refused(dtype: str) -> None:
    operands = [given("gm", dtype, np.zeros(64, np.uint8)), given("ub", dtype, np.zeros(64, np.uint8))]
    refused("SetAtomicAdd", operands, {"blockCount": 1, "blockLen": 32}, "vector", "int8_t, int16_t, half")


def test_the_store_must_have_the_type_of_the_mode() -> None:
    operands = [given("gm", "float16", np.zeros(64, np.uint8)), given("ub", "float32", np.zeros(64, np.uint8))]
    refused("SetAtomicAdd", operands, {"blockCount": 1, "blockLen": 32}, "vector", "dtype of the store")


@pytest.mark.parametrize("side", [0, 1])
def test_undefined_values_must_not_be_combined(side: int) -> None:
    operands = [given("gm", "float32", np.zeros(8, np.float32)), given("ub", "float32", np.ones(8, np.float32))]
    operands[side].defined[:] = 0
    refused("SetAtomicAdd", operands, {"blockCount": 1, "blockLen": 32}, "vector", "uninitialised")


@pytest.mark.parametrize(("mode", "name"), [(0, "SetAtomicAdd"), (2, "SetAtomicMax"), (3, "SetAtomicMin")])
def test_the_type_of_the_mode_can_be_changed(mode: int, name: str, seed: int) -> None:
    """Without a mode the type alone starts to add."""
    rng = np.random.default_rng(seed)
    old, new = values(rng, "int16", 64), values(rng, "int16", 64)
    operands = [given("gm", "int16", old), given("ub", "int16", new)]
    state = {"atomic_mode": mode, "atomic_dtype": DTYPE_NUMBERS["float32"]}
    outputs, _ = execute("SetAtomicType", operands, {"blockLen": 128}, "vector", "checked", state)
    assert np.array_equal(outputs[0].typed(), combined(name, old, new))
