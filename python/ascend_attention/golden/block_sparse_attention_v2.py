# SPDX-License-Identifier: Apache-2.0
"""The golden model of aclnnBlockSparseAttentionV2, argument names in snake case."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ascend_attention.golden import cache, conversions, layouts, lengths, quantised, sequences
from ascend_attention.golden.errors import GoldenError, suggesting
from ascend_attention.golden.layouts import Span
from ascend_attention.golden.lengths import Lengths
from ascend_attention.golden.numbers import Array, as_array, as_integer, as_number, one_of
from ascend_attention.golden.visibility import BlockMap

LAYOUTS = ("TND", "BNSD", "BSND")
LSE_AXES = {"TND": "TN", "BNSD": "BNS", "BSND": "BSN"}
UNLIMITED = 2147483647


@suggesting
def block_sparse_attention_v2(
    query: Array,
    key: Array,
    value: Array,
    *,
    block_sparse_mask: Array,
    atten_mask: Array | None = None,
    block_shape: Lengths = None,
    actual_seq_lengths: Lengths = None,
    actual_seq_lengths_kv: Lengths = None,
    block_table: Array | None = None,
    q_dequant_scale: Array | None = None,
    k_dequant_scale: Array | None = None,
    v_dequant_scale: Array | None = None,
    q_input_layout: str,
    kv_input_layout: str,
    num_key_value_heads: int,
    mask_type: int = 0,
    scale_value: float,
    inner_precise: int = 4,
    block_size: int = 0,
    pre_tokens: int = UNLIMITED,
    next_tokens: int = UNLIMITED,
    softmax_lse_flag: int = 0,
    attention_out_dtype: Literal["float16", "bfloat16"] | None = None,
    dtype_flow: Literal["exact", "device"] = "exact",
) -> tuple[Array, Array]:
    """(attention_out, softmax_lse): query head n of sequence b sees key j from row i iff
    block_sparse_mask[b, n, i // block_shape[0], j // block_shape[1]] is 1.

    Lengths are those of each sequence, not cumulative, and needed in layout TND. block_shape is [128, 128] if it is not
    given; the last block of a sequence may be partial. softmax_lse is (T, N, 1), (B, N, S, 1) or (B, S, N, 1), with
    softmax_lse_flag 0 it is empty. Rows of a query block without a selected key block are zeros with softmax_lse +inf.

    query, key and value may be FP8 e4m3fn (an ml_dtypes array, or uint8 bits). block_shape is needed then, and a scale
    (float32) for each block of rows: q_dequant_scale of shape (B, N, blocks, 1), k_dequant_scale and v_dequant_scale of
    (B, KV_N, blocks, 1). attention_out_dtype stands for the dtype of the C interface's output tensor: None is query's,
    bfloat16 for FP8, which the device flow returns as uint16 bits.

    inner_precise (0, 1 or 4) has no influence here. atten_mask, block_table and the arguments that belong to them are
    not part of this operator's version; they have to keep their defaults. Number flows and errors as in
    fused_infer_attention_score_v2.
    """
    exact = conversions.is_exact(dtype_flow)
    _refuse_unless(None, atten_mask=atten_mask, block_table=block_table)
    _refuse_unless(0, mask_type=mask_type, block_size=block_size)
    _refuse_unless(UNLIMITED, pre_tokens=pre_tokens, next_tokens=next_tokens)
    one_of(inner_precise, (0, 1, 4), "inner_precise")
    one_of(softmax_lse_flag, (0, 1), "softmax_lse_flag")
    layout = layouts.layout_of(q_input_layout, LAYOUTS, "q_input_layout")
    one_of(kv_input_layout, (q_input_layout,), "kv_input_layout")
    q_array, axes = as_array(query, "query"), layout.query
    if q_array.ndim != len(axes):
        raise GoldenError("query", f"layout {axes} has {len(axes)} dimensions, the shape given is {q_array.shape}")
    heads = q_array.shape[axes.index("N")]
    heads, key_heads = layouts.head_counts(heads, _positive(num_key_value_heads), "query", "num_key_value_heads")
    q = layouts.by_head(q_array, axes, heads, "query")

    given = lengths.as_integers(actual_seq_lengths, "actual_seq_lengths")  # empty: not given
    given_kv = lengths.as_integers(actual_seq_lengths_kv, "actual_seq_lengths_kv")
    if bool(given) != bool(given_kv):
        missing = "actual_seq_lengths_kv" if given else "actual_seq_lengths"
        raise GoldenError(missing, "both kinds of lengths are given or neither")
    spans = _spans(actual_seq_lengths, layout, q, "actual_seq_lengths")
    k = layouts.by_head(as_array(key, "key"), axes, key_heads, "key")
    if k.shape[0] != q.shape[0]:
        raise GoldenError("key", f"has a batch of {k.shape[0]}, query one of {q.shape[0]}")
    key_spans = _spans(actual_seq_lengths_kv, layout, k, "actual_seq_lengths_kv")
    if len(spans) != len(key_spans):
        raise GoldenError("actual_seq_lengths_kv", f"{len(key_spans)} sequences of keys for {len(spans)} of queries")
    store = cache.dense(k, axes, key_heads, key_spans)
    call = sequences.Call(
        query=q,
        spans=spans,
        keys=store.source(key, "key"),
        values=store.source(value, "value"),
        sees=_maps(block_sparse_mask, block_shape, layout, heads, (q, spans), (k, key_spans)),
        scale=as_number(scale_value, "scale_value"),
        output_axes=layout.output,
        lse_axes=LSE_AXES[layout.query],
    )
    scales = quantised.BlockScales(q_dequant_scale, k_dequant_scale, v_dequant_scale, attention_out_dtype)
    longest = (_longest(q, spans, layout), _longest(k, key_spans, layout))
    numbers = scales.conversions(query, key, value, block_shape, len(spans), (heads, key_heads), longest, exact)
    out, lse = sequences.compute(call, numbers)
    return out, lse if softmax_lse_flag else np.zeros(0, np.float32)


def _maps(
    mask: Array,
    block_shape: Lengths,
    layout: layouts.Layout,
    heads: int,
    queries: tuple[Array, list[Span]],
    keys: tuple[Array, list[Span]],
) -> list[BlockMap]:
    """What each sequence sees. Blocks are counted up to the longest length: of the tensor, or of TND's sequences."""
    shape = lengths.as_integers(block_shape, "block_shape") or [128, 128]
    if len(shape) < 2 or min(shape[:2]) < 1:
        raise GoldenError("block_shape", f"{shape} is not the two positive sizes of a block")
    blocks = as_array(mask, "block_sparse_mask")
    if blocks.dtype not in (np.bool_, np.int8, np.uint8) or not np.isin(blocks, (0, 1)).all():
        raise GoldenError("block_sparse_mask", "must hold 1 (computed) and 0 (skipped), as int8, uint8 or bool")
    sizes = [len(queries[1]), heads]
    for (array, spans), each in zip((queries, keys), shape[:2], strict=True):
        sizes.append(-(-_longest(array, spans, layout) // each))
    if list(blocks.shape) != sizes:
        raise GoldenError(
            "block_sparse_mask", f"shape {blocks.shape} is not {tuple(sizes)}: B, N, blocks of rows and of keys"
        )
    return [BlockMap(span.count, blocks[b] != 0, shape[0], shape[1]) for b, span in enumerate(keys[1])]


def _longest(array: Array, spans: list[Span], layout: layouts.Layout) -> int:
    return max((span.count for span in spans), default=0) if layout.packed else array.shape[2]


def _spans(given: Lengths, layout: layouts.Layout, array: Array, argument: str) -> list[Span]:
    if layout.packed:
        return lengths.packed(lengths.required(given, argument), array.shape[2], argument)
    entries = lengths.as_integers(given, argument)
    if entries and len(entries) != array.shape[0]:
        raise GoldenError(argument, f"has {len(entries)} entries for a batch of {array.shape[0]}")
    return lengths.padded(lengths.per_batch(given, [array.shape[2]] * array.shape[0], argument))


def _positive(num_key_value_heads: int) -> int:
    if as_integer(num_key_value_heads, "num_key_value_heads") < 1:
        raise GoldenError("num_key_value_heads", f"{num_key_value_heads} is not positive")
    return num_key_value_heads


def _refuse_unless(default: object, **arguments: object) -> None:
    for name, given in arguments.items():
        if given is not default and (default is None or as_integer(given, name) != default):
            raise GoldenError(name, f"this version of the operator knows nothing but {default} here")
