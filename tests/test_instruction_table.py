# SPDX-License-Identifier: Apache-2.0
"""docs/instructions.md says what device code can call. Here it is held to the headers, to the tests it names and, by
executing each call with every element type, to the machine."""

from __future__ import annotations

import csv
import functools
import re
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.device_headers import INCLUDE, Surface, device_surface
from helpers.instruction_probes import PROBES, accepted

ROOT = Path(__file__).resolve().parent.parent
ROWS = [
    row
    for path in sorted((ROOT / "simulator" / "instructions").glob("*.csv"))
    for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines())
]
# How the headers are made; device code has no use for them.
HELPERS = {
    *("BytesOf", "DTypeOf", "GetShapeSize", "SpaceOf", "ToOperand"),
    *("CopyBlocks", "CopyCall", "CopyElementBytes", "CopyElements", "ElementPattern", "FillConst", "FillGlobal"),
    *("CopyFromL0C", "CopySlices", "FixWithScales", "FormatOf"),
    *("FixCall", "Load2d", "MultiplyCall", "PadCall", "PadIn", "QuantOf", "SourceOf"),
    *("EventOf", "IsDroppedOnCube", "IsDroppedOnVector", "PipeOf", "PipesOf", "SetFlagOf", "WaitFlagOf"),
    *("GetBufferLogicPos", "GetPhyType", "GetPosition", "GetQueEvt"),
}


def name_of(row: dict[str, str]) -> str:
    """`DataCopy (blocks)` is a form of DataCopy."""
    return row["instruction"].partition(" ")[0]


def values(cell: str) -> list[str]:
    return [value for value in (part.strip() for part in cell.split(";")) if value]


@functools.cache
def surface() -> Surface:
    return device_surface()


@functools.cache
def macros() -> set[str]:
    texts = (path.read_text(encoding="utf-8") for path in INCLUDE.rglob("*.h"))
    return {name for text in texts for name in re.findall(r"^[ \t]*#define (\w+)", text, re.MULTILINE)}


def test_the_page_is_up_to_date() -> None:
    script = [sys.executable, str(ROOT / "scripts" / "instruction_table"), "--check"]
    assert subprocess.run(script, check=False).returncode == 0


def test_no_row_is_there_twice() -> None:
    names = [row["instruction"] for row in ROWS]
    assert sorted(set(names)) == sorted(names)


def test_every_function_of_the_headers_has_a_row() -> None:
    listed = {name_of(row) for row in ROWS}
    assert sorted(surface().functions - HELPERS - listed) == []
    assert sorted(set(surface().members) - listed) == []


def test_every_row_is_in_the_headers() -> None:
    there = surface().functions | surface().types | macros()
    assert sorted({name_of(row) for row in ROWS} - there) == []


@pytest.mark.parametrize("name", sorted(surface().members))
def test_every_member_of_a_class_is_listed(name: str) -> None:
    (row,) = [row for row in ROWS if row["instruction"] == name]
    assert sorted(values(row["forms"])) == sorted(surface().members[name])


def test_every_row_is_complete() -> None:
    assert [row["instruction"] for row in ROWS if not values(row["test"]) or not values(row["source"])] == []


@functools.cache
def functions_of(path: str) -> set[str]:
    file = ROOT / path
    return (
        set(re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)) if file.exists() else set()
    )


def test_every_test_exists() -> None:
    nodes = {node for row in ROWS for node in values(row["test"])}
    missing = {node for node in nodes if node.partition("::")[2] not in functions_of(node.partition("::")[0])}
    assert sorted(missing) == []


def test_every_call_is_made_by_some_test() -> None:
    files = [*(ROOT / "tests" / "kernels").iterdir()]
    files += [file for room in ("sim", "simulator") for file in (ROOT / "tests" / room).rglob("*.py")]
    words = {word for file in files if file.is_file() for word in re.findall(r"\w+", file.read_text(encoding="utf-8"))}
    assert sorted({name_of(row) for row in ROWS} - words) == []


@pytest.mark.parametrize("instruction", sorted(PROBES))
def test_element_types_are_those_of_the_machine(instruction: str) -> None:
    (row,) = [row for row in ROWS if row["instruction"] == instruction]
    findings = accepted(instruction)
    taken = {entry for entry, finding in findings.items() if not finding}
    assert sorted(values(row["dtypes"])) == sorted(taken)
    # What is refused is refused for its types: the call is legal otherwise.
    for entry, finding in findings.items():
        assert not finding or re.search(r"parameter: .*(?:type|sizeof|quantPre|\bT\b)", finding), f"{entry}: {finding}"


def test_every_executor_is_probed() -> None:
    """A row that `_core.sim.execute` can run and that lists types must be run with them."""
    from ascend_attention import _core

    unprobed = []
    for row in ROWS:
        if row["instruction"] in PROBES or not values(row["dtypes"]):
            continue
        try:
            _core.sim.execute(row["instruction"], [], {}, "vector", "fast", None)
            unprobed.append(row["instruction"])
        except Exception as error:
            if "no instruction named" not in str(error):
                unprobed.append(row["instruction"])
    assert unprobed == []
