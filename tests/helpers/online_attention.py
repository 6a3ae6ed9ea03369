# SPDX-License-Identifier: Apache-2.0
"""Tiled attention with a running maximum, in float32 with 16-bit probabilities: what a correct kernel does, as a model.

It has a switch for each mistake that the precision policy has to catch. Written on (B, N, S, D) float32 arrays from
``FiaCase.values()``; shares nothing with the golden model.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from helpers.fia_cases import FiaCase
from helpers.fia_values import encode, round_to

MISTAKES = (
    "scale_off_by_1_percent",
    "causal_off_by_one",
    "dropped_key_tile",
    "swapped_heads",
    "skipped_rescale",
    "low_precision_accumulation",
    "one_nan",
    "uniform_average",
    "rounded_scores",
    "padding_keys_seen",
    "shifted_rows",
    "kv_head_modulo",
)


def visible(case: FiaCase, b: int, shift: int = 0) -> np.ndarray:
    """bool (q length, kv length) of batch b, by the table of the document. ``shift`` moves a diagonal to the right."""
    s1, s2 = case.query_lengths()[b], case.key_lengths()[b]
    i, j = np.arange(s1)[:, None], np.arange(s2)[None, :]
    keep = np.ones((s1, s2), bool)
    hidden = case.hidden_pairs()
    if hidden is not None:
        keep &= ~hidden[b % len(hidden), :s1, :s2]
    if case.sparse_mode == 0 and hidden is not None:
        keep &= (j >= i - case.pre_tokens) & (j <= i + case.next_tokens + shift)
    elif case.sparse_mode == 2:
        keep &= j <= i + shift
    elif case.sparse_mode == 3:
        keep &= j <= i + s2 - s1 + shift
    elif case.sparse_mode == 4:
        keep &= (j >= i + s2 - s1 - case.pre_tokens) & (j <= i + s2 - s1 + case.next_tokens + shift)
    return keep


def to_layout(case: FiaCase, x: np.ndarray) -> np.ndarray:
    """(B, N, S, D) to the layout of attention_out."""
    if case.input_layout == "BNSD":
        return x
    x = np.ascontiguousarray(x.transpose(0, 2, 1, 3))
    return x.reshape(x.shape[0], x.shape[1], -1) if case.input_layout == "BSH" else x


def online_attention(
    case: FiaCase,
    mistake: str | None = None,
    tile: int = 128,
    quantise: Callable[[np.ndarray], np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """(attention_out in the case's layout and dtype, softmax_lse float32).

    ``quantise`` makes int8 of (B, N, S, D) float32 instead; rows without keys stay zeros.
    """
    if mistake is not None and mistake not in MISTAKES:
        raise ValueError(f"unknown mistake {mistake!r}")
    query, key, value = case.values()
    out = np.zeros(query.shape, np.float32)
    lse = np.full((*query.shape[:3], 1), np.inf, np.float32)
    group = case.num_query_heads // case.key_heads
    for b in range(case.batch):
        s1, s2 = case.query_lengths()[b], case.key_lengths()[b]
        keep = visible(case, b, 1 if mistake == "causal_off_by_one" else 0)
        if mistake == "padding_keys_seen" and s2 < case.key_length:
            keep, s2 = np.concatenate([keep, keep[:, :1]], axis=1), s2 + 1
        for n in range(case.num_query_heads):
            kv = n % case.key_heads if mistake == "kv_head_modulo" else n // group
            o, m, total = _one_head(case, query[b, n, :s1], key[b, kv, :s2], value[b, kv, :s2], keep, mistake, tile)
            seen = keep.any(axis=1)
            out[b, n, :s1][seen] = (o / total)[seen]
            lse[b, n, :s1][seen] = (m + np.log(total))[seen]
    if mistake == "swapped_heads":
        out = out[:, ::-1]
    elif mistake == "shifted_rows":
        out = np.roll(out, 1, axis=2)
    elif mistake == "one_nan":
        out[0, -1, case.query_lengths()[0] // 2, -1] = np.nan
    elif mistake == "uniform_average":
        for b in range(case.batch):
            mean = value[b, :, : case.key_lengths()[b]].mean(axis=1, keepdims=True)
            out[b, :, : case.query_lengths()[b]] = np.repeat(mean, group, axis=0)
    if quantise is not None:
        return to_layout(case, np.where(np.isinf(lse), 0, quantise(out)).astype(np.int8)), lse
    return encode(to_layout(case, out), case.dtype), lse


def _one_head(
    case: FiaCase, q: np.ndarray, k: np.ndarray, v: np.ndarray, keep: np.ndarray, mistake: str | None, tile: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows = len(q)
    scale = np.float32(case.scale() * (1.01 if mistake == "scale_off_by_1_percent" else 1.0))
    out = np.zeros((rows, v.shape[1]), np.float32)
    maximum = np.full((rows, 1), -np.inf, np.float32)
    total = np.zeros((rows, 1), np.float32)
    starts = list(range(0, len(k), tile))
    dropped = starts[len(starts) // 2] if mistake == "dropped_key_tile" and starts else None
    for start in starts:
        if start == dropped:
            continue
        part = slice(start, start + tile)
        with np.errstate(invalid="ignore"):  # "padding_keys_seen" meets NaN
            scores = (q @ k[part].T) * scale
        if mistake == "rounded_scores":
            scores = round_to(scores, case.dtype)
        scores = np.where(keep[:, part], scores, -np.inf)
        new = np.maximum(maximum, scores.max(axis=1, keepdims=True))
        safe = np.where(np.isfinite(new), new, 0)
        correction = np.exp(np.where(np.isfinite(maximum), maximum, -np.inf) - safe)
        if mistake == "skipped_rescale":
            correction = np.ones_like(correction)
        weights = np.exp(scores - safe)
        total = total * correction + weights.sum(axis=1, keepdims=True)
        out = out * correction
        # A cube core accumulates 16 keys at a time; the mistake keeps that accumulator in bfloat16.
        step = 16 if mistake == "low_precision_accumulation" else tile
        for at in range(0, weights.shape[1], step):
            out = out + round_to(weights[:, at : at + step], case.dtype) @ v[part][at : at + step]
            if mistake == "low_precision_accumulation":
                out = round_to(out, "bfloat16")
        maximum = new
    return out, maximum, np.where(total == 0, 1, total).astype(np.float32)
