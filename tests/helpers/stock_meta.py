# SPDX-License-Identifier: Apache-2.0
"""The meta functions of the stock operators, out of an installed ``torch_npu``: its Python file is executed without
importing the package, which needs the vendor's libraries."""

from __future__ import annotations

import importlib.util
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import torch

FILE = Path("op_plugin") / "meta" / "_meta_registrations.py"
_STUBS = (
    "torch_npu",
    "torch_npu.npu",
    "torch_npu.npu._backends",
    "torch_npu.npu.utils",
    "torch_npu.utils",
    "torch_npu.utils._error_code",
)


class _Stub(types.ModuleType):
    """Has every attribute; none of them is reached by the functions that tests call."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return mock.MagicMock(name=f"{self.__name__}.{name}")


def find_file() -> Path | None:
    """None: torch_npu is not installed, or has no such file."""
    spec = importlib.util.find_spec("torch_npu")
    if spec is None or not spec.submodule_search_locations:
        return None
    path = Path(spec.submodule_search_locations[0]) / FILE
    return path if path.exists() else None


def read_functions(path: Path) -> dict[str, Callable[..., Any]]:
    """Operator's name: its meta function."""
    functions: dict[str, Callable[..., Any]] = {}

    def implement(_library: object, name: str, *_rest: object) -> Callable[[Any], Any]:
        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            functions[name] = function
            return function

        return register

    stubs: dict[str, types.ModuleType] = {name: _Stub(name) for name in _STUBS}
    with (
        mock.patch.dict(sys.modules, stubs),
        mock.patch.object(torch.ops, "npu", mock.MagicMock(), create=True),
        mock.patch("torch.fx.node.has_side_effect", mock.MagicMock()),
        mock.patch("torch.library.Library", mock.MagicMock()),
        mock.patch("torch.library.impl", implement),
    ):
        namespace = {"__name__": "stock_meta_registrations", "__file__": str(path)}
        exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), namespace)
    return functions
