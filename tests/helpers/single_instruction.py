# SPDX-License-Identifier: Apache-2.0
"""Run one instruction of the simulated machine and compare every byte with a statement made in NumPy.

A destination starts with random content and random undefined bytes, so that a byte written by mistake shows, in its
value or in its state.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest

DTYPES: dict[str, np.dtype[Any]] = {
    "float16": np.dtype(np.float16),
    "bfloat16": np.dtype(ml_dtypes.bfloat16),
    "float32": np.dtype(np.float32),
    "int8": np.dtype(np.int8),
    "uint8": np.dtype(np.uint8),
    "int16": np.dtype(np.int16),
    "uint16": np.dtype(np.uint16),
    "int32": np.dtype(np.int32),
    "uint32": np.dtype(np.uint32),
    "int64": np.dtype(np.int64),
    "uint64": np.dtype(np.uint64),
}


def item_size(dtype: str) -> int:
    return DTYPES[dtype].itemsize


@dataclass
class Memory:
    """An operand: bytes at an address of a memory, some of them undefined. For global memory the address is the
    misalignment of the buffer."""

    space: str
    dtype: str
    data: np.ndarray
    defined: np.ndarray
    address: int = 0

    def copy(self) -> Memory:
        return Memory(self.space, self.dtype, self.data.copy(), self.defined.copy(), self.address)

    def typed(self) -> np.ndarray:
        return self.data.view(DTYPES[self.dtype])


def given(space: str, dtype: str, values: np.ndarray, address: int = 0) -> Memory:
    """An operand with these values, all defined."""
    data = np.frombuffer(np.ascontiguousarray(values).tobytes(), np.uint8).copy()
    return Memory(space, dtype, data, np.ones(data.size, np.uint8), address)


def random_memory(
    rng: np.random.Generator, space: str, dtype: str, size: int, address: int = 0, undefined: float = 0.0
) -> Memory:
    """Random bytes; about this share of 2-byte pieces is undefined."""
    data = rng.integers(0, 256, size, np.uint8)
    defined = np.repeat((rng.random((size + 1) // 2) >= undefined).astype(np.uint8), 2)[:size]
    return Memory(space, dtype, data, defined, address)


def execute(
    name: str,
    operands: Sequence[Memory],
    params: Mapping[str, Any],
    core: str,
    mode: str = "checked",
    state: Mapping[str, Any] | None = None,
) -> tuple[list[Memory], dict[str, Any]]:
    from ascend_attention import _core

    listed = [(o.space, o.dtype, o.data, o.address, o.defined) for o in operands]
    outputs, report = _core.sim.execute(name, listed, dict(params), core, mode, None if state is None else dict(state))
    results = []
    for operand, data, defined in zip(operands, outputs, report["defined"], strict=True):
        results.append(Memory(operand.space, operand.dtype, np.asarray(data), np.asarray(defined), operand.address))
    return results, report


def compare(actual: Memory, expected: Memory, what: str, states: bool) -> None:
    matters = expected.defined == 1
    wrong = np.flatnonzero((actual.data != expected.data) & matters)
    assert wrong.size == 0, (
        f"{what}: {wrong.size} bytes differ, first at {wrong[0]}: {actual.data[wrong[0]]} for {expected.data[wrong[0]]}"
    )
    if states:
        wrong = np.flatnonzero(actual.defined != expected.defined)
        assert wrong.size == 0, (
            f"{what}: {wrong.size} bytes have the wrong state, first at {wrong[0]}: "
            f"{actual.defined[wrong[0]]} for {expected.defined[wrong[0]]}"
        )


def check(
    name: str,
    operands: Sequence[Memory],
    params: Mapping[str, Any],
    core: str,
    statement: Callable[[list[Memory]], None],
) -> None:
    """`statement` changes its copies of the operands as the documentation says; both modes must do the same."""
    expected = [operand.copy() for operand in operands]
    statement(expected)
    for mode in ("fast", "checked"):
        actual, _ = execute(name, operands, params, core, mode)
        for index, memory in enumerate(expected):
            compare(actual[index], memory, f"{name} {dict(params)} {mode} operand {index}", mode == "checked")


def move_bytes(to: Memory, to_offset: int, source: Memory, from_offset: int, count: int) -> None:
    """A copy carries values and their state."""
    to.data[to_offset : to_offset + count] = source.data[from_offset : from_offset + count]
    to.defined[to_offset : to_offset + count] = source.defined[from_offset : from_offset + count]


def refused(
    name: str,
    operands: Sequence[Memory],
    params: Mapping[str, Any],
    core: str,
    mentions: str,
    mode: str = "checked",
) -> str:
    """The call must end in a finding that names the call, the place and `mentions`."""
    from ascend_attention import _core

    with pytest.raises(_core.SimulatorError) as caught:
        execute(name, operands, params, core, mode)
    text = str(caught.value)
    assert mentions in text, text
    assert "test:1" in text, text
    return text
