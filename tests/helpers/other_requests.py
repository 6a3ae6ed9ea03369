# SPDX-License-Identifier: Apache-2.0
"""Small random requests of prompt flash attention and of block-sparse attention, as fia_requests has them for the fused
operator: written from the documents, nearly all legal, over everything that Atlas A2 and A3 have."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from helpers.fia_requests import BFLOAT16, COMPRESSED, FLOAT16, Draw, Request, layed

FLOAT8 = np.dtype(ml_dtypes.float8_e4m3fn)


def random_prompt_request(rng: np.random.Generator) -> Request:
    draw = Draw(rng)
    return _prompt_packed(draw) if draw.chance(0.2) else _prompt(draw)


def _prompt(draw: Draw) -> Request:
    layout = draw.one_of("BSH", "BSND", "BNSD", "BNSD_BSND")
    order, int8 = layout.split("_")[0], draw.chance(0.35)
    dtype = np.dtype(np.int8) if int8 else draw.half()
    batch, rows, keys = draw.number(1, 3), draw.number(1, 6), draw.number(1, 9)
    dim = draw.one_of(32, 64) if int8 else draw.one_of(16, 32, 24, 64)
    key_heads = draw.number(1, 2)
    heads = key_heads * draw.number(1, 3)
    request: Request = {"input_layout": layout, "num_heads": heads, "scale_value": 0.25}
    request["num_key_value_heads"] = 0 if heads == key_heads else key_heads
    request["query"] = draw.tensor(dtype, *layed(order, batch, heads, rows, dim))
    for name in ("key", "value"):
        request[name] = draw.tensor(dtype, *layed(order, batch, key_heads, keys, dim))
    if int8:
        for name in ("deq_scale1", "quant_scale1", "deq_scale2"):
            request[name] = draw.scale(np.float32, 1)
    mode = draw.number(0, 4)
    request["sparse_mode"] = mode
    if mode >= 2:
        request["atten_mask"] = COMPRESSED[draw.one_of((...,), (None,), (None, None))]
    elif mode == 1 or draw.chance(0.5):
        shape = (*draw.one_of((), (1,), (batch,), (1, 1), (batch, 1)), rows, keys)
        request["atten_mask"] = (draw.rng.random(shape) < 0.3).astype(draw.one_of(bool, np.int8, np.uint8))
    if mode in (0, 4):
        request.update(pre_tokens=draw.number(0, 5), next_tokens=draw.number(0, 5))
    for name, whole in (("actual_seq_lengths", rows), ("actual_seq_lengths_kv", keys)):
        if draw.chance(0.3):
            request[name] = [draw.number(0, whole) for _ in range(batch)]
    if draw.chance(0.2):
        half = FLOAT16 if int8 else dtype
        request["pse_shift"] = draw.tensor(half, draw.one_of(1, batch), heads, rows + 1, keys + 2)
    if draw.chance(0.4):
        per_channel = dim % 32 == 0 and draw.chance(0.5)
        scale = draw.one_of(np.float32, BFLOAT16 if dtype == BFLOAT16 else np.float32)
        shape = (heads * dim,) if per_channel else (1,)
        request["quant_scale2"] = draw.scale(scale, *shape)
        if request.get("atten_mask") is None or mode in (1, 2):
            request["quant_offset2"] = draw.scale(scale, *shape)
    return request


def _prompt_packed(draw: Draw) -> Request:
    batch, key_heads = draw.number(1, 3), draw.number(1, 2)
    heads = key_heads * draw.number(1, 3)
    dim, value_dim = draw.one_of((128, 128), (192, 128), (192, 192))
    ends = draw.ends(batch, 0, 4)
    ends[-1] += 1
    lengths = [int(count) + draw.number(0, 3) for count in np.diff([0, *ends])]
    request: Request = {"input_layout": "TND", "num_heads": heads, "scale_value": 0.25}
    request["num_key_value_heads"] = key_heads
    if value_dim == 192:
        request["num_heads"] = heads = key_heads
    request["query"] = draw.tensor(BFLOAT16, ends[-1], heads, dim)
    request["key"] = draw.tensor(BFLOAT16, sum(lengths), key_heads, dim)
    request["value"] = draw.tensor(BFLOAT16, sum(lengths), key_heads, value_dim)
    request["actual_seq_lengths"] = ends
    request["actual_seq_lengths_kv"] = [int(end) for end in np.cumsum(lengths)]
    if draw.chance(0.5):
        request.update(sparse_mode=3, atten_mask=COMPRESSED)
    return request


def random_sparse_request(rng: np.random.Generator, float8: float = 0.3) -> Request:
    """With float8 inputs (how often: ``float8``) it is one for Ascend 950, else one for every product."""
    draw = Draw(rng)
    fp8 = draw.chance(float8)
    order, dtype, dim = draw.one_of("TND", "BNSD", "BSND"), draw.half(), draw.one_of(64, 128)
    batch, key_heads = draw.number(1, 2), draw.number(1, 2)
    heads = key_heads * draw.number(1, 2)
    block = draw.one_of((128, 256), (128, 512)) if fp8 else draw.one_of(None, (16, 128), (64, 256))
    rows = [draw.number(1, 40) for _ in range(batch)]
    keys = [draw.number(1, 200) for _ in range(batch)]
    packed = order == "TND"
    length, key_length = (sum(rows), sum(keys)) if packed else (max(rows), max(keys))
    request: Request = {"q_input_layout": order, "kv_input_layout": order, "num_key_value_heads": key_heads}
    request["query"] = draw.tensor(dtype, *layed(order, batch, heads, length, dim))
    for name in ("key", "value"):
        request[name] = draw.tensor(dtype, *layed(order, batch, key_heads, key_length, dim))
    if packed or draw.chance(0.5):
        request.update(actual_seq_lengths=rows, actual_seq_lengths_kv=keys)
    height, width = block or (128, 128)
    if block:
        request["block_shape"] = list(block)
    blocks = (batch, heads, -(-max(rows) // height), -(-max(keys) // width))
    request["block_sparse_mask"] = (draw.rng.random(blocks) < 0.7).astype(np.int8)
    request.update(scale_value=0.125, softmax_lse_flag=draw.number(0, 1), inner_precise=draw.one_of(0, 4))
    if fp8:
        request["inner_precise"] = 4
        for name in ("query", "key", "value"):
            request[name] = request[name].astype(FLOAT8)
        request["q_dequant_scale"] = draw.scale(np.float32, batch, heads, blocks[2], 1)
        for name in ("k_dequant_scale", "v_dequant_scale"):
            request[name] = draw.scale(np.float32, batch, key_heads, blocks[3], 1)
    return request
