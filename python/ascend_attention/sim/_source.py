# SPDX-License-Identifier: Apache-2.0
"""What a kernel's source says about itself: which kernels it has, their parameters' names, their kind.

This is a reader of text, not of C++: whatever it cannot see (macros, included files) is left to the compiler or to the
caller's own words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

KINDS = ("vector", "cube", "mix", "mix_1_1")

_COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_WORD = re.compile(r"\s*([A-Za-z_]\w*)\s*(\()?")
_MIX = re.compile(r"\b__mix__\s*\(\s*(\d)\s*,\s*(\d)\s*\)")
_TASK_TYPE = re.compile(r"\bKERNEL_TASK_TYPE_DEFAULT\s*\(\s*(\w+)\s*\)")
_MIX_KINDS = {("1", "2"): "mix", ("1", "1"): "mix_1_1", ("1", "0"): "cube", ("0", "1"): "vector"}
_TASK_KINDS = {
    "KERNEL_TYPE_AIV_ONLY": "vector",
    "KERNEL_TYPE_AIC_ONLY": "cube",
    "KERNEL_TYPE_MIX_AIV_1_0": "vector",
    "KERNEL_TYPE_MIX_AIC_1_0": "cube",
    "KERNEL_TYPE_MIX_AIC_1_1": "mix_1_1",
    "KERNEL_TYPE_MIX_AIC_1_2": "mix",
}


@dataclass(frozen=True)
class KernelText:
    """One ``__global__`` function. ``kind`` is None when its qualifiers and task type do not tell."""

    name: str
    parameters: tuple[str, ...]
    kind: str | None


def read_kernels(source: str) -> list[KernelText]:
    """The kernels of a source text, in order; a declaration counts only when there is no definition."""
    text = _COMMENT_OR_TEXT.sub(_blank, source)
    # Preprocessor lines define what __global__ means; they declare no kernel.
    text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", text, flags=re.MULTILINE)
    found: dict[str, tuple[bool, KernelText]] = {}
    for match in re.finditer(r"\b__global__\b", text):
        named = _name_after(text, match.end())
        if named is None:
            continue
        name, opening = named
        closing = _closing(text, opening)
        start = max(text.rfind(mark, 0, match.start()) for mark in ";{}") + 1
        body = _body(text, closing)
        kernel = KernelText(name, _parameter_names(text[opening + 1 : closing]), _kind(text[start:opening], body))
        if name not in found or (body and not found[name][0]):
            found[name] = (bool(body), kernel)
    return [kernel for _, kernel in found.values()]


def _blank(match: re.Match[str]) -> str:
    text = match.group()
    return text if text.startswith('"') and "\n" not in text and text == '"C"' else re.sub(r"[^\n]", " ", text)


def _name_after(text: str, position: int) -> tuple[str, int] | None:
    """The function's name and where its parameter list opens. Qualifiers such as ``__mix__(1, 2)`` are passed over."""
    while True:
        match = _WORD.match(text, position)
        if match is None:
            position = _skip_mark(text, position)
            if position < 0:
                return None
            continue
        word, bracket = match.groups()
        if bracket is None:
            position = match.end()
        elif word.startswith("__") or word in ("alignas", "noexcept"):
            position = _closing(text, match.end() - 1) + 1
        else:
            return word, match.end() - 1


def _skip_mark(text: str, position: int) -> int:
    """Past what may stand between ``__global__`` and the name besides words: pointers, attributes, "C"."""
    match = re.compile(r'\s*(\[\[.*?\]\]|"C"|[*&])', re.DOTALL).match(text, position)
    return match.end() if match else -1


def _closing(text: str, opening: int) -> int:
    depth = 0
    for position in range(opening, len(text)):
        depth += (text[position] in "([{") - (text[position] in ")]}")
        if depth == 0:
            return position
    return len(text)


def _body(text: str, closing: int) -> str:
    match = re.compile(r"\)\s*(?:noexcept\s*)?\{").match(text, closing)
    return "" if match is None else text[match.end() - 1 : _closing(text, match.end() - 1)]


def _parameter_names(text: str) -> tuple[str, ...]:
    parts, depth, start = [], 0, 0
    for position, mark in enumerate(text):
        depth += (mark in "([{<") - (mark in ")]}>")
        if mark == "," and depth == 0:
            parts.append(text[start:position])
            start = position + 1
    parts.append(text[start:])
    names = []
    for part in parts:
        words = re.findall(r"[A-Za-z_]\w*", part.split("=")[0])
        names.append(words[-1] if len(words) > 1 else "")
    return tuple(names) if text.strip() not in ("", "void") else ()


def _kind(qualifiers: str, body: str) -> str | None:
    mix = _MIX.search(qualifiers)
    if mix is not None:
        return _MIX_KINDS.get((mix.group(1), mix.group(2)))
    for word, kind in (("__vector__", "vector"), ("__cube__", "cube")):
        if re.search(rf"\b{word}\b", qualifiers):
            return kind
    task = _TASK_TYPE.search(body)
    return None if task is None else _TASK_KINDS.get(task.group(1))
