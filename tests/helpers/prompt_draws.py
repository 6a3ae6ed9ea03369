# SPDX-License-Identifier: Apache-2.0
"""Random cases over everything that npu_prompt_flash_attention has without int8, as fia_draws.py has them for the fused
operator: written from the document, not from the checks."""

from __future__ import annotations

import dataclasses

import numpy as np

from helpers.fia_cases import COMPRESSED_MASK_SHAPES, DATA_KINDS, DTYPES, MASK_DTYPES, UNLIMITED, FiaCase
from helpers.fia_draws import PACKED_DIMS, Draw, Family
from helpers.fia_random import pick_heads, random_case
from helpers.prompt_cases import PromptCase

ANY_DIM = ("normal", "normal", "peaked", "equal_rows", "wide", "zeros", "subnormal")  # others want an even head_dim


def draw_prompt_case(rng: np.random.Generator, *, max_work: int = 2**20) -> FiaCase:
    draw = Draw(rng, max_work)
    return draw.one_of(*FAMILIES)(draw)


def prompt(draw: Draw, narrowest: int = 1, widest: int = 256) -> PromptCase:
    """Tensors with a batch axis."""
    dim = draw.number(narrowest, widest) if draw.chance(0.6) else draw.number(-(-narrowest // 16), widest // 16) * 16
    most = dict.fromkeys(("max_query_heads", "max_group"), max(1, min(64, 65534 // (64 * dim))))
    drawn = random_case(draw.rng, max_work=draw.max_work * 64 // max(64, dim), max_head_dim=64, **most)
    fields = {field.name: getattr(drawn, field.name) for field in dataclasses.fields(drawn)}
    kinds = ANY_DIM if dim % 2 or dim < 4 else DATA_KINDS
    fields.update(
        name="prompt", head_dim=dim, inner_precise=0, return_softmax_lse=False, data=draw.one_of("normal", *kinds)
    )
    case = PromptCase(**fields)
    if draw.chance(0.15) and not _tokens_reach_far(case):
        case = dataclasses.replace(case, query_length=1, actual_seq_qlen=None)
    if case.sparse_mode == 0 and draw.chance(0.5) and case.pre_tokens >= 0:
        case = dataclasses.replace(case, next_tokens=0)  # the default
    if draw.chance(0.3) and case.kv_s * case.query_length * case.num_query_heads * case.batch < 2**18:
        kind = draw.one_of("random", "random", "slopes", "minus_infinity", "minus_infinity_rows", "large")
        case = dataclasses.replace(case, pse=kind, pse_shape=draw.one_of("B", "1"), pse_padded=draw.chance(0.5))
    return case


def _tokens_reach_far(case: PromptCase) -> bool:
    return case.sparse_mode in (0, 4) and min(case.pre_tokens, case.next_tokens) < 0


def prompt_wide(draw: Draw) -> PromptCase:
    return dataclasses.replace(prompt(draw, 257, 512), name="prompt_wide")


def prompt_packed(draw: Draw, extended: bool = False) -> PromptCase:
    """Token-packed: TND."""
    dim, value_dim = draw.one_of(*PACKED_DIMS)
    mode = draw.one_of(0, 3, 4)
    key_heads, group = pick_heads(draw.rng, 4, 64)
    dtype = "bfloat16"
    if extended:
        dim, value_dim, dtype = 16 * draw.number(1, 16), 16 * draw.number(1, 16), draw.one_of(*DTYPES)
    sequences = draw.number(1, 6)
    afford = max(4, int((draw.max_work / (sequences * key_heads * group * dim)) ** 0.5))
    queries = [draw.length(0, min(60, afford)) for _ in range(sequences)]
    queries[draw.number(0, sequences - 1)] += 1
    keys = [draw.length(0, 4 * afford) + (count if mode == 3 else 0) for count in queries]
    keys[draw.number(0, sequences - 1)] += 1
    pre, after = draw.one_of(UNLIMITED, draw.number(0, 60)), draw.one_of(UNLIMITED, draw.number(0, 30), 0)
    if mode == 4 and min(queries) > 1 and draw.chance(0.3):
        pre = -draw.number(1, min(queries) - 1)
        after = max(after, -pre)
    elif mode == 4 and min(keys) > 1 and draw.chance(0.3):
        after = -draw.number(1, min(keys) - 1)
        pre = max(pre, -after)
    return PromptCase(
        "prompt_packed", "TND", dtype, num_query_heads=key_heads * group, num_key_value_heads=key_heads, head_dim=dim,
        value_head_dim=value_dim, actual_seq_qlen=tuple(queries), actual_seq_kvlen=tuple(keys), sparse_mode=mode,
        mask_shape=draw.one_of(*COMPRESSED_MASK_SHAPES) if mode else None, mask_dtype=draw.one_of(*MASK_DTYPES),
        pre_tokens=pre, next_tokens=after, data=draw.one_of("normal", *DATA_KINDS),
        seed=draw.number(0, 2**31 - 1), contract="extended" if extended else "document",
    )  # fmt: skip


def prompt_extended(draw: Draw) -> PromptCase:
    """What only the extended contract takes of TND: float16, and head dims of any multiple of 16."""
    return dataclasses.replace(prompt_packed(draw, extended=True), name="prompt_extended")


FAMILIES: tuple[Family, ...] = (prompt, prompt, prompt, prompt_wide, prompt_packed, prompt_packed, prompt_extended)
