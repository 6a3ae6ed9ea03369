# SPDX-License-Identifier: Apache-2.0
"""From an operator's arguments and result to a report."""

from __future__ import annotations

from typing import Any

import numpy as np

from ascend_attention.golden import fused_infer_attention_score_v2, prompt_flash_attention
from ascend_attention.precision.arrays import Array, as_numpy, dtype_name
from ascend_attention.precision.judge import compare
from ascend_attention.precision.report import CallReport


def compare_fused_infer_attention_score_v2(
    actual: Any, query: Any, key: Any, value: Any, *, worst: int = 5, **arguments: Any
) -> CallReport:
    """Judges what npu_fused_infer_attention_score_v2 returned for these arguments.

    actual is the pair (attention_out, softmax_lse), or attention_out alone. The rest are the operator's arguments,
    NumPy arrays or torch tensors. Without return_softmax_lse, softmax_lse has to be the one zero of the document.
    """
    if isinstance(actual, (tuple, list)) and len(actual) != 2:
        allowed = "(attention_out, softmax_lse), or attention_out alone"
        raise ValueError(f"precision.compare: actual: given {len(actual)} results; allowed: {allowed}")
    out, lse = actual if isinstance(actual, (tuple, list)) else (actual, None)
    out, lse = as_numpy(out), as_numpy(lse)
    inputs = [as_numpy(x) for x in (query, key, value)]
    options = {name: as_numpy(given) for name, given in arguments.items()}
    wants_lse = bool(options.pop("return_softmax_lse", False))

    int8 = options.get("quant_scale_out") is not None
    options |= {"return_softmax_lse": True, "round_output": not int8}  # int8 is judged before rounding
    exact, exact_lse = fused_infer_attention_score_v2(*inputs, **options, dtype_flow="exact")
    peer, peer_lse = fused_infer_attention_score_v2(*inputs, **options, dtype_flow="device")
    dtype = _policy(out, peer, inputs[0], int8)
    blind = _in_layout(np.isposinf(exact_lse), options.get("input_layout", "BSH"), exact.shape)
    reports = [compare(out, exact, peer, name="attention_out", dtype=dtype, must_be_zero=blind, worst=worst)]
    if lse is not None:
        if not wants_lse:
            exact_lse, peer_lse = np.zeros(1), np.zeros(1, np.float32)
        if dtype_name(lse) != "float32":
            raise ValueError(f"softmax_lse is {dtype_name(lse)}, it has to be float32")
        reports.append(
            compare(lse, exact_lse, peer_lse, name="softmax_lse", must_be_zero=not wants_lse or None, worst=worst)
        )
    return CallReport("npu_fused_infer_attention_score_v2", tuple(reports))


def compare_prompt_flash_attention(
    actual: Any, query: Any, key: Any, value: Any, *, worst: int = 5, **arguments: Any
) -> CallReport:
    """Judges what npu_prompt_flash_attention returned for these arguments, as the function above does.

    Rows that are zero in every channel, such as those that see no key, have to be exactly zero.
    """
    out = as_numpy(actual)
    inputs = [as_numpy(x) for x in (query, key, value)]
    options = {name: as_numpy(given) for name, given in arguments.items()}
    int8 = options.get("quant_scale2") is not None
    exact = prompt_flash_attention(*inputs, **options, dtype_flow="exact", round_output=not int8)
    peer = prompt_flash_attention(*inputs, **options, dtype_flow="device", round_output=not int8)
    dtype = _policy(out, peer, inputs[0], int8)
    heads = options.get("num_heads", 1) if options.get("input_layout", "BSH") == "BSH" else 1
    rows = exact.reshape(*exact.shape[:-1], heads, -1) if exact.size else exact
    blind = np.broadcast_to(~rows.any(axis=-1, keepdims=True), rows.shape).reshape(exact.shape)
    report = compare(out, exact, peer, name="attention_out", dtype=dtype, must_be_zero=blind, worst=worst)
    return CallReport("npu_prompt_flash_attention", (report,))


def _policy(out: Array, peer: Array, query: Array, int8: bool) -> str:
    """The policy for attention_out, which has to be of the peer's dtype, or int8."""
    wanted = "int8" if int8 else dtype_name(peer)
    if dtype_name(out) != wanted:
        raise ValueError(f"attention_out is {dtype_name(out)}, it has to be {wanted}")
    return "int8 of bfloat16" if int8 and dtype_name(query) == "bfloat16" else wanted


def _in_layout(rows: Array, input_layout: str, shape: tuple[int, ...]) -> Array:
    """A property of rows, shaped as softmax_lse, spread over attention_out."""
    axes = (input_layout.partition("_")[2] or input_layout).replace("H", "ND")
    given = "TN" if "T" in axes else "BNS"
    by_row = rows[..., 0].transpose([given.index(axis) for axis in axes[:-1]])[..., None]
    dim = shape[-1] // by_row.shape[-2] if input_layout.endswith("BSH") else shape[-1]
    return np.broadcast_to(by_row, (*by_row.shape[:-1], dim)).reshape(shape)
