# SPDX-License-Identifier: Apache-2.0
"""Shapes and dtypes of results: ours beside those of the meta functions that the PyPI package torch_npu ships.

Without the vendor's libraries the package must not be imported, which torch does by itself:
    pip install --no-deps torch-npu
    TORCH_DEVICE_BACKEND_AUTOLOAD=0 python -m pytest tests/api/test_api_stock_meta.py
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from helpers import stock_meta
from helpers.doors import to_torch
from helpers.fia_requests import Request, random_request
from helpers.other_requests import random_prompt_request, random_sparse_request

import ascend_attention
from ascend_attention import AttentionError

OPERATOR = "npu_fused_infer_attention_score_v2"
Meta = Callable[..., tuple[torch.Tensor, torch.Tensor]]


@pytest.fixture(scope="module")
def stock() -> dict[str, Callable[..., Any]]:
    path = stock_meta.find_file()
    if path is None:
        pytest.skip("torch_npu is not installed; the head of this file says how to have it without its libraries")
    return stock_meta.read_functions(path)


def on_meta(request: Request) -> dict[str, Any]:
    arrays = {
        name for name, value in request.items() if isinstance(value, np.ndarray) and not name.startswith("actual")
    }
    return {name: to_torch(value).to("meta") if name in arrays else value for name, value in request.items()}


def drawn(rng: np.random.Generator) -> dict[str, Any]:
    """A request with key and value as the stock function takes them: not in lists."""
    request = random_request(rng)
    while isinstance(request["key"], list):
        request = random_request(rng)
    return on_meta(request)


def form(tensor: torch.Tensor) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')} {tuple(tensor.shape)}"


def predicted(text: str, result: str) -> str:
    match = re.search(rf"^{result} +(\w+ \(.*?\))", text, re.MULTILINE)
    assert match, text
    return match[1]


def test_results_have_the_form_of_the_stock_operator(stock: dict[str, Meta], seed: int) -> None:
    function = stock[OPERATOR]
    rng = np.random.default_rng(seed)
    for _ in range(400):
        request = drawn(rng)
        try:
            text = ascend_attention.explain(OPERATOR, **request)
        except AttentionError:
            continue
        out, lse = function(**request)
        assert form(out) == predicted(text, "attention_out"), request
        if request.get("return_softmax_lse"):
            assert form(lse) == predicted(text, "softmax_lse"), request
        else:  # the document says one zero, the stock functions an empty tensor
            assert (form(lse), predicted(text, "softmax_lse")) == ("float32 (0,)", "float32 (1,)")


def test_fake_kernels_give_the_same(stock: dict[str, Meta], seed: int) -> None:
    """For what runs, through the fake kernel itself."""
    rng = np.random.default_rng(seed)
    for _ in range(200):
        request = drawn(rng)
        for name in ("actual_seq_qlen", "actual_seq_kvlen"):
            if name in request:
                request[name] = [int(length) for length in request[name]]
        try:
            ours = ascend_attention.npu_fused_infer_attention_score_v2(**request)
        except AttentionError:
            continue
        theirs = stock[OPERATOR](**request)
        assert form(ours[0]) == form(theirs[0])
        assert not request.get("return_softmax_lse") or form(ours[1]) == form(theirs[1])


def test_prompt_flash_attention_has_the_form_of_the_stock_operator(stock: dict[str, Any], seed: int) -> None:
    rng = np.random.default_rng(seed)
    name = "npu_prompt_flash_attention"
    for _ in range(200):
        request = on_meta(random_prompt_request(rng))
        text = ascend_attention.explain(name, **request)
        assert form(stock[name](**request)) == predicted(text, "attention_out"), request


def test_block_sparse_attention_has_the_form_of_the_stock_operator(stock: dict[str, Any], seed: int) -> None:
    name = "npu_block_sparse_attention"
    if name not in stock:
        pytest.skip("this torch_npu has no npu_block_sparse_attention; 2.14.0 has")
    rng = np.random.default_rng(seed)
    for _ in range(200):
        given = random_sparse_request(rng, float8=0)
        # The stock function requires block_shape, and inner_precise 0 with bfloat16.
        request = on_meta({"block_shape": [128, 128], **given, "inner_precise": 0})
        text = ascend_attention.explain(name, **request)
        out, lse = stock[name](**request)
        assert form(out) == predicted(text, "attention_out"), request
        if request["softmax_lse_flag"]:
            assert form(lse) == predicted(text, "softmax_lse"), request
        else:  # there its full shape without a meaning, here nothing
            assert (form(lse), predicted(text, "softmax_lse")) == (f"float32 {(*out.shape[:-1], 1)}", "float32 (0,)")
