# SPDX-License-Identifier: Apache-2.0
"""Is this result good enough? One rule for all, described in docs/precision.md.

``compare`` judges a tensor against the exact result and the plain peer's; ``compare_fused_infer_attention_score_v2``
and ``compare_prompt_flash_attention`` compute both from the operator's arguments. Works on NumPy arrays and torch
tensors (torch is not needed).
"""

from ascend_attention.precision.calls import compare_fused_infer_attention_score_v2, compare_prompt_flash_attention
from ascend_attention.precision.judge import compare
from ascend_attention.precision.policy import POLICIES, Policy
from ascend_attention.precision.report import CallReport, Position, TensorReport

__all__ = [
    "POLICIES",
    "CallReport",
    "Policy",
    "Position",
    "TensorReport",
    "compare",
    "compare_fused_infer_attention_score_v2",
    "compare_prompt_flash_attention",
]
