# SPDX-License-Identifier: Apache-2.0
"""Derivatives that do not exist: refused when they are asked for, and not before."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest
import torch

import ascend_attention
from ascend_attention import _torch_derivative
from ascend_attention import torch_ops as torch_ops  # registers the operators

function = ascend_attention.npu_fused_infer_attention_score_v2
packet = torch.ops.ascend_attention.npu_fused_infer_attention_score_v2
KEYWORDS: dict[str, Any] = {"num_query_heads": 2, "input_layout": "BNSD", "softmax_scale": 0.25}


def inputs() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(1, 2, 16, 16, generator=generator).half() for _ in range(3)]


def buffers() -> dict[str, torch.Tensor]:
    return {"attention_out": torch.full((1, 2, 16, 16), 7.0).half(), "softmax_lse": torch.full((1,), 7.0)}


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
def test_derivatives_are_refused_when_they_are_asked_for() -> None:
    query, key, value = inputs()
    expected = function(query, key, value, **KEYWORDS)[0]
    text = "npu_fused_infer_attention_score_v2 has no derivative"

    def loss(tensor: torch.Tensor) -> torch.Tensor:
        return function(tensor, key, value, **KEYWORDS)[0].float().sum() + tensor.float().sum()

    for ask in (
        lambda: torch.func.jvp(loss, (query,), (query,)),
        lambda: torch.func.grad(loss)(query),
        lambda: torch.func.vjp(loss, query),
        lambda: loss(query.clone().requires_grad_()).backward(),
    ):
        with pytest.raises(RuntimeError, match=text):
            ask()
    wants = query.clone().requires_grad_()
    assert torch.equal(function(wants, key, value, **KEYWORDS)[0], expected)
    with torch.no_grad():
        assert not function(wants, key, value, **KEYWORDS)[0].requires_grad
    with torch.inference_mode():
        assert torch.equal(function(wants, key, value, **KEYWORDS)[0], expected)
    with pytest.raises(RuntimeError, match="out-variant takes no part in automatic differentiation"):
        packet.out(wants, key, value, **KEYWORDS, **buffers())
    with torch.no_grad():
        packet.out(wants, key, value, **KEYWORDS, **buffers())


def test_a_compiled_graph_refuses_only_its_backward_part() -> None:
    torch._dynamo.reset()
    query, key, value = inputs()
    query.requires_grad_()
    compiled = torch.compile(
        lambda a: function(a, key, value, **KEYWORDS)[0].float() + a, fullgraph=True, backend="aot_eager"
    )
    result = compiled(query)
    assert torch.equal(result, function(query, key, value, **KEYWORDS)[0].float() + query)
    with pytest.raises(RuntimeError, match="has no derivative"):
        result.sum().backward()


@pytest.mark.parametrize("overload", packet.overloads())
def test_every_overload_refuses(overload: str) -> None:
    query, key, value = inputs()
    given: dict[str, Any] = {"query": query[:, :, :0], "key": key, "value": value, **KEYWORDS}
    if "lists" in overload:
        given |= {"key": [key], "value": [value]}
    if "lengths" in overload:
        given |= {"actual_seq_kvlen": torch.tensor([16])}
    results = {"attention_out": torch.empty(1, 2, 0, 16).half(), "softmax_lse": torch.zeros(1)}
    operator, is_out = getattr(packet, overload), overload.startswith("out")
    given |= results if is_out else {}
    operator(**given)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(value, torch.ones_like(value))
        with pytest.raises(RuntimeError, match="has no derivative"):
            operator(**given | {"value": [dual] if "lists" in overload else dual})
    value.requires_grad_()
    if is_out:
        with pytest.raises(RuntimeError, match="out-variant takes no part in automatic differentiation"):
            operator(**given)
    else:
        result = operator(**given)[0]
        with pytest.raises(RuntimeError, match="has no derivative"):
            result.sum().backward()
    with torch.no_grad():
        assert is_out or not operator(**given)[0].requires_grad


def test_a_buffer_that_was_saved_for_a_derivative_is_known_to_be_overwritten() -> None:
    results = buffers()
    factor = torch.ones(1, 2, 16, 16, requires_grad=True)
    product = factor.half() * results["attention_out"]
    before = results["attention_out"]._version
    with torch.no_grad():
        packet.out(*inputs(), **KEYWORDS, **results)
        assert results["attention_out"]._version > before
        with pytest.raises(RuntimeError, match="sparse_mode"):
            packet.out(*inputs(), **(KEYWORDS | {"sparse_mode": 9}), **results)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()
    with torch.inference_mode():
        results = buffers()  # nobody can differentiate these: they have no version
        packet.out(*inputs(), **KEYWORDS, **results)


def test_a_call_without_a_derivative_does_not_ask_python(monkeypatch: pytest.MonkeyPatch) -> None:
    if not _torch_derivative.kernels_pass_by():
        pytest.skip("the last test took the kernels away")

    def asked(*_: Any) -> None:
        raise AssertionError("Python was asked")

    monkeypatch.setattr(_torch_derivative, "_tensors", asked)
    packet(*inputs(), **KEYWORDS)
    packet.out(*inputs(), **KEYWORDS, **buffers())
    with pytest.raises(AssertionError, match="Python was asked"):
        packet(inputs()[0].requires_grad_(), *inputs()[1:], **KEYWORDS)


def test_all_of_this_holds_without_the_kernels_for_one_torch_release() -> None:
    if not _torch_derivative.kernels_pass_by():
        return  # this is the process below
    program = f"""
import pathlib, sys
import pytest
from ascend_attention import _torch_derivative
_torch_derivative._PASS_BY = pathlib.Path("of another release")
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-k", "not compiled", {__file__!r}]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert " passed, 1 skipped, 1 deselected" in done.stdout
