# SPDX-License-Identifier: Apache-2.0
"""Makes ``torch.ops.ascend_attention`` work whichever of torch and this package is imported first.

Registering the operators loads the compiled parts, which importing the package must not do. So torch is given a
namespace that registers them when somebody first looks into it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

NAMESPACE = "ascend_attention"


def offer_operators() -> None:
    """Now if torch is imported, else as soon as it is."""
    if "torch" in sys.modules:
        _add_namespace(sys.modules["torch"])
    else:
        sys.meta_path.insert(0, _AfterTorch())


class _AfterTorch(MetaPathFinder):
    """Finds torch as Python would, and adds the namespace once it has been executed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != "torch":
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return None
        execute = spec.loader.exec_module

        def execute_and_add(module: ModuleType) -> None:
            execute(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
            _add_namespace(module)

        spec.loader.exec_module = execute_and_add  # type: ignore[method-assign]
        return spec


def withdraw_namespace(torch: Any) -> None:
    """For the module that registers the operators: torch makes its own namespace at the next look."""
    if type(vars(torch.ops).get(NAMESPACE)).__name__ == _LAZY:
        delattr(torch.ops, NAMESPACE)


_LAZY = "LazyNamespace"


def _add_namespace(torch: Any) -> None:
    if NAMESPACE in vars(torch.ops):
        return  # registered already

    def load_and_look_up(self: Any, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        importlib.import_module("ascend_attention.torch_ops")
        return getattr(getattr(torch.ops, NAMESPACE), name)

    lazy = type(_LAZY, (torch._ops._OpNamespace,), {"__getattr__": load_and_look_up})
    setattr(torch.ops, NAMESPACE, lazy(NAMESPACE))
