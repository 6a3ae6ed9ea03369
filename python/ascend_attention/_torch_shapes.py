# SPDX-License-Identifier: Apache-2.0
"""Shapes of results while torch traces a graph: where sizes are symbols, or lengths lie in a tensor.

Shapes do not depend on lengths. What else is wrong with such a call the kernel says when the graph runs, as far as the
checks cannot say it of the sizes that a trace has at hand.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from ascend_attention import _block_sparse_attention_v2 as bsa_v2
from ascend_attention import _fused_infer_attention_score_v2 as fia_v2
from ascend_attention import _prompt_flash_attention as pfa
from ascend_attention._arguments import refuse

# Of layouts, of ranks, of heads.
_RULES = {fia_v2.NAME: ("FIA-C7", "FIA-C8", "FIA-C14"), pfa.NAME: ("PFA-C3", "PFA-C4", "PFA-C7")}
_LAYOUTS = {
    fia_v2.NAME: (
        "BSH", "BSND", "BNSD", "BNSD_BSND", "BSH_NBSD", "BSND_NBSD", "BNSD_NBSD", "TND", "TND_NTD", "NTD_TND",
    ),
    pfa.NAME: ("BSH", "BSND", "BNSD", "BNSD_BSND", "TND"),
}  # fmt: skip


class Results(NamedTuple):
    """Shapes may hold symbols."""

    out_shape: list[Any]
    out_dtype: torch.dtype
    lse_shape: list[Any]


def traced_results(name: str, arguments: dict[str, Any]) -> Results:
    """For the operator `name`; `arguments` with all defaults."""
    query = arguments["query"]
    if name == bsa_v2.NAME:
        shape = list(query.shape)
        dtype = torch.bfloat16 if query.dtype == torch.float8_e4m3fn else query.dtype
        return Results(shape, dtype, [*shape[:-1], 1] if arguments["softmax_lse_flag"] == 1 else [0])
    sizes, out_axes = _sizes(name, arguments)
    if not arguments.get("return_softmax_lse"):
        lse_shape = [1]
    else:
        lse_shape = [*(sizes[axis] for axis in ("TN" if "T" in sizes else "BNS")), 1]
    return Results([sizes[axis] for axis in out_axes], _out_dtype(name, arguments), lse_shape)


def _sizes(name: str, arguments: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The output's axes by their letters, and which of them it has."""
    query, layout = arguments["query"], arguments["input_layout"]
    of_layout, of_rank, of_heads = _RULES[name]
    if layout not in _LAYOUTS[name]:
        refuse(name, "input_layout", f"'{layout}'", ", ".join(_LAYOUTS[name]), rule=of_layout)
    in_axes, _, out_axes = layout.partition("_")
    if query.dim() != len(in_axes):
        given = f"{query.dim()} dimensions"
        refuse(name, "query", given, f"{len(in_axes)} dimensions for input_layout {layout}", rule=of_rank)
    sizes = dict(zip(in_axes, query.shape, strict=True))
    if "H" in sizes:
        heads = "num_heads" if name == pfa.NAME else "num_query_heads"
        if arguments[heads] < 1:
            refuse(name, heads, str(arguments[heads]), "at least 1", rule=of_heads)
        sizes |= {"N": arguments[heads], "D": sizes["H"] // arguments[heads]}
    elif "T" in sizes and arguments.get("block_table") is None:
        sizes["D"] = arguments["value"].shape[-1]  # there alone it may differ from that of query
    return sizes, out_axes or in_axes


def _out_dtype(name: str, arguments: dict[str, Any]) -> torch.dtype:
    if arguments["quant_scale2" if name == pfa.NAME else "quant_scale_out"] is not None:
        return torch.int8
    query = arguments["query"]
    if query.dtype != torch.int8:
        return query.dtype  # type: ignore[no-any-return]
    rope = arguments.get("query_rope")
    return torch.float16 if rope is None else rope.dtype
