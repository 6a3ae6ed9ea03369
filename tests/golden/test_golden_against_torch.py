# SPDX-License-Identifier: Apache-2.0
"""Shapes of real models against torch's scaled_dot_product_attention: packed, paged, MLA, D 192/V 128, blocks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from helpers.brute_force import put, put_pages
from helpers.fia_values import round_to

from ascend_attention.golden import block_sparse_attention_v2, fused_infer_attention_score_v2, prompt_flash_attention

torch = pytest.importorskip("torch")
BFLOAT16 = "bfloat16"


def _draw(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return round_to(rng.standard_normal(shape).astype(np.float32), BFLOAT16)


def _sdpa(query: np.ndarray, key: np.ndarray, value: np.ndarray, keep: np.ndarray, scale: float) -> Any:
    """(N, s1, D_v) and (N, s1) in float64; rows that see nothing as the project has them: zeros and +inf."""
    q, k, v = (torch.from_numpy(x).double() for x in (query, key, value))
    k, v = (x.repeat_interleave(q.shape[0] // x.shape[0], dim=0) for x in (k, v))
    mask = torch.from_numpy(keep).expand(q.shape[0], -1, -1)
    seen = mask.any(dim=2)
    out = torch.nn.functional.scaled_dot_product_attention(
        q[None], k[None], v[None], attn_mask=(mask | ~seen[..., None])[None], scale=scale
    )[0]
    lse = torch.logsumexp((q @ k.transpose(1, 2) * scale).masked_fill(~mask, -math.inf), dim=2)
    out[~seen], lse[~seen] = 0, math.inf
    return out.numpy(), lse.numpy()


def _keep(mode: int, s1: int, s2: int, pre: int = 0, after: int = 0) -> np.ndarray:
    i, j = np.arange(s1)[:, None], np.arange(s2)[None] - (s2 - s1)
    if mode == 0:
        return np.ones((s1, s2), bool)
    return (j <= i) if mode == 3 else (j >= i - pre) & (j <= i + after)


@pytest.mark.parametrize(
    ("input_layout", "storage", "heads", "key_heads", "dims", "mode"),
    [
        ("TND", "dense", 8, 8, (192, 0, 128), 3),
        ("TND", "dense", 8, 2, (128, 0, 128), 4),
        ("TND", "BNBD", 8, 2, (128, 0, 128), 3),
        ("NTD_TND", "dense", 4, 4, (128, 64, 128), 3),
        ("TND", "NZ", 16, 1, (512, 64, 512), 3),
        ("TND_NTD", "BBH", 16, 1, (512, 64, 512), 0),
    ],
)
def test_packed_layouts(
    input_layout: str, storage: str, heads: int, key_heads: int, dims: tuple[int, int, int], mode: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    dim, rope, value_dim = dims
    q_lengths, kv_lengths, block_size = [3, 0, 16, 1], [140, 0, 130, 300], 128
    query = [_draw(rng, heads, n, dim + rope) for n in q_lengths]
    key = [_draw(rng, key_heads, n, dim + rope) for n in kv_lengths]
    value = [_draw(rng, key_heads, n, value_dim) for n in kv_lengths]
    axes, total = input_layout[:3], sum(q_lengths)

    def lay(values: list[np.ndarray]) -> np.ndarray:
        return put(values, axes, values[0].shape[0], 0, sum(x.shape[1] for x in values), values[0].shape[2], BFLOAT16)

    table = np.array([[4, 1, -9], [-1, 9999, -9], [0, 6, -9], [2, 7, 3]], np.int32)

    def store(values: list[np.ndarray]) -> np.ndarray:
        if storage == "dense":
            return lay(values)
        return put_pages(values, table, 8, block_size, key_heads, values[0].shape[2], storage, BFLOAT16)

    call: dict[str, Any] = {"query": lay([x[..., :dim] for x in query])}
    call |= {"key": store([x[..., :dim] for x in key]), "value": store(value)}
    if rope:
        call |= {"query_rope": lay([x[..., dim:] for x in query]), "key_rope": store([x[..., dim:] for x in key])}
    if storage != "dense":
        call |= {"block_table": table, "block_size": block_size}
    out, lse = fused_infer_attention_score_v2(
        **call,
        actual_seq_qlen=np.cumsum(q_lengths),
        actual_seq_kvlen=np.cumsum(kv_lengths) if storage == "dense" else kv_lengths,
        num_query_heads=heads,
        num_key_value_heads=key_heads,
        softmax_scale=(dim + rope) ** -0.5,
        input_layout=input_layout,
        sparse_mode=mode,
        pre_tokens=100,
        next_tokens=2,
        return_softmax_lse=True,
    )
    by_head = out if input_layout == "TND_NTD" else out.transpose(1, 0, 2)
    assert by_head.shape == (heads, total, value_dim)
    first = 0
    for b, count in enumerate(q_lengths):
        keep = _keep(mode, count, kv_lengths[b], 100, 2)
        expected, expected_lse = _sdpa(query[b], key[b], value[b], keep, (dim + rope) ** -0.5)
        np.testing.assert_allclose(by_head[:, first : first + count], expected, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(lse[first : first + count, :, 0].T, expected_lse, rtol=1e-12)
        first += count


@pytest.mark.parametrize("layout", ["BSH", "BNSD"])
def test_prompt_flash_attention(layout: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    query, key, value = (_draw(rng, 1, 2, n, 128) for n in (164, 200, 200))
    call = [put(list(x), layout, 2, x.shape[2], 0, 128, BFLOAT16) for x in (query, key, value)]
    for options, keep in (
        ({}, _keep(0, 164, 200)),  # without a mask, next_tokens = 0 must not make it causal
        ({"sparse_mode": 3}, _keep(3, 164, 200)),
        ({"atten_mask": np.zeros((164, 200), bool)}, np.tri(164, 200, dtype=bool)),  # with one it does
    ):
        out = prompt_flash_attention(*call, num_heads=2, input_layout=layout, scale_value=128**-0.5, **options)
        expected, _ = _sdpa(query[0], key[0], value[0], keep, 128**-0.5)
        if layout == "BSH":
            expected = expected.transpose(1, 0, 2).reshape(164, 2 * 128)
        np.testing.assert_allclose(out[0], expected, rtol=1e-10, atol=1e-12)


def test_block_sparse_attention_v2(seed: int) -> None:
    rng = np.random.default_rng(seed)
    query, key, value = _draw(rng, 1, 4, 300, 64), _draw(rng, 1, 2, 500, 64), _draw(rng, 1, 2, 500, 64)
    blocks = (rng.random((1, 4, 3, 4)) < 0.5).astype(np.int8)
    blocks[0, 0, 1] = 0
    out, lse = block_sparse_attention_v2(
        *(put(list(x), "BNSD", x.shape[1], x.shape[2], 0, 64, BFLOAT16) for x in (query, key, value)),
        block_sparse_mask=blocks,
        q_input_layout="BNSD",
        kv_input_layout="BNSD",
        num_key_value_heads=2,
        scale_value=0.125,
        softmax_lse_flag=1,
    )
    keep = np.kron(blocks[0], np.ones((128, 128), np.int8))[:, :300, :500] == 1
    expected, expected_lse = _sdpa(query[0], key[0], value[0], keep, 0.125)
    np.testing.assert_allclose(out[0], expected, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(lse[0, :, :, 0], expected_lse, rtol=1e-12)
    assert (out[0, 0, 128:256] == 0).all() and np.isposinf(lse[0, 0, 128:256]).all()
