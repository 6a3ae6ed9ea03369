# SPDX-License-Identifier: Apache-2.0
"""The C++ compiler: which one, how it is called, what it is called with."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
HEADERS = PACKAGE / "include"

_CANDIDATES = ("c++", "g++", "clang++")
_HINTS = """
  Debian, Ubuntu: sudo apt-get install g++
  Fedora:         sudo dnf install gcc-c++
  conda:          conda install -c conda-forge cxx-compiler
  Another compiler: set CXX to its path"""

# As the device libraries of this package are compiled (cmake/device_libraries.cmake), but for -Og: a kernel compiles in
# less than half the time of -O3, a debugger stops on every statement (on some it does not with -O1), and launches of
# small tiles, the worst case, take 1.1 (checked) to 1.5 times (fast) as long; with -O0 twice to three times.
_FLAGS = (
    *("-std=c++17", "-fPIC", "-shared", "-fvisibility=hidden", "-fvisibility-inlines-hidden"),
    *("-ffp-contract=off", "-fno-strict-aliasing", "-Wno-unknown-pragmas", "-Wl,-z,defs"),
    "-Wl,--wrap=__gxx_personality_v0",  # include/machine/personality.h
    "-Wl,-Bsymbolic",  # a kernel may be called "index", as a function of the C library is
)
_OPTIMISED = ("-Og", "-g")
_DEBUG = ("-O0", "-g3")
_ARCHITECTURE = ("-D__CCE_AICORE__=220", "-D__DAV_C220__")
_CORE_TYPE = {
    "cube": ("-D__DAV_C220_CUBE__", "-D__DAV_CUBE__"),
    "vector": ("-D__DAV_C220_VEC__", "-D__DAV_VEC__"),
}
# What GCC and Clang read from the environment and a result depends on.
_ENVIRONMENT = ("CPATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX")


# What a trial of loading does. An OSError is told by the process that means to use the library.
_LOAD = """
import ctypes, os, sys
try:
    for path in sys.argv[1:]:
        ctypes.CDLL(path, mode=os.RTLD_NOW)
except OSError:
    pass
os.write(1, b"survived")
os._exit(0)
"""
_LOAD_SECONDS = 60


class CompilerNotFoundError(RuntimeError):
    """There is no C++ compiler, or $CXX is none; the text says how to get one."""


@dataclass(frozen=True)
class Compiler:
    command: tuple[str, ...]  # $CXX may hold arguments, as in "ccache g++"
    identity: str  # changes when another compiler, or another release of it, answers to the command

    @property
    def own_flags(self) -> tuple[str, ...]:
        """A frame larger than the guard area below a core's stack would step over it; with the probes it touches every
        page. Clang knows them since release 11. And it makes one throw of several, which then has the line of none.
        """
        clang = re.search(r"clang version (\d+)", self.identity)
        probes = ("-fstack-clash-protection",) if clang is None or int(clang.group(1)) >= 11 else ()
        return probes if clang is None else (*probes, "-mllvm", "-enable-tail-merge=false")


def find_compiler() -> Compiler:
    """$CXX, else the first of c++, g++ and clang++.

    Raises:
        CompilerNotFoundError: none of them, or it does not run.
    """
    given = os.environ.get("CXX", "").strip()
    try:
        names = [shlex.split(given)] if given else [[name] for name in _CANDIDATES]
    except ValueError as error:
        raise CompilerNotFoundError(f"a kernel needs a C++17 compiler; CXX is {given!r}: {error}.{_HINTS}") from error
    for command in names:
        path = shutil.which(command[0])
        if path is not None:
            stat = os.stat(path)
            return Compiler(tuple(command), _identity(tuple(command), path, stat.st_mtime_ns, stat.st_size))
    looked = f"CXX is {given!r}, and there is no such program" if given else "looked for " + ", ".join(_CANDIDATES)
    raise CompilerNotFoundError(f"a kernel needs a C++17 compiler, and none was found ({looked}).{_HINTS}")


@lru_cache(maxsize=8)
def _identity(command: tuple[str, ...], path: str, changed: int, size: int) -> str:
    answer = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        text = f"'{shlex.join(command)} --version' failed: {answer.stderr.strip()[:200]}"
        raise CompilerNotFoundError(f"a kernel needs a C++17 compiler; {text}.{_HINTS}")
    return f"{path}\n{answer.stdout}"


def arguments(
    core_type: str, include_dirs: Sequence[Path], defines: Sequence[str], flags: Sequence[str], debug: bool
) -> list[str]:
    """The compiler's arguments for one core type, but for input and outputs."""
    return [
        *_FLAGS,
        *(_DEBUG if debug else _OPTIMISED),
        *_ARCHITECTURE,
        *_CORE_TYPE[core_type],
        *(f"-D{define}" for define in defines),
        *(f"-I{directory}" for directory in include_dirs),
        f"-I{HEADERS}",
        *flags,
    ]


def environment_key() -> dict[str, str]:
    """The part of the environment that belongs to the key of a build."""
    return {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}


@dataclass(frozen=True)
class Compilation:
    """One run of the compiler. ``text`` is what it said."""

    command: tuple[str, ...]
    status: int
    text: str


def run_compiler(commands: Sequence[Sequence[str]], directory: Path) -> list[Compilation]:
    """Runs them side by side; the compiler speaks English, whatever the user's language: its words are read."""
    environment = dict(os.environ, LC_ALL="C")

    def run(command: Sequence[str]) -> Compilation:
        try:
            answer = subprocess.run(
                command,
                cwd=directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                check=False,
            )
        except OSError as error:
            raise CompilerNotFoundError(f"the compiler could not be started: {error}") from error
        return Compilation(tuple(command), answer.returncode, answer.stdout.decode("utf-8", "replace"))

    if len(commands) == 1:
        return [run(commands[0])]
    with ThreadPoolExecutor(len(commands)) as pool:
        return list(pool.map(run, commands))


def fate_of_loading(libraries: Sequence[Path]) -> str:
    """How a process ends that loads these libraries; "" when it survives. Constructors of global objects run then, and
    nothing can stop one that crashes, throws or never returns but a process of its own.
    """
    if not sys.executable or getattr(sys, "frozen", False):
        return ""  # no interpreter to try with
    command = [sys.executable, "-I", "-S", "-c", _LOAD, str(PACKAGE / "libascend_attention.so"), *map(str, libraries)]
    try:
        answer = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_LOAD_SECONDS
        )
    except subprocess.TimeoutExpired:
        return f"not loaded after {_LOAD_SECONDS} s"
    except OSError:
        return ""
    if answer.stdout.endswith(b"survived"):
        return ""
    end = f"signal {-answer.returncode}" if answer.returncode < 0 else f"exit status {answer.returncode}"
    said = " ".join(answer.stderr.decode("utf-8", "replace").split())[-300:]
    return f"{end}; {said}" if said else end
