# SPDX-License-Identifier: Apache-2.0
"""Mmad: k-sequential chains with one rounding per step, fractal layouts, and what becomes of the lanes around m x n."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.single_instruction import DTYPES, Memory, check, execute, given, item_size, random_memory, refused

FLOATS = ["float16", "bfloat16", "float32"]
OPERANDS = [*FLOATS, "int8"]


def ceil(value: int, unit: int) -> int:
    return -(-value // unit)


def left_offset(m: int, k: int, size: int, row_fractals: int, vector: bool) -> int:
    c0 = 32 // size
    if vector:
        return k * size
    return (m // 16 * row_fractals + k // c0) * 512 + m % 16 * 32 + k % c0 * size


def right_offset(k: int, n: int, size: int, columns: int) -> int:
    c0 = 32 // size
    return (k // c0 * ceil(columns, 16) + n // 16) * 512 + n % 16 * 32 + k % c0 * size


def result_offset(m: int, n: int, rows: int) -> int:
    return (n // 16 * ceil(rows, 16) + m // 16) * 1024 + m % 16 * 64 + n % 16 * 4


class Problem:
    """Random A, B and C with undefined bytes everywhere the instruction must not look."""

    def __init__(self, rng: np.random.Generator, dtype: str, m: int, n: int, k: int, align: bool = False) -> None:
        self.m, self.n, self.k, self.dtype = m, n, k, dtype
        self.size = item_size(dtype)
        c0 = 32 // self.size
        self.result = "int32" if dtype == "int8" else "float32"
        self.row_fractals = ceil(k, 16) * 16 // c0 if align and dtype == "float32" else ceil(k, c0)
        self.a, self.b = self.values(rng, (m, k)), self.values(rng, (k, n))
        self.c = self.start_values(rng)
        left_bytes = k * self.size if m == 1 else ceil(m, 16) * self.row_fractals * 512
        self.left = self.place(
            "l0a", left_bytes, self.a, lambda i, j: left_offset(i, j, self.size, self.row_fractals, m == 1)
        )
        self.right = self.place(
            "l0b", ceil(k, c0) * ceil(n, 16) * 512, self.b, lambda i, j: right_offset(i, j, self.size, n)
        )
        self.result_bytes = ceil(m, 16) * ceil(n, 16) * 1024

    def values(self, rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
        if self.dtype == "int8":
            return rng.integers(-128, 128, shape).astype(np.int8)
        return (rng.standard_normal(shape) * 2.0 ** rng.integers(-6, 7, shape)).astype(DTYPES[self.dtype])

    def start_values(self, rng: np.random.Generator) -> np.ndarray:
        if self.dtype == "int8":
            return rng.integers(-(2**31), 2**31, (self.m, self.n)).astype(np.int32)
        return (rng.standard_normal((self.m, self.n)) * 100).astype(np.float32)

    def place(self, space: str, size: int, matrix: np.ndarray, offset: Any) -> Memory:
        # NaN everywhere else: 0 * NaN would show in the result.
        memory = Memory(space, self.dtype, np.full(size, 0xFF, np.uint8), np.zeros(size, np.uint8), 512)
        for i in range(matrix.shape[0]):
            for j in range(matrix.shape[1]):
                at = offset(i, j)
                memory.data[at : at + self.size] = np.frombuffer(matrix[i, j].tobytes(), np.uint8)
                memory.defined[at : at + self.size] = 1
        return memory

    def target(self, rng: np.random.Generator, holds_c: bool) -> Memory:
        memory = random_memory(rng, "l0c", self.result, self.result_bytes + 64, 2048, undefined=0.5)
        memory.defined[: self.result_bytes] = 0
        if holds_c:
            self.put(memory, self.c)
        return memory

    def put(self, memory: Memory, matrix: np.ndarray) -> None:
        memory.defined[: self.result_bytes] = 0
        for i in range(self.m):
            for j in range(self.n):
                at = result_offset(i, j, self.m)
                memory.data[at : at + 4] = np.frombuffer(matrix[i, j].tobytes(), np.uint8)
                memory.defined[at : at + 4] = 1

    def product(self, start: np.ndarray) -> np.ndarray:
        if self.dtype == "int8":
            total = start.astype(np.int64) + self.a.astype(np.int64) @ self.b.astype(np.int64)
            return np.asarray(np.clip(total, -(2**31), 2**31 - 1), np.int32)
        result = start.astype(np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            for step in range(self.k):
                if self.dtype == "float32":  # product rounded, then the sum
                    result = result + np.outer(self.a[:, step], self.b[step])
                else:  # float64 holds product and sum exactly enough: one rounding
                    product = np.outer(self.a[:, step].astype(np.float64), self.b[step].astype(np.float64))
                    result = (result.astype(np.float64) + product).astype(np.float32)
        return np.asarray(result)


def random_size(rng: np.random.Generator) -> tuple[int, int, int]:
    m, n, k = (int(rng.choice(np.array([1, 15, 16, 17, rng.integers(2, 50)]))) for _ in range(3))
    return max(m, 2), n, k


@pytest.mark.parametrize("start", ["zero", "continue", "bias"])
@pytest.mark.parametrize("dtype", OPERANDS)
def test_products(dtype: str, start: str, sample_rng: np.random.Generator) -> None:
    rng = sample_rng
    m, n, k = random_size(rng)
    problem = Problem(rng, dtype, m, n, k)
    operands = [problem.target(rng, start == "continue"), problem.left, problem.right]
    params: dict[str, Any] = {"m": m, "n": n, "k": k, "cmatrixInitVal": start == "zero"}
    first = np.zeros((m, n), problem.c.dtype)
    if start == "continue":
        first = problem.c
    elif start == "bias":
        first = np.repeat(problem.c[:1], m, axis=0)
        operands.append(given("bt", problem.result, problem.c[0], 64))

    def statement(copies: list[Memory]) -> None:
        problem.put(copies[0], problem.product(first))

    check("Mmad", operands, params, "cube", statement)


@pytest.mark.parametrize("dtype", OPERANDS)
def test_one_row_is_a_vector_in_l0a(dtype: str, sample_rng: np.random.Generator) -> None:
    rng = sample_rng
    n, k = int(rng.integers(1, 70)), int(rng.integers(1, 200))
    problem = Problem(rng, dtype, 1, n, k)
    operands = [problem.target(rng, False), problem.left, problem.right]

    def statement(copies: list[Memory]) -> None:
        problem.put(copies[0], problem.product(np.zeros((1, n), problem.c.dtype)))

    check("Mmad", operands, {"m": 1, "n": n, "k": k}, "cube", statement)


@pytest.mark.parametrize(("m", "n", "k"), [(128, 128, 128), (30, 40, 70), (16, 256, 64), (64, 16, 256)])
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_sizes_of_real_kernels(dtype: str, m: int, n: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = Problem(rng, dtype, m, n, k)
    operands = [problem.target(rng, True), problem.left, problem.right]

    def statement(copies: list[Memory]) -> None:
        problem.put(copies[0], problem.product(problem.c))

    check("Mmad", operands, {"m": m, "n": n, "k": k, "cmatrixInitVal": False}, "cube", statement)


@pytest.mark.parametrize("dtype", FLOATS)
def test_every_compiled_version_gives_the_same_bits(dtype: str, seed: int) -> None:
    """The result must not depend on the CPU: FMA or not, 4, 8 or 16 lanes."""
    versions: list[str] = []
    execute("MmadVersions", [], {"names": versions}, "cube")
    assert versions[-1] == "portable"
    rng = np.random.default_rng(seed)
    for _ in range(6):
        m, n, k = random_size(rng)
        problem = Problem(rng, dtype, m, n, k)
        # The whole range of the type: overflow, subnormal products and sums, cancellation.
        for memory in (problem.left, problem.right):
            bits = rng.integers(0, 2 ** (8 * problem.size), memory.data.size // problem.size, np.uint64)
            ones, lowest = {"float16": (0x7C00, 0x400), "bfloat16": (0x7F80, 0x80), "float32": (0x7F800000, 0x800000)}[
                dtype
            ]
            bits = np.where(bits & ones == ones, bits & ~np.uint64(lowest), bits)  # no infinities, no NaN
            memory.data[:] = bits.astype(f"u{problem.size}").view(np.uint8)
            memory.defined[:] = 1
        results = []
        for version in range(len(versions)):
            operands = [problem.target(np.random.default_rng(1), True), problem.left, problem.right]
            params = {"m": m, "n": n, "k": k, "cmatrixInitVal": False, "version": version}
            outputs, _ = execute("Mmad", operands, params, "cube", "fast")
            values = outputs[0].data[: problem.result_bytes].view(np.float32)
            # Which NaN an addition of two NaNs keeps is the CPU's choice; that it is one is not.
            results.append(np.where(np.isnan(values), np.uint32(0x7FC00000), values.view(np.uint32)))
        for version in range(1, len(versions)):
            assert np.array_equal(results[0], results[version]), f"{versions[version]} differs from {versions[0]}"


@pytest.mark.parametrize("align", [False, True])
def test_k_direction_align_places_float_rows_apart(align: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = Problem(rng, "float32", 40, 20, 36, align)
    operands = [problem.target(rng, False), problem.left, problem.right]

    def statement(copies: list[Memory]) -> None:
        problem.put(copies[0], problem.product(np.zeros((40, 20), np.float32)))

    check("Mmad", operands, {"m": 40, "n": 20, "k": 36, "kDirectionAlign": align}, "cube", statement)


def test_the_bias_table_starts_c_without_a_tensor(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = Problem(rng, "float16", 17, 18, 19)
    # The table's bytes are placed by an operand that the instruction does not name.
    operands = [problem.target(rng, False), problem.left, problem.right, given("bt", "float32", problem.c[0])]
    params = {"m": 17, "n": 18, "k": 19, "cmatrixInitVal": False, "cmatrixSource": True, "unnamedBias": True}

    def statement(copies: list[Memory]) -> None:
        problem.put(copies[0], problem.product(np.repeat(problem.c[:1], 17, axis=0)))

    check("Mmad", operands, params, "cube", statement)


@pytest.mark.parametrize("missing", ["m", "n", "k"])
def test_an_empty_product_changes_nothing(missing: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = Problem(rng, "float16", 16, 16, 16)
    params = {"m": 16, "n": 16, "k": 16} | {missing: 0}
    operands = [problem.target(rng, True), problem.left, problem.right]
    check("Mmad", operands, params, "cube", lambda copies: None)


@pytest.mark.parametrize("which", ["fm", "filter", "dst"])
def test_undefined_operands_are_reported(which: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = Problem(rng, "float16", 20, 20, 20)
    operands = [problem.target(rng, True), problem.left, problem.right]
    offsets = {
        "fm": left_offset(19, 19, 2, 2, False),
        "filter": right_offset(19, 19, 2, 20),
        "dst": result_offset(19, 19, 20),
    }
    memory = operands[["dst", "fm", "filter"].index(which)]
    memory.defined[offsets[which]] = 0
    params = {"m": 20, "n": 20, "k": 20, "cmatrixInitVal": False}
    text = refused("Mmad", operands, params, "cube", "uninitialised")
    assert which in text


def small(dtype: str = "float16", result: str = "float32") -> list[Memory]:
    return [
        given("l0c", result, np.zeros(256, np.float32)),
        given("l0a", dtype, np.zeros(512, np.uint8)),
        given("l0b", dtype, np.zeros(512, np.uint8)),
    ]


BAD_PARAMETERS = [
    ({"m": 4096}, "m is 4096"),
    ({"n": 4096}, "n is 4096"),
    ({"k": 4096}, "k is 4096"),
    ({"unitFlag": 1}, "unitFlag is 1"),
    ({"m": 17}, "fm (L0A float16) reads bytes"),
    ({"n": 17}, "filter (L0B float16) reads bytes"),
]


@pytest.mark.parametrize("mode", ["fast", "checked"])
@pytest.mark.parametrize(("change", "mentions"), BAD_PARAMETERS)
def test_limits(change: dict[str, int], mentions: str, mode: str) -> None:
    refused("Mmad", small(), {"m": 16, "n": 16, "k": 16} | change, "cube", mentions, mode)


def test_a_result_beyond_l0c_is_refused() -> None:
    operands = small()
    operands[1] = given("l0a", "float16", np.zeros(1024, np.uint8))
    refused("Mmad", operands, {"m": 32, "n": 16, "k": 16}, "cube", "dst (L0C float32) writes bytes")


@pytest.mark.parametrize(("index", "address", "name"), [(0, 512, "dst"), (1, 256, "fm"), (2, 256, "filter")])
def test_addresses_must_be_aligned(index: int, address: int, name: str) -> None:
    operands = small()
    operands[index].address = address
    text = refused("Mmad", operands, {"m": 16, "n": 16, "k": 16}, "cube", "not a multiple of")
    assert f"{name} (" in text


@pytest.mark.parametrize(
    ("operands", "mentions"),
    [
        (small("float16", "int32"), "dtype of dst"),
        (small("int8", "float32"), "dtype of dst"),
        (small("int16", "int32"), "dtype of fm"),
        ([small()[0], small()[1], given("l0b", "bfloat16", np.zeros(512, np.uint8))], "dtype of filter"),
        ([small()[0], small()[2], small()[2]], "must lie in L0A"),
        ([small()[0], small()[1], small()[1]], "must lie in L0B"),
        ([given("l1", "float32", np.zeros(256, np.float32)), *small()[1:]], "must lie in L0C"),
        ([*small(), given("l1", "float32", np.zeros(16, np.float32))], "must lie in BT"),
        ([*small(), given("bt", "int32", np.zeros(16, np.int32))], "dtype of bias"),
        ([*small(), given("bt", "float32", np.zeros(16, np.float32), 32)], "not a multiple of 64"),
    ],
)
def test_places_and_types(operands: list[Memory], mentions: str) -> None:
    refused("Mmad", operands, {"m": 16, "n": 16, "k": 16, "cmatrixInitVal": False}, "cube", mentions)


def test_a_bias_that_would_never_be_read_is_refused() -> None:
    operands = [*small(), given("bt", "float32", np.zeros(16, np.float32))]
    refused("Mmad", operands, {"m": 16, "n": 16, "k": 16}, "cube", "cmatrixInitVal")


def accumulate(m: int, n: int) -> None:
    """Two products into the same C, one after the other, without a barrier."""
    operands = [
        given("gm", "float32", np.zeros(8, np.float32)),
        given("l0c", "float32", np.zeros(ceil(m, 16) * ceil(n, 16) * 256, np.float32)),
        given("l0a", "float16", np.ones(ceil(m, 16) * 256, np.float16)),
        given("l0b", "float16", np.ones(ceil(n, 16) * 256, np.float16)),
    ]
    size = {"m": m, "n": n, "k": 16}
    steps = [("Mmad", size), ("Mmad", size | {"cmatrixInitVal": False})]
    outputs, _ = execute("MmadFixpipe", operands, {"steps": steps}, "cube")
    assert (outputs[1].typed() == 32).all()


def test_ten_fractals_order_accumulations_by_themselves() -> None:
    accumulate(160, 16)
    accumulate(64, 48)


@pytest.mark.parametrize(("m", "n"), [(16, 16), (144, 16), (48, 48)])
def test_fewer_fractals_need_a_barrier(m: int, n: int) -> None:
    from ascend_attention import _core

    with pytest.raises(_core.SimulatorError, match="PipeBarrier<PIPE_M>"):
        accumulate(m, n)
