# SPDX-License-Identifier: Apache-2.0
"""What timed mode predicts for the attention kernels, shape by shape. Modelled, not measured: docs/timing.md.

Every launch starts with a cold L2. The kernel's head cost is in no column. Utilisation counts the products of visible
pairs only, against the cube peak of all cores of the SoC.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes  # noqa: F401  (NumPy learns bfloat16)
import numpy as np

import ascend_attention
from ascend_attention._timing import Prediction, Timing

TILE = 128


@dataclass(frozen=True)
class Shape:
    """One call. ``mask`` is "none", "causal" (bottom right), or a band of so many keys up to the diagonal."""

    group: str
    batch: int = 1
    heads: int = 16
    key_heads: int = 0  # 0: as many as query heads
    length: int = 4096
    key_length: int = 0  # 0: as many as queries
    head_dim: int = 128
    mask: str = "none"
    layout: str = "BNSD"
    dtype: str = "bfloat16"
    lengths: tuple[int, ...] = ()  # of each sequence, queries and keys alike
    quick: bool = False

    def __str__(self) -> str:
        kv = f"/{self.key_heads}" if self.key_heads else ""
        keys = f"x{self.key_length}" if self.key_length else ""
        ragged = " ragged" if self.lengths else ""
        dtype = {"bfloat16": "bf16", "float16": "fp16"}[self.dtype]
        return (
            f"{self.layout} B{self.batch} N{self.heads}{kv} S{self.length}{keys}{ragged} D{self.head_dim} {dtype} "
            f"{self.mask}"
        )

    def keys(self) -> int:
        return self.key_length or self.length

    def pairs(self) -> int:
        """Visible pairs of a query row and a key, of all heads."""
        if self.lengths:
            return self.heads * sum(self._pairs(length, length) for length in self.lengths)
        return self.batch * self.heads * self._pairs(self.length, self.keys())

    def _pairs(self, queries: int, keys: int) -> int:
        if self.mask == "none":
            return queries * keys
        last = np.arange(queries, dtype=np.int64) + (keys - queries)  # the diagonal ends in the lower right corner
        first = np.zeros(queries, np.int64) if self.mask == "causal" else last - int(self.mask.split()[-1]) + 1
        return int(np.maximum(np.minimum(last, keys - 1) - np.maximum(first, 0) + 1, 0).sum())

    def flop(self) -> float:
        return 4.0 * self.head_dim * self.pairs()

    def arguments(self) -> dict[str, Any]:
        dtype = np.dtype(self.dtype)
        heads = self.key_heads or self.heads

        def tensor(count: int, length: int) -> np.ndarray:
            sizes = {"B": self.batch, "N": count, "S": length, "D": self.head_dim, "H": count * self.head_dim}
            # What the numbers are changes nothing in the prediction; zeros cost no time to make.
            return np.zeros([sizes[axis] for axis in self.layout], dtype)

        arguments: dict[str, Any] = {
            "query": tensor(self.heads, self.length),
            "key": tensor(heads, self.keys()),
            "value": tensor(heads, self.keys()),
            "num_query_heads": self.heads,
            "num_key_value_heads": heads,
            "softmax_scale": self.head_dim**-0.5,
            "input_layout": self.layout,
        }
        if self.mask != "none":
            arguments.update(atten_mask=np.zeros((2048, 2048), bool), sparse_mode=3)
        if self.mask.startswith("band"):
            arguments.update(sparse_mode=4, pre_tokens=int(self.mask.split()[-1]) - 1, next_tokens=0)
        if self.lengths:
            arguments.update(actual_seq_qlen=list(self.lengths), actual_seq_kvlen=list(self.lengths))
        return arguments


def tiles_of(length: int) -> int:
    """128 x 128 tiles on or below the diagonal."""
    rows = -(-length // TILE)
    return rows * (rows + 1) // 2


def ragged_pair(count: int, longest: int, seed: int, quick: bool) -> list[Shape]:
    """Sequences of random lengths, and as many of one length with about as many tiles."""
    lengths = tuple(int(length) for length in np.random.default_rng(seed).integers(1, longest + 1, count))
    mean = sum(tiles_of(length) for length in lengths) / count
    uniform = min(range(TILE, longest + 1, TILE), key=lambda length: abs(tiles_of(length) - mean))
    common = {"group": "ragged", "batch": count, "heads": 8, "mask": "causal", "quick": quick}
    return [
        Shape(**common, length=longest, lengths=lengths),  # type: ignore[arg-type]
        Shape(**common, length=uniform),  # type: ignore[arg-type]
    ]


SHAPES = [
    Shape("target", length=8192),
    Shape("target", length=8192, mask="causal"),
    Shape("target", heads=1, length=1024, quick=True),
    *ragged_pair(64, 4096, seed=5, quick=False),
    *ragged_pair(24, 1024, seed=5, quick=True),
    *(Shape("length", heads=max(1, 8192 // length), length=length, quick=length <= 2048)
      for length in (1024, 2048, 4096, 16384)),
    Shape("length", heads=1, length=32768),
    *(Shape("causal", heads=max(1, 16384 // length), length=length, mask="causal", quick=length <= 2048)
      for length in (1024, 2048, 4096)),
    *(Shape("head", heads=12, length=2048, head_dim=dim, quick=True) for dim in (64, 80, 192, 256)),
    *(Shape("layout", heads=12, length=2048, layout=layout, dtype=dtype, quick=True)
      for layout, dtype in (("BSND", "bfloat16"), ("BSH", "float16"), ("BNSD", "float16"))),
    Shape("grouped", heads=32, key_heads=8, length=2048, mask="causal", quick=True),
    Shape("grouped", heads=32, key_heads=8, length=4096, layout="BSND", mask="causal"),
    Shape("band", heads=16, length=4096, mask="band 1024", quick=True),
    Shape("band", heads=16, length=8192, mask="band 512"),
    # Short queries against long keys: chunks of a prompt, tokens of speculative decoding.
    Shape("short", heads=32, key_heads=8, length=512, key_length=8192, mask="causal", quick=True),
    Shape("short", batch=4, heads=32, key_heads=8, length=16, key_length=4096, mask="causal", quick=True),
    Shape("short", batch=32, heads=32, key_heads=8, length=4, key_length=2048, mask="causal", quick=True),
    Shape("short", heads=1, length=128, quick=True),
    Shape("short", heads=8, length=512, quick=True),
]  # fmt: skip

COLUMNS = (
    f"{'shape':44} {'us':>8} {'low':>8} {'high':>8} {'of peak':>8}  {'largest bound':16} {'reached':>8}"
    f" {'L2 r':>5} {'L2 w':>5} {'HBM':>5} {'busiest':>8} {'wall s':>7}"
)


@dataclass(frozen=True)
class Line:
    """A shape and what was predicted for it."""

    shape: Shape
    timing: Timing
    wall: float

    def utilisation(self, prediction: Prediction) -> float:
        return self.shape.flop() / (self.timing.roofline.peak * prediction.microseconds * 1e-6)

    def __str__(self) -> str:
        guess = self.timing.middle
        bound = guess.largest_bound
        memory = guess.bandwidth_share
        return (
            f"{self.shape!s:44} {guess.microseconds:8.1f} {self.timing.low.microseconds:8.1f} "
            f"{self.timing.high.microseconds:8.1f} {self.utilisation(guess):8.1%}  {bound:16} "
            f"{guess.share(guess.bound[bound]):8.1%} {memory['L2 reads']:5.0%} {memory['L2 writes']:5.0%} "
            f"{memory['HBM']:5.0%} {guess.busiest_core / guess.mean_core:8.3f} {self.wall:7.1f}"
        )

    def to_dict(self) -> dict[str, Any]:
        guess = self.timing.middle
        return {
            "shape": str(self.shape),
            "group": self.shape.group,
            "microseconds": {
                name: getattr(self.timing, name).microseconds for name in ("low", "middle", "high")
            },
            "utilisation": self.utilisation(guess),
            "bound": dict(guess.bound),
            "cycles": guess.cycles,
            "busiest_to_mean": guess.busiest_core / guess.mean_core,
        }  # fmt: skip


def predict(shape: Shape, soc: str) -> Line:
    arguments = shape.arguments()
    start = time.perf_counter()
    with ascend_attention.simulator(soc=soc, mode="timed") as run:
        ascend_attention.npu_fused_infer_attention_score_v2(**arguments)
    timing = run.report.timing
    assert timing is not None
    return Line(shape, timing, time.perf_counter() - start)


def chosen(shapes: Sequence[Shape], only: str, quick: bool) -> list[Shape]:
    return [
        shape
        for shape in shapes
        if (shape.quick or not quick) and (only in str(shape) or only == shape.group or not only)
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--soc", default="Ascend910B2", help="processor (default %(default)s)")
    parser.add_argument("--only", default="", metavar="TEXT", help="shapes of this group, or with this in their name")
    parser.add_argument("--quick", action="store_true", help="only shapes of a few seconds each")
    parser.add_argument("--json", metavar="FILE", help="also write the figures there")
    given = parser.parse_args(arguments)
    shapes = chosen(SHAPES, given.only, given.quick)
    if not shapes:
        print(f"no shape matches {given.only!r}; groups: {', '.join(dict.fromkeys(s.group for s in SHAPES))}")
        return 1
    print(
        f"{given.soc}, modelled (measured costs, middle assumption; low and high beside it), cold L2, without the head"
    )
    print(COLUMNS, flush=True)
    lines = []
    for shape in shapes:
        lines.append(predict(shape, given.soc))
        print(lines[-1], flush=True)
    if given.json:
        with open(given.json, "w") as file:
            json.dump([line.to_dict() for line in lines], file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
