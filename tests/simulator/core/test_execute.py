# SPDX-License-Identifier: Apache-2.0
"""`_core.sim.execute`: the harness that the instruction tests stand on."""

from __future__ import annotations

import numpy as np
import pytest

from ascend_attention import _core

sim = _core.sim


def adds(data: np.ndarray, defined: np.ndarray | None = None, mode: str = "checked") -> tuple[list, dict]:
    target = ("ub", "float32", data.nbytes, 512)
    source = ("ub", "float32", data, 0, defined)
    one = int(np.float32(1).view(np.uint32))  # scalars travel as their bits
    return sim.execute("Adds", [target, source], {"scalarValue": one, "calCount": len(data)}, "vector", mode)


def test_result_and_state_of_bytes() -> None:
    data = np.arange(16, dtype=np.float32)
    outputs, report = adds(data)
    np.testing.assert_array_equal(outputs[0].view(np.float32), data + 1)
    assert report["findings"] == [] and report["instructions"]["V"] == 1
    assert report["defined"][0].all() and report["defined"][1].all()


def test_undefined_operand_is_found() -> None:
    data = np.arange(16, dtype=np.float32)
    defined = np.ones(64, np.uint8)
    defined[20] = 0
    with pytest.raises(_core.SimulatorError) as caught:
        adds(data, defined)
    assert caught.value.findings[0]["kind"] == "uninitialised"
    assert "UB byte 20" in caught.value.findings[0]["text"]
    assert caught.value.report.launches[0].mode == "checked"
    outputs, report = adds(data, defined, "fast")
    assert report["findings"] == []
    np.testing.assert_array_equal(outputs[0].view(np.float32), data + 1)


def test_copy_carries_undefined_bytes() -> None:
    defined = np.ones(64, np.uint8)
    defined[33] = 0
    target = ("ub", "float32", 64, 64)
    source = ("gm", "float32", np.arange(16, dtype=np.float32), 0, defined)
    outputs, report = sim.execute("DataCopy", [target, source], {"count": 16})
    np.testing.assert_array_equal(report["defined"][0], defined)
    np.testing.assert_array_equal(np.delete(outputs[0], 33), np.delete(outputs[1], 33))


def test_errors_of_the_caller_are_not_findings() -> None:
    with pytest.raises(KeyError, match="no instruction named 'Nothing'"):
        sim.execute("Nothing", [])
    with pytest.raises(ValueError, match="unknown memory 'l3'"):
        sim.execute("Adds", [("l3", "float32", 32, 0)])
    with pytest.raises(ValueError, match="allowed: fast, checked"):
        adds(np.zeros(8, np.float32), mode="slow")


def test_a_core_has_the_memories_of_its_type() -> None:
    with pytest.raises(ValueError, match="does not fit into L0C"):
        sim.execute("Adds", [("l0c", "float32", 64, 0)], {}, "vector")


def test_soc_table() -> None:
    table = sim.soc_table()
    assert table["Ascend910B2"] == 24 and table["Ascend910B4-1"] == 20 and len(table) == 12
