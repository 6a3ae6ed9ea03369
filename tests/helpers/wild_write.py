# SPDX-License-Identifier: Apache-2.0
"""Launches the kernel that a sanitizer must end: ``heap`` writes past a buffer, ``overflow`` overflows an integer."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from ascend_attention import _core

libraries = Path(os.environ["ASCEND_ATTENTION_TEST_KERNELS"])
cube, vector = (str(libraries / f"libascend_attention_test_kernels_{core}.so") for core in ("cube", "vector"))
y = np.zeros(1000, np.int32)
count, overflow = {"heap": (y.size, 0), "overflow": (2**31 - 1, 2)}[sys.argv[1]]
argument = {"data": y, "name": "y", "writable": True}
_core.sim.launch(cube, vector, "wild_write", "vector", 1, [argument, count, overflow], mode="fast")
print("nothing noticed")
