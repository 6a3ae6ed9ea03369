# SPDX-License-Identifier: Apache-2.0
"""What the operators should compute, in plain NumPy.

The second opinion on every kernel: it imports NumPy and nothing else of this package, follows the operators' documents
and not our implementation, and prefers the obvious form over the fast one.
"""

from ascend_attention.golden.block_sparse_attention_v2 import block_sparse_attention_v2
from ascend_attention.golden.errors import GoldenError
from ascend_attention.golden.fused_infer_attention_score_v2 import fused_infer_attention_score_v2
from ascend_attention.golden.numbers import bfloat16_from_float, bfloat16_to_float
from ascend_attention.golden.prompt_flash_attention import prompt_flash_attention
from ascend_attention.golden.quantisation import (
    float8_from_float,
    float8_to_float,
    pack_deq_scale,
    pack_int4,
    unpack_int4,
)

__all__ = [
    "GoldenError",
    "bfloat16_from_float",
    "bfloat16_to_float",
    "block_sparse_attention_v2",
    "float8_from_float",
    "float8_to_float",
    "fused_infer_attention_score_v2",
    "pack_deq_scale",
    "pack_int4",
    "prompt_flash_attention",
    "unpack_int4",
]
