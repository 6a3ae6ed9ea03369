# SPDX-License-Identifier: Apache-2.0
"""A kernel's parameter types, as its compiled library tells them (simulator/include/machine/kernel_entry.h)."""

from __future__ import annotations

import ctypes
import re
from dataclasses import dataclass
from pathlib import Path

OTHER, BOOL, SIGNED, UNSIGNED, FLOAT, BFLOAT16 = range(6)
ENTRY = "ascend_attention_entry"

_PRETTY = re.compile(r"[\[ ](?:with )?T = (.*?)\]?$")


class _Parameter(ctypes.Structure):
    _fields_ = (
        ("type", ctypes.c_char_p),
        ("pointer", ctypes.c_uint32),
        ("kind", ctypes.c_uint32),
        ("bytes", ctypes.c_uint64),
    )


@dataclass(frozen=True)
class Parameter:
    """One parameter of a kernel.

    Attributes:
        name: from the source; "" when the text does not tell.
        type: the C++ type, for messages.
        pointer: whether it points to global memory; kind and bytes are then those of an element.
        kind: OTHER, BOOL, SIGNED, UNSIGNED, FLOAT or BFLOAT16.
        bytes: size; 0 for what void* points to.
    """

    name: str
    type: str
    pointer: bool
    kind: int
    bytes: int

    @property
    def takes_any_array(self) -> bool:
        """GM_ADDR, void* and pointers to structs: bytes, whatever the array's dtype."""
        return self.pointer and (self.kind == OTHER or (self.kind == UNSIGNED and self.bytes == 1))

    @property
    def by_value_struct(self) -> bool:
        return not self.pointer and self.kind == OTHER

    def __str__(self) -> str:
        return f"{self.type} {self.name}".strip()


def read_signature(library: Path, names: tuple[str, ...]) -> tuple[Parameter, ...]:
    """The parameters, with the names that the source gives them if it names as many.

    Raises:
        OSError: the library does not load.
    """
    function = ctypes.CDLL(str(library), mode=ctypes.RTLD_LOCAL).ascend_attention_parameters
    function.restype = ctypes.c_uint32
    function.argtypes = (ctypes.POINTER(ctypes.POINTER(_Parameter)),)
    table = ctypes.POINTER(_Parameter)()
    count = int(function(ctypes.byref(table)))
    if len(names) != count:
        names = ("",) * count
    return tuple(_parameter(table[index], names[index]) for index in range(count))


def _parameter(row: _Parameter, name: str) -> Parameter:
    pretty = row.type.decode("utf-8", "replace")
    match = _PRETTY.search(pretty)
    text = pretty if match is None else match.group(1)
    text = re.sub(r"\b(?:unsigned char|uint8_t) ?\*", "GM_ADDR", text).replace(" *", "*")
    return Parameter(name, text, bool(row.pointer), int(row.kind), int(row.bytes))
