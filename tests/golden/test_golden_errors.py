# SPDX-License-Identifier: Apache-2.0
"""Arguments that mean nothing, or contradict each other, are named; what has no influence is let be."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import pytest

from ascend_attention.golden import (
    GoldenError,
    block_sparse_attention_v2,
    fused_infer_attention_score_v2,
    prompt_flash_attention,
)


def _zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float16)


# Two sequences of 3 and 5 rows on 6 and 4 keys, 4 heads on 2.
PACKED = {
    "query": _zeros(8, 4, 16), "key": _zeros(10, 2, 16), "value": _zeros(10, 2, 16), "actual_seq_qlen": [3, 8],
    "actual_seq_kvlen": [6, 10], "num_query_heads": 4, "num_key_value_heads": 2, "input_layout": "TND",
}  # fmt: skip
PAGED = PACKED | {
    "key": _zeros(5, 4, 32), "value": _zeros(5, 4, 32), "actual_seq_kvlen": [6, 4], "block_size": 4,
    "block_table": np.array([[4, 0], [2, -1]], np.int32),
}  # fmt: skip
PADDED = {
    "query": _zeros(2, 5, 64), "key": _zeros(2, 6, 32), "value": _zeros(2, 6, 32), "actual_seq_kvlen": [6, 4],
    "num_query_heads": 4, "num_key_value_heads": 2,
}  # fmt: skip
LISTED = PADDED | {name: [_zeros(1, 6, 32), _zeros(1, 4, 32)] for name in ("key", "value")}


@pytest.mark.parametrize(
    ("base", "changes", "argument"),
    [
        (PACKED, {"actual_seq_qlen": None}, "actual_seq_qlen"),
        (PACKED, {"actual_seq_kvlen": None}, "actual_seq_kvlen"),
        (PACKED, {"actual_seq_qlen": [3, 5]}, None),  # cumulative and shorter than T: the rest is padding
        (PACKED, {"actual_seq_qlen": [5, 3]}, "actual_seq_qlen"),  # lengths of each sequence instead of sums
        (PACKED, {"actual_seq_qlen": [-1, 8]}, "actual_seq_qlen"),
        (PACKED, {"actual_seq_qlen": [3, 9]}, "actual_seq_qlen"),
        (PACKED, {"actual_seq_kvlen": [6, 4]}, "actual_seq_kvlen"),
        (PACKED, {"actual_seq_kvlen": [6, 11]}, "actual_seq_kvlen"),
        (PACKED, {"actual_seq_kvlen": [10]}, "actual_seq_kvlen"),
        (PACKED, {"actual_seq_qlen": [3.0, 8.0]}, "actual_seq_qlen"),
        (PACKED, {"actual_seq_qlen": [[3], [8]]}, "actual_seq_qlen"),
        (PACKED, {"actual_seq_qlen": 8}, "actual_seq_qlen"),
        (PACKED, {"actual_seq_qlen": [[3], 8]}, "actual_seq_qlen"),
        (PACKED, {"value": _zeros(9, 2, 16)}, "value"),
        (PACKED, {"key": [_zeros(10, 2, 16)], "value": [_zeros(10, 2, 16)]}, "key"),
        (PACKED, {"atten_mask": np.zeros((5, 6), bool)}, "atten_mask"),  # a full mask of which sequence?
        (PACKED, {"atten_mask": np.zeros((5, 6), bool), "sparse_mode": 3}, None),  # never read
        (PACKED, {"pse_shift": _zeros(1, 4, 5, 6)}, "pse_shift"),
        (PACKED, {"query_rope": _zeros(8, 4, 16)}, "query_rope"),
        (PACKED, {"key_rope": _zeros(10, 2, 16)}, "key_rope"),
        (PACKED, {"query_rope": _zeros(7, 4, 16), "key_rope": _zeros(10, 2, 16)}, "query_rope"),
        (PACKED, {"query_rope": _zeros(8, 4, 16), "key_rope": _zeros(9, 2, 16)}, "key_rope"),
        (PACKED, {"query_rope": _zeros(8, 4, 16), "key_rope": _zeros(10, 2, 32)}, "key_rope"),
        (PACKED, {"query_rope": np.zeros((8, 4, 16), np.int8), "key_rope": _zeros(10, 2, 16)}, "query_rope"),
        (PACKED, {"learnable_sink": _zeros(2)}, "learnable_sink"),
        (PACKED, {"learnable_sink": np.zeros(4, np.int32)}, "learnable_sink"),
        (PACKED, {"block_size": 7}, None),  # without block_table
        (PAGED, {}, None),
        (PAGED, {"actual_seq_kvlen": None}, "actual_seq_kvlen"),
        (PAGED, {"actual_seq_kvlen": [6, 10, 4]}, "actual_seq_kvlen"),
        (PAGED, {"actual_seq_kvlen": [6, 9]}, "block_table"),  # needs a third column
        (PAGED, {"actual_seq_kvlen": [6, -1]}, "actual_seq_kvlen"),
        (PAGED, {"actual_seq_kvlen": [6, 5]}, "block_table"),  # needs the second block, whose id is -1
        (PAGED, {"actual_seq_kvlen": [0, 0], "block_table": np.full((2, 2), 99)}, None),
        (PAGED, {"block_table": np.array([[4, 5], [2, -1]], np.int32)}, "block_table"),
        (PAGED, {"block_table": np.array([4, 0], np.int32)}, "block_table"),
        (PAGED, {"block_table": np.array([[4, 0]], np.int32)}, "block_table"),
        (PAGED, {"block_table": np.array([[4.0, 0], [2, 1]])}, "block_table"),
        (PAGED, {"block_size": 0}, "block_size"),
        (PAGED, {"block_size": 8}, "block_size"),
        (PAGED, {"key": _zeros(5, 4, 33)}, "key"),
        (PAGED, {"key": _zeros(5, 1, 4, 32)}, "key"),
        (PAGED, {"key": _zeros(5, 2, 4, 32)}, "key"),
        (PAGED, {"key": _zeros(20, 32)}, "key"),
        (PAGED, {"key": _zeros(5, 2, 2, 4, 16)}, "key"),
        (PADDED, {"actual_seq_kvlen": [6, 7]}, "actual_seq_kvlen"),
        (PADDED, {"pse_shift": _zeros(4, 5, 6)}, "pse_shift"),
        (PADDED, {"pse_shift": _zeros(1, 4, 4, 6)}, "pse_shift"),
        (PADDED, {"pse_shift": _zeros(3, 4, 5, 6)}, "pse_shift"),
        (PADDED, {"pse_shift": np.zeros((1, 4, 5, 6), np.float32)}, "pse_shift"),
        (PADDED, {"input_layout": "SBH"}, "input_layout"),
        (PADDED, {"num_query_heads": 4.0}, "num_query_heads"),
        (PADDED, {"num_key_value_heads": "2"}, "num_key_value_heads"),
        (PADDED, {"sparse_mode": 4, "pre_tokens": 1.5}, "pre_tokens"),
        (PADDED, {"sparse_mode": 4, "next_tokens": None}, "next_tokens"),
        (PADDED, {"sparse_mode": np.int32(4), "pre_tokens": np.int64(1)}, None),
        (PADDED, {"sparse_mode": np.array(0), "inner_precise": np.array(1, np.uint64)}, None),
        (PADDED, {"sparse_mode": 10**5000}, "sparse_mode"),  # more digits than Python prints
        (PADDED, {"num_query_heads": 10**5000}, "num_query_heads"),
        (PADDED, {"sparse_mode": 4, "next_tokens": 2**63}, "next_tokens"),
        (PADDED, {"softmax_scale": 10**400}, "softmax_scale"),
        (PADDED, {"softmax_scale": "1"}, "softmax_scale"),
        (PADDED, {"input_layout": 10**5000}, "input_layout"),
        (PADDED, {"return_softmax_lse": 10**5000}, "return_softmax_lse"),
        (PAGED, {"block_size": 4.0}, "block_size"),
        (PADDED, {"softmax_scale": None}, "softmax_scale"),
        (PADDED, {"softmax_scale": np.ones(2)}, "softmax_scale"),
        (PADDED, {"inner_precise": np.ones(2)}, "inner_precise"),
        (PADDED, {"sparse_mode": np.ones(2)}, "sparse_mode"),
        (PADDED, {"input_layout": np.ones(2)}, "input_layout"),
        (PADDED, {"return_softmax_lse": None}, "return_softmax_lse"),
        (PADDED, {"value": np.int32(4)}, "value"),
        (LISTED, {}, None),
        (LISTED, {"actual_seq_kvlen": [6, 5]}, "actual_seq_kvlen"),
        (LISTED, {"value": _zeros(2, 6, 32)}, "value"),
        (LISTED, {"key": LISTED["key"][:1]}, "key"),
        (LISTED, {"key": []}, "key"),
        (LISTED, {"value": [_zeros(1, 6, 32), _zeros(1, 5, 32)]}, "value"),
        (LISTED, {"value": [_zeros(1, 6, 32), _zeros(1, 4, 64)]}, "value"),
        (LISTED, {"key": [_zeros(1, 6, 32), np.zeros((1, 4, 32), np.uint16)]}, "key"),
    ],
)  # fmt: skip
def test_fused_infer_attention_score_v2(base: dict[str, Any], changes: dict[str, Any], argument: str | None) -> None:
    if argument is None:
        fused_infer_attention_score_v2(**{**base, **changes})
        return
    with pytest.raises(GoldenError) as caught:
        fused_infer_attention_score_v2(**{**base, **changes})
    assert caught.value.argument == argument, caught.value


PROMPT = {
    "query": _zeros(2, 5, 64), "key": _zeros(2, 6, 32), "value": _zeros(2, 6, 32), "num_heads": 4,
    "num_key_value_heads": 2,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "argument"),
    [
        ({"input_layout": "NTD_TND"}, "input_layout"),
        ({"num_heads": 0}, "num_heads"),
        ({"num_key_value_heads": 3}, "num_key_value_heads"),
        ({"padding_mask": np.zeros(1)}, "padding_mask"),
        ({"sparse_mode": 1}, "atten_mask"),
        ({"sparse_mode": 10}, "sparse_mode"),
        ({"actual_seq_lengths": [6, 1]}, "actual_seq_lengths"),
        ({"actual_seq_lengths_kv": [1, 7]}, "actual_seq_lengths_kv"),
        ({"actual_seq_lengths": [1, 2, 3]}, None),
        ({"input_layout": "TND", "query": _zeros(5, 4, 16), "actual_seq_lengths_kv": [6]}, "actual_seq_lengths"),
        ({"value": _zeros(2, 7, 32)}, "value"),
        ({"key": np.zeros((2, 6, 32), np.uint16)}, "key"),
        ({"dtype_flow": "fast"}, "dtype_flow"),
        ({"round_output": 2}, "round_output"),
    ],
)  # fmt: skip
def test_prompt_flash_attention(changes: dict[str, Any], argument: str | None) -> None:
    if argument is None:
        prompt_flash_attention(**{**PROMPT, **changes})
        return
    with pytest.raises(GoldenError) as caught:
        prompt_flash_attention(**{**PROMPT, **changes})
    assert caught.value.argument == argument, caught.value


BLOCKS = {
    "query": _zeros(2, 4, 5, 64), "key": _zeros(2, 2, 6, 64), "value": _zeros(2, 2, 6, 64),
    "block_sparse_mask": np.ones((2, 4, 1, 1), np.int8), "q_input_layout": "BNSD", "kv_input_layout": "BNSD",
    "num_key_value_heads": 2, "scale_value": 1.0,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "argument"),
    [
        ({"q_input_layout": "BSH"}, "q_input_layout"),
        ({"kv_input_layout": "BSND"}, "kv_input_layout"),
        ({"atten_mask": np.zeros((5, 6), np.int8)}, "atten_mask"),
        ({"block_table": np.zeros((2, 1), np.int32)}, "block_table"),
        ({"mask_type": 1}, "mask_type"),
        ({"block_size": 128}, "block_size"),
        ({"pre_tokens": 5}, "pre_tokens"),
        ({"next_tokens": 0}, "next_tokens"),
        ({"inner_precise": 2}, "inner_precise"),
        ({"softmax_lse_flag": 2}, "softmax_lse_flag"),
        ({"block_shape": [128]}, "block_shape"),
        ({"block_shape": [0, 128]}, "block_shape"),
        ({"block_shape": [2**63, 2**63]}, "block_shape"),
        ({"block_shape": [2**63 - 1, 2**63 - 1]}, None),
        ({"block_shape": [128, 128, -1]}, None),  # further elements mean nothing
        ({"block_sparse_mask": np.ones((2, 4, 1, 2), np.int8)}, "block_sparse_mask"),
        ({"block_sparse_mask": np.ones((2, 2, 1, 1), np.int8)}, "block_sparse_mask"),
        ({"block_sparse_mask": np.full((2, 4, 1, 1), 2, np.int8)}, "block_sparse_mask"),
        ({"block_sparse_mask": np.ones((2, 4, 1, 1), np.float32)}, "block_sparse_mask"),
        ({"block_sparse_mask": None}, "block_sparse_mask"),
        ({"num_key_value_heads": 0}, "num_key_value_heads"),
        ({"num_key_value_heads": None}, "num_key_value_heads"),
        ({"num_key_value_heads": 3}, "num_key_value_heads"),
        ({"num_key_value_heads": 4}, "key"),
        ({"actual_seq_lengths": [5, 5]}, "actual_seq_lengths_kv"),
        ({"actual_seq_lengths_kv": [5, 5]}, "actual_seq_lengths"),
        ({"actual_seq_lengths": []}, None),  # an empty list is no list
        ({"actual_seq_lengths": [], "actual_seq_lengths_kv": [5, 5]}, "actual_seq_lengths"),
        ({"actual_seq_lengths": [5], "actual_seq_lengths_kv": [6, 6]}, "actual_seq_lengths"),  # not one for all
        ({"actual_seq_lengths": [5, 6], "actual_seq_lengths_kv": [6, 6]}, "actual_seq_lengths"),
        ({"actual_seq_lengths": [5, 5], "actual_seq_lengths_kv": [6, 7]}, "actual_seq_lengths_kv"),
        ({"key": _zeros(1, 2, 6, 64), "value": _zeros(1, 2, 6, 64)}, "key"),
        ({"value": _zeros(2, 2, 7, 64)}, "value"),
        ({"query": _zeros(2, 5, 256)}, "query"),
        ({"attention_out_dtype": "bfloat16"}, "attention_out_dtype"),
        ({"attention_out_dtype": "float16"}, None),
    ],
)  # fmt: skip
def test_block_sparse_attention_v2(changes: dict[str, Any], argument: str | None) -> None:
    if argument is None:
        block_sparse_attention_v2(**{**BLOCKS, **changes})
        return
    with pytest.raises(GoldenError) as caught:
        block_sparse_attention_v2(**{**BLOCKS, **changes})
    assert caught.value.argument == argument, caught.value


def test_tensors_that_cannot_be_read_are_named() -> None:
    torch = pytest.importorskip("torch")
    meta = torch.tensor([6, 4], device="meta")
    for changes in (
        {"actual_seq_kvlen": meta},
        {"actual_seq_kvlen": torch.tensor([6, 4]).to_sparse()},
        {"actual_seq_kvlen": torch.ones(2, requires_grad=True)},
        {"num_query_heads": meta[0]},
        {"sparse_mode": meta[0]},
        {"softmax_scale": meta[0]},
    ):
        with pytest.raises(GoldenError) as caught:
            fused_infer_attention_score_v2(**{**PADDED, **changes})
        assert caught.value.argument in changes


def test_errors_survive_pickle() -> None:
    error = GoldenError("query", "is odd")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.argument) == (GoldenError, str(error), "query")


def test_signatures_are_the_documents() -> None:
    """Names, order and defaults of seed 002, and of the C interface of seed 004 in snake case."""
    prompt = {
        "pse_shift": None, "padding_mask": None, "atten_mask": None, "actual_seq_lengths": None, "deq_scale1": None,
        "quant_scale1": None, "deq_scale2": None, "quant_scale2": None, "quant_offset2": None, "num_heads": 1,
        "scale_value": 1.0, "pre_tokens": 2147483647, "next_tokens": 0, "input_layout": "BSH",
        "num_key_value_heads": 0, "actual_seq_lengths_kv": None, "sparse_mode": 0,
    }  # fmt: skip
    blocks = [
        "block_sparse_mask", "atten_mask", "block_shape", "actual_seq_lengths", "actual_seq_lengths_kv", "block_table",
        "q_dequant_scale", "k_dequant_scale", "v_dequant_scale", "q_input_layout", "kv_input_layout",
        "num_key_value_heads", "mask_type", "scale_value", "inner_precise", "block_size", "pre_tokens", "next_tokens",
        "softmax_lse_flag",
    ]  # fmt: skip
    parameters = inspect.signature(prompt_flash_attention).parameters
    assert {name: p.default for name, p in list(parameters.items())[3:-2]} == prompt
    assert list(parameters) == ["query", "key", "value", *prompt, "dtype_flow", "round_output"]
    parameters = inspect.signature(block_sparse_attention_v2).parameters
    assert list(parameters) == ["query", "key", "value", *blocks, "attention_out_dtype", "dtype_flow"]


def _anything(rng: np.random.Generator, old: Any) -> Any:
    """Something else in an argument's place: an axis changed, another array, or a plain value."""
    kind = rng.random()
    if kind < 0.4 and isinstance(old, np.ndarray) and old.size and old.ndim:
        shape = list(old.shape)
        shape[int(rng.integers(old.ndim))] = int(rng.choice([0, 1, 2, 3, 4, 5, 16]))
        return np.resize(old, shape)
    if kind < 0.6:
        shape = rng.choice([0, 1, 2, 3, 4, 5, 16], int(rng.integers(0, 5)))
        dtype = rng.choice(["float16", "uint16", "int8", "bool", "int32", "float32"])
        return (3 * rng.standard_normal(shape)).astype(dtype)
    plain = [
        None,
        -1,
        0,
        1,
        2,
        3,
        5,
        128,
        -5,
        2.5,
        float("nan"),
        [],
        [1],
        [3, 8],
        [5, 5],
        [1.5],
        [None],
        {},
        "TND",
        "BNSD",
    ]
    return plain[int(rng.integers(len(plain)))]


@pytest.mark.filterwarnings("error")
def test_anything_ends_in_a_result_or_a_golden_error(seed: int) -> None:
    rng = np.random.default_rng(seed)
    fia = [(fused_infer_attention_score_v2, base) for base in (PACKED, PAGED, PADDED, LISTED)]
    calls = [*fia, (prompt_flash_attention, PROMPT), (block_sparse_attention_v2, BLOCKS)]
    results = 0
    for _ in range(1000):
        function, base = calls[int(rng.integers(len(calls)))]
        names = list(inspect.signature(function).parameters)
        changed = {name: _anything(rng, base.get(name)) for name in rng.choice(names, int(rng.integers(1, 3)))}
        try:
            function(**{**base, **changed})
            results += 1
        except GoldenError as error:
            assert error.argument in names, (changed, error)
        except Exception as error:
            raise AssertionError(f"{function.__name__}: {changed}") from error
    assert 50 < results < 600


def test_torch_tensors_are_refused_with_the_way_to_give_them() -> None:
    torch = pytest.importorskip("torch")
    tensor = torch.randn(1, 4, 16).bfloat16()
    with pytest.raises(GoldenError, match=r"of a torch tensor: tensor\.numpy\(\), of bfloat16 tensor\.view") as caught:
        fused_infer_attention_score_v2(tensor, tensor, tensor)
    bits = eval(str(caught.value).rpartition("of bfloat16 ")[2], {"tensor": tensor, "torch": torch})
    out, _ = fused_infer_attention_score_v2(bits, bits, bits)
    values = tensor.float().numpy().astype(np.float64)
    weights = np.exp(values @ values.transpose(0, 2, 1))
    assert np.allclose(out, weights / weights.sum(-1, keepdims=True) @ values)


@pytest.mark.parametrize(
    ("model", "unknown", "meant"),
    [
        (fused_infer_attention_score_v2, "scale_value", "softmax_scale"),
        (fused_infer_attention_score_v2, "num_heads", "num_query_heads"),
        (fused_infer_attention_score_v2, "actual_seq_kvlens", "actual_seq_kvlen"),
        (prompt_flash_attention, "actual_seq_qlen", "actual_seq_lengths"),
        (block_sparse_attention_v2, "input_layout", "q_input_layout"),
        (block_sparse_attention_v2, "qqqq", ""),
    ],
)
def test_an_unknown_argument_is_a_type_error_that_names_the_nearest(model: Any, unknown: str, meant: str) -> None:
    with pytest.raises(TypeError) as caught:
        model(_zeros(1, 1, 16), _zeros(1, 1, 16), _zeros(1, 1, 16), **{unknown: 1})
    suggestion = f"; did you mean {meant!r}?" if meant else ""
    assert str(caught.value) == f"golden.{model.__name__} has no argument {unknown!r}{suggestion}"
