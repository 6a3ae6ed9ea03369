# SPDX-License-Identifier: Apache-2.0
"""npu_prompt_flash_attention on torch tensors and NumPy arrays."""

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

NAME = "npu_prompt_flash_attention"

SIGNATURE = _call.Signature(
    NAME,
    tensors=(
        "query", "key", "value", "pse_shift", "padding_mask", "atten_mask",
        "deq_scale1", "quant_scale1", "deq_scale2", "quant_scale2", "quant_offset2",
    ),
    lengths=("actual_seq_lengths", "actual_seq_lengths_kv"),
    ints=("num_heads", "pre_tokens", "next_tokens", "num_key_value_heads", "sparse_mode"),
    floats=("scale_value",),
    texts=("input_layout",),
    has_lse=False,
)  # fmt: skip


@suggesting
def npu_prompt_flash_attention(
    query: Array,
    key: Array,
    value: Array,
    *,
    pse_shift: Array | None = None,
    padding_mask: Array | None = None,
    atten_mask: Array | None = None,
    actual_seq_lengths: Lengths | None = None,
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
    actual_seq_lengths_kv: Lengths | None = None,
    sparse_mode: int = 0,
) -> Array:
    """Attention of a batch of prompts over their keys and values: softmax(scale_value * Q K^T + mask) V.

    Signature, defaults and rules are those of ``torch_npu.npu_prompt_flash_attention``. Rule ids (PFA-C...) in refusals
    are rows of docs/constraints.md, drawn from that operator's document. ``simulator(soc=...)`` says which product's
    rules hold: Atlas A2 and A3, or the inference accelerator cards ("Ascend310P3"), whose calls are checked and then
    refused as not supported, because there are no kernels for them.

    Takes torch tensors (CPU) or NumPy arrays, all of one kind and contiguous, and returns the same kind. bfloat16
    arrays are those of ``ml_dtypes``. B is the batch, Q_S and KV_S the padded lengths, N and KV_N the heads of query
    and of key and value, D the head dimension, H = N * D, T the tokens of all sequences.

    Built so far: everything without int8. int8 inputs and outputs are refused as AttentionNotSupported;
    ``ascend_attention.golden.prompt_flash_attention`` computes them.

    Args:
        query: float16, bfloat16 or int8 (not built yet); its shape is named by input_layout:
            "BSH" (B, Q_S, N*D), "BSND" (B, Q_S, N, D), "BNSD" and "BNSD_BSND" (B, N, Q_S, D), "TND" (T, N, D). D is
            1...512, with more than 128 sequences a multiple of 16. "TND": bfloat16, D 128 or 192.
        key: dtype and layout of query, with KV_S and KV_N.
        value: dtype and shape of key; "TND" with D 192: its own D may be 128.
        pse_shift: a bias in the dtype of query, added to the scaled scores: (1 or B, N, Q_S, KV_S), the last two axes
            may be larger, and what they have beyond is never read. None with "TND".
        padding_mask: reserved, None.
        atten_mask: bool, int8 or uint8, non-zero hides the pair. sparse_mode 0 and 1: (Q_S, KV_S), (1 or B, Q_S,
            KV_S) or (1 or B, 1, Q_S, KV_S), the last two axes may be larger. sparse_mode 2, 3, 4: (2048, 2048),
            (1, 2048, 2048) or (1, 1, 2048, 2048), a promise whose content is never read.
        actual_seq_lengths: valid query rows of each sequence, in tokens: one entry for all or at least B entries, each
            0...Q_S; "TND": where each sequence ends, cumulative. A list, tuple, integer array or tensor. None or
            empty: Q_S. Rows beyond: see Returns.
        actual_seq_lengths_kv: valid keys of each sequence, likewise; None or empty: KV_S.
        deq_scale1, quant_scale1, deq_scale2: not supported yet. int8 inputs: the factors after Q K^T, on the
            probabilities and after P V; float32 (deq_scale1, deq_scale2 also uint64), one element.
        quant_scale2, quant_offset2: not supported yet. int8 result: float32, or bfloat16 with bfloat16 inputs, one
            element or N * D.
        num_heads: N.
        scale_value: factor of Q K^T, usually D ** -0.5; finite in float32.
        pre_tokens, next_tokens: keys seen to the left and right of the diagonal. sparse_mode 0 with a mask: query i
            sees i - pre_tokens ... i + next_tokens: with the default of next_tokens nothing right of the diagonal,
            whatever the mask says. sparse_mode 4: the same around the diagonal that ends at the last query and the
            last key. Ignored otherwise. One of them may be negative.
        input_layout: "BSH", "BSND", "BNSD", "BNSD_BSND" (queries BNSD, result BSND), "TND" (sequences one behind the
            other, without padding).
        num_key_value_heads: KV_N, a divisor of N; 0: the same as N. Query head h reads key head h // (N / KV_N).
        sparse_mode: 0 everything, or mask and tokens; 1 mask only; 2 causal from the top left; 3 causal that ends at
            the last query and the last key; 4 band. "TND": 0 without a mask, 3, 4.

    Returns:
        attention_out: dtype of query (int8 with quant_scale2; float16 for int8 inputs without it). Shape of query, but
        (B, Q_S, N, D) with "BNSD_BSND" and (T, N, D of value) with "TND". Rows that see no key and rows beyond
        actual_seq_lengths are zeros.

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
        "pse_shift": pse_shift,
        "padding_mask": padding_mask,
        "atten_mask": atten_mask,
        "actual_seq_lengths": actual_seq_lengths,
        "deq_scale1": deq_scale1,
        "quant_scale1": quant_scale1,
        "deq_scale2": deq_scale2,
        "quant_scale2": quant_scale2,
        "quant_offset2": quant_offset2,
        "num_heads": num_heads,
        "scale_value": scale_value,
        "pre_tokens": pre_tokens,
        "next_tokens": next_tokens,
        "input_layout": input_layout,
        "num_key_value_heads": num_key_value_heads,
        "actual_seq_lengths_kv": actual_seq_lengths_kv,
        "sparse_mode": sparse_mode,
    }
    return _call.run(SIGNATURE, arguments)  # type: ignore[no-any-return]
