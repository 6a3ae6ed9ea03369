# SPDX-License-Identifier: Apache-2.0
"""The golden model of npu_fused_infer_attention_score_v2."""

from __future__ import annotations

from collections.abc import Sequence as Listing
from typing import Any, Literal

import numpy as np

from ascend_attention.golden import attention, layouts, visibility
from ascend_attention.golden.errors import GoldenError, GoldenNotCovered
from ascend_attention.golden.numbers import Array, Format, format_of

Lengths = Listing[int] | Array | None


def fused_infer_attention_score_v2(
    query: Array,
    key: Array,
    value: Array,
    *,
    query_rope: Array | None = None,
    key_rope: Array | None = None,
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
) -> tuple[Array, Array]:
    """(attention_out, softmax_lse) of the operator, whose argument names and defaults these are.

    dtype_flow "exact" computes in float64 from the values as given and returns float64. "device" is the plain peer
    (golden/attention.py): it returns the dtype and kind of array of query, and a float32 softmax_lse.

    query, key and value are float16, ml_dtypes.bfloat16, or uint16 holding bfloat16 bits. Rows that see no key and rows
    beyond actual_seq_qlen are zeros with softmax_lse +inf, whatever inner_precise says. Without return_softmax_lse the
    second result is one float32 zero, shape [1].

    This computes meaning, it does not check legality: modes 2, 3 and 4 do without atten_mask here, for example.
    Arguments it cannot compute yet raise GoldenNotCovered, contradicting ones GoldenError; both are ValueErrors.
    """
    _refuse_unless_none(
        query_rope=query_rope,
        key_rope=key_rope,
        pse_shift=pse_shift,
        block_table=block_table,
        dequant_scale_query=dequant_scale_query,
        dequant_scale_key=dequant_scale_key,
        dequant_offset_key=dequant_offset_key,
        dequant_scale_value=dequant_scale_value,
        dequant_offset_value=dequant_offset_value,
        dequant_scale_key_rope=dequant_scale_key_rope,
        quant_scale_out=quant_scale_out,
        quant_offset_out=quant_offset_out,
        learnable_sink=learnable_sink,
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
    _refuse_unless_zero(
        block_size=block_size,
        query_quant_mode=query_quant_mode,
        key_quant_mode=key_quant_mode,
        value_quant_mode=value_quant_mode,
    )
    if dtype_flow not in ("exact", "device"):
        raise GoldenError("dtype_flow", f"{dtype_flow!r} is neither 'exact' nor 'device'")
    if inner_precise not in (0, 1, 2, 3):
        raise GoldenError("inner_precise", f"{inner_precise} is not one of 0, 1, 2, 3")
    number = _common_format(query, key, value)
    in_axes, out_axes = layouts.axes_of(input_layout)
    heads, key_heads = _head_counts(num_query_heads, num_key_value_heads)
    q = layouts.as_heads(query, in_axes, heads, "query")
    k = layouts.as_heads(key, in_axes, key_heads, "key")
    v = layouts.as_heads(value, in_axes, key_heads, "value")
    if k.shape[:3] != v.shape[:3]:
        raise GoldenError("value", f"shape {value.shape} does not go with key's {key.shape}")
    if k.shape[0] != q.shape[0] or k.shape[3] != q.shape[3]:
        raise GoldenError("key", f"shape {key.shape} does not go with query's {query.shape}")

    batch, queries, keys = q.shape[0], q.shape[2], k.shape[2]
    decode = queries == 1  # one query row: lengths of query, sparse_mode and tokens have no meaning
    query_lengths = _lengths(None if decode else actual_seq_qlen, batch, queries, "actual_seq_qlen")
    key_lengths = _lengths(actual_seq_kvlen, batch, keys, "actual_seq_kvlen")
    mode = 1 if decode and atten_mask is not None else 0 if decode else sparse_mode
    if mode == 1 and atten_mask is None:
        raise GoldenError("atten_mask", "sparse_mode 1 needs the full mask")
    masks = None
    if atten_mask is not None and mode in (0, 1):
        masks = visibility.mask_planes(atten_mask, batch, queries, keys)

    exact = dtype_flow == "exact"
    work_type = "float64" if exact else "float32"
    out, out_heads = layouts.new_output(batch, heads, queries, v.shape[3], out_axes, work_type)
    lse = np.full((batch, heads, queries, 1), np.inf, work_type)
    for b, (s1, s2) in enumerate(zip(query_lengths, key_lengths, strict=True)):
        low, high = visibility.band(mode, pre_tokens, next_tokens, s1, s2, masks is not None)
        hidden = None if masks is None else masks[b % masks.shape[0]]
        sequence = attention.Sequence(
            query=number.decode(np.ascontiguousarray(q[b, :, :s1])),
            key=number.decode(np.ascontiguousarray(k[b, :, :s2])),
            value=number.decode(np.ascontiguousarray(v[b, :, :s2])),
            visibility=visibility.Visibility(s2, low, high, hidden),
            output=out_heads[b, :, :s1],
            lse=lse[b, :, :s1, 0],
        )
        with np.errstate(invalid="ignore", divide="ignore", over="ignore", under="ignore"):
            attention.attend(sequence, float(softmax_scale), None if exact else number)
    return out if exact else number.encode(out), lse if return_softmax_lse else np.zeros(1, np.float32)


def _refuse_unless_none(**arguments: Any) -> None:
    for name, given in arguments.items():
        if given is not None:
            raise GoldenNotCovered(name, "is not covered yet, only None")


def _refuse_unless_zero(**arguments: int) -> None:
    for name, given in arguments.items():
        if given != 0:
            raise GoldenNotCovered(name, f"{given} is not covered yet, only 0")


def _common_format(query: Array, key: Array, value: Array) -> Format:
    number = format_of(query, "query")
    for name, array in (("key", key), ("value", value)):
        if format_of(array, name).name != number.name:
            raise GoldenError(name, f"dtype {array.dtype} differs from query's {query.dtype}")
    return number


def _head_counts(num_query_heads: int, num_key_value_heads: int) -> tuple[int, int]:
    if num_query_heads < 1:
        raise GoldenError("num_query_heads", f"{num_query_heads} is not positive")
    key_heads = num_key_value_heads or num_query_heads
    if key_heads < 0 or num_query_heads % key_heads:
        raise GoldenError("num_key_value_heads", f"{num_query_heads} query heads do not divide over {key_heads}")
    return num_query_heads, key_heads


def _lengths(given: Lengths, batch: int, full: int, argument: str) -> list[int]:
    """One length per sequence, from None (or an empty list), one entry for all, or at least one for each."""
    entries = [] if given is None else [int(entry) for entry in given]
    if not entries:
        return [full] * batch
    if len(entries) == 1:
        entries *= batch
    if len(entries) < batch:
        raise GoldenError(argument, f"has {len(entries)} entries for a batch of {batch}")
    for entry in entries[:batch]:
        if not 0 <= entry <= full:
            raise GoldenError(argument, f"{entry} is not in [0, {full}]")
    return entries[:batch]
