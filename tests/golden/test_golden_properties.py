# SPDX-License-Identifier: Apache-2.0
"""What attention is, whatever the numbers: properties that need no second implementation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.fia_values import encode

from ascend_attention.golden import block_sparse_attention_v2, fused_infer_attention_score_v2, prompt_flash_attention

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies
given = hypothesis.given
few = hypothesis.settings(derandomize=True, database=None, deadline=None, max_examples=25)

SIZES = {
    "batch": st.integers(1, 3),
    "key_heads": st.integers(1, 2),
    "group": st.integers(1, 3),
    "rows": st.integers(2, 9),
    "keys": st.integers(1, 40),
    "numbers": st.integers(0, 2**32 - 1),  # where the tensors' values come from
}
FLOWS = st.sampled_from(["exact", "device"])


def tensors(batch: int, key_heads: int, group: int, rows: int, keys: int, numbers: int) -> dict[str, Any]:
    """A BNSD call of FIA with an LSE."""
    rng = np.random.default_rng(numbers)
    key_shape = (batch, key_heads, keys, 16)
    shapes = {"query": (batch, key_heads * group, rows, 16), "key": key_shape, "value": key_shape}
    call: dict[str, Any] = {
        name: encode(rng.standard_normal(shape).astype(np.float32), "bfloat16", "bits")
        for name, shape in shapes.items()
    }
    return call | {
        "num_query_heads": key_heads * group,
        "num_key_value_heads": key_heads,
        "input_layout": "BNSD",
        "softmax_scale": 0.25,
        "return_softmax_lse": True,
    }


def close(got: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)


@few
@given(**SIZES, order=st.randoms(use_true_random=False), mode=st.sampled_from([0, 2, 3]), flow=FLOWS)
def test_permuting_the_batch_permutes_the_result(order: Any, mode: int, flow: str, **sizes: int) -> None:
    call = tensors(**sizes) | {"sparse_mode": mode, "dtype_flow": flow}
    batch = sizes["batch"]
    lengths = [order.randint(0, sizes["keys"]) for _ in range(batch)]
    places = list(range(batch))
    order.shuffle(places)
    out, lse = fused_infer_attention_score_v2(**call, actual_seq_kvlen=lengths)
    moved = {name: call[name][places] for name in ("query", "key", "value")}
    moved_out, moved_lse = fused_infer_attention_score_v2(
        **{**call, **moved}, actual_seq_kvlen=[lengths[b] for b in places]
    )
    np.testing.assert_array_equal(moved_out, out[places])
    np.testing.assert_array_equal(moved_lse, lse[places])


@few
@given(**SIZES, cut=st.integers(0, 40), sink=st.booleans(), masked=st.booleans())
def test_parts_of_the_keys_merge_by_lse(cut: int, sink: bool, masked: bool, **sizes: int) -> None:
    """attention_out is a mean with weights that sum to exp(softmax_lse); rows without keys (+inf) weigh nothing."""
    call = tensors(**sizes)
    rng = np.random.default_rng(sizes["numbers"])
    mask = rng.random((sizes["batch"], sizes["rows"], sizes["keys"])) < 0.5 * masked
    sinks = encode(rng.standard_normal(call["num_query_heads"]).astype(np.float32), "bfloat16", "bits")
    cut = min(cut, sizes["keys"])

    def part(keys: slice, with_sink: bool) -> tuple[np.ndarray, np.ndarray]:
        changed = {name: call[name][:, :, keys] for name in ("key", "value")}
        out, lse = fused_infer_attention_score_v2(
            **{**call, **changed},
            sparse_mode=1,
            atten_mask=mask[..., keys],
            learnable_sink=sinks if with_sink else None,
        )
        return out, np.where(np.isposinf(lse), -np.inf, lse)

    whole, whole_lse = part(slice(None), sink)
    (first, first_lse), (second, second_lse) = part(slice(cut), sink), part(slice(cut, None), False)
    if sink:  # a part without keys does not tell its sink: put it back
        first_lse = np.where(np.isneginf(first_lse), _numbers(sinks)[None, :, None, None], first_lse)
    merged_lse = np.logaddexp(first_lse, second_lse)
    with np.errstate(invalid="ignore"):
        weights = [np.exp(lse - merged_lse) for lse in (first_lse, second_lse)]
    merged = sum(np.nan_to_num(w) * out for w, out in zip(weights, (first, second), strict=True))
    close(merged, whole)
    blind = np.isneginf(whole_lse)
    close(merged_lse[~blind], whole_lse[~blind])


def _numbers(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


@few
@given(**SIZES, shift=st.integers(-300, 300))
def test_a_constant_on_all_scores_shifts_the_lse_only(shift: int, **sizes: int) -> None:
    call = tensors(**sizes)
    shape = (1, call["num_query_heads"], sizes["rows"], sizes["keys"])
    constant = encode(np.full(shape, 0.25 * shift, np.float32), "float16")
    out, lse = fused_infer_attention_score_v2(**call)
    shifted, shifted_lse = fused_infer_attention_score_v2(**call, pse_shift=constant)
    np.testing.assert_allclose(shifted, out, rtol=1e-11, atol=1e-12)
    close(shifted_lse, lse + 0.25 * shift)


@few
@given(**SIZES, mode=st.sampled_from([0, 2, 3]), flow=FLOWS)
def test_doubled_heads_give_doubled_results(mode: int, flow: str, **sizes: int) -> None:
    call = tensors(**sizes) | {"sparse_mode": mode, "dtype_flow": flow}
    out, lse = fused_infer_attention_score_v2(**call)
    query, key, value = (np.repeat(call[name], 2, axis=1) for name in ("query", "key", "value"))
    heads = {"query": query, "num_query_heads": 2 * call["num_query_heads"]}
    changes = [heads]  # twice as many heads share a key head
    if sizes["group"] == 1:
        changes.append(heads | {"key": key, "value": value, "num_key_value_heads": 2 * sizes["key_heads"]})
    for change in changes:
        got, got_lse = fused_infer_attention_score_v2(**{**call, **change})
        np.testing.assert_array_equal(got, np.repeat(out, 2, axis=1))
        np.testing.assert_array_equal(got_lse, np.repeat(lse, 2, axis=1))


@few
@given(**SIZES, mode=st.sampled_from([2, 3, 4]), pre=st.integers(-5, 45), after=st.integers(-5, 45))
def test_a_compressed_mask_is_a_full_mask(mode: int, pre: int, after: int, **sizes: int) -> None:
    call = tensors(**sizes)
    i, j = np.arange(sizes["rows"])[:, None], np.arange(sizes["keys"])[None]
    shift = 0 if mode == 2 else sizes["keys"] - sizes["rows"]
    mask = j > i + shift
    if mode == 4:
        mask = (j > i + shift + after) | (j < i + shift - pre)
    out, lse = fused_infer_attention_score_v2(**call, sparse_mode=mode, pre_tokens=pre, next_tokens=after)
    full, full_lse = fused_infer_attention_score_v2(**call, sparse_mode=1, atten_mask=mask)
    close(out, full)
    close(lse, full_lse)


@few
@given(**SIZES, x=st.integers(1, 12), y=st.integers(1, 50), flow=FLOWS)
def test_a_block_map_is_a_full_mask_per_head(x: int, y: int, flow: str, **sizes: int) -> None:
    call = tensors(**sizes)
    batch, heads, rows, keys = sizes["batch"], call["num_query_heads"], sizes["rows"], sizes["keys"]
    rng = np.random.default_rng(sizes["numbers"])
    blocks = (rng.random((batch, heads, -(-rows // x), -(-keys // y))) < 0.5).astype(np.int8)
    given_tensors = {name: call[name] for name in ("query", "key", "value")}
    out, lse = block_sparse_attention_v2(
        **given_tensors,
        block_sparse_mask=blocks,
        block_shape=[x, y],
        q_input_layout="BNSD",
        kv_input_layout="BNSD",
        num_key_value_heads=sizes["key_heads"],
        scale_value=0.25,
        softmax_lse_flag=1,
        dtype_flow=flow,
    )
    # Each head as a batch entry of its own, because a full mask has no axis of heads.
    single = {"query": call["query"].reshape(batch * heads, 1, rows, 16)}
    for name in ("key", "value"):
        single[name] = np.repeat(call[name], sizes["group"], axis=1).reshape(batch * heads, 1, keys, 16)
    mask = np.repeat(np.repeat(blocks, x, axis=2)[:, :, :rows], y, axis=3)[..., :keys] == 0
    options = {"num_query_heads": 1, "num_key_value_heads": 1, "sparse_mode": 1, "dtype_flow": flow}
    full, full_lse = fused_infer_attention_score_v2(
        **{**call, **single, **options}, atten_mask=mask.reshape(batch * heads, rows, keys)
    )
    tolerance = 1e-12 if flow == "exact" else 1e-6
    np.testing.assert_allclose(lse.reshape(-1), full_lse.reshape(-1), rtol=tolerance, atol=tolerance)
    if flow == "exact":
        close(out.reshape(full.shape), full)


@few
@given(**SIZES, mode=st.sampled_from([0, 2, 3, 4]), flow=FLOWS)
def test_prompt_flash_attention_is_the_same_attention(mode: int, flow: str, **sizes: int) -> None:
    call = tensors(**sizes)
    options = {"sparse_mode": mode, "pre_tokens": 3, "next_tokens": 2, "input_layout": "BNSD", "dtype_flow": flow}
    out, _ = fused_infer_attention_score_v2(**{**call, **options})
    prompt = prompt_flash_attention(
        *(call[name] for name in ("query", "key", "value")),
        num_heads=call["num_query_heads"],
        num_key_value_heads=sizes["key_heads"],
        scale_value=0.25,
        **options,
    )
    np.testing.assert_array_equal(prompt, out)


@few
@given(**SIZES, block_size=st.sampled_from([1, 4, 16]), mode=st.sampled_from([0, 4]), flow=FLOWS)
def test_pages_change_nothing(block_size: int, mode: int, flow: str, **sizes: int) -> None:
    """Device results too are the same to the last bit, whatever the layout and wherever the keys lie."""
    call = tensors(**sizes) | {"dtype_flow": flow, "sparse_mode": mode, "pre_tokens": 5, "next_tokens": 0}
    rng = np.random.default_rng(sizes["numbers"])
    batch, keys = sizes["batch"], sizes["keys"]
    out, lse = fused_infer_attention_score_v2(**call)
    each = -(-keys // block_size)
    table = rng.permutation(batch * each).reshape(batch, each).astype(np.int32)
    paged = {}
    for name in ("key", "value"):
        padded = np.full((batch, sizes["key_heads"], each * block_size, 16), 0x7FC0, np.uint16)
        padded[:, :, :keys] = call[name]
        blocks = padded.reshape(batch, sizes["key_heads"], each, block_size, 16).transpose(0, 2, 1, 3, 4)
        paged[name] = np.empty((batch * each, *blocks.shape[2:]), np.uint16)
        paged[name][table.reshape(-1)] = blocks.reshape(batch * each, *blocks.shape[2:])
    packed = call["query"].transpose(0, 2, 1, 3).reshape(batch * sizes["rows"], -1, 16)
    got, got_lse = fused_infer_attention_score_v2(
        **{**call, **paged, "query": packed, "input_layout": "TND"},
        block_table=table,
        block_size=block_size,
        actual_seq_qlen=[sizes["rows"] * (b + 1) for b in range(batch)],
        actual_seq_kvlen=[keys] * batch,
    )
    np.testing.assert_array_equal(got, out.transpose(0, 2, 1, 3).reshape(packed.shape))
    np.testing.assert_array_equal(got_lse, lse.transpose(0, 2, 1, 3).reshape(got_lse.shape))
