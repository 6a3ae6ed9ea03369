# SPDX-License-Identifier: Apache-2.0
"""Whole kernels whose predicted time must show what the replay knows of: unit flags, ways around L2, masks, SoCs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ascend_attention import sim
from ascend_attention._timing import Timing

KERNEL = Path(__file__).resolve().parent / "kernels" / "overlap.cpp"
PRODUCTS = 8
TILE_BYTES = 4096 * 4


def timing_of(result: sim.Result) -> Timing:
    assert result.report.timing is not None
    return result.report.timing


def compile_entry(entry: str) -> sim.Kernel:
    return sim.compile(KERNEL, entry=entry, debug=False)


@pytest.fixture(scope="module")
def products() -> sim.Kernel:
    return compile_entry("overlap_products")


@pytest.fixture(scope="module")
def moves() -> sim.Kernel:
    return compile_entry("overlap_moves")


@pytest.fixture(scope="module")
def masks() -> sim.Kernel:
    return compile_entry("overlap_masks")


def multiply(products: sim.Kernel, units: int, mode: str = "timed", count: int = PRODUCTS) -> sim.Result:
    operand = np.random.default_rng(1).integers(-2, 3, 128 * 128).astype(np.float16)
    out = sim.Out(np.empty((count, 128, 128), np.float32))
    return products(operand, out, count, units, mode=mode)


def test_unit_flags_let_stores_run_beside_products(products: sim.Kernel) -> None:
    flags, units = multiply(products, 0), multiply(products, 1)
    np.testing.assert_array_equal(flags.outputs[0], units.outputs[0])
    assert multiply(products, 0, "checked").ok and multiply(products, 1, "checked").ok
    serial, beside = timing_of(flags).middle, timing_of(units).middle

    def each(units: int) -> float:
        more = timing_of(multiply(products, units, count=2 * PRODUCTS)).middle
        return (more.cycles - (beside if units else serial).cycles) / PRODUCTS

    # One after the other: 520 cycles of product, 555 of Fixpipe, and what each waits for the other's result (15, 80,
    # and 4 for each flag). Beside each other: the longer of the two, and a little for every hand-over.
    assert each(0) == pytest.approx(520 + 15 + 4 + 555 + 80 + 4, abs=3)
    assert 555 < each(1) < 555 + 50
    assert beside.bound == serial.bound | {"S": beside.bound["S"]}
    assert timing_of(units).critical_path.parts["unit flag"] > 0 == timing_of(flags).critical_path.parts["unit flag"]


def move(moves: sim.Kernel, around: int = 0, adds: int = 0) -> sim.Result:
    x = np.arange(4096, dtype=np.float32)
    return moves(x, sim.InOut(np.ones(4096, np.float32)), around, adds, mode="timed")


def test_ways_around_l2(moves: sim.Kernel) -> None:
    through, around = timing_of(move(moves)).middle, timing_of(move(moves, around=1)).middle
    assert (through.hbm_read, through.l2_read) == (TILE_BYTES, 2 * TILE_BYTES)  # the second time it is there
    assert (around.hbm_read, around.l2_read) == (2 * TILE_BYTES, 0)
    assert around.cycles > through.cycles


def test_additions_read_what_they_add_to(moves: sim.Kernel) -> None:
    plain, adds = move(moves), move(moves, adds=1)
    np.testing.assert_array_equal(adds.outputs[0], plain.outputs[0] + 1)
    before, after = timing_of(plain).middle, timing_of(adds).middle
    assert after.l2_read == before.l2_read + TILE_BYTES
    assert after.hbm_read == before.hbm_read + TILE_BYTES
    assert after.l2_written == before.l2_written == TILE_BYTES
    assert after.bound["MTE3"] == before.bound["MTE3"]  # one move of so many bytes


def test_masks_cost_the_scalar_unit(masks: sim.Kernel) -> None:
    kept, sets = (
        timing_of(masks(sim.Out(np.empty(64, np.float32)), 500, each, mode="timed", auto_sync=False)).middle
        for each in (0, 1)
    )
    assert sets.bound["S"] - kept.bound["S"] == pytest.approx(500 * 4)
    assert sets.largest_bound == "S" and sets.cycles > kept.cycles + 1500


@pytest.mark.parametrize(("soc", "clock", "hbm"), [("Ascend910B1", 1.85e9, 1.45e12), ("Ascend910B4", 1.5e9, 0.725e12)])
def test_each_soc_has_its_own_figures(moves: sim.Kernel, soc: str, clock: float, hbm: float) -> None:
    x = np.arange(4096, dtype=np.float32)
    timing = timing_of(moves(x, sim.InOut(np.ones(4096, np.float32)), 1, 0, mode="timed", soc=soc))
    assert timing.clock_hz == clock
    assert timing.roofline.hbm_bandwidth == pytest.approx(hbm)
    assert timing.middle.microseconds == pytest.approx(timing.middle.cycles / clock * 1e6)
