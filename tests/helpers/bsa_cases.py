# SPDX-License-Identifier: Apache-2.0
"""Cases of block_sparse_attention_v2 for Atlas A2 and A3, and what runs and judges them.

A ``BsaCase`` is a small description; ``arguments()`` makes the NumPy inputs and all keyword arguments of the call. All
that nobody may read is poisoned: rows beyond a sequence's length, keys that no row of their heads selects, rows and
columns of the map beyond the blocks of a sequence (ones, which would select what is not there). ``arguments(False)``
are the same without poison, for the golden model. ``tests/conformance/bsa_kernel`` has cases as data.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

import ascend_attention
from ascend_attention import golden
from ascend_attention._settings import at_most_cores
from ascend_attention.precision import compare
from helpers.fia_storage import lay
from helpers.fia_values import encode, poison, round_to

PATTERNS = ("random", "equal", "all", "none", "first", "last", "diagonal", "pairs", "heads")


@dataclass(frozen=True)
class BsaCase:
    name: str
    layout: str = "BNSD"
    dtype: str = "float16"
    batch: int = 1
    heads: int = 1
    key_heads: int = 0  # 0: as many
    query_length: int = 128
    key_length: int = 256
    head_dim: int = 64
    block_x: int = 0  # 0: no block_shape, which is 128 x 128
    block_y: int = 128
    lengths: tuple[int, ...] | None = None  # of query, one a sequence; "TND": needed
    key_lengths: tuple[int, ...] | None = None
    pattern: str = "random"
    density: float = 0.5
    lse: bool = True
    inner_precise: int = 4
    scale: float | None = None
    ones: int = 1  # what the map has where a block is selected: the document says 1

    @property
    def spans(self) -> list[tuple[int, int]]:
        """Rows and keys of each sequence."""
        rows = self.lengths or (self.query_length,) * self.batch
        return list(zip(rows, self.key_lengths or (self.key_length,) * len(rows), strict=True))

    @property
    def block(self) -> tuple[int, int]:
        return (self.block_x, self.block_y) if self.block_x else (128, 128)

    @property
    def longest(self) -> tuple[int, int]:
        rows, keys = (max(each) for each in zip(*self.spans, strict=True))
        return (rows, keys) if self.layout == "TND" else (self.query_length, self.key_length)

    def map(self, rng: np.random.Generator) -> np.ndarray:
        """bool (B, N, blocks of rows, blocks of keys)."""
        rows, keys = (-(-length // unit) for length, unit in zip(self.longest, self.block, strict=True))
        shape = (len(self.spans), self.heads, rows, keys)
        drawn = rng.random(shape)
        row, column = np.arange(rows)[:, None], np.arange(keys)[None]
        made = {
            "random": drawn < self.density,
            "equal": np.argsort(drawn, -1) < round(self.density * keys),
            "all": np.ones(shape, bool),
            "none": np.zeros(shape, bool),
            "first": np.broadcast_to(column == 0, shape),
            "last": np.broadcast_to(column == keys - 1, shape),
            "diagonal": np.broadcast_to(column * rows // keys == row, shape),
            "pairs": (drawn < self.density)[:, :, np.arange(rows) // 2 * 2],  # neighbours agree
            "heads": np.broadcast_to(drawn[:, :1] < self.density, shape),
        }[self.pattern].copy()
        for b, (length, key_length) in enumerate(self.spans):  # what is no block of the sequence is seen by nobody
            made[b, :, -(-length // self.block[0]) :] = False
            made[b, :, :, -(-key_length // self.block[1]) :] = False
        return made

    def arguments(self, poisoned: bool = True) -> dict[str, Any]:
        rng = np.random.default_rng(list(self.name.encode()))
        key_heads = self.key_heads or self.heads
        sees = self.map(rng)
        rows, keys = self.longest
        batch = len(self.spans)

        def values(count: int, length: int) -> np.ndarray:
            return round_to(rng.standard_normal((batch, count, length, self.head_dim)), self.dtype)

        query, key, value = values(self.heads, rows), values(key_heads, keys), values(key_heads, keys)
        blocks = sees.astype(np.int8) * np.int8(self.ones if poisoned else 1)
        used = sees.any(2).reshape(batch, key_heads, -1, sees.shape[3]).any(2)
        if poisoned:
            for b, (length, key_length) in enumerate(self.spans):
                poison(query[b, :, length:], rng)
                blocks[b, :, -(-length // self.block[0]) :] = 1
                blocks[b, :, :, -(-key_length // self.block[1]) :] = 1
                for n in range(key_heads):
                    hidden = ~used[b, n][np.arange(keys) // self.block[1]]
                    hidden[key_length:] = True
                    for tensor in (key, value):
                        part = tensor[b, n, hidden]
                        poison(part, rng)
                        tensor[b, n, hidden] = part
        lengths = [[span[i] for span in self.spans] for i in (0, 1)]
        arguments = {
            "query": encode(lay(query, self.layout, lengths[0]), self.dtype),
            "key": encode(lay(key, self.layout, lengths[1]), self.dtype),
            "value": encode(lay(value, self.layout, lengths[1]), self.dtype),
            "block_sparse_mask": blocks,
            "block_shape": [self.block_x, self.block_y] if self.block_x else None,
            "q_input_layout": self.layout,
            "kv_input_layout": self.layout,
            "num_key_value_heads": key_heads,
            "scale_value": self.head_dim**-0.5 if self.scale is None else self.scale,
            "inner_precise": self.inner_precise,
            "softmax_lse_flag": int(self.lse),
        }
        if self.lengths is not None or self.layout == "TND":
            arguments.update(actual_seq_lengths=lengths[0], actual_seq_lengths_kv=lengths[1])
        return arguments


def run(case: BsaCase, mode: str = "checked", soc: str = "Ascend910B2", cores: int = 0) -> tuple[Any, Any]:
    """(results, report of the simulator)."""
    arguments = case.arguments()
    with ascend_attention.simulator(mode=mode, soc=soc) as block, at_most_cores(cores):
        results = ascend_attention.block_sparse_attention_v2(**arguments)
    return results, block.report


def judge(case: BsaCase, results: Any) -> str:
    """What is wrong with them, "" when nothing is."""
    arguments = {**case.arguments(False), "softmax_lse_flag": 1}
    exact, exact_lse = golden.block_sparse_attention_v2(**arguments, dtype_flow="exact")
    peer, peer_lse = golden.block_sparse_attention_v2(**arguments, dtype_flow="device")
    blind = np.broadcast_to(np.isposinf(exact_lse), exact.shape)
    reports = [compare(results[0], exact, peer, must_be_zero=blind)]
    if case.lse:
        reports.append(compare(results[1], exact_lse, peer_lse, name="softmax_lse"))
    elif results[1].shape != (0,):
        return f"softmax_lse of shape {results[1].shape} that nobody asked for"
    return "\n".join(
        f"{report.name}: {report.reasons} {report.mismatch_region}" for report in reports if report.reasons
    )


def run_and_judge(case: BsaCase, mode: str = "checked", soc: str = "Ascend910B2", cores: int = 0) -> Any:
    print(case)
    results, report = run(case, mode, soc, cores)
    assert not report.findings, report.findings
    assert not (wrong := judge(case, results)), f"{case}\n{wrong}"
    return results


def draw_case(rng: np.random.Generator) -> BsaCase:
    """Any legal call of a few thousand pairs of rows and keys."""

    def one_of(*choices: Any) -> Any:
        return choices[int(rng.integers(len(choices)))]

    layout = one_of("TND", "BNSD", "BSND")
    batch, key_heads = int(rng.integers(1, 4)), int(rng.integers(1, 3))
    block_x = one_of(0, 1, 7, 16, 48, 64, 100, 128, 160, 200, 256, 384, int(rng.integers(1, 500)), 2**40)
    block_y = one_of(128, 128, 128, 256, 384, 512, 2**40)
    rows, keys = int(rng.integers(1, one_of(20, 150, 700))), int(rng.integers(1, one_of(200, 900, 2500)))
    if 0 < block_x < 16:
        rows = min(rows, 40)
    lengths = key_lengths = None
    if layout == "TND" or rng.random() < 0.6:
        least = 0 if rng.random() < 0.4 else 1
        lengths = [int(n) for n in rng.integers(least, rows + 1, batch)]
        key_lengths = [int(n) for n in rng.integers(least, keys + 1, batch)]
        lengths[0], key_lengths[-1] = max(lengths[0], 1), max(key_lengths[-1], 1)  # tensors that are not empty
    return BsaCase(
        name=f"draw-{int(rng.integers(2**31))}",
        layout=layout,
        dtype=one_of("float16", "bfloat16"),
        batch=batch,
        heads=key_heads * int(rng.integers(1, 4)),
        key_heads=key_heads,
        query_length=rows,
        key_length=keys,
        head_dim=one_of(64, 128),
        block_x=block_x,
        block_y=block_y if block_x else 128,
        lengths=tuple(lengths) if lengths else None,
        key_lengths=tuple(key_lengths) if key_lengths else None,
        pattern=one_of("random", "random", *PATTERNS),
        density=float(rng.random()),
        lse=bool(rng.random() < 0.7),
        inner_precise=one_of(0, 4),
        ones=one_of(1, 1, 1, -1, 2),
    )


def variant(case: BsaCase, **fields: Any) -> BsaCase:
    return dataclasses.replace(case, **fields)
