# SPDX-License-Identifier: Apache-2.0
"""What device code says: printf, assertions, tensor dumps."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import SimulatorError, launch, line_of, only_error

HEAD = "[AIV Block 0/1] "


def test_text_is_in_the_report_and_not_on_stdout(capfd: pytest.CaptureFixture[str]) -> None:
    report = launch("printing", "vector", [0])
    assert report["printed"] == HEAD + "kernel says 42 of block\n" and report["findings"] == []
    assert capfd.readouterr().out == ""
    launch("printing", "vector", [0], echo=True)
    assert capfd.readouterr().out == HEAD + "kernel says 42 of block\n"


def test_conversions() -> None:
    report = launch("printing", "vector", [1])
    assert report["findings"] == []
    assert report["printed"].replace(HEAD, "").splitlines() == [
        "-1 -2 -3 1099511627776 -4",
        "200 9223372036854775808 7",
        "0.250000 3.000000 1.50",
        "123 ffffffffffffffff|   42|42   |00042|+42",
        "text x 100%",
        "1 7",
        "0x40",
        "5",
        "no argument",
    ]


def test_a_format_that_does_not_fit_its_arguments_is_a_warning() -> None:
    report = launch("printing", "vector", [2])
    printed = report["printed"].replace(HEAD, "")
    assert printed.splitlines()[:4] == ["1 and %d", "1", "%s", "%q"]
    lines = {
        line_of("printing", text) for text in ('"%d and', '"%d\\n", 1, 2', '"%s\\n", 3', '"%q', '"%*d|%100000d|%"')
    }
    assert len(report["findings"]) == len(lines) == 5
    for entry in report["findings"]:
        assert entry["severity"] == "warning" and "do not agree" in entry["text"]
        assert any(f"printf (printing.cpp:{line})" in entry["text"] for line in lines), entry["text"]


def test_text_is_bounded() -> None:
    report = launch("printing", "vector", [3])
    assert len(report["printed"]) < 1100 * 1024 and report["printed"].endswith("bytes more were not kept)\n")
    report = launch("printing", "vector", [4])
    assert report["printed"] == "" and "more than 30 KiB" in report["findings"][0]["text"]


@pytest.mark.parametrize("mode", ["fast", "checked"])
def test_endless_printing_ends_at_the_instruction_limit(mode: str) -> None:
    found = only_error("printing", "vector", [10], mode=mode, instruction_limit=1000)
    assert found["kind"] == "instruction limit"
    assert f"at printf (printing.cpp:{line_of('printing', 'again')})" in found["text"]


@pytest.mark.parametrize("mode", ["fast", "checked"])
def test_text_comes_core_after_core(mode: str) -> None:
    report = launch("printing", "mix_1_1", [0], blocks=3, mode=mode)
    heads = [line.split("]")[0] for line in report["printed"].splitlines()]
    assert heads == [f"[{core} Block {block}/3" for block in range(3) for core in ("AIC", "AIV")]
    report = launch("printing", "mix", [0], blocks=2, mode=mode)
    heads = [line.split("]")[0] for line in report["printed"].splitlines()]
    assert heads == [
        "[AIC Block 0/2", "[AIV Block 0/4", "[AIV Block 1/4", "[AIC Block 1/2", "[AIV Block 2/4", "[AIV Block 3/4",
    ]  # fmt: skip


def test_assertions_that_hold_are_silent() -> None:
    report = launch("assertions", "vector", [0])
    assert report["findings"] == [] and report["printed"] == ""


@pytest.mark.parametrize(
    ("which", "call", "condition", "text"),
    [
        (1, "assert(which != 1)", "which != 1", ""),
        (2, "ascendc_assert(which != 2", "which != 2", "which is 2, not two."),
        (3, "ASSERT(which != 3)", "which != 3", ""),
        (4, "ASCENDC_ASSERT((which != 4)", "(which != 4)", ""),
    ],
)
def test_failed_assertion(which: int, call: str, condition: str, text: str) -> None:
    line = line_of("assertions", call)
    with pytest.raises(SimulatorError) as caught:
        launch("assertions", "vector", [which])
    (found,) = caught.value.findings
    assert found["kind"] == "assert"
    assert found["text"].startswith(f"assert (assertions.cpp:{line}) on block 0 AIV: `{condition}' failed")
    assert found["text"].endswith(text)
    printed = caught.value.report.printed.splitlines()
    if which == 4:
        assert printed[0] == HEAD + "log 4"
    expected = f"[ASSERT] assertions.cpp:{line}: assertions: Assertion `{condition}' failed."
    assert printed[-1] == HEAD + expected + (f" {text}" if text else "")


@pytest.mark.parametrize(("which", "call"), [(5, "Trap();"), (6, "            trap();")])
def test_trap_ends_the_core(which: int, call: str) -> None:
    found = only_error("assertions", "vector", [which])
    assert found["text"] == f"Trap (assertions.cpp:{line_of('assertions', call)}) on block 0 AIV stops the core"


def dumped(report: dict) -> list[str]:
    return report["printed"].replace(HEAD, "").splitlines()


X = np.arange(16, dtype=np.int32)


def test_dump_of_each_memory() -> None:
    lines = dumped(launch("dumping", "vector", [X, 0]))
    assert lines[0] == "DumpTensor: desc=5, addr=0x0, data_type=int32, position=UB, dump_size=8"
    assert lines[1] == "[0, 1, 2, 3, 4, 5, 6, 7]"
    assert lines[2] == "DumpTensor: desc=6, addr=0x0 of 'argument 0', data_type=int32, position=GM, dump_size=4"
    assert lines[3] == "[0, 1, 2, 3]"
    assert lines[4] == "DumpTensor: desc=7, addr=0x20, data_type=int32, position=UB, dump_size=4"
    assert lines[5] == "[8, 9, 10, 11]" and lines[7] == "[1, 2]"
    report = launch("dumping", "cube", [X, 0])
    lines = report["printed"].splitlines()
    assert lines[0] == "[AIC Block 0/1] DumpTensor: desc=1, addr=0x20, data_type=int32, position=L1, dump_size=8"
    assert lines[1] == "[0, 1, 2, 3, 4, 5, 6, 7]" and "position=L0C" in lines[2] and report["findings"] == []


def test_dump_of_each_type() -> None:
    data = np.array([0x3F800001, 0x40000000, 1, 0, 0x01000100, 0, 2, 0] * 2, np.int32)
    lines = dumped(launch("dumping", "vector", [data, 1]))
    raw = data[:8].tobytes()
    names = ["float16", "bfloat16", "float32", "int8", "uint8", "bool", "int16", "uint16", "uint32", "int64", "uint64"]
    for index, name in enumerate(names):
        assert f"data_type={name}, position=UB" in lines[2 * index]
        if name == "bfloat16":
            wide = (np.frombuffer(raw, np.uint16).astype(np.uint32) << 16).view(np.float32)
        else:
            wide = np.frombuffer(raw, np.uint8 if name == "bool" else name)
        kind = "{:f}" if "float" in name else "{}"
        assert lines[2 * index + 1] == "[" + ", ".join(kind.format(value) for value in wide) + "]", name


def test_dump_in_a_shape() -> None:
    data = np.arange(16, dtype=np.float32).view(np.int32)
    text = launch("dumping", "vector", [data, 2])["printed"].replace(HEAD, "")
    n = [f"{value:f}" for value in range(8)]
    row, low = ",".join(n[:4]), ",".join(n[4:])
    dumps = text.split("DumpTensor: ")[1:]
    assert dumps[0].split("\n", 1)[1] == f"[[{row}],\n[{low}]]\n"
    assert dumps[1].split("\n", 1)[1] == (
        f"shape is [1, 4], dumpSize is 8, dumpSize is greater than shapeSize.\n[[{row}]]\n"
    )
    assert dumps[2].split("\n", 1)[1] == (
        f"shape is [3, 4], dumpSize is 8, data is not enough.\n[[{row}],\n[{low}],\n[-,-,-,-]]\n"
    )
    assert (
        dumps[3].split("\n", 1)[1] == f"[[[{n[0]},{n[1]}],\n[{n[2]},{n[3]}]],\n[[{n[4]},{n[5]}],\n[{n[6]},{n[7]}]]]\n"
    )


@pytest.mark.parametrize("mode", ["fast", "checked"])
@pytest.mark.parametrize(
    ("which", "core", "kind", "word"),
    [
        (3, "vector", "bounds", "its buffer ends at 64"),
        (4, "vector", "bounds", "outside every buffer"),
        (5, "vector", "alignment", "starts at byte 4, allowed: multiples of 32"),
        (7, "vector", "parameter", "lies in L0A"),
        (8, "cube", "alignment", "starts at byte 32, allowed: multiples of 64"),
    ],
)
def test_refused_dump(which: int, core: str, kind: str, word: str, mode: str) -> None:
    found = only_error("dumping", core, [X, which], mode=mode)
    assert found["kind"] == kind and word in found["text"] and "dumping.cpp:" in found["text"]


def test_dump_of_too_much_shows_nothing() -> None:
    report = launch("dumping", "vector", [X, 6])
    assert report["printed"] == "" and "more than 30 KiB" in report["findings"][0]["text"]
