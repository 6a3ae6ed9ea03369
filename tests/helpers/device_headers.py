# SPDX-License-Identifier: Apache-2.0
"""What device code can call, read from the device headers after the preprocessor: the free functions of namespace
AscendC and the public member functions of its classes."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

INCLUDE = Path(__file__).resolve().parents[2] / "simulator" / "include"


@dataclass
class Surface:
    functions: set[str] = field(default_factory=set)
    types: set[str] = field(default_factory=set)
    members: dict[str, set[str]] = field(default_factory=dict)  # class -> its public member functions


def _preprocessed(core_type: str) -> str:
    """Our own headers as the compiler sees them, without comments and the contents of literals."""
    command = [os.environ.get("CXX", "c++"), "-std=c++17", "-E", f"-D{core_type}", f"-I{INCLUDE}", "-x", "c++", "-"]
    headers = "".join(f'#include "{path.name}"\n' for path in sorted(INCLUDE.glob("*.h")))
    text = subprocess.run(command, input=headers, check=True, capture_output=True, text=True).stdout
    lines = []
    ours = False
    for line in text.splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            ours = marker.group(1).startswith(str(INCLUDE / "ascendc"))
        elif ours and not line.startswith("#"):
            lines.append(line)
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', "\n".join(lines))
    return re.sub(r"'(?:[^'\\\n]|\\.)'", "' '", text)


def _without_template(head: str) -> str:
    head = head.strip()
    while head.startswith("template"):
        depth = 0
        for index, letter in enumerate(head):
            depth += (letter == "<") - (letter == ">" and head[index - 1] != "-")
            if letter == ">" and depth == 0:
                head = head[index + 1 :].strip()
                break
        else:
            return ""
    return head


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """The declarations of one scope: (text before the body or the semicolon, start and end of the body)."""
    head = start
    at = start
    parens = 0
    while at < end:
        letter = text[at]
        parens += (letter == "(") - (letter == ")")
        if letter == ";" and parens == 0:
            yield text[head:at], at, at
            head = at + 1
        elif letter == "{":
            close = _closing(text, at)
            if parens == 0 and not _is_initialiser(text[head:at]):
                yield text[head:at], at + 1, close
                head = close + 1
            at = close
        at += 1


def _is_initialiser(head: str) -> bool:
    """A brace after a name or `=` opens a value, not a body; the declaration goes on to its semicolon."""
    head = _without_template(head)
    if re.match(r"(?:inline\s+)?(?:namespace|extern|class|struct|enum|union)\b", head):
        return False
    return "(" not in head


def _closing(text: str, at: int) -> int:
    depth = 0
    for index in range(at, len(text)):
        depth += (text[index] == "{") - (text[index] == "}")
        if depth == 0:
            return index
    raise ValueError("unbalanced braces")


def _function_name(head: str) -> str | None:
    head = re.sub(r"__attribute__\s*\(\(.*?\)\)+\s*", "", _without_template(head), flags=re.S)
    if not head or re.match(r"(?:using|typedef|static_assert|friend|public|private)\b(?!\s*:)", head):
        return None
    found = re.match(r"[^()=]*?\b([A-Za-z_]\w*)\s*\(", head)
    if found is None or "operator" in head.split("(")[0] or re.match(r"__\w+__$", found.group(1)):
        return None
    return found.group(1)


def _scan(text: str, start: int, end: int, inside: bool, surface: Surface) -> None:
    for raw, body, close in _pieces(text, start, end):
        head = _without_template(raw)
        space = re.match(r"(?:inline\s+)?namespace\s*([\w:]*)", head)
        if space:
            names = space.group(1).split("::")
            # What the headers keep to themselves lies in namespaces of AscendC with a lower-case name.
            if not (inside and names[-1].islower()) and names != [""]:
                _scan(text, body, close, inside or "AscendC" in names, surface)
            continue
        kind = re.match(r"(class|struct)\s+(?:alignas\([^)]*\)\s*)?(\w+)", head)
        if kind and body != close:
            if inside:
                surface.types.add(kind.group(2))
                _scan_class(text, body, close, kind.group(2), kind.group(1) == "struct", surface)
            continue
        if inside and (name := _function_name(raw)) and not re.match(r"(?:enum|union)\b", head):
            surface.functions.add(name)


def _scan_class(text: str, start: int, end: int, name: str, public: bool, surface: Surface) -> None:
    for raw, _, _ in _pieces(text, start, end):
        labels = re.findall(r"\b(public|private|protected)\s*:", raw)
        if labels:
            public = labels[-1] == "public"
            raw = re.split(r"\b(?:public|private|protected)\s*:", raw)[-1]
        member = _function_name(raw)
        if public and member and member not in (name, f"~{name}") and f"~{name}" not in raw:
            surface.members.setdefault(name, set()).add(member)


def device_surface() -> Surface:
    surface = Surface()
    for core_type in ("__DAV_C220_CUBE__", "__DAV_C220_VEC__"):
        text = _preprocessed(core_type)
        _scan(text, 0, len(text), False, surface)
    return surface
