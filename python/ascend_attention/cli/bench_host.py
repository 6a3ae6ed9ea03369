# SPDX-License-Identifier: Apache-2.0
"""What the host's part of a call costs through torch, up to the point of launch, beside an empty torch operator.

A decode request with a block table is refused at the end, since its kernel is not built yet, and a refusal is an
exception, which costs more than the checks. The same request with a query of no rows goes through the same checks, all
lengths included, and is accepted. What lowering and planning add is seen in the request with two rows and dense keys:
its workspace helper does all that a call does before it launches. Each figure is the fastest of many rounds: what else
the machine does at the time is not the question.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

from ascend_attention import explain, npu_fused_infer_attention_score_v2
from ascend_attention import torch_ops as torch_ops  # registers the operators

BATCH = 256
TARGET = 60.0  # microseconds


def microseconds(call: Callable[[], Any], rounds: int, calls: int = 20) -> float:
    best = float("inf")
    for _ in range(rounds):
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, (time.perf_counter() - begin) / calls)
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
    """What can be planned today and is nearest to it: two rows for each sequence, dense keys."""
    keys = (BATCH, 1024, 8, 128)
    return {
        **tensors({"query": (BATCH, 2, 32, 128), "key": keys, "value": keys}),
        "actual_seq_kvlen": [1 + 4 * sequence for sequence in range(BATCH)],
        "num_query_heads": 32,
        "num_key_value_heads": 8,
        "input_layout": "BSND",
    }


def refused(operator: Callable[..., Any], arguments: dict[str, Any]) -> None:
    try:
        operator(**arguments)
    except RuntimeError as error:
        if "561003" not in str(error):
            raise
    else:
        raise SystemExit("decode with a block table is supported now: measure it as the other request is")


class Table:
    """Measures and prints row by row."""

    def __init__(self, rounds: int) -> None:
        self._rounds = rounds
        print(f"{f'through torch, microseconds; {BATCH} sequences':72} {'':8} under {TARGET:.0f}")

    def row(self, name: str, call: Callable[[], Any], without: float = 0.0, *, judged: bool = True) -> float:
        """`without`: microseconds of what `call` does besides."""
        took = microseconds(call, self._rounds) - without
        print(f"{name:72} {took:8.1f} {('met' if took < TARGET else 'NOT met') if judged else '':>8}", flush=True)
        return took


def measure(table: Table) -> None:
    function = npu_fused_infer_attention_score_v2
    empty = torch.ops.ascend_attention_bench.empty
    operator = torch.ops.ascend_attention.npu_fused_infer_attention_score_v2
    workspace = torch.ops.ascend_attention.npu_fused_infer_attention_score_v2_get_max_workspace
    decode, two_rows = decode_request(), two_rows_request()
    no_rows = without_rows(decode)
    with torch.inference_mode():
        size = workspace.ints(**two_rows).shape
        vector = torch.empty(8)
        table.row("aten.alias, which does nothing", lambda: torch.ops.aten.alias.default(vector), judged=False)
        table.row("these arguments to an operator that does nothing", lambda: empty.default(**decode), judged=False)
        table.row("the same, lengths as int[]", lambda: empty.ints(**decode), judged=False)
        memory = table.row("allocation of a workspace", lambda: vector.new_empty(size, dtype=torch.uint8), judged=False)
        print("in torch.inference_mode(), up to the point of launch")
        table.row("decode, paged, no rows: check", lambda: operator.default(**no_rows))
        table.row("the same, lengths as int[] (.ints)", lambda: operator.ints(**no_rows))
        table.row("decode, paged: check, then 'not supported yet'; .ints", lambda: refused(operator.ints, decode))
        table.row(
            "two rows, dense: check, lower, plan, without the allocation; .ints",
            lambda: workspace.ints(**two_rows), memory,
        )  # fmt: skip
    print("outside of it: torch asks Python first, which refuses derivatives")
    table.row("decode, paged, no rows: check", lambda: operator.default(**no_rows))
    table.row("the same, lengths as int[] (.ints)", lambda: operator.ints(**no_rows))
    print("in Python")
    table.row("decode, paged, no rows: the package's function", lambda: function(**no_rows), judged=False)
    table.row("decode, paged: ascend_attention.explain", lambda: explain(function, **decode), judged=False)


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
