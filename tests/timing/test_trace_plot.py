# SPDX-License-Identifier: Apache-2.0
"""Pictures of timed launches: valid files with the right things in them, the same for the same launch."""

from __future__ import annotations

import math
import struct
import subprocess
import sys
import xml.etree.ElementTree as ET
import zlib
from pathlib import Path

import pytest
from helpers.timed_runs import STREAM_ADD, add, attention, check_refused

from ascend_attention import AttentionError, SimulatorRun, _trace_plot, sim
from ascend_attention._trace_plot import kind_of

pytest.importorskip("matplotlib")
import matplotlib
import matplotlib.image

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def run() -> SimulatorRun:
    return attention(heads=1, length=1024)


@pytest.fixture(scope="module")
def added(stream_add: sim.Kernel) -> sim.Result:
    return add(stream_add, tiles=16, buffers=2, mode="timed")


def texts(path: Path) -> list[str]:
    root = ET.fromstring(path.read_text(encoding="utf-8"))
    assert root.tag == f"{SVG}svg"
    assert not list(root.iter(f"{SVG}script")) and not list(root.iter(f"{SVG}image"))
    return ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]


def png_size(path: Path) -> tuple[int, int]:
    """Of a file whose every chunk has the sum that it says, and no text or date in it."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    kinds, at = [], 8
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        assert struct.unpack_from(">I", data, at + 8 + length) == (zlib.crc32(kind + body),)
        kinds.append(kind)
        at += 12 + length
    assert kinds[0] == b"IHDR" and kinds[-1] == b"IEND" and set(kinds) <= {b"IHDR", b"pHYs", b"IDAT", b"IEND"}
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def test_svg_has_both_parts(run: SimulatorRun, tmp_path: Path) -> None:
    path = run.trace.plot(tmp_path / "both.svg")
    assert path == tmp_path / "both.svg" and path.stat().st_size < 400_000
    said = texts(path)
    timing = run.report.timing
    assert timing is not None
    assert any("on Ascend910B2, block 0: modelled" in text for text in said)
    assert {"AIC MTE2", "AIC MTE1", "AIC M", "AIC FIX", "AIV0 V", "AIV1 MTE3"} <= set(said)
    assert {"load", "Mmad", "vector", "store", "waits for a flag or barrier"} <= set(said)
    assert "modelled microseconds since the first instruction" in said and "cycles at 1.8 GHz" in said
    assert f"{timing.roofline.attained / 1e12:.3g} Tflop/s modelled" in "\n".join(said)
    assert f"{timing.roofline.peak / 1e12:.3g} Tflop/s: cube" in said


def test_parts(run: SimulatorRun, tmp_path: Path) -> None:
    run.trace.plot(tmp_path / "timeline.svg", parts="timeline")
    run.trace.plot(tmp_path / "roofline.svg", parts=["roofline"])
    assert "flop per byte of HBM traffic" not in texts(tmp_path / "timeline.svg")
    roofline = texts(tmp_path / "roofline.svg")
    assert "AIC M" not in roofline and "flop per byte of HBM traffic" in roofline
    assert any("modelled" in text for text in roofline)


def test_png(run: SimulatorRun, tmp_path: Path) -> None:
    run.trace.plot(tmp_path / "x.PNG")
    width, height = png_size(tmp_path / "x.PNG")
    assert width > 1500 and height > 700
    pixels = matplotlib.image.imread(tmp_path / "x.PNG")
    colours = {tuple(pixel) for pixel in (pixels[::3, ::3, :3].reshape(-1, 3) * 255).round().astype(int)}
    assert {(0xD5, 0x5E, 0x00), (0x00, 0x72, 0xB2)} <= colours  # Mmad and loads are there


def test_default_window_is_a_few_rounds_in_the_middle(added: sim.Result, tmp_path: Path) -> None:
    record = added.trace._record
    assert record is not None
    starts = [bar[3] for bar in record.draw(0, -1, [0], 1)[0] if bar[1:3] == ("V", False)]
    assert len(starts) == 16  # a tile is an Add, and each has to wait for its loads
    assert record.steady_part([0], 4) == (starts[6], starts[10])
    # As many rounds as there are not: everything.
    assert record.steady_part([0], 16) == (0, math.floor(record.describe()["cycles"] / 1.8) + 1)
    added.trace.plot(tmp_path / "x.svg")
    assert any(f"modelled, {starts[6] / 1000:.2f} to" in text for text in texts(tmp_path / "x.svg"))


def test_bars_are_those_of_the_pipes(run: SimulatorRun) -> None:
    record = run.trace._record
    timing = run.report.timing
    assert record is not None and timing is not None
    bars, _ = record.draw(0, -1, [0, 1, 2], 1)
    for core in range(3):
        for pipe in ("V", "M", "MTE2"):
            drawn = sum(end - begin for c, p, wait, begin, end, _ in bars if (c, p, wait) == (core, pipe, False))
            assert drawn == pytest.approx(timing.cores[core].busy[pipe] / 1.8, rel=0.02, abs=len(bars) / 10)
    coarse, _ = record.draw(0, -1, [0, 1, 2], 200)
    assert 0 < len(coarse) < len(bars) / 2
    for core in range(3):
        tracks: dict[str, int] = {}
        for c, pipe, _, begin, end, _ in coarse:
            if c == core:
                assert tracks.get(pipe, 0) <= begin <= end
                tracks[pipe] = end


def test_window_and_block(run: SimulatorRun, tmp_path: Path) -> None:
    run.trace.plot(tmp_path / "x.svg", start_us=2, end_us=3.5, block=1, parts="timeline")
    assert any("block 1: modelled, 2.00 to 3.50 of" in text for text in texts(tmp_path / "x.svg"))
    run.trace.plot(tmp_path / "y.svg", start_us=2, parts="timeline")
    timing = run.report.timing
    assert timing is not None
    whole = math.ceil(timing.middle.microseconds * 1000) / 1000
    assert any(f"modelled, 2.00 to {whole:.2f} of" in text for text in texts(tmp_path / "y.svg"))


def test_too_many_arrows_leave_a_note(run: SimulatorRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn(name: str) -> tuple[int, list[str]]:
        run.trace.plot(tmp_path / name, start_us=0, parts="timeline")
        styles = [str(path.get("style")) for path in ET.parse(tmp_path / name).iter(f"{SVG}path")]
        return sum("stroke: #333333" in style for style in styles), texts(tmp_path / name)

    arrows, said = drawn("all.svg")
    assert arrows > 3 and not any("not drawn" in text for text in said)
    monkeypatch.setattr(_trace_plot, "_MOST_ARROWS", 3)
    none, said = drawn("none.svg")
    (note,) = [text for text in said if "not drawn" in text]
    # An arrow is a line and a head.
    assert none == 0 and note == f"{arrows // 2} arrows (cross-core flags) not drawn: more than 3"


def test_vector_kernel(added: sim.Result, tmp_path: Path) -> None:
    added.trace.plot(tmp_path / "x.svg", block=1)
    said = texts(tmp_path / "x.svg")
    assert any("block 1: modelled" in text for text in said) and "Mmad" not in said
    assert {"AIV MTE2", "AIV V", "AIV MTE3"} <= set(said) and any("Tflop/s: vector" in text for text in said)


@pytest.mark.parametrize("name", ["x.svg", "x.png"])
def test_same_bytes_whatever_the_user_has_set(name: str, run: SimulatorRun, tmp_path: Path) -> None:
    run.trace.plot(tmp_path / name)
    first = (tmp_path / name).read_bytes()
    with matplotlib.rc_context({"axes.facecolor": "black", "font.size": 30, "svg.fonttype": "path"}):
        run.trace.plot(tmp_path / name)
        assert matplotlib.rcParams["font.size"] == 30 and matplotlib.rcParams["axes.facecolor"] == "black"
    assert (tmp_path / name).read_bytes() == first


def test_matplotlib_is_loaded_by_plot_only(tmp_path: Path) -> None:
    program = f"""
import sys
import numpy as np
from ascend_attention import sim

kernel = sim.compile({str(STREAM_ADD)!r})
source = np.ones(2 * 4096, np.float16)
result = kernel(source, source, sim.Out(np.empty_like(source)), 2, 4096, 1, mode="timed")
result.trace.save("x.json")
assert "matplotlib" not in sys.modules
result.trace.plot("x.svg")
assert "matplotlib" in sys.modules and "matplotlib.pyplot" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)


def test_without_matplotlib(run: SimulatorRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs matplotlib.*'ascend-attention\[plot\]'"):
        run.trace.plot(tmp_path / "x.svg")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"path": "x.json"}, AttentionError, r"path.*\.png or \.svg"),
        ({"path": "x.pdf"}, AttentionError, "path"),
        ({"path": 3}, TypeError, "path"),
        ({"block": 99}, AttentionError, r"plot: block: given 99; allowed: a block of the run: 0\.\.\d"),
        ({"block": -1}, AttentionError, r"plot: block: given -1;"),
        ({"block": "0"}, TypeError, "block"),
        ({"start_us": -1}, AttentionError, "start_us"),
        ({"start_us": 2, "end_us": 1}, AttentionError, "end_us"),
        ({"parts": "both"}, AttentionError, "parts.*'timeline' or 'roofline'"),
        ({"parts": []}, AttentionError, "parts"),
        ({"parts": ["timeline", "timeline"]}, AttentionError, "parts"),
        ({"parts": 3}, TypeError, "parts"),
    ],
)
def test_arguments_that_cannot_be(
    arguments: dict[str, object],
    error: type[Exception],
    text: str,
    run: SimulatorRun,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    check_refused(run.trace.plot, {"path": "good.svg", **arguments}, error, text, tmp_path)


def test_kinds() -> None:
    assert kind_of("MTE2", False, "DataCopy") == "load" and kind_of("MTE3", False, "DataCopy") == "store"
    assert (
        kind_of("V", False, "WholeReduceMax") == "vector: reduction" and kind_of("V", False, "Cast") == "vector: cast"
    )
    assert kind_of("V", False, "Exp") == "vector: exp, ln, sqrt, div" and kind_of("V", False, "Adds") == "vector"
    assert kind_of("V", True, "other core") == "waits for another core"
    assert kind_of("M", True, "full queue") == "waits for the scalar unit"
    assert kind_of("M", True, "unit flag") == "waits for a flag or barrier"
