# SPDX-License-Identifier: Apache-2.0
"""What timed mode predicts for block-sparse attention, by block shape and density. Modelled, not measured.

The maps are random: every row of blocks selects the same number of blocks of keys, each head and row its own ones.
Efficiency is density times the time of our dense attention of the same shape, over the time. The pre-pass, which turns
the map into key lists, is part of the time; its own column says when the last core has begun to load its first keys.
Every launch starts with a cold L2, and the kernel's head cost is in no column.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ml_dtypes  # noqa: F401  (NumPy learns bfloat16)
import numpy as np

import ascend_attention
from ascend_attention._timing import Timing
from ascend_attention._trace import Trace
from ascend_attention.cli.bench_kernels import ASSUMPTIONS, SOC, TABLE_ENDS, predict, write_table
from ascend_attention.cli.bench_shapes import Shape

SEED = 7
TABLE_BEGINS = "<!-- table: written by python -m ascend_attention.cli.bench_sparse --write docs/performance.md -->\n"
DENSE = Shape("sparse", heads=16, length=16384)
QUICK = Shape("sparse", heads=2, length=2048)
BLOCKS = ((128, 128), (256, 128))
DENSITIES = (1.0, 0.5, 0.25, 0.1)
# Least efficiency, by height of a block; at density 1 that of a time so much longer than dense attention's.
WANTED = {128: 0.75, 256: 0.85}
WANTED_DENSE = {128: 1 / 1.15, 256: 1 / 1.05}
COLUMNS = (
    f"{'block':9} {'density':>7} {'us':>8} {'low':>8} {'high':>8} {'pre-pass':>8}  {'efficiency':>10} {'low':>6} "
    f"{'high':>6} {'busiest':>8}  wanted"
)


def block_map(shape: Shape, block: tuple[int, int], density: float, seed: int = SEED) -> np.ndarray:
    """int8 (B, N, blocks of rows, blocks of keys), in every row the same number of ones."""
    rows, keys = -(-shape.length // block[0]), -(-shape.keys() // block[1])
    drawn = np.random.default_rng(seed).random((shape.batch, shape.heads, rows, keys))
    return (np.argsort(drawn, -1) < round(density * keys)).astype(np.int8)


@dataclass(frozen=True)
class Row:
    block: tuple[int, int]
    density: float  # of the map, not the one that was asked for
    timing: Timing
    dense: Timing
    prepass: float  # microseconds

    def efficiency(self, assumption: str) -> float:
        dense = getattr(self.dense, assumption).microseconds
        return float(self.density * dense / getattr(self.timing, assumption).microseconds)

    @property
    def wanted(self) -> float:
        return (WANTED_DENSE if self.density == 1 else WANTED)[self.block[0]]

    @property
    def met(self) -> bool:
        return self.efficiency("middle") >= self.wanted

    def __str__(self) -> str:
        guess = self.timing.middle
        times = " ".join(f"{getattr(self.timing, name).microseconds:8.1f}" for name in ("middle", "low", "high"))
        shares = f"{self.efficiency('middle'):10.3f} {self.efficiency('low'):6.3f} {self.efficiency('high'):6.3f}"
        return (
            f"{self.block[0]:4}x{self.block[1]:<4} {self.density:7.4f} {times} {self.prepass:8.1f}  {shares} "
            f"{guess.busiest_core / guess.mean_core:8.3f}  {self.wanted:.3f} {'met' if self.met else 'not met'}"
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "block": list(self.block),
            "density": self.density,
            "microseconds": {name: getattr(self.timing, name).microseconds for name in ASSUMPTIONS},
            "prepass_microseconds": self.prepass,
            "efficiency": {name: self.efficiency(name) for name in ASSUMPTIONS},
            "wanted": self.wanted,
            "met": self.met,
        }


def first_loads(trace: Trace, blocks: int) -> float:
    """Modelled microseconds until the last cube core begins to load its first keys."""
    cores = [f"block {block} AIC" for block in range(blocks)]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "begin.json"
        trace.save(path, end_us=60.0, cores=cores)
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    first: dict[int, float] = {}
    for event in events:
        if event.get("ph") == "X" and str(event.get("name")).startswith("DataCopy"):
            first[event["pid"]] = min(first.get(event["pid"], float("inf")), event["ts"])
    return max(first.values())


def predict_sparse(shape: Shape, block: tuple[int, int], density: float, dense: Timing, soc: str) -> Row:
    selected = block_map(shape, block, density)
    dense_arguments = shape.arguments()
    arguments = {name: dense_arguments[name] for name in ("query", "key", "value", "num_key_value_heads")}
    with ascend_attention.simulator(soc=soc, mode="timed") as run:
        ascend_attention.block_sparse_attention_v2(
            **arguments,
            block_sparse_mask=selected,
            block_shape=block,
            q_input_layout=shape.layout,
            kv_input_layout=shape.layout,
            scale_value=shape.head_dim**-0.5,
        )
    launch = run.report.launches[0]
    assert launch.timing is not None and launch.trace is not None
    return Row(block, float(selected.mean()), launch.timing, dense, first_loads(launch.trace, launch.blocks))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK}, some seconds; else {DENSE}, minutes")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the figures there")
    parser.add_argument("--write", metavar="FILE", type=Path, help="put the table into this document")
    given = parser.parse_args(arguments)
    if given.write and given.quick:
        parser.error("--write takes the whole table, without --quick")
    shape = QUICK if given.quick else DENSE
    printed = []

    def say(text: str) -> None:
        printed.append(text)
        print(text, flush=True)

    begun = time.perf_counter()
    dense = predict(shape, SOC).timing
    say(f"{SOC}, modelled (measured costs, middle assumption; low and high beside it), cold L2, without the head; "
        f"maps of seed {SEED}")  # fmt: skip
    times = ", ".join(f"{name} {getattr(dense, name).microseconds:.1f}" for name in ASSUMPTIONS)
    say(f"{shape}: dense attention takes {times} us")
    say(COLUMNS)
    rows = []
    for block in BLOCKS:
        for density in DENSITIES:
            rows.append(predict_sparse(shape, block, density, dense, SOC))
            say(str(rows[-1]))
    print(f"{time.perf_counter() - begun:.0f} s")
    if given.json:
        content = {
            "times": "modelled, not measured",
            "soc": SOC,
            "shape": str(shape),
            "seed": SEED,
            "rows": [row.to_dict() for row in rows],
        }
        given.json.write_text(json.dumps(content, indent=1), encoding="utf-8")
    if given.write:
        write_table(given.write, "\n".join(printed), TABLE_BEGINS, TABLE_ENDS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
