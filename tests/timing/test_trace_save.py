# SPDX-License-Identifier: Apache-2.0
"""Chrome traces of timed launches, read by a reader that is stricter than the viewers are."""

from __future__ import annotations

import copy
import gzip
import itertools
import json
import os
import pickle
import re
import stat
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers import chrome_trace
from helpers.timed_runs import STREAM_ADD, add, attention, check_refused

import ascend_attention
from ascend_attention import AttentionError, SimulatorRun, sim


@pytest.fixture(scope="module")
def run() -> SimulatorRun:
    return attention()


@pytest.fixture(scope="module")
def whole(run: SimulatorRun, tmp_path_factory: pytest.TempPathFactory) -> chrome_trace.ReadTrace:
    path = tmp_path_factory.mktemp("trace") / "whole.json"
    saved = run.trace.save(path)
    trace = chrome_trace.read(path)
    assert (saved.path, saved.events, saved.left_out, saved.capped_at_us) == (path, trace.events, 0, None)
    return trace


def _overlap(events: list[dict[str, Any]]) -> None:
    bars = [event for event in events if event["ph"] == "X" and event["cat"] == "V"]
    bars[0]["dur"] = bars[1]["ts"] - bars[0]["ts"] + 0.001


def _finer_than_a_nanosecond(events: list[dict[str, Any]]) -> None:
    next(event for event in events if event["ph"] == "X")["ts"] += 0.0004


def _no_bar_under_an_arrow(events: list[dict[str, Any]]) -> None:
    next(event for event in events if event["ph"] == "s")["ts"] += 1e6


def _half_an_arrow(events: list[dict[str, Any]]) -> None:
    events.remove(next(event for event in events if event["ph"] == "f"))


def _one_number_for_two_arrows(events: list[dict[str, Any]]) -> None:
    first, second = [event for event in events if event["ph"] == "s"][:2]
    second["id"] = first["id"]


def _an_unknown_phase(events: list[dict[str, Any]]) -> None:
    events[0]["ph"] = "Q"


def _pipes_in_another_order(events: list[dict[str, Any]]) -> None:
    first, second = [event for event in events if event["name"] == "thread_name"][:2]
    first["args"], second["args"] = second["args"], first["args"]


@pytest.mark.parametrize(
    "damage",
    [
        _overlap,
        _finer_than_a_nanosecond,
        _no_bar_under_an_arrow,
        _half_an_arrow,
        _one_number_for_two_arrows,
        _an_unknown_phase,
        _pipes_in_another_order,
    ],
)
def test_reader_is_strict(damage: Callable[[list[dict[str, Any]]], None], run: SimulatorRun, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    run.trace.save(path)
    whole = json.loads(path.read_text())
    path.write_text(json.dumps(whole))
    chrome_trace.read(path)  # going through floats is not the damage
    damage(whole["traceEvents"])
    path.write_text(json.dumps(whole))
    with pytest.raises((AssertionError, KeyError, ValueError)):
        chrome_trace.read(path)


def test_cores_and_pipes_are_those_of_the_report(run: SimulatorRun, whole: chrome_trace.ReadTrace) -> None:
    report = run.report
    assert whole.cores == [core.core for core in report.cores]
    for core in report.cores:
        for pipe in ("V", "M", "MTE1", "MTE2", "MTE3", "FIX"):
            work = [bar for bar in whole.tracks.get((core.core, pipe), []) if bar.category != "wait"]
            # A wait or a barrier is an instruction to the report, and no work here.
            assert len(work) <= core.instructions[pipe] and bool(work) <= bool(core.instructions[pipe])
    assert ("block 0 AIC", "M") in whole.tracks and ("block 0 AIV1", "V") in whole.tracks


def test_busy_time_is_that_of_the_report(run: SimulatorRun, whole: chrome_trace.ReadTrace) -> None:
    timing = run.report.timing
    assert timing is not None
    for core in timing.cores:
        for pipe in ("V", "M", "MTE1", "MTE2", "MTE3", "FIX"):
            bars = [bar for bar in whole.tracks.get((core.core, pipe), []) if bar.category != "wait"]
            cycles = sum(float(bar.args["cycles"]) for bar in bars)
            assert cycles == pytest.approx(core.busy[pipe], abs=0.01 * len(bars) + 0.01)
            assert sum(bar.end - bar.begin for bar in bars) == pytest.approx(cycles / 1.8, abs=len(bars) + 1)
    assert max(bar.end for bar in whole.bars) <= timing.middle.microseconds * 1000


def test_instructions_say_what_and_why(whole: chrome_trace.ReadTrace) -> None:
    for (_, pipe), bars in whole.tracks.items():
        for bar in bars:
            assert bar.args["site"].rsplit(":", 1)[0].endswith((".h", ".cpp")) and bar.args["cause"]
            if bar.category == "wait":
                assert bar.name == f"wait: {bar.args['cause']}" and bar.end - bar.begin >= 2
                continue
            assert bar.args["instruction"] == bar.name and float(bar.args["cycles"]) >= 0
            if pipe != "S":
                assert bar.args["dtype"] and ">" in bar.args.get("path", ">")
                assert ("bytes" in bar.args) + ("repeats" in bar.args) + ("fractal_products" in bar.args) == 1
    (product, *_) = [bar for bar in work_of(whole, "M") if bar.name == "Mmad"]
    assert (product.name, product.args["dtype"], product.args["path"]) == ("Mmad", "float16", "L0A>L0C")
    assert product.args["fractal_products"] > 0


def work_of(trace: chrome_trace.ReadTrace, pipe: str) -> list[chrome_trace.Bar]:
    """Of all cores, without waits."""
    return [bar for (_, name), bars in trace.tracks.items() if name == pipe for bar in bars if bar.category != "wait"]


def test_paths_are_those_of_moves(whole: chrome_trace.ReadTrace) -> None:
    vector = work_of(whole, "V")
    # What fills registers or memory reads nothing: it has no path. All else on V stays within UB.
    for bar in vector:
        assert bar.args.get("path") == (None if bar.name == "Duplicate" else "UB>UB"), bar
    assert {"Duplicate", "Exp"} <= {bar.name for bar in vector}
    for pipe, ends in (("MTE2", "GM>"), ("MTE3", ">GM"), ("FIX", ">GM"), ("MTE1", "L1>"), ("M", ">L0C")):
        work = work_of(whole, pipe)
        assert work and all(ends in bar.args["path"] for bar in work), pipe


def test_waits_fill_the_gaps_and_name_who_told(whole: chrome_trace.ReadTrace) -> None:
    causes = set()
    for (core, pipe), bars in whole.tracks.items():
        for wait, work in itertools.pairwise(bars):
            if wait.category == "wait" and pipe != "S":
                assert wait.end == work.begin and work.category != "wait", (core, pipe)
                assert wait.args["cause"] == work.args["cause"]
                causes.add(wait.args["cause"])
                told = wait.args.get("waited_for", "")
                assert wait.args["cause"] not in ("other core", "flag", "barrier") or told.startswith("block ")
                assert wait.args["cause"] != "barrier" or f"{core} {pipe} " in told
                assert wait.args["cause"] != "flag" or told.startswith(core)
    assert {"flag", "barrier", "other core"} <= causes
    assert any(bar.name == "wait: other core" for bar in whole.tracks["block 0 AIC", "S"])


def test_arrows_go_from_work_to_work(whole: chrome_trace.ReadTrace) -> None:
    core_of = {id(bar): key for key, bars in whole.tracks.items() for bar in bars}
    crossing = [(core_of[id(a)], core_of[id(b)]) for kind, a, b in whole.arrows if kind == "cross-core flag"]
    inside = [(core_of[id(a)], core_of[id(b)]) for kind, a, b in whole.arrows if kind == "flag"]
    assert crossing and inside
    for (from_core, _), (to_core, _) in crossing:
        assert from_core != to_core and from_core.rsplit(" ", 1)[0] == to_core.rsplit(" ", 1)[0]
    for (from_core, from_pipe), (to_core, to_pipe) in inside:
        assert from_core == to_core and from_pipe != to_pipe
    assert (("block 0 AIC", "MTE2"), ("block 0 AIC", "MTE1")) in inside
    assert (("block 0 AIC", "MTE1"), ("block 0 AIC", "M")) in inside
    # Whoever says it waited for a flag has an arrow from that instruction, or from one told at the same time.
    heeded = {id(to) for _, _, to in whole.arrows}
    for bar in whole.bars:
        if bar.category not in ("wait", "S") and bar.args["cause"] == "flag":
            assert id(bar) in heeded, bar


def test_metadata_says_what_it_is(run: SimulatorRun, whole: chrome_trace.ReadTrace) -> None:
    about, timing = whole.metadata, run.report.timing
    assert timing is not None
    assert about["times"] == "modelled, not measured" and about["soc"] == "Ascend910B2"
    assert about["kernel"] == run.report.launches[0].kernel
    assert (about["assumption"], about["costs"]) == ("middle", "measured")
    assert float(about["cycles"]) == pytest.approx(timing.middle.cycles, abs=0.01)
    assert float(about["head_microseconds_before_0"]) == pytest.approx(timing.middle.head_microseconds, abs=0.01)
    assert about["events"] == whole.events and whole.notes == []


def test_window_keeps_what_reaches_into_it(run: SimulatorRun, whole: chrome_trace.ReadTrace, tmp_path: Path) -> None:
    path = tmp_path / "part.json"
    run.trace.save(path, start_us=1, end_us=2, cores=["block 1 AIV0", 0])
    part = chrome_trace.read(path)
    assert part.cores == ["block 0 AIC", "block 0 AIV0", "block 0 AIV1", "block 1 AIV0"]
    for key, bars in whole.tracks.items():
        expected = [bar for bar in bars if bar.begin < 2000 and bar.end > 1000] if key[0] in part.cores else []
        assert part.tracks.get(key, []) == expected
    kept = {id(bar) for bars in part.tracks.values() for bar in bars}
    assert part.arrows and all(id(a) in kept and id(b) in kept for _, a, b in part.arrows)
    assert (float(part.metadata["window_start_us"]), float(part.metadata["window_end_us"])) == (1, 2)


@pytest.fixture(scope="module")
def least(run: SimulatorRun, tmp_path_factory: pytest.TempPathFactory) -> int:
    """The smallest bound that leaves anything, as the refusal of a smaller one has it."""
    with pytest.raises(AttentionError, match=r"max_events: given 1; allowed: (\d+) and more") as refused:
        run.trace.save(tmp_path_factory.mktemp("least") / "never.json", max_events=1)
    return int(re.findall(r"(\d+) and more", str(refused.value))[0])


def test_cap_that_leaves_nothing_is_refused(run: SimulatorRun, least: int, tmp_path: Path) -> None:
    with pytest.raises(AttentionError, match=f"allowed: {least} and more"):
        run.trace.save(tmp_path / "never.json.gz", max_events=least - 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("most", [None, 700, 1500])
def test_cap_ends_all_cores_at_one_time(
    most: int | None, least: int, run: SimulatorRun, whole: chrome_trace.ReadTrace, tmp_path: Path
) -> None:
    most = least if most is None else most
    path = tmp_path / "capped.json"
    with pytest.warns(UserWarning, match=r"later ones are left out \(max_events\)"):
        saved = run.trace.save(path, max_events=most)
    part = chrome_trace.read(path)
    assert 0 < part.events == saved.events <= most and saved.left_out == whole.events - saved.events
    assert saved.capped_at_us is not None and "left out" in str(saved)
    ((when, note),) = part.notes
    cut = round(saved.capped_at_us * 1000)
    assert when == cut and note == f"capped: {saved.left_out} later events are left out (max_events)"
    assert part.metadata["events_left_out"] == saved.left_out and float(part.metadata["capped_at_us"]) * 1000 == cut
    for key, bars in whole.tracks.items():
        assert part.tracks.get(key, []) == [bar for bar in bars if bar.begin < cut]
    # One more nanosecond would have been too much.
    beyond = sum(bar.begin <= cut for bar in whole.bars) + 2 * sum(b.begin <= cut for _, _, b in whole.arrows)
    assert beyond > most


def test_no_warning_without_a_cap(run: SimulatorRun, whole: chrome_trace.ReadTrace, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        saved = run.trace.save(tmp_path / "all.json", max_events=whole.events)
    assert saved.left_out == 0 and saved.capped_at_us is None


def test_compressed_is_the_same(run: SimulatorRun, tmp_path: Path) -> None:
    for name in ("plain.json", "packed.json.gz", "again.JSON.GZ"):
        run.trace.save(tmp_path / name)
    packed = (tmp_path / "packed.json.gz").read_bytes()
    assert gzip.decompress(packed) == (tmp_path / "plain.json").read_bytes()
    assert packed == (tmp_path / "again.JSON.GZ").read_bytes()  # no name and no time in it
    assert len(packed) < (tmp_path / "plain.json").stat().st_size / 5


def test_same_bytes_for_any_number_of_threads(stream_add: sim.Kernel, tmp_path: Path) -> None:
    texts = []
    for threads in (1, 2, 3):
        add(stream_add, mode="timed", threads=threads).trace.save(tmp_path / "threads.json")
        texts.append((tmp_path / "threads.json").read_bytes())
    assert texts[0] == texts[1] == texts[2]


def test_vector_kernel(stream_add: sim.Kernel, tmp_path: Path) -> None:
    with ascend_attention.simulator(mode="timed") as run:
        result = add(stream_add)
    result.trace.save(tmp_path / "result.json")
    run.trace.save(tmp_path / "run.json")
    assert (tmp_path / "result.json").read_bytes() == (tmp_path / "run.json").read_bytes()
    trace = chrome_trace.read(tmp_path / "run.json")
    assert trace.cores == [core.core for core in result.report.cores] and len(trace.cores) == 2
    for core in trace.cores:
        sums = [bar for bar in trace.tracks[core, "V"] if bar.category != "wait"]
        assert [bar.name for bar in sums] == ["Add"] * 3
        assert [bar.args["repeats"] for bar in sums] == [4096 * 2 // 256] * 3
        loads = [bar for bar in trace.tracks[core, "MTE2"] if bar.category != "wait"]
        assert [bar.args["bytes"] for bar in loads] == [8192] * 6 and loads[0].args["path"] == "GM>UB"
    assert {kind for kind, _, _ in trace.arrows} == {"flag"}


def test_several_launches(tmp_path: Path) -> None:
    run = attention(launches=2)
    first, last = run.traces
    assert [launch.trace is not None for launch in run.report.launches] == [True, True]
    last.save(tmp_path / "last.json")
    run.trace.save(tmp_path / "trace.json")
    assert (tmp_path / "last.json").read_bytes() == (tmp_path / "trace.json").read_bytes()
    assert "attention" in repr(first) and "modelled" in repr(first)


@pytest.mark.parametrize("mode", ["fast", "checked"])
def test_other_modes_have_none(mode: str, stream_add: sim.Kernel) -> None:
    run = attention(mode=mode)
    assert run.traces == () and run.report.launches[0].trace is None
    with pytest.raises(AttentionError, match=rf"trace.*mode '{mode}'.*mode 'timed'"):
        run.trace.save("never.json")
    with pytest.raises(AttentionError, match=rf"trace.*mode '{mode}'.*mode 'timed'"):
        _ = add(stream_add, mode=mode).trace


def test_no_launch_yet() -> None:
    with ascend_attention.simulator(mode="timed") as run, pytest.raises(AttentionError, match="no launch so far"):
        _ = run.trace


def test_release_gives_memory_back(tmp_path: Path) -> None:
    run = attention()
    trace, shared = run.trace, run.report.launches[0].trace
    assert trace.nbytes > 50_000
    trace.release()
    trace.release()
    assert trace.nbytes == 0 and "released" in repr(trace) and run.report.timing is not None
    for one in (trace, shared, run.trace):
        assert one is not None
        with pytest.raises(AttentionError, match="has been released"):
            one.save(tmp_path / "never.json")
        with pytest.raises(AttentionError, match="has been released"):
            one.plot(tmp_path / "never.svg")
    assert list(tmp_path.iterdir()) == []


def test_copies(run: SimulatorRun, tmp_path: Path) -> None:
    assert run.report.to_dict()["launches"][0].keys() >= {"timing"}
    assert "trace" not in run.report.to_dict()["launches"][0]
    assert copy.deepcopy(run.report).launches[0].trace is not None
    there = pickle.loads(pickle.dumps(run))
    assert there.report == run.report
    with pytest.raises(AttentionError, match="does not travel"):
        there.trace.save(tmp_path / "never.json")


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"path": "x.txt"}, AttentionError, r"path.*'x\.txt'.*\.json or \.json\.gz"),
        ({"path": "x"}, AttentionError, "path"),
        ({"path": ".json"}, AttentionError, "path"),
        ({"path": "nul\0.json"}, AttentionError, "path"),
        ({"path": b"x.json"}, TypeError, "path"),
        ({"path": 3}, TypeError, "path"),
        ({"start_us": -1}, AttentionError, r"start_us.*-1.*0\.\."),
        ({"start_us": 1e9}, AttentionError, "start_us.*where the run ends"),
        ({"start_us": float("nan")}, AttentionError, "start_us.*nan"),
        ({"end_us": float("nan")}, AttentionError, "end_us.*nan"),
        ({"start_us": 2, "end_us": 2}, AttentionError, "end_us.*more than start_us"),
        ({"start_us": "1"}, TypeError, "start_us"),
        ({"cores": "block 99 AIC"}, AttentionError, r"cores.*'block 99 AIC'.*block 0 AIC"),
        ({"cores": 99}, AttentionError, "cores.*99"),
        ({"cores": []}, AttentionError, "cores.*none"),
        ({"cores": [1.5]}, TypeError, "cores"),
        ({"cores": True}, TypeError, "cores"),
        ({"max_events": 0}, AttentionError, "max_events.*0.*1 and more"),
        ({"max_events": 1.5}, TypeError, "max_events"),
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
    check_refused(run.trace.save, {"path": "good.json", **arguments}, error, text, tmp_path)


def _is_directory(path: Path) -> None:
    path.mkdir()


def _has_no_parent(path: Path) -> None:
    path.parent.rmdir()


def _is_a_pipe(path: Path) -> None:
    os.mkfifo(path)


@pytest.mark.parametrize("obstacle", [_is_directory, _has_no_parent, _is_a_pipe])
def test_places_that_cannot_be_written(obstacle: Callable[[Path], None], run: SimulatorRun, tmp_path: Path) -> None:
    path = tmp_path / "in" / "x.json"
    path.parent.mkdir()
    obstacle(path)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(OSError):
        run.trace.save(path)
    assert sorted(tmp_path.rglob("*")) == before


def test_failure_leaves_what_was_there(run: SimulatorRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.json.gz"
    path.write_text("before")

    def full(self: gzip.GzipFile, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(gzip.GzipFile, "write", full)
    with pytest.raises(OSError, match="No space left"):
        run.trace.save(path)
    assert path.read_text() == "before" and list(tmp_path.iterdir()) == [path]


def test_what_is_there_is_replaced(run: SimulatorRun, tmp_path: Path) -> None:
    real = tmp_path / "real" / "x.json"
    real.parent.mkdir()
    real.write_text("before")
    link = tmp_path / "link.json"
    link.symlink_to(real)
    run.trace.save(link)
    assert link.is_symlink() and chrome_trace.read(real).events
    assert list(real.parent.iterdir()) == [real]
    mask = os.umask(0o027)
    try:
        run.trace.save(tmp_path / "new.json")
    finally:
        os.umask(mask)
    assert stat.S_IMODE((tmp_path / "new.json").stat().st_mode) == 0o640


@pytest.mark.parametrize(
    "name", ["a b.json", 'q"uote\\.json', "ü.json", "new\nline.json", "\udcff.json", "-x.json", "l" * 250 + ".json"]
)
def test_names_of_files_are_only_names(name: str, run: SimulatorRun, tmp_path: Path) -> None:
    run.trace.save(tmp_path / name)
    assert os.listdir(tmp_path) == [name]
    assert chrome_trace.read(tmp_path / name).events


def test_names_in_the_source_are_data(tmp_path: Path) -> None:
    source = STREAM_ADD.read_bytes()
    name = rb"/some/where/k\"}]\\ \t<script>" + "Ж".encode() + b"\xff\xc0\x80\xed\xa0\x80" + rb"\001.cpp"
    hostile = tmp_path / "hostile.cpp"
    hostile.write_bytes(b'#line 7 "' + name + b'"\n' + source)
    result = add(sim.compile(hostile), mode="timed")
    result.trace.save(tmp_path / "hostile.json")
    trace = chrome_trace.read(tmp_path / "hostile.json")
    sites = {bar.args["site"].rsplit(":", 1)[0] for bar in trace.bars}
    assert 'k"}]\\ \t<script>Ж\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\x01.cpp' in sites
