# SPDX-License-Identifier: Apache-2.0
"""Random cases of Q_S > 1 over dense tensors, the layouts with a batch axis. fia_draws.py draws everything else too."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from helpers.fia_cases import (
    COMPRESSED_MASK_SHAPES,
    DATA_KINDS,
    DTYPES,
    FULL_MASK_SHAPES,
    LAYOUTS,
    MASK_DTYPES,
    UNLIMITED,
    FiaCase,
)


def pick(rng: np.random.Generator, options: Any) -> Any:
    return options[int(rng.integers(len(options)))]


def pick_length(rng: np.random.Generator, low: int, high: int) -> int:
    """A length in [low, high]: near a tile border as often as anywhere, small ones often."""
    kind = rng.integers(3)
    if kind == 0:
        value = int(rng.integers(low, high + 1))
    elif kind == 1:
        value = int(pick(rng, (16, 32, 64, 128, 256, 512, 1024))) + int(rng.integers(-1, 2))
    else:
        value = low + int((high - low) ** rng.random())
    return min(max(value, low), high)


def pick_tokens(rng: np.random.Generator, case: FiaCase) -> tuple[int, int]:
    """pre_tokens and next_tokens that the document accepts for these lengths (at most one of them is negative)."""
    high = case.query_length + case.key_length
    pre, next_ = (UNLIMITED if rng.random() < 0.2 else int(rng.integers(0, high + 1)) for _ in range(2))
    queries, keys = min(case.query_lengths(), default=0), min(case.key_lengths(), default=0)
    if case.sparse_mode == 0:
        pre_room, next_room = keys, queries
    else:
        pre_room, next_room = queries, keys
    kind = rng.integers(4)
    if kind == 0 and pre_room > 1:
        pre = -int(rng.integers(1, pre_room))
        next_ = max(next_, -pre)
    elif kind == 1 and next_room > 1:
        next_ = -int(rng.integers(1, next_room))
        pre = max(pre, -next_)
    return pre, next_


def pick_heads(rng: np.random.Generator, max_query_heads: int, max_group: int) -> tuple[int, int]:
    """Key heads and query heads per key head; one time in eight a group of up to ``max_group``."""
    key_heads = int(rng.integers(1, max_query_heads + 1))
    group = int(rng.integers(1, max_query_heads // key_heads + 1))
    if rng.random() < 0.125 and max_group > 1:
        return 1, int(rng.integers(1, max_group + 1))
    return key_heads, group


def _shrink(batch: int, query_length: int, key_length: int, most: int) -> tuple[int, int, int]:
    """Smaller until batch x query_length x key_length is at most ``most``, or nothing is left to take away."""
    while batch * query_length * key_length > most:
        if query_length >= max(2, key_length // 4) and query_length > 2:
            query_length = max(2, query_length * 2 // 3)
        elif key_length > 1:
            key_length = max(1, key_length * 2 // 3)
        elif batch > 1:
            batch -= 1
        else:
            break
    return batch, query_length, key_length


def _pick_mask_shape(rng: np.random.Generator, mode: int) -> str | None:
    if mode >= 2:
        return str(pick(rng, COMPRESSED_MASK_SHAPES))
    return str(pick(rng, FULL_MASK_SHAPES)) if mode == 1 or rng.random() < 0.6 else None


def pick_lengths(rng: np.random.Generator, batch: int, full: int) -> tuple[int, ...] | None:
    """None, one length for all, one per batch, or more than there are batches."""
    kind = rng.integers(4)
    if kind == 0:
        return None
    count = 1 if kind == 1 else batch + int(rng.integers(0, 3)) * int(kind == 3)
    return tuple(int(pick(rng, (0, 1, full, *rng.integers(0, full + 1, 4)))) for _ in range(count))


def random_case(
    rng: np.random.Generator,
    *,
    layouts: tuple[str, ...] = LAYOUTS,
    dtypes: tuple[str, ...] = DTYPES,
    sparse_modes: tuple[int, ...] = (0, 1, 2, 3, 4),
    data_kinds: tuple[str, ...] = DATA_KINDS,
    max_batch: int = 3,
    max_query_heads: int = 8,
    max_group: int = 64,
    max_query_length: int = 300,
    max_key_length: int = 1100,
    max_head_dim: int = 256,
    max_work: int = 2**26,
    poison: bool = True,
) -> FiaCase:
    """One legal case. ``max_work`` bounds ``case.work``; one case in eight has a large group (up to ``max_group``)."""
    batch = int(rng.integers(1, max_batch + 1))
    key_heads, group = pick_heads(rng, max_query_heads, max_group)
    head_dim = 16 * int(rng.integers(1, max_head_dim // 16 + 1))
    query_length = pick_length(rng, 2, max_query_length)
    key_length = pick_length(rng, 1, max_key_length)
    batch, query_length, key_length = _shrink(
        batch, query_length, key_length, max_work // (key_heads * group * head_dim)
    )
    mode = int(pick(rng, sparse_modes))
    mask_shape = _pick_mask_shape(rng, mode)
    case = FiaCase(
        name="random",
        input_layout=pick(rng, layouts),
        dtype=pick(rng, dtypes),
        batch=batch,
        num_query_heads=key_heads * group,
        num_key_value_heads=0 if group == 1 and rng.random() < 0.5 else key_heads,
        query_length=query_length,
        key_length=key_length,
        head_dim=head_dim,
        sparse_mode=mode,
        mask_shape=mask_shape,
        mask_dtype=pick(rng, MASK_DTYPES),
        mask_pattern=pick(rng, ("random", "random", "rows", "causal", "padding", "all", "none")),
        mask_padded=bool(rng.random() < 0.3),
        actual_seq_qlen=pick_lengths(rng, batch, query_length),
        actual_seq_kvlen=pick_lengths(rng, batch, key_length),
        inner_precise=int(rng.integers(4)),
        return_softmax_lse=bool(rng.random() < 0.8),
        data=pick(rng, data_kinds) if rng.random() < 0.5 else data_kinds[0],
        poison=poison,
        seed=int(rng.integers(2**31)),
    )
    pre, next_ = pick_tokens(rng, case)
    return dataclasses.replace(case, pre_tokens=pre, next_tokens=next_)
