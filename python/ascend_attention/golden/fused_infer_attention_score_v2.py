# SPDX-License-Identifier: Apache-2.0
"""The golden model of npu_fused_infer_attention_score_v2."""

from __future__ import annotations

from collections.abc import Sequence as Listing
from typing import Literal

import numpy as np

from ascend_attention.golden import bias, cache, conversions, layouts, lengths, quantised, sequences, visibility
from ascend_attention.golden.errors import GoldenError, suggesting
from ascend_attention.golden.lengths import Lengths
from ascend_attention.golden.numbers import Array, as_array, as_number, common_format, format_of, one_of

LAYOUTS = (
    "BSH", "BSND", "BNSD", "BNSD_BSND", "BSH_NBSD", "BSND_NBSD", "BNSD_NBSD", "TND", "TND_NTD", "NTD_TND",
)  # fmt: skip


@suggesting
def fused_infer_attention_score_v2(
    query: Array,
    key: Array | Listing[Array],
    value: Array | Listing[Array],
    *,
    query_rope: Array | None = None,
    key_rope: Array | Listing[Array] | None = None,
    pse_shift: Array | None = None,
    atten_mask: Array | None = None,
    actual_seq_qlen: Lengths = None,
    actual_seq_kvlen: Lengths = None,
    block_table: Array | None = None,
    dequant_scale_query: Array | None = None,
    dequant_scale_key: Array | None = None,
    dequant_offset_key: Array | None = None,
    dequant_scale_value: Array | None = None,
    dequant_offset_value: Array | None = None,
    dequant_scale_key_rope: Array | None = None,
    quant_scale_out: Array | None = None,
    quant_offset_out: Array | None = None,
    learnable_sink: Array | None = None,
    num_query_heads: int = 1,
    num_key_value_heads: int = 0,
    softmax_scale: float = 1.0,
    pre_tokens: int = 2147483647,
    next_tokens: int = 2147483647,
    input_layout: str = "BSH",
    sparse_mode: int = 0,
    block_size: int = 0,
    query_quant_mode: int = 0,
    key_quant_mode: int = 0,
    value_quant_mode: int = 0,
    inner_precise: int = 0,
    return_softmax_lse: bool = False,
    query_dtype: int | None = None,
    key_dtype: int | None = None,
    value_dtype: int | None = None,
    query_rope_dtype: int | None = None,
    key_rope_dtype: int | None = None,
    key_shared_prefix_dtype: int | None = None,
    value_shared_prefix_dtype: int | None = None,
    dequant_scale_query_dtype: int | None = None,
    dequant_scale_key_dtype: int | None = None,
    dequant_scale_value_dtype: int | None = None,
    dequant_scale_key_rope_dtype: int | None = None,
    dtype_flow: Literal["exact", "device"] = "exact",
    round_output: bool = True,
) -> tuple[Array, Array]:
    """(attention_out, softmax_lse) of the operator, whose argument names and defaults these are.

    dtype_flow "exact" computes in float64 from the values as given and returns float64. "device" is the plain peer
    (golden/attention.py): it returns the dtype and kind of array of query, and a float32 softmax_lse.

    query, key and value are float16, ml_dtypes.bfloat16, or uint16 holding bfloat16 bits; key and value may be lists
    with one tensor for each sequence, or caches with block_table. Rows that see no key and rows beyond actual_seq_qlen
    are zeros with softmax_lse +inf, whatever inner_precise says. Without return_softmax_lse the second result is one
    float32 zero, shape [1]. Reserved arguments have to be None.

    key and value of int8, or of int4 (eight in an int32, low nibble first), need dequant_scale_key and
    dequant_scale_value, in the shapes of key_quant_mode and value_quant_mode. query, key and value of int8 with rope
    need dequant_scale_query too and give the dtype of query_rope. quant_scale_out gives int8, as float64 in the exact
    flow. docs/numerics.md has the formulas and what the plain peer rounds. round_output=False leaves out the last
    rounding, to 16 bits or to int8: attention_out is float64 then, float32 in the device flow.

    This computes meaning, it does not check legality: modes 2, 3 and 4 do without atten_mask here, for example.
    Arguments that contradict each other or mean nothing raise GoldenError, a ValueError that names one of them.
    """
    exact = conversions.is_exact(dtype_flow)
    one_of(round_output, (False, True), "round_output")
    one_of(inner_precise, (0, 1, 2, 3), "inner_precise")
    one_of(return_softmax_lse, (False, True), "return_softmax_lse")
    _refuse_reserved(
        dequant_scale_key_rope=dequant_scale_key_rope,
        query_dtype=query_dtype,
        key_dtype=key_dtype,
        value_dtype=value_dtype,
        query_rope_dtype=query_rope_dtype,
        key_rope_dtype=key_rope_dtype,
        key_shared_prefix_dtype=key_shared_prefix_dtype,
        value_shared_prefix_dtype=value_shared_prefix_dtype,
        dequant_scale_query_dtype=dequant_scale_query_dtype,
        dequant_scale_key_dtype=dequant_scale_key_dtype,
        dequant_scale_value_dtype=dequant_scale_value_dtype,
        dequant_scale_key_rope_dtype=dequant_scale_key_rope_dtype,
    )
    layout = layouts.layout_of(input_layout, LAYOUTS)
    key, value = quantised.unpacked(key, "key"), quantised.unpacked(value, "value")
    heads, key_heads = layouts.head_counts(
        num_query_heads, num_key_value_heads, "num_query_heads", "num_key_value_heads"
    )
    q = layouts.by_head(as_array(query, "query"), layout.query, heads, "query")

    one_row = not layout.packed and q.shape[2] == 1  # lengths of query have no meaning then
    spans = lengths.of_queries(None if one_row else actual_seq_qlen, layout, q, "actual_seq_qlen")
    store = cache.stored(key, layout, key_heads, len(spans), actual_seq_kvlen, block_table, block_size)
    rope = _rope(query_rope, key_rope, layout, heads, q, store)

    mode = sparse_mode
    if one_row and rope is None:  # sparse_mode and tokens have no meaning either
        mode = 0 if atten_mask is None else 1
    mask = visibility.one_row_mask(atten_mask) if one_row and mode < 2 else atten_mask
    full = None if layout.packed else (q.shape[2], store.longest)
    sees = visibility.of_sequences(
        mode, pre_tokens, next_tokens, mask, [span.count for span in spans], store.lengths, full
    )
    call = sequences.Call(
        query=q,
        spans=spans,
        keys=store.source(key, "key"),
        values=store.source(value, "value"),
        sees=sees,
        scale=as_number(softmax_scale, "softmax_scale"),
        output_axes=layout.output,
        lse_axes=layout.lse,
        rope=rope,
        bias=bias.of_sequences(pse_shift, len(spans), heads, full),
        sink=bias.sink_scores(learnable_sink, heads),
    )
    scales = quantised.FusedInferScales(
        dequant_scale_query,
        dequant_scale_key,
        dequant_offset_key,
        dequant_scale_value,
        dequant_offset_value,
        (key_quant_mode, value_quant_mode),
        key_heads,
    )
    numbers = scales.conversions(query, key, value, query_rope, call, store, layout, exact)
    numbers = quantised.with_output(
        numbers,
        quant_scale_out,
        quant_offset_out,
        (heads, call.values.dim),
        ("quant_scale_out", "quant_offset_out"),
        exact,
        round_output,
    )
    out, lse = sequences.compute(call, numbers)
    return out, lse if return_softmax_lse else np.zeros(1, np.float32)


def _rope(
    query_rope: Array | None,
    key_rope: Array | Listing[Array] | None,
    layout: layouts.Layout,
    heads: int,
    query: Array,
    store: cache.Storage,
) -> sequences.Rope | None:
    if query_rope is None and key_rope is None:
        return None
    if query_rope is None or key_rope is None:
        raise GoldenError("query_rope" if key_rope is None else "key_rope", "is given without the other rope")
    query_number, key_number = format_of(query_rope, "query_rope"), common_format(key_rope, "key_rope")
    by_head = layouts.by_head(query_rope, layout.query, heads, "query_rope")
    if by_head.shape[:3] != query.shape[:3]:
        raise GoldenError("query_rope", f"shape {query_rope.shape} does not go with the rows of query")
    return sequences.Rope(by_head, store.source(key_rope, "key_rope"), query_number, key_number)


def _refuse_reserved(**arguments: object) -> None:
    for name, given in arguments.items():
        if given is not None:
            raise GoldenError(name, "is reserved and means nothing yet: leave it None")
