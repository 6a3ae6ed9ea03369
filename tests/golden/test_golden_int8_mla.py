# SPDX-License-Identifier: Apache-2.0
"""Full int8 MLA against a judge that knows nothing of the golden model: loops over single numbers and torch.

Written from the document's MLA section (query, key and value int8, both ropes bfloat16, query_quant_mode 3, paged keys)
and the restored tables A4, A5 and A10, before anything of the golden model was read. What the document says:

- dequant_scale_query belongs to query, a number for each token and head; dequant_scale_key and dequant_scale_value are
  one number each; ropes have no scale (dequant_scale_key_rope is reserved).
- The score is softmax_scale times the sum of both products; the output has value's scale and rope's dtype.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from ascend_attention.golden import fused_infer_attention_score_v2

try:
    import torch
except ImportError:
    torch = None

D, ROPE = 512, 64
GARBAGE_IDS = (-1, 2147483647, 999999, -2147483648)


@dataclass(frozen=True)
class Case:
    layout: str
    cache: str  # blocks x rows x D, blocks x heads x rows x D, or NZ
    block_size: int
    heads: int
    query_lengths: tuple[int, ...]
    key_lengths: tuple[int, ...]
    sparse: int
    rows: int = 0  # Q_S where the query is padded; 0: the longest sequence
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        lengths = "_".join(f"{q}x{k}" for q, k in zip(self.query_lengths, self.key_lengths, strict=True))
        more = "".join(f"-{name}" for name in self.options)
        return f"{self.layout}-{self.cache}{self.block_size}-N{self.heads}-{lengths}-sparse{self.sparse}{more}"


CASES = [
    # One row for each sequence: decode. A query of one row takes no mask.
    Case("BSH", "NZ", 128, 4, (1, 1, 1), (130, 7, 128), 0),
    Case("BSND", "BBH", 16, 2, (1, 1, 1), (1, 33, 16), 0),
    Case("BNSD", "BNBD", 16, 8, (1, 1), (47, 18), 0),
    Case("BNSD", "BBH", 128, 1, (1, 1), (129, 3), 0),
    Case("BSH_NBSD", "BBH", 16, 4, (1, 1), (20, 31), 0),
    Case("BSND_NBSD", "NZ", 128, 2, (1, 1), (140, 128), 0),
    Case("BNSD_NBSD", "BNBD", 128, 2, (1, 1), (140, 12), 0),
    Case("TND", "NZ", 128, 4, (1, 1, 1), (129, 40, 1), 0),
    Case("TND_NTD", "BNBD", 16, 2, (1, 1, 1), (17, 0, 5), 0),
    Case("BSND", "NZ", 128, 64, (1,), (5,), 0),
    # One row stays, whatever its length; one length for all, and more lengths than sequences.
    Case("BSH", "BBH", 16, 2, (1, 1), (20, 3), 0, options={"actual_seq_qlen": [0, 7]}),
    Case("BNSD", "BNBD", 16, 2, (1, 1), (17, 17), 0, options={"actual_seq_kvlen": [17]}),
    Case("BSND", "NZ", 128, 2, (1, 1), (17, 5), 0, options={"actual_seq_kvlen": [17, 5, -3, 99]}),
    # Several rows: the last ones of each sequence, right-down causal.
    Case("BSH", "BBH", 16, 2, (3, 3), (19, 34), 3),
    Case("BSH", "NZ", 128, 1, (16, 16), (20, 16), 3),
    Case("BSND", "NZ", 128, 2, (4, 4, 4), (132, 5, 4), 3),
    Case("BSND", "BBH", 128, 2, (2, 2), (131, 2), 3),
    Case("BNSD", "BNBD", 16, 2, (5, 5), (21, 40), 3),
    Case("BNSD", "BBH", 16, 2, (4, 4), (9, 16), 3),
    Case("BSH_NBSD", "NZ", 128, 2, (2, 2), (129, 30), 3),
    Case("BSND_NBSD", "BBH", 16, 4, (3, 3), (17, 8), 3),
    Case("BNSD_NBSD", "BNBD", 16, 2, (6, 6), (12, 33), 3),
    Case("BNSD_NBSD", "BBH", 128, 1, (3,), (140,), 3),
    Case("TND", "BBH", 16, 2, (1, 5, 16), (20, 35, 16), 3),
    Case("TND", "BNBD", 128, 2, (2, 3), (130, 3), 3),
    Case("TND", "NZ", 128, 2, (7, 1, 2), (30, 129, 2), 3),
    Case("TND_NTD", "NZ", 128, 2, (3, 1, 4), (128, 129, 5), 3),
    Case("TND_NTD", "BBH", 16, 1, (16, 2), (40, 16), 3),
    # Sequences without rows or keys, more rows than keys, rows beyond actual_seq_qlen.
    Case("TND", "BBH", 16, 2, (0, 3, 0), (17, 5, 0), 3),
    Case("TND", "BNBD", 16, 2, (4, 2), (2, 18), 3),
    Case("BNSD", "BNBD", 16, 2, (2, 4, 0), (20, 3, 9), 3, rows=5),
    Case("BSH", "NZ", 128, 2, (3, 1), (129, 0), 3, rows=3),
    Case("BSND_NBSD", "BBH", 16, 2, (1, 3), (2, 33), 3, rows=4),
    # Beyond what the document lists for int8, with a plain meaning all the same: no mask, full masks, a band.
    Case("BSND", "BBH", 16, 2, (3, 3), (18, 7), 0),
    Case("TND", "BBH", 16, 2, (3, 2), (18, 7), 0),
    Case("BNSD", "BNBD", 16, 2, (4, 3), (18, 7), 0, options={"mask": "full", "pre_tokens": 9, "next_tokens": 6}),
    Case("BSH", "NZ", 128, 1, (3, 3), (130, 7), 1, options={"mask": "full"}),
    Case("BSND", "BBH", 16, 2, (4, 2), (21, 5), 4, rows=4, options={"pre_tokens": 6, "next_tokens": -1}),
    Case("BSND", "NZ", 128, 2, (1, 1), (140, 5), 4, options={"pre_tokens": 30, "next_tokens": 0}),
    Case("BSND", "BBH", 16, 2, (3, 3), (18, 7), 2),
]  # fmt: skip


@dataclass(frozen=True)
class Drawn:
    """One case's numbers: sequences as lists of tokens, and the call that holds them in its layout and cache."""

    query: list[np.ndarray]  # of each sequence: rows x heads x 512, int8
    query_rope: list[np.ndarray]
    query_scale: list[np.ndarray]  # rows x heads
    key: list[np.ndarray]  # tokens x 512
    key_rope: list[np.ndarray]
    value: list[np.ndarray]
    key_scale: float
    value_scale: float
    mask: list[np.ndarray] | None
    call: dict[str, Any]


def bfloat16_bits(numbers: np.ndarray) -> np.ndarray:
    """Of numbers that bfloat16 holds, NaN among them."""
    return (np.asarray(numbers, np.float32).view(np.uint32) >> 16).astype(np.uint16)


def float_of_bits(bits: np.ndarray) -> np.ndarray:
    assert bits.dtype == np.uint16
    return (bits.astype(np.uint32) << 16).view(np.float32).astype(np.float64)


def rope_numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return (rng.integers(-100, 101, shape) / 32).astype(np.float32)  # seven significant bits: bfloat16 holds them


def int8_numbers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-128, 128, shape).astype(np.int8)


def axes_of(layout: str) -> str:
    return layout.split("_")[0]


def query_tensor(layout: str, sequences: list[np.ndarray], rows: int, fill: np.ndarray | float) -> np.ndarray:
    """Sequences (rows x heads x ...) in the layout's axes; `fill` where a padded layout has no row."""
    if axes_of(layout) == "TND":
        return np.concatenate(sequences)
    padded = np.full((len(sequences), rows, *sequences[0].shape[1:]), fill, sequences[0].dtype)
    for sequence, tensor in zip(sequences, padded, strict=True):
        tensor[: len(sequence)] = sequence
    if axes_of(layout) == "BNSD":
        padded = padded.swapaxes(1, 2)
    if axes_of(layout) == "BSH" and padded.ndim == 4:
        padded = padded.reshape(*padded.shape[:2], -1)
    return np.ascontiguousarray(padded)


def cache_tensor(case: Case, sequences: list[np.ndarray], table: np.ndarray, empty: np.ndarray) -> np.ndarray:
    """Token t of sequence b in row t % block_size of block table[b, t // block_size]; `empty` elsewhere."""
    width = sequences[0].shape[1]
    rows = empty.copy()
    for b, tokens in enumerate(sequences):
        for t, token in enumerate(tokens):
            rows[table[b, t // case.block_size], t % case.block_size] = token
    if case.cache == "BBH":
        return rows
    if case.cache == "BNBD":
        return rows[:, None]
    fractal = 32 if rows.dtype == np.int8 else 16
    split = rows.reshape(len(rows), case.block_size, width // fractal, fractal)
    return np.ascontiguousarray(split.swapaxes(1, 2)[:, None])


def draw(case: Case, rng: np.random.Generator) -> Drawn:
    batch = len(case.query_lengths)
    rows = case.rows or max(case.query_lengths)
    query = [int8_numbers(rng, n, case.heads, D) for n in case.query_lengths]
    query_rope = [rope_numbers(rng, n, case.heads, ROPE) for n in case.query_lengths]
    query_scale = [rng.uniform(0.002, 0.02, (n, case.heads)).astype(np.float32) for n in case.query_lengths]
    key = [int8_numbers(rng, n, D) for n in case.key_lengths]
    value = [int8_numbers(rng, n, D) for n in case.key_lengths]
    key_rope = [rope_numbers(rng, n, ROPE) for n in case.key_lengths]

    needed = [-(-n // case.block_size) for n in case.key_lengths]
    blocks = sum(needed) + 2
    columns = max(needed) + 1
    table = rng.choice(GARBAGE_IDS, (batch, columns)).astype(np.int32)
    ids = iter(rng.permutation(blocks))
    for b, count in enumerate(needed):
        table[b, :count] = [next(ids) for _ in range(count)]

    def cache(sequences: list[np.ndarray]) -> np.ndarray:
        return cache_tensor(case, sequences, table, int8_numbers(rng, blocks, case.block_size, D))

    nothing = bfloat16_bits(np.full((blocks, case.block_size, ROPE), np.nan))
    call: dict[str, Any] = {
        "query": query_tensor(case.layout, query, rows, 113),
        "key": cache(key),
        "value": cache(value),
        "query_rope": query_tensor(case.layout, [bfloat16_bits(r) for r in query_rope], rows, 0x7FC0),
        "key_rope": cache_tensor(case, [bfloat16_bits(r) for r in key_rope], table, nothing),
        "dequant_scale_query": query_tensor(case.layout, query_scale, rows, np.nan),
        "dequant_scale_key": rng.uniform(0.004, 0.012, 1).astype(np.float32),
        "dequant_scale_value": rng.uniform(0.004, 0.012, 1).astype(np.float32),
        "actual_seq_kvlen": list(case.key_lengths),
        "block_table": table,
        "block_size": case.block_size,
        "num_query_heads": case.heads,
        "num_key_value_heads": 1,
        "softmax_scale": 1 / math.sqrt(D + ROPE),
        "input_layout": case.layout,
        "sparse_mode": case.sparse,
        "query_quant_mode": 3,
    }
    if axes_of(case.layout) == "TND":
        call["actual_seq_qlen"] = list(np.cumsum(case.query_lengths))
    elif set(case.query_lengths) != {rows}:
        call["actual_seq_qlen"] = list(case.query_lengths)
    mask = None
    if case.options.get("mask") == "full":
        bits = rng.integers(0, 2, (batch, 1, rows, columns * case.block_size)).astype(bool)
        call["atten_mask"] = bits
        mask = list(bits[:, 0])
    elif case.sparse >= 2:
        call["atten_mask"] = np.broadcast_to(np.int8(7), (2048, 2048))  # a promise about positions, never read
    call |= {name: value for name, value in case.options.items() if name != "mask"}
    scales = float(call["dequant_scale_key"][0]), float(call["dequant_scale_value"][0])
    return Drawn(query, query_rope, query_scale, key, key_rope, value, *scales, mask, call)


def sees(case: Case, drawn: Drawn, b: int, i: int, j: int) -> bool:
    """Row i and key j of sequence b: table A5."""
    shift = case.key_lengths[b] - case.query_lengths[b]
    pre = case.options.get("pre_tokens", 2147483647)
    following = case.options.get("next_tokens", 2147483647)
    if case.sparse == 0 and drawn.mask is None:
        return True
    if case.sparse == 0:
        return not drawn.mask[b][i, j] and i - pre <= j <= i + following
    if case.sparse == 1:
        return not drawn.mask[b][i, j]
    if case.sparse == 2:
        return j <= i
    if case.sparse == 3:
        return j <= i + shift
    return i + shift - pre <= j <= i + shift + following


@dataclass
class Judged:
    """What the loops give, of each sequence: output rows x heads x 512, lse and the room of a rounded weight."""

    out: list[np.ndarray]
    lse: list[np.ndarray]
    room: list[np.ndarray]


def judge(case: Case, drawn: Drawn) -> Judged:
    """One number after the other; products of int8 are Python integers, sums of rope are correctly rounded."""
    judged = Judged([], [], [])
    for b, (rows, tokens) in enumerate(zip(case.query_lengths, case.key_lengths, strict=True)):
        out = np.zeros((rows, case.heads, D))
        room = np.zeros((rows, case.heads, D))
        lse = np.full((rows, case.heads), np.inf)
        keys = drawn.key[b].tolist()
        key_ropes = drawn.key_rope[b].tolist()
        channels = drawn.value[b].T.tolist()
        for i in range(rows):
            seen = [j for j in range(tokens) if sees(case, drawn, b, i, j)]
            for n in range(case.heads):
                if not seen:
                    continue
                row = drawn.query[b][i, n].tolist()
                rope = drawn.query_rope[b][i, n].tolist()
                row_scale = float(drawn.query_scale[b][i, n])
                scores = []
                for j in seen:
                    nope = row_scale * drawn.key_scale * sum(x * y for x, y in zip(row, keys[j], strict=True))
                    turned = math.fsum(x * y for x, y in zip(rope, key_ropes[j], strict=True))
                    scores.append(drawn.call["softmax_scale"] * (nope + turned))
                top = max(scores)
                weights = [math.exp(score - top) for score in scores]
                total = math.fsum(weights)
                for d, channel in enumerate(channels):
                    product = sum(weight * channel[j] for weight, j in zip(weights, seen, strict=True))
                    out[i, n, d] = drawn.value_scale * product / total
                room[i, n] = drawn.value_scale * np.abs(drawn.value[b][seen].astype(float)).sum(axis=0) / 254 / total
                lse[i, n] = top + math.log(total)
        judged.out.append(out)
        judged.lse.append(lse)
        judged.room.append(room)
    return judged


def second_opinion(case: Case, drawn: Drawn) -> list[np.ndarray]:
    """torch on the dequantised numbers in float64, nope and rope as one head_dim of 576."""
    outs = []
    for b, (rows, tokens) in enumerate(zip(case.query_lengths, case.key_lengths, strict=True)):
        visible = np.array([[sees(case, drawn, b, i, j) for j in range(tokens)] for i in range(rows)], bool)
        visible = visible.reshape(rows, tokens)
        query = np.concatenate([drawn.query[b] * drawn.query_scale[b][..., None].astype(float), drawn.query_rope[b]], 2)
        key = np.concatenate([drawn.key[b] * drawn.key_scale, drawn.key_rope[b]], 1)
        value = drawn.value[b] * drawn.value_scale
        out = np.zeros((rows, case.heads, D))
        some = visible.any(axis=1)
        if some.any():
            out[some] = torch.nn.functional.scaled_dot_product_attention(
                torch.from_numpy(query[some].swapaxes(0, 1)),
                torch.from_numpy(key).expand(case.heads, -1, -1),
                torch.from_numpy(value).expand(case.heads, -1, -1),
                attn_mask=torch.from_numpy(visible[some]),
                scale=drawn.call["softmax_scale"],
            ).numpy().swapaxes(0, 1)  # fmt: skip
        outs.append(out)
    return outs


def per_sequence(case: Case, out: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """attention_out as rows x heads x 512 of each sequence, and the rows that belong to none."""
    layout = case.layout.split("_")[-1]
    ends = np.cumsum(case.query_lengths)
    if layout in ("TND", "NTD"):
        tokens = out.swapaxes(0, 1) if layout == "NTD" else out
        return np.split(tokens, ends)[:-1], [tokens[ends[-1] :]]
    if layout == "BSH":
        assert out.shape[2] == case.heads * D
        out = out.reshape(*out.shape[:2], case.heads, D)
    order = {"BSH": (0, 1, 2, 3), "BSND": (0, 1, 2, 3), "BNSD": (0, 2, 1, 3), "NBSD": (1, 2, 0, 3)}[layout]
    batch = out.transpose(order)
    lengths = case.query_lengths
    assert len(batch) == len(lengths)
    assert batch.shape[1] == (case.rows or max(lengths))
    return [s[:n] for s, n in zip(batch, lengths, strict=True)], [s[n:] for s, n in zip(batch, lengths, strict=True)]


def per_sequence_lse(case: Case, lse: np.ndarray) -> list[np.ndarray]:
    """softmax_lse, (B, N, S, 1) or (T, N, 1), as rows x heads of each sequence."""
    if axes_of(case.layout) == "TND":
        assert lse.shape == (sum(case.query_lengths), case.heads, 1)
        return np.split(lse[..., 0], np.cumsum(case.query_lengths))[:-1]
    rows = case.rows or max(case.query_lengths)
    assert lse.shape == (len(case.query_lengths), case.heads, rows, 1)
    for sequence, length in zip(lse, case.query_lengths, strict=True):
        assert np.isposinf(sequence[:, length:]).all()
    return [s[:, :n, 0].T for s, n in zip(lse, case.query_lengths, strict=True)]


def worst(ours: list[np.ndarray], theirs: list[np.ndarray], room: list[np.ndarray] | None = None) -> float:
    """The largest difference, beyond `room` where it is given; equal infinities do not differ."""
    largest = 0.0
    for index, (left, right) in enumerate(zip(ours, theirs, strict=True)):
        assert left.shape == right.shape
        off = np.where(left == right, 0, np.abs(left - np.where(np.isfinite(right), right, 0)))
        largest = max(largest, (off - room[index] if room else off).max(initial=0))
    return largest


@pytest.mark.parametrize("case", CASES, ids=str)
def test_full_int8_mla_is_what_the_document_says(case: Case, seed: int) -> None:
    drawn = draw(case, np.random.default_rng(seed))
    judged = judge(case, drawn)

    exact, lse = fused_infer_attention_score_v2(**drawn.call, return_softmax_lse=True)
    outs, padding = per_sequence(case, exact)
    assert worst(outs, judged.out) < 1e-12
    assert torch is None or worst(outs, second_opinion(case, drawn)) < 1e-12
    assert worst(per_sequence_lse(case, lse), judged.lse) < 1e-12
    assert not any(rows.any() for rows in padding)

    # The plain peer rounds each exponential to a step of 1/127 of the largest so far: half a step for each key is all
    # that it may be off by. Beside that there are float32 sums and one rounding to bfloat16.
    peer, lse = fused_infer_attention_score_v2(**drawn.call, return_softmax_lse=True, dtype_flow="device")
    outs, padding = per_sequence(case, float_of_bits(peer))
    allowed = [room + np.abs(out) * 2.0**-8 + 1e-5 for out, room in zip(judged.out, judged.room, strict=True)]
    assert worst(outs, judged.out, allowed) == 0
    assert worst(per_sequence_lse(case, lse), judged.lse) < 1e-4
    assert not any(rows.any() for rows in padding)
