# SPDX-License-Identifier: Apache-2.0
"""The int8 chain of prompt_flash_attention: deq_scale1, quant_scale1, deq_scale2, quant_scale2 and quant_offset2."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from helpers.quant_loops import attention, half_even

from ascend_attention.golden import (
    GoldenError,
    bfloat16_from_float,
    pack_deq_scale,
    prompt_flash_attention,
    quantised,
)

B, N, KV_N, D, S1, S2 = 2, 4, 2, 32, 3, 7
G = N // KV_N
SCALE = 0.125
DEQ1 = 2.0**-9
QUANT1 = 100.0
DEQ2 = 0.0123
# The device flow rounds exponentials through float16, so each may be one int8 step away from the exact flow's.
ONE_STEP_OFF = S2 * 128 * DEQ2


def _float32(value: float) -> np.ndarray:
    return np.array([value], np.float32)


class Chain:
    def __init__(self, seed: int, layout: str = "BNSD") -> None:
        rng = np.random.default_rng(seed)
        self.rng = rng
        self.layout = layout
        sizes = ((N, S1), (KV_N, S2), (KV_N, S2))
        self.query, self.key, self.value = (rng.integers(-128, 128, (B, n, s, D)).astype(np.int8) for n, s in sizes)
        self.options: dict[str, Any] = {
            "num_heads": N, "num_key_value_heads": KV_N, "scale_value": SCALE, "input_layout": layout,
            "deq_scale1": _float32(DEQ1), "quant_scale1": _float32(QUANT1), "deq_scale2": _float32(DEQ2),
        }  # fmt: skip

    def call(self, **more: Any) -> np.ndarray:
        """The result as (B, N, S, D)."""
        axes, _, out_axes = self.layout.partition("_")
        given = []
        for x in (self.query, self.key, self.value):
            x = x if axes == "BNSD" else np.ascontiguousarray(x.swapaxes(1, 2))
            given.append(x.reshape(*x.shape[:2], -1) if axes == "BSH" else x)
        out = prompt_flash_attention(*given, **{**self.options, **more})
        if (out_axes or axes) == "BNSD":
            return out
        return out.reshape(B, S1, N, D).swapaxes(1, 2)

    def expected(self, bias: np.ndarray | None = None, sees: Any = lambda b, n, i, j: True) -> np.ndarray:
        """deq_scale1 after the first product, quant_scale1 before the second, deq_scale2 after it."""
        deq1, quant1, deq2 = (float(np.float32(x)) for x in (DEQ1, QUANT1, DEQ2))

        def score(b: int, n: int, i: int, j: int) -> float:
            integers = sum(int(x) * int(y) for x, y in zip(self.query[b, n, i], self.key[b, n // G, j], strict=True))
            return SCALE * (deq1 * integers) + (0.0 if bias is None else float(bias[b, n, i, j]))

        return attention(
            (B, N, S1, D),
            [S2] * B,
            score,
            lambda b, n, j, d: deq2 * int(self.value[b, n // G, j, d]),
            sees,
            lambda exponential: half_even(quant1 * exponential),
        )[0]


@pytest.mark.parametrize("layout", ["BSH", "BSND", "BNSD", "BNSD_BSND"])
def test_int8_to_float16(layout: str, seed: int) -> None:
    chain = Chain(seed, layout)
    np.testing.assert_allclose(chain.call(), chain.expected(), rtol=1e-12, atol=1e-13)
    device = chain.call(dtype_flow="device")
    assert device.dtype == np.float16
    np.testing.assert_allclose(device, chain.expected(), rtol=2.0**-10, atol=ONE_STEP_OFF)


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("shape", [(1,), (N, D), (1, N, 1, D)])
def test_int8_to_int8(shape: tuple[int, ...], offset: bool, seed: int) -> None:
    chain = Chain(seed)
    scale = chain.rng.uniform(0.3, 1.2, shape).astype(np.float32)
    shift = chain.rng.integers(-9, 10, shape).astype(np.float32) if offset else None
    out = chain.call(quant_scale2=scale, quant_offset2=shift)
    want = chain.expected()
    for n in range(N):
        for d in range(D):
            at = 0 if scale.size == 1 else n * D + d
            moved = 0.0 if shift is None else float(shift.ravel()[at])
            column = [half_even(x * float(scale.ravel()[at]) + moved) for x in want[:, n, :, d].ravel()]
            assert out[:, n, :, d].ravel().tolist() == column
    device = chain.call(quant_scale2=scale, quant_offset2=shift, dtype_flow="device")
    assert device.dtype == np.int8
    assert np.abs(device - out).max() <= 1 + 1.2 * ONE_STEP_OFF
    assert len(np.unique(out)) > 50


def test_masks_bias_and_lengths(seed: int) -> None:
    chain = Chain(seed)
    causal = np.triu(np.ones((2048, 2048), bool), 1)
    got = chain.call(atten_mask=causal, sparse_mode=3)
    want = chain.expected(sees=lambda b, n, i, j: j <= i + S2 - S1)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)
    bias = chain.rng.normal(size=(B, N, S1, S2)).astype(np.float16)
    np.testing.assert_allclose(chain.call(pse_shift=bias), chain.expected(bias), rtol=1e-12, atol=1e-13)
    got = chain.call(actual_seq_lengths=[2, 3], actual_seq_lengths_kv=[5, 0])
    want = chain.expected(sees=lambda b, n, i, j: b == 0 and i < 2 and j < 5)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-13)
    assert not got[1].any() and not got[0, :, 2].any()


def test_packed_scales_are_the_same_numbers(seed: int) -> None:
    chain = Chain(seed)
    packed = {"deq_scale1": pack_deq_scale(DEQ1), "deq_scale2": pack_deq_scale(0.01220703125)}  # 10 bits of mantissa
    assert packed["deq_scale1"].dtype == np.uint64
    plain = {"deq_scale1": _float32(DEQ1), "deq_scale2": _float32(0.01220703125)}
    for flow in ("exact", "device"):
        np.testing.assert_array_equal(chain.call(**packed, dtype_flow=flow), chain.call(**plain, dtype_flow=flow))


def test_fine_steps_are_plain_attention(seed: int) -> None:
    """With short scores the exponentials are all 1, quant_scale1 100 is exact, and the chain is an average."""
    chain = Chain(seed)
    chain.query[...] = 0
    want = 100 * DEQ2 * chain.value.repeat(G, 1).astype(float).mean(axis=2, keepdims=True)
    np.testing.assert_allclose(chain.call(), np.broadcast_to(want, (B, N, S1, D)), rtol=1e-7)


def test_scales_that_cancel(seed: int) -> None:
    chain = Chain(seed)
    want = chain.call()
    np.testing.assert_array_equal(chain.call(deq_scale1=_float32(DEQ1 / 4), scale_value=SCALE * 4), want)
    np.testing.assert_array_equal(chain.call(deq_scale2=_float32(DEQ2) * 2), 2 * want)


def test_device_flow_step_by_step(seed: int) -> None:
    """A running maximum over tiles of 128 keys; integers in both products; exponentials through float16 to int8."""
    rng = np.random.default_rng(seed)
    f, length = np.float32, 500
    query, key, value = (rng.integers(-128, 128, (1, 1, s, D)).astype(np.int8) for s in (4, length, length))
    options: dict[str, Any] = {
        "num_heads": 1, "scale_value": SCALE, "input_layout": "BNSD", "deq_scale1": _float32(1e-4),
        "quant_scale1": _float32(QUANT1), "deq_scale2": _float32(DEQ2),
    }  # fmt: skip
    out = prompt_flash_attention(query, key, value, **options, dtype_flow="device")
    twice = 0
    for i in range(4):
        integers = key[0, 0].astype(np.int32) @ query[0, 0, i].astype(np.int32)
        scores = integers.astype(f) * f(1e-4) * f(SCALE)
        top, total, result = f(-np.inf), f(0), np.zeros(D, f)
        for first in range(0, length, 128):
            tile = scores[first : first + 128]
            higher = max(top, tile.max())
            weights = np.exp(tile - higher)
            codes = np.array([half_even(float(np.float16(w * f(QUANT1)))) for w in weights], np.int32)
            twice += sum(code != half_even(float(w * f(QUANT1))) for code, w in zip(codes, weights, strict=True))
            part = (codes @ value[0, 0, first : first + 128].astype(np.int32)).astype(f) * f(DEQ2)
            keep = np.exp(top - higher)
            result, total, top = result * keep + part, total * keep + weights.sum(dtype=f), higher
        ulp = np.spacing(np.abs((result / total).astype(np.float16)))
        assert (np.abs(out[0, 0, i].astype(f) - result / total) <= 0.5001 * ulp).all()
    assert twice > 5  # rounding through float16 shows


def test_device_flow_of_rows_that_see_nothing_for_a_while(seed: int) -> None:
    """A narrow band: most rows see no key of the first tiles, the first rows none of the last."""
    rng = np.random.default_rng(seed)
    query, key, value = (rng.integers(-128, 128, (1, 1, 400, D)).astype(np.int8) for _ in range(3))
    options: dict[str, Any] = {
        "input_layout": "BNSD", "scale_value": SCALE, "deq_scale1": _float32(6e-4), "quant_scale1": _float32(QUANT1),
        "deq_scale2": _float32(DEQ2), "sparse_mode": 4, "pre_tokens": 9, "next_tokens": -3,
    }  # fmt: skip
    exact = prompt_flash_attention(query, key, value, **options)
    device = prompt_flash_attention(query, key, value, **options, dtype_flow="device").astype(float)
    assert not device[0, 0, :3].any() and device[0, 0, 3:].any(axis=1).all()
    np.testing.assert_allclose(device, exact, rtol=2.0**-10, atol=2.0 * ONE_STEP_OFF)


def test_the_peer_leaves_room_for_other_tiles(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where exponentials are rounded depends on a kernel's tiles. The peer's error is no luckier than that of larger
    tiles; were it to know the row's maximum, it would be, many times."""
    rng = np.random.default_rng(seed)
    query, key, value = (rng.integers(-128, 128, (1, 2, s, D)).astype(np.int8) for s in (64, 1000, 1000))
    options: dict[str, Any] = {
        "num_heads": 2, "scale_value": 1.0, "input_layout": "BNSD", "deq_scale1": _float32(7e-5),
        "quant_scale1": _float32(127), "deq_scale2": _float32(0.01 / 127),
    }  # fmt: skip
    exact = prompt_flash_attention(query, key, value, **options)

    def error(tile: int) -> tuple[float, float]:
        monkeypatch.setattr(quantised, "TILE", tile)
        found = np.abs(prompt_flash_attention(query, key, value, **options, dtype_flow="device").astype(float) - exact)
        return float(found.max()), float(np.sqrt(np.mean(found**2)))

    peer = error(quantised.TILE)
    for tile in (256, 512):
        assert all(e <= 1.5 * p for e, p in zip(error(tile), peer, strict=True))
    assert error(1000)[1] < peer[1] / 3


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_16_bit_to_int8(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    encode = (lambda x: x.astype(np.float16)) if dtype == "float16" else (lambda x: bfloat16_from_float(np.float32(x)))
    query, key, value = (encode(rng.normal(size=(B, s, N * D))) for s in (S1, S2, S2))
    options: dict[str, Any] = {"num_heads": N, "scale_value": SCALE, "input_layout": "BSH"}
    plain = prompt_flash_attention(query, key, value, **options)
    scale, shift = rng.uniform(50, 300, (1, 1, N * D)).astype(np.float32), np.full((1, 1, N * D), -4, np.float32)
    out = prompt_flash_attention(query, key, value, **options, quant_scale2=scale, quant_offset2=shift)
    want = [[[half_even(x * float(scale[0, 0, h]) - 4) for h, x in enumerate(row)] for row in rows] for rows in plain]
    assert out.tolist() == want
    device = prompt_flash_attention(query, key, value, **options, quant_scale2=scale, dtype_flow="device")
    assert device.dtype == np.int8 and device.shape == query.shape


def test_what_is_missing_is_named(seed: int) -> None:
    chain = Chain(seed)
    for name in ("deq_scale1", "quant_scale1", "deq_scale2"):
        with pytest.raises(GoldenError, match=name):
            chain.call(**{name: None})
    with pytest.raises(GoldenError, match="quant_offset2"):
        chain.call(quant_offset2=_float32(1))
    half = [np.zeros((1, 1, 2, 16), np.float16)] * 3
    with pytest.raises(GoldenError, match="deq_scale1"):
        prompt_flash_attention(*half, input_layout="BNSD", deq_scale1=_float32(1))
    with pytest.raises(GoldenError, match="value"):
        prompt_flash_attention(
            np.zeros((1, 1, 2, 32), np.int8), np.zeros((1, 1, 2, 32), np.int8), np.zeros((1, 1, 2, 32), np.float16),
            input_layout="BNSD", deq_scale1=_float32(1), quant_scale1=_float32(1), deq_scale2=_float32(1),
        )  # fmt: skip


def test_the_sum_below_is_not_rounded(seed: int) -> None:
    """Many small exponentials vanish from the numerator in int8 steps; the denominator keeps them."""
    query = np.zeros((1, 1, 1, D), np.int8)
    query[..., 0] = 127
    key = np.zeros((1, 1, 101, D), np.int8)
    key[0, 0, 0, 0] = 127  # the first key scores highest, the others round to nothing
    value = np.full((1, 1, 101, D), 50, np.int8)
    deq1 = 8.0 / (127 * 127)
    out = prompt_flash_attention(
        query, key, value, input_layout="BNSD", scale_value=1.0, deq_scale1=_float32(deq1),
        quant_scale1=_float32(127), deq_scale2=_float32(1 / 127),
    )  # fmt: skip
    small = math.exp(-float(np.float32(deq1)) * 127 * 127)
    assert 127 * small < 0.5
    np.testing.assert_allclose(out, 50 * 127 * float(np.float32(1 / 127)) / (1 + 100 * small), rtol=1e-12)
