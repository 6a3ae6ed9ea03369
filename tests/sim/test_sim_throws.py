# SPDX-License-Identifier: Apache-2.0
"""What a kernel throws and nothing catches is reported with the line of the throw; what it catches is its own."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from ascend_attention import sim

KERNEL = Path(__file__).parent / "kernels" / "throws.cpp"

# which, what was thrown, the mark of its line, the mark of the line where it was thrown again.
THROWS = [
    (1, "an exception of type int", "1: int", ""),
    (2, "an exception of type char const*", "2: a text", ""),
    (3, "a runtime error", "3: of the standard library", ""),
    (4, "an exception of type (anonymous namespace)::Plain", "4: of no base", ""),
    (5, "an exception of the kernel's own", "5: derived", ""),
    (6, "from a helper", "6: in an inlined helper", ""),
    (7, "from a function", "7: in a function", ""),
    (8, "an exception of type std::", "8: in a lambda", ""),
    (10, "vector", "10: at", ""),
    (11, "stoi", "11: stoi", ""),
    (12, "", "12: no memory", ""),
    (13, "vector", "13: reserve", ""),
    (14, "basic_string", "14: substr", ""),
    (20, "an exception of type (anonymous namespace)::Plain", "20: a later one", ""),
    (21, "an exception of type int", "21: the first place", "21: again"),
    (22, "an exception of the kernel's own", "22: another from a handler", ""),
    (23, "an exception of the kernel's own", "23: the outer one", "23: again"),
    (24, "an exception of the kernel's own", "24: destructors throw and catch meanwhile", ""),
    (25, "an exception of the kernel's own", "25: after a thousand", ""),
    (26, "from a function", "26: kept for later", ""),
    (27, "stoi", "27: the library's, twice again", "21: again"),
]
# AddressSanitizer ends a process that asks for so much.
IDS = [which for which, *_ in THROWS if which != 12 or "libasan" not in os.environ.get("LD_PRELOAD", "")]
THROWS = [case for case in THROWS if case[0] in IDS]


def place(mark: str) -> str:
    (found,) = [n for n, source in enumerate(KERNEL.read_text().splitlines(), 1) if source.endswith(f"// {mark}")]
    return rf"throws\.cpp:{found} \[\w+\.so\+0x[0-9a-f]+\]"


def wanted(core: str, what: str, mark: str, again: str) -> str:
    second = f", and again at {place(again)}" if again else ""
    return rf"exception: device code on {core} threw at {place(mark)}{second}: {re.escape(what)}"


def compiled(cache: Path, **options: object) -> sim.Kernel:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASCEND_ATTENTION_CACHE", str(cache))
        if "compiler" in options:
            patch.setenv("CXX", str(options.pop("compiler")))
        return sim.compile(KERNEL, **options)


@pytest.fixture(scope="module")
def kernel(session_cache: Path) -> sim.Kernel:
    return compiled(session_cache, kind="vector")


def run(kernel: sim.Kernel, which: int, guilty: int, **options: object) -> sim.Result:
    y = np.zeros(256, np.int64)
    return kernel(sim.Out(y), which, guilty, check=False, **options)


def sound(kernel: sim.Kernel, cores: range, **options: object) -> None:
    """What each core has thrown, it has caught."""
    result = run(kernel, 0, 0, **options)
    assert result.ok and (result.outputs[0][8 * 16 + 8 * cores.start : 8 * 16 + 8 * cores.stop : 8] == 1).all()


@pytest.mark.parametrize("mode", ["fast", "checked"])
@pytest.mark.parametrize(("which", "what", "mark", "again"), THROWS, ids=IDS)
def test_line_of_the_throw(which: int, what: str, mark: str, again: str, mode: str, kernel: sim.Kernel) -> None:
    for _ in range(2):
        result = run(kernel, which, 1, blocks=2, mode=mode)
        assert re.match(wanted("block 1 AIV", what, mark, again), str(result.error))
        assert [finding.kind for finding in result.findings] == ["exception"]
        sound(kernel, range(2), blocks=2, mode=mode)


@pytest.mark.parametrize(
    "flags", [["-O0"], ["-O3"], ["-O2", "-gdwarf-4"], ["-O2", "-g1"], ["-O3", "-gdwarf-5"]], ids=str
)
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_line_whatever_the_compiler_makes_of_it(compiler: str, flags: list[str], session_cache: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"no {compiler}")
    kernel = compiled(session_cache, kind="vector", flags=flags, compiler=compiler)
    for which, what, mark, again in THROWS:
        assert re.match(wanted("block 0 AIV", what, mark, again), str(run(kernel, which, 0).error))


def test_without_debug_information(session_cache: Path) -> None:
    kernel = compiled(session_cache, kind="vector", flags=["-g0"])
    text = str(run(kernel, 10, 0).error)
    assert re.search(r"threw at a line that the debug information does not tell \[vector\.so\+0x[0-9a-f]+\]: ", text)


@pytest.mark.parametrize("mode", ["fast", "checked"])
@pytest.mark.parametrize(("guilty", "core"), [(-2, "block 1 AIC"), (2, "block 1 AIV0"), (1, "block 0 AIV1")])
def test_every_core_of_a_mix(guilty: int, core: str, mode: str, session_cache: Path) -> None:
    kernel = compiled(session_cache, kind="mix")
    for which, what, mark, again in THROWS:
        text = str(run(kernel, which, guilty, blocks=2, mode=mode).error)
        assert re.match(wanted(core, what, mark, again), text)
    sound(kernel, range(-2, 4), blocks=2, mode=mode)


def test_cube_cores(session_cache: Path) -> None:
    kernel = compiled(session_cache, kind="cube")
    assert re.match(
        wanted("block 1 AIC", "from a helper", "6: in an inlined helper", ""), str(run(kernel, 6, -2, blocks=2).error)
    )
    sound(kernel, range(-2, 0), blocks=2)


@pytest.mark.parametrize("mode", ["fast", "checked"])
def test_what_nothing_may_catch(mode: str, kernel: sim.Kernel) -> None:
    text = str(run(kernel, 30, 0, mode=mode).error)
    assert re.search(rf"called std::terminate: .*Plain, thrown at {place('30: where nothing may be thrown')}\)", text)
    text = str(run(kernel, 31, 0, mode=mode).error)
    assert "called std::terminate" in text and "no exception was thrown" in text and "throws.cpp" not in text
    sound(kernel, range(1), mode=mode)
