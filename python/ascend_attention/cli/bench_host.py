# SPDX-License-Identifier: Apache-2.0
"""What the host's part of a call costs through torch, up to the point of launch, beside an empty torch operator.

The workspace helper checks, infers, lowers and plans as a call does and allocates one result; then a call would launch.
Each figure is the fastest of many rounds: what else the machine does at the time is not the question.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

import ascend_attention
from ascend_attention import torch_ops as torch_ops  # registers the operators

BATCH = 256
DECODE = "npu_fused_infer_attention_score_v2"


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


def prefill_request() -> dict[str, Any]:
    """What can be planned today and is nearest to it: two rows for each sequence, dense keys."""
    keys = (BATCH, 1024, 8, 128)
    return {
        **tensors({"query": (BATCH, 2, 32, 128), "key": keys, "value": keys}),
        "actual_seq_qlen": [1 + sequence % 2 for sequence in range(BATCH)],
        "actual_seq_kvlen": [1 + 4 * sequence for sequence in range(BATCH)],
        "num_query_heads": 32,
        "num_key_value_heads": 8,
        "input_layout": "BSND",
    }


def empty_operator() -> Callable[..., Any]:
    """The same schema as the operator's workspace helper, and nothing done."""
    schema = str(torch.ops.ascend_attention.npu_fused_infer_attention_score_v2_get_max_workspace.default._schema)
    library = torch.library.Library("ascend_attention_bench", "FRAGMENT")
    library.define("empty" + schema[schema.index("(") :])
    nothing = torch.empty(0)
    library.impl("empty", lambda *_positional, **_keywords: nothing, "CPU")
    empty = torch.ops.ascend_attention_bench.empty.default

    def call(**arguments: Any) -> Any:
        return empty(**arguments)

    call.library = library  # type: ignore[attr-defined]  # alive as long as the operator
    return call


def refused(operator: Callable[..., Any], arguments: dict[str, Any]) -> None:
    try:
        operator(**arguments)
    except RuntimeError as error:
        if "561003" not in str(error):
            raise
    else:
        raise SystemExit("decode with a block table is supported now: measure it as the other request is")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds
    operator = torch.ops.ascend_attention.npu_fused_infer_attention_score_v2_get_max_workspace.default
    empty = empty_operator()
    decode, prefill = decode_request(), prefill_request()
    vector = torch.empty(8)
    rows: list[tuple[str, Callable[[], Any]]] = [
        ("torch.ops.aten.alias: an operator in C++ that does nothing", lambda: torch.ops.aten.alias.default(vector)),
        ("the same arguments, decode, to an empty operator in Python", lambda: empty(**decode)),
        ("the same arguments, two rows, to an empty operator in Python", lambda: empty(**prefill)),
        ("two rows for each sequence, dense: check, lower, plan", lambda: operator(**prefill)),
        ("decode, paged: check, then 'not supported yet' as an exception", lambda: refused(operator, decode)),
        ("decode, paged: ascend_attention.explain", lambda: ascend_attention.explain(DECODE, **decode)),
    ]
    print(f"{f'through torch, microseconds; {BATCH} sequences':64} {'':8}")
    for name, call in rows:
        print(f"{name:64} {microseconds(call, rounds):8.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
