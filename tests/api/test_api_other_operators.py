# SPDX-License-Identifier: Apache-2.0
"""npu_prompt_flash_attention and block_sparse_attention_v2 through their doors: refused alike, inferred, computed."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from helpers.doors import same_bits, to_numpy
from helpers.rule_file import Rule, read_rules

import ascend_attention
from ascend_attention import AttentionError, AttentionNotSupported, check, explain, golden

DATA = Path(__file__).parents[1] / "conformance"
CODES = {"refuse": 161002, "null": 161001, "later": 561003}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "npu_prompt_flash_attention": ascend_attention.npu_prompt_flash_attention,
    "block_sparse_attention_v2": ascend_attention.block_sparse_attention_v2,
}
FILES = {"npu_prompt_flash_attention": "pfa_rules.txt", "block_sparse_attention_v2": "bsa_v2_rules.txt"}


def rules(op: str) -> list[Rule]:
    return [rule for rule in read_rules(DATA / FILES[op]) if rule.bytes_needed() < 1 << 24]


def to_torch(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype.name in ("bfloat16", "float8_e4m3fn"):
        integer = np.int16 if value.dtype.itemsize == 2 else np.int8
        return torch.from_numpy(value.view(integer)).view(getattr(torch, value.dtype.name))
    return torch.from_numpy(value)


@pytest.mark.parametrize("op", FUNCTIONS)
def test_every_rule_reads_alike_at_every_door(op: str) -> None:
    operator = getattr(torch.ops.ascend_attention, op)
    seen = 0
    for rule in rules(op):
        if rule.about_results():
            continue
        given = rule.arguments()
        tensors = {name: to_torch(value) for name, value in given.items()}
        contract = ascend_attention.contract("extended" if rule.extended else "document")
        with ascend_attention.simulator(soc=rule.soc), contract:
            if rule.verdict == "accept":
                check(op, **given)
                text = explain(op, **tensors)
                assert text.startswith(f"{op}, ") and "\nruns          yes\n" in text, str(rule)
                continue
            with pytest.raises(AttentionError) as caught:
                FUNCTIONS[op](**given)
            error = caught.value
            assert (error.code, error.operator) == (CODES[rule.verdict], op), str(rule)
            assert isinstance(error, AttentionNotSupported) == (rule.verdict == "later")
            assert rule.words in str(error)
            if rule.verdict != "later":
                assert error.rule == rule.rule
                with pytest.raises(AttentionError) as explained:
                    explain(op, **given)
                assert str(explained.value) == str(error)
            else:
                assert "not supported yet" in explain(op, **tensors)
            with pytest.raises(AttentionError) as through_torch:
                FUNCTIONS[op](**tensors)
            assert str(through_torch.value) == str(error)
            if rule.verdict != "null":  # torch's schema does not let None pass for a required tensor
                with pytest.raises(RuntimeError) as through_ops:
                    operator(**tensors)
                assert str(through_ops.value) == str(error)
        seen += 1
    assert seen > 100


@pytest.mark.parametrize("op", FUNCTIONS)
def test_every_rule_about_results_holds_for_the_out_variant(op: str) -> None:
    operator = getattr(torch.ops.ascend_attention, op)
    seen = 0
    for rule in rules(op):
        if not rule.about_results():
            continue
        given = {name: to_torch(value) for name, value in rule.arguments().items()}
        with ascend_attention.simulator(soc=rule.soc):
            made = operator(**given)
            results = dict(
                zip(("attention_out", "softmax_lse"), made if isinstance(made, tuple) else [made], strict=False)
            )
            results.update({name: to_torch(value) for name, value in rule.results().items()})
            if rule.verdict == "accept":
                operator.out(**given, **results)
            else:
                with pytest.raises(RuntimeError, match=f"{rule.rule}, code {CODES[rule.verdict]}"):
                    operator.out(**given, **results)
        seen += 1
    assert seen > 5


def prompts(layout: str = "BNSD", dtype: Any = np.float16, heads: int = 4, key_heads: int = 2) -> dict[str, Any]:
    random = np.random.default_rng(5)
    shapes = {"query": (2, heads, 20, 32), "key": (2, key_heads, 24, 32), "value": (2, key_heads, 24, 32)}
    arrays = {name: random.standard_normal(shape).astype(dtype) for name, shape in shapes.items()}
    if layout in ("BSND", "BSH"):
        arrays = {name: np.ascontiguousarray(array.transpose(0, 2, 1, 3)) for name, array in arrays.items()}
    if layout == "BSH":
        arrays = {name: array.reshape(*array.shape[:2], -1) for name, array in arrays.items()}
    return {
        **arrays, "input_layout": layout, "num_heads": heads, "num_key_value_heads": key_heads,
        "scale_value": 1 / math.sqrt(32),
    }  # fmt: skip


CAUSAL = np.triu(np.ones((2048, 2048), bool), 1)
CASES: list[dict[str, Any]] = [
    prompts(),
    prompts("BSND", ml_dtypes.bfloat16) | {"sparse_mode": 3, "atten_mask": CAUSAL},
    prompts("BSH") | {"actual_seq_lengths": [20, 7], "actual_seq_lengths_kv": (24, 9)},
    # next_tokens is 0 unless it is given: with a mask, nothing right of the diagonal.
    prompts("BNSD_BSND") | {"atten_mask": np.zeros((20, 24), bool)},
    prompts() | {"atten_mask": np.arange(24)[None] > np.full((20, 1), 17), "next_tokens": 2147483647},
    prompts() | {"sparse_mode": 4, "atten_mask": CAUSAL, "pre_tokens": 5, "next_tokens": 2},
]


@pytest.mark.parametrize("arguments", CASES, ids=[str(i) for i in range(len(CASES))])
def test_prompts_are_computed_like_the_golden_model(arguments: dict[str, Any]) -> None:
    with ascend_attention.simulator(mode="checked"):
        out = ascend_attention.npu_prompt_flash_attention(**arguments)
    tensors = {name: to_torch(value) for name, value in arguments.items()}
    assert same_bits(to_numpy(ascend_attention.npu_prompt_flash_attention(**tensors)), out)
    assert same_bits(to_numpy(torch.ops.ascend_attention.npu_prompt_flash_attention(**tensors)), out)
    exact = golden.prompt_flash_attention(**arguments)
    assert (out.shape, out.dtype) == (exact.shape, arguments["query"].dtype)
    np.testing.assert_allclose(out.astype(np.float64), exact, rtol=0, atol=4e-3 if out.dtype == np.float16 else 3e-2)


def test_one_row_and_no_mask_is_not_causal() -> None:
    given = prompts()
    given["query"] = np.ascontiguousarray(given["query"][:, :, :1])
    np.testing.assert_allclose(
        ascend_attention.npu_prompt_flash_attention(**given).astype(np.float64),
        golden.prompt_flash_attention(**given), rtol=0, atol=4e-3,
    )  # fmt: skip


def test_results_without_a_kernel() -> None:
    given = prompts()
    given["key"] = given["value"] = np.zeros((2, 2, 0, 32), np.float16)
    assert not ascend_attention.npu_prompt_flash_attention(**given).any()
    sparse = {
        "query": np.ones((2, 4, 8, 64), np.float16), "key": np.zeros((2, 2, 0, 64), np.float16),
        "value": np.zeros((2, 2, 0, 64), np.float16), "block_sparse_mask": np.zeros((2, 4, 1, 0), np.int8),
        "q_input_layout": "BNSD", "kv_input_layout": "BNSD", "num_key_value_heads": 2, "scale_value": 0.1,
    }  # fmt: skip
    out, lse = ascend_attention.block_sparse_attention_v2(**sparse, softmax_lse_flag=1)
    assert not out.any() and out.shape == (2, 4, 8, 64) and lse.shape == (2, 4, 8, 1) and np.all(lse == np.inf)
    assert ascend_attention.block_sparse_attention_v2(**sparse)[1].shape == (0,)


def test_a_batch_of_any_size_is_explained() -> None:
    """The document of block-sparse attention sets no limit."""
    rows = torch.empty(2**60, 1, 0, 64, dtype=torch.float16, device="meta")
    sparse = {
        "query": rows, "key": rows, "value": rows, "q_input_layout": "BNSD", "kv_input_layout": "BNSD",
        "block_sparse_mask": torch.empty(2**60, 1, 0, 0, dtype=torch.int8, device="meta"), "num_key_value_heads": 1,
    }  # fmt: skip
    text = explain("block_sparse_attention_v2", **sparse, scale_value=0.1)
    assert f"\nlengths       sequences 0 to {2**60 - 1}: 0 queries, 0 keys: 0 by 0 blocks\n" in text
    none = {name: value[:0] if isinstance(value, torch.Tensor) else value for name, value in sparse.items()}
    assert "\nlengths " not in explain("block_sparse_attention_v2", **none, scale_value=0.1)


def test_the_torch_npu_signature_of_block_sparse_attention() -> None:
    random = np.random.default_rng(3)
    query = random.standard_normal((32, 8, 64)).astype(np.float16)
    mask = np.ones((1, 8, 1, 1), np.int8)
    lengths = {"actual_seq_lengths": [32], "actual_seq_lengths_kv": np.array([32]), "num_key_value_heads": 8}
    out, lse = ascend_attention.npu_block_sparse_attention(query, query, query, mask, [128, 128], **lengths)
    same = ascend_attention.npu_block_sparse_attention(*(to_torch(x) for x in (query, query, query, mask)), [128, 128],
                                                       **lengths)  # fmt: skip
    np.testing.assert_array_equal(out, same[0].numpy())
    np.testing.assert_allclose(out, np.broadcast_to(query.astype(np.float32).mean(0), out.shape), atol=2e-3)
    assert lse.shape == (0,)
    bfloat16 = query.astype(ml_dtypes.bfloat16)
    with pytest.raises(AttentionError, match="BSA-C12"):  # its default of inner_precise is for float16 only
        ascend_attention.npu_block_sparse_attention(bfloat16, bfloat16, bfloat16, mask, [128, 128], **lengths)
    check(ascend_attention.npu_block_sparse_attention, query, query, query, mask, [128, 128], **lengths)
    text = explain("npu_block_sparse_attention", query, query, query, mask, [128, 128], **lengths)
    assert text.startswith("npu_block_sparse_attention, document contract\n")
    assert "multiplied by 0, so that all keys that a row sees weigh the same; 1 / sqrt(head_dim) is 0.125\n" in text
    with pytest.raises(AttentionError, match="BSA-C1, code 161001"):
        ascend_attention.npu_block_sparse_attention(None, query, query, mask, [128, 128], **lengths)


@pytest.mark.parametrize("name", ["q_input_layout", "kv_input_layout", "num_key_value_heads", "scale_value"])
@pytest.mark.parametrize("convert", [lambda array: array, torch.from_numpy], ids=["numpy", "torch"])
def test_none_for_an_argument_without_a_default_is_named(convert: Callable[[Any], Any], name: str) -> None:
    query, blocks = convert(np.zeros((1, 8, 32, 64), np.float16)), convert(np.ones((1, 8, 1, 1), np.int8))
    call: dict[str, Any] = {
        "q_input_layout": "BNSD",
        "kv_input_layout": "BNSD",
        "num_key_value_heads": 8,
        "scale_value": 1,
    }
    call[name] = None
    with pytest.raises(TypeError, match=f"^block_sparse_attention_v2: {name}: given None .NoneType.; allowed: "):
        ascend_attention.block_sparse_attention_v2(query, query, query, block_sparse_mask=blocks, **call)


# Changed arguments of a call of 32 tokens with 8 heads, and what its refusal says.
BY_ITS_NAME: list[tuple[dict[str, Any], str]] = [
    ({}, "num_key_value_heads: given 1 (default); allowed: the N axis of key (8, "),
    ({"num_key_value_heads": 1}, "num_key_value_heads: given 1; allowed: "),
    ({"key": np.zeros((1, 32, 8, 64), np.float16)},
     "key: given shape (1, 32, 8, 64); allowed: 3 dimensions for input layout TND (default) [BSA-C15"),
    ({"key": np.zeros((1, 32, 8, 64), np.float16), "q_input_layout": "TND"},
     "allowed: 3 dimensions for input layout TND [BSA-C15"),
    ({"scale_value": "1"}, "scale_value: given '1' (str); allowed: a float"),
    ({"block_shape": None, "scale": 1}, "got an unexpected keyword argument 'scale'; did you mean 'scale_value'?"),
]  # fmt: skip


@pytest.mark.parametrize(("changed", "expected"), BY_ITS_NAME)
def test_refusals_go_by_the_name_that_was_called(changed: dict[str, Any], expected: str) -> None:
    query = np.zeros((32, 8, 64), np.float16)
    call = {
        "query": query, "key": query, "value": query, "block_sparse_mask": np.ones((1, 8, 1, 1), np.int8),
        "block_shape": [128, 128], "actual_seq_lengths": [32], "actual_seq_lengths_kv": [32], **changed,
    }  # fmt: skip
    for ask in (
        ascend_attention.npu_block_sparse_attention,
        functools.partial(check, "npu_block_sparse_attention"),
        functools.partial(explain, ascend_attention.npu_block_sparse_attention),
    ):
        with pytest.raises((AttentionError, TypeError)) as caught:
            ask(**call)
        text = str(caught.value)
        assert text.startswith("npu_block_sparse_attention: ") and expected in text
        if isinstance(caught.value, AttentionError):
            error = caught.value
            assert f"{error.operator}: {error.argument}: given {error.given}; allowed: {error.allowed} [" in text


@pytest.mark.parametrize("op", FUNCTIONS)
def test_signatures_defaults_and_schemas_are_those_of_the_documents(op: str) -> None:
    schema = getattr(torch.ops.ascend_attention, op).default._schema
    python = inspect.signature(FUNCTIONS[op]).parameters
    assert [argument.name for argument in schema.arguments] == list(python)
    for argument in schema.arguments:
        default = python[argument.name].default
        if argument.kwarg_only:
            assert argument.has_default_value() == (default is not inspect.Parameter.empty), argument.name
            assert not argument.has_default_value() or argument.default_value == default, argument.name
    golden_function = golden.prompt_flash_attention if "prompt" in op else golden.block_sparse_attention_v2
    for name, parameter in inspect.signature(golden_function).parameters.items():
        if name in python and inspect.Parameter.empty not in (python[name].default, parameter.default):
            assert parameter.default == python[name].default, name
