# SPDX-License-Identifier: Apache-2.0
"""The synchronisation calls that a kernel made, and where its source makes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

NAMES = ("SetFlag", "WaitFlag", "PipeBarrier", "CrossCoreSetFlag", "CrossCoreWaitFlag", "SyncAll")
_CALL = re.compile(rf"\b({'|'.join(NAMES)})\s*(<[^;()]*?>)?\s*\(")
# A constant: CubeEvent::kQuery, kFull, EVENT_ID2. What varies from call to call (slot, i) is none.
_CONSTANT = re.compile(r"\b\w+::\w+\b|\bk[A-Z]\w*\b|\b[A-Z][A-Z0-9_]{2,}\b")


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


class Sources:
    """The device code that calls come from. A build may have recorded paths relative to itself: ``roots`` are tried."""

    def __init__(self, roots: Iterable[Path] = ()) -> None:
        self._roots = tuple(roots)

    def path(self, file: str) -> Path | None:
        path = Path(file)
        within = Path(*(part for part in path.parts if part not in ("..", path.anchor)))
        return next((found for found in (path, *(root / within for root in self._roots)) if found.is_file()), None)

    def statement(self, site: Site) -> str:
        """The line and what it continues with, up to its semicolon; empty without the source."""
        lines = self._lines(site.file)
        text = " ".join(line.strip() for line in lines[site.line - 1 : site.line + 3])
        return text[: text.find(";") + 1] or text

    def constant(self, call: SyncCall) -> str | None:
        """The name that the call's argument gives its event or flag: "CubeEvent::kQuery"."""
        statement = self.statement(Site(call.file, call.line))
        for match in _CALL.finditer(statement):
            if match[1] == call.name:
                found = _CONSTANT.search(statement[match.end() :].split(";")[0])
                return found[0] if found else None
        return None

    def sites(self, files: Iterable[str]) -> set[Site]:
        """Every line of these files that makes a synchronisation call."""
        found = set()
        for file in files:
            for number, line in enumerate(self._lines(file), start=1):
                if _CALL.search(line.split("//")[0]):
                    found.add(Site(file, number))
        return found

    @cache  # noqa: B019 - one object per study
    def _lines(self, file: str) -> list[str]:
        path = self.path(file)
        return [] if path is None else path.read_text(encoding="utf-8", errors="replace").splitlines()
