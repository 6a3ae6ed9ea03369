# SPDX-License-Identifier: Apache-2.0
"""How blocks and processes end: out of order, abandoned, with threads still in a call."""

from __future__ import annotations

import asyncio
import copy
import gc
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest
from helpers.doors import through_numpy, through_torch
from helpers.fia_cases import FiaCase

import ascend_attention
from ascend_attention import AttentionError, _core, _settings

CASE = FiaCase("ending", num_query_heads=2, query_length=16, key_length=16, head_dim=16)


def in_force() -> tuple[str, str] | None:
    scope = _core.SettingsScope.in_force(_settings._current.get())
    return None if scope is None else (scope.settings.soc, scope.settings.mode)


def test_blocks_left_out_of_order_leave_nothing_behind() -> None:
    first, second = (
        ascend_attention.simulator("Ascend910B4", "checked"),
        ascend_attention.simulator("Ascend910B1", "fast"),
    )
    first.__enter__()
    inner = second.__enter__()
    first.__exit__(None, None, None)
    assert in_force() == ("Ascend910B1", "fast")
    through_torch(CASE.arguments())
    second.__exit__(None, None, None)
    assert in_force() is None
    with ascend_attention.simulator() as outside:
        pass
    through_numpy(CASE.arguments())
    assert len(inner.report.launches) == 1 and not outside.report.launches


def test_an_abandoned_generator_ends_its_block(recwarn: pytest.WarningsRecorder) -> None:
    async def numbers() -> AsyncIterator[int]:
        with ascend_attention.simulator(mode="checked"):
            yield 1
            yield 2

    async def consume() -> tuple[str, str] | None:
        async for _ in numbers():
            assert in_force() == ("Ascend910B2", "checked")
            break
        gc.collect()
        await asyncio.sleep(0.01)  # asyncio closes the generator in a task of its own
        return in_force()

    errors: list[object] = []

    async def main() -> tuple[str, str] | None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: errors.append(context))
        return await consume()

    assert asyncio.run(main()) is None
    assert errors == []


def test_a_block_is_entered_once_and_decorates_many_calls() -> None:
    block = ascend_attention.simulator()
    with block:
        pass
    with pytest.raises(RuntimeError, match="simulator: this block was entered before"), block:
        pass

    @ascend_attention.simulator(mode="checked")
    def mode() -> tuple[str, str] | None:
        return in_force()

    assert [mode(), mode(), in_force()] == [("Ascend910B2", "checked")] * 2 + [None]


def test_copies_of_a_run_keep_its_report() -> None:
    with ascend_attention.simulator() as run:
        through_numpy(CASE.arguments())
    for again in (pickle.loads(pickle.dumps(run)), copy.deepcopy(run), copy.copy(run)):
        assert len(again.report.launches) == 1 and again.report == run.report


def test_a_block_overrides_a_variable_that_means_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASCEND_ATTENTION_SIM", "strict")
    monkeypatch.setenv("ASCEND_ATTENTION_SOC", "Ascend310")
    with ascend_attention.simulator(soc="Ascend910B2", mode="fast"):
        through_numpy(CASE.arguments())
    monkeypatch.delenv("ASCEND_ATTENTION_SIM")
    monkeypatch.delenv("ASCEND_ATTENTION_SOC")
    monkeypatch.setenv("ASCEND_ATTENTION_CONTRACT", "loose")
    with ascend_attention.contract("document"):
        through_numpy(CASE.arguments())
    monkeypatch.setenv("ASCEND_ATTENTION_CONTRACT", "\udcff")  # a byte that is no UTF-8
    with pytest.raises(AttentionError, match=r"environment: ASCEND_ATTENTION_CONTRACT: given '\\xff'; allowed: "):
        through_numpy(CASE.arguments())


IN_A_CALL = """
import sys, threading, time
import numpy
{imports}
import ascend_attention
call = ascend_attention.npu_fused_infer_attention_score_v2
q = {query}
def loop():
    while True:
        call(q, q, q, num_query_heads=4, input_layout="BNSD")
call(q, q, q, num_query_heads=4, input_layout="BNSD")
for _ in range(2):
    threading.Thread(target=loop, daemon=True).start()
class Last:
    def __del__(self, call=call, q=q):
        call(q, q, q, num_query_heads=4, input_layout="BNSD")
        print("last", flush=True)
sys.keep = Last()  # called by the thread that ends Python, while it does
time.sleep(0.2)
"""


@pytest.mark.parametrize(
    ("imports", "query"),
    [("", "numpy.ones((1, 4, 128, 64), numpy.float16)"), ("import torch", "torch.ones(1, 4, 128, 64).half()")],
    ids=["numpy", "torch"],
)
def test_python_ends_while_daemon_threads_are_in_a_call(imports: str, query: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", IN_A_CALL.format(imports=imports, query=query)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def test_settings_read_twice_do_not_end_in_a_loop() -> None:
    """The second time, the handler of std::terminate would have taken itself for the one before it."""
    script = """
import ctypes, resource
from ascend_attention import _core, _settings
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
_core.read_settings_from(_settings._current)
_core.read_settings_from(_settings._current)
ctypes.CDLL("libstdc++.so.6")._ZSt9terminatev()
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (-signal.SIGABRT, "terminate called without an active exception\n")
