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

_REQUIRED = ("query", "key", "value")


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
        return _run_traced(signature, torch, arguments)
    if _any_torch(signature, torch, arguments):
        return _run_torch(signature, torch, arguments)
    return _run_numpy(signature, normalised(signature, arguments))


def normalised(signature: Signature, arguments: dict[str, Any]) -> dict[str, Any]:
    """Numbers, texts and lengths as plain Python values. Arguments that a function does not have stay absent."""
    result = _numbers_normalised(signature, arguments)
    for name in signature.lengths:
        if name in result:
            result[name] = _arguments.as_lengths(signature.name, name, result[name])
    return result


def _numbers_normalised(signature: Signature, arguments: dict[str, Any]) -> dict[str, Any]:
    result = dict(arguments)
    for names, convert in (
        (signature.ints, _arguments.as_int),
        (signature.optional_ints, _arguments.as_optional_int),
        (signature.floats, _arguments.as_float),
        (signature.texts, _arguments.as_text),
        (signature.bools, _arguments.as_bool),
    ):
        for name in names:
            if name in result:
                result[name] = convert(signature.name, name, result[name])
    return result


def _said(signature: Signature, torch: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """What differs from the defaults, numbers and texts as plain Python values: torch takes its time for the others."""
    numbers = _numbers(signature, torch)
    said = {name: value for name, value in arguments.items() if value is not None or name in numbers}
    for name, default in numbers.items():
        if default is not None and said[name] == default and type(said[name]) is type(default):
            del said[name]
    return _numbers_normalised(signature, said)


@functools.cache
def _numbers(signature: Signature, torch: Any) -> dict[str, Any]:
    """The numbers and texts that an operator always has, and their defaults; None where the caller has to say one."""
    names = {*signature.ints, *signature.floats, *signature.texts, *signature.bools}
    arguments = getattr(torch.ops.ascend_attention, signature.name).default._schema.arguments
    return {a.name: a.default_value for a in arguments if a.name in names}


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


def entries(tensors: dict[str, Any]) -> dict[str, Any]:
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
    return any(isinstance(tensor, torch.Tensor) for tensor in entries(_given(signature, arguments)).values())


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
    for name, tensor in entries(tensors).items():
        if not isinstance(tensor, kind):
            _arguments.refuse_type(signature.name, name, tensor, allowed)
    return tensors


def _torch_tensors(signature: Signature, torch: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    tensors = _given_tensors(signature, arguments, torch.Tensor, "a torch.Tensor, as the other tensors are")
    named = entries(tensors)
    for name, tensor in named.items():
        if tensor.device.type not in ("cpu", "meta"):
            _arguments.refuse(
                signature.name, name, f"a tensor on {tensor.device}",
                "tensors on cpu (simulated run); kernels for other devices are not built yet",
                rule="NOT-YET", code=NOT_SUPPORTED,
            )  # fmt: skip
    _arguments.require_one_device(signature.name, named)
    _arguments.require_dense(signature.name, named)
    return tensors


def _numpy_arrays(signature: Signature, arguments: dict[str, Any]) -> dict[str, Any]:
    arrays = _given_tensors(signature, arguments, np.ndarray, "a numpy.ndarray or torch.Tensor, all of one kind")
    for name, array in entries(arrays).items():
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
    operator = getattr(torch.ops.ascend_attention, signature.name)
    given = _said(signature, torch, arguments)
    tensors = _given(signature, given)
    plain = all(_arguments.is_plain(torch, tensor) for tensor in tensors.values())
    if plain and all(name in tensors for name in _REQUIRED):
        for name in signature.lengths:
            if name in given:
                given[name] = _arguments.as_length_tensor(torch, signature.name, name, given[name])
        overload = operator.tensor_lengths
    else:
        tensors = _torch_tensors(signature, torch, given)
        for name in signature.lengths:
            if name in given:
                given[name] = _arguments.as_lengths(signature.name, name, given[name])
        listed = [name for name, tensor in tensors.items() if isinstance(tensor, list)]
        if not all(name in tensors for name in _REQUIRED) or listed not in ([], ["key", "value"]):
            # The schemas cannot express this call; the check that follows always refuses it.
            _core.infer_outputs(signature.name, _described(signature, given, _shape_descriptors(tensors)))
        overload = operator.lists if listed else operator.default
    _core.forget_failure()
    try:
        if derivative.kernels_pass_by() or derivative.can_be_asked_for(entries(tensors).values()):
            return overload(**given)
        with derivative.below_autograd():
            return overload(**given)
    except RuntimeError as error:
        if isinstance(error.__cause__, AttentionError):  # from the fake kernel
            raise error.__cause__ from None
        failure = _failure_of_kernel()
        if failure is None:
            raise
        raise failure from None


def _run_traced(signature: Signature, torch: Any, arguments: dict[str, Any]) -> Any:
    """Only the operator can be in a graph. Types and values are checked by its schema, its fake and its kernel."""
    operator = getattr(torch.ops.ascend_attention, signature.name)
    lengths = [arguments[name] for name in signature.lengths]
    if any(isinstance(arguments[name], (list, tuple)) for name in signature.lists):
        overload = operator.lists
    elif any(isinstance(value, torch.Tensor) for value in lengths):
        overload = operator.tensor_lengths
    else:
        overload = operator.default
    for name, value in zip(signature.lengths, lengths, strict=True):
        if overload is operator.tensor_lengths:
            if value is not None and not isinstance(value, torch.Tensor):
                arguments[name] = torch.tensor(value, dtype=torch.int64)
        elif hasattr(value, "tolist"):
            # The graph has to know these: reading them ends it, or fails in fullgraph.
            arguments[name] = value.tolist()
    return overload(**arguments)


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
