# SPDX-License-Identifier: Apache-2.0
"""docs/constraints.md: every rule with an accepted and a refused case, or the reason why not."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
SCRIPT = ROOT / "scripts" / "constraint_table"


def table() -> Any:
    loader = importlib.machinery.SourceFileLoader("constraint_table", str(SCRIPT))
    spec = importlib.util.spec_from_loader("constraint_table", loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["constraint_table"] = module  # dataclasses look their module up
    loader.exec_module(module)
    return module


def test_the_page_is_up_to_date() -> None:
    assert subprocess.run([sys.executable, str(SCRIPT), "--check"], check=False).returncode == 0


def test_every_rule_that_the_sources_refuse_with_is_in_the_catalogue() -> None:
    used, known = set(), set()
    for path in (ROOT / "op_host").rglob("*.cpp"):
        used |= set(re.findall(r'"((?:FIA|PFA|BSA)-[A-Z]\d+)"', path.read_text(encoding="utf-8")))
    for path in (ROOT / "tests" / "conformance").glob("*_catalogue.csv"):
        known |= {row["rule"] for row in table().read_rows(path)}
    assert len(used) > 100
    assert used <= known


def test_a_rule_without_a_case_is_noticed(tmp_path: Path) -> None:
    cases = tmp_path / "rules.txt"
    cases.write_text("base b x=1\naccept R1 b\nrefuse R1 b x=2\naccept R2 b\nextended accept R1 b x=2\n")
    module = table()

    def row(rule: str, **cells: str) -> dict[str, str]:
        return {**dict.fromkeys(module.COLUMNS, ""), "rule": rule, **cells}

    def problems(*rows: dict[str, str]) -> str:
        return "; ".join(module.problems(list(rows), module.read_cases(cases)))

    lifted, stated = row("R1", extended="2"), row("R2", unchecked="states that something is accepted")
    assert problems(lifted, stated) == ""
    assert problems(lifted, row("R2")) == "R2: no refused case, and no reason"
    assert problems(lifted, stated, row("R3")) == "R3: no accepted and no refused case, and no reason"
    assert problems(lifted) == "R2: cases, but no row"
    assert "R1: both cases are there" in problems({**lifted, "unchecked": "why"}, stated)
    assert "R1: the column 'extended'" in problems(row("R1"), stated)
    assert problems(lifted, lifted, stated) == "R1: more than one row"


def test_every_decision_is_explained_once() -> None:
    module = table()
    numbers = [row["number"] for row in module.read_rows(module.DATA / "decisions.csv", module.DECISION_COLUMNS)]
    assert numbers == [f"D{number}" for number in range(1, len(numbers) + 1)]
    with pytest.raises(SystemExit, match="no row for D99"):
        module.decisions({"D99": ["FIA-C1"]})
    assert "| D6 | actual_seq_qlen in MLA" in module.PAGE.read_text(encoding="utf-8")
