# SPDX-License-Identifier: Apache-2.0
"""Documented corners, arguments and errors of the golden model."""

from __future__ import annotations

import dataclasses
import inspect
import tracemalloc
from typing import Any

import numpy as np
import pytest
from helpers.fia_cases import FiaCase
from helpers.fia_edges import edge_cases
from helpers.fia_random import random_case

from ascend_attention.golden import GoldenError, attention, fused_infer_attention_score_v2

SMALL = FiaCase("small", batch=2, num_query_heads=4, num_key_value_heads=2, query_length=5, key_length=11, head_dim=16)

# The prototype, in the document's order.
PROTOTYPE: dict[str, Any] = {
    "query_rope": None, "key_rope": None, "pse_shift": None, "atten_mask": None, "actual_seq_qlen": None,
    "actual_seq_kvlen": None, "block_table": None, "dequant_scale_query": None, "dequant_scale_key": None,
    "dequant_offset_key": None, "dequant_scale_value": None, "dequant_offset_value": None,
    "dequant_scale_key_rope": None, "quant_scale_out": None, "quant_offset_out": None, "learnable_sink": None,
    "num_query_heads": 1, "num_key_value_heads": 0, "softmax_scale": 1.0, "pre_tokens": 2147483647,
    "next_tokens": 2147483647, "input_layout": "BSH", "sparse_mode": 0, "block_size": 0, "query_quant_mode": 0,
    "key_quant_mode": 0, "value_quant_mode": 0, "inner_precise": 0, "return_softmax_lse": False, "query_dtype": None,
    "key_dtype": None, "value_dtype": None, "query_rope_dtype": None, "key_rope_dtype": None,
    "key_shared_prefix_dtype": None, "value_shared_prefix_dtype": None, "dequant_scale_query_dtype": None,
    "dequant_scale_key_dtype": None, "dequant_scale_value_dtype": None, "dequant_scale_key_rope_dtype": None,
}  # fmt: skip


def test_signature_is_the_documents() -> None:
    parameters = list(inspect.signature(fused_infer_attention_score_v2).parameters.values())
    assert [p.name for p in parameters[:3]] == ["query", "key", "value"]
    keywords = {p.name: p.default for p in parameters[3:] if p.name not in ("dtype_flow", "round_output")}
    assert list(keywords.items()) == list(PROTOTYPE.items())
    assert all(p.kind is p.KEYWORD_ONLY for p in parameters[3:])


@pytest.mark.parametrize("case", [c for c in edge_cases() if c.work < 2**20], ids=lambda case: case.name)
@pytest.mark.parametrize("flow", ["exact", "device"])
def test_padding_has_no_influence(case: FiaCase, flow: str) -> None:
    clean = dataclasses.replace(case, poison=False)
    out, lse = fused_infer_attention_score_v2(**case.arguments("bits"), dtype_flow=flow)
    expected, expected_lse = fused_infer_attention_score_v2(**clean.arguments("bits"), dtype_flow=flow)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(lse, expected_lse)
    assert np.isfinite(out.astype(np.float64)).all()
    assert not np.isnan(lse).any()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("flow", ["exact", "device"])
def test_a_bias_of_minus_infinity_leaves_no_weight(flow: str) -> None:
    """A row of nothing else is like one that sees no key, and a sink is all that such a row's sum has."""
    query, key = np.ones((1, 1, 3, 16), np.float16), np.ones((1, 1, 4, 16), np.float16)
    value = np.arange(1, 65, dtype=np.float16).reshape(1, 1, 4, 16)
    bias = np.zeros((1, 1, 3, 4), np.float16)
    bias[..., 1, :], bias[..., 2, :3] = -np.inf, -np.inf
    out, lse = fused_infer_attention_score_v2(
        query, key, value, pse_shift=bias, input_layout="BNSD", return_softmax_lse=True, dtype_flow=flow
    )
    assert np.isfinite(out[0, 0, 0]).all() and (out[0, 0, 2] == value[0, 0, 3]).all() and lse[0, 0, 2, 0] == 16
    assert (out[0, 0, 1] == 0).all() and lse[0, 0, 1, 0] == np.inf
    out, lse = fused_infer_attention_score_v2(
        query, key, value, pse_shift=bias, learnable_sink=np.float16([2]), input_layout="BNSD", return_softmax_lse=True,
        dtype_flow=flow,
    )  # fmt: skip
    assert (out[0, 0, 1] == 0).all() and lse[0, 0, 1, 0] == 2
    out, lse = fused_infer_attention_score_v2(
        query, key, value, pse_shift=bias, learnable_sink=np.float32([-np.inf]).astype(np.float16),
        input_layout="BNSD", return_softmax_lse=True, dtype_flow=flow,
    )  # fmt: skip
    assert (out[0, 0, 1] == 0).all() and lse[0, 0, 1, 0] == -255 * 2.0**120 and lse[0, 0, 2, 0] == 16
    query[0, 0, 0, 0] = np.nan
    out, _ = fused_infer_attention_score_v2(
        query, key, value, pse_shift=bias, input_layout="BNSD", return_softmax_lse=True, dtype_flow=flow
    )
    assert np.isnan(out[0, 0, 0]).all() and (out[0, 0, 1] == 0).all()


def test_rows_without_keys_and_padding_rows() -> None:
    case = dataclasses.replace(SMALL, actual_seq_qlen=(3, 5), actual_seq_kvlen=(11, 2), sparse_mode=3, mask_shape="SS")
    for flow in ("exact", "device"):
        for precise in range(4):
            out, lse = fused_infer_attention_score_v2(**{**case.arguments(), "inner_precise": precise}, dtype_flow=flow)
            assert (out[0, :, 3:] == 0).all() and (lse[0, :, 3:] == np.inf).all()  # beyond actual_seq_qlen
            assert (out[1, :, :3] == 0).all() and (lse[1, :, :3] == np.inf).all()  # 5 queries on 2 keys, right-down
            assert (out[1, :, 3:] != 0).any() and np.isfinite(lse[1, :, 3:]).all()
            assert np.isfinite(lse[0, :, :3]).all()


def test_hidden_infinities_have_no_influence() -> None:
    """A pair that the mask removes is removed, whatever stands there."""
    arguments = dataclasses.replace(SMALL, mask_shape="SS", mask_pattern="none", sparse_mode=1).arguments()
    arguments["atten_mask"][:4, 6] = True  # row 4 still sees key 6
    expected, _ = fused_infer_attention_score_v2(**arguments)
    arguments["key"][:, :, 6] = np.inf
    arguments["value"][:, :, 6] = np.nan
    out, lse = fused_infer_attention_score_v2(**arguments)
    np.testing.assert_allclose(out[:, :, :4], expected[:, :, :4], rtol=1e-12)
    assert np.isfinite(lse[:, :, :4]).all()
    assert np.isnan(out[:, :, 4]).all()


def test_one_query_row_ignores_modes_tokens_and_query_lengths() -> None:
    case = dataclasses.replace(SMALL, query_length=1)
    plain, plain_lse = fused_infer_attention_score_v2(**case.arguments())
    changed = {"sparse_mode": 3, "pre_tokens": -3, "next_tokens": 0, "actual_seq_qlen": [0, 0]}
    out, lse = fused_infer_attention_score_v2(**{**case.arguments(), **changed})
    np.testing.assert_array_equal(out, plain)
    np.testing.assert_array_equal(lse, plain_lse)
    mask = np.zeros((2, 11), bool)
    mask[1, 4:] = True
    shorter = dataclasses.replace(case, actual_seq_kvlen=(11, 4), poison=False)
    expected, _ = fused_infer_attention_score_v2(**shorter.arguments())
    for shape in ((2, 11), (2, 1, 11), (2, 1, 1, 11)):
        out, _ = fused_infer_attention_score_v2(**{**case.arguments(), "atten_mask": mask.reshape(shape)})
        np.testing.assert_allclose(out, expected, rtol=1e-12)


def test_empty_inputs() -> None:
    for layout, q_shape, k_shape, lse_shape in (
        ("BSH", (2, 0, 32), (2, 7, 16), (2, 2, 0, 1)),
        ("BNSD", (0, 2, 3, 16), (0, 1, 7, 16), (0, 2, 3, 1)),
    ):
        query, key = np.zeros(q_shape, np.float16), np.zeros(k_shape, np.float16)
        out, lse = fused_infer_attention_score_v2(
            query, key, key, num_query_heads=2, num_key_value_heads=1, input_layout=layout, return_softmax_lse=True
        )
        assert out.shape == q_shape and lse.shape == lse_shape
    query, key = np.ones((2, 3, 32), np.float16), np.zeros((2, 0, 16), np.float16)
    for flow in ("exact", "device"):
        out, lse = fused_infer_attention_score_v2(
            query, key, key, num_query_heads=2, num_key_value_heads=1, return_softmax_lse=True, dtype_flow=flow
        )
        assert out.shape == query.shape and (out == 0).all() and (lse == np.inf).all()


def test_value_may_be_narrower_than_key(seed: int) -> None:
    rng = np.random.default_rng(seed)
    query, key = (rng.standard_normal((1, 9, 2, 32)).astype(np.float16) for _ in range(2))
    value = rng.standard_normal((1, 9, 2, 48)).astype(np.float16)
    out, _ = fused_infer_attention_score_v2(query, key, value, num_query_heads=2, input_layout="BSND")
    assert out.shape == (1, 9, 2, 48)
    first, _ = fused_infer_attention_score_v2(query, key, value[..., :32], num_query_heads=2, input_layout="BSND")
    np.testing.assert_allclose(out[..., :32], first, rtol=1e-12)


def test_inputs_are_not_changed() -> None:
    arguments = dataclasses.replace(SMALL, mask_shape="B1SS", sparse_mode=1).arguments()
    before = {name: x.copy() for name, x in arguments.items() if isinstance(x, np.ndarray)}
    for flow in ("exact", "device"):
        fused_infer_attention_score_v2(**arguments, dtype_flow=flow)
    for name, x in before.items():
        np.testing.assert_array_equal(arguments[name], x)


def test_chunks_do_not_show(sample_rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    case = random_case(sample_rng, max_work=2**20)
    print(case)
    for flow in ("exact", "device"):
        whole, whole_lse = fused_infer_attention_score_v2(**case.arguments("bits"), dtype_flow=flow)
        monkeypatch.setattr(attention, "_CHUNK", 3 * case.key_length + 1)
        parts, parts_lse = fused_infer_attention_score_v2(**case.arguments("bits"), dtype_flow=flow)
        monkeypatch.undo()
        if flow == "exact":  # the device flow's float32 sums over keys are in NumPy's order, which may differ
            np.testing.assert_allclose(parts_lse, whole_lse, rtol=1e-12)
            np.testing.assert_allclose(parts, whole, rtol=0, atol=1e-12 * float(np.abs(whole).max(initial=0)))


def test_long_sequences_fit_in_memory(seed: int) -> None:
    """8192 x 8192 scores in float64 would be 512 MiB; they are never held at once."""
    rng = np.random.default_rng(seed)
    query, key, value = (rng.standard_normal((1, 8192, 16)).astype(np.float16) for _ in range(3))
    tracemalloc.start()
    out, lse = fused_infer_attention_score_v2(query, key, value, sparse_mode=3, return_softmax_lse=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 32 * 2**20
    for row in (0, 511, 512, 8191):  # around the borders of chunks
        logits = query[0, row].astype(np.float64) @ key[0, : row + 1].astype(np.float64).T
        weights = np.exp(logits - logits.max())
        expected = weights @ value[0, : row + 1].astype(np.float64) / weights.sum()
        np.testing.assert_allclose(out[0, row], expected, rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(lse[0, 0, row, 0], logits.max() + np.log(weights.sum()), rtol=1e-12)


@pytest.mark.parametrize("name", [name for name, default in PROTOTYPE.items() if default is None and name not in (
    "atten_mask", "actual_seq_qlen", "actual_seq_kvlen", "quant_scale_out")])  # fmt: skip
def test_arguments_without_meaning_are_named(name: str) -> None:
    given: Any = 1 if name.endswith("_dtype") else np.ones((1,), np.float32)
    with pytest.raises(GoldenError, match=name) as caught:
        fused_infer_attention_score_v2(**SMALL.arguments(), **{name: given})
    assert caught.value.argument == name


@pytest.mark.parametrize(
    ("changes", "kind", "argument"),
    [
        ({"input_layout": "NSD"}, GoldenError, "input_layout"),
        ({"sparse_mode": 5}, GoldenError, "sparse_mode"),
        ({"inner_precise": 4}, GoldenError, "inner_precise"),
        ({"query": np.zeros((2, 4, 5, 16), np.int8)}, GoldenError, "query"),
        ({"query": [[0.0]]}, GoldenError, "query"),
        ({"query": np.zeros((2, 5, 64), np.float16)}, GoldenError, "query"),
        ({"key": np.zeros((2, 2, 11, 16), np.uint16)}, GoldenError, "key"),
        ({"key": np.zeros((2, 2, 11, 32), np.float16)}, GoldenError, "key"),
        ({"key": np.zeros((1, 2, 11, 16), np.float16), "value": np.zeros((1, 2, 11, 16), np.float16)}, GoldenError,
         "key"),
        ({"value": np.zeros((2, 2, 12, 16), np.float16)}, GoldenError, "value"),
        ({"num_query_heads": 0}, GoldenError, "num_query_heads"),
        ({"num_query_heads": 8}, GoldenError, "query"),
        ({"num_key_value_heads": 3}, GoldenError, "num_key_value_heads"),
        ({"num_key_value_heads": -2}, GoldenError, "num_key_value_heads"),
        ({"num_key_value_heads": 1}, GoldenError, "key"),
        ({"actual_seq_qlen": [6, 5]}, GoldenError, "actual_seq_qlen"),
        ({"actual_seq_qlen": [-1, 5]}, GoldenError, "actual_seq_qlen"),
        ({"actual_seq_kvlen": [12]}, GoldenError, "actual_seq_kvlen"),
        ({"sparse_mode": 1}, GoldenError, "atten_mask"),
        ({"atten_mask": np.zeros((5, 11), np.float16)}, GoldenError, "atten_mask"),
        ({"atten_mask": np.zeros((5, 10), bool)}, GoldenError, "atten_mask"),
        ({"atten_mask": np.zeros((3, 5, 11), bool)}, GoldenError, "atten_mask"),
        ({"atten_mask": np.zeros((2, 2, 5, 11), bool)}, GoldenError, "atten_mask"),
        ({"dtype_flow": "bf16"}, GoldenError, "dtype_flow"),
    ],
)  # fmt: skip
def test_errors_name_the_argument(changes: dict[str, Any], kind: type[GoldenError], argument: str) -> None:
    with pytest.raises(kind) as caught:
        fused_infer_attention_score_v2(**{**SMALL.arguments(), **changes})
    assert isinstance(caught.value, ValueError)
    assert caught.value.argument == argument
    assert argument in str(caught.value)


def test_too_few_lengths() -> None:
    case = dataclasses.replace(SMALL, batch=3)
    with pytest.raises(GoldenError, match="2 entries for a batch of 3"):
        fused_infer_attention_score_v2(**{**case.arguments(), "actual_seq_kvlen": [1, 2]})


def test_lengths_as_arrays() -> None:
    expected, _ = fused_infer_attention_score_v2(**{**SMALL.arguments(), "actual_seq_kvlen": [3, 7]})
    out, _ = fused_infer_attention_score_v2(**{**SMALL.arguments(), "actual_seq_kvlen": np.array([3, 7])})
    np.testing.assert_array_equal(out, expected)
