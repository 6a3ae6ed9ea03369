# SPDX-License-Identifier: Apache-2.0
"""Small random requests of npu_fused_infer_attention_score_v2 over all that its document has: the cases of fia_draws.py
and every quantisation on top. Written from the document, not from the checks.

    request = random_request(np.random.default_rng(7))

Nearly all are legal; where a draw contradicts itself in a rare rule, the checks say so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from helpers import fia_draws
from helpers.fia_cases import FiaCase
from helpers.fia_draws import ROPE

Request = dict[str, Any]
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOAT16 = np.dtype(np.float16)
COMPRESSED = np.triu(np.ones((2048, 2048), bool), 1)
SMALL = 2**11  # multiply-adds


class Draw(fia_draws.Draw):
    """With tensors of any dtype."""

    def half(self) -> np.dtype:
        return self.one_of(FLOAT16, BFLOAT16)

    def tensor(self, dtype: Any, *shape: int) -> np.ndarray:
        if np.dtype(dtype).kind == "i":
            limits = np.iinfo(dtype)
            return self.rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
        return self.rng.standard_normal(shape, np.float32).astype(dtype)

    def scale(self, dtype: Any, *shape: int) -> np.ndarray:
        return self.rng.uniform(0.01, 0.1, shape).astype(dtype)

    def form(self, lengths: list[int]) -> Any:
        """Lengths in one of the forms that callers use; an empty list says nothing whatever its form."""
        return self.one_of(lengths, tuple(lengths), np.array(lengths, int), np.repeat(np.array(lengths, int), 2)[::2])

    def ends(self, batch: int, low: int, high: int) -> list[int]:
        return [int(end) for end in np.cumsum([self.number(low, high) for _ in range(batch)])]


def layed(order: str, batch: int, heads: int, length: int, dim: int) -> tuple[int, ...]:
    return {
        "BSH": (batch, length, heads * dim),
        "BSND": (batch, length, heads, dim),
        "BNSD": (batch, heads, length, dim),
        "TND": (length, heads, dim),
        "NTD": (heads, length, dim),
    }[order]


def random_request(rng: np.random.Generator) -> Request:
    draw = Draw(rng, SMALL)
    return draw.one_of(*FAMILIES)(draw)


def _heads(draw: Draw) -> tuple[int, int]:
    key_heads = draw.number(1, 2)
    return key_heads * draw.number(1, 3), key_heads


def _base(layout: str, heads: int, key_heads: int, **more: Any) -> Request:
    counts = {"num_query_heads": heads, "num_key_value_heads": 0 if heads == key_heads else key_heads}
    return {"input_layout": layout, "softmax_scale": 0.25, **counts, **more}


def _output(draw: Draw, request: Request, heads: int, dim: int) -> None:
    """Quantised output, or softmax_lse."""
    band = request.get("sparse_mode", 0) == 4 and min(request["pre_tokens"], request["next_tokens"]) < 0
    if draw.chance(0.25) and not band:
        dtype = draw.one_of(np.float32, request["query"].dtype if request["query"].dtype == BFLOAT16 else np.float32)
        per_channel = dim % 32 == 0 and draw.chance(0.5)
        shape = draw.one_of((heads * dim,), (heads, dim), (1, heads, 1, dim)) if per_channel else (1,)
        request["quant_scale_out"] = draw.scale(dtype, *shape)
        safe = request.get("sparse_mode", 0) in (1, 2) or request.get("atten_mask") is None
        if safe and draw.chance(0.5):
            request["quant_offset_out"] = draw.scale(dtype, *shape)
        request["return_softmax_lse"] = not per_channel and draw.chance(0.3)
    else:
        request["return_softmax_lse"] = draw.chance(0.5)


def _mask(draw: Draw, request: Request, batch: int, rows: int, keys: int) -> None:
    """Of Q_S > 1. `rows`, `keys`: Q_S and KV_S."""
    mode = draw.number(0, 4)
    request["sparse_mode"] = mode
    if mode >= 2:
        request["atten_mask"] = COMPRESSED[draw.one_of((...,), (None,), (None, None))]
        if mode == 4:
            request.update(pre_tokens=draw.number(0, 5), next_tokens=draw.number(0, 5))
    elif mode == 1 or draw.chance(0.5):
        shape = draw.one_of((), (1,), (batch,), (1, 1), (batch, 1))
        extra = draw.number(0, 3)
        dtype = draw.one_of(bool, np.int8, np.uint8)
        request["atten_mask"] = (draw.rng.random((*shape, rows + extra, keys + extra)) < 0.3).astype(dtype)
        if mode == 0:
            request.update(pre_tokens=draw.number(-1, 5), next_tokens=draw.number(1, 5))


def unquantised(draw: Draw) -> Request:
    """Any case of the document; its output may be quantised."""
    return _request(draw, draw.one_of(*fia_draws.DOCUMENT)(draw))


def _request(draw: Draw, case: FiaCase) -> Request:
    request = {name: value for name, value in case.arguments().items() if value is not None}
    for name in ("actual_seq_qlen", "actual_seq_kvlen"):
        if name in request:
            request[name] = draw.form(request[name])
    if not case.packed and not case.rope_dim:
        _output(draw, request, case.num_query_heads, case.value_dim)
    return request


def one_row(draw: Draw) -> Request:
    """int8 or int4 keys with one query row."""
    case = fia_draws.one_row(draw)
    if case.paged:
        case = dataclasses.replace(case, block_size=-(-case.block_size // 32) * 32)
    request = _request(draw, case)
    _quantised_keys(draw, request, case.batch, case.key_heads, case.kv_s, case.head_dim)
    return request


def _quantised_keys(draw: Draw, request: Request, batch: int, key_heads: int, keys: int, dim: int) -> None:
    """Scales and offsets of one query row; replaces the dtype of key and value."""
    half = request["query"].dtype
    int4 = dim % 64 == 0 and "block_table" not in request and draw.chance(0.3)
    for name in ("key", "value"):
        shape = request[name].shape
        request[name] = draw.tensor(np.int32, *shape[:-1], shape[-1] // 8) if int4 else draw.tensor(np.int8, *shape)
    modes = [(0, 0), (1, 1), (3, 3)]
    modes += [] if int4 else [(2, 2)]
    modes += [(0, 1)] if int4 or half == FLOAT16 else []
    modes += [(4, 4), (5, 5)] if "block_table" in request else []
    mode_pair = draw.one_of(*modes)
    blocks, block = request["key"].shape[0], request.get("block_size", 0)
    forms = {
        0: draw.one_of((1, key_heads, 1, dim), (1, key_heads, dim), (1, key_heads * dim)),
        1: (1, batch, keys),
        2: (key_heads,),
        3: (batch, key_heads, keys),
        4: (blocks, block),
        5: (blocks, key_heads, block),
    }
    if not int4 and mode_pair == (0, 0) and draw.chance(0.3):
        forms[0] = (1,)
    offsets = draw.chance(0.4)
    for name, mode in zip(("key", "value"), mode_pair, strict=True):
        dtype = half if mode in (0, 2) else np.float32
        request[f"{name}_quant_mode"] = mode
        request[f"dequant_scale_{name}"] = draw.scale(dtype, *forms[mode])
        if offsets:
            request[f"dequant_offset_{name}"] = draw.tensor(dtype, *forms[mode])
    if (half != FLOAT16 and mode_pair == (0, 1)) or int4 or (mode_pair == (0, 1)):
        request.pop("quant_scale_out", None)
        request.pop("quant_offset_out", None)


def _cache(draw: Draw, request: Request, lengths: list[int], heads: int, dim: int) -> int:
    """key, value (int8) and block_table; returns KV_S."""
    size = request["block_size"]
    needed = [-(-length // size) for length in lengths]
    columns = max(*needed, 1) + draw.number(0, 1)
    blocks = max(sum(needed), 1) + draw.number(0, 2)
    request["key"], request["value"] = (draw.tensor(np.int8, blocks, size, heads * dim) for _ in range(2))
    # Columns that no sequence reaches hold whatever was there before.
    table = np.full((len(lengths), columns), -123456789, np.int32)
    ids = iter(draw.rng.permutation(blocks))
    for row, count in zip(table, needed, strict=True):
        row[:count] = [next(ids) for _ in range(count)]
    request["block_table"] = table
    return columns * size


def quantised_rows(draw: Draw) -> Request:
    """int8 keys with several query rows."""
    order, dim = draw.one_of("BSH", "BSND", "BNSD"), draw.one_of(32, 64)
    batch, rows, keys = draw.number(1, 3), draw.number(2, 16), draw.number(1, 9)
    heads, key_heads = _heads(draw)
    mode = draw.number(0, 1)
    request = _base(order, heads, key_heads, key_quant_mode=mode, value_quant_mode=mode)
    request["query"] = draw.tensor(BFLOAT16, *layed(order, batch, heads, rows, dim))
    channel = draw.one_of((key_heads, 1, dim), (key_heads, dim), (key_heads * dim,))
    shape = (batch, keys) if mode == 1 else draw.one_of(channel, (1, *channel))
    for name in ("key", "value"):
        request[name] = draw.tensor(np.int8, *layed(order, batch, key_heads, keys, dim))
        request[f"dequant_scale_{name}"] = draw.scale(np.float32 if mode else BFLOAT16, *shape)
        request[f"dequant_offset_{name}"] = draw.tensor(np.float32 if mode else BFLOAT16, *shape)
    if draw.chance(0.5):
        del request["dequant_offset_key"], request["dequant_offset_value"]
    _mask(draw, request, batch, rows, keys)
    request["return_softmax_lse"] = draw.chance(0.5)
    return request


def _nz(cache: np.ndarray, heads: int) -> np.ndarray:
    """A (blocks, block_size, H) cache in NZ form."""
    blocks, size, width = cache.shape
    lane = 32 // cache.dtype.itemsize
    parts = cache.reshape(blocks, size, heads, width // heads // lane, lane)
    return np.ascontiguousarray(parts.transpose(0, 2, 3, 1, 4))


def int8_mla(draw: Draw) -> Request:
    """MLA with head_dim 512, wholly int8 but for rope."""
    layout = draw.one_of("BSH", "BSND", "BSH_NBSD", "BSND_NBSD", "TND", "TND_NTD")
    order = layout.split("_")[0]
    heads, batch, rows = draw.one_of(1, 2, 4), draw.number(1, 2), draw.number(1, 3)
    lengths = [draw.number(0, 40) for _ in range(batch)]
    request = _base(layout, heads, 1, block_size=128, actual_seq_kvlen=lengths)
    if order == "TND":
        request["actual_seq_qlen"] = draw.ends(batch, 1, 3)
        rows = request["actual_seq_qlen"][-1]
    several = (order == "TND" and draw.chance(0.5)) or (order != "TND" and rows > 1)
    if several:
        request.update(sparse_mode=3, atten_mask=COMPRESSED)
    request["query"] = draw.tensor(np.int8, *layed(order, batch, heads, rows, 512))
    request["query_rope"] = draw.tensor(BFLOAT16, *layed(order, batch, heads, rows, ROPE))
    _cache(draw, request, lengths, 1, 512)
    request["key_rope"] = draw.tensor(BFLOAT16, *request["key"].shape[:2], ROPE)
    if draw.chance(0.4):
        request.update({name: _nz(request[name], 1) for name in ("key", "value", "key_rope")})
    per_head = (rows, heads) if order == "TND" else (batch, rows, heads)
    request.update(query_quant_mode=3, dequant_scale_query=draw.scale(np.float32, *per_head))
    request.update(dequant_scale_key=draw.scale(np.float32, 1), dequant_scale_value=draw.scale(np.float32, 1))
    return request


def nz_cache(draw: Draw) -> Request:
    """Grouped heads over an int8 cache in NZ form."""
    order, rows = draw.one_of("BSH", "BSND", "BNSD"), draw.number(1, 3)
    batch, heads, key_heads, dim = draw.number(1, 2), 10, 1, 128
    lengths = [draw.number(0, 40) for _ in range(batch)]
    request = _base(order, heads, key_heads, block_size=128, actual_seq_kvlen=lengths, inner_precise=1)
    request["query"] = draw.tensor(BFLOAT16, *layed(order, batch, heads, rows, dim))
    keys = _cache(draw, request, lengths, key_heads, dim)
    request.update({name: _nz(request[name], key_heads) for name in ("key", "value")})
    mode = draw.number(0, 1)
    channel = {"BSH": (dim,), "BSND": (key_heads, dim), "BNSD": (key_heads, 1, dim)}[order]
    for name in ("key", "value"):
        shape = (batch, keys + draw.number(0, 1)) if mode else channel
        request[f"{name}_quant_mode"] = mode
        request[f"dequant_scale_{name}"] = draw.scale(np.float32 if mode else BFLOAT16, *shape)
    if mode:
        request["dequant_scale_value"] = request["dequant_scale_key"].copy()
    if rows > 1:
        request.update(sparse_mode=3, atten_mask=COMPRESSED)
    return request


FAMILIES: tuple[Callable[[Draw], Request], ...] = (
    *[unquantised] * 5, one_row, one_row, quantised_rows, int8_mla, nz_cache,
)  # fmt: skip
