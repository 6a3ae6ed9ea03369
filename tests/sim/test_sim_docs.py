# SPDX-License-Identifier: Apache-2.0
"""docs/kernels.md: what can be copied from it runs and prints what it says, also in a debugger."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ascend_attention

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "kernels.md").read_text(encoding="utf-8")
FILES = {
    match["name"]: match["text"]
    for match in re.finditer(r"^```\w+\n(?P<text>(?://|#) (?P<name>[\w.]+)\n.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def run(directory: Path, *command: str) -> str:
    environment = dict(os.environ, PYTHONPATH=str(Path(ascend_attention.__file__).parents[1]), PYTHONUNBUFFERED="1")
    answer = subprocess.run(command, cwd=directory, env=environment, capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return answer.stdout


def test_complete_example(directory: Path) -> None:
    assert set(FILES) == {"add.cpp", "run.py", "findings.py", "printing.py"}
    printed = run(directory, sys.executable, "run.py")
    assert re.search("add_custom +Ascend910B2 +checked +8 ", printed) and "findings: none" in printed


def test_findings_are_those_of_the_page(directory: Path) -> None:
    printed = run(directory, sys.executable, "findings.py")
    assert printed.startswith("error | race | Add (kernel.cpp:38)") and f"```\n{printed}```" in PAGE


def test_what_a_kernel_prints_is_on_the_page(directory: Path) -> None:
    printed = run(directory, sys.executable, "printing.py")
    assert "n is 4" in printed and f"```\n{printed}```" in PAGE


def test_example_in_the_tree_is_the_same_and_runs(directory: Path) -> None:
    source = (ROOT / "examples" / "own_kernel" / "add.cpp").read_text(encoding="utf-8")
    assert source.split("\n", 1)[1] == FILES["add.cpp"].split("\n", 1)[1]
    assert "findings: none" in run(directory, sys.executable, str(ROOT / "examples" / "own_kernel" / "run.py"))


@pytest.mark.skipif(shutil.which("gdb") is None, reason="gdb is not installed")
def test_debugger_session(directory: Path) -> None:
    session = PAGE[PAGE.index("$ gdb --args") :]
    session = session[: session.index("```")]
    commands = [line.removeprefix("(gdb) ") for line in session.splitlines() if line.startswith("(gdb) ")]
    commands = ["set auto-load no", "set debuginfod enabled off", "set pagination off", *commands]
    (directory / "commands").write_text("\n".join(commands) + "\n", encoding="utf-8")
    printed = run(directory, "gdb", "-q", "-nx", "-batch", "-x", "commands", "--args", sys.executable, "run.py")
    stop = printed.index("hit Breakpoint 1, add_custom (")
    after = printed[stop:]
    assert "add.cpp:38\n38\t        Add(tile_z, tile_x, tile_y, kTile);" in after, printed
    # What the page shows between the stop and the end, in its order; addresses differ.
    position = 0
    for expected in ("$1 = 512", "$2 = {bits = 15453}", "#0  add_custom (", "39\t        inputs_x.FreeTensor(tile_x);"):
        assert expected.replace("\t        ", " " * 14) in session
        position = after.index(expected, position)
    assert "findings: none" in after[position:] and "exited normally" in after
