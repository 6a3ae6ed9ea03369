# SPDX-License-Identifier: Apache-2.0
"""Kernels that more than one test of this room runs, compiled once."""

from __future__ import annotations

import pytest
from helpers.timed_runs import STREAM_ADD

from ascend_attention import sim


@pytest.fixture(scope="session")
def stream_add() -> sim.Kernel:
    return sim.compile(STREAM_ADD)
