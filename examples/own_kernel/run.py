# SPDX-License-Identifier: Apache-2.0
"""Compiles add.cpp, runs it on the simulated NPU and compares with NumPy."""

from pathlib import Path

import numpy as np

from ascend_attention import sim

kernel = sim.compile(Path(__file__).parent / "add.cpp")

rng = np.random.default_rng(0)
x, y = rng.standard_normal((2, 8 * 4 * 256)).astype(np.float16)
z = np.empty_like(x)
result = kernel(x, y, sim.Out(z), 4, blocks=8, mode="checked")

assert np.array_equal(z, x + y)
print(result.report)
