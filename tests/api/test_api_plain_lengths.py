# SPDX-License-Identifier: Apache-2.0
"""The overloads whose lengths are plain integers (NAME.ints, NAME.out_ints): the same operators, taken by name."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv, StatelessSymbolicContext

import ascend_attention
from ascend_attention import torch_ops as torch_ops  # registers the operators

NAMES = ("npu_fused_infer_attention_score_v2", "npu_prompt_flash_attention", "block_sparse_attention_v2")
FIA = NAMES[0]


def packet(name: str) -> Any:
    return getattr(torch.ops.ascend_attention, name)


def arguments(name: str, **changes: Any) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(3)
    query, key, value = (torch.randn(2, 2, 16, 32, generator=generator).half() for _ in range(3))
    heads = {"num_query_heads" if name == FIA else "num_heads": 2}
    lengths = {"actual_seq_kvlen" if name == FIA else "actual_seq_lengths_kv": [16, 9]}
    return {"query": query, "key": key, "value": value, "input_layout": "BNSD", **heads, **lengths, **changes}


@pytest.mark.parametrize("name", NAMES)
def test_only_the_type_of_lengths_is_another(name: str) -> None:
    helper = f"{name}_get_max_workspace"
    for operator, symbolic, plain in (name, "default", "ints"), (name, "out", "out_ints"), (helper, "default", "ints"):
        given, expected = (getattr(packet(operator), overload)._schema for overload in (plain, symbolic))
        assert str(expected).count("SymInt[]?") == (3 if "sparse" in name else 2)
        assert str(given).split("(", 1)[1] == str(expected).split("(", 1)[1].replace("SymInt[]?", "int[]?")


@pytest.mark.parametrize("name", NAMES[:2])
def test_results_are_the_same(name: str) -> None:
    given, operator = arguments(name), packet(name)
    results = [overload(**given) for overload in (operator.default, operator.ints)]
    expected, same = (result if isinstance(result, tuple) else (result,) for result in results)
    assert all(map(torch.equal, expected, same))
    buffers = dict(zip(("attention_out", "softmax_lse"), map(torch.zeros_like, expected), strict=False))
    helper = packet(f"{name}_get_max_workspace")
    workspace = helper.ints(**given)
    assert workspace.shape == helper.default(**given).shape
    operator.out_ints(**given, workspace=workspace, **buffers)
    assert all(map(torch.equal, expected, buffers.values()))


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("lengths", [[16, 17], [3, -1], [4], [], [2**62] * 300])
@pytest.mark.parametrize("name", NAMES[:2])
def test_refusals_are_the_same(name: str, lengths: list[int], device: str) -> None:
    given = arguments(name, **{"actual_seq_kvlen" if name == FIA else "actual_seq_lengths_kv": lengths})
    given = {n: value.to(device) if isinstance(value, torch.Tensor) else value for n, value in given.items()}
    helper = packet(f"{name}_get_max_workspace")
    texts = {answer(operator, given) for operator in (packet(name).default, packet(name).ints)}
    assert len(texts | {answer(operator, given) for operator in (helper.default, helper.ints)}) == 1
    assert texts != {"accepted"} or lengths in ([4], [])


def answer(operator: Callable[..., Any], given: dict[str, Any]) -> str:
    try:
        operator(**given)
    except RuntimeError as error:
        return str(error)
    return "accepted"


def test_a_sparse_call_is_refused_alike() -> None:
    given = {n: torch.empty(4, 2, 128, dtype=torch.float16) for n in ("query", "key", "value")}
    given |= {"q_input_layout": "TND", "kv_input_layout": "TND", "num_key_value_heads": 2, "scale_value": 1.0}
    given |= {"actual_seq_lengths": [2, 3], "actual_seq_lengths_kv": [4]}
    operator = packet(NAMES[2])
    first = answer(operator.default, given)
    assert "[BSA-" in first and first == answer(operator.ints, given)


def test_opcheck() -> None:
    operator, given = packet(FIA), arguments(FIA, return_softmax_lse=True)
    positional = [given.pop(n) for n in ("query", "key", "value")]
    out, lse = operator(*positional, **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's note that no derivative is registered, which is meant
        for overload, buffers in (
            (operator.ints, {}),
            (operator.out_ints, {"attention_out": out, "softmax_lse": lse}),
        ):
            results = torch.library.opcheck(overload, positional, {**given, **buffers})
            assert set(results.values()) == {"SUCCESS"}


def test_derivatives_are_refused() -> None:
    operator, given = packet(FIA), arguments(FIA)
    expected = operator(**given)
    given["query"].requires_grad_()
    with pytest.raises(RuntimeError, match="has no derivative"):
        operator.ints(**given)[0].sum().backward()
    with pytest.raises(RuntimeError, match="takes no part in automatic differentiation"):
        operator.out_ints(**given, attention_out=torch.zeros_like(expected[0]), softmax_lse=expected[1])
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(given["key"], torch.ones_like(given["key"]))
        for call in (operator.ints, operator.default, ascend_attention.npu_fused_infer_attention_score_v2):
            with pytest.raises(RuntimeError, match="has no derivative"):
                call(**{**given, "key": dual})


@pytest.mark.parametrize("name", NAMES)
def test_a_packet_takes_the_overload_that_keeps_symbols(name: str) -> None:
    assert packet(name).overloads()[0] == "default"
    assert packet(f"{name}_get_max_workspace").overloads()[0] == "default"


def test_a_symbolic_length_stays_one() -> None:
    given = arguments(FIA)
    dynamic = StatelessSymbolicContext([DimDynamic.STATIC, DimDynamic.STATIC, DimDynamic.DYNAMIC, DimDynamic.STATIC])
    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        given["query"] = mode.from_tensor(given["query"])
        for name in ("key", "value"):
            given[name] = mode.from_tensor(given[name], symbolic_context=dynamic)
        rows = given["key"].shape[2]
        given["actual_seq_kvlen"] = [rows, rows]
        assert packet(FIA)(**given)[0].shape == (2, 2, 16, 32)
        assert rows.node.maybe_as_int() is None
        packet(FIA).ints(**given)
        assert rows.node.maybe_as_int() == 16  # why a packet must not take this one
