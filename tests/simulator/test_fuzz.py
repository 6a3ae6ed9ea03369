# SPDX-License-Identifier: Apache-2.0
"""Random calls of every instruction end in a result or in a finding: never in a crash, a hang or a wild access.

scripts/test_sanitizers runs it where a wild access shows. `--random-sample=N` draws N times as many calls.
"""

from __future__ import annotations

import faulthandler
import sys
from pathlib import Path

import numpy as np
from helpers.instruction_fuzz import forms, random_call

CALLS = 100
SECONDS = 60.0  # of one call: far beyond any that ends


def test_random_calls_end_in_a_result_or_a_finding(sample_rng: np.random.Generator, tmp_path: Path) -> None:
    outcomes = []
    for _ in range(CALLS):
        case = random_call(sample_rng)
        (tmp_path / "case.txt").write_text(f"{case!r}\n")  # what a process that died was doing
        faulthandler.dump_traceback_later(SECONDS, exit=True, file=sys.__stderr__)
        try:
            outcomes.append(case.run())
        except Exception as error:
            raise AssertionError(f"{case!r}") from error
        finally:
            faulthandler.cancel_dump_traceback_later()
    assert outcomes.count("result") > CALLS // 20, "hardly any call is accepted: this tries nothing but refusals"
    assert outcomes.count("refused") > CALLS // 20


def test_instructions_are_found() -> None:
    names = {form.name for form in forms()}
    assert {"Add", "Cast", "DataCopy", "DataCopyPad", "Fixpipe", "Gather", "LoadData3D", "Mmad", "Select"} <= names
    assert all(form.optional for form in forms() if form.name in ("Add", "DataCopyPad", "Mmad"))
