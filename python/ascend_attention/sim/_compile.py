# SPDX-License-Identifier: Apache-2.0
"""From a source to a Kernel: the generated entry, the compiler, the cache, the kind."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from ascend_attention import __version__
from ascend_attention._other_names import suggesting
from ascend_attention.sim import _cache
from ascend_attention.sim._compiler import (
    HEADERS,
    PACKAGE,
    arguments,
    environment_key,
    fate_of_loading,
    find_compiler,
    run_compiler,
)
from ascend_attention.sim._diagnostics import CompileError, Places, read_errors
from ascend_attention.sim._elf import imported_symbols, is_shared_library
from ascend_attention.sim._kernel import Kernel
from ascend_attention.sim._signature import Parameter, read_signature
from ascend_attention.sim._source import KINDS, KernelText, read_kernels

_CORE_TYPES = {"vector": ("vector",), "cube": ("cube",), "mix": ("cube", "vector"), "mix_1_1": ("cube", "vector")}
_LIBRARY = "libascend_attention.so"
_NAME = re.compile(r"(?:::\s*)?[A-Za-z_]\w*(?:\s*::\s*[A-Za-z_]\w*)*")


@suggesting
def compile(
    source: str | os.PathLike[str],
    entry: str | None = None,
    *,
    kind: str | None = None,
    include_dirs: Sequence[str | os.PathLike[str]] = (),
    defines: Mapping[str, Any] | Sequence[str] = (),
    flags: Sequence[str] = (),
    debug: bool = False,
) -> Kernel:
    """Compiles an Ascend C kernel for the simulated NPU. A source that has not changed is taken from the cache.

    Args:
        source: a file (".cpp", ".asc", any other suffix), or, when the string holds a line break, the source itself.
        entry: the kernel function, as C++ names it: "add_custom", "add_custom<2048>", "space::add<half>". May be left
            out when the source has one kernel.
        kind: "vector", "cube", "mix" or "mix_1_1". None: what the kernel's qualifiers (__vector__, __cube__, __mix__)
            or its KERNEL_TASK_TYPE_DEFAULT say, else which instructions it uses.
        include_dirs: searched before the simulator's own headers.
        defines: macros, as {"TILE": 128, "FAST": None} or ["TILE=128", "FAST"].
        flags: further arguments of the compiler, such as "-Wall" or "-O3".
        debug: no optimisation at all, so that a debugger shows every variable. Breakpoints work without.

    The compiler is $CXX, else c++, g++ or clang++. Results are kept in ``cache_directory()`` by the content of all
    files that the compiler read, its release and its arguments.

    Raises:
        CompileError: the source does not compile, or has no such kernel; str() begins with the first error's line.
        CompilerNotFoundError: no compiler; the text says how to get one.
        CacheError: the cache directory cannot be used.
        FileNotFoundError: no such source.
        TypeError, ValueError: an argument, or a kind that cannot be told.
    """
    _check_arguments(entry, kind, {"include_dirs": include_dirs, "flags": flags})
    root = _cache.open_cache()
    given_as_text = isinstance(source, str) and "\n" in source
    path, text = _read_source(root, source)
    kernels = read_kernels(text)
    entry = _one_kernel(path, kernels) if entry is None else entry.strip()
    about = next((kernel for kernel in kernels if kernel.name == _function_name(entry)), None)
    kind = kind or (about.kind if about is not None else None)
    core_types = ("vector", "cube") if kind is None else _CORE_TYPES[kind]

    includes = [_directory(directory) for directory in include_dirs]
    compiler = find_compiler()
    own_flags = [*compiler.own_flags, *map(str, flags)]
    options = partial(arguments, include_dirs=includes, defines=_macros(defines), flags=own_flags, debug=debug)
    request = {
        "package": [__version__, str(PACKAGE)],
        "compiler": [list(compiler.command), compiler.identity],
        "arguments": {core_type: options(core_type) for core_type in core_types},
        "environment": environment_key(),
    }
    directory = _cache.request_directory(root, request, _entry_text(path, entry))
    built = _cache.find(directory)
    if built is None:
        commands = {core_type: [*compiler.command, *options(core_type)] for core_type in core_types}
        known = [kernel.name for kernel in kernels]
        places = Places(HEADERS, directory / "entry.cpp", path if given_as_text else None)
        built = _cache.build(directory, partial(_compile_into, places, commands, entry, known))
    kind = kind or _kind_by_use(entry, built)
    libraries = {core_type: built.libraries[core_type] for core_type in _CORE_TYPES[kind]}
    signatures = _load_signatures(libraries.values(), about.parameters if about is not None else ())
    return Kernel(entry, kind, signatures[0], path, libraries, built.text)


def _check_arguments(entry: object, kind: object, lists: Mapping[str, object]) -> None:
    for name, strings in lists.items():
        if isinstance(strings, (str, os.PathLike)):  # a str is a sequence of its letters
            raise TypeError(f"compile: {name}: given a {type(strings).__name__}; allowed: a list of them")
    if kind is not None and kind not in KINDS:
        raise ValueError(f"compile: kind: given {kind!r}; allowed: {', '.join(KINDS)}, or None")
    if entry is not None and not isinstance(entry, str):
        raise TypeError(f"compile: entry: given {type(entry).__name__}; allowed: a str, or None")


def _load_signatures(libraries: Iterable[Path], names: tuple[str, ...]) -> list[tuple[Parameter, ...]]:
    """Loads every library, so that none fails at the launch."""
    try:
        return [read_signature(library, names) for library in libraries]
    except OSError as error:  # a file system mounted with noexec, for example
        raise _cache.CacheError(f"a compiled kernel cannot be loaded: {error}; set ASCEND_ATTENTION_CACHE") from error


def _read_source(root: Path, source: str | os.PathLike[str]) -> tuple[Path, str]:
    if isinstance(source, str) and "\n" in source:
        return _cache.store_text(root, source), source
    if not isinstance(source, (str, os.PathLike)):
        raise TypeError(f"compile: source: given {type(source).__name__}; allowed: a path, or a str with the source")
    if not str(source).strip():
        raise ValueError(f"compile: source: given {source!r}; allowed: a path, or the source with a line break")
    path = _absolute(source)
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ValueError(f"compile: source: {path} is not a regular file; allowed: a file, or the source as text")
    text = path.read_bytes().decode("utf-8", "replace")
    if '"' in str(path) or "\n" in str(path) or "\\" in str(path):
        raise ValueError(f"compile: source: {str(path)!r}; allowed: a path without quotes, backslashes and line breaks")
    return path, text


def _absolute(given: str | os.PathLike[str]) -> Path:
    try:
        return Path(given).expanduser().absolute()
    except RuntimeError as error:  # the home of a user that there is not
        raise FileNotFoundError(f"compile: {os.fspath(given)}: {error}") from error


def _directory(given: str | os.PathLike[str]) -> Path:
    path = _absolute(given)
    if not path.is_dir():
        raise FileNotFoundError(f"compile: include_dirs: {path} is not a directory")
    return path


def _macros(defines: Mapping[str, Any] | Sequence[str]) -> list[str]:
    if isinstance(defines, str):
        raise TypeError("compile: defines: given a str; allowed: a mapping, or a list of strings")
    if not isinstance(defines, Mapping):
        return [str(define) for define in defines]
    return [name if value is None else f"{name}={_macro_value(value)}" for name, value in defines.items()]


def _macro_value(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


def _function_name(entry: str) -> str:
    """ "add" of "space::add<half>"."""
    return entry.split("<")[0].split("::")[-1].strip()


def _one_kernel(path: Path, kernels: Sequence[KernelText]) -> str:
    if len(kernels) == 1:
        return kernels[0].name
    names = ", ".join(kernel.name for kernel in kernels)
    found = f"{path.name} has the kernels {names}" if kernels else f"no __global__ function is in sight in {path.name}"
    raise ValueError(f"compile: entry: not given, and {found}; allowed: the name of one kernel")


def _entry_text(path: Path, entry: str) -> str:
    bare = _without_template_arguments(entry)
    if bare is None or not _NAME.fullmatch(bare) or any(mark in entry for mark in ';{}#\\"') or "//" in entry:
        raise ValueError(
            f'compile: entry: given {entry!r}; allowed: a function\'s name, as "add" or "space::add<half>"'
        )
    return f'#include "{path}"\n#include "machine/kernel_entry.h"\nASCEND_ATTENTION_KERNEL_ENTRY({entry})\n'


def _without_template_arguments(entry: str) -> str | None:
    """ "space::add" of "space::add<half, (2 > 1)>"; None when its brackets do not match or it cannot be printed."""
    open_brackets: list[str] = []
    bare = ""
    for mark in entry:
        if mark in "([" or (mark == "<" and (not open_brackets or open_brackets[-1] == "<")):
            open_brackets.append(mark)
        elif mark in ")]" or (mark == ">" and (not open_brackets or open_brackets[-1] == "<")):
            if not open_brackets or open_brackets.pop() + mark not in ("()", "[]", "<>"):
                return None
            continue
        if not mark.isprintable() or (open_brackets and open_brackets[0] != "<"):
            return None
        bare += "" if open_brackets else mark
    return None if open_brackets else bare.rstrip()


def _compile_into(
    places: Places, commands: Mapping[str, Sequence[str]], entry: str, known: Sequence[str], work: Path
) -> tuple[str, dict[str, Path], set[Path]]:
    """See _cache.build."""
    libraries = {core_type: work / f"{core_type}.so" for core_type in commands}
    runs = run_compiler(
        [
            [
                *command,
                *("-MD", "-MT", "kernel", "-MF", str(work / f"{core_type}.d")),
                *("-o", str(libraries[core_type])),
                *("-x", "c++", str(places.entry), "-x", "none", str(PACKAGE / _LIBRARY)),  # whatever -x the flags have
            ]
            for core_type, command in commands.items()
        ],
        places.entry.parent,
    )
    text = "".join(dict.fromkeys(run.text for run in runs))  # the two passes mostly say the same
    failed = [(core_type, run) for core_type, run in zip(commands, runs, strict=True) if run.status != 0]
    if failed:
        only = failed[0][0] if len(failed) < len(runs) else ""
        raise _compile_error(text, failed[0][1].command, places, entry, known, only)
    _require_loadable(list(libraries.values()), text, runs[0].command)
    inputs = set().union(*(_read_depfile(work / f"{core_type}.d") for core_type in commands)) - {places.entry}
    return text, libraries, inputs


def _require_loadable(libraries: Sequence[Path], log: str, command: tuple[str, ...]) -> None:
    """What the compiler left must be loaded into this process later, and that runs constructors of global objects."""
    for library in libraries:
        if not is_shared_library(library):
            text = "the compiler left no shared library: flags such as -c, -E or -fsyntax-only make something else"
            raise CompileError(text, (), log, command)
    fate = fate_of_loading(libraries)
    if fate:
        text = f"loading the kernel ends the process: a global object's constructor fails, or needs a core ({fate})"
        raise CompileError(text, (), log, command)


def _compile_error(
    log: str, command: tuple[str, ...], places: Places, entry: str, known: Sequence[str], only: str
) -> CompileError:
    errors, text = read_errors(log, places)
    if errors and errors[0].file == "entry" and _function_name(entry) not in known:
        there = f"; kernels in the source: {', '.join(known)}" if known else ""
        text = f"no kernel '{entry}'{there}\n{text}"
    elif errors and "no matching function for call to 'Call" in errors[0].text:
        text = (
            f"the entry '{entry}' names no single function: a template needs all its arguments, as in "
            f"'{_function_name(entry)}<half, 128>', and a kernel a name that no other function has"
        )
    elif errors and errors[0].file == "entry":
        text = f"the entry '{entry}' cannot be called\n{text}"
    elif not errors:
        text = f"the compiler failed: {shlex.join(command[:1])}\n{text}"
    if only:
        other = "cube" if only == "vector" else "vector"
        text += (
            f"\n(these errors are of the compilation for {only} cores; kind='{other}' compiles for {other} cores only)"
        )
    return CompileError(text, errors, log, command)


def _read_depfile(path: Path) -> set[Path]:
    """The prerequisites of a Makefile rule; blanks in names are escaped."""
    text = path.read_text(encoding="utf-8", errors="surrogateescape").replace("\\\n", " ")
    names = re.findall(r"(?:\\.|\$\$|[^\s\\])+", text.split(":", 1)[1])
    return {Path(re.sub(r"\\([ \t#])", r"\1", name).replace("$$", "$")).absolute() for name in names}


@lru_cache(maxsize=1)
def _machine_calls() -> dict[str, frozenset[str]]:
    """What only vector cores, and what only cube cores, ask the machine for: functions and call descriptors."""
    found = {}
    for core_type in ("vector", "cube"):
        text = (HEADERS / "machine" / f"{core_type}_calls.h").read_text(encoding="utf-8")
        functions = re.findall(r"ASCEND_SIM_API [\w:<> ]+?\b(\w+)\(", text)
        descriptors = re.findall(r"\bExecute\(const (\w+)&", text)
        found[core_type] = frozenset({*functions, *descriptors} - {"Execute"})
    return {name: calls - found["cube" if name == "vector" else "vector"] for name, calls in found.items()}


def _kind_by_use(entry: str, built: _cache.Built) -> str:
    """The kind from the instructions that either library uses."""
    used: set[str] = set()
    for library in built.libraries.values():
        for symbol in imported_symbols(library):
            used.update(_components(symbol))
    vector, cube = (bool(used & _machine_calls()[name]) for name in ("vector", "cube"))
    if vector or cube:
        return "mix" if vector and cube else "vector" if vector else "cube"
    raise ValueError(
        f"compile: kind: cannot be told: '{entry}' has neither __vector__, __cube__, __mix__ nor "
        "KERNEL_TASK_TYPE_DEFAULT, and no instruction that belongs to one core type; "
        f"give kind=, one of {', '.join(KINDS)}"
    )


def _components(symbol: str) -> list[str]:
    """The identifiers of a mangled name: each stands behind its length."""
    names, position = [], 0
    for match in re.finditer(r"\d+", symbol):
        if match.start() < position:
            continue
        position = match.end() + int(match.group())
        names.append(symbol[match.end() : position])
    return names
