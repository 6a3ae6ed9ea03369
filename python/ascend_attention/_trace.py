# SPDX-License-Identifier: Apache-2.0
"""The timeline of a timed launch, for looking at. Modelled, not measured: docs/timing.md."""

from __future__ import annotations

import gzip
import math
import os
import secrets
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn

from ascend_attention import _core
from ascend_attention._arguments import as_float, as_int, as_text, refuse, refuse_type
from ascend_attention._trace_plot import labels, picture, require_matplotlib, title_of

if TYPE_CHECKING:
    from ascend_attention._report import Report
    from ascend_attention._timing import Timing

PARTS = ("timeline", "roofline")
Cores = str | int | Sequence[str | int]

_MOST_EVENTS = 1_000_000
_ROUNDS = 4  # that a picture shows unless told otherwise
_FINEST = 1500  # bars side by side that a picture can show
_GZIP_LEVEL = 4  # repetitive text: higher levels take longer and gain next to nothing


@dataclass(frozen=True)
class SavedTrace:
    """What ``Trace.save`` wrote: bars, and two events for each arrow."""

    path: Path
    events: int
    left_out: int = 0  # later events of the window, because of max_events
    capped_at_us: float | None = None  # where the file therefore ends

    def __str__(self) -> str:
        text = f"{self.path}: {self.events:,} events"
        if self.capped_at_us is not None:
            text += f" up to {self.capped_at_us:,.3f} us (modelled); {self.left_out:,} later ones are left out"
        return text


@dataclass(frozen=True)
class Window:
    """A part of a run: nanoseconds (``end`` -1: to its end) and the indices of cores."""

    begin: int
    end: int
    cores: tuple[int, ...]


class Trace:
    """One timed launch, instruction by instruction. Made by timed mode: ``run.trace``, ``result.trace``.

    It keeps 56 bytes per instruction and 40 per piece of global memory moved, until the report is gone or ``release``
    is called.
    """

    def __init__(self, record: _core.RunRecord | None, timing: Timing | None = None) -> None:
        self._record = record
        self._timing = timing

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        start_us: float | None = None,
        end_us: float | None = None,
        cores: Cores | None = None,
        max_events: int = _MOST_EVENTS,
    ) -> SavedTrace:
        """Writes a Chrome trace, which https://ui.perfetto.dev opens: a process for each core, a thread for each pipe.

        Args:
            path: ends in ".json", or in ".json.gz" for a compressed one. The file is there when it is complete.
            start_us, end_us: modelled microseconds since the first instruction; what reaches into them is kept.
            cores: names as the report has them ("block 0 AIC"), numbers of blocks, or a list of these. None: all.
            max_events: bars, and two for each arrow. What begins later is left out on all cores alike, with a warning
                and with a note in the file. A bound that would leave nothing is refused.

        Raises:
            AttentionError: a path or window that cannot be, or so small a ``max_events`` that nothing would be left.
            TypeError: an argument of another type.
            OSError: the file cannot be written. What was there before is untouched.
        """
        target = _path("trace.save", path, (".json", ".json.gz"))
        record = self._held("trace.save")
        window = window_of("trace.save", record.describe(), start_us, end_us, cores)
        most = as_int("trace.save", "max_events", max_events)
        if most < 1:
            refuse("trace.save", "max_events", str(most), "1 and more", rule="TRACE")
        with whole_file(target) as file:
            if target.name.lower().endswith(".gz"):
                with gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0) as packed:
                    counts = record.write(packed.write, window.begin, window.end, list(window.cores), most)
            else:
                counts = record.write(file.write, window.begin, window.end, list(window.cores), most)
            events, left_out, cut, least = counts
            if least:
                refuse(
                    "trace.save",
                    "max_events",
                    str(most),
                    f"{least} and more: so many events begin at once where the window does",
                    rule="TRACE",
                )
        saved = SavedTrace(target, events, left_out, None if cut < 0 else cut / 1000)
        if left_out:
            warnings.warn(f"trace.save: {saved} (max_events); see start_us, end_us, cores", stacklevel=2)
        return saved

    def plot(
        self,
        path: str | os.PathLike[str],
        *,
        start_us: float | None = None,
        end_us: float | None = None,
        block: int = 0,
        parts: str | Sequence[str] = PARTS,
    ) -> Path:
        """Draws one block's timeline, pipe under pipe, and the roofline of the launch. Needs matplotlib.

        Args:
            path: ends in ".png" or ".svg".
            start_us, end_us: modelled microseconds since the first instruction. Without both: a few rounds from the
                middle of the run.
            block: whose cores are shown.
            parts: "timeline", "roofline", or both in this order.

        Returns:
            The path. Two calls with the same arguments write the same bytes.

        Raises:
            AttentionError: a path, window, block or part that cannot be.
            ModuleNotFoundError: no matplotlib; the text says how to get it.
            TypeError, OSError: as for ``save``.
        """
        function = "trace.plot"
        target = _path(function, path, (".png", ".svg"))
        record = self._held(function)
        about = record.describe()
        window = window_of(function, about, start_us, end_us, _block(function, about["cores"], block))
        chosen = _parts(function, parts)
        require_matplotlib()
        cores, begin, end = list(window.cores), window.begin, window.end
        if start_us is None and end_us is None:
            begin, end = record.steady_part(cores, _ROUNDS)
        elif end < 0:
            end = math.ceil(about["cycles"] / about["clock_hz"] * 1e9)
        bars, arrows = record.draw(begin, end, cores, max(1, (end - begin) // _FINEST))
        image = picture(
            target.suffix.lower(),
            title=title_of(about, block, begin, end),
            tracks=labels(about["cores"], bars),
            bars=bars,
            arrows=arrows,
            begin=begin,
            end=end,
            clock_hz=about["clock_hz"],
            roofline=getattr(self._timing, "roofline", None),
            parts=chosen,
        )
        with whole_file(target) as file:
            file.write(image)
        return target

    @property
    def nbytes(self) -> int:
        """Host memory that the record takes; 0 once it has been released."""
        return 0 if self._record is None or self._record.released else int(self._record.describe()["bytes"])

    def release(self) -> None:
        """Gives the memory back. ``save`` and ``plot`` then refuse, for every report of the launch."""
        if self._record is not None:
            self._record.release()

    def _held(self, function: str) -> _core.RunRecord:
        if self._record is None:
            refuse(
                function,
                "trace",
                "a copy from another process",
                "the trace of the run itself: it does not travel",
                rule="TRACE",
            )
        if self._record.released:
            refuse(function, "trace", "one that has been released", "a trace that is still held", rule="TRACE")
        return self._record

    def __repr__(self) -> str:
        if self._record is None or self._record.released:
            return "<trace, released>"
        about = self._record.describe()
        microseconds = about["cycles"] / about["clock_hz"] * 1e6
        return f"<trace of {about['kernel']} on {about['soc']}, {microseconds:.1f} us modelled>"

    def __deepcopy__(self, memo: object) -> Trace:
        return self

    def __reduce__(self) -> tuple[type[Trace], tuple[None]]:
        return Trace, (None,)  # the record stays in its process


def no_trace(owner: str, report: Report) -> NoReturn:
    """Refuses to give a trace that does not exist."""
    modes = sorted({launch.mode for launch in report.launches})
    given = f"mode {', '.join(map(repr, modes))}" if modes else "no launch so far"
    if "timed" in modes:
        given = "timed launches that failed, or whose traces were let go for later ones"
    refuse(owner, "trace", given, "a launch in mode 'timed'", rule="TRACE")


def window_of(
    function: str, about: dict[str, Any], start_us: float | None, end_us: float | None, cores: Cores | None
) -> Window:
    last = about["cycles"] / about["clock_hz"] * 1e6
    start = 0.0 if start_us is None else as_float(function, "start_us", start_us)
    if not 0 <= start <= last:
        refuse(function, "start_us", f"{start:g}", f"0..{last:.3f}, where the run ends", rule="TRACE")
    end = math.inf if end_us is None else as_float(function, "end_us", end_us)
    if not end > start:
        refuse(function, "end_us", f"{end:g}", f"more than start_us, which is {start:g}", rule="TRACE")
    return Window(
        math.floor(start * 1000),
        -1 if end > last else math.ceil(end * 1000),
        tuple(_indices(function, about["cores"], cores)),
    )


def _indices(function: str, known: Sequence[tuple[str, int, bool]], wanted: Cores | None) -> list[int]:
    if wanted is None:
        return list(range(len(known)))
    allowed = "a core's name as the report has it, the number of a block, or a list of these"
    if isinstance(wanted, str) or not isinstance(wanted, Sequence):
        wanted = [wanted]
    chosen: set[int] = set()
    for item in wanted:
        if isinstance(item, str):
            found = [index for index, (name, _, _) in enumerate(known) if name == item]
        elif hasattr(type(item), "__index__") and not isinstance(item, bool):
            number = as_int(function, "cores", item)
            found = [index for index, (_, block, _) in enumerate(known) if block == number]
        else:
            refuse_type(function, "cores", item, allowed)
        if not found:
            refuse(
                function,
                "cores",
                repr(item),
                f"{allowed}; the run has {_listed([name for name, _, _ in known])}",
                rule="TRACE",
            )
        chosen.update(found)
    if not chosen:
        refuse(function, "cores", "none", allowed, rule="TRACE")
    return sorted(chosen)


def _block(function: str, known: Sequence[tuple[str, int, bool]], wanted: object) -> int:
    number = as_int(function, "block", wanted)
    blocks = {block for _, block, _ in known}
    if number not in blocks:
        refuse(function, "block", str(number), f"a block of the run: {min(blocks)}..{max(blocks)}", rule="TRACE")
    return number


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 6 else f"{names[0]} to {names[-1]}"


def _parts(function: str, wanted: object) -> tuple[str, ...]:
    allowed = f"{' or '.join(map(repr, PARTS))}, or a list of them"
    given = (wanted,) if isinstance(wanted, str) else wanted
    if not isinstance(given, Sequence) or not all(isinstance(part, str) for part in given):
        refuse_type(function, "parts", wanted, allowed)
    if not given or not set(given) <= set(PARTS) or len(set(given)) != len(given):
        refuse(function, "parts", as_text(function, "parts", repr(wanted)), allowed, rule="TRACE")
    return tuple(given)


def _path(function: str, path: object, suffixes: tuple[str, ...]) -> Path:
    allowed = f"a path that ends in {' or '.join(suffixes)}"
    if not isinstance(path, (str, os.PathLike)) or not isinstance(os.fspath(path), str):
        refuse_type(function, "path", path, allowed)
    text = os.fspath(path)
    name = os.path.basename(text)
    if "\0" in text or not name.lower().endswith(suffixes) or name.lower() in suffixes:
        shown = text.encode("utf-8", "backslashreplace").decode("utf-8")
        refuse(function, "path", repr(shown), allowed, rule="TRACE")
    return Path(text)


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes its place when it is complete; before that it has another name beside it."""
    target = Path(os.path.realpath(path))  # a link stays a link
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a directory")
    if target.exists() and not target.is_file():
        raise OSError(f"{path} is not a regular file")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: there is no directory {target.parent}")
    beside = target.parent / f".{secrets.token_hex(8)}.writing"
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.replace(beside, target)
    except BaseException:
        with suppress(OSError):  # the first error is the one to tell
            os.unlink(beside)
        raise
