# SPDX-License-Identifier: Apache-2.0
"""The three operators against loops over single elements, after the documents' words (helpers/brute_force.py)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.brute_force import (
    Problem,
    compare,
    make_problem,
    make_table,
    put,
    put_pages,
    shape_of,
)
from helpers.fia_values import encode, round_to

from ascend_attention.golden import (
    attention,
    bfloat16_to_float,
    block_sparse_attention_v2,
    fused_infer_attention_score_v2,
    prompt_flash_attention,
)

try:
    import torch
except ImportError:
    torch = None  # lengths come as tensors too, if there are any

# input_layout -> axes of query, axes of attention_out (seed_gaps.md A4)
LAYOUTS = {
    "BSH": ("BSH", "BSH"), "BSND": ("BSND", "BSND"), "BNSD": ("BNSD", "BNSD"), "BNSD_BSND": ("BNSD", "BSND"),
    "BSH_NBSD": ("BSH", "NBSD"), "BSND_NBSD": ("BSND", "NBSD"), "BNSD_NBSD": ("BNSD", "NBSD"), "TND": ("TND", "TND"),
    "TND_NTD": ("TND", "NTD"), "NTD_TND": ("NTD", "TND"),
}  # fmt: skip
PFA_LAYOUTS = ("BSH", "BSND", "BNSD", "BNSD_BSND", "TND")
UNLIMITED = 2147483647


def _form(rng: np.random.Generator, lengths: list[int]) -> Any:
    """Lengths as callers give them."""
    kind = int(rng.integers(5))
    if kind == 0:
        return lengths
    if kind == 1:
        return tuple(lengths)
    if kind == 2:
        return np.repeat(np.array(lengths, np.int32), 2)[::2]  # strided
    if kind == 3 and torch is not None:
        return torch.tensor(lengths, dtype=torch.int64)
    return np.array(lengths, np.int64)


def _padding(rng: np.random.Generator) -> int:
    return int(rng.integers(0, 4))


def _mask(rng: np.random.Generator, problem: Problem, full: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """A full mask in any documented shape, padded with random bytes, and what it hides: (B or 1, Q_S, KV_S)."""
    rows, keys = full
    kept = int(rng.choice([1, problem.batch]))
    hidden = rng.random((kept, rows, keys)) < rng.choice([0.2, 0.8])
    mask = rng.random((kept, rows + (_padding(rng) if rows > 1 else 0), keys + _padding(rng))) < 0.5
    mask[:, :rows, :keys] = hidden
    shapes = [mask.shape, (kept, 1, *mask.shape[1:])]
    if kept == 1 or rows == 1:
        shapes.append((mask.shape[0] * mask.shape[1], mask.shape[2]))  # (Q_S, KV_S), with one row (B, KV_S)
    mask = mask.reshape(shapes[int(rng.integers(len(shapes)))])
    return mask.astype(str(rng.choice(["bool", "int8", "uint8"]))), hidden


def _sparse(
    rng: np.random.Generator,
    problem: Problem,
    mode: int,
    full: tuple[int, int] | None,
    tokens: tuple[int, int] | None = None,
) -> dict[str, Any]:
    """Arguments of a sparse mode; sets problem.sees to what the document says about it. full is (Q_S, KV_S)."""
    ends = [*range(-6, 7), UNLIMITED, -UNLIMITED]
    pre, after = tokens or (int(rng.choice(ends)), int(rng.choice(ends)))
    given: dict[str, Any] = {"sparse_mode": mode, "pre_tokens": pre, "next_tokens": after}
    hidden = None
    if mode == 1 or (mode == 0 and full is not None and rng.random() < 0.7):
        assert full is not None
        given["atten_mask"], hidden = _mask(rng, problem, full)
    elif mode >= 2 and rng.random() < 0.8:
        shape = [(2048, 2048), (1, 2048, 2048), (1, 1, 2048, 2048)][int(rng.integers(3))]
        given["atten_mask"] = np.broadcast_to(rng.random(2048) < 0.5, shape)  # never read: the content is nonsense

    def sees(b: int, n: int, i: int, j: int) -> bool:
        shift = problem.key_lengths[b] - problem.query_lengths[b]
        if mode == 0:
            return hidden is None or (not hidden[b % len(hidden), i, j] and i - pre <= j <= i + after)
        if mode == 1:
            assert hidden is not None
            return not hidden[b % len(hidden), i, j]
        if mode == 2:
            return j <= i
        if mode == 3:
            return j <= i + shift
        return i + shift - pre <= j <= i + shift + after

    problem.sees = sees
    return given


def _one_row(rng: np.random.Generator, problem: Problem, keys: int) -> dict[str, Any]:
    """A query of one row without rope: sparse_mode and tokens have no effect, a mask hides what it hides."""
    given: dict[str, Any] = {"sparse_mode": int(rng.integers(0, 5)), "pre_tokens": -3, "next_tokens": -5}
    if rng.random() < 0.7:
        given["atten_mask"], hidden = _mask(rng, problem, (1, keys))
        problem.sees = lambda b, n, i, j: not hidden[b % len(hidden), 0, j]
    return given


def _bias(rng: np.random.Generator, problem: Problem, full: tuple[int, int]) -> np.ndarray:
    rows, keys = full
    kept = int(rng.choice([1, problem.batch]))
    numbers = round_to(rng.standard_normal((kept, problem.heads, rows, keys)).astype(np.float32), problem.dtype)
    padded = np.full((kept, problem.heads, rows + _padding(rng), keys + _padding(rng)), np.nan, np.float32)
    padded[:, :, :rows, :keys] = numbers
    problem.bias = lambda b, n, i, j: float(numbers[b % kept, n, i, j])
    return encode(padded, problem.dtype, "bits")


def _tensors(
    rng: np.random.Generator, problem: Problem, axes: str, storage: str, rows: int, rest: int
) -> tuple[dict[str, Any], int]:
    """query, key, value (and rope, block_table), and KV_S."""
    p = problem
    total = sum(p.query_lengths) + (rest if "T" in axes else 0)
    given: dict[str, Any] = {"query": put(p.query, axes, p.heads, rows, total, p.dim, p.dtype)}
    if p.rope_dim:
        given["query_rope"] = put(p.query_rope, axes, p.heads, rows, total, p.rope_dim, p.dtype)
    sources = [("key", p.key, p.dim), ("value", p.value, p.value_dim)]
    if p.rope_dim:
        sources.append(("key_rope", p.key_rope, p.rope_dim))
    keys = max(p.key_lengths) + _padding(rng)
    if storage == "dense":
        key_total = sum(p.key_lengths) + rest
        for name, values, dim in sources:
            given[name] = put(values, axes, p.key_heads, keys, key_total, dim, p.dtype)
    elif storage == "list":
        own = [n + _padding(rng) for n in p.key_lengths]
        keys = max(own)
        for name, values, dim in sources:
            given[name] = [put([x], axes, p.key_heads, n, 0, dim, p.dtype) for x, n in zip(values, own, strict=True)]
    else:
        block_size = int(rng.choice([4, 16]))
        table, blocks = make_table(rng, p.key_lengths, block_size)
        given |= {"block_table": table, "block_size": block_size}
        keys = max(p.key_lengths)
        for name, values, dim in sources:
            given[name] = put_pages(values, table, blocks, block_size, p.key_heads, dim, storage, p.dtype)
    return given, keys


def _lengths(rng: np.random.Generator, problem: Problem, packed: bool, paged: bool) -> tuple[Any, Any]:
    q, kv = problem.query_lengths, problem.key_lengths
    if packed:
        return _form(rng, np.cumsum(q).tolist()), _form(rng, kv if paged else np.cumsum(kv).tolist())
    extra = [99] * int(rng.integers(0, 2))  # entries beyond the batch have no meaning
    return _form(rng, q + extra), _form(rng, kv + extra)


def _sink(rng: np.random.Generator, problem: Problem) -> np.ndarray:
    size = np.float32(rng.choice([3, 1000]))  # 1000: exp of it overflows, and so does exp of its distance to a score
    problem.sink = round_to(size * rng.standard_normal(problem.heads).astype(np.float32), "bfloat16").tolist()
    return encode(np.array(problem.sink, np.float32), "bfloat16", "bits")


@pytest.mark.parametrize(
    ("input_layout", "storage"),
    [
        (layout, storage)
        for layout in LAYOUTS
        for storage in ("dense", "BBH", "BNBD", "NZ", "list")
        if not (storage == "list" and "T" in layout)  # a list has no meaning there
    ],
)
def test_fused_infer_attention_score_v2(
    input_layout: str, storage: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    axes, out_axes = LAYOUTS[input_layout]
    packed = "T" in axes
    for mode in (0, 2, 3, 4) if packed else (0, 1, 2, 3, 4):
        rng = np.random.default_rng([seed, mode])
        monkeypatch.setattr(attention, "_CHUNK", int(rng.choice([1, 30, 1 << 19])))  # scores held at a time
        one_row, rope, wide_key = (bool(rng.random() < odds) for odds in (0.3, 0.4, 0.3))
        problem = make_problem(rng, int(rng.integers(1, 4)), rope, one_row, wide_key)
        rows = 1 if one_row else max(problem.query_lengths) + 1 + _padding(rng)
        if rows == 1:
            problem = make_problem(rng, problem.batch, rope, True, wide_key)
        given, keys = _tensors(rng, problem, axes, storage, rows, _padding(rng))
        full = None if packed else (rows, keys)
        free = rows == 1 and not packed and not rope
        given |= _one_row(rng, problem, keys) if free else _sparse(rng, problem, mode, full)
        if full is not None and rng.random() < 0.4:
            given["pse_shift"] = _bias(rng, problem, full)
        if rng.random() < 0.4:
            given["learnable_sink"] = _sink(rng, problem)
        q_lengths, kv_lengths = _lengths(rng, problem, packed, storage not in ("dense", "list"))
        call = given | {
            "actual_seq_qlen": q_lengths,
            "actual_seq_kvlen": kv_lengths,
            "num_query_heads": problem.heads,
            "num_key_value_heads": problem.key_heads,
            "softmax_scale": problem.scale,
            "input_layout": input_layout,
            "return_softmax_lse": True,
        }
        out, lse = fused_infer_attention_score_v2(**call)
        total = given["query"].shape[axes.index("T")] if packed else 0
        assert out.shape == shape_of(out_axes, problem.batch, problem.heads, rows, total, problem.value_dim)
        assert lse.shape == ((total, problem.heads, 1) if packed else (problem.batch, problem.heads, rows, 1))
        compare(problem, out, out_axes, lse, "TN1" if packed else "BNS1")
        _check_device(problem, out, lse, fused_infer_attention_score_v2(**call, dtype_flow="device"))


def _check_device(problem: Problem, out: np.ndarray, lse: np.ndarray, device: tuple[np.ndarray, np.ndarray]) -> None:
    """The plain peer rounds probabilities and result once each: farther from exact it would be wrong, not imprecise."""
    peer, peer_lse = device
    assert peer.dtype == (np.float16 if problem.dtype == "float16" else np.uint16) and peer_lse.dtype == np.float32
    numbers = peer.astype(np.float64) if problem.dtype == "float16" else bfloat16_to_float(peer).astype(np.float64)
    largest = max((abs(x) for b in problem.value for n in b for row in n for x in row), default=0.0)
    half_ulp = 2.0**-11 if problem.dtype == "float16" else 2.0**-8
    np.testing.assert_allclose(numbers, out, rtol=0, atol=2.1 * half_ulp * largest)
    np.testing.assert_allclose(peer_lse, lse, rtol=1e-5, atol=1e-5)
    assert (numbers == 0)[out == 0].all() and (numbers != 0)[np.abs(out) > 2.1 * half_ulp * largest].all()


@pytest.mark.parametrize("input_layout", PFA_LAYOUTS)
def test_prompt_flash_attention(input_layout: str, seed: int) -> None:
    axes, out_axes = LAYOUTS[input_layout]
    packed = "T" in axes
    for mode in (0, 2, 3, 4) if packed else (0, 1, 2, 3, 4):
        for defaults in (False, True):
            rng = np.random.default_rng([seed, mode, defaults])
            problem = make_problem(rng, int(rng.integers(1, 4)), False, bool(rng.random() < 0.2), packed)
            rows = max(problem.query_lengths) + _padding(rng)
            given, keys = _tensors(rng, problem, axes, "dense", rows, _padding(rng))
            full = None if packed else (rows, keys)
            given |= _sparse(rng, problem, mode, full, (UNLIMITED, 0) if defaults else None)
            if defaults:  # pre_tokens 2147483647 and next_tokens 0, not given
                del given["pre_tokens"], given["next_tokens"]
            if full is not None and rng.random() < 0.4:
                given["pse_shift"] = _bias(rng, problem, full)
            q_lengths, kv_lengths = _lengths(rng, problem, packed, False)
            out = prompt_flash_attention(
                **given,
                actual_seq_lengths=q_lengths,
                actual_seq_lengths_kv=kv_lengths,
                num_heads=problem.heads,
                num_key_value_heads=problem.key_heads,
                scale_value=problem.scale,
                input_layout=input_layout,
            )
            total = given["query"].shape[0]
            assert out.shape == shape_of(out_axes, problem.batch, problem.heads, rows, total, problem.value_dim)
            compare(problem, out, out_axes, None, "")


@pytest.mark.parametrize("layout", ["TND", "BNSD", "BSND"])
@pytest.mark.parametrize("block_shape", [(2, 3), (1, 5), (4, 1), (16, 128), (3, 4, 77), None])
def test_block_sparse_attention_v2(
    layout: str, block_shape: tuple[int, ...] | None, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for repeat in range(3):
        rng = np.random.default_rng([seed, repeat])
        monkeypatch.setattr(attention, "_CHUNK", int(rng.choice([1, 30, 1 << 19])))
        problem = make_problem(rng, int(rng.integers(1, 4)), False)
        packed, x, y = layout == "TND", *(block_shape or (128, 128))[:2]
        rows = max(problem.query_lengths) + _padding(rng)
        given, keys = _tensors(rng, problem, layout, "dense", rows, _padding(rng))
        most = (max(problem.query_lengths), max(problem.key_lengths)) if packed else (rows, keys)
        mask = rng.random((problem.batch, problem.heads, -(-most[0] // x), -(-most[1] // y))) < 0.5

        def sees(b: int, n: int, i: int, j: int, mask: np.ndarray = mask, x: int = x, y: int = y) -> bool:
            return bool(mask[b, n, i // x, j // y])

        problem.sees = sees
        out, lse = block_sparse_attention_v2(
            **given,
            block_sparse_mask=mask.astype(np.int8),
            block_shape=block_shape,
            actual_seq_lengths=_form(rng, problem.query_lengths),
            actual_seq_lengths_kv=_form(rng, problem.key_lengths),
            q_input_layout=layout,
            kv_input_layout=layout,
            num_key_value_heads=problem.key_heads,
            scale_value=problem.scale,
            softmax_lse_flag=1,
        )
        assert out.shape == given["query"].shape
        assert lse.shape == (*out.shape[:-1], 1)
        compare(problem, out, layout, lse, {"TND": "TN1", "BNSD": "BNS1", "BSND": "BSN1"}[layout])
