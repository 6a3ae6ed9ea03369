# SPDX-License-Identifier: Apache-2.0
"""DataCopy of blocks: with DataCopyParams and with an element count, on every path."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.single_instruction import (
    DTYPES,
    Memory,
    check,
    execute,
    given,
    item_size,
    move_bytes,
    random_memory,
    refused,
)

BLOCK = 32
# source, destination, core, unit of blockLen, of srcStride, of dstStride, gap counts from block start
PATHS: dict[str, tuple[str, str, str, int, int, int, bool]] = {
    "GM to UB": ("gm", "ub", "vector", 32, 32, 32, False),
    "UB to GM": ("ub", "gm", "vector", 32, 32, 32, False),
    "UB to UB": ("ub", "ub", "vector", 32, 32, 32, False),
    "GM to L1": ("gm", "l1", "cube", 32, 32, 32, False),
    "L1 to GM": ("l1", "gm", "cube", 32, 32, 32, False),
    "L1 to BT": ("l1", "bt", "cube", 64, 32, 64, False),
    "L1 to FB": ("l1", "fb", "cube", 128, 32, 128, True),
}
SIZES = {"gm": 16384, "ub": 16384, "l1": 16384, "bt": 1024, "fb": 2048}


def block_copy(params: dict[str, int], path: tuple[str, str, str, int, int, int, bool]) -> Any:
    _, _, _, unit, source_gap, target_gap, from_start = path

    def statement(operands: list[Memory]) -> None:
        target, source = operands
        before = source.copy()
        length = params["blockLen"] * unit
        body = 0 if from_start else length
        for block in range(params["blockCount"]):
            to = block * (body + params["dstStride"] * target_gap)
            start = block * (body + params["srcStride"] * source_gap)
            move_bytes(target, to, before, start, length)

    return statement


def operands_for(rng: np.random.Generator, path: tuple[str, str, str, int, int, int, bool], dtype: str) -> list[Memory]:
    source, target, *_ = path
    return [
        random_memory(rng, target, dtype, SIZES[target], 32768 if target == "ub" else 0, undefined=0.3),
        random_memory(rng, source, dtype, SIZES[source], undefined=0.3 if source != "gm" else 0.0),
    ]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", PATHS)
def test_blocks_arrive_where_their_parameters_say(name: str, dtype: str, sample_rng: np.random.Generator) -> None:
    path = PATHS[name]
    rng = sample_rng
    small = path[1] in ("bt", "fb")
    params = {
        "blockCount": int(rng.integers(0, 4 if small else 9)),
        "blockLen": int(rng.integers(0, 3 if small else 9)),
        "srcStride": int(rng.integers(0, 5)),
        "dstStride": int(rng.integers(0, 3 if small else 5)),
    }
    if path[6]:  # distances between block starts must not make blocks overlap
        params["dstStride"] = max(params["dstStride"], params["blockLen"])
    check("DataCopy", operands_for(rng, path, dtype), params, path[2], block_copy(params, path))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["GM to UB", "UB to GM", "UB to UB", "GM to L1"])
def test_counted_elements_are_copied(name: str, dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    path = PATHS[name]
    count = int(rng.integers(1, 60)) * BLOCK // item_size(dtype)
    operands = operands_for(rng, path, dtype)

    def statement(copies: list[Memory]) -> None:
        move_bytes(copies[0], 0, copies[1].copy(), 0, count * item_size(dtype))

    check("DataCopy", operands, {"count": count}, path[2], statement)


@pytest.mark.parametrize("params", [{"blockCount": 0, "blockLen": 4}, {"blockCount": 4, "blockLen": 0}, {"count": 0}])
def test_nothing_to_copy_changes_nothing(params: dict[str, int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    check("DataCopy", operands_for(rng, PATHS["GM to UB"], "float16"), params, "vector", lambda operands: None)


def test_extreme_gaps_reach_the_far_block() -> None:
    values = np.arange(2 * 65536 * 8 + 16, dtype=np.float32)
    operands = [given("ub", "float32", np.zeros(24, np.float32)), given("gm", "float32", values)]
    params = {"blockCount": 2, "blockLen": 1, "srcStride": 65535, "dstStride": 1}
    outputs, _ = execute("DataCopy", operands, params, "vector")
    result = outputs[0].typed()
    assert list(result[:8]) == list(range(8))
    assert list(result[16:]) == list(range(65536 * 8, 65536 * 8 + 8))


@pytest.mark.parametrize(
    ("pipe", "path"),
    [("MTE2", "GM to UB"), ("MTE3", "UB to GM"), ("V", "UB to UB"), ("MTE1", "L1 to BT"), ("FIX", "L1 to FB")],
)
def test_each_path_belongs_to_a_pipe(pipe: str, path: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    operands = operands_for(rng, PATHS[path], "float32")
    for operand in operands:
        operand.defined[:] = 1
    _, report = execute("DataCopy", operands, {"blockCount": 1, "blockLen": 1}, PATHS[path][2])
    assert report["instructions"][pipe] == 1


BAD_PARAMETERS = [
    ({"blockCount": 4096, "blockLen": 1}, "blockCount is 4096"),
    ({"blockCount": 1, "blockLen": 65536}, "blockLen is 65536"),
    ({"blockCount": 2, "blockLen": 1, "srcStride": 65536}, "srcStride is 65536"),
    ({"blockCount": 2, "blockLen": 1, "dstStride": 65536}, "dstStride is 65536"),
    ({"count": 9}, "count * sizeof(T) is 36"),
    ({"count": 4096}, "writes bytes"),
    ({"blockCount": 64, "blockLen": 1, "dstStride": 3}, "writes bytes"),
    ({"blockCount": 200, "blockLen": 1, "srcStride": 3}, "reads bytes"),
]


@pytest.mark.parametrize("mode", ["fast", "checked"])
@pytest.mark.parametrize(("params", "mentions"), BAD_PARAMETERS)
def test_limits_are_enforced(params: dict[str, int], mentions: str, mode: str) -> None:
    operands = [
        given("ub", "float32", np.zeros(1024, np.float32)),
        given("gm", "float32", np.zeros(4096, np.float32)),
    ]
    refused("DataCopy", operands, params, "vector", mentions, mode)


def test_a_source_outside_its_buffer_is_refused() -> None:
    operands = [given("ub", "float32", np.zeros(1024, np.float32)), given("gm", "float32", np.zeros(64, np.float32))]
    refused("DataCopy", operands, {"count": 72}, "vector", "src (GM float32) reads bytes")


ALIGNMENTS = [
    ("ub", 16, "gm", 0, "vector", "dst"),
    ("ub", 0, "gm", 2, "vector", "src"),
    ("gm", 2, "ub", 0, "vector", "dst"),
    ("gm", 0, "ub", 16, "vector", "src"),
    ("l1", 16, "gm", 0, "cube", "dst"),
    ("bt", 32, "l1", 0, "cube", "dst"),
    ("bt", 0, "l1", 16, "cube", "src"),
    ("fb", 64, "l1", 0, "cube", "dst"),
]


@pytest.mark.parametrize(("target", "target_at", "source", "source_at", "core", "name"), ALIGNMENTS)
def test_addresses_must_be_aligned(
    target: str, target_at: int, source: str, source_at: int, core: str, name: str
) -> None:
    operands = [
        given(target, "float32", np.zeros(64, np.float32), target_at),
        given(source, "float32", np.zeros(64, np.float32), source_at),
    ]
    text = refused("DataCopy", operands, {"blockCount": 1, "blockLen": 1}, core, "not a multiple of")
    assert f"{name} (" in text


def test_l1_takes_any_byte_of_global_memory(seed: int) -> None:
    rng = np.random.default_rng(seed)
    operands = [random_memory(rng, "l1", "float16", 64), random_memory(rng, "gm", "float16", 64, address=3)]
    path = PATHS["GM to L1"]
    params = {"blockCount": 1, "blockLen": 2, "srcStride": 0, "dstStride": 0}
    check("DataCopy", operands, params, "cube", block_copy(params, path))


@pytest.mark.parametrize(("target", "source"), [("l0a", "l1"), ("l0c", "l1"), ("l1", "l1"), ("gm", "gm")])
def test_paths_that_do_not_exist_are_refused(target: str, source: str) -> None:
    operands = [
        given(target, "float32", np.zeros(64, np.float32)),
        given(source, "float32", np.zeros(64, np.float32), 0 if source == "gm" else 1024),
    ]
    refused("DataCopy", operands, {"blockCount": 1, "blockLen": 1}, "cube", "path of the copy")
