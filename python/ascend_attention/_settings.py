# SPDX-License-Identifier: Apache-2.0
"""Which machine a call runs on and by which rules: context variables, per thread and task.

Calls of the package, of ``torch.ops.ascend_attention`` and of compiled graphs all see the same settings: the compiled
library asks for them when a kernel starts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ascend_attention import _core
from ascend_attention._report import Report, from_dicts

# No default: without a value, the environment decides at each call.
_current: ContextVar[_core.CallSettings] = ContextVar("ascend_attention_settings")
_core.read_settings_from(_current)


class SimulatorRun:
    """What ``with simulator(...) as run`` gives; ``run.report`` may be read inside the block and after it."""

    def __init__(self, settings: _core.CallSettings) -> None:
        self._settings = settings

    @property
    def report(self) -> Report:
        """Every launch so far of this block, those that failed included."""
        return from_dicts(self._settings.reports())


@contextmanager
def simulator(soc: str = "Ascend910B2", mode: str = "fast") -> Iterator[SimulatorRun]:
    """Calls inside the block run on this simulated machine, in this thread and task, and are reported.

    Args:
        soc: the processor: decides how many cores the work is split over. ``ASCEND_ATTENTION_SOC`` outside of blocks.
        mode: "fast": results, bounds and parameter checks. "checked": also races, uninitialised reads and misuse of
            flags; deterministic and slower. ``ASCEND_ATTENTION_SIM`` outside of blocks.

    Raises:
        AttentionError: an unknown soc or mode.
        SimulatorError: (from the calls inside) the kernel did something that the device would not survive.

    Blocks nest; each reports its own launches. A thread started inside the block does not inherit it.

        with ascend_attention.simulator(mode="checked") as run:
            out, _ = ascend_attention.npu_fused_infer_attention_score_v2(query, key, value, ...)
        print(run.report)
    """
    _require_text("simulator", soc=soc, mode=mode)
    settings = _settings().with_simulator(soc, mode)
    token = _current.set(settings)
    try:
        yield SimulatorRun(settings)
    finally:
        _current.reset(token)


@contextmanager
def contract(name: str) -> Iterator[None]:
    """Calls inside the block follow this contract, in this thread and task.

    "document" (the default) keeps every limit of the operators' documents. "extended" lifts those that the mathematics
    and this package do not need. ``ASCEND_ATTENTION_CONTRACT`` sets it for a whole process.

    Raises:
        AttentionError: an unknown contract.
    """
    _require_text("contract", name=name)
    token = _current.set(_settings().with_contract(name))
    try:
        yield
    finally:
        _current.reset(token)


def _settings() -> _core.CallSettings:
    current = _current.get(None)
    return _core.default_settings() if current is None else current


def _require_text(function: str, **arguments: object) -> None:
    for name, value in arguments.items():
        if not isinstance(value, str):
            raise TypeError(f"{function}: {name}: given {value!r} ({type(value).__name__}); allowed: a str")
