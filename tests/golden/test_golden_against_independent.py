# SPDX-License-Identifier: Apache-2.0
"""The exact flow against two implementations that share nothing with it: loops over single numbers, and torch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from helpers.fia_cases import FiaCase
from helpers.fia_edges import edge_cases
from helpers.fia_random import random_case
from helpers.online_attention import to_layout, visible

from ascend_attention.golden import fused_infer_attention_score_v2

EDGES = edge_cases()


def _sees(case: FiaCase, hidden: np.ndarray | None, b: int, i: int, j: int) -> bool:
    """The table of sparse modes, one pair at a time."""
    s1, s2 = case.query_lengths()[b], case.key_lengths()[b]
    if hidden is not None and hidden[b % len(hidden)][i][j]:
        return False
    match case.sparse_mode:
        case 0:
            return hidden is None or i - case.pre_tokens <= j <= i + case.next_tokens
        case 1:
            return True
        case 2:
            return j <= i
        case 3:
            return j <= i + (s2 - s1)
        case 4:
            return i + (s2 - s1) - case.pre_tokens <= j <= i + (s2 - s1) + case.next_tokens
    raise AssertionError


def by_loops(case: FiaCase) -> tuple[np.ndarray, np.ndarray]:
    """Every element by itself: fsum over Python floats, no matrix, no broadcasting."""
    query, key, value = case.values()
    hidden = case.hidden_pairs()
    group = case.num_query_heads // case.key_heads
    out = np.zeros(query.shape)
    lse = np.full((*query.shape[:3], 1), math.inf)
    for b in range(case.batch):
        for n in range(case.num_query_heads):
            keys, values = key[b, n // group].tolist(), value[b, n // group].tolist()
            for i in range(case.query_lengths()[b]):
                row = query[b, n, i].tolist()
                seen = [j for j in range(case.key_lengths()[b]) if _sees(case, hidden, b, i, j)]
                if not seen:
                    continue
                logits = [case.scale() * math.fsum(x * y for x, y in zip(row, keys[j], strict=True)) for j in seen]
                top = max(logits)
                weights = [math.exp(logit - top) for logit in logits]
                total = math.fsum(weights)
                lse[b, n, i, 0] = top + math.log(total)
                for d in range(case.head_dim):
                    products = (w * values[j][d] for w, j in zip(weights, seen, strict=True))
                    out[b, n, i, d] = math.fsum(products) / total
    return to_layout(case, out), lse


def by_torch(case: FiaCase) -> tuple[np.ndarray, np.ndarray]:
    torch = pytest.importorskip("torch")
    query, key, value = (torch.from_numpy(x).double() for x in case.values())
    group = case.num_query_heads // case.key_heads
    out = torch.zeros(query.shape, dtype=torch.float64)
    lse = torch.full((*query.shape[:3], 1), math.inf, dtype=torch.float64)
    for b in range(case.batch):
        s1, s2 = case.query_lengths()[b], case.key_lengths()[b]
        keep = torch.from_numpy(visible(case, b))
        seen = keep.any(dim=1)
        if not seen.any():
            continue
        q = query[b, :, :s1][:, seen]
        k, v = (x[b, :, :s2].repeat_interleave(group, dim=0) for x in (key, value))
        attended = torch.nn.functional.scaled_dot_product_attention(
            q[None], k[None], v[None], attn_mask=keep[seen], scale=case.scale()
        )
        out[b, :, :s1][:, seen] = attended[0]
        logits = (q @ k.transpose(1, 2) * case.scale()).masked_fill(~keep[seen], -math.inf)
        lse[b, :, :s1][:, seen] = torch.logsumexp(logits, dim=2, keepdim=True)
    return to_layout(case, out.numpy()), lse.numpy()


def check(case: FiaCase, expected: tuple[np.ndarray, np.ndarray], bfloat16: str = "ml_dtypes") -> None:
    print(case)
    arguments: dict[str, Any] = case.arguments(bfloat16)
    out, lse = fused_infer_attention_score_v2(**arguments)
    assert out.dtype == np.float64
    assert out.shape == expected[0].shape
    size = float(np.abs(expected[0]).max(initial=0))
    # float64's own rounding: 2^-53 for each of up to 1100 keys, and for scores of up to 1e5 in the exponent.
    np.testing.assert_allclose(out, expected[0], rtol=0, atol=1e-9 * size)
    if case.return_softmax_lse:
        assert lse.shape == (case.batch, case.num_query_heads, case.query_length, 1)
        np.testing.assert_allclose(lse, expected[1], rtol=1e-13, atol=1e-12)
    else:
        assert lse.shape == (1,) and lse.dtype == np.float32 and lse[0] == 0


@pytest.mark.parametrize("case", EDGES, ids=lambda case: case.name)
def test_edges_against_torch(case: FiaCase) -> None:
    check(case, by_torch(case))


def test_samples_against_torch(sample_rng: np.random.Generator) -> None:
    case = random_case(sample_rng, max_work=2**24)
    check(case, by_torch(case), "bits")


@pytest.mark.parametrize("case", [case for case in EDGES if case.work <= 2**18], ids=lambda case: case.name)
def test_edges_against_loops(case: FiaCase) -> None:
    check(case, by_loops(case), "bits")


def test_samples_against_loops(sample_rng: np.random.Generator) -> None:
    case = random_case(
        sample_rng,
        max_query_length=12,
        max_key_length=20,
        max_head_dim=48,
        max_query_heads=3,
        max_group=5,
        max_work=2**16,
    )
    check(case, by_loops(case))


def test_edges_cover_what_they_promise() -> None:
    """A change of the case list must not lose one of the hard kinds unnoticed."""
    assert sum(case.work <= 2**18 for case in EDGES) >= 40
    assert {case.head_dim for case in EDGES} >= set(range(16, 257, 16))
    assert {(case.sparse_mode, case.mask_shape) for case in EDGES} >= {
        (mode, shape) for mode in (0, 1) for shape in ("SS", "1SS", "BSS", "11SS", "B1SS")
    }
    scores = {}
    for case in EDGES:
        if case.data in ("below_minus_50000", "above_65504"):
            query, key, _ = case.values()
            logits = query[0, 0].astype(np.float64) @ key[0, 0, : case.key_lengths()[0]].T.astype(np.float64)
            scores.setdefault(case.data, []).append(case.scale() * logits)
    assert all(x.max() < -50000 for x in scores["below_minus_50000"])
    assert all(x.min() > 65504 for x in scores["above_65504"])
    # Most rows are no mere average.
    assert all((np.ptp(x, axis=1) > 0).mean() > 0.5 for many in scores.values() for x in many)
    blind = [case for case in EDGES if case.batch and case.query_length and case.key_length]
    assert any(not visible(case, 0).any(axis=1).all() for case in blind)
