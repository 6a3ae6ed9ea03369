# SPDX-License-Identifier: Apache-2.0
"""Block-sparse attention on the kernels: conformance cases and draws in checked mode, and what is promised beside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from helpers.bsa_cases import BsaCase, draw_case, run_and_judge
from helpers.fia_case_file import read_cases

CONFORMANCE = Path(__file__).resolve().parents[1] / "conformance" / "bsa_kernel"
CASES = [case for path in sorted(CONFORMANCE.glob("*.txt")) for case in read_cases(path, BsaCase)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_conformance(case: BsaCase) -> None:
    run_and_judge(case)


@pytest.mark.samples(40, full=4000)
def test_draws(sample_rng: np.random.Generator) -> None:
    run_and_judge(draw_case(sample_rng), cores=int(sample_rng.integers(0, 25)))
