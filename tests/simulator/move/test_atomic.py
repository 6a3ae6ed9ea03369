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
