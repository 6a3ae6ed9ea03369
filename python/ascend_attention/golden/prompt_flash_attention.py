# SPDX-License-Identifier: Apache-2.0
"""The golden model of npu_prompt_flash_attention."""

from __future__ import annotations

from collections.abc import Sequence as Listing
from typing import Literal

from ascend_attention.golden import bias, cache, conversions, layouts, lengths, quantised, sequences, visibility
from ascend_attention.golden.errors import GoldenError, suggesting
from ascend_attention.golden.lengths import Lengths
from ascend_attention.golden.numbers import Array, as_array, as_number, one_of

LAYOUTS = ("BSH", "BSND", "BNSD", "BNSD_BSND", "TND")


@suggesting
def prompt_flash_attention(
    query: Array,
    key: Array | Listing[Array],
    value: Array | Listing[Array],
    *,
    pse_shift: Array | None = None,
    padding_mask: Array | None = None,
    atten_mask: Array | None = None,
    actual_seq_lengths: Lengths = None,
    deq_scale1: Array | None = None,
    quant_scale1: Array | None = None,
    deq_scale2: Array | None = None,
    quant_scale2: Array | None = None,
    quant_offset2: Array | None = None,
    num_heads: int = 1,
    scale_value: float = 1.0,
    pre_tokens: int = 2147483647,
    next_tokens: int = 0,
    input_layout: str = "BSH",
    num_key_value_heads: int = 0,
    actual_seq_lengths_kv: Lengths = None,
    sparse_mode: int = 0,
    dtype_flow: Literal["exact", "device"] = "exact",
    round_output: bool = True,
) -> Array:
    """attention_out of the operator, whose argument names and defaults these are.

    next_tokens is 0 by default: with sparse_mode 0 and a mask that hides everything right of the diagonal, whatever the
    mask says there. Without a mask the token limits have no influence. A query of one row is treated like any other.

    query, key and value of int8 need deq_scale1, quant_scale1 and deq_scale2 (float32, or the deq scales uint64 in the
    packed form) and give float16; quant_scale2 and quant_offset2 give int8 from any input (formulas: docs/numerics.md).

    Number flows, round_output, 16-bit dtypes, rows that see nothing and errors as in fused_infer_attention_score_v2.
    padding_mask is reserved and has to be None.
    """
    exact = conversions.is_exact(dtype_flow)
    one_of(round_output, (False, True), "round_output")
    if padding_mask is not None:
        raise GoldenError("padding_mask", "is reserved and means nothing yet: leave it None")
    layout = layouts.layout_of(input_layout, LAYOUTS)
    heads, key_heads = layouts.head_counts(num_heads, num_key_value_heads, "num_heads", "num_key_value_heads")
    q = layouts.by_head(as_array(query, "query"), layout.query, heads, "query")

    spans = lengths.of_queries(actual_seq_lengths, layout, q, "actual_seq_lengths")
    store = cache.stored(
        key, layout, key_heads, len(spans), actual_seq_lengths_kv, length_argument="actual_seq_lengths_kv"
    )
    full = None if layout.packed else (q.shape[2], store.longest)
    counts = [span.count for span in spans]
    call = sequences.Call(
        query=q,
        spans=spans,
        keys=store.source(key, "key"),
        values=store.source(value, "value"),
        sees=visibility.of_sequences(sparse_mode, pre_tokens, next_tokens, atten_mask, counts, store.lengths, full),
        scale=as_number(scale_value, "scale_value"),
        output_axes=layout.output,
        lse_axes=layout.lse,
        bias=bias.of_sequences(pse_shift, len(spans), heads, full),
    )
    numbers = quantised.prompt(query, key, value, deq_scale1, quant_scale1, deq_scale2, exact)
    numbers = quantised.with_output(
        numbers,
        quant_scale2,
        quant_offset2,
        (heads, call.values.dim),
        ("quant_scale2", "quant_offset2"),
        exact,
        round_output,
    )
    return sequences.compute(call, numbers)[0]
