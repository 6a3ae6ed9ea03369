# SPDX-License-Identifier: Apache-2.0
"""Tiny attention problems, laid out and solved one element at a time, in the words of the operators' documents.

Nothing of the package is used: a ``Problem`` holds sequences as nested values, ``solve`` runs four loops over them,
``put`` and ``row_of`` write and read single rows by the index formula of each layout. Whatever belongs to no sequence
is poison (NaN, garbage block ids), so touching it shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from helpers.fia_values import encode, round_to

Row = list[float]


@dataclass
class Problem:
    heads: int
    key_heads: int
    dim: int
    value_dim: int
    rope_dim: int  # 0: no rope
    dtype: str
    scale: float
    query_lengths: list[int]
    key_lengths: list[int]
    # [b][n][row] -> list of numbers
    query: list = field(default_factory=list)
    key: list = field(default_factory=list)
    value: list = field(default_factory=list)
    query_rope: list = field(default_factory=list)
    key_rope: list = field(default_factory=list)
    bias: Callable[[int, int, int, int], float] | None = None  # b, n, i, j
    sink: Row | None = None
    sees: Callable[[int, int, int, int], bool] = lambda b, n, i, j: True  # b, n, i, j

    @property
    def batch(self) -> int:
        return len(self.query_lengths)


def draw(rng: np.random.Generator, dtype: str, count: int) -> Row:
    return round_to(rng.standard_normal(count).astype(np.float32), dtype).tolist()


def make_problem(
    rng: np.random.Generator, batch: int, rope: bool, one_row: bool = False, wide_key: bool = False
) -> Problem:
    key_heads = int(rng.integers(1, 3))
    heads = key_heads * int(rng.integers(1, 4))
    dim = 32 if wide_key else 16
    full = int(rng.integers(2, 8))
    problem = Problem(
        heads=heads,
        key_heads=key_heads,
        dim=dim,
        value_dim=16 if wide_key else dim,
        rope_dim=16 if rope else 0,
        dtype=str(rng.choice(["float16", "bfloat16"])),
        scale=float(rng.choice([1.0, 0.25, 1 / math.sqrt(dim)])),
        query_lengths=[1] * batch if one_row else [int(rng.integers(0, full + 1)) for _ in range(batch)],
        key_lengths=[int(rng.integers(0, 14)) for _ in range(batch)],
    )

    def tensor(lengths: list[int], heads: int, dim: int) -> list:
        return [[[draw(rng, problem.dtype, dim) for _ in range(n)] for _ in range(heads)] for n in lengths]

    problem.query = tensor(problem.query_lengths, heads, dim)
    problem.key = tensor(problem.key_lengths, key_heads, dim)
    problem.value = tensor(problem.key_lengths, key_heads, problem.value_dim)
    if rope:
        problem.query_rope = tensor(problem.query_lengths, heads, problem.rope_dim)
        problem.key_rope = tensor(problem.key_lengths, key_heads, problem.rope_dim)
    return problem


def solve(problem: Problem) -> dict[tuple[int, int, int], tuple[Row, float]]:
    """(b, n, i) -> (row of attention_out, softmax_lse): every number by itself, with fsum."""
    answer = {}
    for b in range(problem.batch):
        for n in range(problem.heads):
            h = n // (problem.heads // problem.key_heads)
            for i in range(problem.query_lengths[b]):
                answer[b, n, i] = _row(problem, b, n, h, i)
    return answer


def _row(problem: Problem, b: int, n: int, h: int, i: int) -> tuple[Row, float]:
    logits = {}
    for j in range(problem.key_lengths[b]):
        if problem.sees(b, n, i, j):
            products = [x * y for x, y in zip(problem.query[b][n][i], problem.key[b][h][j], strict=True)]
            if problem.rope_dim:
                products += [x * y for x, y in zip(problem.query_rope[b][n][i], problem.key_rope[b][h][j], strict=True)]
            logits[j] = problem.scale * math.fsum(products)
            if problem.bias is not None:
                logits[j] += problem.bias(b, n, i, j)
    if not logits:
        return [0.0] * problem.value_dim, math.inf
    tops = list(logits.values())
    if problem.sink is not None:
        tops.append(problem.sink[n])
    top = max(tops)
    total = math.fsum(math.exp(x - top) for x in tops)
    row = [
        math.fsum(math.exp(x - top) * problem.value[b][h][j][d] for j, x in logits.items()) / total
        for d in range(problem.value_dim)
    ]
    return row, top + math.log(total)


def row_of(array: np.ndarray, axes: str, b: int, n: int, i: int, dim: int, starts: list[int]) -> np.ndarray:
    """The D numbers of head n, row i of sequence b, by the layout's index formula; a view."""
    if axes == "BSH":
        return array[b, i, n * dim : (n + 1) * dim]
    if axes == "BSND":
        return array[b, i, n]
    if axes == "BNSD":
        return array[b, n, i]
    if axes == "NBSD":
        return array[n, b, i]
    if axes == "TND":
        return array[starts[b] + i, n]
    if axes == "NTD":
        return array[n, starts[b] + i]
    raise AssertionError(axes)


def shape_of(axes: str, batch: int, heads: int, length: int, total: int, dim: int) -> tuple[int, ...]:
    sizes = {"B": batch, "N": heads, "S": length, "T": total, "H": heads * dim, "D": dim}
    return tuple(sizes[axis] for axis in axes)


def put(values: list, axes: str, heads: int, length: int, total: int, dim: int, dtype: str) -> np.ndarray:
    """values[b][n][i] as a tensor; everything else is NaN."""
    array = np.full(shape_of(axes, len(values), heads, length, total, dim), np.nan, np.float32)
    starts = starts_of([len(sequence[0]) for sequence in values])
    for b, sequence in enumerate(values):
        for n, rows in enumerate(sequence):
            for i, row in enumerate(rows):
                row_of(array, axes, b, n, i, dim, starts)[:] = row
    return encode(array, dtype, "bits")


def starts_of(lengths: list[int]) -> list[int]:
    return [sum(lengths[:b]) for b in range(len(lengths))]


def make_table(rng: np.random.Generator, lengths: list[int], block_size: int) -> tuple[np.ndarray, int]:
    """(block_table, number of blocks): blocks in random order, garbage where no block is needed."""
    needed = [-(-n // block_size) for n in lengths]
    blocks = sum(needed) + 3
    table = rng.choice(np.array([-1, -(2**31), 2**31 - 1, blocks]), (len(lengths), max(needed, default=0) + 2))
    order = rng.permutation(blocks).tolist()
    for b, count in enumerate(needed):
        for t in range(count):
            table[b, t] = order.pop()
    return table.astype(np.int32), blocks


def put_pages(
    values: list, table: np.ndarray, blocks: int, block_size: int, heads: int, dim: int, form: str, dtype: str
) -> np.ndarray:
    """A cache of form BBH, BNBD or NZ. Token t is row t % block_size of block table[b, t // block_size]."""
    shape = {
        "BBH": (blocks, block_size, heads * dim),
        "BNBD": (blocks, heads, block_size, dim),
        "NZ": (blocks, heads, dim // 16, block_size, 16),
    }[form]
    cache = np.full(shape, np.nan, np.float32)
    for b, sequence in enumerate(values):
        for n, rows in enumerate(sequence):
            for t, row in enumerate(rows):
                block, r = table[b, t // block_size], t % block_size
                if form == "BBH":
                    cache[block, r, n * dim : (n + 1) * dim] = row
                elif form == "BNBD":
                    cache[block, n, r] = row
                else:
                    for d in range(0, dim, 16):
                        cache[block, n, d // 16, r] = row[d : d + 16]
    return encode(cache, dtype, "bits")


def compare(problem: Problem, out: np.ndarray, axes: str, lse: np.ndarray | None, lse_axes: str) -> None:
    """Every element of the results, those of no sequence included: they have to be 0 and +inf."""
    starts = starts_of(problem.query_lengths)
    rest = np.ones(out.shape, bool)
    lse_rest = None if lse is None else np.ones(lse.shape, bool)
    for (b, n, i), (row, expected) in solve(problem).items():
        got = row_of(out, axes, b, n, i, problem.value_dim, starts)
        row_of(rest, axes, b, n, i, problem.value_dim, starts)[:] = False
        np.testing.assert_allclose(got, row, rtol=0, atol=1e-12, err_msg=f"sequence {b}, head {n}, row {i}")
        if lse is not None and lse_rest is not None:
            at = {"BNS1": (b, n, i, 0), "BSN1": (b, i, n, 0), "TN1": (starts[b] + i, n, 0)}[lse_axes]
            lse_rest[at] = False
            np.testing.assert_allclose(lse[at], expected, rtol=1e-12, atol=1e-12, err_msg=f"lse of {b}, {n}, {i}")
    assert (out[rest] == 0).all()
    if lse is not None and lse_rest is not None:
        assert (lse[lse_rest] == np.inf).all()
