# SPDX-License-Identifier: Apache-2.0
"""Runs a FiaCase or a PromptCase on the simulated kernel and judges what comes back.

    python tests/helpers/engine_runs.py                  every case of tests/conformance/fia_kernel and pfa_kernel
    python tests/helpers/engine_runs.py --draws 500      random cases instead
    python tests/helpers/engine_runs.py masks -k band    one file of cases (or its path), or one family of draws; a part

prints a table: what passes, what fails and how, and what the operator says is not supported yet.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import ascend_attention
from ascend_attention import precision
from ascend_attention._settings import at_most_cores
from helpers.fia_cases import FiaCase

CONFORMANCE = Path(__file__).resolve().parents[1] / "conformance"
FILES = sorted([*CONFORMANCE.glob("fia_kernel/*.txt"), *CONFORMANCE.glob("pfa_kernel/*.txt")])


def run(
    case: FiaCase, mode: str = "checked", soc: str = "Ascend910B2", cores: int = 0
) -> tuple[Any, Any, dict[str, Any]]:
    """(results, report of the simulator, arguments). cores: of the SoC's AI cores use so many at most; 0: all."""
    arguments = case.arguments()
    with (
        ascend_attention.contract(case.contract),
        ascend_attention.simulator(mode=mode, soc=soc) as block,
        at_most_cores(cores),
    ):
        results = getattr(ascend_attention, case.operator)(**arguments)
    return results, block.report, arguments


def judge(case: FiaCase, results: Any, arguments: dict[str, Any]) -> precision.CallReport:
    report: precision.CallReport = getattr(precision, case.operator.replace("npu_", "compare_"))(results, **arguments)
    return report


def run_and_judge(case: FiaCase, mode: str = "checked", soc: str = "Ascend910B2", cores: int = 0) -> Any:
    """The results. Prints the case, so that a failure can be repeated."""
    print(case)
    results, report, arguments = run(case, mode, soc, cores)
    assert not report.findings, report.findings
    verdict = judge(case, results, arguments)
    assert verdict.passed, f"{case}\n{verdict.table()}"
    return results


def outcome(case: FiaCase, mode: str) -> tuple[str, str]:
    """("passed" | "FAILED" | "not yet", why)."""
    try:
        results, report, arguments = run(case, mode)
        if report.findings:
            return "FAILED", f"finding: {report.findings[0]}"
        verdict = judge(case, results, arguments)
        return ("passed", "") if verdict.passed else ("FAILED", verdict.reason)
    except ascend_attention.AttentionNotSupported as error:
        return "not yet", f"{error.argument}: {error.allowed}"
    except (ascend_attention.AttentionError, ascend_attention.SimulatorError) as error:
        return "FAILED", f"{type(error).__name__}: {error}"
    except Exception:
        return "FAILED", traceback.format_exc(limit=-2)


def table(cases: Iterable[tuple[str, FiaCase]], mode: str, verbose: bool) -> int:
    """Prints one line for each group of cases, then each failure and what is not built; returns the failures."""
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    missing: Counter[tuple[str, str]] = Counter()
    failures: list[tuple[str, FiaCase, str]] = []
    seconds: Counter[str] = Counter()
    for group, case in cases:
        start = time.perf_counter()
        verdict, why = outcome(case, mode)
        seconds[group] += time.perf_counter() - start
        groups[group][verdict] += 1
        if verdict == "not yet":
            missing[group, why] += 1
        if verdict == "FAILED":
            failures.append((group, case, why))
            if verbose:
                print(f"FAILED {group}\n  {case}\n  {why}", flush=True)
    print(f"{'':22} passed  FAILED  not yet  seconds")
    for group, counts in groups.items():
        print(f"{group:22} {counts['passed']:6} {counts['FAILED']:7} {counts['not yet']:8} {seconds[group]:8.1f}")
    for (group, why), count in missing.most_common():
        print(f"not yet  {group:20} {count:4} x {why}")
    for group, case, why in [] if verbose else failures[:20]:
        print(f"FAILED   {group:20} {case}\n         {' '.join(why.split())[:400]}")
    return len(failures)


def _draws(families: Sequence[str], count: int, seed: int) -> Iterable[tuple[str, FiaCase]]:
    from helpers import prompt_draws
    from helpers.fia_draws import FAMILIES, draw_case

    known = (*FAMILIES, *prompt_draws.FAMILIES)
    chosen = [family for family in known if not families or family.__name__ in families]
    for number in range(count):
        case = draw_case(np.random.default_rng([seed, number]), [chosen[number % len(chosen)]])
        yield case.name, case


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="What the kernels compute.")
    parser.add_argument("group", nargs="*", help="files of cases, or families of draws; all without")
    parser.add_argument("-k", dest="part", default="", help="only cases with this in their name")
    parser.add_argument("--draws", type=int, metavar="N", help="N random cases instead of the conformance cases")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mode", default="checked", choices=("fast", "checked", "timed"))
    parser.add_argument("-v", dest="verbose", action="store_true", help="print each failure at once")
    options = parser.parse_args(given)
    cases: Iterable[tuple[str, FiaCase]]
    if options.draws:
        cases = _draws(options.group, options.draws, options.seed)
    else:
        from helpers.fia_case_file import read_cases

        known = {path.stem: path for path in FILES}
        paths = [known[name] if name in known else Path(name) for name in options.group or known]
        cases = [(path.stem, case) for path in paths for case in read_cases(path)]
    return 1 if table(((g, c) for g, c in cases if options.part in c.name), options.mode, options.verbose) else 0


if __name__ == "__main__":
    sys.exit(main())
