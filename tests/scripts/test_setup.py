# SPDX-License-Identifier: Apache-2.0
"""The set-up scripts say what is missing and how to get it, and warn before a download of several GB."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
BASICS = ("bash", "cat", "dirname", "env", "grep", "sed")


def command(directory: Path, name: str, body: str) -> None:
    path = directory / name
    path.write_text(f"#!{shutil.which('bash')}\n{body}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A PATH with the shell's basics and a new enough Python, but no compiler."""
    for name in BASICS:
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    command(tmp_path, "uname", '[ "$1" = -m ] && echo x86_64 || echo Linux')
    command(tmp_path, "python3", "exit 0")
    return tmp_path


def run(path: Path, script: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", script],
        env={"PATH": str(path), **environment},
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize(
    "script", ["scripts/quickstart", "scripts/test", "scripts/bench_simulator", "scripts/bench_kernels"]
)
def test_missing_compiler(bare: Path, script: str) -> None:
    answer = run(bare, script)
    assert answer.returncode == 1
    assert "no C++ compiler found" in answer.stderr
    for hint in ("apt-get install g++", "dnf install gcc-c++", "conda install"):
        assert hint in answer.stderr


def test_compiler_without_cpp17(bare: Path) -> None:
    command(bare, "c++", "cat >/dev/null; exit 1")
    answer = run(bare, "scripts/quickstart")
    assert answer.returncode == 1
    assert "does not compile 64-bit C++17" in answer.stderr


def test_missing_python(bare: Path) -> None:
    answer = run(bare, "scripts/quickstart", PYTHON="python-that-is-not-there")
    assert answer.returncode == 1
    assert "no Python found (looked for 'python-that-is-not-there')" in answer.stderr
    assert "apt-get install python3" in answer.stderr


@pytest.mark.parametrize(
    ("failing", "text"),
    [
        ("version_info", "Python 3.10 or newer is needed"),
        ("ensurepip", "has no venv module"),
        ("Python.h", "has no C headers (Python.h)"),
    ],
)
def test_unfit_python(bare: Path, failing: str, text: str) -> None:
    command(bare, "python3", f'case "$*" in *{failing}*) exit 1;; esac')
    answer = run(bare, "scripts/quickstart")
    assert answer.returncode == 1
    assert text in answer.stderr
    assert "apt-get install" in answer.stderr


# Stands in for .venv/bin/python: no torch yet; pip prints what it was asked to do.
VENV_PYTHON = """
case "$*" in
    -c*) exit 1;;
    *"pip index versions torch") echo "$VERSIONS";;
    *"pip install"*) echo "PIP $*";;
esac
"""
INSTALL_TORCH = 'source scripts/lib/setup.sh; VENV="$STAND_IN"; install_torch'


@pytest.fixture
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> str:
    directory = tmp_path_factory.mktemp("venv")
    (directory / "bin").mkdir()
    command(directory / "bin", "python", VENV_PYTHON)
    return str(directory)


def test_gpu_build_is_announced_before_the_download(bare: Path, stand_in: str) -> None:
    answer = run(bare, INSTALL_TORCH, STAND_IN=stand_in, VERSIONS="2.14.0, 2.13.0")
    assert answer.returncode == 0
    notice = answer.stdout.index("several GB")
    assert notice < answer.stdout.index("ASCEND_ATTENTION_TORCH_INDEX=") < answer.stdout.index("PIP ")


def test_configured_cpu_build_is_taken_quietly(bare: Path, stand_in: str) -> None:
    answer = run(bare, INSTALL_TORCH, STAND_IN=stand_in, VERSIONS="2.14.0, 2.13.0+cpu, 2.13.0")
    assert answer.returncode == 0
    assert "several GB" not in answer.stdout
    assert "PIP " in answer.stdout


def test_chosen_index_is_used(bare: Path, stand_in: str) -> None:
    answer = run(bare, INSTALL_TORCH, STAND_IN=stand_in, ASCEND_ATTENTION_TORCH_INDEX="https://example.org/cpu")
    assert answer.returncode == 0
    assert "several GB" not in answer.stdout
    assert "--index-url https://example.org/cpu" in answer.stdout
