# SPDX-License-Identifier: Apache-2.0
"""Random calls of single instructions: operands anywhere, parameters of any size.

Which parameters an instruction has is learnt by asking it, so that a new one is tried without a line here. The names
come from the sources of the executors; what makes a call likely to be accepted (memories, sizes) is in tables.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ascend_attention import _core

_SOURCES = Path(__file__).resolve().parents[2] / "csrc" / "python"
_NAME = re.compile(r'(?:Get(?:<[^>]*>)?|U32|Has|ScalarBits|Take|Flag)\(\s*"(\w+)"')

_VECTOR_SPACES = ("ub", "gm")
_CUBE_SPACES = ("l1", "l0a", "l0b", "l0c", "bt", "fb", "gm")
_ROOM = {"ub": 196352, "l1": 524288, "l0a": 65536, "l0b": 65536, "l0c": 131072, "bt": 1024, "fb": 7168, "gm": 65536}
_DTYPES = ("float16", "bfloat16", "float32", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "int4")

# Memories of the operands where they are not UB, in the order of the call.
_OPERAND_SPACES: dict[str, Sequence[Sequence[str]]] = {
    "DataCopy": (("ub", "gm", "l1", "fb", "bt"), ("gm", "ub", "l1", "l0c")),
    "DataCopyPad": (("ub", "gm"), ("gm", "ub")),
    "InitConstValue": (("l0a", "l0b", "l1"),),
    "InitOutput": (("gm",),),
    "SetAtomicAdd": (("gm",), ("ub",)),
    "SetAtomicMax": (("gm",), ("ub",)),
    "SetAtomicMin": (("gm",), ("ub",)),
    "LoadData": (("l0a", "l0b", "l1"), ("l1", "gm")),
    "LoadData3D": (("l0a", "l0b"), ("l1",)),
    "LoadDataWithTranspose": (("l0a", "l0b"), ("l1",)),
    "Mmad": (("l0c",), ("l0a",), ("l0b",), ("bt", "l0c")),
    "Fixpipe": (("gm", "l1"), ("l0c",), ("fb", "l1")),
    "SetFixPipeConfig": (("fb",),),
}
# Parameters that choose among the forms of a call.
_FORMS: dict[str, Sequence[Mapping[str, Any]]] = {
    "DataCopy": ({"count": 16}, {"ndNum": 1}, {"nSize": 16}, {"blockLen": 1}),
    "GatherMask": ({}, {"src1Pattern": 1}),
    "Select": tuple({"selMode": mode} for mode in (0, 1, 2, -1, -2)),
    "SetVectorMask": ({"len": 8}, {"maskLow": 1}),
}
_TEXTS = {
    "quantPre": ("NoQuant", "F322F16", "F322BF16", "DEQF16", "VDEQF16", "QF322B8_PRE"),
    "config": ("NZ", "ROW_MAJOR"),
}
_EDGES = (0, 1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 254, 255, 256, 257, 4095, 4096)
_EXTREMES = (
    32767,
    32768,
    65535,
    65536,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
    2**40,
    2**63 - 1,
    -1,
    -8,
    -(2**31),
    -(2**63),
)
# What the door itself refuses, before the machine is asked.
_REFUSED_BY_THE_DOOR = (ValueError, TypeError, IndexError, KeyError, OverflowError)


@dataclass(frozen=True)
class Piece:
    """An operand. Its bytes follow from `seed`; without one they are uninitialised."""

    space: str
    dtype: str
    size: int
    address: int
    seed: int | None

    def operand(self) -> tuple[Any, ...]:
        if self.seed is None:
            return (self.space, self.dtype, self.size, self.address)
        data = np.random.default_rng(self.seed).integers(0, 256, self.size, np.uint8)
        return (self.space, self.dtype, data, self.address)


@dataclass(frozen=True)
class Case:
    name: str
    core: str
    mode: str
    pieces: tuple[Piece, ...]
    params: dict[str, Any]
    state: dict[str, Any] | None = None

    def run(self) -> str:
        """'result', 'refused' by the machine, or 'door'. Anything else that happens is a defect."""
        operands = [piece.operand() for piece in self.pieces]
        try:
            _core.sim.execute(self.name, operands, dict(self.params), self.core, self.mode, self.state)
        except _core.SimulatorError as error:
            assert "test:1" in str(error) or "instruction" in str(error), str(error)
            return "refused"
        except _REFUSED_BY_THE_DOOR:
            return "door"
        except RuntimeError as error:
            if "cast" not in str(error):  # a number that does not fit the parameter's type
                raise
            return "door"
        return "result"


@cache
def _names() -> tuple[str, ...]:
    found: set[str] = set()
    for path in sorted(_SOURCES.glob("sim_execute*.cpp")):
        found.update(_NAME.findall(path.read_text()))
    return tuple(sorted(found - {"calCount", "isSetMask", "steps", "names"}))


def _pieces(name: str, count: int) -> tuple[Piece, ...]:
    spaces = _OPERAND_SPACES.get(name, ())
    chosen = [spaces[i][0] if i < len(spaces) else "ub" for i in range(count)]
    return tuple(Piece(space, "float16", 512, 0, 0) for space in chosen)


def _core_of(pieces: Sequence[Piece]) -> str:
    return "cube" if any(piece.space not in _VECTOR_SPACES for piece in pieces) else "vector"


@dataclass(frozen=True)
class Form:
    name: str
    counts: tuple[int, ...]  # operands
    base: dict[str, Any]
    masked: bool
    optional: tuple[str, ...]


def _knows(name: str, count: int, params: Mapping[str, Any]) -> bool:
    pieces = _pieces(name, count)
    try:
        _core.sim.execute(name, [piece.operand() for piece in pieces], dict(params), _core_of(pieces), "fast")
    except _core.SimulatorError:
        return True
    except (RuntimeError, *_REFUSED_BY_THE_DOOR):
        return False
    return True


def _value_to_ask_with(name: str) -> Any:
    return _TEXTS[name][0] if name in _TEXTS else [0, 0, 0, 0] if name == "padList" else 1


@cache
def forms() -> tuple[Form, ...]:
    """Every form of every instruction that a test can call with operands and parameters alone."""
    found = []
    for name in _core.sim.executors():
        for chosen in _FORMS.get(name, ({},)):
            for mask in ({}, {"calCount": 8}):
                base = {**chosen, **mask}
                counts = tuple(count for count in range(6) if _knows(name, count, base))
                if counts:
                    most = counts[-1]
                    optional = tuple(
                        other
                        for other in _names()
                        if other not in base and _knows(name, most, {**base, other: _value_to_ask_with(other)})
                    )
                    found.append(Form(name, counts, dict(chosen), bool(mask), optional))
                    break
    return tuple(found)


def _number(rng: np.random.Generator, wild: float) -> int:
    if rng.random() >= wild:
        return int(rng.choice([0, 1, 1, 2, 3, 4, 8, 16, 64]))
    kind = rng.random()
    if kind < 0.4:
        return int(rng.integers(0, 20))
    if kind < 0.8:
        return int(rng.choice(_EDGES))
    return _EXTREMES[rng.integers(len(_EXTREMES))]


def _value(rng: np.random.Generator, name: str, wild: float) -> Any:
    if name in _TEXTS:
        return str(rng.choice(_TEXTS[name]))
    if name == "padList":
        return [int(value) for value in rng.integers(0, 256 if rng.random() < wild else 3, 4)]
    if name in ("scalarValue", "initValue", "paddingValue", "padValue", "deqScalar", "value"):
        return int(rng.integers(0, 2**63))
    return _number(rng, wild)


def _mask(rng: np.random.Generator, wild: float) -> dict[str, Any]:
    kind = rng.integers(4)
    if kind == 0:
        return {"calCount": _number(rng, wild)}
    if kind == 1:
        return {"mask": abs(_number(rng, wild))}
    if kind == 2:
        return {"mask": [int(rng.integers(0, 2**63)), int(rng.integers(0, 2**63)) if rng.integers(2) else 0]}
    return {"isSetMask": False}


def _state(rng: np.random.Generator) -> dict[str, Any] | None:
    if rng.random() < 0.7:
        return None
    return {
        "counter_mode": bool(rng.integers(2)),
        "mask_specified": bool(rng.random() < 0.8),
        "mask": [int(rng.integers(0, 2**63)) if rng.integers(2) else 128, int(rng.integers(0, 2**63))],
        "atomic_mode": int(rng.integers(0, 4)),
        "atomic_dtype": int(rng.integers(0, 13)),
        "nd_count": int(rng.integers(0, 4)),
        "source_nd_stride": int(rng.choice(_EDGES)),
        "target_nd_stride": int(rng.choice(_EDGES)),
        "quant_scalar": int(rng.integers(0, 2**63)),
        "quant_vector_address": int(rng.integers(0, 2**16)),
        "deq_scale": float(rng.choice([0.0, 1.0, 0.3, np.inf])),
    }


def _piece(rng: np.random.Generator, name: str, index: int, dtype: str, wild: float) -> Piece:
    spaces = _OPERAND_SPACES.get(name, ())
    space = str(rng.choice(spaces[index])) if index < len(spaces) else "ub"
    seed = int(rng.integers(2**31))
    if rng.random() >= wild:  # a quarter of its memory each
        size = _ROOM[space] // 4 // 256 * 256
        return Piece(space, dtype, size, 0 if space == "gm" else index * size, seed)
    if rng.random() < 0.1:
        space = str(rng.choice(_VECTOR_SPACES + _CUBE_SPACES))
    room = _ROOM[space]
    size = int(rng.choice([32, 64, 256, 512, 1024, 2048, 8192, 32768, rng.integers(0, 600)]))
    size = min(size, room)
    if space == "gm":
        address = int(rng.choice([0, 0, 32, 64, 2, 511]))
    else:
        address = int(rng.choice([0, 0, 32, 512, 1024, 4096, room - size, room - size - 32, room // 2, 1, 4]))
        address = min(max(address, 0), room - size)
    return Piece(space, dtype, size, address, seed if rng.random() < 0.9 else None)


def random_call(rng: np.random.Generator) -> Case:
    """Half of the calls differ in few things from one that is accepted, the others in many."""
    form = forms()[rng.integers(len(forms()))]
    wild = float(rng.choice([0.0, 0.02, 0.1, 0.5, 1.0]))
    count = form.counts[rng.integers(len(form.counts))]
    dtype = str(rng.choice(_DTYPES if rng.random() < 0.5 else _DTYPES[:3]))
    mixed = rng.random() < max(wild, 0.2)
    pieces = tuple(
        _piece(rng, form.name, index, str(rng.choice(_DTYPES)) if mixed and rng.integers(2) else dtype, wild)
        for index in range(count)
    )
    params = dict(form.base)
    for name in params:
        if name != "selMode" and rng.random() < 0.9:
            params[name] = _value(rng, name, wild)
    share = rng.random()
    for name in form.optional:
        if rng.random() < share:
            params[name] = _value(rng, name, wild)
    if form.masked:
        params.update(_mask(rng, wild))
    mode = "checked" if rng.integers(2) else "fast"
    return Case(form.name, _core_of(pieces), mode, pieces, params, _state(rng))
