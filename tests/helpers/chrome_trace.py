# SPDX-License-Identifier: Apache-2.0
"""A strict reader of Chrome traces: what a viewer would drop or draw wrongly is an error here."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

TRACKS = ("S", "MTE2", "MTE1", "M", "V", "FIX", "MTE3")
FIELDS = {
    "M": {"ph", "pid", "tid", "name", "args"},
    "X": {"ph", "pid", "tid", "ts", "dur", "cat", "name", "args"},
    "s": {"ph", "pid", "tid", "ts", "id", "cat", "name"},
    "f": {"ph", "pid", "tid", "ts", "id", "cat", "name", "bp"},
    "i": {"ph", "pid", "tid", "ts", "s", "cat", "name"},
}


@dataclass(frozen=True)
class Bar:
    begin: int  # nanoseconds
    end: int
    name: str
    category: str
    args: dict[str, Any]


@dataclass
class ReadTrace:
    metadata: dict[str, Any]
    tracks: dict[tuple[str, str], list[Bar]] = field(default_factory=dict)  # by core and pipe, in the file's order
    arrows: list[tuple[str, Bar, Bar]] = field(default_factory=list)  # category, from, to
    notes: list[tuple[int, str]] = field(default_factory=list)
    events: int = 0  # bars and ends of arrows

    @property
    def cores(self) -> list[str]:
        return list(dict.fromkeys(core for core, _ in self.tracks))

    @property
    def bars(self) -> list[Bar]:
        return [bar for bars in self.tracks.values() for bar in bars]


def nanoseconds(time: Any) -> int:
    """Whole ones: a finer time would be rounded by the viewer, and bars would overlap there."""
    assert isinstance(time, Decimal), time
    scaled = time * 1000
    assert scaled == scaled.to_integral_value() and scaled >= 0, time
    return int(scaled)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    assert len(values) == len(pairs), f"a key twice: {pairs}"
    return values


def _refuse_constant(name: str) -> Any:
    raise AssertionError(f"{name} is not JSON")


def read(path: Path) -> ReadTrace:
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.name.endswith(".gz") else data).decode("utf-8")
    whole = json.loads(
        text, parse_float=Decimal, object_pairs_hook=_no_duplicates, parse_constant=_refuse_constant, strict=True
    )
    assert list(whole) == ["traceEvents", "metadata"]  # readers that stop at a key they do not know find the events
    events = whole["traceEvents"]
    for event in events:
        assert set(event) == FIELDS[event["ph"]], event
    processes, threads = _names(events)
    trace = ReadTrace(whole["metadata"])
    bars = _bars(events, processes, threads, trace)
    _arrows(events, bars, trace)
    trace.notes = [(nanoseconds(event["ts"]), event["name"]) for event in events if event["ph"] == "i"]
    trace.events = sum(event["ph"] in "Xsf" for event in events)
    return trace


def _names(events: list[dict[str, Any]]) -> tuple[dict[int, str], dict[tuple[int, int], str]]:
    processes: dict[int, str] = {}
    threads: dict[tuple[int, int], str] = {}
    order: dict[int, list[int]] = {}
    for event in (event for event in events if event["ph"] == "M"):
        pid, tid, args = event["pid"], event["tid"], event["args"]
        if event["name"] == "process_name":
            assert pid not in processes and pid > 0
            processes[pid] = args["name"]
        elif event["name"] == "thread_name":
            assert (pid, tid) not in threads
            threads[pid, tid] = args["name"]
        elif event["name"] == "thread_sort_index":
            order.setdefault(pid, []).append(args["sort_index"])
        elif event["name"] == "process_labels":
            assert "modelled" in args["labels"]
        else:
            assert event["name"] == "process_sort_index"
    assert len(set(processes.values())) == len(processes)
    numbers = [tid for _, tid in threads]
    assert len(set(numbers)) == len(numbers)
    for pid in processes:
        named = [name for (owner, _), name in threads.items() if owner == pid]
        assert named == sorted(named, key=TRACKS.index) and len(set(named)) == len(named)
        assert order.get(pid, []) == sorted(order.get(pid, [])) and len(order.get(pid, [])) == len(named)
    return processes, threads


def _bars(
    events: list[dict[str, Any]], processes: dict[int, str], threads: dict[tuple[int, int], str], trace: ReadTrace
) -> dict[tuple[int, int], list[Bar]]:
    bars: dict[tuple[int, int], list[Bar]] = {}
    for event in (event for event in events if event["ph"] == "X"):
        key = event["pid"], event["tid"]
        begin = nanoseconds(event["ts"])
        bar = Bar(begin, begin + nanoseconds(event["dur"]), event["name"], event["cat"], event["args"])
        track = bars.setdefault(key, [])
        assert not track or track[-1].end <= bar.begin, (track[-1], bar)
        assert bar.category in (threads[key], "wait")
        track.append(bar)
    for key, track in bars.items():
        trace.tracks[processes[key[0]], threads[key]] = track
    assert set(threads) == set(bars)  # no empty tracks
    return bars


def _arrows(events: list[dict[str, Any]], bars: dict[tuple[int, int], list[Bar]], trace: ReadTrace) -> None:
    started: dict[int, tuple[dict[str, Any], Bar]] = {}
    seen_bars = False
    for event in events:
        seen_bars = seen_bars or event["ph"] in "sf"
        assert not (seen_bars and event["ph"] == "X")  # a bar stands before the arrows that are tied to it
        if event["ph"] not in "sf":
            continue
        time = nanoseconds(event["ts"])
        (bar,) = [bar for bar in bars[event["pid"], event["tid"]] if bar.begin <= time < bar.end]
        assert bar.category != "wait"
        if event["ph"] == "s":
            assert event["id"] not in started
            started[event["id"]] = event, bar
            continue
        begin, source = started[event["id"]]
        assert (begin["cat"], begin["name"]) == (event["cat"], event["name"]) and event["bp"] == "e"
        assert nanoseconds(begin["ts"]) <= time and time == bar.begin and source.end <= bar.begin
        trace.arrows.append((event["cat"], source, bar))
    assert len(trace.arrows) == len(started)
