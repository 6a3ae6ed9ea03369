# SPDX-License-Identifier: Apache-2.0
"""A kernel's arguments: from NumPy arrays and numbers to global memory and 64-bit words."""

from __future__ import annotations

import ctypes
import math
import struct
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from ascend_attention.sim._signature import BFLOAT16, BOOL, FLOAT, OTHER, SIGNED, UNSIGNED, Parameter

# Device memory starts at a multiple of this (aclrtMalloc), and so does every buffer here, at a distance from the next.
_ALIGNMENT = 512
_FLOAT_NAMES = {2: "float16", 4: "float32", 8: "float64"}


class Out:
    """An output: a contiguous, writable array that the kernel fills. What it held before is not visible to the kernel.

    ``Out(array)``, or ``Out.empty(shape, dtype)`` for a new one.
    """

    def __init__(self, array: Any) -> None:
        self.array = array

    @classmethod
    def empty(cls, shape: int | Sequence[int], dtype: Any) -> Out:
        return cls(np.empty(shape, dtype))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_describe(self.array)})"


class InOut(Out):
    """An array that the kernel reads and writes."""


class Workspace:
    """Global memory of this many bytes that lives for one launch; nothing is in it before."""

    def __init__(self, nbytes: int) -> None:
        if isinstance(nbytes, bool) or not hasattr(type(nbytes), "__index__"):
            raise TypeError(f"Workspace: nbytes: given {type(nbytes).__name__}; allowed: an int")
        if nbytes < 0:
            raise ValueError(f"Workspace: nbytes: given {nbytes}; allowed: 0 and more")
        self.nbytes = int(nbytes)

    def __repr__(self) -> str:
        return f"Workspace({self.nbytes})"


@dataclass
class Prepared:
    """What one launch needs. ``words`` go to the entry; everything they point to is kept here."""

    words: np.ndarray
    buffers: list[dict[str, Any]] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)  # as the caller gave them
    kept: list[Any] = field(default_factory=list)
    _copies: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)

    def copy_back(self) -> None:
        for array, memory in self._copies:
            array.reshape(-1).view(np.uint8)[:] = memory


@dataclass(frozen=True)
class _Place:
    """Where an argument stands, for messages."""

    kernel: str
    position: int
    parameter: Parameter

    def refuse(self, error: type[Exception], given: str, allowed: str) -> NoReturn:
        raise error(f"{self.kernel}: argument {self.position} ({self.parameter}): given {given}; allowed: {allowed}")


def prepare(kernel: str, parameters: Sequence[Parameter], arguments: Sequence[Any]) -> Prepared:
    """Checks arguments against parameters and copies them into device memory.

    Raises:
        TypeError: their number, or the type of one.
        ValueError: an array that is not contiguous, read-only or overlaps another; a number out of range.
    """
    if len(arguments) != len(parameters):
        listed = ", ".join(str(parameter) for parameter in parameters)
        raise TypeError(f"{kernel} takes {len(parameters)} arguments ({listed}); {len(arguments)} were given")
    prepared = Prepared(np.zeros(max(1, len(arguments)), np.uint64))
    arrays: list[tuple[_Place, np.ndarray, bool]] = []
    for position, (parameter, argument) in enumerate(zip(parameters, arguments, strict=True), start=1):
        place = _Place(kernel, position, parameter)
        if parameter.pointer:
            word = _pointer(place, argument, prepared, arrays)
        elif isinstance(argument, (Out, Workspace)) or argument is None:
            place.refuse(TypeError, _describe(argument), _allowed_value(parameter))
        elif parameter.by_value_struct:
            word = _struct(place, argument, prepared)
        else:
            word = _number(place, argument)
        prepared.words[position - 1] = word
    _require_apart(arrays)
    return prepared


def _pointer(place: _Place, argument: Any, prepared: Prepared, arrays: list[tuple[_Place, np.ndarray, bool]]) -> int:
    name = place.parameter.name or f"argument {place.position}"
    if argument is None:
        return 0
    if isinstance(argument, Workspace):
        memory = _allocate(argument.nbytes, prepared)
        return _register(prepared, memory, name, writable=True, initialised=False, output=False)
    written = isinstance(argument, Out)
    array = _as_array(place, argument.array if isinstance(argument, Out) else argument, written)
    _check_dtype(place, array)
    if not array.flags.c_contiguous:
        place.refuse(ValueError, "an array that is not contiguous", "a contiguous one (numpy.ascontiguousarray)")
    if written and not array.flags.writeable:
        place.refuse(ValueError, "a read-only array", "one that can be written")
    arrays.append((place, array, written))
    memory = _allocate(array.nbytes, prepared)
    initialised = not written or isinstance(argument, InOut)
    if initialised:
        memory[:] = array.reshape(-1).view(np.uint8)
    if isinstance(argument, Out):
        prepared.outputs.append(argument.array)
        prepared._copies.append((array, memory))
    return _register(prepared, memory, name, writable=written, initialised=initialised, output=written)


def _register(
    prepared: Prepared, memory: np.ndarray, name: str, *, writable: bool, initialised: bool, output: bool
) -> int:
    if memory.nbytes:
        prepared.buffers.append(
            {"data": memory, "name": name, "writable": writable, "initialised": initialised, "output": output}
        )
    return int(memory.__array_interface__["data"][0])


def _allocate(nbytes: int, prepared: Prepared) -> np.ndarray:
    raw = np.empty(nbytes + 2 * _ALIGNMENT, np.uint8)
    prepared.kept.append(raw)
    start = -raw.__array_interface__["data"][0] % _ALIGNMENT
    return raw[start : start + nbytes]


def _as_array(place: _Place, value: Any, written: bool) -> np.ndarray:
    """An array on the caller's own memory (for outputs), or on a copy of few bytes."""
    if isinstance(value, np.ndarray):
        return value
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        return _from_torch(place, value)
    if not written and isinstance(value, np.generic):
        return np.asarray(value).reshape(1)
    if not written and isinstance(value, (bytes, bytearray, ctypes.Structure)):
        return np.frombuffer(bytes(value), np.uint8)
    allowed = "a NumPy array or CPU tensor"
    if not written:
        allowed += ", bytes, a structured scalar, Out, InOut, Workspace or None"
    place.refuse(TypeError, _describe(value), allowed)


def _from_torch(place: _Place, tensor: Any) -> np.ndarray:
    if tensor.device.type != "cpu" or str(tensor.layout) != "torch.strided" or tensor.is_quantized:
        place.refuse(TypeError, _describe(tensor), "a dense tensor on the CPU")
    tensor = tensor.detach()
    name = str(tensor.dtype).removeprefix("torch.")
    if name == "bfloat16":
        import torch

        array: np.ndarray = tensor.view(torch.int16).numpy().view(_bfloat16(place))
        return array
    try:
        array = tensor.numpy()
    except (TypeError, RuntimeError) as error:
        place.refuse(TypeError, f"{_describe(tensor)} ({error})", "a tensor that NumPy can hold")
    return array


def _bfloat16(place: _Place) -> Any:
    try:
        import ml_dtypes
    except ImportError:
        place.refuse(TypeError, "bfloat16", "bfloat16 with the package ml_dtypes installed (pip install ml_dtypes)")
    return ml_dtypes.bfloat16


def _check_dtype(place: _Place, array: np.ndarray) -> None:
    if array.dtype.hasobject or not array.dtype.isnative:
        place.refuse(
            TypeError, f"an array of {array.dtype.str}", "numbers or plain structs in the byte order of this CPU"
        )
    if place.parameter.takes_any_array:
        return
    kind, size = _kind_of(array.dtype), array.dtype.itemsize
    wanted = place.parameter
    if size != wanted.bytes or (kind != wanted.kind and not (wanted.kind == BOOL and kind == UNSIGNED)):
        place.refuse(TypeError, f"an array of {array.dtype}", _element_name(wanted))


def _kind_of(dtype: np.dtype) -> int:
    if dtype.name == "bfloat16":
        return BFLOAT16
    return {"b": BOOL, "i": SIGNED, "u": UNSIGNED, "f": FLOAT}.get(dtype.kind, OTHER)


def _element_name(parameter: Parameter) -> str:
    if parameter.kind == BFLOAT16:
        return "bfloat16 (ml_dtypes)"
    if parameter.kind == FLOAT:
        return _FLOAT_NAMES.get(parameter.bytes, f"a float of {parameter.bytes} bytes")
    if parameter.kind == BOOL:
        return "bool or uint8"
    return f"{'int' if parameter.kind == SIGNED else 'uint'}{8 * parameter.bytes}"


def _allowed_value(parameter: Parameter) -> str:
    if parameter.by_value_struct:
        return f"the {parameter.bytes} bytes of the struct: bytes, a structured scalar or a ctypes.Structure"
    if parameter.kind in (FLOAT, BFLOAT16):
        return "a number"
    return "a bool, 0 or 1" if parameter.kind == BOOL else "an int"


def _struct(place: _Place, value: Any, prepared: Prepared) -> int:
    scalar = isinstance(value, (np.generic, np.ndarray)) and value.dtype.kind == "V" and value.size == 1
    if not scalar and not isinstance(value, (bytes, bytearray, ctypes.Structure)):
        place.refuse(TypeError, _describe(value), _allowed_value(place.parameter))
    data = value.tobytes() if isinstance(value, (np.generic, np.ndarray)) else bytes(value)
    if len(data) != place.parameter.bytes:
        place.refuse(ValueError, f"{len(data)} bytes", _allowed_value(place.parameter))
    memory = _allocate(len(data), prepared)
    memory[:] = np.frombuffer(data, np.uint8)
    return int(memory.__array_interface__["data"][0])


def _number(place: _Place, value: Any) -> int:
    """The word whose low bytes are the value in the parameter's type."""
    parameter = place.parameter
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    is_bool = isinstance(value, (bool, np.bool_))
    if parameter.kind in (FLOAT, BFLOAT16):
        if is_bool or not (isinstance(value, (int, float, np.integer, np.floating)) or _is_bfloat16(value)):
            place.refuse(TypeError, _describe(value), _allowed_value(parameter))
        return _float_word(place, value)
    if not is_bool and not isinstance(value, (int, np.integer)):
        place.refuse(TypeError, _describe(value), _allowed_value(parameter))
    number, bits = int(value), 8 * parameter.bytes
    if parameter.kind == BOOL:
        low, high = 0, 1
    elif parameter.kind == SIGNED:
        low, high = -(1 << bits - 1), (1 << bits - 1) - 1
    else:
        low, high = 0, (1 << bits) - 1
    if not low <= number <= high:
        shown = str(number) if number.bit_length() < 256 else f"an integer of {number.bit_length()} bits"
        place.refuse(ValueError, shown, f"{low}..{high}")
    return number & (1 << 64) - 1


def _is_bfloat16(value: Any) -> bool:
    return isinstance(value, np.generic) and value.dtype.name == "bfloat16"


def _float_word(place: _Place, value: Any) -> int:
    """Rounded once, to nearest, ties to even, as C++ converts a double."""
    try:
        number = float(value)
    except OverflowError:
        place.refuse(ValueError, "an int beyond every float", _allowed_value(place.parameter))
    parameter = place.parameter
    if parameter.kind == BFLOAT16:
        return _bfloat16_bits(number)
    with np.errstate(over="ignore"):
        data = np.array(number).astype(_FLOAT_NAMES[parameter.bytes]).tobytes()
    return int.from_bytes(data, sys.byteorder)


def _bfloat16_bits(number: float) -> int:
    (wide,) = struct.unpack("<Q", struct.pack("<d", number))
    if math.isnan(number):
        return int(wide >> 48 & 0x8000 | 0x7FC0)
    with np.errstate(over="ignore"):
        narrow = np.float32(number)
    (bits,) = struct.unpack("<I", narrow.tobytes())
    # Rounding twice would break ties the wrong way: a float32 that was rounded away from a tie is moved back by one.
    if bits & 0xFFFF == 0x8000 and float(narrow) != number and math.isfinite(float(narrow)):
        bits += 1 if abs(float(narrow)) < abs(number) else -1
    return int(bits + 0x7FFF + (bits >> 16 & 1) >> 16)


def _require_apart(arrays: Sequence[tuple[_Place, np.ndarray, bool]]) -> None:
    """An output shares no memory with another argument: here each argument has memory of its own."""
    for index, (place, array, written) in enumerate(arrays):
        for other_place, other, other_written in arrays[:index]:
            if (written or other_written) and np.may_share_memory(array, other):
                given = f"an array that overlaps argument {other_place.position}"
                allowed = "outputs that share no memory with other arguments; InOut for what is read and written"
                place.refuse(ValueError, given, allowed)


def _describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype}"
    if type(value).__module__.startswith("torch"):
        return f"a {type(value).__name__} of {getattr(value, 'dtype', '?')} on {getattr(value, 'device', '?')}"
    if isinstance(value, (Out, Workspace)):
        return repr(value)
    if value is None:
        return "None"
    try:
        shown = " ".join(repr(value).split())
    except ValueError:  # an integer with more digits than Python is willing to print
        shown = "a value too long to show"
    return f"{shown if len(shown) <= 60 else shown[:57] + '...'} ({type(value).__name__})"
