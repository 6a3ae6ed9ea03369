# SPDX-License-Identifier: Apache-2.0
"""Reads tests/conformance/fia_kernel/*.txt and pfa_kernel/*.txt: cases of the fused operator, and of prompt flash
attention, as data.

    base NAME field=value ...            what cases have in common
    case NAME BASE field=value ...       one case, named FILE.NAME
    case NAME BASE field=a|b other=c|d   one case for each combination, named FILE.NAME-a-c and so on

Fields are those of ``FiaCase`` (helpers/fia_cases.py), ``PromptCase`` or the class that is asked for. Values: None,
true, false, a number, max (2147483647), a word; {1,2,0*3} a list of lengths, three of them 0. # begins a comment.
"""

from __future__ import annotations

import dataclasses
import itertools
from pathlib import Path
from typing import Any

from helpers.fia_cases import UNLIMITED, FiaCase
from helpers.prompt_cases import PromptCase

_WORDS = {"None": None, "true": True, "false": False, "max": UNLIMITED}
_TEXTS = {"mask_shape", "pse_shape"}  # "11SS" and "1" are words there


def read_cases(path: Path, kind_of_case: Any = None) -> list[Any]:
    kind_of_case = kind_of_case or (PromptCase if path.parent.name == "pfa_kernel" else FiaCase)
    known = {field.name for field in dataclasses.fields(kind_of_case)}
    bases: dict[str, dict[str, str]] = {}
    cases: list[Any] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        try:
            kind, name, *rest = words
            if kind not in ("base", "case"):
                raise ValueError(f"a line begins with base or case, not {kind!r}")
            base = {} if kind == "base" else bases[rest.pop(0)]
            fields = base | dict(word.split("=", 1) for word in rest)
            if unknown := fields.keys() - known:
                raise ValueError(f"no such field: {sorted(unknown)}")
            if kind == "base":
                bases[name] = fields
            else:
                cases += _combinations(kind_of_case, f"{path.stem}.{name}", fields)
        except (IndexError, KeyError, ValueError) as error:
            raise ValueError(f"{path.name}:{number}: {error!r}") from error
    names = [case.name for case in cases]
    if len(set(names)) != len(names):
        raise ValueError(f"{path.name}: two cases of one name: {sorted({n for n in names if names.count(n) > 1})}")
    return cases


def _combinations(kind: Any, name: str, fields: dict[str, str]) -> list[Any]:
    choices = {field: text.split("|") for field, text in fields.items()}
    several = [field for field, texts in choices.items() if len(texts) > 1]
    cases = []
    for texts in itertools.product(*choices.values()):
        chosen = dict(zip(choices, texts, strict=True))
        suffix = "".join(f"-{chosen[field]}" for field in several)
        values = {field: _value(field, text) for field, text in chosen.items()}
        cases.append(kind(name + suffix, **values))
    return cases


def _value(field: str, text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if text.startswith("{"):
        items = [item.partition("*") for item in text.strip("{}").split(",") if item]
        return tuple(length for item, _, count in items for length in [int(item)] * int(count or 1))
    if field not in _TEXTS:
        for number in (int, float):
            try:
                return number(text)
            except ValueError:
                continue
    return text
