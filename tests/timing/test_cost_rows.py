# SPDX-License-Identifier: Apache-2.0
"""The timing data: every call of docs/instructions.md has a row that was meant for it, and every row a call."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Moves cost by their path: these rows, and " unaligned" ones beside them where there are such.
PATHS = {
    "DataCopy (blocks)": {"GM>UB", "GM>L1", "UB>GM", "L1>GM", "DataCopy UB>UB", "L1>BT", "L1>FB"},
    "DataCopy (count)": {"GM>UB", "GM>L1", "UB>GM", "L1>GM", "DataCopy UB>UB", "L1>BT", "L1>FB"},
    "DataCopy (slices)": {"GM>UB", "UB>GM"},
    "DataCopy (ND to NZ)": {f"DataCopy ND2NZ{rows}" for rows in ("", " rows of 512", " rows unaligned")},
    "DataCopy (NZ to ND)": {"UB>GM"},
    "DataCopy (L0C)": {"L0C>GM", "L0C>L1"},
    "DataCopyPad": {"GM>UB", "UB>GM"},
    "Fixpipe": {"L0C>GM", "L0C>L1", "Fixpipe rows unaligned"},
    "LoadData (2D)": {"L1>L0A", "L1>L0B", "GM>L0A", "GM>L0B"},
    "LoadData (3D)": {"LoadData 3D L1>L0A", "LoadData 3D L1>L0B"},
}
RANGE = ("low", "middle", "high")
SPACES = {"GM", "UB", "L1", "L0A", "L0B", "L0C", "BT", "FB"}
# Of the scalar unit: what the recorder calls accesses to global memory, and the forms of LocalTensor.
SCALAR = {"scalar load", "scalar store", "GetValue", "SetValue", "operator()"}


def read(path: Path) -> list[dict[str, str]]:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))


COSTS = read(ROOT / "simulator" / "timing" / "instructions.csv")
ROWS = {name.strip() for row in COSTS for name in row["instruction"].split(";")}
CALLS = [
    row["instruction"]
    for family in ("vector", "cube", "move")
    for row in read(ROOT / "simulator" / "instructions" / f"{family}.csv")
    if "refused" not in row["forms"] and "a finding" not in row["forms"]
]


@pytest.mark.parametrize("call", CALLS)
def test_every_call_has_a_row_of_its_own(call: str) -> None:
    assert PATHS.get(call, {re.sub(r" \(.*\)", "", call)}) <= ROWS


def test_every_row_has_a_call() -> None:
    named = {re.sub(r" \(.*\)", "", call) for call in CALLS} | SCALAR
    for name in ROWS:
        head, _, rest = name.partition(" ")
        path = name.removesuffix(" unaligned").split(" ")[-1]
        is_path = set(path.split(">")) <= SPACES and ">" in path
        assert (
            name in named
            or head == "pipe"
            or any(name in rows for rows in PATHS.values())
            or (is_path and head in (path, *named, "LoadData 3D"))
            or (head in named and rest.startswith(("ND2NZ rows", "HF32")))
        ), name


def test_every_row_says_where_it_comes_from() -> None:
    for row in COSTS + read(ROOT / "simulator" / "timing" / "machine.csv"):
        assert row["source"].strip()
        assert row["confidence"] in {"documented", "measured", "fitted", "assumed"}


def test_ranges_are_ranges() -> None:
    for row in read(ROOT / "simulator" / "timing" / "machine.csv"):
        values = [float(row[name]) for name in RANGE]
        assert values in (sorted(values), sorted(values, reverse=True)), row["figure"]
        assert row["unit"].strip()


def documented(name: str, width: int) -> float:
    """Cycles a repeat with costs="documented"; rows of a width go before those of any."""
    for dtype in (f"b{width}", "*"):
        for row in COSTS:
            if name in [part.strip() for part in row["instruction"].split(";")] and row["dtype"] == dtype:
                return float(row["per_unit_documented"] or row["per_unit"])
    raise AssertionError(f"no row for {name}, {width} bits")


RATES = [
    (name.strip(), int(row["width"]), float(row["elements_per_cycle"]))
    for row in read(Path(__file__).with_name("documented_rates.csv"))
    for name in row["instructions"].split(";")
]


@pytest.mark.parametrize(("name", "width", "rate"), RATES)
def test_documented_costs_are_those_of_the_vendors_table(name: str, width: int, rate: float) -> None:
    assert documented(name, width) == pytest.approx(256 * 8 / width / rate, rel=0.02)


def test_documented_figures_have_a_line_in_the_vendors_table() -> None:
    # Library calls have none; Sort32 and MrgSort are given for 32 elements, whatever a repeat holds; Copy is a move.
    known = {name for name, _, _ in RATES} | {"Sort32", "MrgSort", "Copy", "ReduceSum", "ReduceMax", "ReduceMin"}
    for row in COSTS:
        names = {name.strip() for name in row["instruction"].split(";")} - {"pipe V"}
        if row["unit"] == "repeat" and row["confidence"] != "assumed":
            assert names <= known, names - known


def test_documented_figures_of_the_machine_are_the_vendors() -> None:
    # asc-devkit: about 1.8 TB/s of HBM and about 5 TB/s of L2 (matmul examples). Where it says what the middle figure
    # says, or nothing, the field is empty.
    given = {row["figure"]: row for row in read(ROOT / "simulator" / "timing" / "machine.csv")}
    known = {name: float(row["documented"]) for name, row in given.items() if row["documented"]}
    assert known == {"HBM bandwidth": 1.8e12, "L2 read bandwidth": 5e12}
    assert all(float(given[name]["middle"]) != figure for name, figure in known.items())
    document = (ROOT / "docs" / "timing.md").read_text(encoding="utf-8").splitlines()
    for shown, name in (("HBM", "HBM bandwidth"), ("L2 reads", "L2 read bandwidth")):
        low, middle, high, peak = (f"{float(given[name][column]) / 1e12:g}" for column in (*RANGE, "documented"))
        assert f"| {shown} | {low}, {middle}, {high} TB/s | {peak} |" in document


def test_rows_count_what_their_pipe_counts() -> None:
    cube = {row["instruction"] for row in COSTS if "Mmad" in row["instruction"]}
    for row in COSTS:
        assert row["unit"] in {"instruction", "repeat", "fractal product", "byte"}, row
        assert (row["unit"] == "fractal product") == (row["instruction"] in cube), row
