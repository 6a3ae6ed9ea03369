# SPDX-License-Identifier: Apache-2.0
"""Random cases over everything that npu_fused_infer_attention_score_v2 has without quantisation.

    case = draw_case(np.random.default_rng(7))
    case = draw_case(np.random.default_rng(7), [mla], max_work=2**16)

Each family is a function from a ``Draw`` to a ``FiaCase``. Families are written from the document, not from the checks;
all cases are legal, ``extended`` ones under the extended contract.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from helpers.fia_cases import (
    COMPRESSED_MASK_SHAPES,
    DTYPES,
    FULL_MASK_SHAPES,
    MASK_DTYPES,
    ONE_ROW_MASK_SHAPES,
    UNLIMITED,
    FiaCase,
)
from helpers.fia_random import pick_heads, pick_length, pick_lengths, pick_tokens, random_case

MASK_PATTERNS = ("random", "random", "rows", "causal", "padding", "all", "none")
# Data that says something about a mistake in any family; the others aim at the dense path's numbers.
DATA = ("normal", "normal", "normal", "peaked", "equal_rows", "growing")
PACKED_DIMS = ((128, 128), (192, 128), (192, 192))
ROPE = 64


class Draw:
    """A random number generator with the vocabulary of attention."""

    def __init__(self, rng: np.random.Generator, max_work: int = 2**20) -> None:
        self.rng = rng
        self.max_work = max_work  # multiply-adds of QK^T at most, about
        self.tiny = max_work < 2**14  # then heads, head dims and blocks are small too

    def one_of(self, *choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def number(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def length(self, low: int, high: int) -> int:
        return pick_length(self.rng, low, max(low, high))

    def keys(self, case_rows: int, channels: int, most: int = 3000) -> int:
        """A number of keys that these rows (of all heads and sequences) can afford."""
        return self.length(1, min(most, max(1, self.max_work // max(1, case_rows * channels))))

    def common(self, name: str) -> dict[str, Any]:
        """What every family draws in the same way."""
        return {
            "name": name,
            "dtype": self.one_of(*DTYPES),
            "data": self.one_of(*DATA),
            "inner_precise": self.number(0, 1),
            "return_softmax_lse": self.chance(0.7),
            "seed": self.number(0, 2**31 - 1),
        }


Family = Callable[[Draw], FiaCase]


def draw_case(rng: np.random.Generator, families: Sequence[Family] | None = None, *, max_work: int = 2**20) -> FiaCase:
    draw = Draw(rng, max_work)
    return draw.one_of(*(families or FAMILIES))(draw)


def _heads(draw: Draw) -> dict[str, int]:
    key_heads, group = pick_heads(draw.rng, 3, 4) if draw.tiny else pick_heads(draw.rng, 6, 64)
    zero = group == 1 and draw.chance(0.5)
    return {"num_query_heads": key_heads * group, "num_key_value_heads": 0 if zero else key_heads}


def _dim(draw: Draw, wide: bool) -> int:
    if wide:
        return 16 * draw.number(17, 32)
    return 16 * draw.number(1, 4 if draw.tiny else 16)


def _bias(draw: Draw, case: FiaCase) -> FiaCase:
    if not draw.chance(0.25) or case.kv_s * case.query_length * case.num_query_heads * case.batch > 2**19:
        return case
    kind = draw.one_of("random", "random", "slopes", "minus_infinity", "minus_infinity_rows", "large")
    shape = draw.one_of("B", "1")
    return dataclasses.replace(case, pse=kind, pse_shape=shape, pse_padded=draw.chance(0.5))


def _one_row_mask(draw: Draw) -> dict[str, Any]:
    """With one query row the mask is read in every sparse mode, and tokens never are."""
    return {
        "sparse_mode": draw.one_of(0, 0, 1, 2, 3, 4),
        "pre_tokens": draw.one_of(UNLIMITED, 3, -7),
        "next_tokens": draw.one_of(UNLIMITED, 0, -9),
        "mask_shape": draw.one_of(None, None, *ONE_ROW_MASK_SHAPES),
        "mask_dtype": draw.one_of(*MASK_DTYPES),
        "mask_pattern": draw.one_of(*MASK_PATTERNS),
        "mask_padded": draw.chance(0.4),
    }


def _mask(draw: Draw, case: FiaCase, modes: tuple[int, ...] = (0, 1, 2, 3, 4)) -> FiaCase:
    mode = draw.one_of(*modes)
    shape: str | None = draw.one_of(*COMPRESSED_MASK_SHAPES)
    if mode < 2:
        shape = draw.one_of(*FULL_MASK_SHAPES) if mode == 1 or draw.chance(0.5) else None
    masked = dataclasses.replace(
        case, sparse_mode=mode, mask_shape=shape, mask_dtype=draw.one_of(*MASK_DTYPES),
        mask_pattern=draw.one_of(*MASK_PATTERNS), mask_padded=draw.chance(0.3),
    )  # fmt: skip
    pre, after = pick_tokens(draw.rng, masked)
    return dataclasses.replace(masked, pre_tokens=pre, next_tokens=after)


def _cache(draw: Draw, storages: tuple[str, ...], sizes: tuple[int, ...]) -> dict[str, Any]:
    return {
        "storage": draw.one_of(*storages),
        "block_size": draw.one_of(*sizes[: 3 if draw.tiny else None]),
        "blocks": draw.one_of("shuffled", "shuffled", "reversed", "in_order", "shared"),
        "table_slack": draw.number(0, 3),
    }


def _key_lengths(draw: Draw, batch: int, most: int, low: int = 0) -> tuple[int, ...]:
    lengths = [draw.length(low, most) for _ in range(batch)]
    if low == 0 and draw.chance(0.3):
        lengths[draw.number(0, batch - 1)] = 0
    return tuple(lengths)


def dense(draw: Draw) -> FiaCase:
    case = random_case(draw.rng, max_work=draw.max_work, max_head_dim=64 if draw.tiny else 256)
    return _bias(draw, dataclasses.replace(case, name="dense"))


def wide(draw: Draw) -> FiaCase:
    case = random_case(draw.rng, max_work=draw.max_work, max_head_dim=256, data_kinds=DATA)
    return _bias(draw, dataclasses.replace(case, name="wide", head_dim=_dim(draw, True)))


def one_row(draw: Draw, wide: bool = False) -> FiaCase:
    """Q_S is 1: dense, paged or a list."""
    heads, batch = _heads(draw), draw.number(1, 4)
    dim = _dim(draw, wide) - (draw.number(0, 15) if draw.chance(0.2) else 0)
    keys = draw.keys(batch * heads["num_query_heads"], dim)
    layout = draw.one_of("BSH", "BSND", "BNSD")
    sizes = (16, 32, 48, 128, 128, 256) if wide else (16, 32, 48, 128, 128, 256, 1024)
    storage = _cache(draw, ("BBH", "BNBD") if layout == "BNSD" else ("BBH",), sizes)
    lengths: tuple[int, ...] | None = _key_lengths(draw, batch, keys)
    if draw.chance(0.5):
        storage, lengths = {}, pick_lengths(draw.rng, batch, keys)
    common = draw.common("wide_one_row" if wide else "one_row")
    if dim % 2:
        common["data"] = "normal"
    case = FiaCase(
        **common, input_layout=layout, batch=batch, **heads, query_length=1, key_length=keys, head_dim=dim,
        **_one_row_mask(draw), actual_seq_qlen=draw.one_of(None, (1,) * batch, (1,)), actual_seq_kvlen=lengths,
        **storage,
    )  # fmt: skip
    return _bias(draw, case) if dim % 16 == 0 else case


def wide_one_row(draw: Draw) -> FiaCase:
    return one_row(draw, wide=True)


def few_rows(draw: Draw) -> FiaCase:
    """Speculative decoding: 2 to 16 rows, dense."""
    heads, batch, rows = _heads(draw), draw.number(1, 4), draw.number(2, 16)
    dim = _dim(draw, False)
    keys = draw.keys(batch * heads["num_query_heads"] * rows, dim)
    common = draw.common("few_rows")
    common["inner_precise"] = draw.number(0, 3)
    case = FiaCase(
        **common, input_layout=draw.one_of("BSH", "BSND", "BNSD", "BNSD_BSND"), batch=batch, **heads,
        query_length=rows, key_length=keys, head_dim=dim, actual_seq_qlen=pick_lengths(draw.rng, batch, rows),
        actual_seq_kvlen=pick_lengths(draw.rng, batch, keys),
    )  # fmt: skip
    return _bias(draw, _mask(draw, case))


def paged(draw: Draw, wide: bool = False) -> FiaCase:
    heads, batch = _heads(draw), draw.number(1, 3)
    rows = draw.length(2, 200) if draw.chance(0.4) else draw.number(2, 16)
    dim = _dim(draw, wide)
    rows = max(2, min(rows, draw.max_work // (batch * heads["num_query_heads"] * dim * 16)))
    layout = draw.one_of("BSH", "BSND", "BNSD", "BNSD_BSND")
    keys = draw.keys(batch * heads["num_query_heads"] * rows, dim, 1500)
    common = draw.common("wide_paged" if wide else "paged")
    common["inner_precise"] = draw.number(0, 3)
    case = FiaCase(
        **common, input_layout=layout, batch=batch, **heads, query_length=rows, key_length=keys, head_dim=dim,
        actual_seq_qlen=pick_lengths(draw.rng, batch, rows), actual_seq_kvlen=_key_lengths(draw, batch, keys),
        **_cache(draw, ("BBH", "BNBD") if layout.startswith("BNSD") else ("BBH",), (128, 128, 256, 384, 512)),
    )  # fmt: skip
    return _bias(draw, _mask(draw, case))


def wide_paged(draw: Draw) -> FiaCase:
    return paged(draw, wide=True)


def lists(draw: Draw) -> FiaCase:
    """A tensor of its own for the keys of each sequence."""
    heads, batch = _heads(draw), draw.number(1, 4)
    rows = 1 if draw.chance(0.4) else draw.number(2, 30)
    layout = draw.one_of("BSH", "BSND", "BNSD", *(["BNSD_BSND"] if rows > 1 else []))
    dim = _dim(draw, False)
    keys = draw.keys(batch * heads["num_query_heads"] * rows, dim, 600)
    limits = tuple(draw.length(0 if draw.chance(0.2) else 1, keys) for _ in range(batch))
    limits = limits if max(limits) else (3,) * batch
    lengths = tuple(draw.number(0, limit) for limit in limits) if draw.chance(0.4) else None
    case = FiaCase(
        **draw.common("lists"), input_layout=layout, batch=batch, **heads, query_length=rows,
        key_length=max(limits), head_dim=dim, storage="list", list_lengths=limits, actual_seq_kvlen=lengths,
    )  # fmt: skip
    if rows == 1:
        return _bias(draw, dataclasses.replace(case, **_one_row_mask(draw)))
    return _bias(draw, _mask(draw, case))


def _packed_lengths(draw: Draw, mode: int, channels: int, most: int = 40) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Queries and keys of each sequence, zeros on either side; in mode 3 never more queries than keys."""
    batch = draw.number(1, 6)
    afford = max(4, int((draw.max_work / (batch * channels)) ** 0.5))
    few = draw.chance(0.4)  # decoding
    queries = [draw.number(0, 2) if few else draw.length(0, min(most, afford)) for _ in range(batch)]
    queries[draw.number(0, batch - 1)] += 1
    keys = [draw.length(0, 4 * afford) + (count if mode == 3 else 0) for count in queries]
    keys[draw.number(0, batch - 1)] += 1
    return tuple(queries), tuple(keys)


def _packed_tokens(draw: Draw, queries: tuple[int, ...], keys: tuple[int, ...]) -> dict[str, int]:
    """pre_tokens >= -queries and next_tokens >= -keys of every sequence, their sum not negative."""
    pre = draw.one_of(UNLIMITED, draw.number(0, 60), -draw.number(0, min(queries)))
    after = draw.one_of(UNLIMITED, draw.number(0, 30), 0, -draw.number(0, min(keys)))
    if pre + after < 0:
        pre = -after if after < 0 else pre
        after = max(after, -pre)
    return {"pre_tokens": pre, "next_tokens": after}


def packed(draw: Draw) -> FiaCase:
    """TND and NTD_TND, dense or paged."""
    layout = draw.one_of("TND", "TND", "NTD_TND")
    dim, value_dim = draw.one_of(*PACKED_DIMS[: 3 if layout == "TND" else 2])
    mode = draw.one_of(0, 3, 4) if value_dim == 128 else draw.one_of(0, 3)
    heads = _heads(draw)
    if value_dim == 192:
        heads["num_key_value_heads"] = heads["num_query_heads"] = min(heads["num_query_heads"], 8)
    queries, keys = _packed_lengths(draw, mode, heads["num_query_heads"] * dim)
    storage = {}
    if dim == value_dim == 128 and draw.chance(0.6):
        storage = _cache(draw, ("BBH", "BNBD") if layout == "TND" else ("BBH",), (128, 128, 512, 1024))
    common = draw.common("packed") | {"dtype": "bfloat16", "inner_precise": draw.number(0, 1)}
    return FiaCase(
        **common, input_layout=layout, **heads, head_dim=dim, value_head_dim=value_dim, actual_seq_qlen=queries,
        actual_seq_kvlen=keys, sparse_mode=mode, mask_shape=draw.one_of(*COMPRESSED_MASK_SHAPES) if mode else None,
        mask_dtype=draw.one_of(*MASK_DTYPES), **_packed_tokens(draw, queries, keys),
        sink=value_dim <= 128 and draw.chance(0.35), **storage,
    )  # fmt: skip


def packed_rope(draw: Draw) -> FiaCase:
    """MLA before its weights are absorbed: 128 + 64, value 128."""
    mode = draw.one_of(0, 3, 4)
    heads = _heads(draw)
    queries, keys = _packed_lengths(draw, mode, heads["num_query_heads"] * (128 + ROPE))
    return FiaCase(
        **draw.common("packed_rope") | {"dtype": "bfloat16"}, input_layout=draw.one_of("TND", "NTD_TND"), **heads,
        head_dim=128, rope_dim=ROPE, actual_seq_qlen=queries, actual_seq_kvlen=keys, sparse_mode=mode,
        mask_shape=draw.one_of(*COMPRESSED_MASK_SHAPES) if mode else None, mask_dtype=draw.one_of(*MASK_DTYPES),
        **_packed_tokens(draw, queries, keys), sink=draw.chance(0.2),
    )  # fmt: skip


def mla(draw: Draw) -> FiaCase:
    """512 + 64 over one key head, paged."""
    layout = draw.one_of("BSH", "BSND", "BNSD", "BSH_NBSD", "BSND_NBSD", "BNSD_NBSD", "TND", "TND_NTD")
    heads = draw.one_of(1, 2, 4, 8, 8, 16, 16, 32, 64, 128)
    batch = draw.number(1, 4)
    rows = 1 if draw.chance(0.4) else draw.number(2, 16)
    rows = max(1, min(rows, 4 * draw.max_work // (batch * heads * (512 + ROPE) * 8)))
    keys = draw.length(1, max(8, min(2500, 4 * draw.max_work // (batch * rows * heads * (512 + ROPE)))))
    storages = {"BNSD": ("BBH", "BNBD"), "TND": ("BBH", "BNBD", "NZ")}.get(layout.split("_")[0], ("BBH", "NZ"))
    cache = _cache(draw, storages, (16, 128))
    if cache["storage"] == "NZ":
        cache["block_size"] = 128
    common = draw.common("mla") | {"return_softmax_lse": False, "value_is_key": draw.chance(0.8)}
    case = FiaCase(
        **common, input_layout=layout, batch=batch, num_query_heads=heads, num_key_value_heads=1, query_length=rows,
        head_dim=512, rope_dim=ROPE, key_length=keys, actual_seq_kvlen=_key_lengths(draw, batch, keys), **cache,
    )  # fmt: skip
    if case.packed:
        queries = [draw.number(0, rows) for _ in range(batch)]
        queries[draw.number(0, batch - 1)] = rows
        case = dataclasses.replace(case, actual_seq_qlen=tuple(queries))
        several = draw.chance(0.5)
    else:
        several = rows > 1
        if draw.chance(0.3):
            case = dataclasses.replace(case, actual_seq_qlen=pick_lengths(draw.rng, batch, rows))
    if several:
        mask = {"mask_shape": draw.one_of(*COMPRESSED_MASK_SHAPES), "mask_dtype": draw.one_of(*MASK_DTYPES)}
        case = dataclasses.replace(case, sparse_mode=3, **mask)
    return case


def mla_band(draw: Draw) -> FiaCase:
    """512 + 64 in sparse_mode 4: BSND, 128 heads, dense or paged, never more queries than keys."""
    batch, rows = draw.number(1, 2), draw.one_of(1, 1, 2, 3, draw.number(4, 20))
    rows = max(1, min(rows, 8 * draw.max_work // (batch * 128 * (512 + ROPE) * 8)))
    keys = max(rows, draw.length(1, max(8, min(600, 8 * draw.max_work // (batch * rows * 128 * (512 + ROPE))))))
    cache = _cache(draw, ("BBH",), (64, 128)) if draw.chance(0.6) else {}
    common = draw.common("mla_band") | {"return_softmax_lse": False, "value_is_key": draw.chance(0.7)}
    return FiaCase(
        **common, input_layout="BSND", batch=batch, num_query_heads=128, num_key_value_heads=1, query_length=rows,
        head_dim=512, rope_dim=ROPE, key_length=keys, actual_seq_kvlen=_key_lengths(draw, batch, keys, low=rows),
        sparse_mode=4, mask_shape=draw.one_of(*COMPRESSED_MASK_SHAPES), mask_dtype=draw.one_of(*MASK_DTYPES),
        pre_tokens=draw.one_of(UNLIMITED, draw.number(1, 100)), next_tokens=draw.one_of(0, 0, draw.number(0, 5)),
        **cache,
    )  # fmt: skip


def split(draw: Draw) -> FiaCase:
    """So long and so few rows that keys are split between cores."""
    key_heads, batch, rows = draw.number(1, 2), draw.number(1, 2), draw.one_of(1, 1, draw.number(2, 16))
    keys = draw.number(2500, 6000)
    case = FiaCase(
        **draw.common("split"), batch=batch, num_query_heads=key_heads * draw.number(1, 4),
        num_key_value_heads=key_heads, query_length=rows, key_length=keys, head_dim=16 * draw.number(1, 4),
        input_layout=draw.one_of("BSH", "BSND", "BNSD"),
        actual_seq_kvlen=(keys, draw.number(0, keys))[:batch],
    )  # fmt: skip
    if draw.chance(0.5):
        sizes = (128, 256) if rows > 1 else (16, 48, 128)
        case = dataclasses.replace(case, **_cache(draw, ("BBH",), sizes))
    if rows > 1:
        return _bias(draw, _mask(draw, case))
    return _bias(draw, dataclasses.replace(case, **_one_row_mask(draw)))


def extended(draw: Draw) -> FiaCase:
    """What the document refuses and the extended contract takes."""
    case = draw.one_of(_extended_packed, _extended_packed, _extended_mla, _extended_sink, _extended_rope)(draw)
    return dataclasses.replace(case, name=f"extended-{case.name}", contract="extended")


def _extended_packed(draw: Draw) -> FiaCase:
    """float16, and head dims of any multiple of 16."""
    case = packed(draw)
    dim = _dim(draw, False)
    same = case.paged or draw.chance(0.5)
    return dataclasses.replace(
        case, dtype=draw.one_of(*DTYPES), head_dim=dim, value_head_dim=dim if same else _dim(draw, False),
        block_size=draw.one_of(16, 48, 128, 256), sink=draw.chance(0.4),
    )  # fmt: skip


def _extended_mla(draw: Draw) -> FiaCase:
    """softmax_lse, other block sizes, dense keys."""
    case = dataclasses.replace(mla(draw), return_softmax_lse=True)
    if case.storage != "NZ":
        case = dataclasses.replace(case, block_size=draw.one_of(16, 32, 96, 128, 256))
    dense = not case.packed and draw.chance(0.4)
    return dataclasses.replace(case, storage="dense") if dense else case


def _extended_sink(draw: Draw) -> FiaCase:
    case = draw.one_of(few_rows, one_row, paged)(draw)
    return dataclasses.replace(case, sink=True, inner_precise=draw.number(0, 3))


def _extended_rope(draw: Draw) -> FiaCase:
    """128 + 64 in layouts with a batch axis."""
    case = few_rows(draw)
    layout = case.input_layout.split("_")[0]
    return dataclasses.replace(case, input_layout=layout, head_dim=128, rope_dim=ROPE, pse=None)


# What the document accepts; then everything.
DOCUMENT: tuple[Family, ...] = (
    dense, dense, one_row, one_row, one_row, few_rows, few_rows, paged, paged, lists, packed, packed, packed,
    packed_rope, mla, mla, mla, mla_band, wide, wide_one_row, wide_paged,
)  # fmt: skip
FAMILIES: tuple[Family, ...] = (*DOCUMENT, split, split, extended)
