# SPDX-License-Identifier: Apache-2.0
"""The shapes in which every synchronisation call of the engine executes and is missed when it is not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ascend_attention
from ascend_attention._settings import at_most_cores
from ascend_attention.precision import compare_fused_infer_attention_score_v2
from ascend_attention.sync_mutation import Case
from helpers.bsa_cases import BsaCase, judge
from helpers.fia_cases import FiaCase

ROOT = Path(__file__).resolve().parents[2]
SHAPES = (
    # More tasks than cores, each of one key tile: buffers of the query and of the running sums go round.
    FiaCase("tasks", "BNSD", num_query_heads=80, query_length=9, key_length=40, head_dim=16),
    # Several key tiles and a causal edge; grouped heads, token by token.
    FiaCase("tiles", "BSND", num_query_heads=2, num_key_value_heads=1, query_length=70, key_length=2100, head_dim=48,
            sparse_mode=3, mask_shape="SS", return_softmax_lse=False),
    # Wide heads and few rows, so that products are small; an explicit mask of odd length.
    FiaCase("wide", "BSH", "bfloat16", num_query_heads=2, query_length=5, key_length=611, head_dim=256, sparse_mode=1,
            mask_shape="11SS", mask_dtype="uint8"),
    # Both edges of a band, in different key tiles.
    FiaCase("band", "BNSD_BSND", "bfloat16", query_length=150, key_length=1300, head_dim=80, sparse_mode=4,
            mask_shape="SS", pre_tokens=800, next_tokens=-20),
    # Ragged lengths, and sequences that see nothing.
    FiaCase("ragged", "BSND", batch=4, num_query_heads=3, query_length=140, key_length=200, head_dim=128,
            actual_seq_qlen=(140, 1, 77, 140), actual_seq_kvlen=(33, 200, 0, 0), mask_shape="BSS",
            return_softmax_lse=True),
    # Two and a half row tiles for each of two cores: one is split, and the buffer of its part is used again.
    FiaCase("split", "BNSD", num_query_heads=5, query_length=8, key_length=5000, head_dim=64,
            return_softmax_lse=True),
    # A little more than a tile for each core: parts of a single key tile, to which others are added.
    FiaCase("rests", "BNSD", num_query_heads=21, query_length=2, key_length=1800, head_dim=64),
    # Bias; and sinks, with row tiles split between many cores.
    FiaCase("bias", "BNSD", batch=2, query_length=3, key_length=1500, head_dim=32, pse="random"),
    FiaCase("sink", "TND", "bfloat16", num_query_heads=4, num_key_value_heads=2, head_dim=128,
            actual_seq_qlen=(1, 33), actual_seq_kvlen=(3000, 70), sparse_mode=3, mask_shape="SS", sink=True),
    # The schedule of wide heads: latent attention, several tasks a core and several key tiles a task.
    FiaCase("latent", "BSND", "bfloat16", batch=24, num_query_heads=4, num_key_value_heads=1, query_length=2,
            head_dim=512, rope_dim=64, actual_seq_kvlen=(700,) * 24, storage="BBH", value_is_key=True,
            return_softmax_lse=False, sparse_mode=3, mask_shape="SS"),
    # The same where V is not K, with a whole key tile behind another: its scores come where P of the first one was.
    FiaCase("wide values", "BNSD", "bfloat16", batch=20, key_length=2060, head_dim=512),
    # Selected keys.
    BsaCase("selected", heads=2, query_length=40, key_length=300, block_x=1, pattern="pairs"),
)  # fmt: skip


CORES = {"split": 2}  # others: as many as the SoC has


def case(shape: FiaCase | BsaCase) -> Case:
    if isinstance(shape, BsaCase):
        return selected_case(shape)
    arguments = shape.arguments()

    def run() -> Any:
        with at_most_cores(CORES.get(shape.name, 0)):
            return ascend_attention.npu_fused_infer_attention_score_v2(**arguments)

    def right(outputs: Any) -> bool:
        return compare_fused_infer_attention_score_v2(outputs, **arguments).passed

    return Case(shape.name, run, right, soc="Ascend910B4")


def selected_case(shape: BsaCase) -> Case:
    arguments = shape.arguments()

    def run() -> Any:
        return ascend_attention.block_sparse_attention_v2(**arguments)

    return Case(shape.name, run, lambda outputs: not judge(shape, outputs), soc="Ascend910B4")
