# SPDX-License-Identifier: Apache-2.0
"""The 16-bit dtypes. float32 holds all their values, so that is what the model works on.

NumPy has no bfloat16. Arrays of ml_dtypes.bfloat16 are recognised by their dtype's name, without importing that
package; uint16 arrays are taken as bfloat16 bit patterns.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ascend_attention.golden.errors import GoldenError

Array = np.ndarray[Any, Any]

_RECIPE = '; of a torch tensor: tensor.numpy(), of bfloat16 tensor.view(torch.int16).numpy().view("uint16")'


def bfloat16_to_float(bits: Array) -> Array:
    """bfloat16 bit patterns (uint16) as float32. Exact: a bfloat16 is the upper half of a float32."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def bfloat16_from_float(values: Array) -> Array:
    """float32 to bfloat16 bit patterns (uint16), to nearest, ties to even. NaN stays NaN, overflow gives infinity."""
    single = np.ascontiguousarray(values, np.float32)
    bits = single.view(np.uint32)
    # Half a unit less one, plus the lowest kept bit: carries exactly when the nearest value (or the even one of two) is
    # above. A carry out of the largest finite value lands on infinity's pattern.
    rounded = ((bits + np.uint32(0x7FFF) + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    quiet = ((bits >> 16) | 0x40).astype(np.uint16)  # the carry must not turn a NaN into a number
    return np.where(np.isnan(single), quiet, rounded)


@dataclass(frozen=True)
class Format:
    """A 16-bit dtype and the kind of array that carries it."""

    name: str  # "float16" or "bfloat16"
    carrier: np.dtype[Any]

    def decode(self, array: Array) -> Array:
        if self.name == "float16":
            return array.astype(np.float32)
        return bfloat16_to_float(array.view(np.uint16))

    def encode(self, values: Array) -> Array:
        """The nearest values of the dtype, in the caller's kind of array."""
        if self.name == "float16":
            with np.errstate(over="ignore"):
                return values.astype(np.float16)
        return bfloat16_from_float(values).view(self.carrier)

    def round(self, values: Array) -> Array:
        return self.decode(self.encode(values))


def as_array(given: object, argument: str) -> Array:
    if not isinstance(given, np.ndarray):
        raise GoldenError(argument, f"must be a NumPy array, not {type(given).__name__}{_RECIPE}")
    return given


def as_integer(given: object, argument: str) -> int:
    try:
        number = operator.index(given)  # type: ignore[arg-type]
    except (TypeError, RuntimeError) as error:  # RuntimeError: a tensor that cannot be read
        raise GoldenError(argument, f"must be an integer, not {given!r}") from error
    if not -(2**63) <= number < 2**63:  # Python does not print integers of any length
        raise GoldenError(argument, f"must be an integer of 64 bits, not one of {number.bit_length()}")
    return number


def as_number(given: Any, argument: str) -> float:
    if isinstance(given, (str, bytes)):  # float() reads them
        raise GoldenError(argument, f"must be a number, not {given!r}")
    try:
        return float(given)
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        shown = repr(given) if not isinstance(given, int) else f"an integer of {given.bit_length()} bits"
        raise GoldenError(argument, f"must be a number, not {shown}") from error


def one_of(given: Any, allowed: tuple[Any, ...], argument: str) -> None:
    number = hasattr(type(given), "__index__") and not isinstance(allowed[0], (str, bool))
    if number or isinstance(given, int):
        given = as_integer(given, argument)  # an array or a tensor of no dimensions is one too
    if not isinstance(given, (int, str, np.integer, np.bool_)) or given not in allowed:
        raise GoldenError(argument, f"{given!r} is not one of {', '.join(map(repr, allowed))}")


def format_of(given: object, argument: str) -> Format:
    array = as_array(given, argument)
    if array.dtype == np.float16:
        return Format("float16", array.dtype)
    if array.dtype.name == "bfloat16" or array.dtype == np.uint16:
        return Format("bfloat16", array.dtype)
    raise GoldenError(
        argument,
        f"dtype {array.dtype} is not float16, bfloat16 (ml_dtypes) or uint16 (bfloat16 bits), as it has to be here",
    )


def common_format(given: object, argument: str) -> Format:
    """The format of a tensor, or of all tensors of a list."""
    if not isinstance(given, (list, tuple)):
        return format_of(given, argument)
    formats = [format_of(entry, argument) for entry in given]
    if not formats or any(number != formats[0] for number in formats):
        raise GoldenError(argument, "a list of tensors needs at least one, and all of one dtype")
    return formats[0]
