# SPDX-License-Identifier: Apache-2.0
"""What a simulated run did: cores, instructions by pipe, bytes moved, findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ascend_attention import _timing
from ascend_attention._timing import Timing, in_bytes

if TYPE_CHECKING:
    from ascend_attention._trace import Trace

PIPES = ("S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX")


@dataclass(frozen=True)
class Finding:
    """One thing that the machine objects to. ``severity``: "error", "undocumented order" or "warning"."""

    severity: str
    kind: str
    text: str

    def __getitem__(self, field: str) -> str:
        """``finding["kind"]`` for ``finding.kind``: SimulatorError.findings had dicts once."""
        if field not in ("severity", "kind", "text"):
            raise KeyError(field)
        value: str = getattr(self, field)
        return value

    def __str__(self) -> str:
        return f"{self.severity} ({self.kind}): {self.text}"


@dataclass(frozen=True)
class CoreReport:
    """One AIC or AIV: ``core`` is its name ("block 3 AIV1"), ``instructions`` counts by pipe."""

    core: str
    instructions: Mapping[str, int]


@dataclass(frozen=True)
class LaunchReport:
    """One kernel launch. Bytes are those that moved between global memory and the cores."""

    kernel: str
    soc: str
    mode: str
    blocks: int
    seconds: float
    instructions: Mapping[str, int]
    global_bytes_read: int
    global_bytes_written: int
    cores: tuple[CoreReport, ...]
    findings: tuple[Finding, ...]
    printed: str = ""  # by device code: core after core, each in program order
    timing: Timing | None = None  # of timed mode
    trace: Trace | None = field(default=None, compare=False, repr=False)  # of timed mode

    def __str__(self) -> str:
        return str(Report((self,)))


@dataclass(frozen=True)
class Report:
    """Some launches (of a ``with simulator(...)`` block, or one), and their sum. ``str()`` gives a table."""

    launches: tuple[LaunchReport, ...] = ()

    @property
    def cores(self) -> tuple[CoreReport, ...]:
        """Per core, in the order of first use, instructions summed over the launches."""
        totals: dict[str, dict[str, int]] = {}
        for launch in self.launches:
            for core in launch.cores:
                counts = totals.setdefault(core.core, dict.fromkeys(PIPES, 0))
                for pipe, count in core.instructions.items():
                    counts[pipe] += count
        return tuple(CoreReport(core, counts) for core, counts in totals.items())

    @property
    def instructions(self) -> Mapping[str, int]:
        """Instructions by pipe."""
        return {pipe: sum(launch.instructions[pipe] for launch in self.launches) for pipe in PIPES}

    @property
    def global_bytes_read(self) -> int:
        return sum(launch.global_bytes_read for launch in self.launches)

    @property
    def global_bytes_written(self) -> int:
        return sum(launch.global_bytes_written for launch in self.launches)

    @property
    def findings(self) -> tuple[Finding, ...]:
        return tuple(finding for launch in self.launches for finding in launch.findings)

    @property
    def timing(self) -> Timing | None:
        """What timed mode predicts for the last launch that has a prediction (modelled).

        None in other modes: ``simulator(mode="timed")`` makes one.
        """
        return next((launch.timing for launch in reversed(self.launches) if launch.timing is not None), None)

    @property
    def modelled_microseconds(self) -> float:
        """Of all launches together, middle assumption, without the head of each; 0 outside of timed mode."""
        return sum(launch.timing.middle.microseconds for launch in self.launches if launch.timing is not None)

    @property
    def printed(self) -> str:
        """What device code printed, launch after launch."""
        return "".join(launch.printed for launch in self.launches)

    @property
    def seconds(self) -> float:
        """Host seconds that the simulation took: not a prediction of device time."""
        return sum(launch.seconds for launch in self.launches)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, strings and lists, for JSON."""
        return {
            "launches": [_to_dict(launch) for launch in self.launches],
            "instructions": dict(self.instructions),
            "global_bytes_read": self.global_bytes_read,
            "global_bytes_written": self.global_bytes_written,
            "seconds": self.seconds,
        }

    def __str__(self) -> str:
        if not self.launches:
            return "simulator: no kernel was launched"
        lines = [f"simulator: {len(self.launches)} launch{'es' if len(self.launches) != 1 else ''}"]
        width = max(6, *(len(launch.kernel) for launch in self.launches))
        lines.append(
            f"{'kernel':{width}} {'soc':14} {'mode':7} {'blocks':>6} {'cores':>5} "
            + " ".join(f"{pipe:>9}" for pipe in PIPES)
            + f" {'read':>10} {'written':>10} {'host time':>10}"
        )
        for launch in self.launches:
            lines.append(
                f"{launch.kernel:{width}} {launch.soc:14} {launch.mode:7} {launch.blocks:6} {len(launch.cores):5} "
                + _figures(launch)
            )
        if len(self.launches) > 1:
            lines.append(f"{'total':{width}} {'':14} {'':7} {'':6} {len(self.cores):5} " + _figures(self))
        for launch in self.launches:
            if launch.timing is not None:
                lines.append(f"{launch.kernel}, {launch.timing}".replace("\n", "\n  "))
        if self.timing is None:
            lines.append("timing: none in this mode; simulator(mode='timed') predicts it")
        lines.append(f"findings: {len(self.findings) or 'none'}")
        lines += [f"  {finding}" for finding in self.findings]
        if self.printed:
            lines += ["printed:", self.printed.rstrip("\n")]
        return "\n".join(lines)


def _to_dict(launch: LaunchReport) -> dict[str, Any]:
    import dataclasses

    values = dataclasses.asdict(dataclasses.replace(launch, trace=None))
    del values["trace"]
    return values


def _figures(report: LaunchReport | Report) -> str:
    counts = " ".join(f"{report.instructions[pipe]:9,}" for pipe in PIPES)
    moved = f"{in_bytes(report.global_bytes_read):>10} {in_bytes(report.global_bytes_written):>10}"
    return f"{counts} {moved} {report.seconds:8.3f} s"


def from_dicts(launches: Iterable[Mapping[str, Any]]) -> Report:
    """The report from the compiled module's dicts, one per launch."""
    return Report(tuple(_launch(launch) for launch in launches))


def _launch(values: Mapping[str, Any]) -> LaunchReport:
    # The machine's tools add entries of their own to these dicts; a report has what its class declares.
    fields = {name: value for name, value in values.items() if name in LaunchReport.__dataclass_fields__}
    fields["cores"] = tuple(CoreReport(**core) for core in fields["cores"])
    fields["findings"] = tuple(Finding(**finding) for finding in fields["findings"])
    if "timing" in fields:
        fields["timing"] = _timing.from_dict(fields["timing"])
    if values.get("record") is not None:
        from ascend_attention._trace import Trace  # needs the compiled module, which made the record

        fields["trace"] = Trace(values["record"], fields["timing"])
    return LaunchReport(**fields)
