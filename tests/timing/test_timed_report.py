# SPDX-License-Identifier: Apache-2.0
"""The report of timed mode: what it holds, that its figures agree with each other, and what chooses the costs."""

from __future__ import annotations

import dataclasses
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from timing import sample_report

import ascend_attention
from ascend_attention import _core, sim
from ascend_attention._report import Report
from ascend_attention._timing import Timing, in_bytes

KERNELS = Path(__file__).resolve().parent / "kernels"
PIPES = ("S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX")


def attention(costs: str = "measured", soc: str = "Ascend910B2", heads: int = 2) -> Report:
    random = np.random.default_rng(1)
    query, key, value = (random.standard_normal((1, heads, 256, 64)).astype(np.float16) for _ in range(3))
    with ascend_attention.simulator(soc=soc, mode="timed", costs=costs) as run:
        ascend_attention.npu_fused_infer_attention_score_v2(
            query, key, value, num_query_heads=heads, softmax_scale=0.125, input_layout="BNSD"
        )
    return run.report


@pytest.fixture(scope="module")
def report() -> Report:
    return attention()


@pytest.fixture(scope="module")
def timing(report: Report) -> Timing:
    assert report.timing is not None
    return report.timing


@pytest.fixture(scope="module")
def add() -> sim.Kernel:
    return sim.compile(KERNELS / "stream_add.cpp", debug=False)


def run_add(add: sim.Kernel, tiles: int, **settings: object) -> Timing:
    source = np.ones(2 * tiles * 4096, np.float16)
    result = add(source, source, sim.Out(np.empty_like(source)), tiles, 4096, 1, blocks=2, mode="timed", **settings)
    assert result.report.timing is not None
    return result.report.timing


def test_totals(timing: Timing) -> None:
    assert timing.costs == "measured" and timing.clock_hz == 1.8e9
    for guess in (timing.low, timing.middle, timing.high):
        assert guess.cycles > 0 and guess.head_microseconds > 0
        assert guess.microseconds == pytest.approx(guess.cycles / 1800)
        assert guess.busiest_core == guess.cycles >= guess.mean_core
        # Products of whole fractals: 2 heads, 256 x 256 x 64, S and P V.
        ideal = 2 * 2 * 256 * 256 * 64 / (24 * 4096)
        assert guess.cube_utilisation == pytest.approx(ideal / guess.cycles)
    assert timing.low.cycles <= timing.middle.cycles <= timing.high.cycles
    assert timing.low.head_microseconds < timing.middle.head_microseconds < timing.high.head_microseconds


def test_every_pipe_and_core(report: Report, timing: Timing) -> None:
    assert [core.core for core in timing.cores] == [core.core for core in report.launches[0].cores]
    assert max(core.finish for core in timing.cores) == timing.middle.cycles
    for core in timing.cores:
        assert set(core.busy) == set(PIPES)
        assert all(0 <= busy <= core.finish for busy in core.busy.values())
        assert core.launch_cycles == timing.middle.cycles
        assert core.share == {pipe: core.busy[pipe] / timing.middle.cycles for pipe in PIPES}
    for pipe in PIPES:
        busiest = max(core.share[pipe] for core in timing.cores)
        assert timing.middle.busiest[pipe] == max(core.busy[pipe] for core in timing.cores)
        assert timing.middle.share(timing.middle.busiest[pipe]) == busiest


def test_bounds_stand_in_one_table(timing: Timing) -> None:
    guess = timing.middle
    assert set(guess.bound) == {*PIPES, "L2 reads", "L2 writes", "HBM"}
    for name, cycles in guess.bound.items():
        assert 0 <= cycles <= guess.cycles, name
    assert guess.bound[guess.largest_bound] == max(guess.bound.values())
    assert guess.bandwidth_share["HBM"] == pytest.approx(
        (guess.hbm_read + guess.hbm_written) / (guess.microseconds * 1e-6) / timing.roofline.hbm_bandwidth
    )


def test_critical_path_is_as_long_as_the_launch(timing: Timing) -> None:
    path = timing.critical_path
    assert path.cycles == pytest.approx(timing.middle.cycles, rel=1e-9)
    assert sum(path.parts.values()) == pytest.approx(path.cycles, rel=1e-9)
    on_pipes = path.parts["work"] + path.parts["memory"] + path.parts["latency"]
    assert sum(path.by_pipe.values()) == pytest.approx(on_pipes)
    assert path.parts["cross-core flag"] > 0
    assert [site.cycles for site in path.sites] == sorted((site.cycles for site in path.sites), reverse=True)
    assert sum(site.count for site in path.sites) <= path.instructions
    assert {site.core for site in path.sites} == {"AIC", "AIV"}
    assert all(site.file.endswith((".h", ".cpp")) and site.line > 0 for site in path.sites)


def test_roofline(timing: Timing) -> None:
    roofline = timing.roofline
    assert roofline.unit == "cube"
    assert roofline.flop == 2 * 2 * 2 * 256 * 256 * 64
    assert roofline.peak == 24 * 8192 * 1.8e9
    assert roofline.intensity == roofline.flop / (timing.middle.hbm_read + timing.middle.hbm_written)
    assert roofline.ridge == pytest.approx(24 * 8192 * 1.8e9 / 1.45e12)
    assert roofline.ceiling == min(roofline.peak, roofline.intensity * roofline.hbm_bandwidth)
    assert 0 < roofline.attained < roofline.ceiling


def test_roofline_of_a_vector_kernel(add: sim.Kernel) -> None:
    timing = run_add(add, 4, soc="Ascend910B3")
    assert timing.roofline.unit == "vector"
    assert timing.roofline.flop == 2 * 4 * 4096
    assert timing.roofline.peak == 40 * 128 * 1.8e9
    assert timing.middle.cube_utilisation == 0
    assert timing.roofline.intensity < timing.roofline.ridge


def test_summary_says_modelled(report: Report, timing: Timing) -> None:
    for text in (str(report), str(timing)):
        first = next(line for line in text.splitlines() if " us " in line)
        assert "modelled" in first
        for part in ("head, apart", "of the SoC's peak", "share of bandwidth", "critical path", "roofline", "L2 reads"):
            assert part in text


def test_report_is_plain_data(report: Report) -> None:
    values = json.loads(json.dumps(report.to_dict()))
    timing = values["launches"][0]["timing"]
    assert timing["middle"]["cycles"] == report.launches[0].timing.middle.cycles  # type: ignore[union-attr]
    assert timing["critical_path"]["sites"]
    assert report.modelled_microseconds == timing["middle"]["microseconds"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.timing.costs = "documented"  # type: ignore[misc,union-attr]


def test_other_modes_predict_nothing(add: sim.Kernel) -> None:
    source = np.ones(4096, np.float16)
    for mode in ("fast", "checked"):
        report = add(source, source, sim.Out(np.empty_like(source)), 1, 4096, 1, mode=mode).report
        assert report.timing is None and report.modelled_microseconds == 0
        assert "modelled" not in str(report)


def test_documented_costs_are_selectable(add: sim.Kernel) -> None:
    measured, documented = run_add(add, 4, costs="measured"), run_add(add, 4, costs="documented")
    assert (measured.costs, documented.costs) == ("measured", "documented")
    # Two-source instructions: two cycles a repeat as measured, one as documented. 4 tiles of 32 repeats.
    assert measured.middle.bound["V"] == 2 * documented.middle.bound["V"] == 2 * 4 * 32
    assert attention("documented").timing.middle.bound["V"] < attention().timing.middle.bound["V"]  # type: ignore[union-attr]


@pytest.mark.parametrize(("soc", "share"), [("Ascend910B2", 1), ("Ascend910B4", 0.5)])
def test_documented_bandwidths(soc: str, share: float) -> None:
    measured, documented = (attention(costs, soc).timing for costs in ("measured", "documented"))
    assert measured is not None and documented is not None
    assert measured.roofline.hbm_bandwidth == pytest.approx(1.45e12 * share)
    assert documented.roofline.hbm_bandwidth == pytest.approx(1.8e12 * share)
    for name, hbm, l2_read, l2_write in (("low", 1.6, 5, 5), ("middle", 1.45, 3.7, 3.7), ("high", 1.4, 3.4, 3.4)):
        for timing, rates in ((measured, (hbm, l2_read)), (documented, (1.8, 5))):
            guess = getattr(timing, name)
            cycles = {
                "HBM": (guess.hbm_read + guess.hbm_written) / (rates[0] * share),
                "L2 reads": guess.l2_read / rates[1],
                "L2 writes": guess.l2_written / l2_write,  # the vendor gives none
            }
            for memory, expected in cycles.items():
                assert guess.bound[memory] == pytest.approx(expected * timing.clock_hz / 1e12), (name, memory)
    assert documented.low.cycles <= documented.middle.cycles <= documented.high.cycles


def test_costs_of_the_block_hold_for_kernels(add: sim.Kernel) -> None:
    with ascend_attention.simulator(mode="timed", costs="documented"):
        source = np.ones(4096, np.float16)
        result = add(source, source, sim.Out(np.empty_like(source)), 1, 4096, 1)
    assert result.report.timing is not None and result.report.timing.costs == "documented"


def test_unknown_costs_are_refused(add: sim.Kernel) -> None:
    with pytest.raises(ascend_attention.AttentionError) as refused:
        ascend_attention.simulator(mode="timed", costs="guessed")
    assert (refused.value.argument, refused.value.given) == ("costs", "'guessed'")
    assert refused.value.allowed == "'measured', 'documented'"
    source = np.ones(4096, np.float16)
    with pytest.raises(ValueError, match=r"costs: given 'guessed'; allowed: 'measured', 'documented'"):
        add(source, source, sim.Out(np.empty_like(source)), 1, 4096, 1, mode="timed", costs="guessed")
    with pytest.raises(ValueError, match="costs is 'guessed', allowed: measured, documented"):
        _core.sim.launch("", "", "kernel", "vector", 1, [], costs="guessed")


def test_costs_belong_to_timed_mode(add: sim.Kernel) -> None:
    source = np.ones(4096, np.float16)
    for mode in ("fast", "checked"):
        with pytest.raises(ascend_attention.AttentionError) as refused:
            ascend_attention.simulator(mode=mode, costs="documented")
        assert (refused.value.argument, refused.value.given) == ("costs", f"'documented' with mode '{mode}'")
        with pytest.raises(ValueError, match=f"costs: given 'measured' with mode '{mode}'; allowed: with mode 'timed'"):
            add(source, source, sim.Out(np.empty_like(source)), 1, 4096, 1, mode=mode, costs="measured")
    with ascend_attention.simulator(mode="fast"), pytest.raises(ValueError, match="with mode 'fast'"):
        add(source, source, sim.Out(np.empty_like(source)), 1, 4096, 1, costs="measured")
    with ascend_attention.simulator(mode="timed"):
        add(source, source, sim.Out(np.empty_like(source)), 1, 4096, 1, costs="documented")


def test_document_shows_what_its_example_prints(timing: Timing) -> None:
    text = sample_report.DOCUMENT.read_text(encoding="utf-8")
    printed = sample_report.printed(text)
    assert sample_report.shown(text) == printed, "run python tests/timing/sample_report.py"
    assert printed == str(timing)  # whatever the values of the tensors


def test_one_unit_for_bytes(report: Report) -> None:
    assert [in_bytes(count) for count in (0, 1023, 1024, 1 << 20, 3 << 29)] == [
        *("0 B", "1023 B", "1.0 KiB", "1.0 MiB", "1.5 GiB"),
    ]
    assert not re.search(r"\d [kMG]B", str(report))


def test_counts_of_one(timing: Timing) -> None:
    site = dataclasses.replace(timing.critical_path.sites[0], count=1)
    path = dataclasses.replace(timing.critical_path, sites=(site,))
    assert ", once, mostly after" in str(dataclasses.replace(timing, critical_path=path))


def test_utilisation_has_a_range(timing: Timing) -> None:
    low, high = sorted(guess.cube_utilisation for guess in (timing.low, timing.high))
    assert f"of the SoC's peak ({low:.1%} to {high:.1%})" in str(timing)


def test_empty_launch(add: sim.Kernel) -> None:
    timing = run_add(add, 0)
    assert math.isfinite(timing.middle.cycles)
    assert all(0 <= share <= 1 for core in timing.cores for share in core.share.values())
    assert timing.roofline.flop == 0
    assert "no arithmetic" in str(timing)
