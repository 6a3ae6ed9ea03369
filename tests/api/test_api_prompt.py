# SPDX-License-Identifier: Apache-2.0
"""npu_prompt_flash_attention with torch: the document's calls, eager and compiled; opcheck; fakes; every variant."""

from __future__ import annotations

import functools
import math
import warnings
from typing import Any

import pytest
import torch
from helpers.prompt_cases import PromptCase
from helpers.torch_cases import small_call, split
from torch._subclasses.fake_tensor import FakeTensorMode

import ascend_attention
from ascend_attention.precision import compare_prompt_flash_attention

packet = torch.ops.ascend_attention.npu_prompt_flash_attention
max_workspace = torch.ops.ascend_attention.npu_prompt_flash_attention_get_max_workspace
function = ascend_attention.npu_prompt_flash_attention
case = functools.partial(small_call, kind=PromptCase)

# The document's examples: 164 queries and 1024 keys of 8 heads.
CALL = {
    "num_heads": 8, "input_layout": "BNSD", "scale_value": 1 / math.sqrt(128.0), "pre_tokens": 65535,
    "next_tokens": 65535,
}  # fmt: skip


@pytest.fixture(scope="module")
def tensors() -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(11)
    shapes = (1, 8, 164, 128), (1, 8, 1024, 128), (1, 8, 1024, 128)
    return tuple(torch.randn(shape, generator=generator).half() for shape in shapes)


def test_the_documents_call(tensors: tuple[torch.Tensor, ...]) -> None:
    lengths = {"actual_seq_lengths": [164], "actual_seq_lengths_kv": [1024]}
    out = function(*tensors, **lengths, **CALL)
    assert out.shape == (1, 8, 164, 128) and out.dtype == torch.float16
    assert compare_prompt_flash_attention(out, *tensors, **lengths, **CALL).passed


def test_the_documents_compiled_call(tensors: tuple[torch.Tensor, ...]) -> None:
    """In a module without inputs; the default backend in place of the NPU's."""
    torch._dynamo.reset()
    query, key, value = tensors

    class Model(torch.nn.Module):
        def forward(self) -> torch.Tensor:
            return function(query, key, value, **CALL)  # type: ignore[no-any-return]

    with torch.no_grad():
        compiled = torch.compile(Model(), dynamic=False, fullgraph=True)
        graph_output = compiled()
    assert torch.equal(graph_output, function(query, key, value, **CALL))


def test_compiled_with_lengths_and_a_mask() -> None:
    torch._dynamo.reset()
    arguments = case("BSND", sparse_mode=3, mask_shape="SS", dtype="bfloat16")
    positional, keywords = split(arguments)
    keywords.pop("actual_seq_lengths_kv")

    def layer(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, lengths: list[int]) -> torch.Tensor:
        return function(query * 2, key, value, actual_seq_lengths_kv=lengths, **keywords).float() + 1

    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    for lengths in ([48, 30], [5, 41]):
        assert torch.equal(compiled(*positional, lengths), layer(*positional, lengths))


FORMS = {
    "BSH": case("BSH"),
    "BSND-mask": case("BSND", sparse_mode=1, mask_shape="SS", mask_dtype="uint8"),
    "BNSD-causal": case(dtype="bfloat16", sparse_mode=3, mask_shape="SS"),
    "BNSD_BSND-bias": case("BNSD_BSND", pse="random", pse_padded=True),
    "TND": case("TND", dtype="bfloat16", head_dim=192, value_head_dim=128, sparse_mode=3, mask_shape="SS"),
    "odd": case("BSND", head_dim=23),
}
OUT_SHAPES = {
    "BSH": (2, 20, 128), "BSND-mask": (2, 20, 4, 32), "BNSD-causal": (2, 4, 20, 32), "BNSD_BSND-bias": (2, 20, 4, 32),
    "TND": (31, 4, 128), "odd": (2, 20, 4, 23),
}  # fmt: skip
SHAPES_ONLY = ("test_schema", "test_autograd_registration", "test_faketensor")


def passes_opcheck(operator: Any, arguments: dict[str, Any], **options: Any) -> None:
    positional, keywords = split(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's note that no derivative is registered, which is meant
        assert set(torch.library.opcheck(operator, positional, keywords, **options).values()) == {"SUCCESS"}


@pytest.mark.parametrize("form", FORMS)
def test_opcheck(form: str) -> None:
    options = {} if form in ("BSH", "TND") else {"test_utils": SHAPES_ONLY}
    passes_opcheck(packet.default, FORMS[form], **options)


def test_opcheck_of_the_other_overloads() -> None:
    arguments = FORMS["TND"]
    passes_opcheck(packet.out, arguments | {"attention_out": torch.zeros(OUT_SHAPES["TND"], dtype=torch.bfloat16)})
    # The other check compares bytes, and a workspace's bytes are nobody's.
    passes_opcheck(max_workspace.default, arguments, test_utils=SHAPES_ONLY)


@pytest.mark.parametrize("form", FORMS)
def test_every_variant_gives_the_same(form: str) -> None:
    arguments = FORMS[form]
    out = packet(**arguments)
    assert out.shape == OUT_SHAPES[form] and out.dtype == arguments["query"].dtype and out.is_contiguous()
    again = torch.full_like(out, 7)
    assert packet.out(**arguments, workspace=max_workspace(**arguments), attention_out=again) is None
    assert torch.equal(again, out)
    assert torch.equal(function(**arguments), out)
    with FakeTensorMode() as mode:
        fakes = {n: mode.from_tensor(v) if isinstance(v, torch.Tensor) else v for n, v in arguments.items()}
        results = [packet(**fakes), function(**fakes)]
    results.append(packet(**{n: v.to("meta") if isinstance(v, torch.Tensor) else v for n, v in arguments.items()}))
    for fake in results:
        assert (fake.shape, fake.dtype, fake.stride()) == (out.shape, out.dtype, out.stride())


def test_there_is_no_derivative() -> None:
    positional, keywords = split(FORMS["BSH"])
    query = positional[0].clone().requires_grad_()
    with pytest.raises(RuntimeError, match="npu_prompt_flash_attention has no derivative"):
        packet(query, *positional[1:], **keywords).sum().backward()
