# SPDX-License-Identifier: Apache-2.0
"""Your own Ascend C kernel on the simulated NPU, from Python. Needs a C++ compiler, not torch.

    from ascend_attention import sim

    kernel = sim.compile("add.cpp", entry="add_custom")
    result = kernel(x, y, sim.Out(np.empty_like(x)), blocks=8, mode="checked")
    result.outputs, result.findings, result.report, result.printed

docs/kernels.md has a complete example, and how to use a debugger.
"""

from __future__ import annotations

from ascend_attention._core import SimulatorError
from ascend_attention._report import Finding, Report
from ascend_attention.sim._arguments import InOut, Out, Workspace
from ascend_attention.sim._cache import CacheError, cache_directory
from ascend_attention.sim._compile import compile
from ascend_attention.sim._compiler import CompilerNotFoundError
from ascend_attention.sim._diagnostics import CompileError, CompilerMessage
from ascend_attention.sim._kernel import Kernel, Result
from ascend_attention.sim._signature import Parameter

__all__ = [
    "CacheError",
    "CompileError",
    "CompilerMessage",
    "CompilerNotFoundError",
    "Finding",
    "InOut",
    "Kernel",
    "Out",
    "Parameter",
    "Report",
    "Result",
    "SimulatorError",
    "Workspace",
    "cache_directory",
    "compile",
]
