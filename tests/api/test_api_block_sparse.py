# SPDX-License-Identifier: Apache-2.0
"""block_sparse_attention_v2 with torch: eager and compiled, opcheck, fakes, every variant gives the same."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from helpers.bsa_cases import BsaCase, judge
from helpers.doors import to_torch
from torch._subclasses.fake_tensor import FakeTensorMode

import ascend_attention

packet = torch.ops.ascend_attention.block_sparse_attention_v2
max_workspace = torch.ops.ascend_attention.block_sparse_attention_v2_get_max_workspace
function = ascend_attention.block_sparse_attention_v2

CASES = {
    "TND": BsaCase("door", "TND", batch=2, heads=2, key_heads=1, lengths=(40, 21), key_lengths=(300, 150), block_x=32),
    "BNSD": BsaCase("door", "BNSD", "bfloat16", heads=2, query_length=50, key_length=300),
    "BSND": BsaCase("door", "BSND", batch=2, heads=2, query_length=50, key_length=300, lengths=(50, 7),
                    key_lengths=(129, 300), lse=False),
}  # fmt: skip
SHAPES_ONLY = ("test_schema", "test_autograd_registration", "test_faketensor")


def torch_arguments(form: str) -> dict[str, Any]:
    return {name: to_torch(value) for name, value in CASES[form].arguments().items()}


def split(arguments: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    rest = dict(arguments)
    return tuple(rest.pop(name) for name in ("query", "key", "value")), rest


def passes_opcheck(operator: Any, arguments: dict[str, Any], **options: Any) -> None:
    positional, keywords = split(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's note that no derivative is registered, which is meant
        assert set(torch.library.opcheck(operator, positional, keywords, **options).values()) == {"SUCCESS"}


def test_opcheck() -> None:
    passes_opcheck(packet.default, torch_arguments("TND"))
    passes_opcheck(packet.default, torch_arguments("BSND"), test_utils=SHAPES_ONLY)


@pytest.mark.parametrize("form", CASES)
def test_every_variant_gives_the_same(form: str) -> None:
    arguments = torch_arguments(form)
    results = packet(**arguments)
    arrays = function(**CASES[form].arguments())
    assert not judge(CASES[form], arrays)
    again = [torch.full_like(result, 7) for result in results]
    workspace = max_workspace(**arguments)
    assert packet.out(**arguments, workspace=workspace, attention_out=again[0], softmax_lse=again[1]) is None
    for other in (again, function(**arguments), [to_torch(x) for x in arrays]):
        assert all(torch.equal(a, b) for a, b in zip(results, other, strict=True))
    with FakeTensorMode() as mode:
        fakes = {n: mode.from_tensor(v) if isinstance(v, torch.Tensor) else v for n, v in arguments.items()}
        for fake, result in zip(packet(**fakes), results, strict=True):
            assert (fake.shape, fake.dtype, fake.stride()) == (result.shape, result.dtype, result.stride())


def test_compiled_as_one_graph() -> None:
    torch._dynamo.reset()
    positional, keywords = split(torch_arguments("TND"))

    def layer(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return function(query * 2, key, value, **keywords)[0].float() + 1

    compiled = torch.compile(layer, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(*positional), layer(*positional))
