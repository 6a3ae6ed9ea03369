# SPDX-License-Identifier: Apache-2.0
"""Compiled kernels are kept: found again when nothing changed, built again when anything did."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ascend_attention import sim


class Counter:
    """A compiler that counts its runs."""

    def __init__(self, directory: Path) -> None:
        self.log = directory / "runs"
        self.path = directory / "counting-c++"
        self.install("1.0")

    def install(self, version: str) -> None:
        compiler = shutil.which("c++") or shutil.which("g++")
        self.path.write_text(
            f'#!/bin/sh\nif [ "$1" = --version ]; then echo "counting {version}"; exec {compiler} --version; fi\n'
            f'echo run >>"{self.log}"\nexec {compiler} "$@"\n'
        )
        self.path.chmod(0o755)

    def runs(self) -> int:
        """Since the last call."""
        count = len(self.log.read_text().splitlines()) if self.log.exists() else 0
        self.log.write_text("")
        return count


@pytest.fixture
def counter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Counter:
    monkeypatch.setenv("ASCEND_ATTENTION_CACHE", str(tmp_path / "cache"))
    made = Counter(tmp_path)
    monkeypatch.setenv("CXX", str(made.path))
    return made


SOURCE = """#include "kernel_operator.h"
#include "value.h"
__global__ __aicore__ void constant(__gm__ int32_t* y) {
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);
    *y = VALUE;
}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "value.h").write_text("#define VALUE 1\n")
    path = tmp_path / "a source.cpp"  # depfiles escape blanks
    path.write_text(SOURCE)
    return path


def value(kernel: sim.Kernel) -> int:
    return int(kernel(sim.Out(np.zeros(1, np.int32))).outputs[0][0])


def test_second_compilation_runs_no_compiler(counter: Counter, source: Path) -> None:
    first = sim.compile(source)
    assert counter.runs() == 1 and value(first) == 1
    second = sim.compile(source)
    assert counter.runs() == 0 and value(second) == 1 and second == first


def test_change_of_anything_that_matters_rebuilds(counter: Counter, source: Path) -> None:
    header = source.parent / "value.h"
    assert value(sim.compile(source)) == 1 and counter.runs() == 1
    header.write_text("#define VALUE 2\n")
    assert value(sim.compile(source)) == 2 and counter.runs() == 1
    header.write_text("#define VALUE 1\n")
    assert value(sim.compile(source)) == 1 and counter.runs() == 0  # the first build is still there
    source.write_text(SOURCE.replace("= VALUE", "= VALUE + 10"))
    assert value(sim.compile(source)) == 11 and counter.runs() == 1
    assert value(sim.compile(source, debug=True)) == 11 and counter.runs() == 1
    assert value(sim.compile(source, flags=["-DUNUSED"])) == 11 and counter.runs() == 1
    counter.install("2.0")
    assert value(sim.compile(source)) == 11 and counter.runs() == 1
    assert value(sim.compile(source)) == 11 and counter.runs() == 0


def test_old_entries_are_forgotten(counter: Counter, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ascend_attention.sim._cache._MOST_ENTRIES", 2)
    first = sim.compile(source)
    for edit in range(3):
        source.write_text(SOURCE.replace("VALUE;", f"VALUE + {edit};"))
        sim.compile(source)
    assert len(list(sim.cache_directory().glob("kernels/*/*/manifest.json"))) == 2
    assert value(first) == 1  # its library is gone from the disk, not from the process


def test_library_that_cannot_be_loaded(counter: Counter, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError("failed to map segment from shared object")

    monkeypatch.setattr("ctypes.CDLL", refuse)
    with pytest.raises(sim.CacheError, match=r"cannot be loaded: failed to map segment .*; set ASCEND_ATTENTION_CACHE"):
        sim.compile(source)


def test_both_core_types_at_once_when_the_kind_is_unknown(counter: Counter, kernels: Path) -> None:
    sim.compile(kernels / "scale.asc", "twice")
    assert counter.runs() == 2


@pytest.mark.parametrize("damage", ["truncated", "garbage", "missing", "manifest", "empty manifest", "deep manifest"])
def test_damaged_entry_is_rebuilt(damage: str, counter: Counter, source: Path) -> None:
    # Compiled elsewhere: a library that this process has loaded must not be cut under it.
    subprocess.run(
        [sys.executable, "-c", f"from ascend_attention import sim; sim.compile({str(source)!r})"], check=True
    )
    assert counter.runs() == 1
    (library,) = sim.cache_directory().glob("kernels/*/*/vector.so")
    if damage == "truncated":
        library.write_bytes(library.read_bytes()[:1000])
    elif damage == "garbage":
        data = bytearray(library.read_bytes())
        data[len(data) // 2] ^= 0xFF
        library.write_bytes(data)
    elif damage == "missing":
        library.unlink()
    else:
        library.with_name("manifest.json").write_text(
            {"empty manifest": "{}", "deep manifest": "[" * 100_000}.get(damage, "no JSON")
        )
    assert value(sim.compile(source)) == 1 and counter.runs() == 1
    assert value(sim.compile(source)) == 1 and counter.runs() == 0
    assert [path.name for path in library.parents[1].iterdir() if path.name.startswith(".")] == []


def test_failed_compilation_leaves_nothing(counter: Counter, source: Path) -> None:
    source.write_text(SOURCE.replace("VALUE;", "VALUE"))
    for _ in range(2):
        with pytest.raises(sim.CompileError):
            sim.compile(source)
        assert counter.runs() == 1
    left = [path for path in (sim.cache_directory() / "kernels").rglob("*") if path.is_file()]
    assert [path.name for path in left] == ["entry.cpp"]


def test_concurrent_processes(counter: Counter, source: Path) -> None:
    program = (
        "import sys, numpy as np\nfrom ascend_attention import sim\n"
        "kernel = sim.compile(sys.argv[1])\n"
        "assert kernel(sim.Out(np.zeros(1, np.int32))).outputs[0][0] == 1\nprint(kernel.libraries['vector'])"
    )
    command = [sys.executable, "-c", program, str(source)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    answers = [(process.communicate(timeout=120)[0], process.returncode) for process in processes]
    assert [status for _, status in answers] == [0] * 4
    assert len({path for path, _ in answers}) == 1
    assert 1 <= counter.runs() <= 4
    sim.compile(source)
    assert counter.runs() == 0


def test_source_that_changes_while_it_is_compiled(counter: Counter, source: Path) -> None:
    header = source.parent / "value.h"
    compiler = counter.path.read_text()
    # Changed after the first run has read it: that run's library must not be filed under the new content.
    changing = (
        compiler.replace("exec /", "/")
        + f'[ $(wc -l <"{counter.log}") = 1 ] && echo "#define VALUE 7" >"{header}"\ntrue\n'
    )
    counter.path.write_text(changing.replace('then echo "counting 1.0"; /', 'then echo "counting 1.0"; exec /'))
    assert value(sim.compile(source)) == 7
    assert counter.runs() >= 2


def test_directory_is_private(counter: Counter, source: Path) -> None:
    sim.compile(source)
    assert stat.S_IMODE(sim.cache_directory().stat().st_mode) == 0o700


def test_directory_that_others_can_write_is_refused(counter: Counter, source: Path) -> None:
    directory = sim.cache_directory()
    directory.mkdir()
    directory.chmod(0o777)
    with pytest.raises(sim.CacheError, match="other users can write there; set ASCEND_ATTENTION_CACHE"):
        sim.compile(source)
    assert counter.runs() == 0


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ASCEND_ATTENTION_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert sim.cache_directory() == tmp_path / "ascend_attention"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert sim.cache_directory() == tmp_path / "home" / ".cache" / "ascend_attention"
    (tmp_path / "file").touch()
    monkeypatch.setenv("ASCEND_ATTENTION_CACHE", str(tmp_path / "file" / "below"))
    with pytest.raises(sim.CacheError, match="cannot be kept"):
        sim.compile("__global__ void f() {}\n")


@pytest.mark.parametrize("name", ["with: colon #", "$(touch x) `id` ; '"])
def test_directory_of_any_name(name: str, counter: Counter, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_ATTENTION_CACHE", str(source.parent / name))
    assert value(sim.compile(source)) == 1 and counter.runs() == 1
    assert value(sim.compile(source)) == 1 and counter.runs() == 0


@pytest.mark.parametrize("name", ['a "quote"', "a\\backslash", "a\nbreak", "~there-is-no-such-user/x"])
def test_directory_that_cannot_be_named(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_ATTENTION_CACHE", name if name.startswith("~") else str(tmp_path / name))
    with pytest.raises(sim.CacheError, match=r"cannot be kept.*; set ASCEND_ATTENTION_CACHE"):
        sim.compile(SOURCE)


@pytest.mark.parametrize("name", ["kernels", "sources"])
def test_trouble_inside_the_directory(name: str, counter: Counter) -> None:
    sim.cache_directory().mkdir(mode=0o700)
    (sim.cache_directory() / name).write_text("a file where a directory should be")
    with pytest.raises(sim.CacheError, match=r"cannot be kept in .*; set ASCEND_ATTENTION_CACHE"):
        sim.compile(SOURCE.replace('#include "value.h"', "#define VALUE 1"))


def test_full_disk(counter: Counter, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(sim.CacheError, match=r"cannot be kept in .*No space left on device"):
        sim.compile(source)
    assert [path for path in sim.cache_directory().rglob("*") if path.is_file()] == []
