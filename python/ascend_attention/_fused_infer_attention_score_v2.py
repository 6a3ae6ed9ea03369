# SPDX-License-Identifier: Apache-2.0
"""npu_fused_infer_attention_score_v2 on torch tensors and NumPy arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ascend_attention import _call
from ascend_attention._other_names import suggesting

if TYPE_CHECKING:
    import numpy as np
    import torch

    Array = TypeVar("Array", torch.Tensor, np.ndarray)
    Lengths = Sequence[int] | torch.Tensor | np.ndarray

NAME = "npu_fused_infer_attention_score_v2"

SIGNATURE = _call.Signature(
    NAME,
    tensors=(
        "query", "key", "value", "query_rope", "key_rope", "pse_shift", "atten_mask", "block_table",
        "dequant_scale_query", "dequant_scale_key", "dequant_offset_key", "dequant_scale_value", "dequant_offset_value",
        "dequant_scale_key_rope", "quant_scale_out", "quant_offset_out", "learnable_sink",
    ),
    lengths=("actual_seq_qlen", "actual_seq_kvlen"),
    ints=(
        "num_query_heads", "num_key_value_heads", "pre_tokens", "next_tokens", "sparse_mode", "block_size",
        "query_quant_mode", "key_quant_mode", "value_quant_mode", "inner_precise",
    ),
    floats=("softmax_scale",),
    texts=("input_layout",),
    bools=("return_softmax_lse",),
    optional_ints=(
        "query_dtype", "key_dtype", "value_dtype", "query_rope_dtype", "key_rope_dtype", "key_shared_prefix_dtype",
        "value_shared_prefix_dtype", "dequant_scale_query_dtype", "dequant_scale_key_dtype",
        "dequant_scale_value_dtype", "dequant_scale_key_rope_dtype",
    ),
    lists=("key", "value", "key_rope"),
)  # fmt: skip


@suggesting
def npu_fused_infer_attention_score_v2(
    query: Array,
    key: Array | Sequence[Array],
    value: Array | Sequence[Array],
    *,
    query_rope: Array | None = None,
    key_rope: Array | Sequence[Array] | None = None,
    pse_shift: Array | None = None,
    atten_mask: Array | None = None,
    actual_seq_qlen: Lengths | None = None,
    actual_seq_kvlen: Lengths | None = None,
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
) -> tuple[Array, Array]:
    """Attention of a batch of queries over their keys and values: softmax(scale * Q K^T + mask) V.

    Signature, defaults and rules are those of ``torch_npu.npu_fused_infer_attention_score_v2``. Rule ids (FIA-C...)
    in refusals are rows of docs/constraints.md, drawn from that operator's document. docs/checks.md says how to judge a
    call without running it, docs/numerics.md what is computed.

    Takes torch tensors (CPU) or NumPy arrays, all of one kind and contiguous, and returns the same kind. bfloat16
    arrays are those of ``ml_dtypes``. B is the batch, Q_S and KV_S the padded lengths, N and KV_N the heads of query
    and of key and value, D the head dimension, H = N * D.

    Built so far: everything without quantisation. int8 and int4 inputs and int8 outputs are refused as
    AttentionNotSupported; ``ascend_attention.golden.fused_infer_attention_score_v2`` computes them.

    Args:
        query: float16 or bfloat16; its shape is named by input_layout:
            "BSH" (B, Q_S, N*D), "BSND" (B, Q_S, N, D), "BNSD" (B, N, Q_S, D), "TND" (T, N, D), "NTD" (N, T, D): what
            input_layout begins with. D is a multiple of 16 up to 512; with one query row (Q_S 1) any value up to 512.
        key: dtype and layout of query, with KV_S and KV_N. A list or tuple with one tensor of batch 1 for each
            sequence, each as long as it is. With block_table a cache: (blocks, block_size, KV_N*D), (blocks, KV_N,
            block_size, D) or in strips (blocks, KV_N, D/16, block_size, 16).
        value: dtype and form of key; a list where key is one.
        query_rope, key_rope: the last 64 channels of queries and keys, in tensors of their own: D is 128 or 512.
        pse_shift: a bias in the dtype of query, added to the scaled scores: (1 or B, N, Q_S, KV_S), the last two axes
            may be larger.
        atten_mask: bool, int8 or uint8, non-zero hides the pair. sparse_mode 0 and 1: (Q_S, KV_S), (1 or B, Q_S,
            KV_S) or (1 or B, 1, Q_S, KV_S), the last two axes may be larger. sparse_mode 2, 3, 4: (2048, 2048),
            (1, 2048, 2048) or (1, 1, 2048, 2048), a promise whose content is never read.
        actual_seq_qlen: valid query rows of each sequence, in tokens: one entry for all or at least B entries, each
            0...Q_S. A list, tuple, integer array or tensor. None or empty: Q_S. Rows beyond: see Returns.
        actual_seq_kvlen: valid keys of each sequence, likewise, each 0...KV_S; None or empty: KV_S.
        block_table, block_size: int32 (B, columns): the blocks of the cache that hold the keys of each sequence, in the
            order of the keys, block_size keys each. Entries behind the last key are never read.
        dequant_scale_query, dequant_scale_key, dequant_offset_key, dequant_scale_value, dequant_offset_value,
            quant_scale_out, quant_offset_out, query_quant_mode, key_quant_mode, value_quant_mode: not supported yet.
        dequant_scale_key_rope: reserved, None.
        learnable_sink: bfloat16 (N,): one more score for each query head, which takes part in the softmax only.
        num_query_heads: N.
        num_key_value_heads: KV_N, a divisor of N; 0: the same as N. Query head h reads key head h // (N / KV_N).
        softmax_scale: factor of Q K^T, usually D ** -0.5; finite in float32.
        pre_tokens, next_tokens: keys seen to the left and right of the diagonal. sparse_mode 0 with a mask: query i
            sees i - pre_tokens ... i + next_tokens. sparse_mode 4: the same around the diagonal that ends at the last
            query and the last key. Ignored otherwise. One of them may be negative.
        input_layout: of queries, and behind "_" of the result where that differs: "BSH", "BSND", "BNSD", "BNSD_BSND",
            "BSH_NBSD", "BSND_NBSD", "BNSD_NBSD", "TND", "TND_NTD", "NTD_TND". With T sequences lie one behind the other
            and lengths are cumulative (those of a cache are not).
        sparse_mode: 0 everything, or mask and tokens; 1 mask only; 2 causal from the top left; 3 causal that ends at
            the last query and the last key; 4 band.
        inner_precise: 0...3. Rows that see no key are always zeros, whatever bit 1 says.
        return_softmax_lse: also give the logarithm of each row's softmax denominator.
        query_dtype, key_dtype, value_dtype, query_rope_dtype, key_rope_dtype, key_shared_prefix_dtype,
            value_shared_prefix_dtype, dequant_scale_query_dtype, dequant_scale_key_dtype, dequant_scale_value_dtype,
            dequant_scale_key_rope_dtype: reserved, None.

    Returns:
        attention_out: dtype of query, shape as the layout says, with D of value.
        softmax_lse: float32, (B, N, Q_S, 1) or (T, N, 1), natural logarithm; without return_softmax_lse one zero, shape
            (1,).
        Rows that see no key and rows beyond actual_seq_qlen are zeros in attention_out and +inf in softmax_lse.

    Raises:
        AttentionError: a rule is broken: code 161001 (a required tensor is None) or 161002. Nothing was written.
        AttentionNotSupported: the document allows it, this package cannot do it yet: code 561003.
        SimulatorError: the simulated kernel did something that the device would not survive.
        TypeError: an argument of the wrong Python type.

    Under torch.compile(fullgraph=True) give lengths as lists or tensors; a refusal is a RuntimeError with the same text
    there. The operator is for inference: asking for a derivative is a RuntimeError. Ctrl-C takes effect when the call
    returns.
    """
    arguments: dict[str, Any] = {
        "query": query,
        "key": key,
        "value": value,
        "query_rope": query_rope,
        "key_rope": key_rope,
        "pse_shift": pse_shift,
        "atten_mask": atten_mask,
        "actual_seq_qlen": actual_seq_qlen,
        "actual_seq_kvlen": actual_seq_kvlen,
        "block_table": block_table,
        "dequant_scale_query": dequant_scale_query,
        "dequant_scale_key": dequant_scale_key,
        "dequant_offset_key": dequant_offset_key,
        "dequant_scale_value": dequant_scale_value,
        "dequant_offset_value": dequant_offset_value,
        "dequant_scale_key_rope": dequant_scale_key_rope,
        "quant_scale_out": quant_scale_out,
        "quant_offset_out": quant_offset_out,
        "learnable_sink": learnable_sink,
        "num_query_heads": num_query_heads,
        "num_key_value_heads": num_key_value_heads,
        "softmax_scale": softmax_scale,
        "pre_tokens": pre_tokens,
        "next_tokens": next_tokens,
        "input_layout": input_layout,
        "sparse_mode": sparse_mode,
        "block_size": block_size,
        "query_quant_mode": query_quant_mode,
        "key_quant_mode": key_quant_mode,
        "value_quant_mode": value_quant_mode,
        "inner_precise": inner_precise,
        "return_softmax_lse": return_softmax_lse,
        "query_dtype": query_dtype,
        "key_dtype": key_dtype,
        "value_dtype": value_dtype,
        "query_rope_dtype": query_rope_dtype,
        "key_rope_dtype": key_rope_dtype,
        "key_shared_prefix_dtype": key_shared_prefix_dtype,
        "value_shared_prefix_dtype": value_shared_prefix_dtype,
        "dequant_scale_query_dtype": dequant_scale_query_dtype,
        "dequant_scale_key_dtype": dequant_scale_key_dtype,
        "dequant_scale_value_dtype": dequant_scale_value_dtype,
        "dequant_scale_key_rope_dtype": dequant_scale_key_rope_dtype,
    }
    return _call.run(SIGNATURE, arguments)  # type: ignore[no-any-return]
