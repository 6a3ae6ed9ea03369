# SPDX-License-Identifier: Apache-2.0
"""Quantised fused_infer_attention_score_v2: antiquant in every documented form, int8 MLA, int8 output.

Expected values come from loops over single numbers, written from the words of the documents.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.quant_loops import attention, half_even, nibble

from ascend_attention.golden import (
    GoldenError,
    bfloat16_from_float,
    bfloat16_to_float,
    fused_infer_attention_score_v2,
)

B, N, KV_N, D, S2 = 2, 4, 2, 16, 11
G = N // KV_N
SCALE = 0.25
BLOCK, BLOCKS = 4, 8
TABLE = np.array([[6, 1, 3], [0, 7, 2]], np.int32)
LENGTHS = [11, 9]

# key_quant_mode, value_quant_mode, shape of the scale of key, of value
DENSE_FORMS = [
    (0, 0, (1,), (1,)),
    (0, 0, (KV_N, 1, D), (KV_N, 1, D)),
    (0, 0, (KV_N, D), (KV_N, D)),
    (0, 0, (KV_N * D,), (KV_N * D,)),
    (0, 0, (1, KV_N, 1, D), (1, KV_N, 1, D)),
    (0, 0, (1, KV_N, D), (1, KV_N, D)),
    (0, 0, (1, KV_N * D), (1, KV_N * D)),
    (1, 1, (B, S2), (B, S2)),
    (1, 1, (1, B, S2), (1, B, S2)),
    (1, 1, (1, B, S2 + 5), (1, B, S2 + 5)),
    (2, 2, (KV_N,), (KV_N,)),
    (3, 3, (B, KV_N, S2), (B, KV_N, S2)),
    (0, 1, (1, KV_N, 1, D), (1, B, S2)),
    (0, 1, (1, KV_N, D), (1, B, S2)),
    (0, 1, (1, KV_N * D), (1, B, S2)),
]
PAGED_FORMS = [
    (0, 0, (1, KV_N * D), (1, KV_N * D)),
    (1, 1, (1, B, 12), (1, B, 12)),
    (2, 2, (KV_N,), (KV_N,)),
    (3, 3, (B, KV_N, 12), (B, KV_N, 12)),
    (4, 4, (BLOCKS, BLOCK), (BLOCKS, BLOCK)),
    (5, 5, (BLOCKS, KV_N, BLOCK), (BLOCKS, KV_N, BLOCK)),
    (0, 1, (1, KV_N, D), (1, B, 12)),
]


def _entry(array: np.ndarray, mode: int, b: int, n: int, t: int, d: int) -> float:
    """The entry of a scale or offset that belongs to token t, channel d of KV head n, by the table of modes."""
    flat = [float(x) for x in array.ravel()]
    if mode == 0:
        return flat[0] if len(flat) == 1 else flat[n * D + d]
    if mode == 1:
        return flat[b * array.shape[-1] + t]
    if mode == 2:
        return flat[n]
    if mode == 3:
        return float(array[b, n, t])
    block = TABLE[b, t // BLOCK]
    return float(array[block, t % BLOCK] if mode == 4 else array[block, n, t % BLOCK])


def _random(rng: np.random.Generator, shape: tuple[int, ...], mode: int, offset: bool) -> np.ndarray:
    """Channel-wise entries have the dtype of query (float16), token-wise ones are float32."""
    values = rng.integers(-8, 9, shape).astype(np.float32) if offset else rng.uniform(0.01, 0.05, shape)
    return values.astype(np.float16 if mode in (0, 2) else np.float32)


def _antiquant(
    rng: np.random.Generator, form: tuple[int, int, tuple[int, ...], tuple[int, ...]], offset: bool
) -> dict[str, Any]:
    key_mode, value_mode, key_shape, value_shape = form
    arguments: dict[str, Any] = {
        "key_quant_mode": key_mode,
        "value_quant_mode": value_mode,
        "dequant_scale_key": _random(rng, key_shape, key_mode, False),
        "dequant_scale_value": _random(rng, value_shape, value_mode, False),
    }
    if offset:
        arguments["dequant_offset_key"] = _random(rng, key_shape, key_mode, True)
        arguments["dequant_offset_value"] = _random(rng, value_shape, value_mode, True)
    return arguments


def _meaning(
    arguments: dict[str, Any], tensor: str, element: Callable[[int, int, int, int], float]
) -> Callable[[int, int, int, int], float]:
    """(element + offset) * scale at (b, KV head, t, d)."""
    scale, offset = arguments[f"dequant_scale_{tensor}"], arguments.get(f"dequant_offset_{tensor}")
    mode = arguments[f"{tensor}_quant_mode"]

    def of(b: int, n: int, t: int, d: int) -> float:
        shift = 0.0 if offset is None else _entry(offset, mode, b, n, t, d)
        return (element(b, n, t, d) + shift) * _entry(scale, mode, b, n, t, d)

    return of


def _expected(
    query: np.ndarray,
    keys: list[int],
    arguments: dict[str, Any],
    key: Callable[..., float],
    value: Callable[..., float],
) -> tuple[np.ndarray, np.ndarray]:
    """``query`` (B, N, S1, D); key and value give the stored integer at (b, KV head, t, d)."""
    rows = query.astype(np.float64).tolist()
    k, v = _meaning(arguments, "key", key), _meaning(arguments, "value", value)
    return attention(
        query.shape,
        keys,
        lambda b, n, i, j: SCALE * math.fsum(rows[b][n][i][d] * k(b, n // G, j, d) for d in range(D)),
        lambda b, n, j, d: v(b, n // G, j, d),
    )


def _to_layout(by_head: np.ndarray, layout: str) -> np.ndarray:
    """(B, N, S, D) to BNSD, BSND or BSH."""
    if layout == "BNSD":
        return by_head
    by_token = np.ascontiguousarray(by_head.swapaxes(1, 2))
    return by_token if layout == "BSND" else by_token.reshape(*by_token.shape[:2], -1)


def _by_head(tensor: np.ndarray, layout: str, heads: int) -> np.ndarray:
    if layout == "BNSD":
        return tensor
    if layout == "BSH":
        tensor = tensor.reshape(*tensor.shape[:2], heads, -1)
    return tensor.swapaxes(1, 2)


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("form", DENSE_FORMS)
def test_antiquant_dense(form: Any, offset: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    layout = ("BSH", "BSND", "BNSD")[seed % 3]
    query = rng.normal(size=(B, N, 1 + seed % 2, D)).astype(np.float16)
    stored = [rng.integers(-128, 128, (B, KV_N, S2, D)).astype(np.int8) for _ in "kv"]
    arguments = _antiquant(rng, form, offset)
    out, lse = fused_infer_attention_score_v2(
        _to_layout(query, layout),
        *(_to_layout(x, layout) for x in stored),
        input_layout=layout,
        num_query_heads=N,
        num_key_value_heads=KV_N,
        softmax_scale=SCALE,
        actual_seq_kvlen=LENGTHS,
        return_softmax_lse=True,
        **arguments,
    )
    key, value = (lambda b, n, t, d, x=x: int(x[b, n, t, d]) for x in stored)
    want, want_lse = _expected(query, LENGTHS, arguments, key, value)
    np.testing.assert_allclose(_by_head(out, layout, N), want, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(lse[..., 0], want_lse, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("form", [f for f in DENSE_FORMS if f[0] in (0, 1, 3) and f[2] != (1,)])
def test_antiquant_int4(form: Any, seed: int) -> None:
    rng = np.random.default_rng(seed)
    layout = ("BSH", "BSND", "BNSD")[seed % 3]
    query = rng.normal(size=(B, N, 1, D)).astype(np.float16)
    words = [rng.integers(-(2**31), 2**31, (B, KV_N, S2, D // 8)).astype(np.int32) for _ in "kv"]
    arguments = _antiquant(rng, form, bool(seed % 2))
    out, _ = fused_infer_attention_score_v2(
        _to_layout(query, layout),
        *(_to_layout(x, layout) for x in words),
        input_layout=layout,
        num_query_heads=N,
        num_key_value_heads=KV_N,
        softmax_scale=SCALE,
        **arguments,
    )
    key, value = (lambda b, n, t, d, x=x: nibble(x, b, n, t, d) for x in words)
    want, _ = _expected(query, [S2] * B, arguments, key, value)
    np.testing.assert_allclose(_by_head(out, layout, N), want, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("cache", ["BBH", "BNBD", "NZ"])
@pytest.mark.parametrize("form", PAGED_FORMS)
def test_antiquant_paged(form: Any, cache: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    query = rng.normal(size=(B, N, 1, D)).astype(np.float16)
    shape = {"BBH": (BLOCKS, BLOCK, KV_N * D), "BNBD": (BLOCKS, KV_N, BLOCK, D), "NZ": (BLOCKS, KV_N, D // 8, BLOCK, 8)}
    stored = [rng.integers(-128, 128, shape[cache]).astype(np.int8) for _ in "kv"]
    arguments = _antiquant(rng, form, bool(seed % 2))
    wild = np.concatenate([TABLE, np.full((B, 2), -77, np.int32)], axis=1)  # beyond the used part
    out, _ = fused_infer_attention_score_v2(
        query,
        *stored,
        input_layout="BNSD",
        num_query_heads=N,
        num_key_value_heads=KV_N,
        softmax_scale=SCALE,
        actual_seq_kvlen=LENGTHS,
        block_table=wild,
        block_size=BLOCK,
        **arguments,
    )

    def element(x: np.ndarray, b: int, n: int, t: int, d: int) -> int:
        block, row = TABLE[b, t // BLOCK], t % BLOCK
        if cache == "BBH":
            return int(x[block, row, n * D + d])
        return int(x[block, n, row, d] if cache == "BNBD" else x[block, n, d // 8, row, d % 8])

    key, value = (lambda b, n, t, d, x=x: element(x, b, n, t, d) for x in stored)
    want, _ = _expected(query, LENGTHS, arguments, key, value)
    np.testing.assert_allclose(out, want, rtol=1e-11, atol=1e-12)


def _bfloat16(values: np.ndarray) -> np.ndarray:
    return bfloat16_from_float(values.astype(np.float32))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_antiquant_device_flow_is_the_peer_of_rounded_keys(dtype: str, seed: int) -> None:
    """(stored + offset) * scale in float32, rounded to the dtype of query, then as if that had been given."""
    rng = np.random.default_rng(seed)
    encode = (lambda x: x.astype(np.float16)) if dtype == "float16" else _bfloat16
    query = encode(rng.normal(size=(B, N, 3, D)))
    stored = [rng.integers(-128, 128, (B, KV_N, S2, D)).astype(np.int8) for _ in "kv"]
    arguments = _antiquant(rng, (1, 1, (B, S2), (B, S2)), True)
    common: dict[str, Any] = {
        "input_layout": "BNSD", "num_query_heads": N, "num_key_value_heads": KV_N, "softmax_scale": SCALE,
        "return_softmax_lse": True, "dtype_flow": "device", "sparse_mode": 3,
    }  # fmt: skip
    plain = []
    for tensor, x in zip(("key", "value"), stored, strict=True):
        scale, offset = arguments[f"dequant_scale_{tensor}"], arguments[f"dequant_offset_{tensor}"]
        plain.append(encode((x.astype(np.float32) + offset[:, None, :, None]) * scale[:, None, :, None]))
    out, lse = fused_infer_attention_score_v2(query, *stored, **common, **arguments)
    want, want_lse = fused_infer_attention_score_v2(query, *plain, **common)
    assert out.dtype == query.dtype
    np.testing.assert_array_equal(out, want)
    np.testing.assert_array_equal(lse, want_lse)


# ---- what scales and offsets do, without loops -----------------------------------------------------------------------


def _call(query: np.ndarray, key: np.ndarray, value: np.ndarray, **arguments: Any) -> np.ndarray:
    return fused_infer_attention_score_v2(
        query, key, value, input_layout="BNSD", num_query_heads=N, num_key_value_heads=KV_N, softmax_scale=SCALE,
        **arguments,
    )[0]  # fmt: skip


@pytest.fixture
def tensors(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    key, value = (rng.integers(-8, 8, (B, KV_N, S2, D)).astype(np.int8) for _ in "kv")
    return rng.normal(size=(B, N, 1, D)).astype(np.float16), key, value


def _scales(scale: np.ndarray, mode: int) -> dict[str, Any]:
    return {
        "dequant_scale_key": scale, "dequant_scale_value": scale, "key_quant_mode": mode, "value_quant_mode": mode,
    }  # fmt: skip


Tensors = tuple[np.ndarray, np.ndarray, np.ndarray]


def test_scale_one_is_plain_attention(tensors: Tensors) -> None:
    query, key, value = tensors
    one, zero = np.ones(1, np.float16), np.zeros(1, np.float16)
    want = _call(query, key.astype(np.float16), value.astype(np.float16))
    np.testing.assert_array_equal(_call(query, key, value, **_scales(one, 0)), want)
    offsets = {"dequant_offset_key": zero, "dequant_offset_value": zero}
    np.testing.assert_array_equal(_call(query, key, value, **_scales(one, 0), **offsets), want)


def test_equal_entries_are_one_entry(tensors: Tensors) -> None:
    want = _call(*tensors, **_scales(np.full(1, 0.125, np.float16), 0))
    for shape, mode in (((KV_N, D), 0), ((B, S2), 1), ((KV_N,), 2), ((B, KV_N, S2), 3)):
        dtype = np.float16 if mode in (0, 2) else np.float32
        np.testing.assert_array_equal(_call(*tensors, **_scales(np.full(shape, 0.125, dtype), mode)), want)


def test_int4_is_int8_of_the_same_numbers(tensors: Tensors) -> None:
    query, key, value = tensors
    scale = np.linspace(0.5, 1, KV_N * D, dtype=np.float16)
    packed = []
    for x in (key, value):
        words = np.zeros((B, KV_N, S2, D // 8), np.uint32)
        for d in range(D):
            words[..., d // 8] |= (x[..., d].astype(np.int64) & 0xF).astype(np.uint32) << np.uint32(4 * (d % 8))
        packed.append(words.view(np.int32))
    want = _call(query, key, value, **_scales(scale, 0))
    np.testing.assert_array_equal(_call(query, *packed, **_scales(scale, 0)), want)


def test_offsets_move_the_output_or_nothing(tensors: Tensors) -> None:
    """An offset of all keys moves a row's scores alike; one of all values moves the output by offset * scale."""
    scale = np.full(1, 0.125, np.float16)
    want = _call(*tensors, **_scales(scale, 0))
    offsets = {"dequant_offset_key": np.full(1, 7, np.float16), "dequant_offset_value": np.full(1, -3, np.float16)}
    np.testing.assert_allclose(_call(*tensors, **_scales(scale, 0), **offsets), want - 0.375, rtol=1e-12, atol=1e-13)


def test_paged_scales_move_with_their_blocks(seed: int) -> None:
    """Permuting the blocks of cache and scales, and the table with them, changes nothing; nor does another mode."""
    rng = np.random.default_rng(seed)
    query = rng.normal(size=(B, N, 1, D)).astype(np.float16)
    key, value = (rng.integers(-128, 128, (BLOCKS, KV_N, BLOCK, D)).astype(np.int8) for _ in "kv")
    scale = rng.uniform(0.01, 0.05, (BLOCKS, KV_N, BLOCK)).astype(np.float32)
    order = rng.permutation(BLOCKS)
    back = np.argsort(order).astype(np.int32)
    common: dict[str, Any] = {"actual_seq_kvlen": LENGTHS, "block_size": BLOCK}
    want = _call(query, key, value, block_table=TABLE, **_scales(scale, 5), **common)
    got = _call(query, key[order], value[order], block_table=back[TABLE], **_scales(scale[order], 5), **common)
    np.testing.assert_array_equal(got, want)
    by_token = scale[TABLE].transpose(0, 2, 1, 3).reshape(B, KV_N, -1)
    np.testing.assert_array_equal(_call(query, key, value, block_table=TABLE, **_scales(by_token, 3), **common), want)


def test_a_key_list_is_dequantised_too(tensors: Tensors) -> None:
    query, key, value = tensors
    scale = np.random.default_rng(1).uniform(0.1, 0.2, (B, KV_N, S2)).astype(np.float32)
    lists = [[x[b : b + 1] for b in range(B)] for x in (key, value)]
    np.testing.assert_array_equal(
        _call(query, *lists, **_scales(scale, 3)), _call(query, key, value, **_scales(scale, 3))
    )


def test_what_is_missing_is_named(tensors: Tensors) -> None:
    query, key, value = tensors
    one = np.ones(1, np.float16)
    with pytest.raises(GoldenError, match="dequant_scale_key"):
        _call(query, key, value)
    with pytest.raises(GoldenError, match="dequant_scale_value"):
        _call(query, key, value, dequant_scale_key=one)
    with pytest.raises(GoldenError, match="dequant_offset_key"):
        _call(query, key.astype(np.float16), value.astype(np.float16), dequant_offset_key=one)
    with pytest.raises(GoldenError, match="value"):
        _call(query, key, value.astype(np.float16), **_scales(one, 0))
    with pytest.raises(GoldenError, match="query"):
        _call(key.repeat(G, 1)[:, :, :1], key, value, **_scales(one, 0))


# ---- full int8 MLA ---------------------------------------------------------------------------------------------------

MLA_D, ROPE_D, MLA_BLOCK = 64, 16, 32
MLA_LENGTHS = [70, 33]
MLA_TABLE = np.array([[3, 0, 4], [1, 2, 99]], np.int32)
ROWS = 2


class _Mla:
    """A decode batch with ROWS query rows each, in any of the documented layouts and either cache form."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.query = rng.integers(-128, 128, (B, ROWS, N, MLA_D)).astype(np.int8)
        self.query_rope = _bfloat16(rng.normal(size=(B, ROWS, N, ROPE_D)))
        self.cache = rng.integers(-128, 128, (5, MLA_BLOCK, MLA_D)).astype(np.int8)
        self.rope_cache = _bfloat16(rng.normal(size=(5, MLA_BLOCK, ROPE_D)))
        self.query_scale = rng.uniform(0.001, 0.02, (B, ROWS, N)).astype(np.float32)
        self.key_scale = np.array([0.03], np.float32)
        self.value_scale = np.array([0.02], np.float32)

    def arguments(self, layout: str, nz: bool) -> dict[str, Any]:
        def arranged(x: np.ndarray) -> np.ndarray:  # (B, S, N, D) as given
            if layout.startswith("TND"):
                return x.reshape(B * ROWS, *x.shape[2:])
            return x.reshape(B, ROWS, -1) if layout.startswith("BSH") and x.ndim == 4 else x

        def cached(x: np.ndarray, piece: int) -> np.ndarray:
            if not nz:
                return x
            return np.ascontiguousarray(x.reshape(5, MLA_BLOCK, -1, piece).swapaxes(1, 2))[:, None]

        cumulative = {"actual_seq_qlen": [ROWS, 2 * ROWS]} if layout.startswith("TND") else {}
        return {
            "query": arranged(self.query), "key": cached(self.cache, 32), "value": cached(self.cache, 32),
            "query_rope": arranged(self.query_rope), "key_rope": cached(self.rope_cache, 16),
            "dequant_scale_query": arranged(self.query_scale), "dequant_scale_key": self.key_scale,
            "dequant_scale_value": self.value_scale, "query_quant_mode": 3, "num_query_heads": N,
            "num_key_value_heads": 1, "softmax_scale": SCALE, "input_layout": layout, "sparse_mode": 3,
            "block_table": MLA_TABLE, "block_size": MLA_BLOCK, "actual_seq_kvlen": MLA_LENGTHS,
            "return_softmax_lse": True, **cumulative,
        }  # fmt: skip

    def row(self, array: np.ndarray, b: int, t: int) -> np.ndarray:
        return array[MLA_TABLE[b, t // MLA_BLOCK], t % MLA_BLOCK]

    def expected(self) -> tuple[np.ndarray, np.ndarray]:
        query_rope, rope_cache = bfloat16_to_float(self.query_rope).tolist(), bfloat16_to_float(self.rope_cache)

        def score(b: int, n: int, i: int, j: int) -> float:
            integers = sum(
                int(x) * int(y) for x, y in zip(self.query[b, i, n], self.row(self.cache, b, j), strict=True)
            )
            quantised = float(self.query_scale[b, i, n]) * float(self.key_scale[0]) * integers
            rope = math.fsum(x * float(y) for x, y in zip(query_rope[b][i][n], self.row(rope_cache, b, j), strict=True))
            return SCALE * (quantised + rope)

        return attention(
            (B, N, ROWS, MLA_D),
            MLA_LENGTHS,
            score,
            lambda b, n, j, d: float(self.value_scale[0]) * int(self.row(self.cache, b, j)[d]),
            lambda b, n, i, j: j <= i + MLA_LENGTHS[b] - ROWS,
        )


_OUT_AXES = {"BSH": "BSND", "TND": "BSND", "TND_NTD": "NBSD", "BSH_NBSD": "NBSD", "BSND_NBSD": "NBSD", "BSND": "BSND"}


def test_int8_mla(seed: int) -> None:
    mla = _Mla(np.random.default_rng(seed))
    want, want_lse = mla.expected()
    for layout, axes in _OUT_AXES.items():
        for nz in (False, True):
            out, lse = fused_infer_attention_score_v2(**mla.arguments(layout, nz))
            sizes = {"B": B, "S": ROWS, "N": N, "D": MLA_D}
            by_head = out.reshape([sizes[a] for a in axes]).transpose([axes.index(a) for a in "BNSD"])
            np.testing.assert_allclose(by_head, want, rtol=1e-11, atol=1e-12, err_msg=f"{layout} {nz}")
            lse = lse.reshape(B, ROWS, N).swapaxes(1, 2) if layout.startswith("TND") else lse[..., 0]
            np.testing.assert_allclose(lse, want_lse, rtol=1e-11, atol=1e-12)


def test_int8_mla_scales_may_move_between_query_and_key(seed: int) -> None:
    mla = _Mla(np.random.default_rng(seed))
    want, _ = fused_infer_attention_score_v2(**mla.arguments("BSND", True))
    mla.query_scale, mla.key_scale = mla.query_scale * 4, mla.key_scale / 4
    np.testing.assert_array_equal(fused_infer_attention_score_v2(**mla.arguments("BSND", True))[0], want)
    mla.value_scale = mla.value_scale * 2
    np.testing.assert_array_equal(fused_infer_attention_score_v2(**mla.arguments("BSND", True))[0], 2 * want)


def test_int8_mla_device_flow_step_by_step(seed: int) -> None:
    """int32 products, float32 scaling and softmax, a running maximum over tiles of 128, exponentials in 1/127."""
    rng = np.random.default_rng(seed)
    f, length, rows = np.float32, 500, 3
    query = rng.integers(-128, 128, (1, rows, 1, 32)).astype(np.int8)
    query_rope, key_rope = (_bfloat16(rng.normal(size=(1, s, 1, 16))) for s in (rows, length))
    cache = rng.integers(-128, 128, (1, length, 1, 32)).astype(np.int8)
    query_scale = rng.uniform(0.005, 0.01, (1, rows, 1)).astype(f)
    key_scale, value_scale = f(0.1), f(0.02)
    out, lse = fused_infer_attention_score_v2(
        query, cache, cache, query_rope=query_rope, key_rope=key_rope, dequant_scale_query=query_scale,
        dequant_scale_key=key_scale.reshape(1), dequant_scale_value=value_scale.reshape(1), query_quant_mode=3,
        input_layout="BSND", softmax_scale=SCALE, return_softmax_lse=True, dtype_flow="device",
    )  # fmt: skip
    assert out.dtype == np.uint16 and lse.dtype == np.float32
    left, right = bfloat16_to_float(query_rope)[0, :, 0], bfloat16_to_float(key_rope)[0, :, 0]
    for i in range(rows):
        integers = cache[0, :, 0].astype(np.int32) @ query[0, i, 0].astype(np.int32)
        rope = np.zeros(length, f)
        for channel in range(16):
            rope = rope + left[i, channel] * right[:, channel]
        scores = (integers.astype(f) * (query_scale[0, i, 0] * key_scale) + rope) * f(SCALE)
        top, total, result = f(-np.inf), f(0), np.zeros(32, f)
        for first in range(0, length, 128):
            tile = scores[first : first + 128]
            higher = max(top, tile.max())
            weights = np.exp(tile - higher)
            codes = np.array([half_even(float(np.float16(w * f(127)))) for w in weights], np.int32)
            part = (codes @ cache[0, first : first + 128, 0].astype(np.int32)).astype(f) * f(float(value_scale) / 127)
            keep = np.exp(top - higher)
            result, total, top = result * keep + part, total * keep + weights.sum(dtype=f), higher
        np.testing.assert_allclose(bfloat16_to_float(out[0, i, 0]), result / total, rtol=2.0**-8, atol=1e-7)
        mean_error = np.abs(bfloat16_to_float(out[0, i, 0]) - result / total).mean()
        assert mean_error <= 0.3 * 2.0**-8 * np.abs(result / total).max()  # one rounding and no more
        assert lse[0, 0, i, 0] == pytest.approx(float(top) + math.log(total), rel=1e-6)
    exact = fused_infer_attention_score_v2(
        query, cache, cache, query_rope=query_rope, key_rope=key_rope, dequant_scale_query=query_scale,
        dequant_scale_key=key_scale.reshape(1), dequant_scale_value=value_scale.reshape(1), query_quant_mode=3,
        input_layout="BSND", softmax_scale=SCALE,
    )[0]  # fmt: skip
    # Each exponential is off by half a step at most, and one rounding to bfloat16.
    assert np.abs(bfloat16_to_float(out) - exact).max() < 0.02 * 128 * (length * 0.5 / 127 / 20 + 2.0**-8)


def test_int8_mla_with_a_sink(seed: int) -> None:
    """No document combines them; a sink is a score without a value in either flow."""
    mla = _Mla(np.random.default_rng(seed))
    arguments = mla.arguments("TND", True)
    plain, plain_lse = fused_infer_attention_score_v2(**arguments)
    sink = _bfloat16(np.array([-1.0, 40.0, 300.0, 5.0]))
    total = np.logaddexp(plain_lse, bfloat16_to_float(sink).astype(float)[:, None])
    for flow in ("exact", "device"):
        out, lse = fused_infer_attention_score_v2(**arguments, learnable_sink=sink, dtype_flow=flow)
        out = out if flow == "exact" else bfloat16_to_float(out)
        tolerance = 1e-10 if flow == "exact" else 1e-5
        np.testing.assert_allclose(lse, total, rtol=tolerance, atol=tolerance)
        want = plain * np.exp(plain_lse - total)
        np.testing.assert_allclose(out, want, rtol=tolerance, atol=1e-10 if flow == "exact" else 0.25)


# ---- int8 output -----------------------------------------------------------------------------------------------------


def _output_scale_shapes(layout: str) -> list[tuple[int, ...]]:
    """Per tensor, then what the document suggests for each output layout."""
    per_channel = {
        "BSH": [(1, 1, N * D), (N * D,)],
        "BNSD": [(1, N, 1, D), (N, D)],
        "BSND": [(1, 1, N, D), (N, D)],
        "BNSD_BSND": [(1, 1, N, D), (N, D)],
    }
    return [(1,), *per_channel[layout]]


@pytest.mark.parametrize("offset", [False, True])
@pytest.mark.parametrize("layout", ["BSH", "BNSD", "BSND", "BNSD_BSND"])
def test_int8_output(layout: str, offset: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    source = layout.partition("_")[0]
    query, key, value = (rng.normal(size=(B, n, s, D)).astype(np.float16) for n, s in ((N, 3), (KV_N, S2), (KV_N, S2)))
    lengths = [3, 2]  # the last row of the second sequence belongs to nobody
    common: dict[str, Any] = {
        "input_layout": layout, "num_query_heads": N, "num_key_value_heads": KV_N, "softmax_scale": SCALE,
        "actual_seq_qlen": lengths,
    }  # fmt: skip
    given = [_to_layout(x, source) for x in (query, key, value)]
    plain = _by_head(fused_infer_attention_score_v2(*given, **common)[0], layout.rpartition("_")[2], N)
    for shape in _output_scale_shapes(layout):
        scale = rng.uniform(20, 300, shape).astype(np.float32)
        shift = rng.integers(-20, 20, shape).astype(np.float32) if offset else None
        for flow in ("exact", "device"):
            out, _ = fused_infer_attention_score_v2(
                *given, **common, quant_scale_out=scale, quant_offset_out=shift, dtype_flow=flow
            )
            assert out.dtype == (np.float64 if flow == "exact" else np.int8)
            got = _by_head(out, layout.rpartition("_")[2], N)
            assert not got[1, :, 2].any()  # zeros, without the offset
            for n in range(N):
                for d in range(D):
                    at = 0 if len(scale.ravel()) == 1 else n * D + d
                    factor, moved = float(scale.ravel()[at]), 0.0 if shift is None else float(shift.ravel()[at])
                    for b, i in ((0, 0), (0, 2), (1, 1)):
                        want = float(plain[b, n, i, d]) * factor + moved
                        if flow == "exact":
                            assert got[b, n, i, d] == half_even(want)
                        else:  # float16 probabilities, and a float16 on the way to int8
                            assert abs(float(got[b, n, i, d]) - max(-128, min(127, want))) <= 0.5 + 2.0**-9 * 300


def test_int8_output_of_bfloat16_scales(tensors: Tensors) -> None:
    query, key, value = (_bfloat16(x) for x in tensors)
    scale = _bfloat16(np.array([12.5]))
    plain = _call(query, key, value)
    np.testing.assert_array_equal(
        _call(query, key, value, quant_scale_out=scale), np.clip(np.rint(plain * 12.5), -128, 127)
    )
    with pytest.raises(GoldenError, match="quant_offset_out"):
        _call(query, key, value, quant_offset_out=scale)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("flow", ["exact", "device"])
def test_int8_output_of_extreme_scales_saturates(flow: str, tensors: Tensors) -> None:
    """And not a number (here infinity times zero) is 0."""
    query, key, value = ((np.abs(x) + 1).astype(np.float16) for x in tensors)
    value[:, :, :, 0] = 0
    for scale in (np.inf, 3e38):
        out = _call(query, key, value * np.float16(8), quant_scale_out=np.array([scale], np.float32), dtype_flow=flow)
        assert not out[..., 0].any() and np.all(out[..., 1:] == 127)


def test_int8_output_device_flow_converts_through_float16(seed: int) -> None:
    """One key: the output is the value, so the two roundings of the conversion can be seen."""
    value = np.linspace(-1, 1, B * KV_N * D).reshape(B, KV_N, 1, D).astype(np.float16)
    query = np.zeros((B, N, 1, D), np.float16)
    scale = np.array([127.3], np.float32)
    out = _call(query, value, value, quant_scale_out=scale, dtype_flow="device")
    want = [half_even(float(np.float16(np.float32(v) * scale[0]))) for v in value.repeat(G, 1).ravel()]
    assert out.ravel().tolist() == want
    assert any(
        a != half_even(float(v) * float(scale[0])) for a, v in zip(want, value.repeat(G, 1).ravel(), strict=True)
    )


def test_int8_output_from_int8_cache(tensors: Tensors) -> None:
    scale = np.array([16.0], np.float32)
    plain = _call(*tensors, **_scales(np.full(1, 0.5, np.float16), 0))
    got = _call(*tensors, **_scales(np.full(1, 0.5, np.float16), 0), quant_scale_out=scale)
    np.testing.assert_array_equal(got, np.rint(plain * 16))
