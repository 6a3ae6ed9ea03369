# SPDX-License-Identifier: Apache-2.0
"""key and value as lists with one tensor for each sequence: judged by every door alike, and computed."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from helpers.doors import OPERATOR, to_torch

import ascend_attention
from ascend_attention import AttentionError, check, explain, golden
from ascend_attention.precision import compare_fused_infer_attention_score_v2

KINDS: dict[str, Callable[[Any], Any]] = {"numpy": lambda value: value, "torch": to_torch}
LENGTHS = (7, 0, 3)


def listed(**changes: Any) -> dict[str, Any]:
    rng = np.random.default_rng(5)
    entries = [rng.standard_normal((1, length, 2, 16)).astype(np.float16) for length in LENGTHS]
    query = rng.standard_normal((3, 4, 4, 16)).astype(np.float16)
    return {
        "query": query, "key": entries, "value": [entry + 1 for entry in entries], "input_layout": "BSND",
        "num_query_heads": 4, "num_key_value_heads": 2, "softmax_scale": 0.25, **changes,
    }  # fmt: skip


def of_kind(kind: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: KINDS[kind](value) for name, value in arguments.items()}


def text_of(call: Callable[..., Any], arguments: dict[str, Any]) -> str:
    with pytest.raises(AttentionError) as caught:
        call(**arguments)
    return str(caught.value)


def run(**arguments: Any) -> Any:
    return ascend_attention.npu_fused_infer_attention_score_v2(**arguments)


def judge(**arguments: Any) -> None:
    check(OPERATOR, **arguments)


@pytest.mark.parametrize("kind", KINDS)
def test_lists_and_tuples_give_what_golden_computes(kind: str) -> None:
    judge(**of_kind(kind, listed()))
    tuples = {name: tuple(value) if name in ("key", "value") else value for name, value in listed().items()}
    for given in (listed(), tuples):
        out, _ = run(**{name: _tensors(KINDS[kind], value) for name, value in given.items()})
        report = compare_fused_infer_attention_score_v2(out, **listed())
        assert report.passed, report.table()


def _tensors(convert: Callable[[Any], Any], value: Any) -> Any:
    return type(value)(map(convert, value)) if isinstance(value, (list, tuple)) else convert(value)


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"value": np.zeros((3, 7, 2, 16), np.float16)}, "FIA-C35"),
        ({"key": listed()["key"][:2]}, "FIA-C35"),
        ({"key": [], "value": []}, "FIA-C35"),
        ({"block_table": np.zeros((3, 1), np.int32), "block_size": 128}, "FIA-C69"),
        ({"actual_seq_kvlen": [7, 1, 3]}, "FIA-C39"),
        ({"value": None}, "FIA-A2"),
    ],
)
def test_refusals_read_the_same_for_both_kinds(changes: dict[str, Any], rule: str) -> None:
    texts = {text_of(call, of_kind(kind, listed(**changes))) for call in (run, judge) for kind in KINDS}
    assert len(texts) == 1 and f"[{rule}, " in texts.pop()


@pytest.mark.parametrize("kind", KINDS)
def test_explained_as_golden_computes(kind: str) -> None:
    """Each sequence sees its own tensor; the results have the shape that golden gives."""
    arguments = listed(return_softmax_lse=True, sparse_mode=2, atten_mask=np.zeros((2048, 2048), bool))
    text = explain(OPERATOR, **of_kind(kind, arguments))
    keys = re.findall(r"sequence \d: 4 queries, (?:(\d+)|no) keys?", text)
    assert [int(count or 0) for count in keys] == list(LENGTHS)
    out, lse = golden.fused_infer_attention_score_v2(**arguments)
    assert f"attention_out float16 {out.shape}" in text and f"softmax_lse   float32 {lse.shape}" in text
    for b, length in enumerate(LENGTHS):
        one = {**arguments, **{name: arguments[name][b : b + 1] for name in ("query", "key", "value")}}
        one.update(key=one["key"][0], value=one["value"][0])
        assert np.array_equal(golden.fused_infer_attention_score_v2(**one)[0][0], out[b])
        assert out[b].any() == (length > 0)


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_query_has_its_results(kind: str) -> None:
    out, lse = run(**of_kind(kind, listed(query=np.zeros((3, 0, 4, 16), np.float16))))
    assert tuple(out.shape) == (3, 0, 4, 16) and lse.tolist() == [0.0]


def test_entries_that_are_no_tensors_are_named() -> None:
    for key, named in (([np.zeros(1), 3], r"key\[1\]: given 3 \(int\)"), ([[1, 2]], r"key\[0\]: given \[1, 2\]")):
        with pytest.raises(TypeError, match=f"^{OPERATOR}: {named}"):
            run(**listed(key=key))
    with pytest.raises(TypeError, match=rf"^{OPERATOR}: key\[2\]: given array.*torch.Tensor"):
        run(**{**of_kind("torch", listed()), "key": [torch.zeros(1), torch.zeros(1), np.zeros(1)]})
    with pytest.raises(TypeError, match=f"^{OPERATOR}: query: given .* \\(list\\)"):  # no list of tensors there
        run(**listed(query=[np.zeros(1)]))
