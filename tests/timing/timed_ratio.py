# SPDX-License-Identifier: Apache-2.0
"""How much longer timed mode takes than fast mode, kernel by kernel: ``scripts/bench_simulator --timed`` runs it.

Of each kernel of tests/timing/kernels the calibration points (those that tests run), and what is hardest: many calls
that do next to nothing each. Then the engine. Best of some runs, fast and timed in turn.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import calibration
import numpy as np
from calibration import Modelled, Point

BOUND = 3.0
RUNS = 5
SMALL = 2e-3  # seconds in fast mode: below, the launch itself is what takes time

Run = Callable[[str], object]


class Row:
    """Sums over launches, fast and timed: CPU seconds of all threads, and seconds that pass."""

    def __init__(self) -> None:
        self.launches = 0
        self.cpu = np.zeros(2)
        self.wall = np.zeros(2)

    def measure(self, run: Run) -> None:
        best = np.full((2, 2), np.inf)
        run("timed")  # compiles, and fills caches
        for _ in range(RUNS):
            for index, mode in enumerate(("fast", "timed")):
                cpu, wall = time.process_time(), time.perf_counter()
                run(mode)
                best[index] = np.minimum(best[index], (time.process_time() - cpu, time.perf_counter() - wall))
        self.launches += 1
        self.cpu += best[:, 0]
        self.wall += best[:, 1]

    def line(self, name: str) -> str:
        cpu, wall = (times[1] / times[0] for times in (self.cpu, self.wall))
        mark = "  above the bound" if max(cpu, wall) > BOUND else ""
        mark = mark and ("  (the launch itself)" if self.wall[0] / self.launches < SMALL else mark)
        return (
            f"  {name:34} {self.launches:8} {1e3 * self.wall[0]:9.1f} ms {1e3 * self.wall[1]:9.1f} ms "
            f"{wall:6.2f} {cpu:6.2f}{mark}"
        )


def kernels() -> dict[str, Row]:
    """The calibration points, by kernel."""
    rows: dict[str, Row] = {}

    def launch(point: Point, file: str, *arguments: object, cores: int) -> Modelled:
        kernel = calibration.kernel(file, point.kernel)
        run: Run = lambda mode: kernel(*arguments, blocks=cores, soc=point.soc, mode=mode)  # noqa: E731
        rows.setdefault(point.kernel, Row()).measure(run)
        return Modelled(np.ones(3), np.zeros(3), 1.0)

    calibration.launch = launch
    for point in calibration.load_points():
        if point.effort == "test":
            calibration.RUNS[point.kernel](point)
    return rows


def small_calls() -> dict[str, Run]:
    from ascend_attention import sim

    matrix = np.zeros((3072, 3072), np.float16)
    row = np.ones(48 * 64 * 256, np.float16)
    floats = np.ones(256, np.float32)
    load, add, chain, overlap = (
        calibration.kernel(*name)
        for name in (
            ("stream_load", "stream_load_ub"),
            ("stream_add", "stream_add"),
            ("vector_chain", "vector_chain"),
            ("overlap", "overlap_products"),
        )
    )
    return {
        "stream_load_ub, 128 bytes a call": lambda mode: load(matrix, 64, 3072, 1, 64, 1, 1, blocks=48, mode=mode),
        "stream_load_ub, 2048 bytes a call": lambda mode: load(matrix, 64, 3072, 1, 1024, 1, 1, blocks=48, mode=mode),
        "stream_add, 512 bytes a call": lambda mode: add(
            row, row, sim.Out(np.empty_like(row)), 64, 256, 2, blocks=48, mode=mode
        ),
        "vector_chain, 1024 bytes a call": lambda mode: chain(
            floats, floats, sim.Out(np.empty_like(floats)), 0, 4, 20000, 0, mode=mode
        ),
        "overlap_products": lambda mode: overlap(
            matrix.reshape(-1)[: 128 * 128], sim.Out(np.empty((64, 128, 128), np.float32)), 64, 1, mode=mode
        ),
    }


def engine(heads: int, length: int, dim: int) -> Run:
    import ascend_attention

    tensor = np.zeros((1, heads, length, dim), np.float16)

    def run(mode: str) -> None:
        with ascend_attention.simulator(mode=mode):
            ascend_attention.npu_fused_infer_attention_score_v2(
                tensor, tensor, tensor, num_query_heads=heads, softmax_scale=dim**-0.5, input_layout="BNSD"
            )

    return run


def main() -> None:
    print("Timed mode against fast mode: wall time, and the ratio of wall time and of CPU time")
    print(f"  {'':34} {'launches':>8} {'fast':>12} {'timed':>12} {'wall':>6} {'CPU':>6}")
    for name, row in kernels().items():
        print(row.line(name), flush=True)
    others = small_calls()
    for heads, length, dim in ((1, 128, 128), (2, 256, 64), (8, 512, 128), (4, 2048, 128)):
        others[f"attention, N{heads} S{length} D{dim}"] = engine(heads, length, dim)
    for name, run in others.items():
        row = Row()
        row.measure(run)
        print(row.line(name), flush=True)


if __name__ == "__main__":
    main()
