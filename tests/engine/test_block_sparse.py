# SPDX-License-Identifier: Apache-2.0
"""Block-sparse attention on the kernels: conformance cases and draws in checked mode, and what is promised beside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from helpers.bsa_cases import BsaCase, draw_case, run, run_and_judge, variant
from helpers.doors import same_bits, to_torch
from helpers.fia_case_file import read_cases

import ascend_attention
from ascend_attention import golden
from ascend_attention.precision import compare

CONFORMANCE = Path(__file__).resolve().parents[1] / "conformance" / "bsa_kernel"
CASES = [case for path in sorted(CONFORMANCE.glob("*.txt")) for case in read_cases(path, BsaCase)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance(case: BsaCase) -> None:
    run_and_judge(case)


@pytest.mark.samples(40, full=4000)
def test_draws(sample_rng: np.random.Generator) -> None:
    run_and_judge(draw_case(sample_rng), cores=int(sample_rng.integers(0, 25)))


def bytes_read(case: BsaCase, selected: list[int]) -> int:
    """From global memory, by one row tile whose row of the map selects these blocks."""
    arguments = case.arguments(False)
    arguments["block_sparse_mask"] = np.zeros((1, 1, 1, case.key_length // 128), np.int8)
    arguments["block_sparse_mask"][..., selected] = 1
    with ascend_attention.simulator() as run:
        ascend_attention.block_sparse_attention_v2(**arguments)
    return int(run.report.launches[0].global_bytes_read)


def test_only_selected_blocks_are_loaded() -> None:
    long = BsaCase("long", query_length=16, key_length=64 * 128)
    three, four = bytes_read(long, [1, 20, 21]), bytes_read(long, [1, 20, 21, 60])
    keys, scores = 128 * 64 * 2, 16 * 128
    assert four - three == 2 * keys + scores * 4 + scores * 2  # K and V; the vector cores' S, the cube core's P
    # Forty-seven blocks more that nobody selects: the map's bytes alone.
    short = variant(long, name="short", key_length=17 * 128)
    assert 0 < four - bytes_read(short, [1, 3, 4, 7]) < 256


def test_a_row_of_the_map_may_be_longer_than_the_core_has_room_for() -> None:
    blocks, chosen = 16385, [3, 9000, 16383, 16384]  # 16384 fit; the last block is a short one
    rng = np.random.default_rng(0)
    short = 128 * len(chosen) - 60
    few = [rng.standard_normal((1, 1, short, 64)).astype(np.float16) for _ in range(2)]
    arguments = {
        "query": rng.standard_normal((1, 2, 300, 64)).astype(np.float16),
        "num_key_value_heads": 1,
        "q_input_layout": "BNSD",
        "kv_input_layout": "BNSD",
        "scale_value": 0.125,
        "softmax_lse_flag": 1,
    }
    many = [np.zeros((1, 1, blocks * 128 - 60, 64), np.float16) for _ in range(2)]  # memory only where it is written
    long_map = np.zeros((1, 2, 3, blocks), np.int8)
    short_map = np.zeros((1, 2, 3, len(chosen)), np.int8)
    for i, block in enumerate(chosen):
        for few_keys, many_keys in zip(few, many, strict=True):
            part = few_keys[:, :, i * 128 : i * 128 + 128]
            many_keys[:, :, block * 128 : block * 128 + part.shape[2]] = part
        short_map[..., i] = long_map[..., block] = rng.integers(0, 2, (1, 2, 3))
    with ascend_attention.simulator(mode="checked"):
        result = ascend_attention.block_sparse_attention_v2(
            key=many[0], value=many[1], block_sparse_mask=long_map, **arguments
        )
    exact, peer = (
        golden.block_sparse_attention_v2(
            key=few[0], value=few[1], block_sparse_mask=short_map, **arguments, dtype_flow=flow
        )
        for flow in ("exact", "device")
    )
    blind = np.broadcast_to(np.isposinf(exact[1]), exact[0].shape)
    assert not compare(result[0], exact[0], peer[0], must_be_zero=blind).reasons
    assert not compare(result[1], exact[1], peer[1], name="softmax_lse").reasons


def test_neighbours_that_agree_share_loads() -> None:
    pair = BsaCase("pair", query_length=256, key_length=1024, pattern="all", heads=40)
    half = variant(pair, name="half", pattern="random", density=0.5)
    shared, alone = (run(case, "fast")[1].launches[0].global_bytes_read for case in (pair, half))
    # Half the pairs of rows and keys, in products and loads alike; the loads of K and V are those of whole pairs.
    assert 0.5 < alone / shared < 0.72


def test_results_do_not_depend_on_cores_threads_or_mode() -> None:
    case = BsaCase("same", "TND", heads=3, lengths=(300, 1, 77), key_lengths=(600, 130, 0), block_x=48, density=0.4)
    arguments = {name: to_torch(value) for name, value in case.arguments().items()}
    results = [run(case, mode, soc, cores)[0] for mode, soc, cores in
               (("fast", "Ascend910B2", 0), ("fast", "Ascend910B4", 0), ("fast", "Ascend910B2", 5),
                ("checked", "Ascend910B2", 1))]  # fmt: skip
    before = torch.get_num_threads()
    try:
        for threads in (1, 3):
            torch.set_num_threads(threads)  # the doors for tensors run the machine on as many
            results.append([x.numpy() for x in ascend_attention.block_sparse_attention_v2(**arguments)])
    finally:
        torch.set_num_threads(before)
    for result in results[1:]:
        assert all(same_bits(a, b) for a, b in zip(result, results[0], strict=True))
