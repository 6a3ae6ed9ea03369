# SPDX-License-Identifier: Apache-2.0
"""Every request that the checks accept has a meaning: the golden model gives results of the shapes and dtypes that the
host predicts, over all that the documents allow, built or not. With the default of 20 samples: 2 000 requests of the
fused operator, 400 of prompt flash attention, 200 of block-sparse attention."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from helpers.fia_requests import FAMILIES, Request, random_request
from helpers.other_requests import FLOAT8, random_prompt_request, random_sparse_request

import ascend_attention
from ascend_attention import AttentionError, golden


@dataclass(frozen=True)
class Operator:
    name: str
    draw: Callable[[np.random.Generator], Request]
    model: Callable[..., Any]
    requests: int  # for each sample
    unlucky: tuple[str, ...] = ()  # rules that a draw of lengths may break: bounds that leave a sequence nothing to see


OPERATORS = [
    Operator("npu_fused_infer_attention_score_v2", random_request, golden.fused_infer_attention_score_v2, 100,
             ("FIA-C49", "FIA-C50")),
    Operator("npu_prompt_flash_attention", random_prompt_request, golden.prompt_flash_attention, 20),
    Operator("block_sparse_attention_v2", random_sparse_request, golden.block_sparse_attention_v2, 10),
]  # fmt: skip


def words(request: Request) -> str:
    return ", ".join(
        f"{name}={f'{value.dtype}{value.shape}' if isinstance(value, np.ndarray) else value}"
        for name, value in request.items()
    )


def predicted(text: str, result: str) -> str:
    """Its dtype and shape."""
    match = re.search(rf"^{result} +(\w+ \(.*?\))", text, re.MULTILINE)
    assert match, text
    return match[1]


@pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.name)
def test_accepted_requests_have_golden_results_of_the_predicted_form(
    operator: Operator, sample_rng: np.random.Generator
) -> None:
    accepted = 0
    for _ in range(operator.requests + operator.requests // 10):
        request = operator.draw(sample_rng)
        try:
            with ascend_attention.simulator(soc=_soc(request)):
                text = ascend_attention.explain(operator.name, **request)
        except AttentionError as error:
            assert error.rule in operator.unlucky, f"{words(request)}\n{error}"
            continue
        accepted += 1
        results = operator.model(**request, dtype_flow="device")
        for name, result in zip(("attention_out", "softmax_lse"), _as_tuple(results), strict=False):
            # From float8 arrays the golden model gives bfloat16 as bits: NumPy alone has no such dtype.
            dtype = "bfloat16" if result.dtype == np.uint16 else result.dtype
            assert f"{dtype} {result.shape}" == predicted(text, name), words(request)
        if accepted == operator.requests:
            return
    raise AssertionError(f"only {accepted} requests were accepted")


def _soc(request: Request) -> str:
    return "Ascend950PR_9589" if request["query"].dtype == FLOAT8 else "Ascend910B2"


def _as_tuple(results: Any) -> tuple[np.ndarray, ...]:
    return results if isinstance(results, tuple) else (results,)


def _used(drawn: list[Request]) -> set[str]:
    return {name for request in drawn for name, value in request.items() if value is not None}


def test_the_requests_use_everything_that_the_fused_operator_has() -> None:
    rng = np.random.default_rng(1)
    drawn = [random_request(rng) for _ in range(40 * len(FAMILIES))]
    assert _used(drawn) >= {
        *("query_rope", "key_rope", "pse_shift", "atten_mask", "actual_seq_qlen", "actual_seq_kvlen", "block_table"),
        *("dequant_scale_query", "dequant_scale_key", "dequant_offset_key", "quant_scale_out", "quant_offset_out"),
        *("learnable_sink", "pre_tokens", "next_tokens", "inner_precise", "return_softmax_lse"),
    }
    assert {request["input_layout"] for request in drawn} == {
        *("BSH", "BSND", "BNSD", "BNSD_BSND", "BSH_NBSD", "BSND_NBSD", "BNSD_NBSD", "TND", "TND_NTD", "NTD_TND")
    }
    assert {request.get("sparse_mode", 0) for request in drawn} >= {0, 1, 2, 3, 4}
    modes = {(request.get("key_quant_mode", 0), request.get("value_quant_mode", 0)) for request in drawn}
    assert modes >= {(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (0, 1)}
    keys = [request["key"] for request in drawn]
    assert any(isinstance(key, list) for key in keys)
    dtypes = {key.dtype.name for key in keys if not isinstance(key, list)}
    assert dtypes == {"float16", "bfloat16", "int8", "int32"}


def test_the_requests_use_everything_that_the_others_have() -> None:
    rng = np.random.default_rng(1)
    prompt = [random_prompt_request(rng) for _ in range(200)]
    assert _used(prompt) >= {
        *("pse_shift", "atten_mask", "actual_seq_lengths", "actual_seq_lengths_kv", "pre_tokens", "next_tokens"),
        *("deq_scale1", "quant_scale1", "deq_scale2", "quant_scale2", "quant_offset2"),
    }
    assert {request["input_layout"] for request in prompt} == {"BSH", "BSND", "BNSD", "BNSD_BSND", "TND"}
    sparse = [random_sparse_request(rng) for _ in range(100)]
    assert _used(sparse) >= {"block_shape", "actual_seq_lengths", "actual_seq_lengths_kv", "softmax_lse_flag"}
    assert {request["query"].dtype.name for request in sparse} == {"float16", "bfloat16", "float8_e4m3fn"}
    assert {request["q_input_layout"] for request in sparse} == {"TND", "BNSD", "BSND"}
