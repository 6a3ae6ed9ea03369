# SPDX-License-Identifier: Apache-2.0
"""Arguments as callers give them, as the compiled parts want them. A wrong Python type is a TypeError that names it."""

from __future__ import annotations

import functools
import operator
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from ascend_attention import _core
from ascend_attention._errors import INVALID_PARAMETER

# (address, dtype name, shape, contiguous)
Descriptor = tuple[int, str, tuple[int, ...], bool]

_INT64_MAX = 2**63 - 1


def shown(value: object) -> str:
    """The value on one short line."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # an integer with more digits than Python is willing to print
        text = "a value too long to show"
    return text if len(text) <= 60 else text[:57] + "..."


def refuse_type(function: str, argument: str, value: object, allowed: str) -> NoReturn:
    raise TypeError(f"{function}: {argument}: given {shown(value)} ({type(value).__name__}); allowed: {allowed}")


def refuse(
    function: str, argument: str, given: str, allowed: str, *, rule: str, code: int = INVALID_PARAMETER
) -> NoReturn:
    """``rule``: an operator's, or a word of this package: docs/checks.md lists them."""
    _core.refuse(code, function, argument, rule, given, allowed)
    raise AssertionError("_core.refuse returned")


def as_int(function: str, argument: str, value: Any) -> int:
    if type(value) is int and -_INT64_MAX - 1 <= value <= _INT64_MAX:  # nearly always: the rest takes its time
        return value
    truth = isinstance(value, (bool, np.bool_)) or str(getattr(value, "dtype", "")) in ("bool", "torch.bool")
    if truth or not hasattr(type(value), "__index__"):
        refuse_type(function, argument, value, "an int")
    try:
        number = operator.index(value)
    except (TypeError, RuntimeError):  # an array, or a tensor whose value cannot be read
        refuse_type(function, argument, value, "an int")
    if not -_INT64_MAX - 1 <= number <= _INT64_MAX:
        bits = number.bit_length()  # Python does not print integers of any length
        given = str(number) if bits < 256 else f"an integer of {bits} bits"
        refuse(function, argument, given, "an integer of 64 bits", rule="INTEGER")
    return number


def as_optional_int(function: str, argument: str, value: Any) -> int | None:
    return None if value is None else as_int(function, argument, value)


def as_float(function: str, argument: str, value: Any) -> float:
    if type(value) is float:
        return value
    if isinstance(value, (bool, np.bool_, str, bytes)):
        refuse_type(function, argument, value, "a float")
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        refuse_type(function, argument, value, "a float")


def as_bool(function: str, argument: str, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        refuse_type(function, argument, value, "a bool")
    return bool(value)


def as_text(function: str, argument: str, value: Any) -> str:
    if not isinstance(value, str):
        refuse_type(function, argument, value, "a str")
    if type(value) is str and value.isascii():
        return value
    # Lone surrogates have no UTF-8: escaped, they are a text like any other that means nothing.
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


def as_lengths(function: str, argument: str, value: Any) -> list[int] | None:
    """A list or tuple of ints, or a one-dimensional integer array or torch tensor, strided slices included."""
    return None if value is None else memoryview(_packed_lengths(function, argument, value)).cast("q").tolist()


def as_length_tensor(torch: Any, function: str, argument: str, value: Any) -> Any:
    """The same as a tensor that the torch operators take: the tensor that was given, if it is such a one."""
    if is_plain(torch, value) and value.dtype in _length_types(torch):
        return value
    packed = _packed_lengths(function, argument, value)
    return torch.frombuffer(packed, dtype=torch.int64) if packed else torch.empty(0, dtype=torch.int64, device="cpu")


def _packed_lengths(function: str, argument: str, value: Any) -> bytearray:
    """The same as 64-bit integers in one piece of memory; not for None."""
    allowed = "a list, tuple, torch.Tensor or numpy.ndarray of ints, or None"
    packed = _core.pack_integers(value)
    if packed is not None:
        return packed
    if (
        hasattr(value, "tolist") and hasattr(value, "ndim") and not isinstance(value, memoryview)
    ):  # NumPy array or torch tensor
        if value.ndim != 1:
            given = f"shape {tuple(value.shape)}"
            refuse(function, argument, given, "one dimension, one length per sequence", rule="LENGTHS")
        if isinstance(value, np.ndarray) and value.dtype.kind in "mM":  # NumPy lists some of these as ints
            refuse_type(function, argument, value, allowed)
        try:
            value = value.tolist()
        except RuntimeError:  # torch: NotImplementedError is one
            given = f"a tensor on {value.device}, {_kind_of_tensor(value)}"
            refuse(function, argument, given, "a dense tensor whose values can be read", rule="LENGTHS")
    elif not isinstance(value, Sequence) or isinstance(value, (str, bytes, bytearray, memoryview)):
        refuse_type(function, argument, value, allowed)
    numbers = [as_int(function, f"{argument}[{position}]", length) for position, length in enumerate(value)]
    return bytearray(array("q", numbers).tobytes())


@functools.cache
def _length_types(torch: Any) -> frozenset[Any]:
    """csrc/torch/arguments.cpp reads these."""
    return frozenset((torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8))


def is_plain(torch: Any, tensor: Any) -> bool:
    """Whether it is a dense tensor on the CPU and nothing more than that, as nearly every one is."""
    return (
        (type(tensor) is torch.Tensor or type(tensor) is torch.nn.Parameter)
        and tensor.is_cpu
        and tensor.layout is torch.strided
        and not tensor.is_nested
        and not tensor.is_quantized
    )


def _kind_of_tensor(tensor: Any) -> str:
    """ "dense", or the word for what a tensor is instead: nothing that an operator here could read."""
    if tensor.is_nested:
        return "nested"
    if tensor.is_quantized:
        return "quantized"
    layout = str(tensor.layout)
    return "dense" if layout == "torch.strided" else f"of layout {layout}"


def require_dense(function: str, tensors: Mapping[str, Any]) -> None:
    for name, tensor in tensors.items():
        kind = _kind_of_tensor(tensor)
        if kind != "dense":
            given = f"a tensor {kind}" if kind.startswith("of") else f"a {kind} tensor"
            refuse(function, name, given, "a dense tensor", rule="TENSOR")


def require_one_device(function: str, tensors: Mapping[str, Any]) -> None:
    """The first tensor says which device."""
    first = next(iter(tensors), None)
    for name, tensor in tensors.items():
        if tensor.device != tensors[first].device:  # type: ignore[index]
            allowed = f"a tensor on {tensors[first].device}, as {first} is"  # type: ignore[index]
            refuse(function, name, f"a tensor on {tensor.device}", allowed, rule="TENSOR")


def numpy_descriptor(array: np.ndarray) -> Descriptor:
    # Bytes in the other order are another type to us; its name ("float16") would not say so.
    name = array.dtype.name if array.dtype.isnative else f"{array.dtype.name} in the other byte order"
    return array.__array_interface__["data"][0], name, array.shape, array.flags.c_contiguous


def torch_descriptor(tensor: Any, address: int | None = None) -> Descriptor:
    if address is None:
        address = tensor.data_ptr()
    return address, str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), tensor.is_contiguous()
