# SPDX-License-Identifier: Apache-2.0
"""TBufPool, queues of depth 0, temporary data in a workspace."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import errors, launch, only_error, output, scratch

MODES = ["fast", "checked"]


def arguments(which: int) -> list:
    x = np.arange(128, dtype=np.float32)
    return [x, output(np.zeros(128, np.float32)), scratch(np.zeros(128, np.float32), "workspace"), which]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("which", [1, 3, 4, 5, 10], ids=["shared", "nested", "own", "depth_zero", "spm"])
def test_doubled(which: int, mode: str) -> None:
    args = arguments(which)
    assert launch("buffer_pools", "vector", args, mode=mode)["findings"] == []
    np.testing.assert_array_equal(args[1]["data"], 2 * args[0])


def test_pools_over_the_same_bytes_need_a_reset() -> None:
    found = errors("buffer_pools", "vector", arguments(2))
    assert {entry["kind"] for entry in found} == {"race"}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("which", "words"),
    [
        (11, "InitSpmBuffer is missing"),
        (12, "the offset lies outside the buffer of InitSpmBuffer"),
        (20, "exceed the memory of their position"),
        (21, "exceed its part of the memory"),
        (22, "nor longer than the pool whose memory it shares"),
        (23, "exceed its part of the memory"),
        (24, "no room for more buffers"),
        (25, "a queue needs at least one buffer"),
        (26, "a buffer needs at least one byte"),
    ],
)
def test_refused(which: int, words: str, mode: str) -> None:
    found = only_error("buffer_pools", "vector", arguments(which), mode=mode)
    assert found["kind"] == "parameter" and words in found["text"] and "buffer_pools.cpp:" in found["text"]
