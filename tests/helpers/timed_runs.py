# SPDX-License-Identifier: Apache-2.0
"""What the tests of traces look at: a small attention and a small vector addition, timed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ascend_attention
from ascend_attention import SimulatorRun, sim

KERNELS = Path(__file__).resolve().parents[1] / "timing" / "kernels"
STREAM_ADD = KERNELS / "stream_add.cpp"
TILE = 4096  # elements that the addition takes at a time


def attention(heads: int = 2, length: int = 256, mode: str = "timed", launches: int = 1) -> SimulatorRun:
    random = np.random.default_rng(1)
    query, key, value = (random.standard_normal((1, heads, length, 64)).astype(np.float16) for _ in range(3))
    with ascend_attention.simulator(mode=mode) as run:
        for _ in range(launches):
            ascend_attention.npu_fused_infer_attention_score_v2(
                query, key, value, num_query_heads=heads, softmax_scale=0.125, input_layout="BNSD"
            )
    return run


def add(kernel: sim.Kernel, tiles: int = 3, buffers: int = 1, **settings: object) -> sim.Result:
    """Two blocks, each of so many tiles; ``kernel`` is STREAM_ADD, compiled."""
    source = np.ones(2 * tiles * TILE, np.float16)
    return kernel(source, source, sim.Out(np.empty_like(source)), tiles, TILE, buffers, blocks=2, **settings)


def check_refused(
    call: Callable[..., object],
    arguments: dict[str, object],
    error: type[Exception],
    text: str,
    folder: Path,
) -> None:
    """Nothing may be left in the (empty) working directory."""
    with pytest.raises(error, match=text):
        call(**arguments)
    assert list(folder.iterdir()) == []
