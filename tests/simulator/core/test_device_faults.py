# SPDX-License-Identifier: Apache-2.0
"""Whatever device code does to the processor ends in a finding with its line, and the next launch is as good as new."""

from __future__ import annotations

import faulthandler
import os
import platform
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from kernels import SimulatorError, launch, line_of, only_error

from ascend_attention import _core

MODES = ["fast", "checked"]
X86 = platform.machine() == "x86_64"

# which, kind, what the text says, and the text of the line that it must name (None: the machine's own finding).
FAULTS = [
    (1, "memory fault", "writes address 0x0 (a null pointer)", "*Hide<volatile int*>(nullptr) = 1"),
    (2, "memory fault", "reads address 0x40 (a null pointer)", "(void)*Hide<volatile int*>"),
    (3, "memory fault", "through a pointer that is no address at all", "0x8000000000000000ULL"),
    (4, "memory fault", "17592186044416", "x[Hide<int64_t>"),
    (5, "memory fault", "writes address 0x1000", "std::memset"),
    (6, "memory fault", "calls address 0x0 (a null pointer)", "Hide<void (*)()>(nullptr)()"),
    (10, "stack overflow", "an endless recursion", None),
    (11, "stack overflow", "an endless recursion", "PipeBarrier<PIPE_ALL>"),
    (12, "stack overflow", "arrays that are too large", None),
    (13, "arithmetic fault", "divides an integer by zero", "Hide(7) / Hide(0)"),
    (14, "illegal instruction", "runs into a trap", "__builtin_trap"),
    (15, "abort", "calls abort", "std::abort"),
    (16, "exception", "thrown where nothing may be thrown", 'error("thrown where'),
    (17, "exception", "threw at", "throw 7;"),
    (18, "exception", "thrown by a destructor", 'error("thrown by'),
    (20, "stall", "has issued no instruction for 0.05 s", None),
    (21, "stall", "has issued no instruction for 0.05 s", None),
    (22, "stall", "has issued no instruction for 0.05 s", None),
]
QUICK = [fault for fault in FAULTS if fault[1] != "stall"]


def arguments(which: int, guilty: int = 0) -> list:
    return [{"data": np.zeros(64, np.uint8), "name": "x"}, which, guilty]


def sound(mode: str, blocks: int = 1, threads: int = 1) -> None:
    report = launch("device_faults", "mix", arguments(0), blocks=blocks, mode=mode, threads=threads)
    assert report["findings"] == []


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("which", "kind", "words", "line"), FAULTS)
def test_fault_is_found(which: int, kind: str, words: str, line: str | None, mode: str) -> None:
    if which == 13 and not X86:
        pytest.skip("an integer division by zero is no fault on this processor")
    found = only_error("device_faults", "mix", arguments(which, 1), mode=mode, threads=1, stall_seconds=0.05)
    assert found["kind"] == kind
    if X86 or kind != "memory fault":
        assert words in found["text"]
    assert "block 0 AIV1" in found["text"]
    if line is not None:
        assert f"device_faults.cpp:{line_of('device_faults', line)}" in found["text"]
    if kind != "stack overflow":
        assert "libascend_attention_test_kernels_vector.so+0x" in found["text"]
        last = line_of("device_faults", "Duplicate(local, 1.0f, 64)")
        assert f"after Duplicate (device_faults.cpp:{last})" in found["text"]
    sound(mode)


def test_fault_on_another_thread() -> None:
    """Block 1 runs on the second thread; the cores of block 0 wait on the first."""
    for which, kind, _, _ in QUICK:
        if which != 13 or X86:
            found = only_error("device_faults", "mix", arguments(which, 2), blocks=2, mode="fast", threads=2)
            assert found["kind"] == kind
            assert "block 1 AIV0" in found["text"]
            sound("fast", blocks=2, threads=2)


@pytest.mark.parametrize(("mode", "threads"), [("fast", 1), ("fast", 2), ("checked", 1)])
def test_fifty_rounds_of_all_faults(mode: str, threads: int) -> None:
    for turn in range(50):
        for which, kind, _, _ in QUICK:
            if which == 13 and not X86:
                continue
            with pytest.raises(SimulatorError) as caught:
                launch("device_faults", "mix", arguments(which, turn % 4), blocks=2, mode=mode, threads=threads)
            assert [entry["kind"] for entry in caught.value.findings] == [kind]
        sound(mode, blocks=2, threads=threads)


def test_stall_on_two_threads_ends() -> None:
    found = only_error("device_faults", "mix", arguments(20, 2), blocks=2, mode="fast", threads=2, stall_seconds=0.05)
    assert found["kind"] == "stall" and "block 1 AIV0" in found["text"]


def test_stall_seconds_are_waited_for() -> None:
    start = time.monotonic()
    only_error("device_faults", "mix", arguments(20), mode="fast", threads=1, stall_seconds=0.4)
    assert 0.35 < time.monotonic() - start < 20


def test_a_busy_kernel_does_not_stall() -> None:
    """A watch that is far shorter than the launch: every tick sees another instruction."""
    x = np.zeros(64, np.float32)
    args = [{"data": x, "name": "x"}, {"data": x.copy(), "name": "y", "writable": True}, 64, 7]
    found = only_error("memory_faults", "vector", args, mode="fast", instruction_limit=10_000_000, stall_seconds=0.2)
    assert found["kind"] == "instruction limit"


@pytest.mark.parametrize("seconds", [-1.0, float("nan")])
def test_stall_seconds_must_be_a_duration(seconds: float) -> None:
    with pytest.raises(ValueError, match="stall_seconds is"):
        launch("device_faults", "mix", arguments(0), stall_seconds=seconds)


@pytest.mark.parametrize("seconds", [1e300, float("inf")])
def test_endless_watch_is_allowed(seconds: float) -> None:
    report = launch("device_faults", "mix", arguments(0), mode="fast", stall_seconds=seconds)
    assert report["findings"] == []


def test_launches_from_several_threads_at_once() -> None:
    failures: list[str] = []

    def work(seed: int) -> None:
        for turn in range(10):
            which, kind, _, _ = QUICK[(seed + turn) % len(QUICK)]
            if which == 13 and not X86:
                continue
            try:
                launch("device_faults", "mix", arguments(which, 1), mode=MODES[turn % 2], threads=1)
                failures.append(f"{which} passed")
            except SimulatorError as error:
                if [entry["kind"] for entry in error.findings] != [kind]:
                    failures.append(str(error))
            sound("fast")

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_handlers_are_put_back() -> None:
    seen: list[int] = []
    outer = signal.signal(signal.SIGURG, lambda number, frame: seen.append(number))
    try:
        before = [signal.getsignal(number) for number in (signal.SIGABRT, signal.SIGFPE, signal.SIGTRAP)]
        only_error("device_faults", "mix", arguments(20), mode="fast", threads=1, stall_seconds=0.05)
        after = [signal.getsignal(number) for number in (signal.SIGABRT, signal.SIGFPE, signal.SIGTRAP)]
        assert before == after
        assert seen == []  # the watch's own ticks are not anybody else's
        signal.raise_signal(signal.SIGURG)
        assert seen == [signal.SIGURG]
    finally:
        signal.signal(signal.SIGURG, outer)


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    here = Path(__file__).resolve().parent
    prelude = f"import sys; sys.path[:0] = {[str(here), *sys.path]!r}\n"
    # Under AddressSanitizer too the process must end as it would have.
    options = f"{os.environ.get('ASAN_OPTIONS', '')}:handle_segv=0:handle_abort=0"
    return subprocess.run(
        [sys.executable, "-c", prelude + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | {"ASAN_OPTIONS": options},
    )


FAULT_ELSEWHERE = """
    import ctypes, faulthandler, threading, time
    import numpy as np
    from kernels import SimulatorError, launch
    faulthandler.enable()
    def stall():
        try:
            launch("device_faults", "mix", [np.zeros(64, np.uint8), 20, 0], mode="fast", threads=1, stall_seconds=20.0)
        except SimulatorError:
            pass
    if {running}:
        threading.Thread(target=stall, daemon=True).start()
        time.sleep(0.3)
    else:
        try:
            launch("device_faults", "mix", [np.zeros(64, np.uint8), 1, 0], mode="fast", threads=1)
        except SimulatorError as error:
            print("finding:", error.findings[0]["kind"], flush=True)
    {fault}
"""


@pytest.mark.parametrize("running", [False, True], ids=["after", "during"])
@pytest.mark.parametrize(
    ("fault", "number"), [("ctypes.string_at(0)", signal.SIGSEGV), ("import os; os.abort()", signal.SIGABRT)]
)
def test_faults_outside_device_code_stay_what_they_were(fault: str, number: int, running: bool) -> None:
    result = run_python(FAULT_ELSEWHERE.format(fault=fault, running=running))
    assert result.returncode == -number, result.stderr
    assert "Fatal Python error" in result.stderr  # Python's own handler has seen it
    assert running or result.stdout == "finding: memory fault\n"


def test_signal_from_outside_is_not_a_fault_of_the_kernel() -> None:
    result = run_python(
        """
        import os, signal, threading, time
        import numpy as np
        from kernels import launch
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGABRT)).start()
        launch("device_faults", "mix", [np.zeros(64, np.uint8), 20, 0], mode="fast", threads=1, stall_seconds=20.0)
        """
    )
    assert result.returncode == -signal.SIGABRT


def test_broken_heap_cannot_be_survived() -> None:
    """Not a hang on a lock that nobody releases any more: the process ends as the C library wants it to."""
    result = run_python(
        """
        import numpy as np
        from kernels import launch
        launch("device_faults", "mix", [np.zeros(64, np.uint8), 30, 0], mode="fast", threads=1)
        """
    )
    assert result.returncode == -signal.SIGABRT


def test_a_fork_can_launch() -> None:
    result = run_python(
        """
        import os
        import numpy as np
        from kernels import SimulatorError, launch
        def kind(which):
            try:
                launch("device_faults", "mix", [np.zeros(64, np.uint8), which, 0], mode="fast", threads=1,
                       stall_seconds=0.05)
            except SimulatorError as error:
                return error.findings[0]["kind"]
        assert kind(20) == "stall"
        child = os.fork()
        if child == 0:
            os._exit(0 if [kind(20), kind(1), kind(0)] == ["stall", "memory fault", None] else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert kind(1) == "memory fault"
        """
    )
    assert result.returncode == 0, result.stderr


def test_python_still_dumps_its_own_stack(capfd: pytest.CaptureFixture[str]) -> None:
    """Its handlers and its alternate stack are back in their places."""
    only_error("device_faults", "mix", arguments(10), mode="fast", threads=1)
    with open("/dev/null", "w") as sink:
        faulthandler.dump_traceback(sink)
    assert _core.sim.soc_table()
