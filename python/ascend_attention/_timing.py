# SPDX-License-Identifier: Apache-2.0
"""What timed mode predicts for a launch. Modelled, not measured: docs/timing.md says how far to trust it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

MEMORY = ("L2 reads", "L2 writes", "HBM")


@dataclass(frozen=True)
class Prediction:
    """One launch under one assumption about what nobody has published.

    Attributes:
        cycles, microseconds: of the launch, without the kernel's head.
        head_microseconds: from the launch to the first instruction. Never part of the others.
        cube_utilisation: m * n * k of all products, of what all cube cores of the SoC could have done in ``cycles``.
        busiest_core, mean_core: cycles until the last core ended, and the mean over cores.
        busiest: by pipe, cycles that the pipe was taken on the core where it was taken longest.
        bound: cycles that the launch would take if only this mattered. By pipe: all its instructions of the core that
            has most of them, with the shared memory to themselves. "L2 reads", "L2 writes", "HBM": all bytes at the
            bandwidth of the device.
        hbm_read, hbm_written, l2_read, l2_written: bytes of all cores. HBM in whole lines of 512 bytes; each line that
            becomes dirty in L2 counts as written once.
    """

    cycles: float
    microseconds: float
    head_microseconds: float
    cube_utilisation: float
    busiest_core: float
    mean_core: float
    busiest: Mapping[str, float]
    bound: Mapping[str, float]
    hbm_read: int
    hbm_written: int
    l2_read: int
    l2_written: int

    @property
    def largest_bound(self) -> str:
        """The name of the largest entry of ``bound``."""
        return max(self.bound, key=lambda name: self.bound[name])

    @property
    def bandwidth_share(self) -> Mapping[str, float]:
        """Of "L2 reads", "L2 writes" and "HBM": the part of the bandwidth that was used, over the whole launch."""
        return {name: self.share(self.bound[name]) for name in MEMORY}

    def share(self, cycles: float) -> float:
        """Of the launch's cycles."""
        return cycles / self.cycles if self.cycles else 0.0


@dataclass(frozen=True)
class CoreTime:
    """One AIC or AIV.

    ``finish`` is the cycle in which its last result was there, ``busy`` cycles by pipe, ``launch_cycles`` those of the
    whole launch.
    """

    core: str
    finish: float
    busy: Mapping[str, float]
    launch_cycles: float

    @property
    def share(self) -> Mapping[str, float]:
        """By pipe, the part of the launch (0 to 1) for which this core's pipe was taken."""
        return {pipe: cycles / self.launch_cycles if self.launch_cycles else 0.0 for pipe, cycles in self.busy.items()}


@dataclass(frozen=True)
class PathSite:
    """The instructions of one line of the kernel that lie on the critical path.

    ``cycles`` pass from their starts to the starts of what they delay. ``waits_for`` says what most of them waited for
    themselves.
    """

    instruction: str
    file: str
    line: int
    core: str
    pipe: str
    cycles: float
    count: int
    waits_for: str

    def __str__(self) -> str:
        return f"{self.instruction} ({self.file}:{self.line}) on {self.core} {self.pipe}"


@dataclass(frozen=True)
class CriticalPath:
    """The chain of instructions that decides when the launch ends.

    Attributes:
        cycles: its length: that of the launch.
        instructions: how many lie on it.
        parts: cycles by what they went into. "work" of instructions, "memory" (bandwidth that others had taken),
            "latency" (from the end of the work until the result is there), "flag" and barrier, "unit flag",
            "cross-core flag", "issue" by the scalar unit. They add up to ``cycles``.
        by_pipe: work, memory and latency of the instructions of each pipe, in cycles.
        sites: the lines of the kernel with most cycles, most first; at most 20.
    """

    cycles: float
    instructions: int
    parts: Mapping[str, float]
    by_pipe: Mapping[str, float]
    sites: tuple[PathSite, ...]


@dataclass(frozen=True)
class Roofline:
    """Where the launch stands between the arithmetic peak of the SoC and its HBM.

    Attributes:
        unit: "cube", or for a kernel without matrix products "vector".
        flop: two per multiply-add of m * n * k; of vector instructions one per lane.
        hbm_bytes: read and written.
        seconds: of the launch, without the head.
        peak: flop per second of all cores of the SoC, at the rates of the dtypes used.
        hbm_bandwidth: bytes per second.
    """

    unit: str
    flop: float
    hbm_bytes: float
    seconds: float
    peak: float
    hbm_bandwidth: float

    @property
    def intensity(self) -> float:
        """Flop per byte of HBM traffic; infinite without traffic."""
        return self.flop / self.hbm_bytes if self.hbm_bytes else float("inf")

    @property
    def ridge(self) -> float:
        """The intensity from which on the peak is the ceiling, below it the HBM."""
        return self.peak / self.hbm_bandwidth

    @property
    def ceiling(self) -> float:
        """Flop per second that this intensity allows."""
        return min(self.peak, self.intensity * self.hbm_bandwidth)

    @property
    def attained(self) -> float:
        """Flop per second."""
        return self.flop / self.seconds if self.seconds else 0.0


@dataclass(frozen=True)
class Timing:
    """``middle`` is the prediction; ``low`` and ``high`` take the ends of what is unknown. ``str()`` summarises.

    ``costs`` is "measured" or "documented", ``clock_hz`` the frequency of the cores. ``cores``, ``critical_path`` and
    ``roofline`` are those of ``middle``.
    """

    low: Prediction
    middle: Prediction
    high: Prediction
    costs: str
    clock_hz: float
    cores: tuple[CoreTime, ...]
    critical_path: CriticalPath
    roofline: Roofline

    def __str__(self) -> str:
        return "\n".join([*_totals(self), *_bounds(self.middle), *_path(self), *_roofline(self.roofline)])


def _totals(timing: Timing) -> list[str]:
    low, guess, high = timing.low, timing.middle, timing.high
    utilisation = sorted((low.cube_utilisation, high.cube_utilisation))
    memory = ", ".join(f"{name} {share:.0%}" for name, share in guess.bandwidth_share.items())
    return [
        f"modelled ({timing.costs} costs): {guess.microseconds:.1f} us "
        f"({low.microseconds:.1f} to {high.microseconds:.1f}), {guess.cycles:,.0f} cycles; "
        f"head, apart: {guess.head_microseconds:.0f} us "
        f"({low.head_microseconds:.0f} to {high.head_microseconds:.0f})",
        f"cube at {guess.cube_utilisation:.1%} of the SoC's peak ({utilisation[0]:.1%} to {utilisation[1]:.1%}); "
        f"cores end after {guess.mean_core:,.0f} cycles on average, the last after {guess.busiest_core:,.0f}",
        f"HBM read {in_bytes(guess.hbm_read)}, written {in_bytes(guess.hbm_written)}; "
        f"L2 read {in_bytes(guess.l2_read)}, written {in_bytes(guess.l2_written)}; share of bandwidth: {memory}",
    ]


def _bounds(guess: Prediction) -> list[str]:
    rows = [f"{'if only this mattered':21} {'cycles':>12} {'of the total':>12} {'busiest core':>12}"]
    for name, cycles in sorted(guess.bound.items(), key=lambda item: -item[1]):
        if cycles > 0:
            busy = f"{guess.share(guess.busiest[name]):12.1%}" if name in guess.busiest else ""
            rows.append(f"  {name:19} {cycles:12,.0f} {guess.share(cycles):12.1%} {busy}".rstrip())
    return rows


def _path(timing: Timing) -> list[str]:
    path = timing.critical_path
    parts = ", ".join(
        f"{name} {timing.middle.share(cycles):.0%}"
        for name, cycles in sorted(path.parts.items(), key=lambda item: -item[1])
        if timing.middle.share(cycles) >= 0.005
    )
    pipes = ", ".join(
        f"{name} {timing.middle.share(cycles):.0%}"
        for name, cycles in sorted(path.by_pipe.items(), key=lambda item: -item[1])
        if timing.middle.share(cycles) >= 0.005
    )
    lines = [f"critical path: {path.instructions:,} instructions; {parts}; on pipes: {pipes or 'none'}"]
    for site in path.sites[:5]:
        times = "once" if site.count == 1 else f"{site.count:,} times"
        lines.append(f"  {timing.middle.share(site.cycles):6.1%} {site}, {times}, mostly after {site.waits_for}")
    return lines


def _roofline(roofline: Roofline) -> list[str]:
    if not roofline.flop:
        return ["roofline: no arithmetic"]
    side = "arithmetic" if roofline.intensity >= roofline.ridge else "HBM"
    return [
        f"roofline ({roofline.unit}): {roofline.flop:.3g} flop, {roofline.intensity:.1f} per HBM byte "
        f"(ridge {roofline.ridge:.1f}: {side} is the ceiling), {roofline.attained / 1e12:.1f} of "
        f"{roofline.ceiling / 1e12:.1f} Tflop/s, {roofline.attained / roofline.ceiling:.1%}"
    ]


def in_bytes(count: int) -> str:
    """The one way in which a report gives an amount of memory: "512 B", "3.7 MiB"."""
    value = float(count)
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{count} B" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB"


def from_dict(values: Mapping[str, Any]) -> Timing:
    """From the compiled module's dict."""
    given = {field.name: values[field.name] for field in fields(Timing)}
    path = values["critical_path"]
    for name in ("low", "middle", "high"):
        given[name] = Prediction(**values[name])
    cycles = given["middle"].cycles
    given["cores"] = tuple(CoreTime(**core, launch_cycles=cycles) for core in values["cores"])
    given["critical_path"] = CriticalPath(**{**path, "sites": tuple(PathSite(**site) for site in path["sites"])})
    given["roofline"] = Roofline(**values["roofline"])
    return Timing(**given)
