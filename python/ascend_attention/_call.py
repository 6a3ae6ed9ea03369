# SPDX-License-Identifier: Apache-2.0
"""A call of an operator on torch tensors or NumPy arrays, the same for all of them."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ascend_attention import _arguments, _core
from ascend_attention import _settings as _settings  # calls ask it how to run
from ascend_attention._errors import NOT_SUPPORTED, AttentionError


@dataclass(frozen=True)
class Signature:
    """An operator's arguments by the kind of value they take."""

    name: str
    tensors: tuple[str, ...]
    lengths: tuple[str, ...]
    ints: tuple[str, ...]
    floats: tuple[str, ...]
    texts: tuple[str, ...]
    bools: tuple[str, ...] = ()
    optional_ints: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()  # those of the tensors that may be lists with one tensor for each sequence
    has_lse: bool = True  # results: attention_out and softmax_lse, or attention_out alone


def run(signature: Signature, arguments: dict[str, Any]) -> Any:
    """The results, as tensors or arrays, whichever was given."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return _run_numpy(signature, normalised(signature, arguments))
    if torch.compiler.is_compiling():
        # Only the operator can be in a graph. Types and values are checked by its schema, its fake and its kernel.
        # Lengths in a tensor are not known while a graph is made: reading them ends the graph, or fails in fullgraph.
        for name in signature.lengths:
            if hasattr(arguments[name], "tolist"):
                arguments[name] = arguments[name].tolist()
        return getattr(torch.ops.ascend_attention, signature.name).default(**arguments)
    if _any_torch(signature, torch, arguments):
        return _run_torch(signature, torch, normalised(signature, arguments))
    return _run_numpy(signature, normalised(signature, arguments))


def normalised(signature: Signature, arguments: dict[str, Any]) -> dict[str, Any]:
    """Numbers, texts and lengths as plain Python values. Arguments that a function does not have stay absent."""
    result = dict(arguments)
    for names, convert in (
        (signature.ints, _arguments.as_int),
        (signature.optional_ints, _arguments.as_optional_int),
        (signature.lengths, _arguments.as_lengths),
        (signature.floats, _arguments.as_float),
        (signature.texts, _arguments.as_text),
        (signature.bools, _arguments.as_bool),
    ):
        for name in names:
            if name not in result:
                continue
            result[name] = convert(signature.name, name, result[name])
    return result


def shapes_described(signature: Signature, arguments: dict[str, Any]) -> dict[str, Any]:
    """A call's arguments for the compiled module's checks: tensors of either kind by dtype and shape alone."""
    arguments = normalised(signature, arguments)
    torch: Any = sys.modules.get("torch")
    if torch is not None and _any_torch(signature, torch, arguments):
        return _described(signature, arguments, _shape_descriptors(_torch_tensors(signature, torch, arguments)))
    arrays = _numpy_arrays(signature, arguments)

    def shape(array: np.ndarray) -> _arguments.Descriptor:
        return (0, *_arguments.numpy_descriptor(array)[1:])

    return _described(signature, arguments, _each(arrays, shape))


def _each(tensors: dict[str, Any], convert: Callable[[Any], Any]) -> dict[str, Any]:
    """The conversion of each tensor; of each entry where a list was given."""
    return {
        name: [convert(entry) for entry in tensor] if isinstance(tensor, list) else convert(tensor)
        for name, tensor in tensors.items()
    }


def _entries(tensors: dict[str, Any]) -> dict[str, Any]:
    """The tensors by name, entries of lists as "key[0]"."""
    result: dict[str, Any] = {}
    for name, tensor in tensors.items():
        if isinstance(tensor, list):
            result.update({f"{name}[{position}]": entry for position, entry in enumerate(tensor)})
        else:
            result[name] = tensor
    return result


def _any_torch(signature: Signature, torch: Any, arguments: dict[str, Any]) -> bool:
    if any(isinstance(arguments.get(name), torch.Tensor) for name in signature.tensors):
        return True
    return any(isinstance(tensor, torch.Tensor) for tensor in _entries(_given(signature, arguments)).values())


def _shape_descriptors(tensors: dict[str, Any]) -> dict[str, Any]:
    return _each(tensors, lambda tensor: _arguments.torch_descriptor(tensor, address=0))


def _described(signature: Signature, arguments: dict[str, Any], descriptors: dict[str, Any]) -> dict[str, Any]:
    """What the compiled module takes: tensors as descriptors, absent arguments left out."""
    others = {n: value for n, value in arguments.items() if n not in signature.tensors and value is not None}
    return {**others, **descriptors}


def _given(signature: Signature, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments for tensors that are not None; tuples that stand for lists of tensors as lists."""
    given = {name: arguments[name] for name in signature.tensors if arguments.get(name) is not None}
    for name in signature.lists:
        if isinstance(given.get(name), tuple):
            given[name] = list(given[name])
    return given


def _given_tensors(signature: Signature, arguments: dict[str, Any], kind: type, allowed: str) -> dict[str, Any]:
    tensors = _given(signature, arguments)
    for name, tensor in tensors.items():
        if isinstance(tensor, list) and name not in signature.lists:
            _arguments.refuse_type(signature.name, name, tensor, allowed)
    for name, tensor in _entries(tensors).items():
        if not isinstance(tensor, kind):
            _arguments.refuse_type(signature.name, name, tensor, allowed)
    return tensors


def _torch_tensors(signature: Signature, torch: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    tensors = _given_tensors(signature, arguments, torch.Tensor, "a torch.Tensor, as the other tensors are")
    entries = _entries(tensors)
    for name, tensor in entries.items():
        if tensor.device.type not in ("cpu", "meta"):
            _arguments.refuse(
                signature.name, name, f"a tensor on {tensor.device}",
                "tensors on cpu (simulated run); kernels for other devices are not built yet", NOT_SUPPORTED,
            )  # fmt: skip
    _arguments.require_one_device(signature.name, entries)
    _arguments.require_dense(signature.name, entries)
    return tensors


def _numpy_arrays(signature: Signature, arguments: dict[str, Any]) -> dict[str, Any]:
    arrays = _given_tensors(signature, arguments, np.ndarray, "a numpy.ndarray or torch.Tensor, all of one kind")
    for name, array in _entries(arrays).items():
        if isinstance(array, np.ma.MaskedArray):
            _arguments.refuse_type(signature.name, name, array, "a plain numpy.ndarray (hide keys with atten_mask)")
    return arrays


@functools.cache
def _torch_derivative() -> Any:
    """The module that knows about derivatives, which imports torch, with the operators registered."""
    importlib.import_module("ascend_attention.torch_ops")
    return importlib.import_module("ascend_attention._torch_derivative")


def _run_torch(signature: Signature, torch: Any, arguments: dict[str, Any]) -> Any:
    derivative = _torch_derivative()
    tensors = _torch_tensors(signature, torch, arguments)
    if not all(name in tensors for name in ("query", "key", "value")):
        # The schema cannot express this call; the check that follows always refuses it.
        _core.infer_outputs(signature.name, _described(signature, arguments, _shape_descriptors(tensors)))
    if any(isinstance(tensor, list) for tensor in tensors.values()):
        return _run_torch_lists(signature, torch, arguments, tensors)
    _core.forget_failure()
    try:
        operator = getattr(torch.ops.ascend_attention, signature.name).ints  # lengths are plain by now
        if derivative.can_be_asked_for(tensors.values()):
            return operator(**arguments)
        with derivative.below_autograd():
            return operator(**arguments)
    except RuntimeError as error:
        if isinstance(error.__cause__, AttentionError):  # from the fake kernel
            raise error.__cause__ from None
        failure = _failure_of_kernel()
        if failure is None:
            raise
        raise failure from None


def _run_torch_lists(signature: Signature, torch: Any, arguments: dict[str, Any], tensors: dict[str, Any]) -> Any:
    """The schema has no lists of tensors: the same call without torch's dispatcher."""
    query = tensors["query"]
    call = _core.AttentionCall(
        signature.name, _described(signature, arguments, _shape_descriptors(tensors)), torch.get_num_threads()
    )
    out_shape, out_dtype, lse_shape, lse_dtype = call.outputs()
    attention_out = query.new_empty(out_shape, dtype=getattr(torch, out_dtype))
    softmax_lse = query.new_empty(lse_shape, dtype=getattr(torch, lse_dtype))
    if query.device.type != "meta":
        call.run(attention_out.data_ptr(), softmax_lse.data_ptr())
    return attention_out, softmax_lse


def _failure_of_kernel() -> Exception | None:
    """What the kernel threw before torch made a RuntimeError of it."""
    try:
        _core.rethrow_failure()
    except Exception as failure:
        return failure
    return None


def _run_numpy(signature: Signature, arguments: dict[str, Any]) -> Any:
    arrays = _numpy_arrays(signature, arguments)
    described = _each(arrays, _arguments.numpy_descriptor)
    call = _core.AttentionCall(signature.name, _described(signature, arguments, described))
    out_shape, out_dtype, lse_shape, lse_dtype = call.outputs()
    query = arrays["query"].dtype
    attention_out = np.empty(out_shape, query if query.name == out_dtype else np.dtype(out_dtype))
    if not signature.has_lse:
        call.run(_arguments.numpy_descriptor(attention_out)[0], 0)
        return attention_out
    softmax_lse = np.empty(lse_shape, np.dtype(lse_dtype))
    call.run(_arguments.numpy_descriptor(attention_out)[0], _arguments.numpy_descriptor(softmax_lse)[0])
    return attention_out, softmax_lse
