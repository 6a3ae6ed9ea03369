# SPDX-License-Identifier: Apache-2.0
"""FP8 inputs of block_sparse_attention_v2 with a scale for each block."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ascend_attention.golden import GoldenError, attention, bfloat16_to_float, block_sparse_attention_v2

N, KV_N, D = 4, 2, 32
SCALE = 0.3
Q_LENGTHS, KV_LENGTHS = [130, 3], [520, 300]
MAX_Q, MAX_KV = max(Q_LENGTHS), max(KV_LENGTHS)


def _decoded(code: int) -> float:
    sign = -1.0 if code & 0x80 else 1.0
    exponent, mantissa = code >> 3 & 0xF, code & 7
    return sign * (mantissa / 8 * 2.0**-6 if exponent == 0 else (1 + mantissa / 8) * 2.0 ** (exponent - 7))


DECODED = np.array([_decoded(c) for c in range(256)])


class Case:
    """Sequences as (tokens, heads, D) codes; finite and of moderate size."""

    def __init__(self, seed: int, each: int) -> None:
        rng = np.random.default_rng(seed)
        self.each = each
        small = np.concatenate([np.arange(0x48), np.arange(0x80, 0xC8)]).astype(np.uint8)  # up to 3.75 in size
        self.query = [rng.choice(small, (length, N, D)) for length in Q_LENGTHS]
        self.key, self.value = ([rng.choice(small, (length, KV_N, D)) for length in KV_LENGTHS] for _ in "kv")
        q_blocks, kv_blocks = -(-MAX_Q // 128), -(-MAX_KV // each)
        self.map = rng.integers(0, 2, (2, N, q_blocks, kv_blocks)).astype(np.int8)
        self.map[0, 0], self.map[0, 1, 0] = 1, 0  # one block row sees everything, one nothing
        self.scales = [
            rng.uniform(0.2, 1.5, (2, heads, blocks, 1)).astype(np.float32)
            for heads, blocks in ((N, q_blocks), (KV_N, kv_blocks), (KV_N, kv_blocks))
        ]

    def arguments(self, layout: str) -> dict[str, Any]:
        def arranged(sequences: list[np.ndarray]) -> np.ndarray:
            if layout == "TND":
                return np.concatenate(sequences)
            longest = max(len(s) for s in sequences)
            padded = np.full((2, longest, *sequences[0].shape[1:]), 0x7F, np.uint8)  # NaN beyond the lengths
            for b, s in enumerate(sequences):
                padded[b, : len(s)] = s
            return padded if layout == "BSND" else np.ascontiguousarray(padded.swapaxes(1, 2))

        return {
            "query": arranged(self.query), "key": arranged(self.key), "value": arranged(self.value),
            "block_sparse_mask": self.map, "block_shape": [128, self.each], "actual_seq_lengths": Q_LENGTHS,
            "actual_seq_lengths_kv": KV_LENGTHS, "q_dequant_scale": self.scales[0], "k_dequant_scale": self.scales[1],
            "v_dequant_scale": self.scales[2], "q_input_layout": layout, "kv_input_layout": layout,
            "num_key_value_heads": KV_N, "scale_value": SCALE, "softmax_lse_flag": 1,
        }  # fmt: skip

    def row(self, b: int, n: int, i: int) -> tuple[list[float], float]:
        """Output and log-sum-exp of one row, from single numbers."""
        q_scale, k_scale, v_scale = (s.astype(np.float64) for s in self.scales)
        query = [DECODED[c] * q_scale[b, n, i // 128, 0] for c in self.query[b][i, n]]
        seen = [j for j in range(KV_LENGTHS[b]) if self.map[b, n, i // 128, j // self.each] == 1]
        if not seen:
            return [0.0] * D, math.inf
        head = n // (N // KV_N)
        scores = []
        for j in seen:
            key = DECODED[self.key[b][j, head]] * k_scale[b, head, j // self.each, 0]
            scores.append(SCALE * math.fsum(x * y for x, y in zip(query, key.tolist(), strict=True)))
        top = max(scores)
        weights = [math.exp(s - top) for s in scores]
        total = math.fsum(weights)
        values = np.array([DECODED[self.value[b][j, head]] * v_scale[b, head, j // self.each, 0] for j in seen])
        out = [math.fsum(w * x for w, x in zip(weights, values[:, d].tolist(), strict=True)) / total for d in range(D)]
        return out, top + math.log(total)


ROWS = [(0, n, i) for n in range(N) for i in (0, 127, 128, 129)] + [(1, n, 2) for n in range(N)]


def _row(tensor: np.ndarray, layout: str, b: int, n: int, i: int) -> np.ndarray:
    if layout == "TND":
        return tensor[sum(Q_LENGTHS[:b]) + i, n]
    return tensor[b, i, n] if layout == "BSND" else tensor[b, n, i]


@pytest.mark.parametrize("each", [256, 512])
def test_float8_blocks(each: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(seed, each)
    if each == 256:
        monkeypatch.setattr(attention, "_CHUNK", 128 * MAX_KV)  # rows of the second block in a piece of their own
    expected = {at: case.row(*at) for at in ROWS}
    for layout in ("TND", "BNSD", "BSND"):
        out, lse = block_sparse_attention_v2(**case.arguments(layout))
        assert out.dtype == np.float64
        for at in ROWS:
            np.testing.assert_allclose(_row(out, layout, *at), expected[at][0], rtol=1e-11, atol=1e-12)
            np.testing.assert_allclose(_row(lse, layout, *at), [expected[at][1]], rtol=1e-11)
        if layout != "TND":
            assert not _row(out, layout, 1, 0, 3).any()  # beyond the second sequence


def test_device_flow(seed: int) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    case = Case(seed, 256)
    arguments = case.arguments("BNSD")
    exact, exact_lse = block_sparse_attention_v2(**arguments)
    out, lse = block_sparse_attention_v2(**arguments, dtype_flow="device")
    assert out.dtype.name == "bfloat16" or out.dtype == np.uint16
    assert lse.dtype == np.float32
    np.testing.assert_allclose(lse, exact_lse, rtol=1e-5, atol=1e-5)
    values = bfloat16_to_float(out.view(np.uint16))
    # FP8 exponentials are off by 1/16 of themselves at most, the result by half an ulp of bfloat16.
    largest = 3.75 * case.scales[2].max()
    assert 0 < np.abs(values - exact).max() <= largest * (2 / 16 + 2.0**-8)
    marked = {**arguments, **{x: arguments[x].view(ml_dtypes.float8_e4m3fn) for x in ("query", "key", "value")}}
    again, _ = block_sparse_attention_v2(**marked, dtype_flow="device")
    np.testing.assert_array_equal(bfloat16_to_float(again.view(np.uint16)), values)
    np.testing.assert_array_equal(block_sparse_attention_v2(**marked)[0], exact)


def test_device_flow_of_one_key_is_exact_but_for_the_output(seed: int) -> None:
    """One key: the exponential is 1, so only the scaling of V and the last rounding are left."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, 0x48, (1, 1, 1, D)).astype(np.uint8) for _ in range(3)]
    scale = np.full((1, 1, 1, 1), 0.75, np.float32)
    out, lse = block_sparse_attention_v2(
        *codes, block_sparse_mask=np.ones((1, 1, 1, 1), np.int8), block_shape=[128, 256], q_dequant_scale=scale,
        k_dequant_scale=scale, v_dequant_scale=scale, q_input_layout="BNSD", kv_input_layout="BNSD",
        num_key_value_heads=1, scale_value=SCALE, softmax_lse_flag=1, dtype_flow="device",
    )  # fmt: skip
    np.testing.assert_array_equal(bfloat16_to_float(out.view(np.uint16)).ravel(), DECODED[codes[2]].ravel() * 0.75)
    score, f = np.float32(0), np.float32
    for x, y in zip(DECODED[codes[0]].ravel(), DECODED[codes[1]].ravel(), strict=True):
        score = score + f(x) * f(y)
    assert lse.ravel().tolist() == [float(score * (f(0.75) * f(0.75)) * f(SCALE))]


def test_device_flow_rounds_exponentials_to_float8() -> None:
    """Two keys, scores 0 and -delta: an exponential of 1, and one times 256 rounded to the nearest code."""
    query, key, value = (np.zeros((1, 1, s, D), np.uint8) for s in (1, 2, 2))
    query[..., 0], key[0, 0, 1, 0] = 0x38, 0xB8  # 1 and -1
    value[0, 0, 0, 0], value[0, 0, 1, 1] = 0x38, 0x38
    one = np.ones((1, 1, 1, 1), np.float32)
    for delta in (0.1, 0.33, 2.5, 5.1):
        out, _ = block_sparse_attention_v2(
            query, key, value, block_sparse_mask=np.ones((1, 1, 1, 1), np.int8), block_shape=[128, 256],
            q_dequant_scale=one, k_dequant_scale=one, v_dequant_scale=one, q_input_layout="BNSD",
            kv_input_layout="BNSD", num_key_value_heads=1, scale_value=delta, dtype_flow="device",
            attention_out_dtype="float16",
        )  # fmt: skip
        small = math.exp(-float(np.float32(delta)))
        nearest = min(DECODED[:0x7F], key=lambda x: abs(x - 256 * small)) / 256
        assert abs(nearest / small - 1) > 0.005  # or the test would show nothing
        assert out.dtype == np.float16
        np.testing.assert_allclose(out[0, 0, 0, :2], [1 / (1 + small), nearest / (1 + small)], rtol=2.0**-11)


def test_scales_of_one_are_no_scales(seed: int) -> None:
    """FP8 values are float16 values too."""
    case = Case(seed, 256)
    arguments = case.arguments("TND")
    for name in ("q_dequant_scale", "k_dequant_scale", "v_dequant_scale"):
        arguments[name] = np.ones_like(arguments[name])
    half = dict(arguments)
    for name in ("query", "key", "value"):
        half[name] = DECODED[arguments[name]].astype(np.float16)
    for name in ("q_dequant_scale", "k_dequant_scale", "v_dequant_scale"):
        half[name] = None
    for got, want in zip(block_sparse_attention_v2(**arguments), block_sparse_attention_v2(**half), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", ["q_dequant_scale", "k_dequant_scale", "v_dequant_scale"])
def test_scales_are_needed_and_fit(name: str, seed: int) -> None:
    arguments = Case(seed, 256).arguments("BSND")
    with pytest.raises(GoldenError, match=name):
        block_sparse_attention_v2(**{**arguments, name: None})
    with pytest.raises(GoldenError, match=name):
        block_sparse_attention_v2(**{**arguments, name: arguments[name][:, :, :1]})
    with pytest.raises(GoldenError, match="block_shape"):
        fine = np.ones((2, N, -(-MAX_Q // 128), -(-MAX_KV // 128)), np.int8)
        block_sparse_attention_v2(**{**arguments, "block_shape": None, "block_sparse_mask": fine})
