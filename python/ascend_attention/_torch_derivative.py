# SPDX-License-Identifier: Apache-2.0
"""Says that the torch operators have no derivative, when one is asked for and not before.

Without an autograd kernel torch would return no gradient with a warning, and zero tangents without one. With it, a call
on tensors that require a gradient works; asking for the gradient raises, in compiled graphs too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import torch
from torch.autograd import forward_ad

_CPU = torch._C.DispatchKey.CPU
_BELOW = torch._C._after_ADInplaceOrView_keyset
_libraries: list[Any] = []  # what a library registers ends with it


def can_be_asked_for(tensors: Iterable[torch.Tensor]) -> bool:
    """Whether somebody may ask for a derivative of a call on these tensors, forwards or backwards."""
    return (
        (torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors))
        or forward_ad._current_level >= 0
        or torch._C._are_functorch_transforms_active()
    )


def below_autograd() -> AbstractContextManager[Any]:
    """Calls inside pass by the kernels of this module, which are Python and cost as much as all else before a launch.

    For calls of whose results no derivative ``can_be_asked_for``.
    """
    return torch._C._AutoDispatchBelowAutograd()


def refuse_derivatives(namespace: str, name: str) -> None:
    """For the operator `name` and its out-variant, and for both with lengths that are plain integers."""
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

    def redispatch(overload: Any, plain: Any, keys: Any, *positional: Any, **keywords: Any) -> Any:
        """The next kernel. Only a kernel that runs, not one that traces, gets its lengths the faster way."""
        below = keys & _BELOW
        following = plain if below.highestPriorityTypeId() == _CPU else overload
        with below_autograd():
            return following.redispatch(below, *positional, **keywords)

    def functional(overload: Any, keys: Any, *positional: Any, **keywords: Any) -> Any:
        tensors = _tensors(positional, keywords)
        if not can_be_asked_for(tensors):
            return redispatch(overload, packet.ints, keys, *positional, **keywords)
        _refuse_tangents(tensors, message)
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            if torch._C._are_functorch_transforms_active():  # torch.func.grad, vjp: somebody asks
                raise RuntimeError(message)
            call = partial(redispatch, overload, packet.ints, keys, *positional, **keywords)
            return WithoutDerivative.apply(call, *tensors)
        return redispatch(overload, packet.ints, keys, *positional, **keywords)

    def out(overload: Any, keys: Any, *positional: Any, **keywords: Any) -> Any:
        tensors = _tensors(positional, keywords)
        if can_be_asked_for(tensors):
            _refuse_tangents(tensors, message)
            if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
                raise RuntimeError(
                    f"{name}.out: an out-variant takes no part in automatic differentiation, as with torch's own, "
                    "but one of the arguments requires a gradient. Call it under torch.no_grad()."
                )
        return redispatch(overload, packet.out_ints, keys, *positional, **keywords)

    for kernel, overload in (
        (functional, packet.default), (functional, packet.ints), (out, packet.out), (out, packet.out_ints)
    ):  # fmt: skip
        library.impl(overload, partial(kernel, overload), "Autograd", with_keyset=True)


def _raise(message: str) -> Any:
    raise RuntimeError(message)


def _tensors(positional: Sequence[Any], keywords: dict[str, Any]) -> list[torch.Tensor]:
    return [value for value in (*positional, *keywords.values()) if isinstance(value, torch.Tensor)]


def _refuse_tangents(tensors: Sequence[torch.Tensor], message: str) -> None:
    for tensor in tensors:
        if tensor.is_floating_point() and forward_ad.unpack_dual(tensor).tangent is not None:
            raise RuntimeError(message)
