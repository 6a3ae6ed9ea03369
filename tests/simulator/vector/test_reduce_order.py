# SPDX-License-Identifier: Apache-2.0
"""What the library's own flags order behind a reduction of a whole tensor, and what they leave to the kernel."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import errors, launch, line_of, output

SUM, EXTREME, INDEX, INDEX_OF_REPEAT, MASKED_SUM, SUM_OF_SUMS, SUM_THEN_LOAD, LOAD_THEN_SUM, STORE_THEN_SUM = range(9)
X = np.random.default_rng(4).integers(-50, 50, 1024).astype(np.float32)


def arguments(how: int) -> list:
    return [X, output(np.zeros(32, np.float32)), how]


@pytest.mark.parametrize("mode", ["fast", "checked"])
@pytest.mark.parametrize(
    ("how", "expected"),
    [(SUM, X[:256].sum()), (EXTREME, X[:256].max()), (INDEX, X[:256].max()), (MASKED_SUM, X[:256].sum())],
    ids=["sum", "extreme", "index", "masked sum"],
)
def test_v_and_mte3_may_use_the_result_at_once(how: int, expected: float, mode: str) -> None:
    args = arguments(how)
    assert launch("reduce_order", "vector", args, mode=mode)["findings"] == []
    y = args[1]["data"]
    assert y[0] == expected
    if how == INDEX:
        assert y[1:2].view(np.int32)[0] == X[:256].argmax()


@pytest.mark.parametrize(("how", "name"), [(INDEX_OF_REPEAT, "ReduceMin"), (SUM_OF_SUMS, "ReduceSum")])
def test_a_vector_instruction_at_the_end_is_not_waited_for(how: int, name: str) -> None:
    found = errors("reduce_order", "vector", arguments(how))
    assert {entry["kind"] for entry in found} == {"race"}
    line = line_of(
        "reduce_order",
        f"{name}(tiles.result, tiles.source, tiles.work, {'64, true' if how == INDEX_OF_REPEAT else '8,'}",
    )
    for reader in ("DataCopy", "Adds"):
        assert any(
            entry["text"].startswith(f"{reader} (reduce_order.cpp:")
            and f"which {name} (reduce_order.cpp:{line}) on block 0 AIV, pipe V, writes (read after write)"
            in entry["text"]
            for entry in found
        )


def test_other_pipes_do_not_wait_for_the_store() -> None:
    found = errors("reduce_order", "vector", arguments(SUM_THEN_LOAD))
    load = line_of("reduce_order", "DataCopy(tiles.result, in, 16);", 1)
    assert len(found) == 1 and found[0]["kind"] == "race"
    assert f"DataCopy (reduce_order.cpp:{load})" in found[0]["text"]
    assert "ReduceSum" in found[0]["text"] and "pipe S, writes" in found[0]["text"]


@pytest.mark.parametrize(("how", "pipe"), [(LOAD_THEN_SUM, "MTE2"), (STORE_THEN_SUM, "MTE3")])
def test_the_store_waits_for_the_vector_pipe_alone(how: int, pipe: str) -> None:
    found = errors("reduce_order", "vector", arguments(how))
    assert found[0]["kind"] == "race"
    assert "ReduceSum (reduce_order.cpp:" in found[0]["text"] and f"pipe {pipe}," in found[0]["text"]
