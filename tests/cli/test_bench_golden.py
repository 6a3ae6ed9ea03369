# SPDX-License-Identifier: Apache-2.0
"""scripts/bench_golden: that it compares like with like."""

from __future__ import annotations

import numpy as np

from ascend_attention.cli import bench_golden
from ascend_attention.golden import fused_infer_attention_score_v2


def test_both_compute_the_same() -> None:
    rng = np.random.default_rng(1)
    query, key, value = (rng.standard_normal((1, 8, 20, 128)).astype(np.float16) for _ in range(3))
    out, _ = fused_infer_attention_score_v2(
        query, key, value, num_query_heads=8, input_layout="BNSD", softmax_scale=0.1
    )
    expected = bench_golden.einsum_attention([query, key, value], 0.1, "float64")
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-13)


def test_table() -> None:
    row = {"seconds": 2.0, "cpu": 1.0, "mib": 3.0}
    text = bench_golden.table(dict.fromkeys(bench_golden.CONTENDERS, row) | {"exact": row | {"cpu": 0.25}})
    line = next(line for line in text.splitlines() if "exact" in line)
    assert line.split()[-4:] == ["0.25", "0.25", "3", "MiB"]
    assert set(bench_golden.measure("device", 8, 1)) == {"seconds", "cpu", "mib"}
