# SPDX-License-Identifier: Apache-2.0
"""The kernels that the timing model is compared with: they compute what they should, in order, and docs/timing.md says
about the published points what the model says today."""

from __future__ import annotations

import csv
import functools
import re

import numpy as np
import pytest
from timing import calibration

from ascend_attention import golden, sim

POINTS = calibration.load_points()
VECTOR_RESULTS = {
    "Add": np.add,
    "Max": np.maximum,
    "Mul": np.multiply,
    "Div": np.divide,
    "Exp": lambda x, y: np.exp(x),
    "Ln": lambda x, y: np.log(x),
    "Relu": lambda x, y: np.maximum(x, 0),
    "Maxs": lambda x, y: np.maximum(x, 1),
    "Muls": lambda x, y: 2 * x,
    "Rsqrt": lambda x, y: 1 / np.sqrt(x),
    "And": lambda x, y: (x.view(np.int32) & y.view(np.int32)).view(np.float32),
}


def normal(*shape: int, dtype: type = np.float16) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape, dtype=np.float32).astype(dtype)


def run(file: str, entry: str, *arguments: object, cores: int = 1, allowed: str = "none") -> np.ndarray | None:
    """One launch under all checks; warnings count, but for those of the kind that is allowed."""
    result = calibration.kernel(file, entry)(*arguments, blocks=cores, soc="Ascend910B2", mode="checked")
    assert [str(finding) for finding in result.findings if finding.kind != allowed] == []
    return result.outputs[0] if result.outputs else None


@pytest.mark.parametrize(
    ("queries", "keys", "cores", "slots"),
    [(256, 256, 2, 8), (384, 1536, 2, 5), (128, 2816, 1, 11)],
    ids=["fewer tiles than it runs ahead", "two blocks on a core, shortest ring", "no slot used twice"],
)
def test_attention(queries: int, keys: int, cores: int, slots: int) -> None:
    query, key, value = normal(queries, 128), normal(keys, 128), normal(keys + 1, 128)[1:]
    workspace = sim.Workspace(calibration.attention_workspace(cores, slots))
    output = run(
        "staged_attention", "staged_attention", query, key, value, sim.Out(np.empty((queries, 128), np.float32)),
        workspace, queries // 128, keys // 256, slots, 128**-0.5, cores=cores,
    )  # fmt: skip
    expected, _ = golden.fused_infer_attention_score_v2(
        query[None, None], key[None, None], value[None, None],
        num_query_heads=1, softmax_scale=128**-0.5, input_layout="BNSD",
    )  # fmt: skip
    np.testing.assert_allclose(output, expected[0, 0].astype(np.float32), rtol=1e-3, atol=2e-4)


@pytest.mark.parametrize(("narrow", "left", "right", "buffers"), [(0, 512, 256, 2), (1, 64, 64, 1)])
def test_matmul(narrow: int, left: int, right: int, buffers: int) -> None:
    # Two parts of C: 256 x 512, and a column of tiles that only the second core has.
    a, b = normal(256, 1024), normal(1024, 768)
    product = sim.InOut(np.zeros((256, 768), np.float16 if narrow else np.float32))
    sizes = (256, 768, 1024, 256, 512, 2)
    output = run("tiled_matmul", "tiled_matmul", a, b, product, *sizes, narrow, left, right, buffers, cores=2)
    expected = a.astype(np.float64) @ b.astype(np.float64)
    expected[:, 256:512] = 0  # the first core stops after two of its four tiles
    assert output is not None
    np.testing.assert_allclose(output.astype(np.float64), expected, rtol=1e-3 if narrow else 1e-5, atol=1e-3)


@pytest.mark.parametrize(
    ("entry", "block", "nz", "swizzle"),
    [
        ("block_matmul", (32, 48, 128, 64), 0, -3),
        ("block_matmul", (32, 64, 64, 32), 1, 2),
        ("block_matmul_float", (16, 32, 64, 64), 0, 4),
    ],
)
def test_block_matmul(entry: str, block: tuple[int, ...], nz: int, swizzle: int) -> None:
    # Blocks that C cuts short, and a core with more of them than the other.
    rows, columns, depth = 48, 208, 256
    dtype = np.float32 if entry == "block_matmul_float" else np.float16
    left, right = normal(rows, depth, dtype=dtype), normal(columns, depth, dtype=dtype)
    stored = right.reshape(columns // 16, 16, depth).transpose(0, 2, 1).copy() if nz else right
    product = sim.Out(np.empty((rows, columns), dtype))
    output = run("block_matmul", entry, left, stored, product, rows, columns, depth, *block, nz, swizzle, cores=2)
    assert output is not None
    expected = left.astype(np.float64) @ right.astype(np.float64).T
    np.testing.assert_allclose(output.astype(np.float64), expected, rtol=2e-3, atol=2e-2)


@pytest.mark.parametrize("operation", calibration.OPERATIONS)
@pytest.mark.parametrize("waits", [0, 1])
def test_vector_chain(operation: str, waits: int) -> None:
    x, y = np.abs(normal(16, 64, dtype=np.float32)) + 0.5, normal(16, 65, dtype=np.float32)[:, 1:].copy()
    number = calibration.OPERATIONS.index(operation)
    z = run("vector_chain", "vector_chain", x, y, sim.Out(np.empty_like(x)), number, 16, 4, waits)
    assert z is not None
    if operation in VECTOR_RESULTS:
        np.testing.assert_allclose(z, VECTOR_RESULTS[operation](x, y), rtol=2e-3 if operation == "Rsqrt" else 1e-5)
    elif operation == "Narrow":
        np.testing.assert_array_equal(z.ravel().view(np.float16)[: x.size], x.astype(np.float16).ravel())
    else:
        groups = x.reshape(-1, 8) if operation == "BlockReduceMax" else x
        reduce = np.sum if operation == "WholeReduceSum" else np.max
        np.testing.assert_allclose(z.ravel()[: len(groups)], reduce(groups, axis=1), rtol=1e-5)


@pytest.mark.parametrize("repeated", calibration.REPEATED)
def test_cube_chain(repeated: str) -> None:
    left, right = normal(32, 16), normal(64, 16)
    copies = 3 if repeated == "store" else 1
    product = sim.Out(np.empty((copies * 32, 64), np.float32))
    number = calibration.REPEATED.index(repeated)
    # A chain of loads writes the same data to the same place, in whatever order.
    output = run("cube_chain", "cube_chain", left, right, product, 32, 64, number, 3, 0, allowed="undocumented order")
    expected = left.astype(np.float32) @ right.astype(np.float32).T
    np.testing.assert_allclose(output, np.tile(expected, (copies, 1)), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("waits", [0, 1])
def test_move_chains(waits: int) -> None:
    source = normal(4096)

    def move(entry: str, *arguments: object) -> np.ndarray | None:
        if waits or entry == "store_ub":
            return run("move_chain", entry, *arguments, 3, waits)
        # Loads that nobody waits for write the same data to the same place: a race in checked mode, on purpose.
        result = calibration.kernel("move_chain", entry)(*arguments, 3, waits, blocks=1, mode="fast")
        return result.outputs[0] if result.outputs else None

    np.testing.assert_array_equal(move("load_ub", source, sim.Out(np.empty_like(source)), 4096), source)
    copies = move("store_ub", source, sim.Out(np.empty((3, 4096), np.float16)), 4096)
    np.testing.assert_array_equal(copies, np.tile(source, (3, 1)))
    move("load_l1", source, 4096, 0, 0)
    move("load_l1", normal(4, 1024), 2048, 4, 1024)
    move("load_l1", normal(5, 80), 320, 5, 80)  # rows that NZ rounds up


@pytest.mark.parametrize("entry", ["stream_load_ub", "stream_load_l1"])
def test_stream_load_reads_its_rows(entry: str) -> None:
    matrix = normal(16, 512)
    result = calibration.kernel("stream_load", entry)(
        matrix, 8, 512, 4, 96, 2, 3, blocks=2, soc="Ascend910B2", mode="timed"
    )
    assert [str(finding) for finding in result.findings] == []
    assert result.report.timing.middle.l2_read == 3 * matrix.nbytes
    assert result.report.timing.middle.hbm_read == matrix.nbytes
    run("stream_load", entry, matrix, 8, 512, 4, 96, 2, 3, cores=2)


def test_stream_add() -> None:
    x, y = normal(2, 3, 256), normal(2, 3, 257)[:, :, 1:].copy()
    for buffers in (1, 2):
        z = run("stream_add", "stream_add", x, y, sim.Out(np.empty_like(x)), 3, 256, buffers, cores=2)
        np.testing.assert_array_equal(z, x + y)
    z = run("stream_around_l2", "stream_around_l2", x, y, sim.Out(np.empty_like(x)), 3, 256, cores=2)
    np.testing.assert_array_equal(z, x + y)


def test_points_are_well_formed() -> None:
    assert len({point.name for point in POINTS}) == len(POINTS) > 100
    for point in POINTS:
        assert point.group in calibration.GROUPS and point.kernel in calibration.RUNS
        assert point.effort in calibration.EFFORTS and point.unit in ("us", "cycles") and point.published > 0
        assert point.source


def cost_rows(file: str) -> list[dict[str, str]]:
    path = calibration.ROOT / "simulator" / "timing" / file
    return list(csv.DictReader(line for line in path.read_text(encoding="utf-8").splitlines() if line[0] != "#"))


def instruction_names() -> set[str]:
    """Names in the instruction tables, without what tells forms apart, and those that the sources give."""
    tables = (calibration.ROOT / "simulator" / "instructions").glob("*.csv")
    lines = [line.split(",")[0] for table in tables for line in table.read_text(encoding="utf-8").splitlines()]
    sources = (calibration.ROOT / "simulator" / "src").rglob("*.cpp")
    quoted = [name for source in sources for name in re.findall(r'"([^"\n]+)"', source.read_text(encoding="utf-8"))]
    return {line.split(" (")[0] for line in lines} | set(quoted)


def test_every_cost_has_a_source_and_an_instruction() -> None:
    known = instruction_names()
    space = "(GM|L1|L0A|L0B|L0C|UB|BT|FB)"
    for row in cost_rows("instructions.csv") + cost_rows("machine.csv"):
        assert row["source"] and row["confidence"] in ("documented", "measured", "fitted", "assumed"), row
    for row in cost_rows("instructions.csv"):
        for name in row["instruction"].split(";"):
            name = re.sub(f"( |^){space}>{space}( unaligned)?$", "", name.strip())
            assert name == "" or re.fullmatch("pipe (S|V|M|MTE1|MTE2|MTE3|FIX)", name) or name in known, row
    for row in cost_rows("machine.csv"):
        low, middle, high = float(row["low"]), float(row["middle"]), float(row["high"])
        assert low >= middle >= high if "bandwidth" in row["figure"] else low <= middle <= high, row


@functools.cache
def document_lines() -> frozenset[str]:
    return frozenset(calibration.DOCUMENT.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("point", [point for point in POINTS if point.effort == "test"], ids=lambda point: point.name)
def test_document_says_what_the_model_says(point: calibration.Point) -> None:
    line = calibration.compare(point).line()
    assert line in document_lines(), "a cost has changed: scripts/calibrate_timing --write, and say why"


def test_document_was_written_for_these_costs_and_points() -> None:
    stamp = calibration.fingerprint()
    assert any(line.endswith(stamp) for line in document_lines()), "scripts/calibrate_timing --write, and say why"


def test_document_has_every_point() -> None:
    starts = [line.split("|")[1].strip() for line in document_lines() if line.count("|") == 8]
    assert {point.name for point in POINTS} <= set(starts)


def rows(columns: int) -> dict[str, list[str]]:
    """Of the document's tables with so many columns: by what stands in the first."""
    fields = [[field.strip() for field in line.strip("|").split("|")] for line in document_lines() if line[:1] == "|"]
    return {first: rest for first, *rest in fields if len(rest) == columns - 1}


def section(title: str) -> str:
    """Its text in one line."""
    text = calibration.DOCUMENT.read_text(encoding="utf-8").split(f"\n### {title}\n")[1]
    return re.sub(r"\s+", " ", re.split(r"\n##+ ", text)[0])


def test_document_names_the_groups_whose_order_is_missed() -> None:
    text = section("What is missed, and what the model cannot know")
    groups = rows(6)
    below = {group: groups[group][-1] for group in calibration.GROUPS if float(groups[group][-1]) < 0.9}
    for group, rank in below.items():
        assert f'rank correlation of the group "{group}" is {rank}, below 0.9, because of Add around L2' in text
    points = rows(7)
    rest = [points[p.name] for p in POINTS if p.group == "stream" and p.kernel != "stream_around_l2"]
    published, middle = (calibration.ranks([float(row[i].replace(",", "")) for row in rest]) for i in (0, 2))
    assert f"(without the two, {np.corrcoef(published, middle)[0, 1]:.3f})" in text


def test_sensitivity_starts_from_the_figures_of_the_bench() -> None:
    bench = (calibration.ROOT / "docs" / "performance.md").read_text(encoding="utf-8")
    now = {name: row[0] for name, row in rows(3).items() if name.startswith("engine, ")}
    shapes = {
        "B1 N16 S8192 D128": ("B1 N16 S8192 D128 bf16 none", 3),
        "B1 N1 S1024 D128": ("B1 N1 S1024 D128 bf16 none", 0),
        "64 ragged": ("B64 N8 S4096 ragged D128 bf16 causal", 3),
        "24 ragged": ("B24 N8 S1024 ragged D128 bf16 causal", 0),
    }
    assert len(now) == len(shapes)
    for start, (shape, column) in shapes.items():
        figure = next(line for line in bench.splitlines() if line.startswith(f"BNSD {shape} ")).split(shape)[1].split()
        (name,) = [name for name in now if name.startswith(f"engine, {start}")]
        assert re.sub(" (µs|%)$", "", now[name]) == figure[column].rstrip("%"), name


def test_moves_have_one_reading_for_each_path() -> None:
    moves = [point for point in POINTS if point.group == "move"]
    counted = {calibration.path_of(point): point.arguments["waits"] for point in moves}
    assert all(point.arguments["waits"] == counted[calibration.path_of(point)] for point in moves)
    waited = {path for path, waits in counted.items() if waits == "1"}
    assert waited == {"mskpp GM to UB", "mskpp GM to L1", "mskpp ND2NZ", "mskpp UB to GM"}
    assert set(counted) - waited == {"mskpp L0C to GM", "catlass ND2NZ"}


def test_summary_counts_moves_in_each_reading() -> None:
    def move(name: str, waits: int, middle: float, other: float) -> calibration.Comparison:
        point = calibration.Point(name, "move", "k", {"waits": str(waits)}, "s", 100, "us", False, "test", "who; said")
        return calibration.Comparison(point, (middle, middle, middle), (middle, middle), other)

    moves = [move("GM to UB 1 KB", 1, 100, 20), move("GM to UB 2 KB", 1, 110, 90), move("ND2NZ 4 KB", 0, 120, 200)]
    assert [[m.hit_when(waits) for m in moves] for waits in (True, False)] == [[True, True, False], [False, True, True]]
    (line,) = calibration.readings(moves)
    assert "of 3 within ±25 %: 2 with all of them read as back to back, 2 with all as waited for, 3 as counted" in line
    assert "waited for are who GM to UB (" in line and "back to back who ND2NZ (" in line
    assert line in calibration.summary(moves)


def comparison(published: float, middle: float) -> calibration.Comparison:
    point = calibration.Point("p", "cube", "k", {}, "s", published, "us", False, "test", "t")
    return calibration.Comparison(point, (middle, middle, middle), (published, middle))


def test_errors_and_ranks() -> None:
    assert comparison(100, 125).hit and not comparison(100, 126).hit and not comparison(100, 74).hit
    assert comparison(100, 126).line() == "| p | 100 | 126 | 126 | 126 | +26 % **miss** | t |"
    assert calibration.digits(0.12345) == "0.1235" and calibration.digits(12345.6) == "12,346"
    assert list(calibration.ranks([5, 1, 5, 9])) == [2.5, 1, 2.5, 4]
    same = [comparison(value, value**2) for value in (1, 2, 3, 4)]
    assert calibration.spearman(same) == pytest.approx(1)
    assert calibration.spearman([comparison(value, -value) for value in (1, 2, 3)]) == pytest.approx(-1)
    swapped = [comparison(1, 1), comparison(2, 3), comparison(3, 2)]
    assert calibration.spearman(swapped) == pytest.approx(0.5)


def test_stale_names_the_lines_that_are_missing() -> None:
    fresh, old = comparison(100, 101), comparison(100, 102)
    assert calibration.stale([fresh, old], f"text\n{fresh.line()}\n") == [old.line()]
