# SPDX-License-Identifier: Apache-2.0
"""Launch the small kernels of tests/kernels."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from ascend_attention import _core

_ROOT = Path(__file__).resolve().parents[3]
_NAMES = ("libascend_attention_test_kernels_cube.so", "libascend_attention_test_kernels_vector.so")

SimulatorError = _core.SimulatorError


def libraries() -> tuple[str, str]:
    given = os.environ.get("ASCEND_ATTENTION_TEST_KERNELS")
    directory = Path(given) if given else _ROOT / "build" / str(sys.implementation.cache_tag) / "lib"
    paths = [directory / name for name in _NAMES]
    if not all(path.exists() for path in paths):
        raise FileNotFoundError(f"{directory} lacks {', '.join(_NAMES)}: build with ASCEND_ATTENTION_BUILD_TESTS=ON")
    return str(paths[0]), str(paths[1])


def launch(kernel: str, kind: str, args: list[Any], *, blocks: int = 1, **settings: Any) -> dict[str, Any]:
    cube, vector = libraries()
    report: dict[str, Any] = _core.sim.launch(cube, vector, kernel, kind, blocks, args, **settings)
    return report


def errors(kernel: str, kind: str, args: list[Any], **settings: Any) -> list[dict[str, str]]:
    """The error findings of a launch that must fail."""
    with pytest.raises(SimulatorError) as caught:
        launch(kernel, kind, args, **settings)
    found: list[dict[str, str]] = [entry for entry in caught.value.findings if entry["severity"] == "error"]
    assert found and str(caught.value).startswith(f"{found[0]['kind']}: {found[0]['text']}")
    return found


def only_error(kernel: str, kind: str, args: list[Any], **settings: Any) -> dict[str, str]:
    found = errors(kernel, kind, args, **settings)
    assert len(found) == 1, "\n".join(entry["text"] for entry in found)
    return found[0]


def output(data: Any, name: str = "y") -> dict[str, Any]:
    return {"data": data, "name": name, "output": True}


def scratch(data: Any, name: str = "scratch", initialised: bool = False) -> dict[str, Any]:
    return {"data": data, "name": name, "writable": True, "initialised": initialised}


def line_of(kernel: str, text: str, occurrence: int = 0) -> int:
    """The line of a kernel's source that holds `text`, to compare with what a finding says."""
    source = (_ROOT / "tests" / "kernels" / f"{kernel}.cpp").read_text().splitlines()
    found = [number for number, line in enumerate(source, start=1) if text in line]
    return found[occurrence]
