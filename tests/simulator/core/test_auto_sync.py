# SPDX-License-Identifier: Apache-2.0
"""The synchronisation that the vendor's compiler inserts, as an option: exactly that, and nothing more."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import errors, launch, output, scratch
from test_pipe_order import cube_arguments

INSERTED = {
    1: "V, reads",
    2: "V, writes",
    3: "V_S>",
    4: "S_V>",
    5: "MTE2_S>",
    6: "S_MTE2>",
    7: "S_MTE3>",
    8: "MTE3_S>",
    9: "MTE3_S>",
    10: "V_S>",
    11: "MTE2_MTE3>",
    12: "V_S>",
}
OWN_DUTY = {
    20: "MTE2_V>",
    21: "V_MTE3>",
    22: "V_MTE2>",
    23: "MTE3_V>",
    24: "V_MTE3>",
    25: "PipeBarrier<PIPE_MTE2>",
    26: "S_MTE2>",
    27: "V_MTE3>",
    28: "MTE2_MTE3>",
}


def arguments(which: int) -> list:
    x = np.arange(64, dtype=np.float32)
    return [x, scratch(np.zeros_like(x), "y", initialised=True), which]


@pytest.mark.parametrize("which", INSERTED)
def test_what_the_compiler_inserts(which: int) -> None:
    assert launch("auto_sync", "vector", arguments(which), auto_sync=True)["findings"] == []
    found = errors("auto_sync", "vector", arguments(which))
    assert {entry["kind"] for entry in found} == {"race"}
    assert any(INSERTED[which] in entry["text"] for entry in found), found


@pytest.mark.parametrize("which", OWN_DUTY)
def test_what_stays_the_kernels_own_duty(which: int) -> None:
    found = errors("auto_sync", "vector", arguments(which), auto_sync=True)
    assert [entry["kind"] for entry in found] == ["race"]
    assert OWN_DUTY[which] in found[0]["text"], found


@pytest.mark.parametrize("defect", [5, 6])
def test_barrier_of_a_pipeline_is_inserted(defect: int) -> None:
    x = np.arange(5 * 256, dtype=np.float32)
    y = np.zeros_like(x)
    assert launch("event_pipeline", "vector", [x, output(y), 5, defect], auto_sync=True)["findings"] == []


@pytest.mark.parametrize("defect", [1, 2, 3, 4, 7, 8, 10])
def test_flags_of_a_pipeline_are_not(defect: int) -> None:
    x = np.arange(5 * 256, dtype=np.float32)
    with_it = errors("event_pipeline", "vector", [x, output(np.zeros_like(x)), 5, defect], auto_sync=True)
    without = errors("event_pipeline", "vector", [x, output(np.zeros_like(x)), 5, defect])
    assert with_it == without


@pytest.mark.parametrize("which", range(6))
def test_cube_cores_get_nothing(which: int) -> None:
    try:
        without = launch("cube_order", "cube", cube_arguments(which, False))["findings"]
    except RuntimeError:
        without = errors("cube_order", "cube", cube_arguments(which, False))
        assert errors("cube_order", "cube", cube_arguments(which, False), auto_sync=True) == without
    else:
        assert launch("cube_order", "cube", cube_arguments(which, False), auto_sync=True)["findings"] == without
    assert without != []


def test_fast_mode_accepts_it() -> None:
    """It has no checker, so that there is nothing to change."""
    for which in (1, 20):
        assert launch("auto_sync", "vector", arguments(which), mode="fast", auto_sync=True)["findings"] == []
