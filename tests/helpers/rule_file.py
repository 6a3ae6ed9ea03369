# SPDX-License-Identifier: Apache-2.0
"""Reads tests/conformance/*_rules.txt (the format is described at the top of those files)."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

RESULTS = ("attention_out", "softmax_lse")
DEFAULT_SOC = "Ascend910B2"
_TENSOR = re.compile(r"(\w+)\[([-\d,]*)\](~?)")


@dataclass(frozen=True)
class Rule:
    line: int
    extended: bool
    verdict: str  # accept, refuse, null, later
    rule: str
    texts: dict[str, str]  # argument: its value as written
    soc: str  # the product
    words: str  # of the refusal

    def __str__(self) -> str:
        return f"{self.line}-{self.verdict}-{self.rule}"

    def bytes_needed(self) -> int:
        total = 0
        for text in self.texts.values():
            for match in _TENSOR.finditer(text):
                sizes = [int(size) for size in match[2].split(",") if size]
                # No array has such a shape, without elements either.
                if min(sizes, default=0) < 0 or math.prod(size or 1 for size in sizes) >= 1 << 60:
                    return 1 << 62
                total += math.prod(sizes) * _dtype(match[1]).itemsize
        return total

    def about_results(self) -> bool:
        return any(name in self.texts for name in RESULTS)

    def arguments(self) -> dict[str, Any]:
        """Of the functional call."""
        return {name: _value(text) for name, text in self.texts.items() if name not in RESULTS}

    def results(self) -> dict[str, Any]:
        """Those of the caller's own result tensors that the rule gives."""
        return {name: _value(self.texts[name]) for name in RESULTS if name in self.texts}


def read_rules(path: Path) -> Iterator[Rule]:
    bases: dict[str, dict[str, str]] = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line, _, expected = line.partition(" ## ")
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "base":
            bases[words[1]] = dict(word.split("=", 1) for word in words[2:])
            continue
        extended = words[0] == "extended"
        verdict, rule, base = words[extended : extended + 3]
        changes = dict(word.split("=", 1) for word in words[extended + 3 :])
        texts = {**bases[base], **changes}
        yield Rule(number, extended, verdict, rule, texts, texts.pop("soc", DEFAULT_SOC), expected)


def _value(text: str) -> Any:
    if text.startswith("["):
        return [_value(match[0]) for match in _TENSOR.finditer(text)]
    if match := _TENSOR.fullmatch(text):
        return _array(match[1], tuple(int(size) for size in match[2].split(",") if size), bool(match[3]))
    if text.startswith("{"):
        return [number for item in text.strip("{}").split(",") if item for number in _repeated(item)]
    if text in ("None", "true", "false"):
        return {"None": None, "true": True, "false": False}[text]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _repeated(item: str) -> list[int]:
    number, _, count = item.partition("*")
    return [int(number)] * int(count or 1)


def _dtype(name: str) -> np.dtype:
    if name in ("bfloat16", "float8_e4m3fn"):
        import ml_dtypes

        return np.dtype(getattr(ml_dtypes, name))
    return np.dtype(name)


def _array(dtype: str, shape: tuple[int, ...], strided: bool) -> np.ndarray:
    kind = _dtype(dtype)
    if not strided:
        return np.zeros(shape, kind)
    return np.zeros((*shape[:-1], 2 * shape[-1]), kind)[..., ::2]
