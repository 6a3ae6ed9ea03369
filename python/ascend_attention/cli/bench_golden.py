# SPDX-License-Identifier: Apache-2.0
"""How fast the golden model is: one attention call by both of its flows, next to NumPy's einsum and a softmax.

Each contender runs in a process of its own, so that its peak memory is its own; all inputs come from one seed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ascend_attention.golden import fused_infer_attention_score_v2

SEED = 20260
HEADS, HEAD_DIM = 8, 128
# name -> (what it is, which einsum it is compared with)
CONTENDERS = {
    "einsum64": ("einsum, float64", "einsum64"),
    "exact": ('golden, dtype_flow="exact"', "einsum64"),
    "einsum32": ("einsum, float32", "einsum32"),
    "device": ('golden, dtype_flow="device"', "einsum32"),
}
Array = np.ndarray[Any, Any]


def einsum_attention(inputs: list[Array], scale: float, dtype: str) -> Array:
    """The textbook: all scores at once, plain einsum without its optimize option."""
    q, k, v = (x.astype(dtype) for x in inputs)
    scores = np.einsum("bnqd,bnkd->bnqk", q, k)
    scores *= scores.dtype.type(scale)
    scores -= scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores, out=scores)
    weights /= weights.sum(axis=-1, keepdims=True)
    return np.asarray(np.einsum("bnqk,bnkd->bnqd", weights, v))


def measure(contender: str, length: int, repeats: int) -> dict[str, float]:
    """Runs in the child process: the best of some runs."""
    rng = np.random.default_rng(SEED)
    inputs: list[Array] = [rng.standard_normal((1, HEADS, length, HEAD_DIM)).astype(np.float16) for _ in range(3)]
    scale = HEAD_DIM**-0.5
    runs: dict[str, Callable[[], object]] = {
        "einsum64": lambda: einsum_attention(inputs, scale, "float64"),
        "einsum32": lambda: einsum_attention(inputs, scale, "float32"),
        "exact": lambda: _golden(inputs, scale, "exact"),
        "device": lambda: _golden(inputs, scale, "device"),
    }
    before = _peak()
    seconds, processor = [], []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        runs[contender]()
        seconds.append(time.perf_counter() - wall)
        processor.append(time.process_time() - cpu)
    return {"seconds": min(seconds), "cpu": min(processor), "mib": (_peak() - before) / 1024}


def _golden(inputs: list[Array], scale: float, flow: Any) -> object:
    query, key, value = inputs
    return fused_infer_attention_score_v2(
        query, key, value, num_query_heads=HEADS, input_layout="BNSD", softmax_scale=scale, dtype_flow=flow
    )


def _peak() -> float:
    return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def table(rows: dict[str, dict[str, float]]) -> str:
    lines = [f"{'':30}{'seconds':>9}{'CPU s':>9}{'x einsum':>10}{'memory':>12}"]
    for contender, row in rows.items():
        name, yardstick = CONTENDERS[contender]
        ratio = row["cpu"] / rows[yardstick]["cpu"]
        lines.append(f"{name:30}{row['seconds']:9.2f}{row['cpu']:9.2f}{ratio:10.2f}{row['mib']:8.0f} MiB")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench_golden", description=__doc__)
    parser.add_argument("--lengths", type=int, nargs="+", default=[2048, 4096], help="queries and keys")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="of the matrix library")
    parser.add_argument("--child", choices=CONTENDERS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        print(json.dumps(measure(options.child, options.lengths[0], options.repeats)))
        return
    names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    environment = os.environ | dict.fromkeys(names, str(options.threads))
    for length in options.lengths:
        rows = {}
        for contender in CONTENDERS:
            command = [sys.executable, "-m", "ascend_attention.cli.bench_golden", "--child", contender]
            command += ["--lengths", str(length), "--repeats", str(options.repeats)]
            output = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
            rows[contender] = json.loads(output)
        print(
            f"B1 N{HEADS} S{length} D{HEAD_DIM}, {options.threads} thread(s); memory is what the call adds at its peak"
        )
        print(table(rows), end="\n\n")


if __name__ == "__main__":
    main()
