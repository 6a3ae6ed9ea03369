# SPDX-License-Identifier: Apache-2.0
"""How fast the simulator is: one attention call by torch in float32, in fast, timed and checked mode, two threads.

Each contender runs in a process of its own, so that its peak memory is its own; all inputs come from one seed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

THREADS = 2
SEED = 20260
CONTENDERS = {
    "torch": "torch SDPA float32",
    "fast": "simulator, fast mode",
    "timed": "simulator, timed mode",
    "checked": "simulator, checked mode",
}


@dataclass(frozen=True)
class Shape:
    batch: int = 1
    heads: int = 8
    length: int = 2048
    head_dim: int = 128

    def flops(self) -> float:
        """Of the two matrix products; softmax is not counted."""
        return 4.0 * self.batch * self.heads * self.length**2 * self.head_dim

    def __str__(self) -> str:
        return f"B{self.batch} N{self.heads} S{self.length} D{self.head_dim}"


def measure(contender: str, shape: Shape) -> dict[str, float]:
    """Runs in the child process: the best of some runs, after one that warms up caches and code."""
    import torch

    torch.set_num_threads(THREADS)
    torch.manual_seed(SEED)
    size = (shape.batch, shape.heads, shape.length, shape.head_dim)
    inputs = [torch.randn(size).half() for _ in range(3)]
    scale = shape.head_dim**-0.5

    if contender == "torch":
        query, key, value = (tensor.float() for tensor in inputs)

        def run() -> None:
            torch.nn.functional.scaled_dot_product_attention(query, key, value, scale=scale)

        return repeat(run, runs=5, warm_up=True)

    import ascend_attention

    def run_simulator() -> None:
        with ascend_attention.simulator(mode=contender):
            ascend_attention.npu_fused_infer_attention_score_v2(
                *inputs, num_query_heads=shape.heads, softmax_scale=scale, input_layout="BNSD"
            )

    # A checked run takes long enough that what a first run costs does not show.
    brief = contender != "checked"
    return repeat(run_simulator, runs=3 if brief else 1, warm_up=brief)


def repeat(run: Callable[[], None], runs: int, warm_up: bool) -> dict[str, float]:
    if warm_up:
        run()
    seconds = []
    for _ in range(runs):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # KiB on Linux
    return {"seconds": min(seconds), "runs": runs, "peak_mib": peak / 1024}


def matrix_kernel() -> str:
    """The compiled version of Mmad's arithmetic that this CPU runs."""
    from ascend_attention import _core

    versions: list[str] = []
    _core.sim.execute("MmadVersions", [], {"names": versions}, "cube")
    return versions[0]


def bounds(kernel: str) -> str:
    fast = {"avx512f": "6x", "avx2": "10x"}.get(kernel, "none")
    times = f"fast mode {fast}, timed mode 3x of fast mode, checked mode 25x"
    return f"Mmad by its {kernel} version; bounds: {times}, peak RSS 1 GB"


def machine() -> str:
    model = platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    cpus = len(os.sched_getaffinity(0))
    return f"{model}, {cpus} CPUs available; Python {platform.python_version()}, Linux {platform.release()}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--length", type=int, default=Shape.length, help="sequence length (default %(default)s)")
    parser.add_argument("--contender", choices=CONTENDERS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    shape = Shape(length=arguments.length)
    if arguments.contender:
        print(json.dumps(measure(arguments.contender, shape)))
        return 0

    print(f"Attention forward, {shape}, float16 inputs, no mask, {THREADS} threads")
    print(machine())
    print(bounds(matrix_kernel()))
    print(f"\n  {'':26} {'time':>10} {'runs':>5} {'to torch':>9} {'GFLOP/s':>8} {'peak RSS':>10}")
    baseline = 0.0
    taken: dict[str, float] = {}
    for contender, title in CONTENDERS.items():
        command = [sys.executable, "-m", "ascend_attention.cli.bench_simulator"]
        command += ["--contender", contender, "--length", str(shape.length)]
        threads = {"OMP_NUM_THREADS": str(THREADS)}
        child = subprocess.run(command, env={**os.environ, **threads}, stdout=subprocess.PIPE, text=True, check=False)
        if child.returncode != 0:
            print(f"  {title}: failed with exit code {child.returncode}", file=sys.stderr)
            return 1
        result = json.loads(child.stdout)
        seconds = result["seconds"]
        baseline = baseline or seconds
        taken[contender] = seconds
        print(
            f"  {title:26} {seconds:8.3f} s {result['runs']:5} {seconds / baseline:8.1f}x "
            f"{shape.flops() / seconds / 1e9:8.1f} {result['peak_mib']:6.0f} MiB",
            flush=True,
        )
    print(f"\n  timed mode takes {taken['timed'] / taken['fast']:.2f} times as long as fast mode")
    return 0


if __name__ == "__main__":
    sys.exit(main())
