# SPDX-License-Identifier: Apache-2.0
"""Attention kernels for Huawei Atlas A2/A3 NPUs behind the calls that their users already make.

On CPU tensors and NumPy arrays the same device code runs on a simulated NPU.

    npu_fused_infer_attention_score_v2, npu_prompt_flash_attention, block_sparse_attention_v2
    npu_block_sparse_attention           the operators; the last is block_sparse_attention_v2 by torch_npu's signature
    check, explain                       what a call would be refused for, and what it means, without running it
    simulator, contract                  where and by which rules calls run
    AttentionError, AttentionNotSupported, SimulatorError
    sim                                  your own Ascend C kernels
    plot_mask                            what a mask lets rows see, to look at
    golden, precision                    what the result should be, and how close a result is
    torch.ops.ascend_attention           the same as torch operators (see torch_ops)

Importing the package loads neither torch nor the compiled parts; using a name does, so golden and precision work alone.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from ascend_attention._torch_lazy import offer_operators

if TYPE_CHECKING:
    from ascend_attention import golden, precision, sim, torch_ops
    from ascend_attention._block_sparse_attention_v2 import block_sparse_attention_v2, npu_block_sparse_attention
    from ascend_attention._core import SimulatorError
    from ascend_attention._errors import AttentionError, AttentionNotSupported
    from ascend_attention._fused_infer_attention_score_v2 import npu_fused_infer_attention_score_v2
    from ascend_attention._operators import check, explain
    from ascend_attention._prompt_flash_attention import npu_prompt_flash_attention
    from ascend_attention._report import Report
    from ascend_attention._settings import SimulatorRun, contract, simulator
    from ascend_attention.mask_plot import plot_mask

__version__ = "0.1.0"

__all__ = [
    "AttentionError",
    "AttentionNotSupported",
    "Report",
    "SimulatorError",
    "SimulatorRun",
    "block_sparse_attention_v2",
    "check",
    "contract",
    "explain",
    "golden",
    "npu_block_sparse_attention",
    "npu_fused_infer_attention_score_v2",
    "npu_prompt_flash_attention",
    "plot_mask",
    "precision",
    "sim",
    "simulator",
    "torch_ops",
]

_HOME = {
    "AttentionError": "_errors",
    "AttentionNotSupported": "_errors",
    "Report": "_report",
    "SimulatorError": "_core",
    "SimulatorRun": "_settings",
    "block_sparse_attention_v2": "_block_sparse_attention_v2",
    "check": "_operators",
    "contract": "_settings",
    "explain": "_operators",
    "npu_block_sparse_attention": "_block_sparse_attention_v2",
    "npu_fused_infer_attention_score_v2": "_fused_infer_attention_score_v2",
    "npu_prompt_flash_attention": "_prompt_flash_attention",
    "plot_mask": "mask_plot",
    "simulator": "_settings",
}
_SUBMODULES = ("golden", "precision", "sim", "torch_ops")

offer_operators()


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _HOME:
        from ascend_attention._other_names import no_attribute

        raise AttributeError(no_attribute(__name__, name, __all__))
    value = getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
