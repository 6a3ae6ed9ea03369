# SPDX-License-Identifier: Apache-2.0
"""Where threads cannot be had, a call runs on those it got; it never takes the process down."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

# Root is not subject to the limit on processes, so the program gives root up after everything is loaded.
PROGRAM = """
import os, resource
import numpy as np, torch
import ascend_attention
torch.set_num_threads(8)
query = torch.randn(2, 8, 64, 32).half()
call = dict(num_query_heads=8, input_layout="BNSD", softmax_scale=0.1)
expected, _ = ascend_attention.npu_fused_infer_attention_score_v2(query, query, query, **call)
os.setuid(65534)
used = len(os.listdir("/proc/self/task")) + int(os.environ["SPARE"])
resource.setrlimit(resource.RLIMIT_NPROC, (used, used))
actual, _ = ascend_attention.npu_fused_infer_attention_score_v2(query, query, query, **call)
assert torch.equal(actual, expected)
print("ran")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become a user without other processes")
@pytest.mark.parametrize("spare", [0, 2])
def test_fewer_threads_than_asked_for(spare: int) -> None:
    environment = dict(os.environ, SPARE=str(spare))
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == ["ran"]
