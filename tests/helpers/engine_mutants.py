# SPDX-License-Identifier: Apache-2.0
"""Mutated copies of the engine: what the checks are worth.

A mutant is the package beside device libraries that were compiled from a copy of op_kernel in which some text was
replaced. It runs in an interpreter of its own, so nothing of it is left in the test's process.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import ascend_attention
from helpers.fia_cases import FiaCase

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(ascend_attention.__file__).parent
CORE_TYPES = {
    "cube": ("-D__DAV_C220_CUBE__", "-D__DAV_CUBE__"),
    "vector": ("-D__DAV_C220_VEC__", "-D__DAV_VEC__"),
}

# Several key tiles, so that every ring wraps around; two row tiles; a causal edge; a tail; a group.
CASE = FiaCase("mutant", "BSND", num_query_heads=2, num_key_value_heads=1, query_length=150, key_length=2200,
               head_dim=48, sparse_mode=3, mask_shape="SS")  # fmt: skip
SOC = "Ascend910B4"
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
import ascend_attention
from helpers.engine_mutants import CASE, SOC
from ascend_attention.precision import compare_fused_infer_attention_score_v2 as judge
arguments = CASE.arguments()
try:
    with ascend_attention.simulator(mode="checked", soc=SOC):
        result = ascend_attention.npu_fused_infer_attention_score_v2(**arguments)
except ascend_attention.SimulatorError as error:
    print("kinds", *sorted({finding["kind"] for finding in error.findings}))
    print(error)
else:
    print("kinds", "passed" if judge(result, **arguments).passed else "wrong-result")
"""


@dataclass(frozen=True)
class Edit:
    file: str
    old: str
    new: str


def run_mutant(directory: Path, edits: tuple[Edit, ...]) -> tuple[set[str], str]:
    """What was found when the mutant ran: kinds of findings, "wrong-result" or "passed"; and all it printed."""
    source = directory / "op_kernel"
    shutil.copytree(ROOT / "op_kernel", source)
    for edit in edits:
        path = source / edit.file
        text = path.read_text()
        assert edit.old in text, f"{edit.file} no longer contains {edit.old!r}: adapt the mutant"
        path.write_text(text.replace(edit.old, edit.new))
    package = directory / "package" / "ascend_attention"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "*kernels*.so"))
    runs = [_compile(source, package, core_type) for core_type in CORE_TYPES]
    for compilation in runs:
        output, _ = compilation.communicate()
        assert compilation.returncode == 0, output
    environment = dict(os.environ, PYTHONPATH=str(package.parent), ASCEND_ATTENTION_SIM="checked")
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(ROOT / "tests")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr
    kinds = next(line for line in run.stdout.splitlines() if line.startswith("kinds"))
    return set(kinds.split()[1:]), run.stdout


def compiler(build: Path = ROOT / "build") -> list[str]:
    """The C++ compiler as a command: what CXX says, what CMake used for the package, or the first one on PATH."""
    if words := shlex.split(os.environ.get("CXX", "")):
        return words
    # CXX="ccache g++" is recorded as the program and its first argument.
    for record in sorted(build.glob(f"{sys.implementation.cache_tag}/CMakeFiles/*/CMakeCXXCompiler.cmake")):
        recorded = dict(re.findall(r'^set\((CMAKE_CXX_COMPILER(?:_ARG1)?) "(.*)"\)$', record.read_text(), re.MULTILINE))
        if program := shutil.which(recorded.get("CMAKE_CXX_COMPILER", "")):
            return [program, *shlex.split(recorded.get("CMAKE_CXX_COMPILER_ARG1", ""))]
    for name in ("g++", "clang++", "c++"):
        if path := shutil.which(name):
            return [path]
    raise FileNotFoundError("no C++ compiler: set CXX, or put g++, clang++ or c++ on PATH")


def _compile(source: Path, package: Path, core_type: str) -> subprocess.Popen[str]:
    command = [
        *compiler(), "-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility=hidden",
        "-D__CCE_AICORE__=220", "-D__DAV_C220__", *CORE_TYPES[core_type],
        f"-I{ROOT / 'simulator' / 'include'}", f"-I{source}",
        str(source / "variants" / "attention_float16.cpp"),
        f"-L{package}", "-lascend_attention", "-Wl,-rpath,$ORIGIN",
        "-o", str(package / f"libascend_attention_kernels_{core_type}.so"),
    ]  # fmt: skip
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
