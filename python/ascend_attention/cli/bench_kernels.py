# SPDX-License-Identifier: Apache-2.0
"""What timed mode predicts for the attention kernels, shape by shape. Modelled, not measured: docs/timing.md.

Every launch starts with a cold L2, as a call does that finds other buffers than the one before. The kernel's head cost
is in no column. Utilisation counts the products of visible pairs only, against the cube peak of all cores of the SoC.
The columns low and high are the two other assumptions about what nobody has published; all others are those of the
middle one. HBM is the share of its bandwidth that is taken; need is what of it the call cannot do without: query, key
and value read once and the output written once.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ascend_attention
from ascend_attention import AttentionError
from ascend_attention._timing import Prediction, Timing
from ascend_attention.cli.bench_shapes import (
    DECODE,
    LATENT,
    LONG,
    LONG_CAUSAL,
    RAGGED,
    SHAPES,
    SHORT,
    SPLIT,
    UNIFORM,
    Shape,
)

SOC = "Ascend910B2"  # what the targets are for
ASSUMPTIONS = ("low", "middle", "high")
TABLE_BEGINS = "<!-- table: written by scripts/bench_kernels --write docs/performance.md -->\n"
TABLE_ENDS = "<!-- end of the table -->\n"

COLUMNS = (
    f"{'shape':46} {'us':>8} {'low':>8} {'high':>8} {'of peak':>8} {'low':>6} {'high':>6}  {'largest bound':13}"
    f" {'reached':>7} {'L2 r':>5} {'L2 w':>5} {'HBM':>5} {'need':>5} {'busiest':>8} {'wall s':>7}"
)


@dataclass(frozen=True)
class Line:
    """A shape and what was predicted for it."""

    shape: Shape
    timing: Timing
    wall: float

    def utilisation(self, prediction: Prediction) -> float:
        return self.shape.flop() / (self.timing.roofline.peak * prediction.microseconds * 1e-6)

    def needed(self, prediction: Prediction) -> float:
        """Of the HBM's bandwidth over the whole launch: the bytes that any kernel has to move."""
        moved = prediction.hbm_read + prediction.hbm_written
        return prediction.bandwidth_share["HBM"] * self.shape.needed_bytes() / moved

    def figures(self) -> str:
        """Everything but the time that it took here: the same in every run."""
        low, guess, high = self.timing.low, self.timing.middle, self.timing.high
        bound = guess.largest_bound
        memory = guess.bandwidth_share
        return (
            f"{self.shape!s:46} {guess.microseconds:8.1f} {low.microseconds:8.1f} {high.microseconds:8.1f} "
            f"{self.utilisation(guess):8.1%} {self.utilisation(low):6.1%} {self.utilisation(high):6.1%}  {bound:13} "
            f"{guess.share(guess.bound[bound]):7.1%} {memory['L2 reads']:5.0%} {memory['L2 writes']:5.0%} "
            f"{memory['HBM']:5.0%} {self.needed(guess):5.0%} {busiest_to_mean(guess):8.3f}"
        )

    def __str__(self) -> str:
        return f"{self.figures()} {self.wall:7.1f}"

    def to_dict(self) -> dict[str, Any]:
        guess = self.timing.middle
        predictions = {name: getattr(self.timing, name) for name in ASSUMPTIONS}
        return {
            "shape": str(self.shape),
            "group": self.shape.group,
            "microseconds": {name: prediction.microseconds for name, prediction in predictions.items()},
            "utilisation": {name: self.utilisation(prediction) for name, prediction in predictions.items()},
            "bound": dict(guess.bound),
            "bandwidth_share": dict(guess.bandwidth_share),
            "needed_share": {name: self.needed(prediction) for name, prediction in predictions.items()},
            "cycles": guess.cycles,
            "busiest_to_mean": busiest_to_mean(guess),
        }


def busiest_to_mean(prediction: Prediction) -> float:
    return prediction.busiest_core / prediction.mean_core


@dataclass(frozen=True)
class Target:
    """What a shape is to reach on ``SOC``. ``against``: the figure is a share of that shape's."""

    shape: Shape
    figure: str  # a key of FIGURES
    wanted: float
    against: Shape | None = None
    aim: bool = False  # more than has to be

    def values(self, lines: dict[Shape, Line]) -> dict[str, float] | None:
        """The figure under each assumption; None: the shape was not run."""
        line, other = lines.get(self.shape), lines.get(self.against) if self.against else None
        if line is None or (self.against and other is None):
            return None
        found = {}
        for name in ASSUMPTIONS:
            found[name] = figure_of(self.figure, line, name)
            if other is not None:
                found[name] /= figure_of(self.figure, other, name)
        return found

    def met(self, value: float) -> bool:
        return value <= self.wanted if FIGURES[self.figure][0] == "<=" else value >= self.wanted

    def verdict(self, values: dict[str, float]) -> str:
        """By the middle assumption; where another one says otherwise, that too."""
        met = self.met(values["middle"])
        other = [name for name in ("low", "high") if self.met(values[name]) != met]
        return ("met" if met else "not met") + "".join(f", {'not ' if met else ''}met if {name}" for name in other)

    @property
    def name(self) -> str:
        return self.figure + (", to the uniform one's" if self.against else "") + (" (the aim)" if self.aim else "")

    def text(self, values: dict[str, float]) -> str:
        sense, form = FIGURES[self.figure]
        form = ".2f" if self.against else form
        shown = " ".join(f"{values[name]:>8{form}}" for name in ("middle", "low", "high"))
        return f"{self.shape!s:46} {self.name:30} {sense} {self.wanted:<6{form}} {shown}  {self.verdict(values)}"


# Whether a figure is to be large or small, and how it is printed.
FIGURES = {
    "us": ("<=", ".2f"),
    "of peak": (">=", ".1%"),
    "largest bound reached": (">=", ".1%"),
    "busiest core to mean": ("<=", ".3f"),
    "needed bytes, of HBM bandwidth": (">=", ".1%"),
    "larger of peak and HBM": (">=", ".1%"),
}
TARGETS = [
    Target(LONG, "of peak", 0.5),
    Target(LONG, "largest bound reached", 0.9),
    Target(LONG, "of peak", 0.55, aim=True),
    Target(LONG_CAUSAL, "of peak", 0.46),
    Target(SHORT, "us", 8.0),
    Target(RAGGED, "of peak", 0.85, against=UNIFORM),
    Target(RAGGED, "busiest core to mean", 1.15),
    *(Target(shape, "needed bytes, of HBM bandwidth", 0.85) for shape in (*DECODE, *SPLIT)),
    *(Target(shape, "larger of peak and HBM", 0.8) for shape in LATENT),
]
TARGET_COLUMNS = f"{'target':46} {'figure':30} {'wanted':9} {'modelled':>8} {'low':>8} {'high':>8}"


def figure_of(figure: str, line: Line, assumption: str) -> float:
    prediction: Prediction = getattr(line.timing, assumption)
    if figure == "us":
        return prediction.microseconds
    if figure == "of peak":
        return line.utilisation(prediction)
    if figure == "busiest core to mean":
        return busiest_to_mean(prediction)
    if figure == "needed bytes, of HBM bandwidth":
        return line.needed(prediction)
    if figure == "larger of peak and HBM":
        return max(line.utilisation(prediction), line.needed(prediction))
    return prediction.share(prediction.bound[prediction.largest_bound])


def predict(shape: Shape, soc: str, costs: str = "measured") -> Line:
    arguments = shape.arguments()
    start = time.perf_counter()
    with ascend_attention.simulator(soc=soc, mode="timed", costs=costs) as run:
        ascend_attention.npu_fused_infer_attention_score_v2(**arguments)
    timing = run.report.timing
    assert timing is not None
    return Line(shape, timing, time.perf_counter() - start)


def chosen(shapes: Sequence[Shape], only: str, quick: bool) -> list[Shape]:
    return [
        shape
        for shape in shapes
        if (shape.quick or not quick) and (only in str(shape) or only == shape.group or not only)
    ]


def judged(lines: Sequence[Line]) -> list[tuple[Target, dict[str, float]]]:
    """The targets whose shapes were run."""
    by_shape = {line.shape: line for line in lines}
    values = [(target, target.values(by_shape)) for target in TARGETS]
    return [(target, found) for target, found in values if found is not None]


def write_table(document: Path, table: str, begins: str = TABLE_BEGINS, ends: str = TABLE_ENDS) -> None:
    """Puts the table between its two marks."""
    text = document.read_text(encoding="utf-8")
    if begins not in text or ends not in text.split(begins)[1]:
        raise SystemExit(f"{document} has no place for the table: {begins.strip()} and {ends.strip()}")
    before, rest = text.split(begins)
    _, after = rest.split(ends, 1)
    document.write_text(f"{before}{begins}```text\n{table}\n```\n{ends}{after}", encoding="utf-8")


def as_json(soc: str, costs: str, lines: Sequence[Line]) -> dict[str, Any]:
    return {
        "times": "modelled, not measured",
        "soc": soc,
        "costs": costs,
        "assumption": "middle, where no other is named",
        "date": datetime.date.today().isoformat(),
        "rows": [line.to_dict() for line in lines],
        "targets": [
            {
                "shape": str(target.shape),
                "figure": target.name,
                "wanted": f"{FIGURES[target.figure][0]} {target.wanted:g}",
                "values": values,
                "met": target.met(values["middle"]),
            }
            for target, values in (judged(lines) if soc == SOC and costs == "measured" else [])
        ],
    }


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--soc", default=SOC, help="processor (default %(default)s)")
    parser.add_argument("--costs", default="measured", help="measured (default) or documented")
    parser.add_argument("--only", default="", metavar="TEXT", help="shapes of this group, or with this in their name")
    parser.add_argument("--quick", action="store_true", help="only shapes that take about a second")
    parser.add_argument("--json", metavar="FILE", type=Path, help="also write the figures there")
    parser.add_argument("--write", metavar="FILE", type=Path, help="put the whole table into this document")
    given = parser.parse_args(arguments)
    if given.write and (given.only or given.quick or given.soc != SOC or given.costs != "measured"):
        parser.error("--write takes the whole table, without --only, --quick, --soc and --costs")
    return given


def main(arguments: Sequence[str] | None = None) -> int:
    given = parse(arguments)
    try:
        ascend_attention.simulator(soc=given.soc, mode="timed", costs=given.costs)
    except AttentionError as error:
        print(f"bench_kernels: {error}", file=sys.stderr)
        return 2
    shapes = chosen(SHAPES, given.only, given.quick)
    if not shapes:
        print(f"no shape matches {given.only!r}; groups: {', '.join(dict.fromkeys(s.group for s in SHAPES))}")
        return 1
    printed = []

    def say(text: str) -> None:
        printed.append(text)
        print(text, flush=True)

    today = datetime.date.today().isoformat()
    say(f"{given.soc}, modelled ({given.costs} costs, middle assumption; low and high beside it), cold L2, without the "
        f"head; {today}")  # fmt: skip
    say(COLUMNS)
    lines = []
    for shape in shapes:
        lines.append(predict(shape, given.soc, given.costs))
        say(str(lines[-1]))
    if given.soc != SOC or given.costs != "measured":
        say(f"targets: for {SOC} and measured costs only")
    elif targets := judged(lines):
        say("")
        say(TARGET_COLUMNS)
        for target, values in targets:
            say(target.text(values))
    if given.json:
        given.json.write_text(json.dumps(as_json(given.soc, given.costs, lines), indent=1), encoding="utf-8")
    if given.write:
        write_table(given.write, "\n".join(printed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
