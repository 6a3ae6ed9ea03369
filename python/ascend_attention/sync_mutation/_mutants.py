# SPDX-License-Identifier: Apache-2.0
"""What to take out of a kernel: whole events and flags, single barriers, single halves of an event."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass

from ascend_attention.sync_mutation._calls import BARRIERS, WORDS, Site, Sources, SyncCall

PAIR, BARRIER, SINGLE = "pair", "barrier", "single"
KINDS = (PAIR, BARRIER, SINGLE)


@dataclass(frozen=True)
class Mutant:
    """A kernel without these calls."""

    kind: str
    name: str
    calls: tuple[SyncCall, ...]

    @property
    def sites(self) -> tuple[Site, ...]:
        return tuple(sorted({Site(call.file, call.line) for call in self.calls}))

    @property
    def where(self) -> str:
        """ "cube_stages.h:36, 77, 109" """
        lines: dict[str, list[str]] = {}
        for site in self.sites:
            lines.setdefault(str(site).rpartition(":")[0], []).append(str(site.line))
        return "; ".join(f"{file}:{', '.join(numbers)}" for file, numbers in lines.items())


def mutants_of(calls: Iterable[SyncCall], sources: Sources) -> list[Mutant]:
    """Every mutant of a kernel that makes these calls. What TPipe and queues do by themselves stays."""
    own = sorted({call for call in calls if not call.framework})
    paired = [call for call in own if call.name in ("SetFlag", "WaitFlag", *WORDS) or call.name.startswith("CrossCore")]
    meetings = [call for call in own if call.name == "SyncAll"]
    found = [Mutant(PAIR, _pair_name(group, sources), tuple(group)) for group in _pairs(paired, sources)]
    found += [Mutant(PAIR, "SyncAll", tuple(group)) for group in _meetings(meetings)]
    barriers = [call for call in own if call.name in BARRIERS]
    for group in _groups(barriers, lambda call: (call.file, call.line, call.name, call.source)):
        pipe = f"<PIPE_{group[0].source}>" if group[0].name == "PipeBarrier" else ""
        found.append(Mutant(BARRIER, group[0].name + pipe, tuple(group)))
    for group in _groups(paired, lambda call: (call.file, call.line, call.name, call.core, call.source, call.target)):
        found.append(Mutant(SINGLE, f"{group[0].name} of {_pair_name(group, sources)}", tuple(group)))
    return found


def _groups(calls: Iterable[SyncCall], key: Callable[[SyncCall], Hashable]) -> list[list[SyncCall]]:
    groups: defaultdict[Hashable, list[SyncCall]] = defaultdict(list)
    for call in calls:
        groups[key(call)].append(call)
    return list(groups.values())


def _channel(call: SyncCall) -> tuple[str, ...]:
    """What a set and a wait have in common: the event's pipes, or the core type that waits for the flag."""
    if call.name in WORDS:
        return ("words", WORDS[call.name])
    if not call.name.startswith("CrossCore"):
        return ("event", call.core, call.source, call.target)
    other = {"cube": "vector", "vector": "cube"}[call.core]
    crosses = call.name == "CrossCoreSetFlag" and call.mode == 2
    return ("flag", other if crosses else call.core)


def _pairs(calls: list[SyncCall], sources: Sources) -> list[list[SyncCall]]:
    """Sets and waits of one event: of one id, and of all ids that a line with a named constant uses (kQuery + i)."""
    leader: dict[Hashable, Hashable] = {}

    def lead(key: Hashable) -> Hashable:
        leader.setdefault(key, key)
        while leader[key] != key:
            key = leader[key]
        return key

    for call in calls:
        by_id = lead((_channel(call), call.id))
        name = sources.constant(call)
        if name is not None and call.name in ("SetFlag", "WaitFlag"):
            leader[lead((_channel(call), name))] = by_id
    return _groups(calls, lambda call: lead((_channel(call), call.id)))


def _meetings(calls: list[SyncCall]) -> list[list[SyncCall]]:
    """Lines that all cores meet at. Where cube and vector cores meet on different lines, nothing tells which of them
    belong together: all are one."""
    groups = _groups([call for call in calls if call.mode != 0], lambda call: (call.file, call.line))
    mixed = [call for call in calls if call.mode == 0]
    by_line = _groups(mixed, lambda call: (call.file, call.line))
    if any(len({call.core for call in group}) == 1 for group in by_line):
        return [*groups, mixed]
    return [*groups, *by_line]


def _pair_name(calls: list[SyncCall], sources: Sources) -> str:
    first = calls[0]
    if first.name in WORDS:
        return WORDS[first.name] + (f" {first.id}" if first.id >= 0 else "")
    ids = sorted({call.id for call in calls})
    names = sorted({name for call in calls if (name := sources.constant(call)) is not None})
    name = " ".join(names) if names else ", ".join(str(number) for number in ids)
    if first.name.startswith("CrossCore"):
        return f"flag {name}"
    return f"{first.source}_{first.target} {name}"
