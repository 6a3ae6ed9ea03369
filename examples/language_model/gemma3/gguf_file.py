# SPDX-License-Identifier: Apache-2.0
"""Reads a GGUF file: metadata as Python values, tensors as float32.

The gguf package has the formats and the dequantisation. Its own reader makes an array object for every entry of every
list, which takes ten seconds and more for a vocabulary of 262144; this one needs a tenth of one.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch

MAGIC, VERSIONS = b"GGUF", (2, 3)
_SCALARS = {
    gguf.GGUFValueType.UINT8: "<u1",
    gguf.GGUFValueType.INT8: "<i1",
    gguf.GGUFValueType.UINT16: "<u2",
    gguf.GGUFValueType.INT16: "<i2",
    gguf.GGUFValueType.UINT32: "<u4",
    gguf.GGUFValueType.INT32: "<i4",
    gguf.GGUFValueType.FLOAT32: "<f4",
    gguf.GGUFValueType.UINT64: "<u8",
    gguf.GGUFValueType.INT64: "<i8",
    gguf.GGUFValueType.FLOAT64: "<f8",
    gguf.GGUFValueType.BOOL: "|b1",
}


@dataclass(frozen=True)
class _Tensor:
    shape: tuple[int, ...]  # as torch counts: the axis that is contiguous comes last
    kind: gguf.GGMLQuantizationType
    offset: int


class GgufFile:
    """``metadata`` maps names to numbers, strings and lists of them; ``tensor(name)`` dequantises."""

    def __init__(self, path: Path) -> None:
        self._bytes = np.memmap(path, np.uint8, mode="r")
        self._memory = self._bytes.data
        self._position = 4
        version = self._number("<u4")
        if bytes(self._memory[:4]) != MAGIC or version not in VERSIONS:
            raise ValueError(f"{path} is not a GGUF file of version 2 or 3")
        tensors, entries = self._number("<u8"), self._number("<u8")
        self.metadata: dict[str, Any] = {}
        for _ in range(entries):
            name = self._text()
            self.metadata[name] = self._value(gguf.GGUFValueType(self._number("<u4")))
        self._tensors = dict(self._tensor_header() for _ in range(tensors))
        alignment = self.metadata.get("general.alignment", gguf.GGUF_DEFAULT_ALIGNMENT)
        self._data = -(-self._position // alignment) * alignment

    @property
    def names(self) -> list[str]:
        return list(self._tensors)

    def tensor(self, name: str) -> torch.Tensor:
        """float32, dequantised. KeyError when the file has no such tensor."""
        tensor = self._tensors[name]
        block, size = gguf.GGML_QUANT_SIZES[tensor.kind]
        count = math.prod(tensor.shape) // block * size
        begin = self._data + tensor.offset
        stored = self._bytes[begin : begin + count].reshape(*tensor.shape[:-1], -1)
        if tensor.kind in (gguf.GGMLQuantizationType.F32, gguf.GGMLQuantizationType.F16):  # these need a dtype
            stored = stored.view(np.float32 if tensor.kind == gguf.GGMLQuantizationType.F32 else np.float16)
        values = gguf.dequantize(stored, tensor.kind).reshape(tensor.shape)
        return torch.from_numpy(np.require(values, np.float32, "W"))  # "W": what is mapped read-only is copied

    def _array(self, dtype: str, count: int) -> np.ndarray:
        values = np.frombuffer(self._memory, dtype, count, self._position)
        self._position += values.nbytes
        return values

    def _number(self, dtype: str) -> Any:
        return self._array(dtype, 1)[0].item()

    def _text(self) -> str:
        begin = self._position + 8
        (length,) = struct.unpack_from("<Q", self._memory, self._position)
        self._position = begin + length
        return str(self._memory[begin : self._position], "utf-8")

    def _value(self, kind: gguf.GGUFValueType) -> Any:
        if kind == gguf.GGUFValueType.STRING:
            return self._text()
        if kind != gguf.GGUFValueType.ARRAY:
            return self._number(_SCALARS[kind])
        entry, count = gguf.GGUFValueType(self._number("<u4")), self._number("<u8")
        if entry in _SCALARS:
            return self._array(_SCALARS[entry], count).tolist()
        return [self._value(entry) for _ in range(count)]

    def _tensor_header(self) -> tuple[str, _Tensor]:
        name = self._text()
        shape = tuple(reversed(self._array("<u8", self._number("<u4")).tolist()))
        kind = gguf.GGMLQuantizationType(self._number("<u4"))
        return name, _Tensor(shape, kind, self._number("<u8"))
