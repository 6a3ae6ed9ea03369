# SPDX-License-Identifier: Apache-2.0
"""What the engine promises beyond right results: what it does not load, what a row's bits depend on, how far it can
address."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from helpers.doors import same_bits, through_numpy, through_torch, through_torch_out
from helpers.engine_runs import run, run_and_judge
from helpers.engine_sync import ROOT
from helpers.fia_cases import FiaCase

import ascend_attention
from ascend_attention._settings import at_most_cores, synchronisation
from ascend_attention.precision import compare_fused_infer_attention_score_v2

# One case for each way through the engine; all have several sequences. In all but the first, keys are split between
# cores.
WAYS = {
    "prefill": FiaCase("prefill", "BSND", batch=2, num_query_heads=4, num_key_value_heads=2, query_length=260,
                       key_length=700, head_dim=48, sparse_mode=3, mask_shape="SS"),
    "one row": FiaCase("one row", "BSH", batch=3, num_query_heads=4, num_key_value_heads=1, query_length=1,
                       key_length=6000, head_dim=32, actual_seq_kvlen=(6000, 700, 1)),
    # Keys of neighbouring heads share lines: with 20 or 24 cores each head has its own.
    "heads apart": FiaCase("heads apart", "BSH", "bfloat16", batch=3, num_query_heads=8, num_key_value_heads=2,
                           query_length=1, key_length=6000, head_dim=32, actual_seq_kvlen=(6000, 700, 2)),
    "few rows": FiaCase("few rows", "BNSD", "bfloat16", batch=2, num_query_heads=2, query_length=5, head_dim=32,
                        sparse_mode=3, mask_shape="SS", actual_seq_kvlen=(5999, 3200), storage="BNBD"),
    "packed": FiaCase("packed", "TND", "bfloat16", num_query_heads=4, num_key_value_heads=1, head_dim=128,
                      actual_seq_qlen=(1, 33, 1), actual_seq_kvlen=(3500, 70, 300), sparse_mode=3, mask_shape="SS",
                      sink=True),
    "latent": FiaCase("latent", "BSND", "bfloat16", batch=2, num_query_heads=16, num_key_value_heads=1, query_length=2,
                      head_dim=512, rope_dim=64, sparse_mode=3, mask_shape="SS", actual_seq_kvlen=(4000, 300),
                      storage="NZ", value_is_key=True, return_softmax_lse=False),
    "wide": FiaCase("wide", "BNSD", batch=2, num_query_heads=2, num_key_value_heads=1, query_length=1, head_dim=320,
                    key_length=5000, actual_seq_kvlen=(5000, 40)),
}  # fmt: skip


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> FiaCase:
    return WAYS[request.param]


def test_results_are_right_on_any_number_of_cores(way: FiaCase) -> None:
    """20, 24 and 1 cores, and a number that divides nothing."""
    blocks = {}
    for soc, cores in (("Ascend910B4", 0), ("Ascend910B2", 0), ("Ascend910B2", 1), ("Ascend910B2", 7)):
        with synchronisation(soc, "fast", record=True) as block, at_most_cores(cores):
            results = through_numpy(way.arguments())
        report = block.reports()[0]
        merged = any(call["file"].endswith("combine_stage.h") and call["count"] for call in report["sync_calls"])
        assert merged == (way.name != "prefill" and cores != 1)
        blocks[soc, cores] = report["blocks"]
        verdict = compare_fused_infer_attention_score_v2(results, **way.arguments())
        assert verdict.passed, verdict.table()
    assert blocks["Ascend910B2", 1] == 1 < blocks["Ascend910B2", 7] <= 7 < blocks["Ascend910B2", 0], blocks


def test_parts_of_wide_heads_lie_anywhere_in_the_ring() -> None:
    """Which slots of scores a core's last step has, and so what its part overwrites, is its number modulo three. The
    last row tile may be the first key tile of the core as well: before it the vector cores had other rows."""
    for keys, cores in itertools.product((520, 1100, 1536, 2100, 2700), (2, 3)):
        latent = FiaCase("latent", "BSND", "bfloat16", num_query_heads=16, num_key_value_heads=1, query_length=1,
                         head_dim=512, rope_dim=64, actual_seq_kvlen=(keys,), storage="NZ", value_is_key=True,
                         return_softmax_lse=False)  # fmt: skip
        run_and_judge(latent, cores=cores)
    for keys, cores in itertools.product((700, 1024), (3, 5, 7)):
        run_and_judge(FiaCase("wide", num_query_heads=2, query_length=130, key_length=keys, head_dim=320), cores=cores)


@pytest.fixture
def torch_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("torch_threads")
def test_same_bits_in_every_mode_and_with_any_number_of_host_threads(way: FiaCase) -> None:
    arguments = way.arguments()
    results = {}
    for mode in ("fast", "checked", "timed"):
        with ascend_attention.simulator(mode=mode):
            results[mode, 0] = through_numpy(arguments)
    for threads in (1, 2, 5):
        torch.set_num_threads(threads)  # the doors for tensors run the machine on as many
        with ascend_attention.simulator():
            results["fast", threads] = through_torch(arguments)
    first = results["fast", 0]
    for which, result in results.items():
        assert all(same_bits(a, b) for a, b in zip(result, first, strict=True)), which


def test_the_callers_tensors_and_workspace_may_hold_anything_before(way: FiaCase) -> None:
    arguments = way.arguments()
    with ascend_attention.simulator(mode="fast"):
        given, own = through_torch_out(arguments), through_numpy(arguments)
    asked = slice(None if way.return_softmax_lse else 1)  # softmax_lse is not written where it is not asked for
    assert all(same_bits(a, b) for a, b in zip(given[asked], own[asked], strict=True))


def _spans(lengths: list[int]) -> list[slice]:
    ends = np.cumsum(lengths).tolist()
    return [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]


def _of_sequence(axes: str, sequence: int, lengths: list[int]) -> tuple[Any, ...]:
    """The index of a sequence in a tensor of these axes."""
    if "T" in axes:
        return (*[slice(None)] * axes.index("T"), _spans(lengths)[sequence])
    return (*[slice(None)] * axes.index("B"), sequence)


def _only(array: np.ndarray, kept: tuple[Any, ...]) -> np.ndarray:
    """The same in one part, not a number in all others."""
    lonely = np.full_like(array, np.nan)
    lonely[kept] = array[kept]
    return lonely


def lonely(case: FiaCase, arguments: dict[str, Any], sequence: int) -> dict[str, Any]:
    """The same call, but query, key and value of all other sequences are not numbers."""
    axes = case.input_layout.split("_")[0]
    changed = dict(arguments)
    for name in ("query", "query_rope"):
        if name in arguments:
            changed[name] = _only(arguments[name], _of_sequence(axes, sequence, case.query_lengths()))
    for name in {"key", "value", "key_rope"} & arguments.keys():
        if case.paged:
            blocks = -(-case.key_lengths()[sequence] // case.block_size)
            changed[name] = _only(arguments[name], (arguments["block_table"][sequence, :blocks],))
        elif case.storage == "list":
            changed[name] = [x if b == sequence else np.full_like(x, np.nan) for b, x in enumerate(arguments[name])]
        else:
            changed[name] = _only(arguments[name], _of_sequence(axes, sequence, case.key_lengths()))
    if case.value_is_key:
        changed["value"] = changed["key"]
    return changed


def test_neighbours_in_the_batch_have_no_influence(way: FiaCase) -> None:
    """Same shapes, same split: a sequence's bits stay, whatever the numbers of the others."""
    _, _, arguments = run(way, "fast")
    output_axes = way.input_layout.split("_")[-1]
    with ascend_attention.simulator(mode="fast"):
        together = through_numpy(arguments)
        for sequence in range(way.sequences):
            alone = through_numpy(lonely(way, arguments, sequence))
            for axes, a, b in zip((output_axes, "TN" if way.packed else "BNS"), together, alone, strict=True):
                if a.shape == (1,):
                    continue  # no softmax_lse
                place = _of_sequence(axes, sequence, way.query_lengths())
                assert np.isfinite(a[place].astype(np.float32)).all()
                assert same_bits(np.ascontiguousarray(a[place]), np.ascontiguousarray(b[place])), (sequence, axes)


# Hidden stretches before and behind what is seen: (case, the same with less hidden).
BAND = FiaCase("band", num_query_heads=2, query_length=200, key_length=4000, head_dim=32, sparse_mode=4,
               mask_shape="SS", pre_tokens=100, next_tokens=0)  # fmt: skip
HIDDEN = {
    "before a band": (BAND, 1024),
    "behind a band": (dataclasses.replace(BAND, next_tokens=-2500, pre_tokens=2700), 1024),
    "behind a causal edge": (dataclasses.replace(BAND, sparse_mode=2), 1024),
    "before a window of few rows": (dataclasses.replace(BAND, query_length=4), 1024),
    "before a window of packed rows": (
        dataclasses.replace(BAND, input_layout="TND", dtype="bfloat16", head_dim=128, actual_seq_qlen=(1, 3, 1),
                            actual_seq_kvlen=(4000, 2400, 3000)), 1024),
}  # fmt: skip


def _loads(case: FiaCase) -> dict[str, int]:
    report = run(case, "fast")[1].launches[0]
    counts = {pipe: int(report.instructions[pipe]) for pipe in ("MTE2", "M", "FIX")}
    return counts | {"bytes": report.global_bytes_read}


def _shorter(case: FiaCase, keys: int) -> FiaCase:
    lengths = case.actual_seq_kvlen and tuple(length - keys for length in case.actual_seq_kvlen)
    return dataclasses.replace(case, key_length=case.key_length - keys, actual_seq_kvlen=lengths)


@pytest.mark.parametrize("name", HIDDEN)
def test_hidden_keys_are_neither_loaded_nor_computed(name: str) -> None:
    """As many loads, products and bytes as of a call that does not have most of the hidden keys; all keys cost more."""
    case, keys = HIDDEN[name]
    long, short = _loads(case), _loads(_shorter(case, keys))
    everything = _loads(dataclasses.replace(case, sparse_mode=0, mask_shape=None))
    print(long, short, everything)
    for what, count in long.items():
        assert count <= 1.02 * short[what] + 8, what
        assert count < 0.5 * everything[what], what
    run_and_judge(case, "checked")


LATENT_ROWS = FiaCase("rows", "BSND", "bfloat16", batch=2, num_query_heads=16, num_key_value_heads=1, query_length=3,
                      head_dim=512, rope_dim=64, actual_seq_kvlen=(300, 40), storage="BBH", value_is_key=True,
                      return_softmax_lse=False, sparse_mode=3, mask_shape="SS")  # fmt: skip


@pytest.mark.parametrize("layouts", ["BNSD_BSND", "BSND_NBSD", "BNSD_NBSD", "BSH_NBSD", "TND_NTD"])
def test_an_output_layout_is_where_the_stores_go(layouts: str) -> None:
    """One launch that computes, loads and writes as much as with the output in the layout of query: no transpose."""
    case = LATENT_ROWS
    if layouts == "BNSD_BSND":
        case = FiaCase("rows", batch=2, num_query_heads=4, num_key_value_heads=2, query_length=150, key_length=300,
                       head_dim=48)  # fmt: skip
    lengths = (3, 3) if layouts == "TND_NTD" else None
    (one,), (other,) = (
        run(dataclasses.replace(case, input_layout=layout, actual_seq_qlen=lengths), "fast")[1].launches
        for layout in (layouts.split("_")[0], layouts)
    )
    for pipe in ("V", "M", "MTE1", "MTE2", "FIX"):
        assert one.instructions[pipe] == other.instructions[pipe]
    assert (one.global_bytes_read, one.global_bytes_written) == (other.global_bytes_read, other.global_bytes_written)


def _read_from_hbm(case: FiaCase) -> int:
    timing = run(case, "timed")[1].to_dict()["launches"][0]["timing"]
    return int(timing["middle"]["hbm_read"])


def test_the_latent_is_read_from_hbm_once() -> None:
    """K of MLA is V too: what PV takes of it comes from L2 (modelled). A V of its own has to come from HBM."""
    case = FiaCase("latent", "BSND", "bfloat16", batch=4, num_query_heads=128, num_key_value_heads=1, query_length=1,
                   head_dim=512, rope_dim=64, actual_seq_kvlen=(1024,) * 4, storage="NZ", value_is_key=True,
                   return_softmax_lse=False)  # fmt: skip
    tokens, rows = 4 * 1024, 4 * 128
    expected = 2 * (tokens + rows) * (512 + 64)
    assert expected <= _read_from_hbm(case) < 1.03 * expected
    apart = _read_from_hbm(dataclasses.replace(case, value_is_key=False))
    assert apart - expected >= 2 * tokens * 512


def test_few_kernels_are_compiled() -> None:
    """32 at most, with room for those of quantised calls."""
    variants = sorted(path.stem for path in (ROOT / "op_kernel" / "variants").glob("*.cpp"))
    print(f"{len(variants)} compiled kernels: {', '.join(variants)}")
    assert 0 < len(variants) <= 16
