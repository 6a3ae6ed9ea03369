# SPDX-License-Identifier: Apache-2.0
"""What the compiler says, as the author of a kernel wants to read it: errors only, the line of the kernel first, and no
pages about the insides of the simulator's headers.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path

_HEAD = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:(?P<column>\d+):)? "
    r"(?P<kind>fatal error|error|warning|note): (?P<text>.*)$"
)
_FROM = re.compile(r"^(?:In file included from|\s+from) (?P<file>[^:\n]+):(?P<line>\d+)")
_REQUIRED = re.compile(
    r"^(?P<file>[^\s:][^:\n]*):(?P<line>\d+):(?:(?P<column>\d+):)?\s+(?:recursively )?required (?:from|by)"
)
_SCOPE = re.compile(r"^[^\s:][^:\n]*: (?:In|At) .*:$")
_LINK = re.compile(r"(?:undefined reference to|undefined symbol|multiple definition of|cannot find -l|relocation R_)")
_UNCLOSED = re.compile(r"^to match this .\{.$")
_MOST_ERRORS = 10


@dataclass(frozen=True)
class CompilerMessage:
    """One error. ``file`` and ``line`` are the kernel's own where the compiler knows them; ``column`` may be 0."""

    file: str
    line: int
    column: int
    text: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}" + (f":{self.column}" if self.column else "") if self.file else "linker"
        return f"{place}: error: {self.text}"


class CompileError(RuntimeError):
    """A kernel does not compile.

    ``str()`` begins with the first error: file, line, message.

    Attributes:
        errors: every error, in the compiler's order.
        log: all that the compiler said.
        command: how it was called.
    """

    def __init__(
        self, text: str, errors: tuple[CompilerMessage, ...] = (), log: str = "", command: tuple[str, ...] = ()
    ) -> None:
        super().__init__(text)
        self.errors = errors
        self.log = log
        self.command = command

    def __reduce__(self) -> tuple[object, ...]:
        return CompileError, (str(self), self.errors, self.log, self.command)


@dataclass(frozen=True)
class Places:
    """The directories that a reader knows by shorter names."""

    headers: Path
    entry: Path  # the generated file
    text: Path | None = None  # the file of a source that was given as text

    def is_ours(self, file: str) -> bool:
        return file.startswith(f"{self.headers}{os.sep}") or file == str(self.entry)

    def name(self, file: str) -> str:
        if file.startswith(f"{self.headers}{os.sep}"):
            return file[len(str(self.headers)) + 1 :]
        if file == str(self.entry):
            return "entry"
        if file == str(self.text):
            return os.path.basename(file)
        if not os.path.isabs(file):
            return file
        relative = os.path.relpath(file)
        return file if relative.startswith("..") else relative


@dataclass
class _Block:
    """One message of the compiler: what leads up to it, its head and what it shows below."""

    kind: str
    file: str
    line: int
    column: int
    text: str
    causes: list[tuple[str, int, int]] = field(default_factory=list)  # places that the message comes from
    shown: list[str] = field(default_factory=list)
    notes: list[_Block] = field(default_factory=list)


def read_errors(log: str, places: Places) -> tuple[tuple[CompilerMessage, ...], str]:
    """The errors of a compiler's output, and the same as text for people, without repetition."""
    blocks = _errors(log)
    if (unclosed := _unclosed(blocks, places)) is not None:
        return (unclosed,), str(unclosed)
    messages, texts, seen = [], [], set()
    for block in blocks:
        message, text = _render(block, places)
        if str(message) not in seen:
            seen.add(str(message))
            messages.append(message)
            texts.append(text)
    links = [] if messages else _link_errors(log)
    messages += links
    texts += [str(message) for message in links]
    if not messages:
        return (), log.strip()[-2000:]
    shown = "\n".join(texts[:_MOST_ERRORS])
    if len(texts) > _MOST_ERRORS:
        shown += f"\n... and {len(texts) - _MOST_ERRORS} more errors"
    return tuple(messages), shown


def _unclosed(blocks: list[_Block], places: Places) -> CompilerMessage | None:
    """A block of the kernel that is open where its file ends: all errors are then about files that follow it."""
    for note in [note for block in blocks for note in block.notes]:
        if _UNCLOSED.match(note.text) and not places.is_ours(note.file):
            if any(block.file == note.file and not block.text.startswith("expected '}'") for block in blocks):
                return None
            return CompilerMessage(places.name(note.file), note.line, note.column, "this '{' has no '}'")
    return None


def _errors(log: str) -> list[_Block]:
    errors: list[_Block] = []
    calls: list[tuple[str, int, int]] = []
    includes: list[tuple[str, int, int]] = []
    current: _Block | None = None
    for line in log.splitlines():
        head = _HEAD.match(line)
        required = _REQUIRED.match(line)
        cause = required or _FROM.match(line)
        if head is not None:
            place = (head["file"], int(head["line"]), int(head["column"] or 0))
            block = _Block(head["kind"], *place, head["text"], calls + includes)
            calls, includes = [], []
            if "error" in block.kind:
                errors.append(block)
            elif block.kind == "note" and errors and current is not None and current.kind != "warning":
                errors[-1].notes.append(block)
            elif block.kind == "note":
                block.kind = "warning"  # a warning's note is left out with it
            current = block
        elif cause is not None:
            place = (cause["file"], int(cause["line"]), int(cause.groupdict().get("column") or 0))
            # The call that needs an instantiation says more than the #include that its template came by.
            (calls if required else includes).append(place)
        elif current is not None and line.startswith(" ") and not _SCOPE.match(line):
            current.shown.append(line)
    return errors


def _render(error: _Block, places: Places) -> tuple[CompilerMessage, str]:
    """An error inside our headers is told at the kernel's line that led there."""
    mine = [place for place in error.causes if not places.is_ours(place[0])]
    # Clang puts the way to the kernel into notes.
    mine += [(note.file, note.line, note.column) for note in error.notes if not places.is_ours(note.file)]
    if places.is_ours(error.file) and mine:
        file, line, column = mine[0]
        message = CompilerMessage(places.name(file), line, column, error.text)
        lines = [f"{message}  [{places.name(error.file)}:{error.line}]"]
    else:
        message = CompilerMessage(places.name(error.file), error.line, error.column, error.text)
        lines = [str(message), *error.shown]
    left_out = 0
    told = set()
    for note in error.notes:
        if places.is_ours(note.file):
            left_out += 1
        elif (note.file, note.line, note.text) not in told:  # once, not for every overload
            told.add((note.file, note.line, note.text))
            lines.append(f"{places.name(note.file)}:{note.line}: note: {note.text}")
            lines += [] if (note.file, note.line) == (error.file, error.line) else note.shown
    if left_out:
        lines.append(f"  ({left_out} note{'s' if left_out > 1 else ''} about the simulator's headers: see .log)")
    return message, "\n".join(lines)


def _link_errors(log: str) -> list[CompilerMessage]:
    found: dict[str, None] = {}
    for line in log.splitlines():
        match = _LINK.search(line)
        if match is not None:
            found[line[match.start() :].strip()] = None
    return [CompilerMessage("", 0, 0, text) for text in found]
