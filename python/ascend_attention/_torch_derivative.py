# SPDX-License-Identifier: Apache-2.0
"""Says that the torch operators have no derivative, when one is asked for and not before.

Without an autograd kernel torch would return no gradient with a warning, and zero tangents without one. With it, a call
on tensors that require a gradient works; asking for the gradient raises, in compiled graphs too.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.autograd import forward_ad

_BELOW_AUTOGRAD = torch._C._after_autograd_keyset
_BELOW_VIEWS = torch._C._after_ADInplaceOrView_keyset
_libraries: list[Any] = []  # what a library registers ends with it


_PASS_BY = Path(__file__).with_name(f"_torch_pass_by-{torch.__version__}.so")


@functools.cache
def kernels_pass_by() -> bool:
    """Loads the C++ part of this module, if it was built with the torch that is running (csrc/torch/pass_by)."""
    if not _PASS_BY.exists():
        return False
    torch.ops.load_library(str(_PASS_BY))
    return True


def can_be_asked_for(tensors: Iterable[torch.Tensor]) -> bool:
    """Whether somebody may ask for a derivative of a call on these tensors, forwards or backwards."""
    return (
        (torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors))
        or forward_ad._current_level >= 0
        or torch._C._are_functorch_transforms_active()
    )


def below_autograd() -> AbstractContextManager[Any]:
    """Calls inside pass by the kernels of this module. For those of which no derivative ``can_be_asked_for``."""
    return torch._C._AutoDispatchBelowAutograd()


def refuse_derivatives(namespace: str, name: str, overloads: Iterable[tuple[str, str]]) -> None:
    """For the operator `name`; `overloads`: the names of its overloads, each with that of its out-variant.

    If ``kernels_pass_by``, kernels in C++ stand on the operator. What they do not decide they hand to another operator
    with the same arguments, on which those of this module stand then.
    """
    library = torch.library.Library(namespace, "FRAGMENT")
    _libraries.append(library)
    packet = getattr(getattr(torch.ops, namespace), name)
    message = (
        f"{name} has no derivative: it is an operator for inference. Call it under torch.no_grad(), or detach its "
        "inputs or results."
    )

    # The refusal as an operator, so that a graph can hold it and raises only when its backward part runs.
    library.define(f"{name}_backward(Tensor gradient, SymInt[] size) -> Tensor")
    library.impl(f"{name}_backward", lambda gradient, size: _raise(message), "CompositeExplicitAutograd")
    torch.library.register_fake(
        f"{namespace}::{name}_backward", lambda gradient, size: gradient.new_empty(size), lib=library
    )
    backward = getattr(getattr(torch.ops, namespace), f"{name}_backward").default

    class WithoutDerivative(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, call: Callable[[], Any], *tensors: torch.Tensor) -> Any:
            ctx.sizes = [tensor.shape for tensor in tensors]
            return call()

        @staticmethod
        def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
            wanted = zip(ctx.sizes, ctx.needs_input_grad[1:], strict=True)
            return None, *(backward(gradients[0], size) if needed else None for size, needed in wanted)

    def redispatch(overload: Any, keys: Any, *positional: Any, **keywords: Any) -> Any:
        with below_autograd():
            return overload.redispatch(keys & _BELOW_AUTOGRAD, *positional, **keywords)

    def functional(overload: Any, keys: Any, *positional: Any, **keywords: Any) -> Any:
        tensors = _tensors(positional, keywords)
        if not can_be_asked_for(tensors):
            return redispatch(overload, keys, *positional, **keywords)
        _refuse_tangents(tensors, message)
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            if torch._C._are_functorch_transforms_active():  # torch.func.grad, vjp: somebody asks
                raise RuntimeError(message)
            return WithoutDerivative.apply(partial(redispatch, overload, keys, *positional, **keywords), *tensors)
        return redispatch(overload, keys, *positional, **keywords)

    def out(overload: Any, keys: Any, *positional: Any, **keywords: Any) -> Any:
        tensors = _tensors(positional, keywords)
        if can_be_asked_for(tensors):
            _refuse_tangents(tensors, message)
            if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
                raise RuntimeError(
                    f"{name}.out: an out-variant takes no part in automatic differentiation, as with torch's own, "
                    "but one of the arguments requires a gradient. Call it under torch.no_grad()."
                )
        return redispatch(overload, keys, *positional, **keywords)

    def count_writes(overload: Any, keys: Any, *positional: Any, **keywords: Any) -> Any:
        result = overload.redispatch(keys & _BELOW_VIEWS, *positional, **keywords)
        written = [keywords[a.name] for a in overload._schema.arguments if a.alias_info and a.alias_info.is_write]
        torch.autograd.graph.increment_version([tensor for tensor in written if tensor is not None])
        return result

    for pair in overloads:
        for kernel, overload in zip((functional, out), (getattr(packet, o or "default") for o in pair), strict=True):
            stands_on = str(overload._name)
            if kernels_pass_by():
                stands_on = stands_on.replace(name, f"{name}_refusing_derivatives")
                library.define(str(overload._schema).replace(str(overload._name), stands_on, 1).split("::", 1)[1])
            library.impl(stands_on.split("::", 1)[1], partial(kernel, overload), "Autograd", with_keyset=True)
            if kernel is out and not kernels_pass_by():
                library.impl(overload, partial(count_writes, overload), "ADInplaceOrView", with_keyset=True)


def _raise(message: str) -> Any:
    raise RuntimeError(message)


def _tensors(positional: Sequence[Any], keywords: dict[str, Any]) -> list[torch.Tensor]:
    tensors: list[torch.Tensor] = []
    for value in (*positional, *keywords.values()):
        tensors += [t for t in (value if isinstance(value, (list, tuple)) else (value,)) if isinstance(t, torch.Tensor)]
    return tensors


def _refuse_tangents(tensors: Sequence[torch.Tensor], message: str) -> None:
    for tensor in tensors:
        if tensor.is_floating_point() and forward_ad.unpack_dual(tensor).tangent is not None:
            raise RuntimeError(message)
