# SPDX-License-Identifier: Apache-2.0
"""What the host's part of a call costs through torch, up to the point of launch, beside an empty torch operator.

A call cannot be stopped at the point of launch, so two requests stand for it. One has a query of no rows: it goes
through every check, reads every length and has its results allocated, and there is nothing to launch. The other goes to
the workspace helper, which does all that a call does before it launches, the plan included. Each figure is the fastest
of many rounds: what else the machine does at the time is not the question. The median is printed beside it.

Torch looks at every entry of a list of lengths before it calls anything. What that takes shows in an operator of the
same schema that does nothing.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, NamedTuple

import torch

from ascend_attention import AttentionNotSupported, check, npu_fused_infer_attention_score_v2
from ascend_attention import torch_ops as torch_ops  # registers the operators

NAME = "npu_fused_infer_attention_score_v2"
BATCH = 256
TARGET = 60.0  # microseconds


class Figure(NamedTuple):
    """Microseconds."""

    best: float
    median: float

    def plus(self, other: Figure, sign: int = 1) -> Figure:
        return Figure(self.best + sign * other.best, self.median + sign * other.median)

    def minus(self, other: Figure) -> Figure:
        return self.plus(other, -1)


def microseconds(call: Callable[[], Any], rounds: int, calls: int = 20) -> Figure:
    took = []
    gc.disable()  # as timeit does
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        took.append((time.perf_counter() - begin) / calls * 1e6)
    gc.enable()
    return Figure(min(took), statistics.median(took))


def keep_memory() -> None:
    """Freed memory stays with the process: a workspace of megabytes from the system costs what a plan does, and no two
    times the same."""
    trim_threshold, mmap_max = -1, -4  # malloc.h
    libc = ctypes.CDLL(None)
    libc.mallopt(mmap_max, 0)
    libc.mallopt(trim_threshold, 2**31 - 1)


def tensors(shapes: dict[str, tuple[int, ...]]) -> dict[str, torch.Tensor]:
    """Large, and never touched: memory that nobody writes costs nothing."""
    return {name: torch.empty(shape, dtype=torch.bfloat16) for name, shape in shapes.items()}


def decode_request() -> dict[str, Any]:
    cache = (8192, 128, 1024)
    return {
        **tensors({"query": (BATCH, 1, 32, 128), "key": cache, "value": cache}),
        "block_table": torch.empty(BATCH, 64, dtype=torch.int32),
        "block_size": 128,
        "actual_seq_kvlen": [1 + 30 * sequence for sequence in range(BATCH)],
        "num_query_heads": 32,
        "num_key_value_heads": 8,
        "input_layout": "BSND",
    }


def without_rows(decode: dict[str, Any]) -> dict[str, Any]:
    return {**decode, **tensors({"query": (BATCH, 0, 32, 128)})}


def two_rows_request() -> dict[str, Any]:
    keys = (BATCH, 1024, 8, 128)
    return {
        **tensors({"query": (BATCH, 2, 32, 128), "key": keys, "value": keys}),
        "actual_seq_kvlen": [1 + 4 * sequence for sequence in range(BATCH)],
        "num_query_heads": 32,
        "num_key_value_heads": 8,
        "input_layout": "BSND",
    }


def packed_request() -> dict[str, Any]:
    """Two lists of lengths."""
    decode = decode_request()
    return {
        **decode,
        **tensors({"query": (BATCH, 32, 128)}),
        "input_layout": "TND",
        "actual_seq_qlen": [1 + sequence for sequence in range(BATCH)],
        "sparse_mode": 3,
        "atten_mask": torch.empty(2048, 2048, dtype=torch.bool),
    }


def lengths_in_tensor(arguments: dict[str, Any]) -> dict[str, Any]:
    return {n: torch.tensor(v) if n.startswith("actual_seq") else v for n, v in arguments.items()}


def is_supported(arguments: dict[str, Any]) -> bool:
    try:
        check(NAME, **arguments)
    except AttentionNotSupported:
        return False
    return True


class Table:
    """Measures and prints row by row."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds
        print(f"load of the machine: {os.getloadavg()[0]:.1f}")
        print(f"{f'through torch, microseconds; {BATCH} sequences':72} {'best':>8} {'median':>8} under {TARGET:.0f}")

    def row(self, name: str, call: Callable[[], Any], *, judged: bool = True) -> Figure:
        return self.figure(name, microseconds(call, self.rounds), judged=judged)

    def figure(self, name: str, took: Figure, *, judged: bool = True) -> Figure:
        verdict = ("met" if took.best < TARGET else "NOT met") if judged else ""
        print(f"{name:72} {took.best:8.1f} {took.median:8.1f} {verdict:>8}", flush=True)
        return took


def measure(table: Table) -> None:
    function = npu_fused_infer_attention_score_v2
    empty = torch.ops.ascend_attention_bench.empty
    operator = getattr(torch.ops.ascend_attention, NAME)
    decode = decode_request()
    no_rows = without_rows(decode)
    no_rows_ = lengths_in_tensor(no_rows)
    vector = torch.empty(8)

    print("torch alone, in torch.inference_mode()")
    with torch.inference_mode():
        table.row("aten.alias, which does nothing", lambda: torch.ops.aten.alias.default(vector), judged=False)
        listed = table.row("an empty operator with the same list", lambda: empty.default(**no_rows), judged=False)
        table.row("the same, .tensor_lengths", lambda: empty.tensor_lengths(**no_rows_), judged=False)
    checked: list[Figure] = []
    for name, mode in (("in torch.inference_mode()", torch.inference_mode), ("outside of it", nullcontext)):
        print(name)
        with mode():
            table.row("decode, paged, no rows: check, results", lambda: operator(**no_rows))
            checked.append(table.row("the same, .tensor_lengths", lambda: operator.tensor_lengths(**no_rows_)))
            checked.append(table.row("the same, the package's function", lambda: function(**no_rows)))
            table.row("the same, lengths in a tensor", lambda: function(**no_rows_))
    planned_rows(table, decode, "decode, paged, outside of torch.inference_mode()")
    with torch.inference_mode():
        planned = planned_rows(table, decode, "decode, paged, in torch.inference_mode()")
        table.figure(
            "the package's function (its row above, and what the plan adds)", checked[1].plus(planned).minus(checked[0])
        )
        packed = packed_request()
        planned_rows(table, packed, "decode, TND, paged, two lists")
        twice = table.row("an empty operator with the same two lists", lambda: empty.default(**packed), judged=False)
    print(
        f"Of the {TARGET:.0f}, a list of {BATCH} lengths takes {listed.best:.1f} in torch alone, two lists take "
        f"{twice.best:.1f}, before a kernel of any operator runs.\n"
        "The package's function and .tensor_lengths give torch no list to read."
    )


def planned_rows(table: Table, request: dict[str, Any], name: str) -> Figure:
    """All that comes before a launch, without the memory that the helper returns. The figure of .tensor_lengths."""
    workspace = getattr(torch.ops.ascend_attention, f"{NAME}_get_max_workspace")
    supported = is_supported(request)
    request = request if supported else two_rows_request()
    in_tensor = lengths_in_tensor(request)
    size = workspace.default(**request).shape
    memory = microseconds(lambda: torch.empty(size, dtype=torch.uint8), table.rounds)
    what = name if supported else f"two rows, dense keys ({name}, is not built yet)"
    print(f"{what}: check, lower, plan, without the allocation of the workspace")
    planned = microseconds(lambda: workspace.tensor_lengths(**in_tensor), table.rounds).minus(memory)
    table.figure(".tensor_lengths", planned)
    table.figure("lengths in lists", microseconds(lambda: workspace.default(**request), table.rounds).minus(memory))
    return planned


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("empty_operator", help="library with the empty operator; scripts/bench_host builds it")
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    torch.ops.load_library(options.empty_operator)
    keep_memory()
    measure(Table(options.rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
