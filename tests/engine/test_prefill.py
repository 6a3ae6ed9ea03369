# SPDX-License-Identifier: Apache-2.0
"""The prefill kernels, run by the simulator in checked mode and judged against the golden model.

Checked mode makes every case a test of more than its numbers: a race, an undefined value that reaches the output or an
access outside a buffer ends the launch with a SimulatorError.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from helpers.fia_cases import FiaCase, random_case
from helpers.fia_edges import edge_cases

import ascend_attention
from ascend_attention.precision import compare_fused_infer_attention_score_v2

CHECKED_WORK = 2**23


def run_and_judge(case: FiaCase, mode: str) -> None:
    print(case)
    arguments = case.arguments()
    with ascend_attention.simulator(mode=mode) as run:
        result = ascend_attention.npu_fused_infer_attention_score_v2(**arguments)
    assert not run.report.findings, run.report.findings
    report = compare_fused_infer_attention_score_v2(result, **arguments)
    assert report.passed, f"{case}\n{report.table()}"


@pytest.mark.parametrize("case", edge_cases(), ids=lambda case: case.name)
def test_edge_cases(case: FiaCase) -> None:
    run_and_judge(case, "checked")


def test_random_cases_checked(sample_rng: np.random.Generator) -> None:
    run_and_judge(random_case(sample_rng, max_work=CHECKED_WORK), "checked")


def test_random_cases_fast(sample_rng: np.random.Generator) -> None:
    run_and_judge(random_case(sample_rng, max_work=2**27, max_key_length=3000, max_query_length=700), "fast")


# Several key tiles and several row tiles for each dtype, where the ring of slots wraps around.
LONG = FiaCase(
    name="long",
    num_query_heads=2,
    query_length=260,
    key_length=2300,
    head_dim=32,
    sparse_mode=3,
    mask_shape="SS",
)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("head_dim", [16, 80, 128, 144, 256])
def test_many_tiles_checked(dtype: str, head_dim: int) -> None:
    run_and_judge(dataclasses.replace(LONG, dtype=dtype, head_dim=head_dim), "checked")


def test_results_do_not_depend_on_cores_threads_or_mode() -> None:
    """One query row is computed by one core in a fixed order: the bits are the same on any SoC and in any mode."""
    arguments = dataclasses.replace(LONG, head_dim=64, batch=2).arguments()
    results = []
    for soc, mode in (("Ascend910B2", "fast"), ("Ascend910B4", "fast"), ("Ascend910B2", "checked")):
        with ascend_attention.simulator(soc=soc, mode=mode):
            results.append(ascend_attention.npu_fused_infer_attention_score_v2(**arguments))
    for out, lse in results[1:]:
        np.testing.assert_array_equal(out, results[0][0])
        np.testing.assert_array_equal(lse, results[0][1])
