# SPDX-License-Identifier: Apache-2.0
"""A user's own kernel without each piece of its synchronisation."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ascend_attention import sim
from ascend_attention.sync_mutation import Case, study, table

KERNELS = Path(__file__).resolve().parents[1] / "kernels"
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "own_kernel" / "add.cpp"
SOURCE = KERNELS / "redundant_sync.cpp"


def test_study_of_a_compiled_kernel() -> None:
    kernel = sim.compile(SOURCE, "redundant_sync")
    x = np.arange(128, dtype=np.float32)

    def case(again: int, auto_sync: bool = False) -> Case:
        def run() -> tuple[np.ndarray, ...]:
            return kernel(x, sim.Out(np.empty_like(x)), again, auto_sync=auto_sync).outputs

        return Case(f"again={again}", run, lambda outputs: np.array_equal(outputs[0], 2 * x))

    # The compiler saw an absolute path, so the source is found from anywhere.
    result = study([case(0), case(1)], roots=[])
    assert result.unread == () and result.unexecuted == ()
    assert {outcome.mutant.name: outcome.verdict for outcome in result.of("pair")} == {
        "MTE2_V kLoaded": "race", "V_MTE2 kIdle": "survived", "V_MTE3 kDone": "race",
    }  # fmt: skip
    assert [(outcome.verdict, outcome.case) for outcome in result.of("barrier")] == [
        ("survived", "again=0"), ("race", "again=0"), ("race", "again=1"),
    ]  # fmt: skip
    assert all(outcome.unnoticed == () for outcome in result.of("single"))
    # What the vendor's compiler inserts on the vector pipe makes the kernel's own barriers superfluous.
    helped = study([case(1, auto_sync=True)], roots=[], kinds=["barrier"])
    assert [outcome.verdict for outcome in helped.of("barrier")] == ["survived"] * 3


def test_kernel_of_queues_alone_has_nothing_to_take_out() -> None:
    kernel = sim.compile(EXAMPLE)
    x = np.ones(256, np.float16)

    def run() -> tuple[np.ndarray, ...]:
        return kernel(x, x, sim.Out(np.empty_like(x)), 1).outputs

    result = study([Case("one", run, lambda outputs: np.array_equal(outputs[0], 2 * x))], roots=[])
    assert not result.outcomes
    assert "Nothing was tested" in table(result) and "passed" not in table(result)


def test_meetings_in_global_memory_are_mutated_too() -> None:
    kernel = sim.compile(KERNELS / "memory_flags.cpp", "memory_flags")

    def run(how: int) -> tuple[np.ndarray, ...]:
        rows, words = np.zeros((16, 32), np.float32), np.zeros(2048, np.int32)
        return kernel(sim.InOut(rows), sim.InOut(words), how, blocks=3, auto_sync=False).outputs

    cases = [
        Case("chain", lambda: run(0), lambda outputs: outputs[0][:3, 0].tolist() == [1, 2, 3]),
        Case("turns", lambda: run(2), lambda outputs: outputs[0][0, 0] == 36),
    ]
    result = study(cases, roots=[])
    verdicts = {outcome.mutant.name: outcome.verdict for outcome in result.of("pair")}
    assert verdicts["IB 0"] == "race" and verdicts["turn"] == "race"
    halves = [o for o in result.of("single") if o.mutant.name.endswith((" of IB 0", " of turn"))]
    assert len(halves) == 4 and all(outcome.unnoticed == () for outcome in halves)
