# SPDX-License-Identifier: Apache-2.0
"""Published figures against the timing model: runs the kernels of tests/timing/kernels that do what was published and
puts both side by side. Modelled, not measured.

The points are data (published.csv); the tables of docs/timing.md are this output. ``scripts/calibrate_timing``
runs it.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import re
import sys
import time
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
POINTS = HERE / "published.csv"
DOCUMENT = ROOT / "docs" / "timing.md"
BEGIN = "<!-- calibration tables: written by scripts/calibrate_timing --write -->"
END = "<!-- end of calibration tables -->"
GROUPS = {
    "vector": "Vector instructions, one core (cycles an instruction)",
    "cube": "Instructions of the cube core (cycles an instruction)",
    "move": "Moves of one core (cycles a move)",
    "stream": "Streams through the whole device (microseconds)",
    "matmul": "Matrix products (microseconds), half where nothing else is said",
    "attention": "Attention, one head, D 128, float16, no mask (microseconds)",
}
EFFORTS = ("test", "quick", "full")  # each includes those before it
TOLERANCE = 0.25
OPERATIONS = (
    *("Add", "Max", "Mul", "Div", "Exp", "Ln", "Relu", "Maxs", "Muls", "Rsqrt", "And"),
    *("WholeReduceMax", "WholeReduceSum", "BlockReduceMax", "Narrow"),
)  # in the order of vector_chain.cpp
REPEATED = ("left", "right", "multiply", "store")
TIMINGS: dict[tuple[Any, ...], Any] = {}  # of launches that were made already


@dataclass(frozen=True)
class Point:
    """One published figure and the run that is compared with it."""

    name: str
    group: str
    kernel: str
    arguments: dict[str, str]
    soc: str
    published: float
    unit: str
    head: bool
    effort: str
    source: str

    def number(self, argument: str) -> int:
        return int(self.arguments[argument])

    def with_arguments(self, **arguments: object) -> Point:
        return replace(self, arguments=self.arguments | {name: str(value) for name, value in arguments.items()})


@dataclass(frozen=True)
class Modelled:
    """Cycles and head (microseconds) under the three assumptions, low, middle, high."""

    cycles: np.ndarray
    head: np.ndarray
    clock_hz: float

    def __add__(self, other: Modelled) -> Modelled:
        return Modelled(self.cycles + other.cycles, self.head, self.clock_hz)

    def grown(self, second: Modelled, steps: float) -> Modelled:
        """This run, and ``steps`` times what ``second`` takes longer."""
        return Modelled(self.cycles + steps * (second.cycles - self.cycles), self.head, self.clock_hz)


@dataclass(frozen=True)
class Comparison:
    point: Point
    modelled: tuple[float, float, float]  # low, middle, high, in the point's unit
    microseconds: tuple[float, float]  # published, middle: for ranking across units
    other: float | None = None  # of a move: the middle figure in the other reading, waited for or back to back

    @property
    def error(self) -> float:
        return self.modelled[1] / self.point.published - 1

    @property
    def hit(self) -> bool:
        return abs(self.error) <= TOLERANCE

    def hit_when(self, waits: bool) -> bool:
        """Of a move, in one of the readings: waited for, or back to back."""
        return abs(self.error if bool(self.point.number("waits")) == waits else self.other_error) <= TOLERANCE

    def line(self) -> str:
        mark = "" if self.hit else " **miss**"
        if self.other is not None:
            return self.move_line(mark)
        low, middle, high = (digits(value) for value in self.modelled)
        return (
            f"| {self.point.name} | {digits(self.point.published)} | {low} | {middle} | {high} "
            f"| {round(100 * self.error):+d} %{mark} | {self.point.source} |"
        )

    def move_line(self, mark: str) -> str:
        """Both readings; that which does not count in brackets."""
        assert self.other is not None
        chosen = (digits(self.modelled[1]), f"{round(100 * self.error):+d} %{mark}")
        other = (f"({digits(self.other)})", f"({round(100 * self.other_error):+d} %)")
        waited, queued = (chosen, other) if self.point.number("waits") else (other, chosen)
        return (
            f"| {self.point.name} | {digits(self.point.published)} | {' | '.join(waited)} | {' | '.join(queued)} "
            f"| {self.point.source} |"
        )

    @property
    def other_error(self) -> float:
        return (self.other or 0) / self.point.published - 1


def digits(value: float) -> str:
    """Four significant digits, never an exponent."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.4g}"


def load_points(path: Path = POINTS) -> list[Point]:
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    points = []
    for row in csv.DictReader(lines):
        arguments = dict(argument.split("=") for argument in row["arguments"].split())
        points.append(
            Point(
                row["point"],
                row["group"],
                row["kernel"],
                arguments,
                row["soc"],
                float(row["published"]),
                row["unit"],
                row["head"] == "yes",
                row["effort"],
                row["source"],
            )
        )
    return points


@cache
def kernel(file: str, entry: str):
    from ascend_attention import sim

    return sim.compile(HERE / "kernels" / f"{file}.cpp", entry=entry, debug=False)


def launch(point: Point, file: str, *arguments: object, cores: int) -> Modelled:
    """Times one launch; where the point names a pipe, the time for which it is taken on the busiest core."""
    # Times do not depend on data; points of several pipes share a launch.
    shapes = tuple(value if isinstance(value, (int, float)) else getattr(value, "shape", None) for value in arguments)
    settings = (file, point.kernel, point.soc, cores, shapes)
    if settings not in TIMINGS:
        run = kernel(file, point.kernel)(*arguments, blocks=cores, soc=point.soc, mode="timed")
        TIMINGS[settings] = run.report.launches[-1].timing
    timing = TIMINGS[settings]
    guesses = (timing.low, timing.middle, timing.high)
    pipe = point.arguments.get("pipe")
    cycles = np.array([guess.busiest[pipe] if pipe else guess.cycles for guess in guesses])
    clock_hz = timing.middle.cycles / timing.middle.microseconds * 1e6
    return Modelled(cycles, np.array([guess.head_microseconds for guess in guesses]), clock_hz)


def one_of_chain(run: Callable[[int], Modelled]) -> Modelled:
    """One instruction out of a chain: what 40 more of them add."""
    short, long = run(20), run(60)
    return Modelled((long.cycles - short.cycles) / 40, short.head, short.clock_hz)


def vector_chain(point: Point) -> Modelled:
    from ascend_attention import sim

    repeats = point.number("repeats")
    source = np.ones(64 * repeats, np.float32)
    settings = (OPERATIONS.index(point.arguments["operation"]), repeats)

    def run(count: int) -> Modelled:
        target = sim.Out(np.empty_like(source))
        return launch(point, "vector_chain", source, source, target, *settings, count, point.number("waits"), cores=1)

    return one_of_chain(run)


def cube_chain(point: Point) -> Modelled:
    from ascend_attention import sim

    rows, columns = point.number("rows"), point.number("columns")
    repeated, waits = REPEATED.index(point.arguments["repeated"]), point.number("waits")
    left, right = np.ones((rows, 16), np.float16), np.ones((columns, 16), np.float16)

    def run(count: int) -> Modelled:
        copies = count if point.arguments["repeated"] == "store" else 1
        product = sim.Out(np.empty((copies * rows, columns), np.float32))
        return launch(point, "cube_chain", left, right, product, rows, columns, repeated, count, waits, cores=1)

    return one_of_chain(run)


def move_chain(point: Point) -> Modelled:
    from ascend_attention import sim

    size, waits = point.number("size"), point.number("waits")

    def run(count: int) -> Modelled:
        if point.kernel == "load_l1":
            rows, pitch = point.number("rows"), point.number("pitch")
            source = np.ones(max(size, rows * pitch), np.float16)
            return launch(point, "move_chain", source, size, rows, pitch, count, waits, cores=1)
        source = np.ones(size, np.float16)
        target = sim.Out(np.empty(size * (count if point.kernel == "store_ub" else 1), np.float16))
        return launch(point, "move_chain", source, target, size, count, waits, cores=1)

    return one_of_chain(run)


def stream_add(point: Point) -> Modelled:
    from ascend_attention import sim

    tile, cores = point.number("tile"), point.number("cores")
    settings = (tile, *(point.number(name) for name in ("buffers",) if name in point.arguments))
    tiles = 8192 * 8192 // tile // cores

    def run(count: int) -> Modelled:
        source = np.zeros(count * tile * cores, np.float16)
        target = sim.Out(np.empty_like(source))
        return launch(point, point.kernel, source, source, target, count, *settings, cores=cores)

    return whole(point, run, tiles)


def whole(point: Point, run: Callable[[int], Modelled], tiles: float) -> Modelled:
    """A run over all tiles of a core; where the point says so, over the first few, continued in a straight line."""
    if "first" not in point.arguments:
        return run(int(tiles))
    first, second = point.number("first"), point.number("second")
    return run(first).grown(run(second), (tiles - first) / (second - first))


def stream_load(point: Point) -> Modelled:
    columns, cores = point.number("columns"), point.number("cores")
    source = np.zeros(12288 * columns, np.float16)
    numbers = [point.number(name) for name in ("columns", "tile_rows", "tile_columns", "slices", "passes")]
    return launch(point, "stream_load", source, 12288 // cores, *numbers, cores=cores)


def tiled_matmul(point: Point) -> Modelled:
    from ascend_attention import sim

    size, rows, columns = (point.number(name) for name in ("size", "part_rows", "part_columns"))
    narrow, cores = point.number("narrow"), point.number("cores")
    pieces = [point.number(name) for name in ("left", "right", "buffers")]

    def run(tiles: int) -> Modelled:
        factor = np.zeros((size, size), np.float16)
        product = sim.Out(np.empty((size, size), np.float16 if narrow else np.float32))
        return launch(
            point, "tiled_matmul", factor, factor, product, size, size, size, rows, columns, tiles, narrow, *pieces,
            cores=cores,
        )  # fmt: skip

    # "tiles": where the published figure is the mean over cores, not that of the core with most of them.
    return whole(point, run, float(point.arguments.get("tiles", rows // 128 * (columns // 256))))


def block_matmul(point: Point) -> Modelled:
    from ascend_attention import sim

    names = ("rows", "columns", "depth", "block_rows", "block_columns", "step", "part", "nz", "swizzle")
    shape = [point.number(name) for name in names]
    rows, columns, depth = shape[:3]
    dtype = np.float32 if point.kernel == "block_matmul_float" else np.float16
    left, right = np.zeros((rows, depth), dtype), np.zeros((columns, depth), dtype)
    product = sim.Out(np.empty((rows, columns), dtype))
    return launch(point, "block_matmul", left, right, product, *shape, cores=point.number("cores"))


def staged_attention(point: Point) -> Modelled:
    from ascend_attention import sim

    queries, keys, cores, slots = (point.number(name) for name in ("queries", "keys", "cores", "slots"))
    query, key = np.zeros((queries, 128), np.float16), np.zeros((keys, 128), np.float16)
    output = sim.Out(np.empty((queries, 128), np.float32))
    workspace = sim.Workspace(attention_workspace(cores, slots))
    return launch(
        point, "staged_attention", query, key, key, output, workspace, queries // 128, keys // 256, slots, 128**-0.5,
        cores=cores,
    )  # fmt: skip


def attention_slope(point: Point) -> Modelled:
    """What 128 keys more cost, from two runs."""
    short = replace(point, kernel="staged_attention")
    long = short.with_arguments(keys=point.arguments["more"])
    first, second = staged_attention(short), staged_attention(long)
    blocks = (long.number("keys") - short.number("keys")) // 128
    return Modelled((second.cycles - first.cycles) / blocks, first.head, first.clock_hz)


def attention_workspace(cores: int, slots: int) -> int:
    """Bytes: S of 128 x 256 and O of 128 x 128 floats, P of 128 x 256 halves for each slot."""
    return cores * slots * 128 * (256 * 4 + 128 * 4 + 256 * 2)


RUNS: dict[str, Callable[[Point], Modelled]] = {
    "vector_chain": vector_chain,
    "cube_chain": cube_chain,
    "load_ub": move_chain,
    "store_ub": move_chain,
    "load_l1": move_chain,
    "stream_add": stream_add,
    "stream_around_l2": stream_add,
    "stream_load_ub": stream_load,
    "stream_load_l1": stream_load,
    "tiled_matmul": tiled_matmul,
    "block_matmul": block_matmul,
    "block_matmul_float": block_matmul,
    "staged_attention": staged_attention,
    "attention_slope": attention_slope,
}


def compare(point: Point) -> Comparison:
    modelled = RUNS[point.kernel](point)
    micros = modelled.cycles / modelled.clock_hz * 1e6
    if point.unit == "cycles":
        low, middle, high = modelled.cycles
        pair = (point.published / modelled.clock_hz * 1e6, micros[1])
        return Comparison(point, (low, middle, high), pair, other_reading(point))
    low, middle, high = micros + (modelled.head if point.head else 0)
    return Comparison(point, (low, middle, high), (point.published, middle))


def other_reading(point: Point) -> float | None:
    """Moves were published without saying what the next one waits for: the middle figure of the reading not chosen."""
    if point.group != "move":
        return None
    return float(RUNS[point.kernel](point.with_arguments(waits=1 - point.number("waits"))).cycles[1])


def ranks(values: Sequence[float]) -> np.ndarray:
    """Ranks from 1; equal values share the mean of theirs."""
    array = np.asarray(values)
    below = (array[None, :] < array[:, None]).sum(axis=1)
    equal = (array[None, :] == array[:, None]).sum(axis=1)
    return below + (equal + 1) / 2


def spearman(comparisons: Sequence[Comparison]) -> float:
    published = ranks([comparison.microseconds[0] for comparison in comparisons])
    modelled = ranks([comparison.microseconds[1] for comparison in comparisons])
    return float(np.corrcoef(published, modelled)[0, 1])


def summary(comparisons: Sequence[Comparison]) -> list[str]:
    lines = [
        "| Group | Points | Within ±25 % | Median error, without sign | Largest | Rank correlation |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    groups = {group: [c for c in comparisons if c.point.group == group] for group in GROUPS}
    for name, members in [*groups.items(), ("all", list(comparisons))]:
        if len(members) < 2:
            continue
        errors = [abs(comparison.error) for comparison in members]
        hits = sum(comparison.hit for comparison in members)
        lines.append(
            f"| {name} | {len(members)} | {hits} ({100 * hits / len(members):.0f} %) | {100 * np.median(errors):.0f} % "
            f"| {100 * max(errors):.0f} % | {spearman(members):.3f} |"
        )
    both = [comparison for comparison in comparisons if comparison.other is not None]
    if both:
        lines += ["", *readings(both)]
    return lines


def readings(moves: Sequence[Comparison]) -> list[str]:
    """How many moves the model hits in either reading throughout, and in the one that counts, path by path."""
    queued, waited = (sum(move.hit_when(waits) for move in moves) for waits in (False, True))
    counted = sum(move.hit for move in moves)
    paths: dict[str, dict[str, bool]] = {"waited for": {}, "back to back": {}}
    for move in moves:
        paths["waited for" if move.point.number("waits") else "back to back"][path_of(move.point)] = True
    kinds = {reading: ", ".join(names) or "none" for reading, names in paths.items()}
    return [
        f"Moves, of {len(moves)} within ±25 %: {queued} with all of them read as back to back, {waited} with all as "
        f"waited for, {counted} as counted: path by path, the other reading in brackets below. Counted as "
        f"waited for are {kinds['waited for']} (other sources have loads faster in a queue; stores by analogy), back "
        f"to back {kinds['back to back']} (L0C to GM has nothing added to its rate, catlass gives rates)."
    ]


def path_of(point: Point) -> str:
    """Of a move, with whoever published it: "mskpp GM to UB"."""
    path = re.match(r"ND2NZ|\w+ to \w+", point.name)
    assert path is not None
    return f"{point.source.split()[0].rstrip(';')} {path.group()}"


def tables(comparisons: Sequence[Comparison]) -> list[str]:
    lines: list[str] = []
    for group, title in GROUPS.items():
        members = [comparison for comparison in comparisons if comparison.point.group == group]
        if members:
            columns = "Waited for | Error | Back to back | Error" if group == "move" else "Low | Middle | High | Error"
            lines += ["", f"### {title}", "", f"| Point | Published | {columns} | Source |"]
            lines += ["|---|--:|--:|--:|--:|--:|---|", *(comparison.line() for comparison in members)]
    return lines


def fingerprint() -> str:
    """Of the cost tables' figures and of the points: the document says which ones it was written for."""
    text = POINTS.read_text(encoding="utf-8")
    for name in ("instructions.csv", "machine.csv"):
        lines = (ROOT / "simulator" / "timing" / name).read_text(encoding="utf-8").splitlines()
        for row in csv.DictReader(line for line in lines if not line.startswith("#")):
            text += ",".join(value for column, value in row.items() if column not in ("source", "confidence"))
    return f"Costs and points: {zlib.crc32(text.encode()):08x}."


def write(comparisons: Sequence[Comparison]) -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    date = datetime.datetime.now(tz=datetime.timezone.utc).date().isoformat()
    body = "\n".join(
        [
            "",
            f"All modelled figures from `scripts/calibrate_timing --write`, {date}. {fingerprint()}",
            "",
            *summary(comparisons),
            *tables(comparisons),
            "",
        ]
    )
    DOCUMENT.write_text(before + BEGIN + body + END + after, encoding="utf-8")


def stale(comparisons: Sequence[Comparison], text: str) -> list[str]:
    """Lines that the document should have and has not."""
    lines = set(text.splitlines())
    return [comparison.line() for comparison in comparisons if comparison.line() not in lines]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="points whose name or group contains this")
    parser.add_argument("--quick", action="store_true", help="without the points that take minutes")
    parser.add_argument("--write", action="store_true", help="puts the tables into docs/timing.md")
    parser.add_argument("--check", action="store_true", help="a quick run; fails if docs/timing.md says otherwise")
    options = parser.parse_args()
    efforts = EFFORTS[:2] if options.quick or options.check else EFFORTS
    if options.write and (options.only or efforts != EFFORTS):
        parser.error("--write wants all points")
    points = [
        point
        for point in load_points()
        if point.effort in efforts and (options.only in point.name or options.only == point.group)
    ]
    comparisons = []
    for point in points:
        started = time.monotonic()
        comparisons.append(compare(point))
        print(f"{comparisons[-1].line()}  {time.monotonic() - started:.1f} s", flush=True)
    print("\nmodelled against published:")
    print("\n".join(summary(comparisons)))
    if options.write:
        write(comparisons)
    if options.check:
        wrong = stale(comparisons, DOCUMENT.read_text(encoding="utf-8"))
        if fingerprint() not in DOCUMENT.read_text(encoding="utf-8"):
            wrong.append(fingerprint())
        print("\n".join(["", *(f"docs/timing.md lacks: {line}" for line in wrong)]))
        return 1 if wrong else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
