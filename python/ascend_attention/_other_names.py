# SPDX-License-Identifier: Apache-2.0
"""Names of arguments that an operator does not have: what was probably meant."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar, overload

Function = TypeVar("Function", bound=Callable[..., Any])

FIA_V1 = "npu_fused_infer_attention_score"

# The one idea behind names that differ between FIA, its older version, PFA and block-sparse attention.
_SAME = (
    ("num_heads", "num_query_heads"),
    ("scale", "scale_value", "softmax_scale"),
    ("actual_seq_lengths", "actual_seq_qlen"),
    ("actual_seq_lengths_kv", "actual_seq_kvlen"),
    ("key_antiquant_scale", "dequant_scale_key"),
    ("key_antiquant_offset", "dequant_offset_key"),
    ("key_antiquant_mode", "key_quant_mode"),
    ("value_antiquant_scale", "dequant_scale_value"),
    ("value_antiquant_offset", "dequant_offset_value"),
    ("value_antiquant_mode", "value_quant_mode"),
    ("key_rope_antiquant_scale", "dequant_scale_key_rope"),
    ("quant_scale2", "quant_scale_out"),
    ("quant_offset2", "quant_offset_out"),
    ("softmax_lse", "softmax_lse_flag", "return_softmax_lse"),
    ("input_layout", "q_input_layout"),
    ("input_layout", "kv_input_layout"),
    ("mask", "attn_mask", "atten_mask"),
    ("attn_bias", "pse", "pse_shift"),
    ("sinks", "learnable_sink"),
    ("kv_heads", "num_key_value_heads"),
    ("cu_seqlens_q", "actual_seq_lengths", "actual_seq_qlen"),
    ("cu_seqlens_k", "actual_seq_lengths_kv", "actual_seq_kvlen"),
    ("cu_seqlens_kv", "actual_seq_lengths_kv", "actual_seq_kvlen"),
)
# Of the older version of FIA alone.
_GONE = {
    "antiquant_scale": "dequant_scale_key and dequant_scale_value, one tensor each",
    "antiquant_offset": "dequant_offset_key and dequant_offset_value, one tensor each",
    "antiquant_mode": "key_quant_mode and value_quant_mode",
    **dict.fromkeys(
        (
            "dequant_scale1", "quant_scale1", "dequant_scale2", "key_shared_prefix", "value_shared_prefix",
            "actual_shared_prefix_len", "query_padding_size", "kv_padding_size",
        ),
        "nothing takes its place: version 2 has no such argument",
    ),
}  # fmt: skip

_FIA = "npu_fused_infer_attention_score_v2 has it"
# What other libraries' attention, or another operator here, has: how to say it; ``with`` an argument that has to be
# there for the advice to mean something.
_ELSEWHERE = {
    **dict.fromkeys(
        ("is_causal", "causal"),
        ("sparse_mode", "causal is sparse_mode=3 (from the last query and key) or 2, with the (2048, 2048) atten_mask"),
    ),
    **dict.fromkeys(
        ("window_size", "window", "sliding_window"),
        ("sparse_mode", "a window is sparse_mode=4 with pre_tokens and next_tokens"),
    ),
    **dict.fromkeys(("dropout_p", "dropout"), ("query", "these operators are for inference, without dropout")),
    "enable_gqa": ("num_key_value_heads", "grouped heads are num_key_value_heads"),
    **dict.fromkeys(
        (
            "block_table", "block_size", "query_rope", "key_rope", "learnable_sink", "inner_precise",
            "return_softmax_lse", "softmax_lse_flag", "softmax_lse",
        ),
        ("num_heads", _FIA),
    ),
    "atten_mask": ("block_sparse_mask", "which blocks are seen is said by block_sparse_mask"),
}  # fmt: skip


def version_1_help(name: object) -> str:
    """What to say to somebody who asks for the older version of FIA, else an empty text."""
    if name != FIA_V1:
        return ""
    names = ", ".join(f"{old[0]} is {old[-1]}" for old in _SAME[:5])
    return f"; {FIA_V1} is version 1, and here is {FIA_V1}_v2: {names}, and so on"


def suggestion(unknown: str, known: Iterable[str]) -> str:
    """The argument that ``unknown`` probably stands for, as a question to append to an error, or an empty text."""
    known = list(known)
    if unknown in _GONE and "dequant_scale_key" in known:
        return f"; here {_GONE[unknown]}"
    others = [name for same in _SAME if unknown in same for name in same]
    meant = [name for name in dict.fromkeys(others) if name in known]
    if not meant and unknown in _ELSEWHERE and _ELSEWHERE[unknown][0] in known:
        return f"; {_ELSEWHERE[unknown][1]}"
    if not others:
        meant = difflib.get_close_matches(unknown, known, n=1)
    return f"; did you mean {' and '.join(repr(name) for name in meant)}?" if meant else ""


def no_attribute(module: str, name: str, known: Iterable[str]) -> str:
    """What an AttributeError says of a name that a module has not."""
    near = [] if name.startswith("_") else difflib.get_close_matches(name, known, n=1)
    hint = version_1_help(name) or (f"; did you mean {near[0]!r}?" if near else "")
    return f"module {module!r} has no attribute {name!r}{hint}"


def unknown_argument(known: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """What a TypeError says of the first given argument that is not known, or an empty text."""
    for name in given:
        if name not in known:
            return f"got an unexpected keyword argument {name!r}{suggestion(name, known)}"
    return ""


@overload
def suggesting(function: Function) -> Function: ...
@overload
def suggesting(*, name: str) -> Callable[[Function], Function]: ...
def suggesting(function: Any = None, *, name: str = "") -> Any:
    """The function, whose TypeError for an unknown argument says which one was probably meant.

    ``name`` is what callers know it by, if that is not its own.
    """
    if function is None:
        return functools.partial(suggesting, name=name)
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def call(*positional: Any, **arguments: Any) -> Any:
        try:
            return function(*positional, **arguments)
        except TypeError:
            text = unknown_argument(known, arguments)
            if text:
                raise TypeError(f"{name or function.__name__}: {text}") from None
            raise

    return call
