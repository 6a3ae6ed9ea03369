# SPDX-License-Identifier: Apache-2.0
"""Two instructions of one pipe on the same bytes: what the pipe keeps by itself, what it does not, what is open."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import errors, launch


def test_vector_pipe() -> None:
    assert launch("pipe_order", "vector", [0])["findings"] == []  # write after read
    found = errors("pipe_order", "vector", [1])
    assert [entry["kind"] for entry in found] == ["race"] and "read after write" in found[0]["text"]


def cube_arguments(which: int, barrier: bool) -> list:
    x = np.ones(512, np.float16)
    y = {"data": np.zeros(256, np.float32), "name": "y", "writable": True}
    return [x, y, which, int(barrier)]


CUBE = [
    (0, "undocumented order", "MTE1", "LoadData", ["write after write"]),
    (1, "undocumented order", "M", "Mmad", ["write after write"]),
    (2, "race", "M", "Mmad", ["read after write", "(m/16)(n/16) < 10"]),
    (3, "undocumented order", "FIX", "Fixpipe", ["write after write"]),
    (4, "undocumented order", "FIX", "DataCopy", ["read after write", "has none"]),
    (5, "undocumented order", "FIX", "DataCopy", ["write after read"]),
]


@pytest.mark.parametrize(("which", "kind", "pipe", "name", "words"), CUBE)
def test_cube_core(which: int, kind: str, pipe: str, name: str, words: list[str]) -> None:
    assert launch("cube_order", "cube", cube_arguments(which, True))["findings"] == []
    if kind == "race":
        findings = errors("cube_order", "cube", cube_arguments(which, False))
    else:
        findings = launch("cube_order", "cube", cube_arguments(which, False))["findings"]
        assert [entry["severity"] for entry in findings] == ["undocumented order"]
    assert [entry["kind"] for entry in findings] == [kind]
    text = findings[0]["text"]
    assert text.startswith(f"{name} (cube_order.cpp:") and f"PipeBarrier<PIPE_{pipe}> would order them" in text
    for word in words:
        assert word in text
