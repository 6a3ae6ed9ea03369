# SPDX-License-Identifier: Apache-2.0
"""A compiled kernel and what a launch of it gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ascend_attention import _core, _settings
from ascend_attention._arguments import as_bool, as_float, as_int, as_text, refuse
from ascend_attention._other_names import suggesting
from ascend_attention._report import Finding, Report, from_dicts
from ascend_attention._trace import Trace, no_trace
from ascend_attention.sim._arguments import prepare
from ascend_attention.sim._signature import ENTRY, Parameter

_RUNS_ON = tuple(_core.planned_cores())


@dataclass(frozen=True)
class Result:
    """What a launch gave.

    Attributes:
        outputs: the arrays (or tensors) of the Out and InOut arguments, in their order: the caller's own objects.
        report: cores, instructions by pipe, bytes moved. ``print(result.report)``.
        error: None, or with ``check=False`` the SimulatorError that the launch would have raised; what the kernel had
            written by then is in ``outputs``.
    """

    outputs: tuple[Any, ...]
    report: Report
    error: _core.SimulatorError | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the machine objected to; without an error, warnings only."""
        return self.report.findings

    @property
    def printed(self) -> str:
        """What printf, ASSERT and DumpTensor of the kernel said."""
        return self.report.printed

    @property
    def trace(self) -> Trace:
        """The timeline of a launch in timed mode.

        Raises:
            AttentionError: the mode was another one, or the launch failed.
        """
        trace = self.report.launches[-1].trace
        return no_trace("sim", self.report) if trace is None else trace

    @property
    def ok(self) -> bool:
        return self.error is None


@dataclass(frozen=True, repr=False)
class Kernel:
    """A compiled kernel; calling it launches it. Made by ``compile``.

    Attributes:
        entry: the kernel as it was asked for, template arguments included.
        kind: "vector", "cube", "mix" (one cube and two vector cores a block) or "mix_1_1" (one and one).
        parameters: its parameters' types, as the compiler sees them.
        source: the file it was compiled from. A debugger finds its lines.
        libraries: the shared library of each core type.
        warnings: what the compiler said beside errors; "" for nothing.
    """

    entry: str
    kind: str
    parameters: tuple[Parameter, ...]
    source: Path
    libraries: Mapping[str, Path]
    warnings: str = ""

    def __repr__(self) -> str:
        return f"<{self.kind} kernel {self.entry}({', '.join(map(str, self.parameters))}) of {self.source.name}>"

    @suggesting(name="sim.Kernel")
    def __call__(
        self,
        *arguments: Any,
        blocks: int = 1,
        soc: str | None = None,
        mode: str | None = None,
        costs: str | None = None,
        check: bool = True,
        auto_sync: bool = True,
        threads: int = 0,
        instruction_limit: int = 0,
        stall_seconds: float = 0.0,
    ) -> Result:
        """Launches the kernel and waits for it.

        Args:
            arguments: one per parameter of the kernel. For a pointer: a NumPy array or CPU tensor (an input, which the
                kernel may not write), ``Out``, ``InOut``, ``Workspace``, bytes or a structured scalar (tiling data), or
                None (a null pointer). Its dtype is the parameter's; GM_ADDR takes any. For a number: an int, float,
                bool or NumPy scalar. For a struct by value: bytes, a structured scalar or a ctypes.Structure.
            blocks: as in ``kernel<<<blocks, ...>>>``: AI cores, or vector cores of a vector kernel.
            soc, mode, costs: the machine; "fast", "checked" or "timed"; "measured" or "documented", what "timed" goes
                by, and no other mode. Without them those of ``with simulator(...)``, else of the environment.
            check: False returns a result with its ``error`` where a launch would raise.
            auto_sync: models the synchronisation that the vendor's compiler inserts on vector cores (V with V, and the
                scalar unit with V, MTE2 and MTE3). False holds the kernel to its own flags.
            threads: host threads in fast and timed mode; 0 = those available.
            instruction_limit: instructions per core after which the launch is given up; 0 = the machine's own bound.
            stall_seconds: how long a core may run without a call of Ascend C; 0 = the machine's own bound.

        Returns:
            The outputs, filled in place, and the report, which ``with simulator(...)`` gets as well.

        Raises:
            SimulatorError: the kernel did something that the device would not survive, or in checked mode something
                whose result depends on timing. The outputs are as before. The next launch works.
            TypeError, ValueError: an argument; nothing has run.
        """
        prepared = prepare(self.entry, self.parameters, arguments)
        settings = _settings.current_settings()
        self._check_limits(blocks, threads, instruction_limit)
        machine = _settings.on_machine(
            self.entry,
            settings,
            None if soc is None else as_text(self.entry, "soc", soc),
            None if mode is None else as_text(self.entry, "mode", mode),
            None if costs is None else as_text(self.entry, "costs", costs),
        )
        if machine.soc not in _RUNS_ON:
            refuse(
                self.entry,
                "soc",
                f"{machine.soc!r}, to check requests only",
                f"a processor that kernels run on, such as {_RUNS_ON[0]}",
                rule="SOC",
            )
        stall_seconds = self._stall_bound(stall_seconds)
        error = None
        try:
            report = from_dicts(
                [
                    _core.sim.launch(
                        str(self.libraries.get("cube", "")),
                        str(self.libraries.get("vector", "")),
                        ENTRY,
                        self.kind,
                        blocks,
                        [int(prepared.words.__array_interface__["data"][0])],
                        soc=machine.soc,
                        mode=machine.mode,
                        costs=machine.costs,
                        threads=threads,
                        instruction_limit=instruction_limit,
                        buffers=prepared.buffers,
                        title=self.entry,
                        log=settings,
                        auto_sync=as_bool(self.entry, "auto_sync", auto_sync),
                        stall_seconds=stall_seconds,
                    )
                ]
            )
        except _core.SimulatorError as raised:
            if check:
                raise
            error, report = raised.with_traceback(None), raised.report
        prepared.copy_back()
        return Result(tuple(prepared.outputs), report, error)

    def _check_limits(self, blocks: int, threads: int, instruction_limit: int) -> None:
        for name, value, low, high in (
            ("blocks", blocks, 1, 2**32 - 1),  # the machine knows how many cores the SoC has
            ("threads", threads, 0, 2**16),
            ("instruction_limit", instruction_limit, 0, 2**62),
        ):
            if not low <= as_int(self.entry, name, value) <= high:
                raise ValueError(f"{self.entry}: {name}: given {value}; allowed: {low}..{high}")

    def _stall_bound(self, given: float) -> float:
        if not as_float(self.entry, "stall_seconds", given) >= 0:
            raise ValueError(f"{self.entry}: stall_seconds: given {given}; allowed: 0 and more")
        # A debugger stops the process for as long as its user thinks.
        return float("inf") if given == 0 and _is_traced() else given


def _is_traced() -> bool:
    """Whether a debugger is attached to this process."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return any(line.startswith("TracerPid:") and line.split()[1] != "0" for line in status.splitlines())
