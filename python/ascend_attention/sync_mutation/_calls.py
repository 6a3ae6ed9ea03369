# SPDX-License-Identifier: Apache-2.0
"""The synchronisation calls that a kernel made, and where its source makes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

BARRIERS = ("PipeBarrier", "DataSyncBarrier", "DataCacheCleanAndInvalid")
# Through words in global memory, between vector cores: what the calls of one mechanism have in common.
WORDS = {"IBSet": "IB", "IBWait": "IB", "WaitPreBlock": "turn", "NotifyNextBlock": "turn"}
NAMES = ("SetFlag", "WaitFlag", "CrossCoreSetFlag", "CrossCoreWaitFlag", "SyncAll", *WORDS, *BARRIERS)
_CALL = re.compile(rf"\b({'|'.join(NAMES)})\s*(?:<[^;(){{}}]*>)?\s*\(")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
# What names an event: CubeEvent::kQuery + i, kFull, EVENT_ID2. What varies from call to call (slot, i) names none.
_CONSTANT = re.compile(r"\s*(\w+::\w+|k[A-Z]\w*|[A-Z][A-Z0-9_]{2,})\b")


@dataclass(frozen=True, order=True)
class SyncCall:
    """What one line does with one event, barrier or flag, on one core type: an entry of a report's ``sync_calls``."""

    file: str
    line: int
    name: str
    core: str
    source: str
    target: str
    mode: int
    id: int
    framework: bool

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @staticmethod
    def of(entry: Mapping[str, Any]) -> SyncCall:
        return SyncCall(**{field: entry[field] for field in SyncCall.__dataclass_fields__})


@dataclass(frozen=True, order=True)
class Site:
    """A line of source."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{Path(self.file).name}:{self.line}"


@dataclass(frozen=True)
class _Written:
    """A call in the source, from its name to its opening bracket: compilers record either line."""

    name: str
    first: int
    last: int
    constant: str | None


class Sources:
    """The device code that calls come from.

    A build may have recorded paths relative to itself, or to a directory that both it and the source are in: of such a
    path the longest end that exists below one of ``roots`` is meant.
    """

    def __init__(self, roots: Iterable[Path] = ()) -> None:
        self._roots = tuple(roots)

    def path(self, file: str) -> Path | None:
        path = Path(file)
        if path.is_absolute() and path.is_file():
            return path
        parts = [part for part in path.parts if part not in ("..", path.anchor)]
        below = (root.joinpath(*parts[skip:]) for skip in range(len(parts)) for root in self._roots)
        return next((found for found in (*below, path) if found.is_file()), None)

    def constant(self, call: SyncCall) -> str | None:
        """The name that the call's argument begins with."""
        for written in self._calls(call.file):
            if written.name == call.name and written.first <= call.line <= written.last:
                return written.constant
        return None

    def unexecuted(self, sites: Iterable[Site]) -> list[Site]:
        """The calls in the files of these sites that none of them is at."""
        lines: dict[str, set[int]] = {}
        for site in sites:
            lines.setdefault(site.file, set()).add(site.line)
        return sorted(
            Site(file, written.first)
            for file, executed in lines.items()
            for written in self._calls(file)
            if executed.isdisjoint(range(written.first, written.last + 1))
        )

    @cache  # noqa: B019 - one object per study
    def _calls(self, file: str) -> tuple[_Written, ...]:
        path = self.path(file)
        if path is None:
            return ()
        text = path.read_text(encoding="utf-8", errors="replace")
        text = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
        found = []
        for match in _CALL.finditer(text):
            first, last = (text.count("\n", 0, end) + 1 for end in match.span())
            name = _CONSTANT.match(text, match.end())
            found.append(_Written(match[1], first, last, name and name[1]))
        return tuple(found)
