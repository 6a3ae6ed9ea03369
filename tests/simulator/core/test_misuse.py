# SPDX-License-Identifier: Apache-2.0
"""Every rule of cross-core flags, TPipe, queues and scalar access, broken once."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import SimulatorError, launch, libraries, only_error

from ascend_attention import _core

MODES = ["fast", "checked"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["mix", "vector", "cube"])
def test_flags_used_correctly_are_silent(kind: str, mode: str) -> None:
    assert launch("cross_core_misuse", kind, [0], blocks=2, mode=mode)["findings"] == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("which", "core", "kind", "words"),
    [
        (1, "vector", "parameter", ["modeId is 3", "0, 1, 2"]),
        (2, "vector", "parameter", ["CrossCoreSetFlag", "flagId is 16", "0..15"]),
        (3, "vector", "parameter", ["CrossCoreWaitFlag", "flagId is 16", "0..15"]),
        (4, "vector", "parameter", ["PIPE_S and PIPE_ALL"]),
        (5, "cube", "parameter", ["PIPE_S and PIPE_ALL"]),
        (6, "vector", "parameter", ["this core has no pipe FIX"]),
        (6, "cube", "parameter", ["this core has no pipe V"]),
        (7, "vector", "parameter", ["only in mix kernels"]),
        (8, "vector", "parameter", ["only in mix kernels"]),
        (7, "mix", "parameter", ["block 0 AIC", "mode 1 is between vector cores"]),
        (9, "vector", "flag", ["sets flag 4 a sixteenth time"]),
        (10, "vector", "flag", ["flag 4", "not every participant"]),
        (12, "vector", "bounds", ["SyncAll", "the workspace lies outside every buffer"]),
    ],
)
def test_misused_flag_is_found(which: int, core: str, kind: str, words: list[str], mode: str) -> None:
    found = only_error("cross_core_misuse", core, [which], blocks=2, mode=mode, threads=1)
    assert found["kind"] == kind
    for word in [*words, "cross_core_misuse.cpp:"]:
        assert word in found["text"]


@pytest.mark.parametrize("mode", MODES)
def test_flag_15_is_a_warning(mode: str) -> None:
    findings = launch("cross_core_misuse", "vector", [11], blocks=2, mode=mode)["findings"]
    assert findings and {entry["severity"] for entry in findings} == {"warning"}
    assert "uses flag 15: older documents allow 0 to 10 only" in findings[0]["text"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("which", [0, 10, 20])
def test_resources_used_correctly_are_silent(which: int, mode: str) -> None:
    assert launch("resource_misuse", "vector", [which], mode=mode)["findings"] == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("which", "words"),
    [
        (1, "InitBuffer|a queue needs at least one buffer"),
        (2, "InitBuffer|a buffer needs at least one byte"),
        (3, "InitBuffer|a buffer cannot lie in global memory"),
        (4, "InitBuffer|TPipe manages at most 64 buffers"),
        (5, "ReleaseEventID|the id must be 0..7"),
        (6, "Get|the TBuf has no buffer: InitBuffer is missing"),
        (7, "Alloc|the memory is full"),
        (11, "AllocTensor|the queue has no buffers: InitBuffer is missing"),
        (12, "FreeTensor|the tensor's buffer is free already"),
        (13, "EnQue|the queue is full"),
        (14, "DeQue|the queue is empty"),
        (15, "DeQue|EnQue and DeQue name different positions"),
        (21, "TPipe|another TPipe is alive"),
    ],
)
def test_misused_resource_is_found(which: int, words: str, mode: str) -> None:
    found = only_error("resource_misuse", "vector", [which], mode=mode)
    name, problem = words.split("|")
    assert found["kind"] == "parameter"
    assert found["text"].startswith(f"{name} (resource_misuse.cpp:") and problem in found["text"]


@pytest.mark.parametrize("mode", MODES)
def test_releasing_an_id_that_was_only_looked_up_is_a_warning(mode: str) -> None:
    findings = launch("resource_misuse", "vector", [22], mode=mode)["findings"]
    assert [entry["severity"] for entry in findings] == ["warning"]
    assert "ReleaseEventID (resource_misuse.cpp:" in findings[0]["text"]
    assert "releases id 0 of MTE2_V, which AllocEventID has not given out" in findings[0]["text"]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("which", "words"), [(23, ["Add (", "src1 (UB float32) reads"]), (24, ["SetValue ("]), (25, ["DumpTensor ("])]
)
def test_a_tensor_that_was_only_declared_has_no_memory(which: int, words: list[str], mode: str) -> None:
    found = only_error("resource_misuse", "vector", [which], mode=mode)
    assert found["kind"] == "bounds"
    for word in [*words, "resource_misuse.cpp:", "the tensor has no memory: it was declared and never assigned"]:
        assert word in found["text"]


def scalar_arguments(which: int) -> list:
    x = np.arange(16, dtype=np.int32)
    return [{"data": x, "name": "x"}, {"data": np.zeros(16, np.int32), "name": "y", "writable": True}, which]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("core", ["vector", "cube"])
def test_scalar_access_is_silent(core: str, mode: str) -> None:
    args = scalar_arguments(0)
    assert launch("scalar_faults", core, args, mode=mode)["findings"] == []
    assert args[1]["data"][0] == 15


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("which", "core", "kind", "words"),
    [
        (1, "vector", "bounds", ["GetValue", "outside every buffer"]),
        (2, "vector", "bounds", ["SetValue", "outside every buffer"]),
        (3, "vector", "read-only", ["SetValue", "buffer 'x'"]),
        (4, "vector", "bounds", ["DataCacheCleanAndInvalid", "outside every buffer"]),
        (5, "cube", "parameter", ["GetValue", "lies in L1, it must lie in UB"]),
        (6, "cube", "parameter", ["SetValue", "lies in L1, it must lie in UB"]),
        (7, "vector", "bounds", ["DataCopy", "this core has no L1"]),
        (7, "cube", "bounds", ["DataCopy", "this core has no UB"]),
        (8, "vector", "bounds", ["DataCopy", "reads 32 bytes outside every buffer", "from the start of"]),
    ],
)
def test_scalar_fault_is_found(which: int, core: str, kind: str, words: list[str], mode: str) -> None:
    found = only_error("scalar_faults", core, scalar_arguments(which), mode=mode)
    assert found["kind"] == kind
    for word in [*words, "scalar_faults.cpp:"]:
        assert word in found["text"]


def test_launches_that_cannot_be() -> None:

    cube, vector = libraries()
    with pytest.raises(RuntimeError, match="cannot load device library"):
        _core.sim.launch("no_such_library.so", vector, "printing", "mix", 1, [0])
    with pytest.raises(ValueError, match="more than 16 arguments"):
        _core.sim.launch(cube, vector, "printing", "vector", 1, [0] * 17)


@pytest.mark.parametrize("count", [400, 437])
def test_findings_that_are_not_listed_are_counted(count: int) -> None:
    with pytest.raises(SimulatorError) as caught:
        launch("many_findings", "vector", [count])
    findings = caught.value.findings
    assert [entry["kind"] for entry in findings[:400]] == ["flag"] * 400
    more = [] if count == 400 else ["37 more findings of other lines are not listed"]
    assert [entry["text"] for entry in findings[400:]] == more
