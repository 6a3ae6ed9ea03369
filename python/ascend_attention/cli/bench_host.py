# SPDX-License-Identifier: Apache-2.0
"""What the host's part of a call costs through torch, up to the point of launch, beside an empty torch operator.

A call cannot be stopped at the point of launch, so two requests stand for it. One has a query of no rows: it goes
through every check, reads every length and has its results allocated, and there is nothing to launch. The other goes to
the workspace helper, which does all that a call does before it launches, the plan included. Each figure is the fastest
of many rounds: what else the machine does at the time is not the question.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch

from ascend_attention import AttentionNotSupported, check, npu_fused_infer_attention_score_v2
from ascend_attention import torch_ops as torch_ops  # registers the operators

NAME = "npu_fused_infer_attention_score_v2"
BATCH = 256
TARGET = 60.0  # microseconds


def microseconds(call: Callable[[], Any], rounds: int, calls: int = 20) -> float:
    best = float("inf")
    gc.disable()  # as timeit does
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter() - begin) / calls)
    gc.enable()
    return best * 1e6


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


def lengths_in_tensor(arguments: dict[str, Any]) -> dict[str, Any]:
    return {**arguments, "actual_seq_kvlen": torch.tensor(arguments["actual_seq_kvlen"])}


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
        print(f"{f'through torch, microseconds; {BATCH} sequences':72} {'':8} under {TARGET:.0f}")

    def row(self, name: str, call: Callable[[], Any], *, judged: bool = True) -> float:
        return self.figure(name, microseconds(call, self.rounds), judged=judged)

    def figure(self, name: str, took: float, *, judged: bool = True) -> float:
        print(f"{name:72} {took:8.1f} {('met' if took < TARGET else 'NOT met') if judged else '':>8}", flush=True)
        return took


def measure(table: Table) -> None:
    function = npu_fused_infer_attention_score_v2
    empty = torch.ops.ascend_attention_bench.empty
    operator = getattr(torch.ops.ascend_attention, NAME)
    workspace = getattr(torch.ops.ascend_attention, f"{NAME}_get_max_workspace")
    decode = decode_request()
    no_rows = without_rows(decode)
    supported = is_supported(decode)
    planned = decode if supported else two_rows_request()
    no_rows_, planned_ = lengths_in_tensor(no_rows), lengths_in_tensor(planned)
    vector = torch.empty(8)
    size = workspace.default(**planned).shape

    print("torch alone, in torch.inference_mode()")
    with torch.inference_mode():
        table.row("aten.alias, which does nothing", lambda: torch.ops.aten.alias.default(vector), judged=False)
        listed = table.row(
            "an operator that takes these arguments and does nothing", lambda: empty.default(**no_rows), judged=False
        )
        table.row("the same, .tensor_lengths", lambda: empty.tensor_lengths(**no_rows_), judged=False)
        memory = table.row("allocation of a workspace", lambda: vector.new_empty(size, dtype=torch.uint8), judged=False)
    checked, checked_, packaged = float("inf"), float("inf"), float("inf")
    for name, mode in (("in torch.inference_mode()", torch.inference_mode), ("outside of it", nullcontext)):
        print(name)
        with mode():
            checked = min(checked, table.row("decode, paged, no rows: check, results", lambda: operator(**no_rows)))
            checked_ = min(
                checked_, table.row("the same, .tensor_lengths", lambda: operator.tensor_lengths(**no_rows_))
            )
            packaged = min(packaged, table.row("the same, the package's function", lambda: function(**no_rows)))
            table.row("the same, lengths in a tensor", lambda: function(**no_rows_))
    with torch.inference_mode():
        what = "decode, paged" if supported else "two rows, dense keys (paged decode is not built yet)"
        print(f"{what}: check, lower, plan, without the allocation of the workspace")
        plan = microseconds(lambda: workspace.default(**planned), table.rounds) - memory
        plan_ = table.figure(
            ".tensor_lengths", microseconds(lambda: workspace.tensor_lengths(**planned_), table.rounds) - memory
        )
        table.figure("the package's function (its row above, and what the plan adds)", packaged + plan_ - checked_)
        table.figure("lengths in a list", plan)
    print(
        f"A list of {BATCH} lengths: torch alone takes {listed:.1f} of the {TARGET:.0f} before a kernel runs. "
        f"Checks and results\ntake {checked - listed:.1f} more, the plan {plan_ - checked_:.1f}. "
        "The package's function and .tensor_lengths give torch no list to read."
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("empty_operator", help="library with the empty operator; scripts/bench_host builds it")
    parser.add_argument("--rounds", type=int, default=200)
    options = parser.parse_args()
    torch.ops.load_library(options.empty_operator)
    measure(Table(options.rounds))
    return 0


if __name__ == "__main__":
    sys.exit(main())
