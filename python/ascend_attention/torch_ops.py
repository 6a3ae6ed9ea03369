# SPDX-License-Identifier: Apache-2.0
"""Importing this module registers ``torch.ops.ascend_attention``: schemas, CPU kernels and fake kernels.

    npu_fused_infer_attention_score_v2(query, key, value, *, ...) -> (attention_out, softmax_lse)
    npu_prompt_flash_attention(query, key, value, *, ...) -> attention_out
    block_sparse_attention_v2(query, key, value, *, ...) -> (attention_out, softmax_lse)

and of each

    NAME.out(..., workspace=None, attention_out, softmax_lse) -> ()     without softmax_lse where there is none
    NAME_get_max_workspace(...) -> Tensor

Each has overloads, which differ in the types of some arguments:

    NAME                   lengths as a list of integers, which may be symbols of a compiled graph
    NAME.tensor_lengths    lengths as tensors of integers on the CPU, read without a copy: much faster than a list of
                           hundreds, and a compiled graph serves all values
    NAME.lists             key and value as lists with one tensor for each sequence (the first operator only)

Their out-variants are ``.out``, ``.out_tensor_lengths`` and ``.out_lists``; the workspace helper's overloads have the
names above. A call that names none is given the first that fits.

The operators raise RuntimeError with the text of the package's AttentionError or SimulatorError. They have no
derivative and say so with a RuntimeError when one is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from ascend_attention import _arguments, _core
from ascend_attention import _block_sparse_attention_v2 as bsa_v2
from ascend_attention import _fused_infer_attention_score_v2 as fia_v2
from ascend_attention import _prompt_flash_attention as pfa
from ascend_attention import _settings as _settings  # the operators ask it how to run
from ascend_attention._arguments import refuse
from ascend_attention._call import Signature, entries
from ascend_attention._errors import AttentionError
from ascend_attention._torch_derivative import refuse_derivatives
from ascend_attention._torch_lazy import withdraw_namespace
from ascend_attention._torch_shapes import traced_results

NAMESPACE = "ascend_attention"

_LIBRARY = Path(__file__).with_name("_torch_ops.so")
if not _LIBRARY.exists():
    raise ImportError(
        "ascend_attention was built without its torch operators: torch 2.10 or later was not found then. "
        "Install torch, then build again (pip install --force-reinstall --no-deps of this project)."
    )
torch.ops.load_library(str(_LIBRARY))
withdraw_namespace(torch)
# csrc/torch/overloads.h: of an operator and its workspace helper, and of the out-variant.
_OVERLOADS = (("", "out"), ("tensor_lengths", "out_tensor_lengths"), ("lists", "out_lists"))


def _tensors(value: Any) -> list[torch.Tensor]:
    """A tensor argument's tensors; none of another argument."""
    return [tensor for tensor in (value if isinstance(value, list) else [value]) if isinstance(tensor, torch.Tensor)]


def _is_symbolic(arguments: dict[str, Any]) -> bool:
    numbers: list[Any] = []
    for value in arguments.values():
        for tensor in _tensors(value):
            numbers += tensor.shape
        if isinstance(value, list):
            numbers += value
    return any(isinstance(number, torch.SymInt) for number in numbers)


def _hint(number: Any) -> Any:
    """The value that a symbolic size has in the call being traced, without making the graph depend on it."""
    return number.node.hint if isinstance(number, torch.SymInt) else number


def _hinted(value: Any) -> Any:
    """An argument with every symbolic size replaced by its hint: tensors as descriptors."""
    if isinstance(value, list):
        return [_hinted(entry) for entry in value]
    if not isinstance(value, torch.Tensor):
        return _hint(value)
    shape, expected, contiguous = [_hint(size) for size in value.shape], 1, True
    if None not in shape and 0 not in shape:
        for size, stride in zip(reversed(shape), map(_hint, reversed(value.stride())), strict=True):
            contiguous &= size == 1 or stride == expected
            expected *= size
    return 0, str(value.dtype).removeprefix("torch."), tuple(shape), contiguous


def _has_unknown(described: Any) -> bool:
    if isinstance(described, (list, tuple)):
        return any(map(_has_unknown, described))
    return described is None


def _described(arguments: dict[str, Any]) -> dict[str, Any] | None:
    """The arguments for the compiled module; None where a size or the lengths have no value yet."""
    described = {name: _hinted(value) for name, value in arguments.items() if value is not None}
    return None if _has_unknown(list(described.values())) else described


# Lengths in a tensor whose values are not known while a graph is made: a list of one size without a value.
_UNKNOWN = [None]


def _lengths(function: str, argument: str, tensor: torch.Tensor, device: torch.device) -> Any:
    if tensor.device.type != "cpu" and tensor.device != device:
        refuse(
            function,
            argument,
            f"a tensor on {tensor.device}",
            "a tensor on cpu: the host reads lengths",
            rule="LENGTHS",
        )
    readable = type(tensor) is torch.Tensor and tensor.device.type == "cpu"
    return _arguments.as_lengths(function, argument, tensor) if readable else _UNKNOWN


@contextmanager
def _refusing_as_torch() -> Iterator[None]:
    """Torch operators raise RuntimeError; the package function finds the original as its cause."""
    try:
        yield
    except AttentionError as error:
        raise RuntimeError(str(error)) from error


def _register(signature: Signature) -> None:
    """The fake kernels of an operator and of its variants, and the refusal of derivatives."""
    name = signature.name
    results = ("attention_out", "softmax_lse") if signature.has_lse else ("attention_out",)
    packet = getattr(torch.ops.ascend_attention, name)
    # The schema's defaults: torch leaves out what the caller did not give.
    defaults = {a.name: a.default_value for a in packet.default._schema.arguments if a.kwarg_only}

    def named(positional: Iterable[Any], keywords: dict[str, Any]) -> dict[str, Any]:
        arguments = {**dict(zip(("query", "key", "value"), positional, strict=False)), **defaults, **keywords}
        arguments = {n: list(value) if isinstance(value, tuple) else value for n, value in arguments.items()}
        # Torch runs these functions for real tensors too, as soon as one of the arguments lies on the meta device.
        tensors = {n: value for n, value in arguments.items() if n not in signature.lengths and _tensors(value)}
        _arguments.require_one_device(name, entries(tensors))
        for n in signature.lengths:
            if isinstance(arguments[n], torch.Tensor):
                arguments[n] = _lengths(name, n, arguments[n], next(iter(tensors.values())).device)
        return arguments

    def fake(*positional: Any, **keywords: Any) -> Any:
        with _refusing_as_torch():
            arguments = named(positional, keywords)
            described = _described(arguments)
            if described is not None:
                outputs = _core.AttentionCall(name, described).outputs()
            if described is None or _is_symbolic(arguments):
                out_shape, out_dtype, lse_shape = traced_results(name, arguments)
            else:
                out_shape, out_dtype, lse_shape = outputs[0], getattr(torch, outputs[1]), outputs[2]
        query = arguments["query"]
        out = query.new_empty(out_shape, dtype=out_dtype)
        return (out, query.new_empty(lse_shape, dtype=torch.float32)) if signature.has_lse else out

    def fake_out(*positional: Any, **keywords: Any) -> None:
        with _refusing_as_torch():
            given = _described(named(positional, keywords))
            if given is None:
                return
            buffers = {buffer: given.pop(buffer, None) for buffer in (*results, "workspace")}
            call = _core.AttentionCall(name, given)
            for result in results:
                if buffers[result] is None:
                    call.refuse_missing_result(result)
            buffers.setdefault("softmax_lse", (0, "float32", (0,), True))
            call.accepts_buffers(**buffers)

    def fake_max_workspace(*positional: Any, **keywords: Any) -> torch.Tensor:
        with _refusing_as_torch():
            arguments = named(positional, keywords)
            described = _described(arguments)
            size: Any = None
            if described is not None:
                size = _core.AttentionCall(name, described).max_workspace_bytes()
        if described is None or _is_symbolic(arguments):
            size = torch.library.get_ctx().new_dynamic_size()
        query: torch.Tensor = arguments["query"]
        return query.new_empty((size,), dtype=torch.uint8)

    overloads = [pair for pair in _OVERLOADS if not pair[0] or hasattr(packet, pair[0])]
    for overload, out in overloads:
        suffix = f".{overload}" if overload else ""
        torch.library.register_fake(f"{NAMESPACE}::{name}{suffix}")(fake)
        torch.library.register_fake(f"{NAMESPACE}::{name}_get_max_workspace{suffix}")(fake_max_workspace)
        torch.library.register_fake(f"{NAMESPACE}::{name}.{out}")(fake_out)
    refuse_derivatives(NAMESPACE, name, overloads)


_register(fia_v2.SIGNATURE)
_register(pfa.SIGNATURE)
_register(bsa_v2.SIGNATURE)
