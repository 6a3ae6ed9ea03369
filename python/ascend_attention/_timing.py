# SPDX-License-Identifier: Apache-2.0
"""What timed mode predicts for a launch. Modelled, not measured: docs/timing.md says how far to trust it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any


@dataclass(frozen=True)
class Prediction:
    """One launch under one assumption about what nobody has published.

    ``cycles`` and ``microseconds`` are without the kernel's head, which is ``head_microseconds``. ``cube_utilisation``
    is the share of the peak of all cube cores of the SoC. ``busiest`` and ``bound`` are by pipe, in cycles: how long
    the busiest core's pipe was taken, and how long its instructions would take with the shared memory to themselves.
    ``busiest_core`` and ``mean_core`` are when the last core ended, and the mean over cores. Bytes are of the whole
    device.
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


@dataclass(frozen=True)
class Timing:
    """``middle`` is the prediction; ``low`` and ``high`` take the ends of what is unknown. ``str()`` summarises."""

    low: Prediction
    middle: Prediction
    high: Prediction

    def __str__(self) -> str:
        guess = self.middle
        pipes = ", ".join(
            f"{pipe} {cycles / guess.cycles:.0%}"
            for pipe, cycles in guess.busiest.items()
            if cycles > 0 and guess.cycles
        )
        return (
            f"modelled: {guess.microseconds:.1f} us ({self.low.microseconds:.1f} to {self.high.microseconds:.1f}), "
            f"{guess.cycles:,.0f} cycles, and {guess.head_microseconds:.0f} us "
            f"({self.low.head_microseconds:.0f} to {self.high.head_microseconds:.0f}) before the first instruction\n"
            f"cube at {guess.cube_utilisation:.1%} of its peak; the busiest core's pipes: {pipes}\n"
            f"HBM read {guess.hbm_read:,} bytes, written {guess.hbm_written:,}; "
            f"L2 read {guess.l2_read:,}, written {guess.l2_written:,}"
        )


def from_dict(values: Mapping[str, Mapping[str, Any]]) -> Timing:
    """From the compiled module's dict."""
    return Timing(**{field.name: Prediction(**values[field.name]) for field in fields(Timing)})
