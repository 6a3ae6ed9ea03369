# SPDX-License-Identifier: Apache-2.0
"""simulator(), contract() and the environment: who sees what, and what reports say."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest
from helpers.doors import DOORS, same_bits, through_numpy, through_torch, through_torch_ops
from helpers.fia_cases import FiaCase

import ascend_attention
from ascend_attention import AttentionError, _core, _settings

CASE = FiaCase(
    "settings", batch=2, num_query_heads=4, num_key_value_heads=2, query_length=40, key_length=70, head_dim=32
)
MANY_TILES = FiaCase("", batch=4, num_query_heads=8, query_length=300, key_length=16, head_dim=16)
PIPES = {"S", "V", "M", "MTE1", "MTE2", "MTE3", "FIX"}


def runs_of(run: Any) -> list[tuple[str, str]]:
    return [(launch.soc, launch.mode) for launch in run.report.launches]


@pytest.mark.parametrize("door", DOORS)
def test_synchronisation_is_taken_out_of_any_call(door: str) -> None:
    arguments = CASE.arguments()
    with _settings.synchronisation("Ascend910B4", "checked", record=True) as block:
        expected = DOORS[door](arguments)
    (report,) = block.reports()
    assert (report["soc"], report["mode"]) == ("Ascend910B4", "checked")
    operands = [call for call in report["sync_calls"] if (call["source"], call["target"]) == ("MTE1", "M")]
    with _settings.synchronisation("Ascend910B4", "checked", ignored=operands) as block:
        with pytest.raises(RuntimeError, match="race: Mmad"):
            DOORS[door](arguments)
        # A block inside has wishes of its own.
        with ascend_attention.simulator(mode="checked"):
            DOORS[door](arguments)
    assert len(block.reports()) == 1 and "sync_calls" not in block.reports()[0]
    with (
        _settings.synchronisation("Ascend910B4", "fast", instruction_limit=50),
        pytest.raises(RuntimeError, match="instruction limit"),
    ):
        DOORS[door](arguments)
    with ascend_attention.simulator(mode="checked") as run:
        again = DOORS[door](arguments)
    assert not run.report.findings
    assert all(same_bits(a, b) for a, b in zip(again, expected, strict=True))


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("mode", ["fast", "checked"])
def test_report(door: str, mode: str) -> None:
    with ascend_attention.simulator(soc="Ascend910B4", mode=mode) as run:
        assert not run.report.launches
        DOORS[door](CASE.arguments())
        assert len(run.report.launches) == 1
        DOORS[door](CASE.arguments())
    report = run.report
    assert runs_of(run) == [("Ascend910B4", mode)] * 2
    launch = report.launches[0]
    assert launch.kernel == "attention_float16"
    assert launch.blocks >= 1
    assert len(launch.cores) == 3 * launch.blocks  # one AIC and two AIVs each
    assert set(launch.instructions) == PIPES
    for pipe, count in launch.instructions.items():
        assert count == sum(core.instructions[pipe] for core in launch.cores)
        assert report.instructions[pipe] == 2 * count
    assert all(launch.instructions[pipe] > 0 for pipe in ("V", "M", "MTE1", "MTE2", "MTE3", "FIX"))
    arguments = CASE.arguments()
    inputs = sum(arguments[name].nbytes for name in ("query", "key", "value"))
    assert launch.global_bytes_read >= inputs
    assert launch.global_bytes_written >= 2 * 4 * 40 * 32 * 2
    assert report.global_bytes_read == 2 * launch.global_bytes_read
    assert report.seconds > 0
    assert report.findings == ()
    text = str(report)
    assert "attention_float16" in text and "total" in text and "findings: none" in text
    assert report.timing is None and "timing: none in this mode; simulator(mode='timed') predicts it" in text
    assert "MTE2" in str(launch)
    assert json.loads(json.dumps(report.to_dict()))["instructions"] == dict(report.instructions)


def test_an_empty_report_says_so() -> None:
    with ascend_attention.simulator() as run:
        pass
    assert str(run.report) == "simulator: no kernel was launched"
    assert run.report.findings == () and run.report.global_bytes_read == 0


def test_blocks_nest_and_keep_their_own_launches() -> None:
    with ascend_attention.simulator(soc="Ascend910B1") as outer:
        through_numpy(CASE.arguments())
        with ascend_attention.simulator(soc="Ascend910B3", mode="checked") as inner:
            through_torch(CASE.arguments())
        with ascend_attention.contract("extended"):
            through_torch(CASE.arguments())  # the rules change, the machine and the report do not
    assert runs_of(outer) == [("Ascend910B1", "fast")] * 2
    assert runs_of(inner) == [("Ascend910B3", "checked")]
    through_numpy(CASE.arguments())
    assert len(outer.report.launches) == 2


def test_the_context_ends_with_an_exception() -> None:
    with pytest.raises(KeyError), ascend_attention.simulator(soc="Ascend910B4") as run:
        raise KeyError
    through_numpy(CASE.arguments())
    assert not run.report.launches


def test_the_soc_decides_how_many_cores_work() -> None:
    blocks = {}
    for soc in ("Ascend910B1", "Ascend910B4"):
        with ascend_attention.simulator(soc=soc) as run:
            through_numpy(MANY_TILES.arguments())
        blocks[soc] = run.report.launches[0].blocks
    assert blocks == {"Ascend910B1": 24, "Ascend910B4": 20}


def test_planner_and_machine_know_the_same_processors() -> None:
    # Neither may include the other, so each has a table: a plan for more cores than the machine has would not launch.
    assert _core.planned_cores() == _core.sim.soc_table()


@pytest.mark.parametrize(
    ("arguments", "argument"), [({"soc": "Ascend310"}, "soc"), ({"mode": "timid"}, "mode"), ({"soc": ""}, "soc")]
)
def test_unknown_machines_are_refused(arguments: dict[str, str], argument: str) -> None:
    with pytest.raises(AttentionError) as caught, ascend_attention.simulator(**arguments):
        pass
    assert caught.value.argument == argument
    assert caught.value.allowed


def test_unknown_contract_and_wrong_types() -> None:
    with pytest.raises(AttentionError, match="contract: name: given 'loose'"), ascend_attention.contract("loose"):
        pass
    for arguments in ({"soc": 910}, {"mode": 1}, {"costs": True}):
        with pytest.raises(TypeError, match=f"simulator: {next(iter(arguments))}: "):
            ascend_attention.simulator(**arguments).__enter__()  # type: ignore[arg-type]


def test_threads_do_not_see_each_others_context() -> None:
    socs = ["Ascend910B1", "Ascend910B2", "Ascend910B3", "Ascend910B4"]
    barrier = threading.Barrier(len(socs))
    expected = through_numpy(CASE.arguments())

    def work(soc: str) -> list[tuple[str, str]]:
        mode = "checked" if soc == "Ascend910B1" else "fast"
        through = through_torch if soc in socs[:2] else through_numpy
        with ascend_attention.simulator(soc=soc, mode=mode) as run:
            for _ in range(3):
                barrier.wait(timeout=120)
                result = through(CASE.arguments())
                assert all(same_bits(a, b) for a, b in zip(result, expected, strict=True))
        return runs_of(run)

    with ascend_attention.simulator() as mine, ThreadPoolExecutor(len(socs)) as pool:
        results = list(pool.map(work, socs))
    for soc, launches in zip(socs, results, strict=True):
        assert launches == [(soc, "checked" if soc == "Ascend910B1" else "fast")] * 3
    assert not mine.report.launches  # a thread does not inherit the block it was started in


def test_asyncio_tasks_do_not_see_each_others_context() -> None:
    async def work(soc: str) -> list[tuple[str, str]]:
        with ascend_attention.simulator(soc=soc) as run:
            for _ in range(2):
                await asyncio.sleep(0)
                through_torch(CASE.arguments())
        return runs_of(run)

    async def everything() -> list[list[tuple[str, str]]]:
        return await asyncio.gather(work("Ascend910B1"), work("Ascend910B4"), work("Ascend910B3"))

    assert asyncio.run(everything()) == [[(soc, "fast")] * 2 for soc in ("Ascend910B1", "Ascend910B4", "Ascend910B3")]


def test_the_interpreter_runs_while_a_kernel_does() -> None:
    big = FiaCase("", num_query_heads=4, query_length=256, key_length=1024, head_dim=128).arguments()
    started, ticks = threading.Event(), 0

    def kernel() -> None:
        started.set()
        with ascend_attention.simulator(mode="checked"):
            through_numpy(big)

    thread = threading.Thread(target=kernel)
    thread.start()
    started.wait()
    while thread.is_alive():
        ticks += 1
        thread.join(0.001)
    assert ticks > 3  # with the lock held there would be one


def test_extended_contract_is_seen_by_every_door() -> None:
    arguments = FiaCase("", "BSND", num_query_heads=1, query_length=1, key_length=8).arguments()
    arguments.update(inner_precise=2)  # D19: refused by the document at Q_S = 1
    for through in (through_numpy, through_torch):
        with pytest.raises(AttentionError) as document:
            through(arguments)
        assert document.value.code == 161002
        with ascend_attention.contract("extended"):
            assert through(arguments)[0].shape == (1, 1, 1, 64)


SCRIPT = """
import sys
import numpy as np
import ascend_attention
from ascend_attention import _core
q = np.ones((4, 8, 300, 16), np.float16)
arguments = {"query": q, "key": q, "value": q, "num_query_heads": 8, "input_layout": "BNSD"}
try:
    ascend_attention.npu_fused_infer_attention_score_v2(**arguments)
    tensor = (0, "float16", q.shape, True)
    described = arguments | dict.fromkeys(("query", "key", "value"), tensor)
    print(_core.AttentionCall("npu_fused_infer_attention_score_v2", described).describe_plan())
except ascend_attention.AttentionError as error:
    print(error)
"""


def in_process(**environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)} | environment,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()


def test_environment_of_a_whole_process() -> None:
    assert in_process() != in_process(ASCEND_ATTENTION_SOC="Ascend910B4")  # fewer cores, another plan
    assert in_process() == in_process(ASCEND_ATTENTION_SIM="checked", ASCEND_ATTENTION_CONTRACT="extended")
    assert "ASCEND_ATTENTION_SIM: given 'strict'" in in_process(ASCEND_ATTENTION_SIM="strict")
    assert "ASCEND_ATTENTION_SOC: given" in in_process(ASCEND_ATTENTION_SOC="Ascend310")
    assert "ASCEND_ATTENTION_CONTRACT: given" in in_process(ASCEND_ATTENTION_CONTRACT="loose")


def test_environment_decides_outside_of_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_ATTENTION_SIM", "checked")
    monkeypatch.setenv("ASCEND_ATTENTION_SOC", "Ascend910B4")
    settings = _core.default_settings()
    assert (settings.soc, settings.mode) == ("Ascend910B4", "checked")
    monkeypatch.setenv("ASCEND_ATTENTION_SIM", "strict")
    for through in DOORS.values():
        with pytest.raises((AttentionError, RuntimeError), match="ASCEND_ATTENTION_SIM"):
            through(CASE.arguments())
    monkeypatch.setenv("ASCEND_ATTENTION_SIM", "checked")
    with ascend_attention.simulator(mode="fast") as run:
        through_torch(CASE.arguments())
    assert runs_of(run) == [("Ascend910B4", "fast")]
    with ascend_attention.simulator(soc="Ascend910B1") as run:
        through_torch(CASE.arguments())
    assert runs_of(run) == [("Ascend910B1", "checked")]
    monkeypatch.setenv("ASCEND_ATTENTION_SOC", "nonsense")  # a block that says both does not ask
    with ascend_attention.simulator(soc="Ascend910B1", mode="fast") as run:
        through_torch(CASE.arguments())
    assert runs_of(run) == [("Ascend910B1", "fast")]


DEFAULT = {"soc": "Ascend910B2", "mode": "fast", "costs": "measured"}
INHERITED: list[tuple[list[dict[str, str]], dict[str, str]]] = [
    ([], {}),
    ([{}], {}),
    ([{"soc": "Ascend910B4"}, {"mode": "checked"}], {"soc": "Ascend910B4", "mode": "checked"}),
    ([{"mode": "checked"}, {"soc": "Ascend910B4"}, {}], {"soc": "Ascend910B4", "mode": "checked"}),
    ([{"mode": "timed", "costs": "documented"}, {"soc": "Ascend910B3"}],
     {"soc": "Ascend910B3", "mode": "timed", "costs": "documented"}),
    ([{"mode": "timed"}, {"costs": "documented"}], {"mode": "timed", "costs": "documented"}),
    ([{"mode": "timed", "costs": "documented"}, {"mode": "fast"}, {"mode": "timed"}], {"mode": "timed"}),
]  # fmt: skip


@pytest.mark.parametrize(("blocks", "changed"), INHERITED)
def test_a_block_inherits_what_it_does_not_say(blocks: list[dict[str, str]], changed: dict[str, str]) -> None:
    with ExitStack() as stack:
        for arguments in blocks:
            stack.enter_context(ascend_attention.simulator(**arguments))
        settings = _settings.current_settings()
    assert {name: getattr(settings, name) for name in DEFAULT} == DEFAULT | changed


def test_a_block_without_as_says_where_the_report_is() -> None:
    block = ascend_attention.simulator()
    with (
        block,
        pytest.raises(AttributeError, match=r"no attribute 'report'; with simulator\(\.\.\.\) as run: \.\.\. gives it"),
    ):
        block.report  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'colour'$"):
        block.colour  # noqa: B018


def test_costs_without_timed_mode_are_refused_where_the_block_is_entered() -> None:
    block = ascend_attention.simulator(costs="documented")
    with pytest.raises(AttentionError, match="costs: given 'documented' with mode 'fast'; allowed: with mode 'timed'"):
        block.__enter__()
    with ascend_attention.simulator(mode="timed"), block:
        assert _settings.current_settings().costs == "documented"


NEAR: list[tuple[str, str]] = [
    *((soc, "Did you mean 'Ascend910B2'?") for soc in ("ascend910b2", "910B2", "Ascend_910_B2")),
    ("Ascend910B22", "Did you mean 'Ascend910B2' or 'Ascend910B2C'?"),
    ("Ascend910B9", "Did you mean 'Ascend910B1', 'Ascend910B2' or 'Ascend910B3'?"),
    *((soc, "for example 'Ascend910_9391'.") for soc in ("A3", "Atlas A3", "Ascend910C", "910c", "Ascend910_93xx")),
    *((soc, "Plain Ascend910A") for soc in ("Ascend910B", "Ascend910", "910A")),
    *((soc, "for example 'Ascend910B2'.") for soc in ("A2", "Atlas 800 A2")),
    ("Ascend310P4", "Did you mean 'Ascend310P"),
    *((soc, "Atlas A3 (910C) 'Ascend910_9391' and the like.") for soc in ("", "H100", "x" * 5000)),
]  # fmt: skip


@pytest.mark.parametrize(("soc", "expected"), NEAR, ids=[soc[:20] or "empty" for soc, _ in NEAR])
def test_an_unknown_processor_names_the_nearest(soc: str, expected: str) -> None:
    with pytest.raises(AttentionError) as caught:
        ascend_attention.simulator(soc)
    assert expected in caught.value.help
    assert len(caught.value.allowed) < 150 and len(caught.value.help) < 250
    assert caught.value.help.endswith(" All of them: python -m ascend_attention processors")


def test_processors_are_listed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from ascend_attention.__main__ import main

    monkeypatch.setattr(sys, "argv", ["ascend_attention", "processors"])
    main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "Ascend910B2       Atlas A2 and A3: 24 AI cores" and len(lines) == 46
    assert all(ascend_attention.simulator(line.split()[0]) for line in lines)


@pytest.mark.parametrize("mode", ["fast", "checked"])
def test_findings_reach_the_caller_at_every_door(mode: str) -> None:
    settings = _core.default_settings().with_simulator("Ascend910B2", mode).with_instruction_limit(50)
    expected = through_numpy(CASE.arguments())
    token = _settings._current.set(_core.SettingsScope(settings))
    try:
        with pytest.raises(ascend_attention.SimulatorError) as from_numpy:
            through_numpy(CASE.arguments())
        with pytest.raises(ascend_attention.SimulatorError) as from_torch:
            through_torch(CASE.arguments())
        with pytest.raises(RuntimeError) as from_torch_ops:
            through_torch_ops(CASE.arguments())
    finally:
        _settings._current.reset(token)
    for caught in (from_numpy, from_torch):
        assert caught.value.findings and caught.value.findings[0]["severity"] == "error"
        assert caught.value.findings[0]["text"] in str(caught.value)
        assert caught.value.report.launches[0].mode == mode
    if mode == "checked":  # deterministic
        assert str(from_numpy.value) == str(from_torch.value) == str(from_torch_ops.value)
    report = _settings.SimulatorRun(settings).report
    assert len(report.launches) == 3 and len(report.findings) >= 3
    assert report.findings[0].text in str(report)
    again = through_torch(CASE.arguments())  # the failed runs have broken nothing
    assert all(same_bits(a, b) for a, b in zip(again, expected, strict=True))
