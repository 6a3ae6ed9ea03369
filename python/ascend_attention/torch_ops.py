# SPDX-License-Identifier: Apache-2.0
"""Importing this module registers ``torch.ops.ascend_attention``: schemas, CPU kernels and fake kernels.

    npu_fused_infer_attention_score_v2(query, key, value, *, ...) -> (attention_out, softmax_lse)
    npu_prompt_flash_attention(query, key, value, *, ...) -> attention_out
    block_sparse_attention_v2(query, key, value, *, ...) -> (attention_out, softmax_lse)

and of each

    NAME.out(..., workspace=None, attention_out, softmax_lse) -> ()     without softmax_lse where there is none
    NAME_get_max_workspace(...) -> Tensor

Torch takes 40 microseconds to read 256 lengths, since each may be a symbol of a compiled graph. ``NAME.ints``,
``NAME.out_ints`` and ``NAME_get_max_workspace.ints`` are the same three operators with plain integers, which it reads
in 8. They have to be named: ``torch.ops.ascend_attention.NAME(...)`` is the overload above. Under
``torch.compile`` use the others: these make constants of the lengths, and other lengths compile the graph anew.

The operators raise RuntimeError with the text of the package's AttentionError or SimulatorError. They have no
derivative and say so with a RuntimeError when one is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from ascend_attention import _block_sparse_attention_v2 as bsa_v2
from ascend_attention import _core
from ascend_attention import _fused_infer_attention_score_v2 as fia_v2
from ascend_attention import _prompt_flash_attention as pfa
from ascend_attention import _settings as _settings  # the operators ask it how to run
from ascend_attention._arguments import refuse, require_one_device, torch_descriptor
from ascend_attention._call import Signature
from ascend_attention._errors import MISSING_TENSOR, AttentionError
from ascend_attention._torch_derivative import refuse_derivatives
from ascend_attention._torch_lazy import withdraw_namespace

NAMESPACE = "ascend_attention"

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


def _symbolic_dense(name: str, arguments: dict[str, Any], heads_argument: str) -> tuple[list[Any], list[Any]]:
    """Shapes of attention_out and softmax_lse where some sizes are symbols; the kernel checks their values later."""
    query, value = arguments["query"], arguments["value"]
    layout = arguments["input_layout"]
    heads = arguments[heads_argument]
    key_heads = arguments["num_key_value_heads"] or heads
    rank = {"BSH": 3, "BSND": 4, "BNSD": 4, "BNSD_BSND": 4}.get(layout)
    if rank is None:
        refuse(name, "input_layout", f"'{layout}' with symbolic shapes", "BSH, BSND, BNSD, BNSD_BSND")
    for tensor in ("query", "value"):
        if arguments[tensor].dim() != rank:
            given = f"{arguments[tensor].dim()} dimensions"
            refuse(name, tensor, given, f"{rank} dimensions for input_layout {layout}")
    for argument, count in ((heads_argument, heads), ("num_key_value_heads", key_heads)):
        if count < 1:
            refuse(name, argument, str(count), "at least 1")
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
    return shape, [batch, heads, rows, 1] if arguments.get("return_softmax_lse") else [1]


def _symbolic_fia_v2(arguments: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    return _symbolic_dense(fia_v2.NAME, arguments, "num_query_heads")


def _symbolic_pfa(arguments: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    return _symbolic_dense(pfa.NAME, arguments, "num_heads")


def _symbolic_bsa_v2(arguments: dict[str, Any]) -> tuple[list[Any], list[Any]]:
    shape = list(arguments["query"].shape)
    return shape, [*shape[:-1], 1] if arguments["softmax_lse_flag"] == 1 else [0]


@contextmanager
def _refusing_as_torch() -> Iterator[None]:
    """Torch operators raise RuntimeError; the package function finds the original as its cause."""
    try:
        yield
    except AttentionError as error:
        raise RuntimeError(str(error)) from error


def _register(signature: Signature, symbolic_shapes: Callable[[dict[str, Any]], tuple[list[Any], list[Any]]]) -> None:
    """The fake kernels of an operator and of its variants, and the refusal of derivatives."""
    name = signature.name
    results = ("attention_out", "softmax_lse") if signature.has_lse else ("attention_out",)
    # The schema's defaults: torch leaves out what the caller did not give.
    schema = getattr(torch.ops.ascend_attention, name).default._schema
    defaults = {argument.name: argument.default_value for argument in schema.arguments if argument.kwarg_only}

    def named(positional: Iterable[torch.Tensor], keywords: dict[str, Any]) -> dict[str, Any]:
        arguments = {**dict(zip(("query", "key", "value"), positional, strict=False)), **defaults, **keywords}
        # Torch runs these functions for real tensors too, as soon as one of the arguments lies on the meta device.
        require_one_device(name, {n: value for n, value in arguments.items() if isinstance(value, torch.Tensor)})
        return arguments

    def fake(*positional: torch.Tensor, **keywords: Any) -> Any:
        with _refusing_as_torch():
            arguments = named(positional, keywords)
            symbolic = _is_symbolic(arguments)
            described = _hints(arguments) if symbolic else _described(arguments)
            if described is not None:
                outputs = _core.AttentionCall(name, described).outputs()
            if symbolic:
                out_shape, lse_shape = symbolic_shapes(arguments)
                out_dtype, lse_dtype = (outputs[1], outputs[3]) if described else (None, "float32")
            else:
                out_shape, out_dtype, lse_shape, lse_dtype = outputs
        query = arguments["query"]
        out = query.new_empty(out_shape, dtype=getattr(torch, out_dtype) if out_dtype else query.dtype)
        return (out, query.new_empty(lse_shape, dtype=getattr(torch, lse_dtype))) if signature.has_lse else out

    def fake_out(*positional: torch.Tensor, **keywords: Any) -> None:
        with _refusing_as_torch():
            everything = named(positional, keywords)
            given = _hints(everything) if _is_symbolic(everything) else _described(everything)
            if given is None:
                return
            buffers = {buffer: given.pop(buffer, None) for buffer in (*results, "workspace")}
            call = _core.AttentionCall(name, given)
            for result in results:
                if buffers[result] is None:
                    refuse(name, result, "None", "a tensor", MISSING_TENSOR)
            buffers.setdefault("softmax_lse", (0, "float32", (0,), True))
            call.accepts_buffers(**buffers)

    def fake_max_workspace(*positional: torch.Tensor, **keywords: Any) -> torch.Tensor:
        with _refusing_as_torch():
            arguments = named(positional, keywords)
            symbolic = _is_symbolic(arguments)
            described = _hints(arguments) if symbolic else _described(arguments)
            size: Any = None
            if described is not None:
                size = _core.AttentionCall(name, described).max_workspace_bytes()
        if symbolic:
            size = torch.library.get_ctx().new_dynamic_size()
        query: torch.Tensor = arguments["query"]
        return query.new_empty((size,), dtype=torch.uint8)

    for overload in ("", ".ints"):
        torch.library.register_fake(f"{NAMESPACE}::{name}{overload}")(fake)
        torch.library.register_fake(f"{NAMESPACE}::{name}_get_max_workspace{overload}")(fake_max_workspace)
    for overload in (".out", ".out_ints"):
        torch.library.register_fake(f"{NAMESPACE}::{name}{overload}")(fake_out)
    refuse_derivatives(NAMESPACE, name)


_register(fia_v2.SIGNATURE, _symbolic_fia_v2)
_register(pfa.SIGNATURE, _symbolic_pfa)
_register(bsa_v2.SIGNATURE, _symbolic_bsa_v2)
