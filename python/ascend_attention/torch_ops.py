# SPDX-License-Identifier: Apache-2.0
"""Importing this module registers ``torch.ops.ascend_attention``: schemas, CPU kernels and fake kernels.

    npu_fused_infer_attention_score_v2(query, key, value, *, ...) -> (attention_out, softmax_lse)
    npu_fused_infer_attention_score_v2.out(..., workspace=None, attention_out, softmax_lse) -> ()
    npu_fused_infer_attention_score_v2_get_max_workspace(...) -> Tensor

The operators raise RuntimeError with the text of the package's AttentionError or SimulatorError. They have no
derivative: as with any operator without an autograd formula, torch warns when a gradient is asked to pass.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from ascend_attention import _core
from ascend_attention import _settings as _settings  # the operators ask it how to run
from ascend_attention._arguments import torch_descriptor
from ascend_attention._errors import AttentionError
from ascend_attention._torch_lazy import withdraw_namespace

OPERATOR = "ascend_attention::npu_fused_infer_attention_score_v2"

_LIBRARY = Path(__file__).with_name("_torch_ops.so")
if not _LIBRARY.exists():
    raise ImportError(
        "ascend_attention was built without its torch operators: torch 2.10 or later was not found then. "
        "Install torch, then build again (pip install --force-reinstall --no-deps of this project)."
    )
torch.ops.load_library(str(_LIBRARY))
withdraw_namespace(torch)


def _is_symbolic(arguments: dict[str, Any]) -> bool:
    numbers: list[Any] = []
    for value in arguments.values():
        if isinstance(value, torch.Tensor):
            numbers += value.shape
        elif isinstance(value, (list, tuple)):
            numbers += value
    return any(isinstance(number, torch.SymInt) for number in numbers)


def _described(arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        name: torch_descriptor(value, address=0) if isinstance(value, torch.Tensor) else value
        for name, value in arguments.items()
        if value is not None
    }


def _symbolic_shapes(arguments: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Shapes of attention_out and softmax_lse where some sizes have no value yet; the kernel checks them later."""
    query, value = arguments["query"], arguments["value"]
    layout = arguments["input_layout"]
    heads = arguments["num_query_heads"]
    key_heads = arguments["num_key_value_heads"] or heads
    if layout == "BSH":
        batch, rows, _ = query.shape
        shape = [batch, rows, heads * (value.shape[2] // key_heads)]
    elif layout == "BSND":
        batch, rows, _, _ = query.shape
        shape = [batch, rows, heads, value.shape[3]]
    elif layout in ("BNSD", "BNSD_BSND"):
        batch, _, rows, _ = query.shape
        dim = value.shape[3]
        shape = [batch, heads, rows, dim] if layout == "BNSD" else [batch, rows, heads, dim]
    else:
        raise RuntimeError(f"{OPERATOR.split('::')[1]}: input_layout: '{layout}' with symbolic shapes is not supported")
    return shape, [batch, heads, rows, 1] if arguments["return_softmax_lse"] else [1]


def _fake(*positional: torch.Tensor, **keywords: Any) -> tuple[torch.Tensor, torch.Tensor]:
    arguments = _named(positional, keywords)
    query = arguments["query"]
    if _is_symbolic(arguments):
        out_shape, lse_shape = _symbolic_shapes(arguments)
        return query.new_empty(out_shape), query.new_empty(lse_shape, dtype=torch.float32)
    try:
        out_shape, out_dtype, lse_shape, lse_dtype = _core.infer_fused_infer_attention_score_v2(_described(arguments))
    except AttentionError as error:
        raise RuntimeError(str(error)) from error
    out = query.new_empty(out_shape, dtype=getattr(torch, out_dtype))
    return out, query.new_empty(lse_shape, dtype=getattr(torch, lse_dtype))


def _fake_out(*positional: torch.Tensor, **keywords: Any) -> None:
    arguments = _named(positional, keywords)
    workspace = arguments.pop("workspace", None)
    out, lse = arguments.pop("attention_out"), arguments.pop("softmax_lse")
    if _is_symbolic({**arguments, "out": out, "lse": lse, "workspace": workspace}):
        return
    try:
        call = _core.FusedInferAttentionScoreV2Call(_described(arguments))
        scratch = None if workspace is None else torch_descriptor(workspace, address=0)
        call.accepts_buffers(torch_descriptor(out, address=0), torch_descriptor(lse, address=0), scratch)
    except AttentionError as error:
        raise RuntimeError(str(error)) from error


def _fake_max_workspace(*positional: torch.Tensor, **keywords: Any) -> torch.Tensor:
    arguments = _named(positional, keywords)
    if _is_symbolic(arguments):
        size: int | torch.SymInt = torch.library.get_ctx().new_dynamic_size()
    else:
        try:
            size = _core.FusedInferAttentionScoreV2Call(_described(arguments)).max_workspace_bytes()
        except AttentionError as error:
            raise RuntimeError(str(error)) from error
    query: torch.Tensor = arguments["query"]
    return query.new_empty((size,), dtype=torch.uint8)


def _named(positional: Iterable[torch.Tensor], keywords: dict[str, Any]) -> dict[str, Any]:
    return {**dict(zip(("query", "key", "value"), positional, strict=False)), **_DEFAULTS, **keywords}


def _defaults() -> dict[str, Any]:
    """The schema's defaults: torch leaves out what the caller did not give."""
    schema = torch.ops.ascend_attention.npu_fused_infer_attention_score_v2.default._schema
    return {argument.name: argument.default_value for argument in schema.arguments if argument.kwarg_only}


_DEFAULTS = _defaults()
torch.library.register_fake(OPERATOR)(_fake)
torch.library.register_fake(OPERATOR + ".out")(_fake_out)
torch.library.register_fake(OPERATOR + "_get_max_workspace")(_fake_max_workspace)
