# SPDX-License-Identifier: Apache-2.0
"""Bounds, read-only inputs, uninitialised bytes, limits of a run, and what is left after a failure."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from kernels import SimulatorError, launch, line_of, only_error, output

MODES = ["fast", "checked"]
COUNT = 64


def arguments(which: int) -> list:
    x = np.arange(COUNT, dtype=np.float32)
    return [{"data": x, "name": "x"}, output(np.zeros_like(x)), COUNT, which]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("which", [0, 6, 12])
def test_correct_use_is_silent(which: int, mode: str) -> None:
    args = arguments(which)
    assert launch("memory_faults", "vector", args, mode=mode)["findings"] == []
    if which == 0:
        np.testing.assert_array_equal(args[1]["data"], np.arange(COUNT))
    else:
        assert np.isnan(args[1]["data"]).all()  # poisoned before the launch


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("which", "kind", "words", "line"),
    [
        (1, "bounds", ["reads bytes [32, 288)", "buffer 'x' has 256 bytes"], "DataCopy(local, source[8], count)"),
        (2, "bounds", ["writes bytes [0, 1056)", "its buffer is [0, 1024)"], "Duplicate(local, 0.0f, 264)"),
        (3, "read-only", ["buffer 'x'", "input of the kernel"], "DataCopy(source, local, count)"),
        (8, "exception", ["a host exception", "block 0 AIV"], None),
        (9, "parameter", ["exceed the memory"], "pipe.InitBuffer(guard, 192 * 1024)"),
        (10, "alignment", ["byte 4", "multiple of 32"], "Adds(local[1], local, 1.0f, 64)"),
        (11, "assert", ["count < 0"], "ASSERT(count < 0)"),
        (14, "parameter", ["more elements than the TBuf holds"], "guard.Get<float>(257)"),
        (15, "bounds", ["196352 usable bytes"], "Duplicate(top, 0.0f, 8)"),
        (19, "bounds", ["bytes [196352, 196640)"], "LocalTensor<float>(TPosition::VECCALC, 192 * 1024 - 256, 8)"),
        (16, "not modelled", ["WaitFlag<HardEvent::MTE2_V>(4)"], None),
        (17, "bounds", ["reads bytes [32, 288)"], None),
    ],
)
def test_fault_is_found(which: int, kind: str, words: list[str], line: str | None, mode: str) -> None:
    found = only_error("memory_faults", "vector", arguments(which), mode=mode)
    assert found["kind"] == kind, found["text"]
    for word in words:
        assert word in found["text"]
    if line is not None:
        assert f"(memory_faults.cpp:{line_of('memory_faults', line)})" in found["text"]


@pytest.mark.parametrize("mode", MODES)
def test_size_of_a_tensor_placed_by_hand_is_a_warning(mode: str) -> None:
    (found,) = launch("memory_faults", "vector", arguments(18), mode=mode)["findings"]
    assert (found["severity"], found["kind"]) == ("warning", "bounds")
    assert "writes bytes [4096, 4384), but the kernel declared this tensor as [4096, 4352)" in found["text"]
    assert f"(memory_faults.cpp:{line_of('memory_faults', 'VECCALC, 4096, 64')})" in found["text"]


@pytest.mark.parametrize(
    ("which", "words"),
    [
        (4, ["Adds", "UB byte 0", "nothing has defined"]),
        (5, ["DataCopy", "stores undefined bytes into output 'y'", "byte 0"]),
        (13, ["Adds", "UB byte 40", "nothing has defined"]),
    ],
)
def test_uninitialised_bytes(which: int, words: list[str]) -> None:
    found = only_error("memory_faults", "vector", arguments(which))
    assert found["kind"] == "uninitialised"
    for word in words:
        assert word in found["text"]
    assert launch("memory_faults", "vector", arguments(which), mode="fast")["findings"] == []


@pytest.mark.parametrize("mode", MODES)
def test_endless_loop_ends(mode: str) -> None:
    found = only_error("memory_faults", "vector", arguments(7), mode=mode, instruction_limit=20000)
    assert found["kind"] == "instruction limit"
    assert "20000 instructions" in found["text"] and "memory_faults.cpp:" in found["text"]


def test_endless_loop_of_one_core_ends_all() -> None:
    args = arguments(7)
    found = only_error("memory_faults", "vector", args, blocks=8, mode="fast", threads=3, instruction_limit=200000)
    assert found["kind"] == "instruction limit"


@pytest.mark.parametrize("mode", MODES)
def test_launch_after_a_failure(mode: str) -> None:
    for which in (8, 1, 3):
        with pytest.raises(SimulatorError):
            launch("memory_faults", "vector", arguments(which), mode=mode)
        args = arguments(0)
        assert launch("memory_faults", "vector", args, mode=mode)["findings"] == []
        np.testing.assert_array_equal(args[1]["data"], np.arange(COUNT))


def test_several_python_threads() -> None:
    problems: list[str] = []

    def work(index: int) -> None:
        for round_ in range(6):
            mode = MODES[(index + round_) % 2]
            args = arguments(0)
            if launch("memory_faults", "vector", args, mode=mode)["findings"]:
                problems.append("findings in a correct run")
            if not np.array_equal(args[1]["data"], np.arange(COUNT)):
                problems.append("wrong result")
            try:
                launch("memory_faults", "vector", arguments(1), mode=mode)
                problems.append("no finding")
            except SimulatorError as error:
                if len(error.findings) != 1:
                    problems.append(f"{len(error.findings)} findings")

    threads = [threading.Thread(target=work, args=(index,)) for index in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []


def test_report_counts() -> None:
    report = launch("memory_faults", "vector", arguments(0), blocks=2, mode="fast")
    assert report["blocks"] == 2 and report["soc"] == "Ascend910B2" and report["mode"] == "fast"
    assert [core["core"] for core in report["cores"]] == ["block 0 AIV", "block 1 AIV"]
    assert report["instructions"]["MTE2"] == 2 and report["instructions"]["MTE3"] == 2
    assert report["cores"][0]["instructions"]["MTE2"] == 1
    assert report["global_bytes_read"] == report["global_bytes_written"] == 2 * COUNT * 4


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"soc": "Ascend910A"}, "unknown SoC 'Ascend910A', known: Ascend910B1"),
        ({"blocks": 41, "soc": "Ascend910B3"}, "allowed on Ascend910B3: 1..40"),
        ({"blocks": 0}, "0 blocks"),
    ],
)
def test_impossible_launch(settings: dict, words: str) -> None:
    with pytest.raises(ValueError, match=words.replace("..", r"\.\.")):
        launch("memory_faults", "vector", arguments(0), **settings)


def test_overlapping_buffers_are_refused() -> None:
    x = np.arange(COUNT, dtype=np.float32)
    with pytest.raises(ValueError, match="overlap"):
        launch("memory_faults", "vector", [x, output(x), COUNT, 0])


def test_unknown_kernel() -> None:
    with pytest.raises(RuntimeError, match="no_such_kernel"):
        launch("no_such_kernel", "vector", [])
