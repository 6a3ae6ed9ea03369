# SPDX-License-Identifier: Apache-2.0
"""scripts/bench_kernels: what it counts, what it prints, and the targets and figures of docs/performance.md.

When costs or the engine change the figures: ``scripts/bench_kernels --write docs/performance.md``, and the lab book
there says why.
"""

from __future__ import annotations

import datetime
import json
import re
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from ascend_attention._timing import Timing
from ascend_attention.cli.bench_kernels import (
    COLUMNS,
    TABLE_BEGINS,
    TABLE_ENDS,
    TARGETS,
    Line,
    Target,
    main,
    write_table,
)
from ascend_attention.cli.bench_shapes import SHAPES, Shape, ragged_pair

PERFORMANCE = Path(__file__).resolve().parents[2] / "docs" / "performance.md"


@pytest.mark.parametrize(("queries", "keys"), [(5, 5), (3, 9), (9, 3)])
@pytest.mark.parametrize("mask", ["none", "causal", "band 4"])
def test_visible_pairs(queries: int, keys: int, mask: str) -> None:
    distance = np.arange(keys)[None, :] - (np.arange(queries)[:, None] + keys - queries)
    seen = {"none": distance == distance, "causal": distance <= 0, "band 4": (distance <= 0) & (distance > -4)}[mask]
    shape = Shape("test", batch=2, heads=3, length=queries, key_length=keys, mask=mask)
    assert shape.pairs() == 6 * int(seen.sum())


def test_ragged_batches_have_a_uniform_twin() -> None:
    ragged, uniform = ragged_pair(64, 4096, seed=5, quick=False)
    assert len(ragged.lengths) == ragged.batch == uniform.batch == 64 and not uniform.lengths
    assert 0.9 < ragged.pairs() / uniform.pairs() < 1.1


def test_needed_bytes_are_those_of_the_tensors() -> None:
    """Of a call without hidden keys and unused blocks: all that goes in, and the output; one tensor for key and value
    once."""
    for shape in SHAPES:
        if shape.lengths or shape.needed_bytes() > 2**28:
            continue
        tensors = ("query", "key", "value", "query_rope", "key_rope")
        once = {id(x): x.nbytes for name, x in shape.arguments().items() if name in tensors}
        output = shape.batch * shape.heads * shape.length * shape.head_dim * 2
        assert sum(once.values()) + output == shape.needed_bytes(), shape


def test_names_are_unique() -> None:
    assert len({str(shape) for shape in SHAPES}) == len(SHAPES)


@dataclass(frozen=True)
class Quick:
    printed: list[str]
    figures: dict[str, Any]

    def row(self, name: str) -> dict[str, Any]:
        (row,) = [row for row in self.figures["rows"] if row["shape"] == name]
        return dict(row)


def without_wall(row: str) -> str:
    """All columns but the last one, the time that it took where it ran."""
    return row.rsplit(maxsplit=1)[0]


def documented_table() -> list[str]:
    return PERFORMANCE.read_text(encoding="utf-8").split(TABLE_BEGINS)[1].split(TABLE_ENDS)[0].splitlines()


def documented_rows(table: list[str]) -> list[str]:
    """Below the fence and two lines of headings."""
    return [without_wall(line) for line in table[3 : 3 + len(SHAPES)]]


def check_document(quick: Quick) -> None:
    """The table in the document is that of today, and all targets are met there."""
    table = documented_table()
    assert table[2] == quick.printed[1] == COLUMNS
    rows = documented_rows(table)
    assert [row.split("  ")[0] for row in rows] == [str(shape) for shape in SHAPES]
    now = [without_wall(line) for line in quick.printed[2 : 2 + sum(shape.quick for shape in SHAPES)]]
    assert len(now) >= 8 and [row for row in rows if row in now] == now
    targets = [line for line in quick.printed if line.endswith("met") or "met," in line]
    assert targets and all(line in table for line in targets)
    judged = [line for line in table if line.endswith("met") or "met," in line]
    assert len(judged) == len(TARGETS)
    assert all("  met" in line for line in judged)


def test_documented_picture_is_that_of_today(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The call beside it draws it: the same part of a run as long as that of today. It is a row of the table, too."""
    pytest.importorskip("matplotlib")
    (call,) = re.findall(r"```python\n(from .*?)```", PERFORMANCE.read_text(encoding="utf-8"), re.DOTALL)
    picture = Path("docs") / "images" / "tiles.svg"
    monkeypatch.chdir(tmp_path)
    picture.parent.mkdir(parents=True)
    names: dict[str, Any] = {}
    exec(compile(call, "example", "exec"), names)
    drawn, kept = (
        re.findall(r"on Ascend910B2, block 0: modelled, [^<]*", path.read_text(encoding="utf-8"))
        for path in (picture, PERFORMANCE.parent.parent / picture)
    )
    assert len(drawn) == 1 and drawn == kept
    line = Line(Shape("head", heads=12, length=2048), names["run"].report.timing, 0.0)
    assert line.figures() in documented_rows(documented_table())
    assert line.utilisation(line.timing.middle) >= 0.505


def check_targets(quick: Quick) -> None:
    """What can be had cheaply of the targets: the short problem, and the others at sizes that take a second."""
    assert quick.row("BNSD B1 N1 S1024 D128 bf16 none")["microseconds"]["middle"] <= 8.0
    assert quick.row("BNSD B1 N12 S2048 D128 bf16 causal")["utilisation"]["middle"] >= 0.39
    ragged = quick.row("BNSD B24 N8 S1024 ragged D128 bf16 causal")
    uniform = quick.row("BNSD B24 N8 S640 D128 bf16 causal")
    assert ragged["utilisation"]["middle"] >= 0.85 * uniform["utilisation"]["middle"]
    # 1.08 until accumulators went by unit flags: the last core ends as before, the mean is lower.
    assert ragged["busiest_to_mean"] <= 1.085
    split = quick.row("BNSD B1 N64/8 S1x32768 D128 bf16 none BNBD")
    assert split["needed_share"]["middle"] >= 0.94 and split["busiest_to_mean"] <= 1.02


def check_json(quick: Quick) -> None:
    figures = quick.figures
    assert figures["times"] == "modelled, not measured" and "middle" in figures["assumption"]
    assert (figures["soc"], figures["costs"]) == ("Ascend910B2", "measured")
    datetime.date.fromisoformat(figures["date"])
    assert "modelled" in quick.printed[0] and figures["date"] in quick.printed[0]
    for row in figures["rows"]:
        times, shares = row["microseconds"], row["utilisation"]
        assert 0 < times["low"] <= times["middle"] <= times["high"]
        assert 1 > shares["low"] >= shares["middle"] >= shares["high"] > 0
        assert max(row["bound"].values()) <= row["cycles"]
        assert 0 < row["needed_share"]["middle"] <= row["bandwidth_share"]["HBM"] <= 1
    assert [(target["wanted"], target["met"]) for target in figures["targets"]] == [("<= 8", True), (">= 0.85", True)]


def test_quick_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One test, because the table takes seconds and tests of a file may run in several processes."""
    file = tmp_path / "figures.json"
    assert main(["--quick", "--json", str(file)]) == 0
    quick = Quick(capsys.readouterr().out.splitlines(), json.loads(file.read_text()))
    check_json(quick)
    check_targets(quick)
    check_document(quick)


def test_another_soc_has_no_targets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "N1 S128", "--soc", "Ascend910B4", "--costs", "documented"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Ascend910B4, modelled (documented costs") and "B1 N1 S128 D128" in printed
    assert printed.endswith("targets: for Ascend910B2 and measured costs only\n")


def prediction(microseconds: float, busiest: float = 1.0) -> Any:
    return SimpleNamespace(microseconds=microseconds, busiest_core=busiest, mean_core=1.0)


def line(shape: Shape, low: float, middle: float, high: float) -> Line:
    timing = SimpleNamespace(
        low=prediction(low), middle=prediction(middle), high=prediction(high), roofline=SimpleNamespace(peak=1e14)
    )
    return Line(shape, cast(Timing, timing), 0.0)


def test_verdicts() -> None:
    one, other = Shape("test", length=1024), Shape("test", length=2048)
    lines = {one: line(one, 7, 8, 9), other: line(other, 30, 36, 40)}
    target = Target(one, "us", 8.0)
    values = target.values(lines)
    assert values == {"low": 7, "middle": 8, "high": 9}
    assert target.verdict(values) == "met, not met if high"
    assert Target(one, "us", 7.5).verdict(values) == "not met, met if low"
    assert Target(one, "us", 6).verdict(values) == "not met" and Target(one, "us", 10).verdict(values) == "met"
    relative = Target(one, "of peak", 0.85, against=other)
    shares = relative.values(lines)
    assert shares is not None and shares["middle"] == pytest.approx(36 / 8 / 4)
    assert relative.values({one: lines[one]}) is None and target.values({}) is None
    assert relative.text(shares).endswith("met") and "to the uniform one's" in relative.text(shares)


def test_write_replaces_what_is_between_the_marks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = tmp_path / "x.md"
    document.write_text(f"before\n{TABLE_BEGINS}old\n{TABLE_ENDS}after\n")
    write_table(document, "new")
    assert document.read_text() == f"before\n{TABLE_BEGINS}```text\nnew\n```\n{TABLE_ENDS}after\n"
    document.write_text("nothing\n")
    with pytest.raises(SystemExit, match="has no place for the table"):
        write_table(document, "new")
    with pytest.raises(SystemExit):
        main(["--quick", "--write", str(document)])
    assert "--write takes the whole table" in capsys.readouterr().err
    assert document.read_text() == "nothing\n"


def test_nothing_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "no such shape"]) == 1
    assert "target" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "known"), [(["--soc", "nosuch"], "such as Ascend910B2 "), (["--costs", "nosuch"], "'documented'")]
)
def test_unknown_names_are_answered_in_a_line(
    arguments: list[str], known: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    printed, error = capsys.readouterr()
    assert printed == "" and error.count("\n") == 1 and "given 'nosuch'" in error and known in error
