# SPDX-License-Identifier: Apache-2.0
"""Importing this module registers ``torch.ops.ascend_attention``: schemas, CPU kernels and fake kernels.

    npu_fused_infer_attention_score_v2(query, key, value, *, ...) -> (attention_out, softmax_lse)
    npu_fused_infer_attention_score_v2.out(..., workspace=None, attention_out, softmax_lse) -> ()
    npu_fused_infer_attention_score_v2_get_max_workspace(...) -> Tensor

The operators raise RuntimeError with the text of the package's AttentionError or SimulatorError. They have no
derivative and say so with a RuntimeError when one is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from ascend_attention import _core
from ascend_attention import _settings as _settings  # the operators ask it how to run
from ascend_attention._arguments import refuse, require_one_device, torch_descriptor
from ascend_attention._errors import MISSING_TENSOR, AttentionError
from ascend_attention._torch_derivative import refuse_derivatives
from ascend_attention._torch_lazy import withdraw_namespace

NAME = "npu_fused_infer_attention_score_v2"
OPERATOR = f"ascend_attention::{NAME}"

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


def _hint(number: Any) -> Any:
    """The value that a symbolic size has in the call being traced, without making the graph depend on it."""
    return number.node.hint if isinstance(number, torch.SymInt) else number


def _hinted(value: Any) -> Any:
    """An argument with every symbolic size replaced by its hint: tensors as descriptors."""
    if isinstance(value, (list, tuple)):
        return [_hint(number) for number in value]
    if not isinstance(value, torch.Tensor):
        return value
    shape, expected, contiguous = [_hint(size) for size in value.shape], 1, True
    if None not in shape and 0 not in shape:
        for size, stride in zip(reversed(shape), map(_hint, reversed(value.stride())), strict=True):
            contiguous &= size == 1 or stride == expected
            expected *= size
    return 0, str(value.dtype).removeprefix("torch."), tuple(shape), contiguous


def _hints(arguments: dict[str, Any]) -> dict[str, Any] | None:
    """What ``_described`` would give for the call being traced; None where a size has no value yet."""
    hinted = {name: _hinted(value) for name, value in arguments.items() if value is not None}
    numbers = [n for value in hinted.values() if isinstance(value, list) for n in value]
    numbers += [n for value in hinted.values() if isinstance(value, tuple) for n in value[2]]
    return None if None in numbers else hinted


def _symbolic_shapes(arguments: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    """Shapes of attention_out and softmax_lse where some sizes are symbols; the kernel checks their values later."""
    query, value = arguments["query"], arguments["value"]
    layout = arguments["input_layout"]
    heads = arguments["num_query_heads"]
    key_heads = arguments["num_key_value_heads"] or heads
    rank = {"BSH": 3, "BSND": 4, "BNSD": 4, "BNSD_BSND": 4}.get(layout)
    if rank is None:
        refuse(NAME, "input_layout", f"'{layout}' with symbolic shapes", "BSH, BSND, BNSD, BNSD_BSND")
    for name in ("query", "value"):
        if arguments[name].dim() != rank:
            refuse(NAME, name, f"{arguments[name].dim()} dimensions", f"{rank} dimensions for input_layout {layout}")
    for name, count in (("num_query_heads", heads), ("num_key_value_heads", key_heads)):
        if count < 1:
            refuse(NAME, name, str(count), "at least 1")
    if layout == "BSH":
        batch, rows, _ = query.shape
        shape = [batch, rows, heads * (value.shape[2] // key_heads)]
    elif layout == "BSND":
        batch, rows, _, _ = query.shape
        shape = [batch, rows, heads, value.shape[3]]
    else:
        batch, _, rows, _ = query.shape
        dim = value.shape[3]
        shape = [batch, heads, rows, dim] if layout == "BNSD" else [batch, rows, heads, dim]
    return shape, [batch, heads, rows, 1] if arguments["return_softmax_lse"] else [1]


@contextmanager
def _refusing_as_torch() -> Iterator[None]:
    """Torch operators raise RuntimeError; the package function finds the original as its cause."""
    try:
        yield
    except AttentionError as error:
        raise RuntimeError(str(error)) from error


def _check_devices(arguments: dict[str, Any]) -> None:
    # Torch runs these functions for real tensors too, as soon as one of the arguments lies on the meta device.
    require_one_device(NAME, {n: value for n, value in arguments.items() if isinstance(value, torch.Tensor)})


def _fake(*positional: torch.Tensor, **keywords: Any) -> tuple[torch.Tensor, torch.Tensor]:
    arguments = _named(positional, keywords)
    with _refusing_as_torch():
        _check_devices(arguments)
        symbolic = _is_symbolic(arguments)
        described = _hints(arguments) if symbolic else _described(arguments)
        if described is not None:
            outputs = _core.FusedInferAttentionScoreV2Call(described).outputs()
        if symbolic:
            out_shape, lse_shape = _symbolic_shapes(arguments)
            out_dtype, lse_dtype = (outputs[1], outputs[3]) if described else (None, "float32")
        else:
            out_shape, out_dtype, lse_shape, lse_dtype = outputs
    query = arguments["query"]
    out = query.new_empty(out_shape, dtype=getattr(torch, out_dtype) if out_dtype else query.dtype)
    return out, query.new_empty(lse_shape, dtype=getattr(torch, lse_dtype))


def _fake_out(*positional: torch.Tensor, **keywords: Any) -> None:
    everything = _named(positional, keywords)
    buffers = {name: everything.get(name) for name in ("attention_out", "softmax_lse", "workspace")}
    with _refusing_as_torch():
        _check_devices(everything)
        given = _hints(everything) if _is_symbolic(everything) else _described(everything)
        if given is None:
            return
        described = {name: given.pop(name, None) for name in buffers}
        call = _core.FusedInferAttentionScoreV2Call(given)
        for name in ("attention_out", "softmax_lse"):
            if described[name] is None:
                refuse(NAME, name, "None", "a tensor", MISSING_TENSOR)
        call.accepts_buffers(**described)


def _fake_max_workspace(*positional: torch.Tensor, **keywords: Any) -> torch.Tensor:
    arguments = _named(positional, keywords)
    with _refusing_as_torch():
        _check_devices(arguments)
        symbolic = _is_symbolic(arguments)
        described = _hints(arguments) if symbolic else _described(arguments)
        size: Any = None
        if described is not None:
            size = _core.FusedInferAttentionScoreV2Call(described).max_workspace_bytes()
    if symbolic:
        size = torch.library.get_ctx().new_dynamic_size()
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
refuse_derivatives("ascend_attention", NAME)
