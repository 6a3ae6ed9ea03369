# SPDX-License-Identifier: Apache-2.0
"""What the documents show must work: complete examples run, links lead somewhere, variables exist."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Complete programs start with an import; other Python blocks are formulas or fragments.
EXAMPLES = [
    pytest.param(block, id=f"{document.name}-{number}")
    for document in DOCUMENTS
    for number, block in enumerate(
        re.findall(r"```python\n(import .*?)```", document.read_text(encoding="utf-8"), re.DOTALL)
    )
]
# Where a program reads a variable: C++, Python, shell. CMake options and macros look different.
VARIABLE = re.compile(
    r"""(?:[Ee]nvironment\(|getenv\(|environ\.get\(|environ\[|\$\{)["']?(ASCEND_ATTENTION_[A-Z0-9_]+)"""
)


@pytest.mark.parametrize("example", EXAMPLES)
def test_example_runs(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(example, "example", "exec"), {})
    printed = capsys.readouterr().out
    assert "precision." not in example or "pass" in printed.lower(), printed


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda document: document.name)
def test_links_lead_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8"))
    missing = [target for target in targets if "://" not in target and not (document.parent / target).exists()]
    assert missing == []


def test_environment_variables_are_few_and_documented() -> None:
    sources = [
        path
        for folder in ("python", "csrc", "op_host", "simulator", "scripts", "tests")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix in {".py", ".cpp", ".h", ".sh", ""}
    ]
    used = {name for path in sources for name in VARIABLE.findall(path.read_text(encoding="utf-8", errors="replace"))}
    table = (ROOT / "docs" / "development.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `(ASCEND_ATTENTION_\w+)`", table, re.MULTILINE))
    assert used == documented
    assert len(documented) <= 6


@pytest.mark.skipif(shutil.which("git") is None or not (ROOT / ".git").exists(), reason="needs the repository")
def test_the_first_folder_has_no_stray_files() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = {name for name in listed.splitlines() if "/" not in name}
    known = {".clang-format", ".gitignore", "CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml", "setup.py"}
    assert names <= known, "what a program printed, say"
