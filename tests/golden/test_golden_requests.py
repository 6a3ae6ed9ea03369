# SPDX-License-Identifier: Apache-2.0
"""Every request that the checks accept has a meaning: the golden model gives a result of the shape and dtype that the
host predicts, over all that the document allows, built or not. 100 requests for each sample, 2 000 by default."""

from __future__ import annotations

import re

import numpy as np
from helpers.fia_requests import FAMILIES, Request, random_request

import ascend_attention
from ascend_attention import AttentionError, golden

OPERATOR = "npu_fused_infer_attention_score_v2"
REQUESTS = 100


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


def test_accepted_requests_have_a_golden_result_of_the_predicted_form(sample_rng: np.random.Generator) -> None:
    accepted = 0
    for _ in range(REQUESTS + REQUESTS // 10):
        request = random_request(sample_rng)
        try:
            text = ascend_attention.explain(OPERATOR, **request)
        except AttentionError as error:
            # Legal but for the lengths that were drawn: bounds that leave a sequence nothing to see.
            assert error.rule in ("FIA-C49", "FIA-C50"), f"{words(request)}\n{error}"
            continue
        accepted += 1
        out, lse = golden.fused_infer_attention_score_v2(**request, dtype_flow="device")
        assert f"{out.dtype} {out.shape}" == predicted(text, "attention_out"), words(request)
        assert f"{lse.dtype} {lse.shape}" == predicted(text, "softmax_lse"), words(request)
        if accepted == REQUESTS:
            return
    raise AssertionError(f"only {accepted} requests were accepted")


def test_the_requests_use_everything_that_the_document_has() -> None:
    rng = np.random.default_rng(1)
    drawn = [random_request(rng) for _ in range(30 * len(FAMILIES))]
    used = {name for request in drawn for name, value in request.items() if value is not None}
    assert used >= {
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
    assert {request["key"].dtype.name for request in drawn} == {"float16", "bfloat16", "int8", "int32"}
