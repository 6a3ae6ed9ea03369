# SPDX-License-Identifier: Apache-2.0
"""Which machine a call runs on and by which rules: context variables, per thread and task.

Calls of the package, of ``torch.ops.ascend_attention`` and of compiled graphs all see the same settings: the compiled
library asks for them when a kernel starts.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ContextDecorator
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Generic, NoReturn, TypeVar

from ascend_attention import _core
from ascend_attention._arguments import as_text, refuse
from ascend_attention._other_names import suggesting
from ascend_attention._report import Report, from_dicts
from ascend_attention._trace import Trace, no_trace

# Without a block in force, the environment decides at each call.
_current: ContextVar[_core.SettingsScope | None] = ContextVar("ascend_attention_settings", default=None)
_core.read_settings_from(_current)

Given = TypeVar("Given")


def current_settings() -> _core.CallSettings:
    """Those of the innermost block of this thread and task, else of the environment."""
    scope = _core.SettingsScope.in_force(_current.get())
    return _core.default_settings() if scope is None else scope.settings


def on_machine(
    owner: str, around: _core.CallSettings, soc: str | None, mode: str | None, costs: str | None
) -> _core.CallSettings:
    """``around`` on another machine, with a report log of its own; what is None stays as it is."""
    chosen = around.mode if mode is None else mode
    inherited = around.costs if chosen == "timed" else "measured"
    machine = around.with_simulator(
        around.soc if soc is None else soc, chosen, inherited if costs is None else costs, owner
    )
    if costs is not None and chosen != "timed":
        refuse(owner, "costs", f"{costs!r} with mode {chosen!r}", "with mode 'timed' only", rule="COSTS")
    return machine


class SimulatorRun:
    """What ``with simulator(...) as run`` gives; ``run.report`` may be read inside the block and after it.

    A copy, or what pickle restores, keeps the report as it was then.
    """

    def __init__(self, source: _core.CallSettings | Report) -> None:
        self._source = source

    @property
    def report(self) -> Report:
        """Every launch so far of this block, those that failed included."""
        return self._source if isinstance(self._source, Report) else from_dicts(self._source.reports())

    @property
    def trace(self) -> Trace:
        """The timeline of this block's last timed launch.

        Raises:
            AttentionError: there is none: the mode is not "timed", or nothing has been launched.
        """
        traces = self.traces
        if not traces:
            return no_trace("simulator", self.report)
        return traces[-1]

    @property
    def traces(self) -> tuple[Trace, ...]:
        """The timelines of all timed launches so far, in their order."""
        return tuple(launch.trace for launch in self.report.launches if launch.trace is not None)

    def __reduce__(self) -> tuple[type[SimulatorRun], tuple[Report]]:
        return SimulatorRun, (self.report,)


class _Block(ContextDecorator, Generic[Given]):
    """A context manager, or a decorator of functions, that is entered once."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._scope: _core.SettingsScope | None = None

    def _settings(self, around: _core.SettingsScope | None) -> _core.CallSettings:
        raise NotImplementedError

    def _given(self, settings: _core.CallSettings) -> Given:
        raise NotImplementedError

    def _again(self) -> _Block[Given]:
        raise NotImplementedError

    def _recreate_cm(self) -> _Block[Given]:  # ContextDecorator: each call of the decorated function has its own
        return self._again()

    def __enter__(self) -> Given:
        if self._scope is not None:
            raise RuntimeError(f"{self._name}: this block was entered before; call {self._name}(...) again for another")
        around = _core.SettingsScope.in_force(_current.get())
        settings = self._settings(around)
        self._scope = _core.SettingsScope(settings, around)
        _current.set(self._scope)
        return self._given(settings)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # Not ContextVar.reset: blocks left out of order would bring a block back that has ended, and a generator that
        # is closed by another task has no token there.
        assert self._scope is not None
        self._scope.leave()
        _current.set(_core.SettingsScope.in_force(_current.get()))


class simulator(_Block[SimulatorRun]):
    """Calls inside the block run on this simulated machine, in this thread and task, and are reported.

    What is not given is that of the block around this one, else of the environment, else the default:
    ``simulator(mode="checked")`` inside ``simulator(soc="Ascend910_9391")`` runs on that processor.

    Args:
        soc: the processor: decides how many cores the work is split over, and which product's rules calls are held to.
            "Ascend310P3", "Ascend950PR_9589" and their like are for checks alone: no kernel runs on them
            (docs/checks.md). ``python -m ascend_attention processors`` lists all. Environment:
            ``ASCEND_ATTENTION_SOC``; default: "Ascend910B2".
        mode: "fast": results, bounds and parameter checks. "checked": also races, uninitialised reads and misuse of
            flags; deterministic and slower. "timed": as "fast", and ``report.timing`` says what the device is predicted
            to take (modelled: docs/timing.md). Environment: ``ASCEND_ATTENTION_SIM``; default: "fast".
        costs: what "timed" goes by where published figures differ: "measured" on devices (the default), or
            "documented". Other modes have none.

    Raises:
        AttentionError: an unknown soc, mode or costs; costs for another mode than "timed".
        SimulatorError: (from the calls inside) the kernel did something that the device would not survive.

    Blocks nest; each reports its own launches. A thread started inside the block does not inherit it, an asyncio task
    does. A block ends once, for everybody: when blocks are left out of order, or a generator that was suspended inside
    one is closed elsewhere, calls go by the innermost block that is still open. An object serves one block; call
    ``simulator`` again for another. Under ``torch.compile(fullgraph=True)`` the block goes around the call of the
    compiled function: a graph cannot enter it.

    A call cannot be interrupted: Ctrl-C takes effect when it returns.

        with ascend_attention.simulator(mode="checked") as run:
            out, _ = ascend_attention.npu_fused_infer_attention_score_v2(query, key, value, ...)
        print(run.report)
    """

    @suggesting(name="simulator")
    def __init__(self, soc: str | None = None, mode: str | None = None, costs: str | None = None) -> None:
        super().__init__("simulator")
        if soc in ("fast", "checked", "timed"):
            allowed = f'the name of a processor; the mode goes by its name: mode="{soc}"'
            refuse("simulator", "soc", repr(soc), allowed, rule="SOC")
        self._soc, self._mode, self._costs = (
            None if given is None else as_text("simulator", argument, given)
            for argument, given in (("soc", soc), ("mode", mode), ("costs", costs))
        )
        # Refuses what is wrong wherever the block is entered.
        nowhere = _core.settings_around(None, machine=False, contract=False)
        on_machine("simulator", nowhere, self._soc, self._mode or ("timed" if costs else None), self._costs)

    def _settings(self, around: _core.SettingsScope | None) -> _core.CallSettings:
        inherits = self._soc is None or self._mode is None
        settings = _core.settings_around(around, machine=inherits, contract=True)
        return on_machine("simulator", settings, self._soc, self._mode, self._costs)

    def _given(self, settings: _core.CallSettings) -> SimulatorRun:
        return SimulatorRun(settings)

    def __getattr__(self, name: str) -> NoReturn:
        hint = f"; with simulator(...) as run: ... gives it, as run.{name}" if hasattr(SimulatorRun, name) else ""
        raise AttributeError(f"'simulator' object has no attribute {name!r}{hint}")

    def _again(self) -> simulator:
        return simulator(self._soc, self._mode, self._costs)


class synchronisation(_Block[_core.CallSettings]):
    """For tools: a ``simulator`` block whose launches list their synchronisation calls, or run without some of them.

    Gives the settings themselves, whose ``reports()`` are the machine's dicts, "sync_calls" included.
    """

    def __init__(
        self,
        soc: str,
        mode: str,
        *,
        record: bool = False,
        ignored: Sequence[dict[str, Any]] = (),
        instruction_limit: int = 0,
    ) -> None:
        super().__init__("synchronisation")
        self._soc, self._mode, self._record, self._ignored = soc, mode, record, list(ignored)
        self._limit = instruction_limit

    def _settings(self, around: _core.SettingsScope | None) -> _core.CallSettings:
        settings = _core.settings_around(around, machine=False, contract=True).with_simulator(self._soc, self._mode)
        return settings.with_sync(self._record, self._ignored).with_instruction_limit(self._limit)

    def _given(self, settings: _core.CallSettings) -> _core.CallSettings:
        return settings

    def _again(self) -> synchronisation:
        return synchronisation(
            self._soc, self._mode, record=self._record, ignored=self._ignored, instruction_limit=self._limit
        )


class at_most_cores(_Block[None]):
    """For tests: plans use at most so many AI cores of the ``simulator`` block around this one."""

    def __init__(self, cores: int) -> None:
        super().__init__("at_most_cores")
        self._cores = cores

    def _settings(self, around: _core.SettingsScope | None) -> _core.CallSettings:
        return _core.settings_around(around, machine=True, contract=True).with_cores(self._cores)

    def _given(self, settings: _core.CallSettings) -> None:
        return None

    def _again(self) -> at_most_cores:
        return at_most_cores(self._cores)


class contract(_Block[None]):
    """Calls inside the block follow this contract, in this thread and task.

    "document" (the default) keeps every limit of the operators' documents. "extended" lifts those that the mathematics
    and this package do not need. ``ASCEND_ATTENTION_CONTRACT`` sets it for a whole process. Blocks end as those of
    ``simulator`` do.

    Raises:
        AttentionError: an unknown contract.
    """

    def __init__(self, name: str) -> None:
        super().__init__("contract")
        self._contract = as_text("contract", "name", name)
        _core.settings_around(None, machine=False, contract=False).with_contract(self._contract)  # refuses

    def _settings(self, around: _core.SettingsScope | None) -> _core.CallSettings:
        return _core.settings_around(around, machine=True, contract=False).with_contract(self._contract)

    def _given(self, settings: _core.CallSettings) -> None:
        return None

    def _again(self) -> contract:
        return contract(self._contract)
