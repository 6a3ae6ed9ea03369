# SPDX-License-Identifier: Apache-2.0
"""The conformance cases of tests/conformance/fia_kernel and pfa_kernel: each runs in checked mode without a finding and
is right by the rule of docs/precision.md."""

from __future__ import annotations

import pytest
from helpers.engine_runs import FILES, run_and_judge
from helpers.fia_case_file import read_cases
from helpers.fia_cases import FiaCase

CASES = [case for path in FILES for case in read_cases(path)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance(case: FiaCase) -> None:
    run_and_judge(case)
