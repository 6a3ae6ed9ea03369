# SPDX-License-Identifier: Apache-2.0
"""A study as text and as plain data."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from ascend_attention.sync_mutation._mutants import BARRIER, PAIR, SINGLE
from ascend_attention.sync_mutation._study import PAIRING, SURVIVED, VERDICTS, Outcome, Study

# "Exp (kernel.cpp:41) on block 0 AIV1, ..., which DataCopy (kernel.cpp:38) on ..., writes (read after write); ..."
_RACE = re.compile(
    r"^(?P<later>\w+ \([^)]*\)) on .*?, which (?P<earlier>\w+ \([^)]*\)) on .* \((?P<hazard>\w+ after \w+)\);"
)
_TITLES = {PAIR: "events and flags, every set and wait", BARRIER: "barriers", SINGLE: "single sets and waits"}


def to_dict(study: Study) -> dict[str, Any]:
    """Plain numbers, strings and lists, for JSON."""
    return {
        "cases": list(study.cases),
        "passed": study.passed,
        "share": study.share,
        "seconds": study.seconds,
        "unread": list(study.unread),
        "unexecuted": [str(site) for site in study.unexecuted],
        "mutants": [
            {
                "kind": outcome.mutant.kind,
                "name": outcome.mutant.name,
                "sites": [str(site) for site in outcome.mutant.sites],
                "verdict": outcome.verdict,
                "case": outcome.case,
                "finding": outcome.finding,
                "tried": list(outcome.tried),
                "unnoticed": list(outcome.unnoticed),
                "wrong": list(outcome.wrong),
                "other_bits": list(outcome.other_bits),
            }
            for outcome in study.outcomes
        ],
    }


def table(study: Study) -> str:
    """What a reader wants to know: who is missed by what, what nobody misses, and the share."""
    lines = [f"Shapes: {', '.join(study.cases)}"]
    for kind in (PAIR, BARRIER):
        if outcomes := study.of(kind):
            lines += ["", f"Without {_TITLES[kind]}", *_rows(outcomes)]
    if study.of(PAIR, BARRIER):
        lines += ["", "Noticed by", *_counts(study)]
    lines += _pairing(study)
    for outcome in study.survivors:
        lines += ["", f"SURVIVED: {outcome.mutant.name} ({outcome.mutant.where})", *_explain(outcome)]
    for site in study.unexecuted:
        lines += ["", f"NOT EXECUTED: {site}; no shape reaches this call"]
    for file in study.unread:
        lines += ["", f"NOT READ: {file}; name its directory in roots"]
    if not study.outcomes:
        lines += [
            "",
            "Nothing was tested: these kernels call no flag and no barrier, and what TPipe and queues (EnQue, "
            "DeQue) do is never taken out.",
        ]
        return "\n".join(lines)
    lines += ["", f"{study.share:.1%} of events, flags and barriers are noticed by a race report, a wrong result or "
              f"another finding about data; {len(study.survivors)} survive"]  # fmt: skip
    lines.append(f"{len(study.outcomes)} mutants in {study.seconds:.1f} s: {'passed' if study.passed else 'FAILED'}")
    return "\n".join(lines)


def _rows(outcomes: Sequence[Outcome]) -> list[str]:
    rows = [("what", "where", "noticed by", "in shape", "fast mode gives", "the first finding")]
    for outcome in outcomes:
        result = "a wrong result" if outcome.wrong else "other bits" if outcome.other_bits else "the same bits"
        rows.append((outcome.mutant.name, outcome.mutant.where, outcome.verdict, outcome.case, result, _short(outcome)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  " + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
            for row in rows]  # fmt: skip


def _short(outcome: Outcome) -> str:
    if race := _RACE.search(outcome.finding):
        return f"{race['hazard']}: {race['earlier']}, {race['later']}"
    return outcome.finding if len(outcome.finding) <= 80 else outcome.finding[:79] + "…"


def _counts(study: Study) -> list[str]:
    lines = []
    kinds = [kind for kind in (PAIR, BARRIER, SINGLE) if study.of(kind)]
    counts = {kind: Counter(outcome.verdict for outcome in study.of(kind)) for kind in kinds}
    for verdict in VERDICTS:
        if any(counts[kind][verdict] for kind in kinds):
            lines.append(f"  {verdict:19}" + "".join(f"{counts[kind][verdict]:5} of {len(study.of(kind)):3} {kind}s"
                                                     for kind in kinds))  # fmt: skip
    return lines


def _pairing(study: Study) -> list[str]:
    """What only the pairing of sets and waits shows: nothing says what the data would suffer."""
    found = [outcome for outcome in study.outcomes if outcome.verdict == PAIRING]
    if not found:
        return []
    return ["", "Noticed only by pairing (left over, set twice, waited for without a set, deadlock)"] + [
        f"  {outcome.mutant.name} ({outcome.mutant.where})" for outcome in found
    ]


def _explain(outcome: Outcome) -> list[str]:
    if outcome.verdict == SURVIVED:
        return [f"  no error and a right result in {', '.join(outcome.tried)}"]
    return [f"  in {outcome.case}: {outcome.finding}", f"  without an error in {', '.join(outcome.unnoticed)}"]
