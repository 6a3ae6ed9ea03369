# SPDX-License-Identifier: Apache-2.0
"""Cases of npu_prompt_flash_attention without int8: the fields of a FiaCase, called by that operator's names.

out = ascend_attention.npu_prompt_flash_attention(**PromptCase("mine", num_query_heads=4).arguments())
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from helpers.fia_cases import FiaCase

# Of the document. Arguments that have these values, or None, are left out of the call.
DEFAULTS = {
    "num_heads": 1,
    "scale_value": 1.0,
    "pre_tokens": 2147483647,
    "next_tokens": 0,
    "input_layout": "BSH",
    "num_key_value_heads": 0,
    "sparse_mode": 0,
}
_NAMES = {
    "num_query_heads": "num_heads",
    "softmax_scale": "scale_value",
    "actual_seq_qlen": "actual_seq_lengths",
    "actual_seq_kvlen": "actual_seq_lengths_kv",
}
_NOT_HERE = ("inner_precise", "return_softmax_lse")


@dataclass(frozen=True)
class PromptCase(FiaCase):
    """One call. What only the fused operator has (rope, caches, lists, a sink) is left at its default."""

    operator: ClassVar[str] = "npu_prompt_flash_attention"

    next_tokens: int = 0
    return_softmax_lse: bool = False

    @property
    def one_row(self) -> bool:
        """A query of one row is like any other."""
        return False

    def arguments(self, bfloat16: str = "ml_dtypes") -> dict[str, Any]:
        named = {_NAMES.get(name, name): given for name, given in super().arguments(bfloat16).items()}
        return {name: given for name, given in named.items() if name not in _NOT_HERE and not _is_default(name, given)}


def _is_default(name: str, given: Any) -> bool:
    return given is None or (isinstance(given, (int, float, str)) and given == DEFAULTS[name])
