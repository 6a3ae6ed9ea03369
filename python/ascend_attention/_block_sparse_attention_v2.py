# SPDX-License-Identifier: Apache-2.0
"""Block-sparse attention V2 on torch tensors and NumPy arrays, by the names of either of its interfaces."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ascend_attention import _call
from ascend_attention._errors import AttentionError, by_name
from ascend_attention._other_names import Function, suggesting

if TYPE_CHECKING:
    import numpy as np
    import torch

    Array = TypeVar("Array", torch.Tensor, np.ndarray)
    Lengths = Sequence[int] | torch.Tensor | np.ndarray

NAME = "block_sparse_attention_v2"

SIGNATURE = _call.Signature(
    NAME,
    tensors=(
        "query", "key", "value", "block_sparse_mask", "atten_mask", "block_table",
        "q_dequant_scale", "k_dequant_scale", "v_dequant_scale",
    ),
    lengths=("block_shape", "actual_seq_lengths", "actual_seq_lengths_kv"),
    ints=(
        "num_key_value_heads", "mask_type", "inner_precise", "block_size", "pre_tokens", "next_tokens",
        "softmax_lse_flag",
    ),
    floats=("scale_value",),
    texts=("q_input_layout", "kv_input_layout"),
)  # fmt: skip


@suggesting
def block_sparse_attention_v2(
    query: Array,
    key: Array,
    value: Array,
    *,
    block_sparse_mask: Array | None = None,
    atten_mask: Array | None = None,
    block_shape: Lengths | None = None,
    actual_seq_lengths: Lengths | None = None,
    actual_seq_lengths_kv: Lengths | None = None,
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
    pre_tokens: int = 2147483647,
    next_tokens: int = 2147483647,
    softmax_lse_flag: int = 0,
) -> tuple[Array, Array]:
    """Attention over the blocks of keys that a map selects: softmax(scale_value * Q K^T over those blocks) V.

    The arguments are those of the C interface's first phase, ``aclnnBlockSparseAttentionV2GetWorkspaceSize``, in snake
    case without "Optional", and so are the rules. Rule ids (BSA-C...) in refusals are rows of docs/constraints.md.
    Only the blocks that the map selects are loaded and computed; the map is read on the device (docs/engine.md).

    ``simulator(soc=...)`` says which product's rules hold: Atlas A2 and A3, or Ascend 950 ("Ascend950PR_9589"), the
    only one with float8 inputs. There are no kernels for that product: such calls are checked and then refused as
    AttentionNotSupported; ``ascend_attention.golden.block_sparse_attention_v2`` computes them.

    Takes torch tensors (CPU) or NumPy arrays, all of one kind and contiguous, and returns the same kind. bfloat16 and
    float8_e4m3fn arrays are those of ``ml_dtypes``. B is the batch, S a padded length, N1 and N2 the heads of query and
    of key and value, D the head dimension (64 or 128), T the tokens of all sequences.

    Args:
        query: float16, bfloat16, or float8_e4m3fn on Ascend 950; "TND" (T, N1, D), "BNSD" (B, N1, S, D), "BSND"
            (B, S, N1, D).
        key: dtype and layout of query, with N2 heads.
        value: dtype and shape of key.
        block_sparse_mask: required; int8, (B, N1, ceil(S_q / block_shape[0]), ceil(S_kv / block_shape[1])), 1 for each
            block to compute, 0 to skip (any other value counts as 1; the golden model refuses it). "TND": of the
            longest sequence. What it says of blocks beyond a sequence's length has no effect.
        atten_mask: None.
        block_shape: rows of query and of key per block, both above 0, the second a multiple of 128; further entries
            are ignored. None: [128, 128]. float8: [128, 256] or [128, 512], and required.
        actual_seq_lengths: rows of each sequence, in tokens, not cumulative. "TND": required, they add up to T.
            Otherwise one per batch, or None (an empty list is the same) for S. Given together with
            actual_seq_lengths_kv.
        actual_seq_lengths_kv: keys of each sequence, likewise.
        block_table: None (keys are not paged).
        q_dequant_scale: float8 only: float32 (B, N1, ceil(S_q / 128), 1), one factor per block of rows.
        k_dequant_scale, v_dequant_scale: float8 only: float32 (B, N2, ceil(S_kv / block_shape[1]), 1).
        q_input_layout, kv_input_layout: "TND", "BNSD", "BSND", both the same.
        num_key_value_heads: N2, a divisor of N1. Query head h reads key head h // (N1 / N2).
        mask_type: 0.
        scale_value: factor of Q K^T, usually D ** -0.5; finite in float32.
        inner_precise: 0 float32 softmax; 1 float16, for float16 inputs only; 4 mixed. Ascend 950: 4. All three are the
            same path here: scores and softmax in float32.
        block_size: 0.
        pre_tokens, next_tokens: 2147483647.
        softmax_lse_flag: 1: also give the logarithm of each row's softmax denominator; else 0.

    Returns:
        attention_out: shape and dtype of query; bfloat16 for float8 inputs. Rows that see no key are zeros.
        softmax_lse: float32, natural logarithm: (T, N1, 1), (B, N1, S, 1), (B, S, N1, 1); +inf for rows that see no
            key. With softmax_lse_flag 0 empty, shape (0,).
        Rows beyond actual_seq_lengths are zeros, +inf in softmax_lse.

    Raises:
        AttentionError: a rule is broken: code 161001 (a required tensor is None) or 161002. Nothing was written.
        AttentionNotSupported: the document allows it, this package cannot do it yet: code 561003.
        SimulatorError: the simulated kernel did something that the device would not survive.
        TypeError: an argument of the wrong Python type.
    """
    arguments: dict[str, Any] = {
        "query": query,
        "key": key,
        "value": value,
        "block_sparse_mask": block_sparse_mask,
        "atten_mask": atten_mask,
        "block_shape": block_shape,
        "actual_seq_lengths": actual_seq_lengths,
        "actual_seq_lengths_kv": actual_seq_lengths_kv,
        "block_table": block_table,
        "q_dequant_scale": q_dequant_scale,
        "k_dequant_scale": k_dequant_scale,
        "v_dequant_scale": v_dequant_scale,
        "q_input_layout": q_input_layout,
        "kv_input_layout": kv_input_layout,
        "num_key_value_heads": num_key_value_heads,
        "mask_type": mask_type,
        "scale_value": scale_value,
        "inner_precise": inner_precise,
        "block_size": block_size,
        "pre_tokens": pre_tokens,
        "next_tokens": next_tokens,
        "softmax_lse_flag": softmax_lse_flag,
    }
    return _call.run(SIGNATURE, arguments)  # type: ignore[no-any-return]


def _by_its_own_name(function: Function) -> Function:
    """Refusals carry the name of the function that was called, and say which values are its defaults."""
    parameters = tuple(inspect.signature(function).parameters)

    @functools.wraps(function)
    def call(*positional: Any, **arguments: Any) -> Any:
        try:
            return function(*positional, **arguments)
        except (AttentionError, TypeError) as error:
            left_out = {*parameters[len(positional) :]} - {*arguments}
            raise by_name(error, NAME, function.__name__, left_out) from None

    return call  # type: ignore[return-value]


@suggesting
@_by_its_own_name
def npu_block_sparse_attention(
    query: Array,
    key: Array,
    value: Array,
    block_sparse_mask: Array,
    block_shape: Lengths,
    *,
    q_input_layout: str = "TND",
    kv_input_layout: str = "TND",
    num_key_value_heads: int = 1,
    scale_value: float = 0.0,
    inner_precise: int = 1,
    actual_seq_lengths: Lengths | None = None,
    actual_seq_lengths_kv: Lengths | None = None,
    softmax_lse_flag: int = 0,
) -> tuple[Array, Array]:
    """``block_sparse_attention_v2`` with the signature and the defaults of ``torch_npu.npu_block_sparse_attention``.

    Arguments, results and errors are those of ``block_sparse_attention_v2``. Mind two defaults: scale_value 0.0 makes
    all seen keys weigh the same, and inner_precise 1 is for float16 only.
    """
    return block_sparse_attention_v2(
        query,
        key,
        value,
        block_sparse_mask=block_sparse_mask,
        block_shape=block_shape,
        actual_seq_lengths=actual_seq_lengths,
        actual_seq_lengths_kv=actual_seq_lengths_kv,
        q_input_layout=q_input_layout,
        kv_input_layout=kv_input_layout,
        num_key_value_heads=num_key_value_heads,
        scale_value=scale_value,
        inner_precise=inner_precise,
        softmax_lse_flag=softmax_lse_flag,
    )
