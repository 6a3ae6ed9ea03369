# SPDX-License-Identifier: Apache-2.0
"""Arguments as callers give them, as the compiled parts want them. A wrong Python type is a TypeError that names it."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from ascend_attention import _core
from ascend_attention._errors import INVALID_PARAMETER

# (address, dtype name, shape, contiguous)
Descriptor = tuple[int, str, tuple[int, ...], bool]

_INT64_MAX = 2**63 - 1


def refuse_type(function: str, argument: str, value: object, allowed: str) -> NoReturn:
    shown = " ".join(repr(value).split())
    if len(shown) > 60:
        shown = shown[:57] + "..."
    raise TypeError(f"{function}: {argument}: given {shown} ({type(value).__name__}); allowed: {allowed}")


def refuse(function: str, argument: str, given: str, allowed: str, code: int = INVALID_PARAMETER) -> NoReturn:
    _core.refuse(code, function, argument, given, allowed)
    raise AssertionError("_core.refuse returned")


def as_int(function: str, argument: str, value: Any) -> int:
    if isinstance(value, (bool, np.bool_)) or not hasattr(type(value), "__index__"):
        refuse_type(function, argument, value, "an int")
    try:
        number = operator.index(value)
    except TypeError:
        refuse_type(function, argument, value, "an int")
    if not -_INT64_MAX - 1 <= number <= _INT64_MAX:
        refuse(function, argument, str(number), "an integer of 64 bits")
    return number


def as_optional_int(function: str, argument: str, value: Any) -> int | None:
    return None if value is None else as_int(function, argument, value)


def as_float(function: str, argument: str, value: Any) -> float:
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
    return value


def as_lengths(function: str, argument: str, value: Any) -> list[int] | None:
    """A list or tuple of ints, or a one-dimensional integer array or torch tensor, strided slices included."""
    if value is None:
        return None
    if hasattr(value, "tolist") and hasattr(value, "ndim"):  # NumPy array or torch tensor
        if value.ndim != 1:
            refuse(function, argument, f"shape {tuple(value.shape)}", "one dimension, one length per sequence")
        value = value.tolist()
    elif not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        refuse_type(function, argument, value, "a list, tuple, torch.Tensor or numpy.ndarray of ints, or None")
    return [as_int(function, f"{argument}[{position}]", length) for position, length in enumerate(value)]


def numpy_descriptor(array: np.ndarray) -> Descriptor:
    # Bytes in the other order are another type to us; its name ("float16") would not say so.
    name = array.dtype.name if array.dtype.isnative else array.dtype.str
    return array.__array_interface__["data"][0], name, array.shape, array.flags.c_contiguous


def torch_descriptor(tensor: Any, address: int | None = None) -> Descriptor:
    if address is None:
        address = tensor.data_ptr()
    return address, str(tensor.dtype).removeprefix("torch."), tuple(tensor.shape), tensor.is_contiguous()
