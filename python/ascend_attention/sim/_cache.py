# SPDX-License-Identifier: Apache-2.0
"""Compiled kernels on disk.

    <root>/sources/<digest>/kernel.cpp         sources that were given as text
    <root>/kernels/<request>/entry.cpp         what the compiler is given
    <root>/kernels/<request>/<inputs>/         libraries and manifest.json

A request is everything that is known before compiling: compiler, flags, source path, entry. An entry below it is found
by the content of every file that the compiler read then (its depfile), so a changed header is another entry. Entries
appear by rename, complete or not at all; processes that build the same at once do the work twice and keep the first.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MANIFEST = "manifest.json"
_FORMAT = 1
_ADVICE = "set ASCEND_ATTENTION_CACHE to a directory of your own"
_MOST_ENTRIES = 32  # of one request


class CacheError(RuntimeError):
    """The cache directory cannot be used: it cannot be written, or others could put libraries into it."""


@dataclass(frozen=True)
class Built:
    """A directory with one library per core type. ``text`` is what the compiler said (warnings)."""

    libraries: Mapping[str, Path]
    text: str


def cache_directory() -> Path:
    """Where compiled kernels are kept: ``ASCEND_ATTENTION_CACHE``, else ``ascend_attention`` in ``$XDG_CACHE_HOME`` or
    ``~/.cache``. It may be deleted at any time.
    """
    given = os.environ.get("ASCEND_ATTENTION_CACHE", "")
    if given:
        return Path(given).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if os.path.isabs(base) else Path("~/.cache").expanduser()) / "ascend_attention"


def open_cache() -> Path:
    """Creates the cache directory, for its owner only.

    Raises:
        CacheError: see there. A library in it is loaded into the process, so nobody else may be able to place one.
    """
    try:
        root = cache_directory()
    except RuntimeError as error:  # the home of a user that there is not
        raise CacheError(f"compiled kernels cannot be kept: {error}; {_ADVICE}") from error
    if any(mark in str(root) for mark in '"\\\n'):  # it stands in an #include
        raise CacheError(
            f"compiled kernels cannot be kept in {str(root)!r}: a quote, backslash or line break; {_ADVICE}"
        )
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
        root.mkdir(mode=0o700, exist_ok=True)
        found = root.stat()
    except OSError as error:
        raise CacheError(f"compiled kernels cannot be kept in {root}: {error}; {_ADVICE}") from error
    if found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise CacheError(f"compiled kernels are not kept in {root}: other users can write there; {_ADVICE}")
    if not os.access(root, os.W_OK | os.X_OK):
        raise CacheError(f"compiled kernels cannot be kept in {root}: it is not writable; {_ADVICE}")
    return root


def store_text(root: Path, text: str) -> Path:
    """A file with this text whose path depends on nothing else."""
    return _place_text(root / "sources" / digest_text(text)[:32] / "kernel.cpp", text)


def request_directory(root: Path, request: Mapping[str, Any], entry: str) -> Path:
    """The directory of a request, with its ``entry.cpp``."""
    key = json.dumps({"format": _FORMAT, "entry": entry, **request}, sort_keys=True)
    directory = root / "kernels" / digest_text(key)[:32]
    _place_text(directory / "entry.cpp", entry)
    return directory


def find(directory: Path) -> Built | None:
    """The entry whose files are all as they were. A damaged one is removed."""
    digests: dict[str, str | None] = {}
    for manifest in sorted(directory.glob(f"*/{_MANIFEST}")):
        if manifest.parent.name.startswith("."):
            continue
        entry = _load(manifest)
        if entry is None:
            continue
        built, inputs = entry
        for path in inputs:
            if path not in digests:
                digests[path] = _digest_if_there(path)
        if all(digests[path] == digest for path, digest in inputs.items()):
            return built
    return None


def build(directory: Path, compile_into: Callable[[Path], tuple[str, dict[str, Path], set[Path]]]) -> Built:
    """Compiles and files the result.

    Args:
        directory: of the request.
        compile_into: compiles into the directory it is given; returns the compiler's words, the library of each core
            type and the files that were read.

    Raises:
        RuntimeError: a source changes whenever it is compiled.
    """
    before: dict[str, str] | None = None
    for _ in range(4):
        with _writing(directory):
            work = Path(tempfile.mkdtemp(prefix=".building-", dir=directory))
        try:
            started = _now(work)
            text, libraries, inputs = compile_into(work)
            after = {str(path): digest_file(path) for path in sorted(inputs)}
            # A file that was saved meanwhile may have been read before or after: compile until nothing moves.
            if all(path.stat().st_mtime_ns <= started for path in inputs) or after == before:
                with _writing(directory):
                    return _file(directory, work, text, libraries, after)
            before = after
        except FileNotFoundError:
            before = None
        finally:
            shutil.rmtree(work, ignore_errors=True)
    raise RuntimeError("the kernel's source, or a header of it, changes or vanishes while it is being compiled")


def digest_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def digest_file(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _now(directory: Path) -> int:
    """The file system's own clock."""
    mark = directory / "started"
    mark.touch()
    return mark.stat().st_mtime_ns


def _place_text(path: Path, text: str) -> Path:
    data = text.encode("utf-8", "surrogateescape")
    try:
        if path.read_bytes() == data:
            return path
    except OSError:
        pass  # not there, or nothing to be read
    with _writing(path.parent):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".writing-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except OSError:
            os.unlink(temporary)
            raise
    return path


@contextlib.contextmanager
def _writing(directory: Path) -> Iterator[None]:
    """A full disk, a file where a directory should be: told as what they are, the cache's trouble."""
    try:
        yield
    except OSError as error:
        raise CacheError(f"compiled kernels cannot be kept in {directory}: {error}; {_ADVICE}") from error


def _load(manifest: Path) -> tuple[Built, dict[str, str]] | None:
    """An entry and the inputs it was made from; None, and it is removed, when it is damaged."""
    try:
        fields = json.loads(manifest.read_text(encoding="utf-8"))
        inputs, files, text = dict(fields["inputs"]), dict(fields["libraries"]), str(fields["text"])
        libraries = {core_type: manifest.parent / f"{core_type}.so" for core_type in files}
        if libraries and all(digest_file(libraries[core_type]) == digest for core_type, digest in files.items()):
            return Built(libraries, text), inputs
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    _discard(manifest.parent)
    return None


def _digest_if_there(path: str) -> str | None:
    try:
        return digest_file(Path(path))
    except OSError:
        return None


def _file(directory: Path, work: Path, text: str, libraries: dict[str, Path], inputs: dict[str, str]) -> Built:
    ready = Path(tempfile.mkdtemp(prefix=".ready-", dir=directory))
    for core_type, library in libraries.items():
        os.rename(library, ready / f"{core_type}.so")
    digests = {core_type: digest_file(ready / f"{core_type}.so") for core_type in libraries}
    manifest = {"inputs": inputs, "libraries": digests, "text": text}
    (ready / _MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    final = directory / digest_text(json.dumps(inputs, sort_keys=True))[:32]
    for _ in range(100):
        try:
            os.rename(ready, final)
            _forget_old_entries(directory)
            return Built({core_type: final / f"{core_type}.so" for core_type in libraries}, text)
        except OSError:
            if not final.exists():
                raise
        # Another process was first, or what is there is damaged; a damaged one goes and the rename succeeds.
        entry = _load(final / _MANIFEST)
        if entry is not None:
            shutil.rmtree(ready, ignore_errors=True)
            return entry[0]
    raise CacheError(f"{final} cannot be replaced")


def _forget_old_entries(directory: Path) -> None:
    """A kernel that is being worked on leaves an entry behind with every edit. Loaded libraries stay loaded."""
    aged = []
    for manifest in directory.glob(f"*/{_MANIFEST}"):
        with contextlib.suppress(OSError):  # another process was faster
            aged.append((manifest.stat().st_mtime_ns, manifest.parent))
    for _, entry in sorted(aged, reverse=True)[_MOST_ENTRIES:]:
        _discard(entry)


def _discard(entry: Path) -> None:
    """Out of sight in one step, so that no process finds half of it."""
    grave = Path(tempfile.mkdtemp(prefix=".damaged-", dir=entry.parent))
    with contextlib.suppress(OSError):  # another process was faster
        os.rename(entry, grave / "entry")
    shutil.rmtree(grave, ignore_errors=True)
