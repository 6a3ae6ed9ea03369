# SPDX-License-Identifier: Apache-2.0
"""What lies behind hidden keys does not matter: any bits in key, any finite number in value (docs/engine.md)."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import ascend_attention

KEYS = 200


def attention(key: np.ndarray, value: np.ndarray, **masking: object) -> tuple[np.ndarray, np.ndarray]:
    query = np.random.default_rng(3).standard_normal((1, 2, 40, 64)).astype(np.float16)
    with ascend_attention.simulator(mode="checked"):
        return ascend_attention.npu_fused_infer_attention_score_v2(
            query,
            key,
            value,
            num_query_heads=2,
            input_layout="BNSD",
            softmax_scale=0.125,
            return_softmax_lse=True,
            **masking,
        )


def hide(kind: str) -> tuple[dict[str, object], np.ndarray]:
    """Keyword arguments that hide some keys from every row, and which."""
    hidden = np.zeros(KEYS, bool)
    if kind == "atten_mask":
        hidden[::3] = True
        return {"atten_mask": np.broadcast_to(hidden, (40, KEYS)).copy(), "sparse_mode": 1}, hidden
    if kind == "causal":
        hidden[40:] = True
        return {"atten_mask": np.zeros((2048, 2048), bool), "sparse_mode": 2}, hidden
    hidden[77:] = True
    return {"actual_seq_kvlen": [77]}, hidden


@pytest.mark.parametrize("kind", ["atten_mask", "causal", "actual_seq_kvlen"])
def test_hidden_keys_have_no_influence(kind: str) -> None:
    rng = np.random.default_rng(4)
    key, value = rng.standard_normal((2, 1, 2, KEYS, 64)).astype(np.float16)
    masking, hidden = hide(kind)
    expected = attention(key, value, **masking)
    key[:, :, hidden] = rng.choice(np.array([np.nan, np.inf, -np.inf, 65504], np.float16), (1, 2, hidden.sum(), 64))
    value[:, :, hidden] = np.nan if kind == "actual_seq_kvlen" else 65504
    actual = attention(key, value, **masking)
    assert np.isfinite(expected[0]).all()
    np.testing.assert_array_equal(actual[0], expected[0])
    np.testing.assert_array_equal(actual[1], expected[1])


def test_a_sink_is_the_logarithm_of_rows_whose_scores_are_all_minus_infinity() -> None:
    """The formula of docs/numerics.md: exp(sink) is all of their sum. Rows that see no key have none. A sink of -inf
    counts as the lowest number."""
    rng = np.random.default_rng(5)
    key, value = rng.standard_normal((2, 1, 2, KEYS, 64)).astype(np.float16)
    bias = np.zeros((1, 2, 40, KEYS), np.float16)
    bias[:, :, :20] = -np.inf
    bias[:, :, 20:30, 50:] = -np.inf
    unseen = np.zeros((40, KEYS), bool)
    unseen[10:15] = True
    sink = np.array([-np.inf, 2], ml_dtypes.bfloat16)
    with ascend_attention.contract("extended"):
        out, lse = attention(key, value, pse_shift=bias, atten_mask=unseen, learnable_sink=sink)
        _, other = attention(key, value, pse_shift=bias, atten_mask=unseen)
    only = np.r_[:10, 15:20]
    assert (out[:, :, :20] == 0).all() and (out[:, :, 20:] != 0).any(axis=-1).all()
    assert (lse[:, :, 10:15] == np.inf).all() and (lse[0, :, only, 0] == [-255 * 2.0**120, 2]).all()
    assert (lse[0, 0, 20:] == other[0, 0, 20:]).all() and (lse[0, 1, 20:] > other[0, 1, 20:]).all()
