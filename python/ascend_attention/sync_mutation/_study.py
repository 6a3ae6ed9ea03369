# SPDX-License-Identifier: Apache-2.0
"""Runs a kernel without some of its synchronisation and says what notices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from ascend_attention import _core
from ascend_attention._report import Finding
from ascend_attention._settings import synchronisation
from ascend_attention.sync_mutation._calls import Site, Sources, SyncCall
from ascend_attention.sync_mutation._mutants import BARRIER, KINDS, PAIR, SINGLE, Mutant, mutants_of

# How a mutant was noticed, the strongest first.
RACE = "race"
WRONG_RESULT = "wrong result"
OTHER = "other finding"
UNDOCUMENTED = "undocumented order"
PAIRING = "pairing only"
SURVIVED = "survived"
VERDICTS = (RACE, WRONG_RESULT, OTHER, UNDOCUMENTED, PAIRING, SURVIVED)
# Kinds of findings that need no idea of what the synchronisation protects: a set without a wait, or the reverse.
_PAIRING_KINDS = frozenset({"flag", "deadlock", "not modelled", "instruction limit"})
# Without a flag a kernel may poll for ever. How many times the instructions of the unchanged one a core may execute,
# and how many more, so that a poll which another core ends does end.
_PATIENCE = 10
_POLLS = 1_000_000

Outputs = Sequence[Any]


@dataclass(frozen=True)
class Case:
    """One run of the kernel.

    ``run`` makes the launches, however it likes, and returns the output arrays, fresh ones each time. ``right`` says
    whether outputs are good enough; a result that differs from the unchanged kernel's in some bits need not be wrong.
    """

    name: str
    run: Callable[[], Outputs]
    right: Callable[[Outputs], bool]
    soc: str = "Ascend910B2"


@dataclass(frozen=True)
class Outcome:
    """What happened to a mutant. ``tried`` are the cases that execute its calls, up to the one that decided."""

    mutant: Mutant
    verdict: str
    case: str  # where the verdict was reached; the last one tried when it survived
    finding: str  # the text that noticed it
    tried: tuple[str, ...]
    unnoticed: tuple[str, ...]  # cases without any error
    wrong: tuple[str, ...]  # cases with a wrong result in fast mode
    other_bits: tuple[str, ...]  # cases whose result in fast mode has other bits, wrong or not


@dataclass(frozen=True)
class Study:
    """All outcomes, and which synchronisation calls of the source no case executed."""

    cases: tuple[str, ...]
    outcomes: tuple[Outcome, ...]
    unexecuted: tuple[Site, ...]
    unread: tuple[str, ...]  # source files that were not found: names and unexecuted calls are unknown there
    seconds: float

    def of(self, *kinds: str) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.mutant.kind in kinds)

    @property
    def survivors(self) -> tuple[Outcome, ...]:
        """Pairs and barriers that nothing misses, and single calls whose removal ends without an error somewhere."""
        return tuple(
            outcome
            for outcome in self.outcomes
            if (outcome.unnoticed if outcome.mutant.kind == SINGLE else outcome.verdict in (SURVIVED, UNDOCUMENTED))
        )

    @property
    def share(self) -> float:
        """Of the pairs and barriers: how many a race report, a wrong result or another finding about data catches."""
        judged = self.of(PAIR, BARRIER)
        caught = [outcome for outcome in judged if outcome.verdict in (RACE, WRONG_RESULT, OTHER)]
        return len(caught) / len(judged) if judged else 1.0

    @property
    def passed(self) -> bool:
        return not (self.survivors or self.unexecuted or self.unread)


class BrokenCase(Exception):
    """The unchanged kernel fails a case: nothing can be learnt from its mutants."""


@dataclass(frozen=True)
class _Baseline:
    case: Case
    outputs: Outputs
    calls: frozenset[SyncCall]
    instructions: int  # of the busiest core


@dataclass(frozen=True)
class _Trial:
    findings: tuple[Finding, ...]  # errors, and orders that the documents leave open
    outputs: Outputs | None

    @property
    def failed(self) -> bool:
        return any(finding.severity == "error" for finding in self.findings)


def study(
    cases: Iterable[Case],
    *,
    roots: Iterable[Path] = (Path(),),
    kinds: Iterable[str] = KINDS,
    every_case: bool = False,
    workers: int = 2,
) -> Study:
    """Takes each event, barrier and flag out of the kernel that the cases run.

    Args:
        cases: quick ones first; each mutant stops at the first that notices it, unless ``every_case``.
        roots: directories that the paths in the kernel's debug information may be relative to.
        kinds: "pair": every set and wait of one event; "barrier": one PipeBarrier; "single": one set or one wait.
        workers: threads that run mutants.

    Raises:
        BrokenCase: the unchanged kernel has a finding, or a result that is not right.
    """
    start = perf_counter()
    sources = Sources(Path(root) for root in roots)
    wanted = set(kinds)
    with ThreadPoolExecutor(workers) as pool:
        # Each thread sees what the caller's blocks say, `with contract(...)` above all.
        baselines = [future.result() for future in [pool.submit(copy_context().run, _baseline, case) for case in cases]]
        calls = frozenset[SyncCall]().union(*(baseline.calls for baseline in baselines))
        mutants = [mutant for mutant in mutants_of(calls, sources) if mutant.kind in wanted]
        futures = [pool.submit(copy_context().run, _outcome, mutant, baselines, every_case) for mutant in mutants]
        outcomes = [future.result() for future in futures]
    executed = {Site(call.file, call.line) for call in calls if not call.framework}
    return Study(
        cases=tuple(baseline.case.name for baseline in baselines),
        outcomes=tuple(outcomes),
        unexecuted=tuple(sources.unexecuted(executed)),
        unread=tuple(sorted({site.file for site in executed if sources.path(site.file) is None})),
        seconds=perf_counter() - start,
    )


def _baseline(case: Case) -> _Baseline:
    with synchronisation(case.soc, "checked", record=True) as block:
        try:
            outputs = case.run()
        except _core.SimulatorError as error:
            raise BrokenCase(f"{case.name}: the unchanged kernel fails: {error}") from error
    if not block.reports():
        raise BrokenCase(f"{case.name}: no launch reports to the study: leave `with simulator` to it")
    if not case.right(outputs):
        raise BrokenCase(f"{case.name}: the result of the unchanged kernel is not right")
    calls = frozenset(SyncCall.of(entry) for report in block.reports() for entry in report.get("sync_calls", ()))
    busiest = max(sum(core["instructions"].values()) for report in block.reports() for core in report["cores"])
    return _Baseline(case, outputs, calls, busiest)


def _trial(baseline: _Baseline, mutant: Mutant, mode: str) -> _Trial:
    ignored, limit = [call.to_dict() for call in mutant.calls], _PATIENCE * baseline.instructions + _POLLS
    with synchronisation(baseline.case.soc, mode, ignored=ignored, instruction_limit=limit) as block:
        try:
            outputs = baseline.case.run()
        except _core.SimulatorError:
            outputs = None
    findings = tuple(
        Finding(**finding)
        for report in block.reports()
        for finding in report["findings"]
        if finding["severity"] != "warning"
    )
    return _Trial(findings, outputs)


def _outcome(mutant: Mutant, baselines: Sequence[_Baseline], every_case: bool) -> Outcome:
    tried, unnoticed, wrong, other_bits = [], [], [], []
    best = (len(VERDICTS), "", "")  # verdict's place, case, text
    calls = frozenset(mutant.calls)
    for baseline in baselines:
        case = baseline.case
        if not calls & baseline.calls:
            continue
        tried.append(case.name)
        trials = [_trial(baseline, mutant, "checked")]
        if mutant.kind != SINGLE:
            # In checked mode a race keeps the result back.
            trials.append(_trial(baseline, mutant, "fast"))
            outputs = trials[-1].outputs
            if outputs is not None and not _same_bits(outputs, baseline.outputs):
                other_bits.append(case.name)
                if not case.right(outputs):
                    wrong.append(case.name)
        findings = [finding for trial in trials for finding in trial.findings]
        verdict, text = _verdict(findings, wrong[-1:] == [case.name])
        if verdict == SURVIVED or not any(finding.severity == "error" for finding in findings):
            unnoticed.append(case.name)
        best = min(best, (VERDICTS.index(verdict), case.name, text), key=lambda entry: entry[0])
        if verdict in (RACE, WRONG_RESULT, OTHER) and mutant.kind != SINGLE and not every_case:
            break
    place, name, text = best
    return Outcome(mutant, VERDICTS[place], name, text, *map(tuple, (tried, unnoticed, wrong, other_bits)))


def _verdict(findings: Sequence[Finding], wrong: bool) -> tuple[str, str]:
    def first(wanted: Callable[[Finding], bool]) -> str | None:
        return next((finding.text for finding in findings if wanted(finding)), None)

    errors = [finding for finding in findings if finding.severity == "error"]
    steps: list[tuple[str, str | None]] = [
        (RACE, next((finding.text for finding in errors if finding.kind == "race"), None)),
        (WRONG_RESULT, "the result is not right" if wrong else None),
        (OTHER, next((finding.text for finding in errors if finding.kind not in _PAIRING_KINDS), None)),
        (UNDOCUMENTED, first(lambda finding: finding.severity != "error")),
        (PAIRING, next((finding.text for finding in errors), None)),
    ]
    return next(((verdict, text) for verdict, text in steps if text is not None), (SURVIVED, ""))


def _same_bits(a: Outputs, b: Outputs) -> bool:
    def data(array: Any) -> bytes:
        return np.ascontiguousarray(array).tobytes()

    return len(a) == len(b) and all(data(x) == data(y) for x, y in zip(a, b, strict=True))
