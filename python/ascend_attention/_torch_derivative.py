# SPDX-License-Identifier: Apache-2.0
"""Says that the torch operators have no derivative, when one is asked for and not before.

Without an autograd kernel torch would return no gradient with a warning, and zero tangents without one. With it, a call
on tensors that require a gradient works; asking for the gradient raises, in compiled graphs too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.autograd.forward_ad import unpack_dual

_libraries: list[Any] = []  # what a library registers ends with it


def refuse_derivatives(namespace: str, name: str) -> None:
    """For the operator `name` and its out-variant."""
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

    def functional(keys: Any, *positional: Any, **keywords: Any) -> Any:
        def call() -> Any:
            with torch._C._AutoDispatchBelowAutograd():
                return packet.default.redispatch(keys & torch._C._after_autograd_keyset, *positional, **keywords)

        tensors = list(_tensors(positional, keywords))
        _refuse_tangents(tensors, message)
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            if torch._C._are_functorch_transforms_active():  # torch.func.grad, vjp: somebody asks
                raise RuntimeError(message)
            return WithoutDerivative.apply(call, *tensors)
        return call()

    def out(keys: Any, *positional: Any, **keywords: Any) -> Any:
        tensors = list(_tensors(positional, keywords))
        _refuse_tangents(tensors, message)
        if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
            raise RuntimeError(
                f"{name}.out: an out-variant takes no part in automatic differentiation, as with torch's own, "
                "but one of the arguments requires a gradient. Call it under torch.no_grad()."
            )
        with torch._C._AutoDispatchBelowAutograd():
            return packet.out.redispatch(keys & torch._C._after_autograd_keyset, *positional, **keywords)

    library.impl(name, functional, "Autograd", with_keyset=True)
    library.impl(f"{name}.out", out, "Autograd", with_keyset=True)


def _raise(message: str) -> Any:
    raise RuntimeError(message)


def _tensors(positional: Sequence[Any], keywords: dict[str, Any]) -> Iterator[torch.Tensor]:
    yield from (value for value in (*positional, *keywords.values()) if isinstance(value, torch.Tensor))


def _refuse_tangents(tensors: Sequence[torch.Tensor], message: str) -> None:
    for tensor in tensors:
        if tensor.is_floating_point() and unpack_dual(tensor).tangent is not None:
            raise RuntimeError(message)
