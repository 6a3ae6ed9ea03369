# SPDX-License-Identifier: Apache-2.0
"""scripts/bench_kernels: what it counts, and that it runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ascend_attention.cli.bench_kernels import SHAPES, Shape, main, ragged_pair


@pytest.mark.parametrize(("queries", "keys"), [(5, 5), (3, 9), (9, 3)])
@pytest.mark.parametrize("mask", ["none", "causal", "band 4"])
def test_visible_pairs(queries: int, keys: int, mask: str) -> None:
    distance = np.arange(keys)[None, :] - (np.arange(queries)[:, None] + keys - queries)
    seen = {"none": distance == distance, "causal": distance <= 0, "band 4": (distance <= 0) & (distance > -4)}[mask]
    shape = Shape("test", batch=2, heads=3, length=queries, key_length=keys, mask=mask)
    assert shape.pairs() == 6 * int(seen.sum())


def test_ragged_batches_have_a_uniform_twin() -> None:
    ragged, uniform = ragged_pair(64, 4096, seed=5, quick=False)
    assert len(ragged.lengths) == ragged.batch == uniform.batch == 64 and not uniform.lengths
    assert 0.9 < ragged.pairs() / uniform.pairs() < 1.1


def test_names_are_unique() -> None:
    assert len({str(shape) for shape in SHAPES}) == len(SHAPES)


def test_table_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "figures.json"
    assert main(["--only", "N1 S128", "--quick", "--json", str(file), "--soc", "Ascend910B4"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Ascend910B4, modelled") and "B1 N1 S128 D128" in printed
    (figures,) = json.loads(file.read_text())
    times = figures["microseconds"]
    assert 0 < times["low"] <= times["middle"] <= times["high"]
    assert 0 < figures["utilisation"] < 1 and max(figures["bound"].values()) <= figures["cycles"]


def test_nothing_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "no such shape"]) == 1
    assert "target" in capsys.readouterr().out
