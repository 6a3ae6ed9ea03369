# SPDX-License-Identifier: Apache-2.0
"""Tensors and numbers that are not what they look like."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import ascend_attention
from ascend_attention import AttentionError, AttentionNotSupported

function = ascend_attention.npu_fused_infer_attention_score_v2
packet = torch.ops.ascend_attention.npu_fused_infer_attention_score_v2
max_workspace = torch.ops.ascend_attention.npu_fused_infer_attention_score_v2_get_max_workspace
KEYWORDS: dict[str, Any] = {"num_query_heads": 2, "input_layout": "BNSD", "softmax_scale": 0.25}


def inputs() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(3)
    return [torch.randn(1, 2, 16, 16, generator=generator).half() for _ in range(3)]


def buffers() -> dict[str, torch.Tensor]:
    return {"attention_out": torch.full((1, 2, 16, 16), 7.0).half(), "softmax_lse": torch.full((1,), 7.0)}


@pytest.mark.parametrize("name", ["key", "atten_mask", "attention_out", "softmax_lse", "workspace"])
def test_one_meta_tensor_among_real_ones_is_refused(name: str) -> None:
    query, key, value = inputs()
    given = {"query": query, "key": key, "value": value, "atten_mask": torch.zeros(16, 16, dtype=torch.bool)}
    given |= KEYWORDS
    results = buffers() | {"workspace": max_workspace(**given)}
    operator = packet if name in given else packet.out
    every = given if name in given else given | results
    every[name] = every[name].to("meta")
    text = f"{name}: given a tensor on meta; allowed: a tensor on cpu, as query is"
    with pytest.raises(RuntimeError, match=text):
        operator(**every)
    assert torch.all(results["attention_out"] == 7)
    if name in given:
        with pytest.raises(AttentionError, match=text):
            function(**every)
        with pytest.raises(RuntimeError, match=text):
            max_workspace(**every)


def test_none_for_a_required_tensor() -> None:
    query, key, value = inputs()
    with pytest.raises(RuntimeError, match=r"query: given none; allowed: a tensor .FIA-A2, code 161001"):
        packet(None, key, value, **KEYWORDS)
    for name in ("attention_out", "softmax_lse"):
        with pytest.raises(RuntimeError, match=f"{name}: given none; allowed: a tensor .FIA-A3, code 161001"):
            packet.out(query, key, value, **KEYWORDS, **(buffers() | {name: None}))


def test_a_workspace_between_two_blocks_is_refused_before_anything_is_written() -> None:
    arguments = inputs()
    size = max_workspace(*arguments, **KEYWORDS).numel()
    room = torch.zeros(size + 64, dtype=torch.uint8)
    for offset in (1, 2, 4, 8, 16):
        results = buffers()
        with pytest.raises(RuntimeError, match=f"workspace: given an address that is {offset} bytes above"):
            packet.out(*arguments, **KEYWORDS, **results, workspace=room[offset : offset + size])
        assert torch.all(results["attention_out"] == 7)
    with ascend_attention.simulator(mode="checked"):
        packet.out(*arguments, **KEYWORDS, **(results := buffers()), workspace=room[32 : 32 + size])
    assert torch.equal(results["attention_out"], packet(*arguments, **KEYWORDS)[0])


def test_a_tensor_that_begins_between_two_elements_is_refused() -> None:
    query, key, value = (tensor.numpy() for tensor in inputs())
    askew = np.frombuffer(b"?" + key.tobytes(), key.dtype, offset=1).reshape(key.shape)
    with pytest.raises(AttentionError, match=r"key: given an address that is 1 bytes above a multiple of 2; .*MEMORY"):
        function(query, askew, value, **KEYWORDS)
    out = torch.frombuffer(bytearray(1 + query.nbytes), dtype=torch.float16, offset=1).view(query.shape)
    with pytest.raises(RuntimeError, match="attention_out: given an address that is 1 bytes above a multiple of 2"):
        packet.out(*inputs(), **KEYWORDS, **(buffers() | {"attention_out": out}))


def test_refused_workspaces_say_what_they_are() -> None:
    arguments, results = inputs(), buffers()
    with pytest.raises(RuntimeError, match=r"workspace: given complex64; allowed: .* bytes, of uint8"):
        packet.out(*arguments, **KEYWORDS, **results, workspace=torch.empty(1000, dtype=torch.complex64))
    room = torch.zeros(max_workspace(*arguments, **KEYWORDS).numel(), dtype=torch.uint8)
    out = room[:1024].view(torch.float16).view(1, 2, 16, 16)
    with pytest.raises(RuntimeError, match=r"overlaps attention_out.*The kernel writes both"):
        packet.out(*arguments, **KEYWORDS, **(results | {"attention_out": out}), workspace=room)


@pytest.mark.parametrize("left", [0, 40])
def test_a_storage_that_was_resized_has_no_elements(left: int) -> None:
    query, key, value = inputs()
    key.untyped_storage().resize_(left)
    with pytest.raises(RuntimeError, match=f"key: given a tensor whose storage has {left} bytes"):
        packet(query, key, value, **KEYWORDS)
    with pytest.raises(AttentionError, match=f"key: given a tensor whose storage has {left} bytes"):
        function(query, key, value, **KEYWORDS)
    results = buffers()
    results["attention_out"].untyped_storage().resize_(left)
    with pytest.raises(RuntimeError, match=f"attention_out: given a tensor whose storage has {left} bytes"):
        packet.out(query, query, value, **KEYWORDS, **results)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::DeprecationWarning")
def test_quantized_and_nested_tensors_are_refused() -> None:
    query, key, value = inputs()
    quantized = torch.quantize_per_tensor(query.float(), 0.1, 0, torch.qint8)
    with pytest.raises(AttentionError, match="query: given a quantized tensor; allowed: a dense tensor"):
        function(quantized, key, value, **KEYWORDS)
    nested = torch.nested.nested_tensor([key[0]])
    with pytest.raises(AttentionError, match="key: given a nested tensor; allowed: a dense tensor"):
        function(query, nested, value, **KEYWORDS)


def test_lengths_that_cannot_be_read_are_refused() -> None:
    for lengths, given in (
        (torch.tensor([16], device="meta"), "a tensor on meta"),
        (torch.tensor([16]).to_sparse(), "a tensor on cpu, of layout torch.sparse_coo"),
    ):
        with pytest.raises(AttentionError, match=f"actual_seq_kvlen: given {given}"):
            function(*inputs(), **KEYWORDS, actual_seq_kvlen=lengths)
    for lengths in (bytearray(b"\x10"), memoryview(b"\x10"), np.array([16], "m8[ns]"), np.array([16], "M8[ns]")):
        with pytest.raises(TypeError, match="actual_seq_kvlen: given "):
            function(*inputs(), **KEYWORDS, actual_seq_kvlen=lengths)
    with pytest.raises(TypeError, match=r"sparse_mode: given .*; allowed: an int"):
        function(*inputs(), **KEYWORDS, sparse_mode=torch.tensor(True))


def test_texts_and_numbers_that_cannot_be_printed() -> None:
    for layout, given in (("BN\0SD\n", r"'BN\\x00SD\\x0a'"), ("\ud800", r"'\\ud800'"), ("\u00e4", "'\u00e4'")):
        for arguments in (inputs(), [tensor.numpy() for tensor in inputs()]):
            with pytest.raises(AttentionError, match=f"input_layout: given {given}; allowed: BSH.*FIA-C7"):
                function(*arguments, **(KEYWORDS | {"input_layout": layout}))  # type: ignore[type-var]
    with pytest.raises(AttentionError, match=r"soc: given 'a\\x00b'; allowed: "):
        ascend_attention.simulator("a\0b")
    huge = 10**5000
    with pytest.raises(AttentionError, match="num_query_heads: given an integer of 16610 bits"):
        function(*inputs(), **(KEYWORDS | {"num_query_heads": huge}))
    with pytest.raises(AttentionError, match=r"actual_seq_qlen\[0\]: given an integer of 16610 bits"):
        function(*inputs(), **KEYWORDS, actual_seq_qlen=[huge])
    with pytest.raises(TypeError, match="softmax_scale: given a value too long to show"):
        function(*inputs(), **(KEYWORDS | {"softmax_scale": huge}))


def test_more_work_than_a_plan_can_count_is_not_supported_anywhere() -> None:
    query = torch.empty(65536, 256, 32896, 16, dtype=torch.float16, device="meta")
    key = torch.empty(65536, 256, 16, 16, dtype=torch.float16, device="meta")
    keywords: dict[str, Any] = {"num_query_heads": 256, "input_layout": "BNSD"}
    given = r"legal by the document, but not supported yet: given 4311744512 tiles of work"
    text = rf"query: {given}.*\[NOT-YET, code 561003\]"
    for operator in (packet, max_workspace):
        with pytest.raises(RuntimeError, match=text):
            operator(query, key, key, **keywords)
    with pytest.raises(AttentionNotSupported, match=text):
        function(query, key, key, **keywords)


@pytest.mark.parametrize("shape", [(2, 17, 20), (0,), (17, 19)])
def test_the_mask_of_an_empty_query_must_fit_too(shape: tuple[int, ...]) -> None:
    query, key = np.zeros((0, 1, 17, 32), np.float16), np.zeros((0, 1, 20, 32), np.float16)
    keywords: dict[str, Any] = {"num_query_heads": 1, "input_layout": "BNSD"}
    with pytest.raises(AttentionError, match=r"atten_mask: given shape .*FIA-C45"):
        function(query, key, key, **keywords, atten_mask=np.zeros(shape, bool))
    assert function(query, key, key, **keywords, atten_mask=np.zeros((17, 20), bool))[0].size == 0


SYMBOLIC: list[tuple[int, dict[str, Any]]] = [
    (3, KEYWORDS),
    (3, {"num_query_heads": 0, "input_layout": "BSH"}),
    (3, {"num_query_heads": 2, "input_layout": "TND", "actual_seq_qlen": [16], "actual_seq_kvlen": [16]}),
    (4, KEYWORDS | {"input_layout": "x"}),
    (4, KEYWORDS | {"sparse_mode": 9}),
    (4, KEYWORDS | {"num_query_heads": 3}),
]


@pytest.mark.parametrize(("rank", "keywords"), SYMBOLIC)
def test_dynamic_shapes_are_refused_in_the_same_words(rank: int, keywords: dict[str, Any]) -> None:
    torch._dynamo.reset()
    arguments = [torch.randn(2, 16, 32).half() if rank == 3 else torch.randn(2, 2, 16, 16).half() for _ in range(3)]
    with pytest.raises(AttentionError) as eager:
        function(*arguments, **keywords)
    compiled = torch.compile(lambda *a: function(*a, **keywords), fullgraph=True, backend="eager", dynamic=True)
    with pytest.raises(RuntimeError) as refused:
        compiled(*arguments)
    assert str(eager.value) in str(refused.value)
