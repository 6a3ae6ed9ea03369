# SPDX-License-Identifier: Apache-2.0
"""The prefill kernels, run by the simulator in checked mode and judged against the golden model.

Checked mode makes every case a test of more than its numbers: a race, an undefined value that reaches the output or an
access outside a buffer ends the launch with a SimulatorError.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from helpers.doors import same_bits, through_numpy, through_torch
from helpers.engine_runs import run_and_judge
from helpers.fia_cases import FiaCase
from helpers.fia_edges import edge_cases
from helpers.fia_random import random_case

import ascend_attention

CHECKED_WORK = 2**23


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


def loads_of(case: FiaCase) -> int:
    """MTE2 instructions of a run."""
    with ascend_attention.simulator() as run:
        ascend_attention.npu_fused_infer_attention_score_v2(**case.arguments())
    return int(run.report.launches[0].instructions["MTE2"])


def test_rows_further_apart_than_nd2nz_can_step() -> None:
    """256 heads of 256 channels: token rows 65536 elements apart, one more than srcDValue can say."""
    far = FiaCase("far", "BSND", num_query_heads=256, query_length=3, key_length=5, head_dim=256)
    near = dataclasses.replace(far, num_query_heads=255)
    run_and_judge(near, "checked")
    run_and_judge(far, "checked")
    # Per head 3 rows of query, 5 of key and 5 of value, each an instruction of its own instead of one for all.
    assert loads_of(far) - loads_of(near) >= 256 * (3 + 5 + 5) - 255 * 3


def test_more_sequences_than_cores() -> None:
    """A core walks from one sequence to the next, empty and shorter ones included."""
    lengths = tuple(1 + i % 3 for i in range(70))
    case = FiaCase(
        "many", "BSND", batch=70, num_query_heads=2, num_key_value_heads=1, query_length=3, key_length=20, head_dim=16,
        actual_seq_qlen=lengths, actual_seq_kvlen=tuple(i % 21 for i in range(70)), sparse_mode=3, mask_shape="SS",
    )  # fmt: skip
    for soc in ("Ascend910B2", "Ascend910B4"):
        with ascend_attention.simulator(soc=soc) as run:
            ascend_attention.npu_fused_infer_attention_score_v2(**case.arguments())
        assert run.report.launches[0].blocks < case.batch
    run_and_judge(case, "checked")


@pytest.fixture
def torch_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("torch_threads")
def test_results_do_not_depend_on_cores_threads_or_mode() -> None:
    """A row tile that is not split between cores is computed in a fixed order: the bits are the same on any SoC, with
    any number of host threads and in any mode. Where tiles are split, they are the same on one SoC."""
    whole = dataclasses.replace(LONG, head_dim=64, batch=8).arguments()
    split = dataclasses.replace(LONG, head_dim=64, batch=2).arguments()
    for arguments, socs in ((whole, ("Ascend910B2", "Ascend910B4")), (split, ("Ascend910B2",))):
        results = {}
        for soc, mode in [(soc, "fast") for soc in socs] + [("Ascend910B2", "checked")]:
            with ascend_attention.simulator(soc=soc, mode=mode):
                results[soc, mode, 0] = through_numpy(arguments)
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)  # the doors for tensors run the machine on as many
            with ascend_attention.simulator():
                results["Ascend910B2", "fast", threads] = through_torch(arguments)
        first = results["Ascend910B2", "fast", 0]
        for run, result in results.items():
            assert all(same_bits(a, b) for a, b in zip(result, first, strict=True)), run
