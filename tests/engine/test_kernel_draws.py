# SPDX-License-Identifier: Apache-2.0
"""Random cases over everything that the fused operator and prompt flash attention have without quantisation: each runs
in checked mode without a finding and is right by the rule of docs/precision.md. ``--full`` runs thousands."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.engine_runs import run_and_judge
from helpers.fia_draws import draw_case
from helpers.prompt_draws import draw_prompt_case


@pytest.mark.samples(300, full=6000)
def test_draws(sample_rng: np.random.Generator) -> None:
    run_and_judge(draw_case(sample_rng))


@pytest.mark.samples(100, full=3000)
def test_prompt_draws(sample_rng: np.random.Generator) -> None:
    run_and_judge(draw_prompt_case(sample_rng))
