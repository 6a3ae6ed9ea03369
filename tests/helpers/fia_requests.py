# SPDX-License-Identifier: Apache-2.0
"""Small random requests of npu_fused_infer_attention_score_v2 over all that its document has: every layout, paged
and NZ caches, rope, every quantisation, bias, sink, lengths and masks. Written from the document, not from the checks.

    request = random_request(np.random.default_rng(7))

Nearly all are legal; where a draw contradicts itself in a rare rule, the checks say so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

Request = dict[str, Any]
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOAT16 = np.dtype(np.float16)
COMPRESSED = np.triu(np.ones((2048, 2048), bool), 1)
ROPE = 64


class Draw:
    """A random number generator with the vocabulary of attention."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def one_of(self, *choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def number(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def half(self) -> np.dtype:
        return self.one_of(FLOAT16, BFLOAT16)

    def tensor(self, dtype: Any, *shape: int) -> np.ndarray:
        if np.dtype(dtype).kind == "i":
            limits = np.iinfo(dtype)
            return self.rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
        return self.rng.standard_normal(shape, np.float32).astype(dtype)

    def scale(self, dtype: Any, *shape: int) -> np.ndarray:
        return self.rng.uniform(0.01, 0.1, shape).astype(dtype)

    def lengths(self, batch: int, whole: int) -> Any:
        """Of a layout with a batch axis, in one of the forms that callers use."""
        entries = [self.number(0, whole) for _ in range(self.one_of(1, batch, batch + 2))]
        return self.one_of(entries, tuple(entries), np.array(entries), np.repeat(np.array(entries), 2)[::2])

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
    draw = Draw(rng)
    return draw.one_of(*FAMILIES)(draw)


def _heads(draw: Draw) -> tuple[int, int]:
    key_heads = draw.number(1, 2)
    return key_heads * draw.number(1, 3), key_heads


def _base(layout: str, heads: int, key_heads: int, **more: Any) -> Request:
    counts = {"num_query_heads": heads, "num_key_value_heads": 0 if heads == key_heads else key_heads}
    return {"input_layout": layout, "softmax_scale": 0.25, **counts, **more}


def _output(draw: Draw, request: Request, heads: int, dim: int) -> None:
    """Quantised output, or softmax_lse."""
    if draw.chance(0.25):
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


def dense(draw: Draw) -> Request:
    layout = draw.one_of("BSH", "BSND", "BNSD", "BNSD_BSND")
    order, dtype = layout.split("_")[0], draw.half()
    batch, rows, keys, dim = draw.number(1, 3), draw.number(2, 6), draw.number(1, 9), draw.one_of(16, 32, 48, 64)
    heads, key_heads = _heads(draw)
    request = _base(layout, heads, key_heads, inner_precise=draw.number(0, 3))
    request["query"] = draw.tensor(dtype, *layed(order, batch, heads, rows, dim))
    for name in ("key", "value"):
        request[name] = draw.tensor(dtype, *layed(order, batch, key_heads, keys, dim))
    _mask(draw, request, batch, rows, keys)
    if draw.chance(0.3):
        request["actual_seq_qlen"] = draw.lengths(batch, rows)
    if draw.chance(0.3):
        request["actual_seq_kvlen"] = draw.lengths(batch, keys)
    if draw.chance(0.2):
        request["pse_shift"] = draw.tensor(dtype, draw.one_of(1, batch), heads, rows + 1, keys + 2)
    _output(draw, request, heads, dim)
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


def _cache(draw: Draw, request: Request, order: str, dtype: Any, lengths: list[int], heads: int, dim: int) -> int:
    """key, value and block_table; returns KV_S."""
    size = request["block_size"]
    columns = max(-(-length // size) for length in lengths) + draw.number(0, 1)
    columns = max(columns, 1)
    needed = sum(-(-length // size) for length in lengths)
    blocks = max(needed, 1) + draw.number(0, 2)
    shape = (blocks, size, heads * dim)
    if order in ("BNSD", "TND", "NTD") and draw.chance(0.5):
        shape = (blocks, heads, size, dim)  # type: ignore[assignment]
    request["key"], request["value"] = (draw.tensor(dtype, *shape) for _ in range(2))
    # Columns that no sequence reaches hold whatever was there before.
    table = np.full((len(lengths), columns), -123456789, np.int32)
    ids = iter(draw.rng.permutation(blocks))
    for row, length in zip(table, lengths, strict=True):
        for column in range(-(-length // size)):
            row[column] = next(ids)
    request["block_table"] = table
    return columns * size


def one_row(draw: Draw) -> Request:
    order, dtype = draw.one_of("BSH", "BSND", "BNSD"), draw.half()
    batch, keys, dim = draw.number(1, 3), draw.number(1, 9), draw.one_of(16, 32, 64, 24)
    heads, key_heads = _heads(draw)
    request = _base(order, heads, key_heads, sparse_mode=draw.one_of(0, 0, 3, 77), inner_precise=draw.number(0, 1))
    request["query"] = draw.tensor(dtype, *layed(order, batch, heads, 1, dim))
    if draw.chance(0.4):
        lengths = [draw.number(0, 40) for _ in range(batch)]
        request.update(block_size=draw.one_of(32, 64), actual_seq_kvlen=lengths)
        keys = _cache(draw, request, order, dtype, lengths, key_heads, dim)
    else:
        for name in ("key", "value"):
            request[name] = draw.tensor(dtype, *layed(order, batch, key_heads, keys, dim))
        if draw.chance(0.4):
            request["actual_seq_kvlen"] = draw.lengths(batch, keys)
    if draw.chance(0.3):
        request["atten_mask"] = draw.rng.random(draw.one_of((batch, keys), (batch, 1, 1, keys + 2))) < 0.3
    if dim % 16 == 0 and draw.chance(0.2):
        request["pse_shift"] = draw.tensor(dtype, draw.one_of(1, batch), heads, 1, keys + 1)
    _output(draw, request, heads, dim)
    if draw.chance(0.5):
        _quantised_keys(draw, request, batch, key_heads, keys, dim)
    return request


def paged(draw: Draw) -> Request:
    order, dtype = draw.one_of("BSH", "BSND", "BNSD"), draw.half()
    batch, rows, dim = draw.number(1, 2), draw.number(2, 6), draw.one_of(16, 32)
    heads, key_heads = _heads(draw)
    lengths = [draw.number(0, 200) for _ in range(batch)]
    request = _base(order, heads, key_heads, block_size=draw.one_of(128, 256), actual_seq_kvlen=lengths)
    request["query"] = draw.tensor(dtype, *layed(order, batch, heads, rows, dim))
    keys = _cache(draw, request, order, dtype, lengths, key_heads, dim)
    _mask(draw, request, batch, rows, keys)
    if draw.chance(0.2):
        request["pse_shift"] = draw.tensor(dtype, draw.one_of(1, batch), heads, rows, keys)
    _output(draw, request, heads, dim)
    return request


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


def wide(draw: Draw) -> Request:
    """MLA with head_dim 512, 16-bit or wholly int8."""
    int8 = draw.chance(0.3)
    layouts = ["BSH", "BSND", "BSH_NBSD", "BSND_NBSD", "TND", "TND_NTD"] + ([] if int8 else ["BNSD", "BNSD_NBSD"])
    layout = draw.one_of(*layouts)
    order, half = layout.split("_")[0], BFLOAT16 if int8 else draw.half()
    dtype = np.dtype(np.int8) if int8 else half
    heads, batch, rows = draw.one_of(1, 2, 4), draw.number(1, 2), draw.number(1, 3)
    lengths = [draw.number(0, 40) for _ in range(batch)]
    nz = order != "BNSD" and draw.chance(0.4)
    size = 128 if nz or int8 else draw.one_of(16, 128)
    request = _base(layout, heads, 1, block_size=size, actual_seq_kvlen=lengths)
    if order == "TND":
        request["actual_seq_qlen"] = draw.ends(batch, 1, 3)
        rows = request["actual_seq_qlen"][-1]
    several = (order == "TND" and draw.chance(0.5)) or (order != "TND" and rows > 1)
    if several:
        request.update(sparse_mode=3, atten_mask=COMPRESSED)
    request["query"] = draw.tensor(dtype, *layed(order, batch, heads, rows, 512))
    request["query_rope"] = draw.tensor(half, *layed(order, batch, heads, rows, ROPE))
    _cache(draw, request, "BSH", dtype, lengths, 1, 512)
    request["key_rope"] = draw.tensor(half, *request["key"].shape[:2], ROPE)
    if nz:
        request.update({name: _nz(request[name], 1) for name in ("key", "value", "key_rope")})
    if int8:
        per_head = (rows, heads) if order == "TND" else (batch, rows, heads)
        request.update(query_quant_mode=3, dequant_scale_query=draw.scale(np.float32, *per_head))
        request.update(dequant_scale_key=draw.scale(np.float32, 1), dequant_scale_value=draw.scale(np.float32, 1))
    return request


def packed(draw: Draw) -> Request:
    """TND and NTD_TND."""
    layout = draw.one_of("TND", "NTD_TND")
    order = layout.split("_")[0]
    batch, (heads, key_heads) = draw.number(1, 3), _heads(draw)
    rope = draw.chance(0.3)
    dims = [(128, 128)] if rope else [(128, 128), (192, 128)]
    dim, value_dim = draw.one_of(*dims, *([] if rope or order == "NTD" else [(192, 192)]))
    if value_dim == 192:
        heads = key_heads
    ends = draw.ends(batch, 0, 4)
    ends[-1] += 1
    queries = np.diff([0, *ends])
    lengths = [int(count) + draw.number(0, 3) for count in queries]
    request = _base(layout, heads, key_heads, actual_seq_qlen=ends, return_softmax_lse=draw.chance(0.5))
    request["query"] = draw.tensor(BFLOAT16, *layed(order, 0, heads, ends[-1], dim))
    if not rope and dim == value_dim == 128 and draw.chance(0.4):
        request.update(block_size=128, actual_seq_kvlen=lengths)
        _cache(draw, request, order, BFLOAT16, lengths, key_heads, dim)
    else:
        request["actual_seq_kvlen"] = [int(end) for end in np.cumsum(lengths)]
        keys = request["actual_seq_kvlen"][-1]
        request["key"] = draw.tensor(BFLOAT16, *layed(order, 0, key_heads, keys, dim))
        request["value"] = draw.tensor(BFLOAT16, *layed(order, 0, key_heads, keys, value_dim))
        if rope:
            request["query_rope"] = draw.tensor(BFLOAT16, *layed(order, 0, heads, ends[-1], ROPE))
            request["key_rope"] = draw.tensor(BFLOAT16, *layed(order, 0, key_heads, keys, ROPE))
    mode = draw.one_of(0, 3, 4) if value_dim == 128 else draw.one_of(0, 3)
    if mode:
        request.update(sparse_mode=mode, atten_mask=COMPRESSED)
    if mode == 4:
        request.update(pre_tokens=draw.number(0, 3), next_tokens=draw.number(0, 3))
    if value_dim <= 128 and draw.chance(0.3):
        request["learnable_sink"] = draw.tensor(BFLOAT16, heads)
    return request


def nz_cache(draw: Draw) -> Request:
    """Grouped heads over an int8 cache in NZ form."""
    order, rows = draw.one_of("BSH", "BSND", "BNSD"), draw.number(1, 3)
    batch, heads, key_heads, dim = draw.number(1, 2), 10, 1, 128
    lengths = [draw.number(0, 40) for _ in range(batch)]
    request = _base(order, heads, key_heads, block_size=128, actual_seq_kvlen=lengths, inner_precise=1)
    request["query"] = draw.tensor(BFLOAT16, *layed(order, batch, heads, rows, dim))
    keys = _cache(draw, request, "BSH", np.int8, lengths, key_heads, dim)
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
    dense, dense, one_row, one_row, paged, quantised_rows, wide, packed, packed, nz_cache,
)  # fmt: skip
