# SPDX-License-Identifier: Apache-2.0
"""A mutated copy of the engine: what the checks are worth.

All mutants are compiled into one copy of op_kernel; in an edit the word MUTANT stands for "this one was asked for".
Device libraries of that copy stand beside a copy of the package, and run in an interpreter of their own, so nothing of
them is left in the test's process.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ascend_attention
from ascend_attention.precision import compare_fused_infer_attention_score_v2
from helpers.bsa_cases import BsaCase, judge
from helpers.fia_cases import FiaCase

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(ascend_attention.__file__).parent
CORE_TYPES = {
    "cube": ("-D__DAV_C220_CUBE__", "-D__DAV_CUBE__"),
    "vector": ("-D__DAV_C220_VEC__", "-D__DAV_VEC__"),
}
VARIANTS = ("attention_float16",)
SOC = "Ascend910B4"
ASKED_FOR = """#pragma once
#include <cstdlib>
inline bool AskedFor(int number) {
    const char* asked = std::getenv("ENGINE_MUTANT");
    return asked != nullptr && std::atoi(asked) == number;
}
"""
PROGRAM = """
import json, os, sys
sys.path.insert(0, sys.argv[1])
import ascend_attention
from helpers.engine_mutants import CASES, SOC, called, is_right
for number, names in enumerate(json.loads(sys.argv[2])):
    os.environ["ENGINE_MUTANT"] = str(number)
    kinds, texts = [], []
    for name in names:
        try:
            with ascend_attention.simulator(mode="checked", soc=SOC):
                result = called(CASES[name])
        except ascend_attention.SimulatorError as error:
            kinds += [finding["kind"] for finding in error.findings]
            texts.append(str(error))
        else:
            kinds.append("passed" if is_right(CASES[name], result) else "wrong-result")
    print(json.dumps([sorted(set(kinds)), "\\n".join(texts)]), flush=True)
"""

CASES = {
    # Several key tiles, so that every ring wraps around; two row tiles; a causal edge; a tail; a group.
    "tiles": FiaCase("tiles", "BSND", num_query_heads=2, num_key_value_heads=1, query_length=150, key_length=2200,
                     head_dim=48, sparse_mode=3, mask_shape="SS"),
    # Keys of one row tile on all cores; heads of a group have sinks of their own.
    "split": FiaCase("split", "BNSD", num_query_heads=4, num_key_value_heads=1, query_length=1, key_length=6000,
                     head_dim=32, sink=True, contract="extended"),
    # Rows that see keys and have no score above -infinity: a sink is all that they have.
    "weightless": FiaCase("weightless", "BNSD", num_query_heads=4, query_length=9, key_length=40, head_dim=32,
                          sink=True, pse="minus_infinity_rows", contract="extended"),
    "paged": FiaCase("paged", "BSND", batch=2, num_query_heads=2, num_key_value_heads=2, query_length=3,
                     head_dim=32, actual_seq_kvlen=(900, 131), storage="BBH", block_size=384),
    "rope": FiaCase("rope", "BSND", num_query_heads=2, query_length=20, key_length=600, head_dim=128, rope_dim=64,
                    contract="extended"),
    "bias": FiaCase("bias", "BNSD", batch=2, num_query_heads=2, query_length=20, key_length=90, head_dim=32,
                    pse="random"),
    "list": FiaCase("list", "BNSD", batch=2, num_query_heads=2, query_length=20, head_dim=32, storage="list",
                    list_lengths=(90, 40)),
    # A last strip of channels that is half full.
    "odd": FiaCase("odd", "BNSD", num_query_heads=2, query_length=1, key_length=90, head_dim=24),
    # Selected keys: a short last block, row tiles that share loads and others that do not.
    "selected": BsaCase("selected", heads=10, query_length=200, key_length=700, block_x=32, density=0.6),
}  # fmt: skip


def called(case: FiaCase | BsaCase) -> Any:
    if isinstance(case, BsaCase):
        return ascend_attention.block_sparse_attention_v2(**case.arguments())
    with ascend_attention.contract(case.contract):
        return ascend_attention.npu_fused_infer_attention_score_v2(**case.arguments())


def is_right(case: FiaCase | BsaCase, result: Any) -> bool:
    if isinstance(case, BsaCase):
        return not judge(case, result)
    return compare_fused_infer_attention_score_v2(result, **case.arguments()).passed


@dataclass(frozen=True)
class Edit:
    file: str
    old: str
    new: str  # MUTANT in it is a condition


def without(file: str, *statements: str) -> tuple[Edit, ...]:
    return tuple(Edit(file, statement, f"if (!(MUTANT)) {{ {statement} }}") for statement in statements)


@dataclass(frozen=True)
class Mutant:
    name: str
    edits: tuple[Edit, ...]
    cases: tuple[str, ...] = ("tiles",)  # of CASES


@dataclass(frozen=True)
class Outcome:
    kinds: set[str]  # of findings in any of the cases; "wrong-result", "passed"
    text: str  # of all findings


def run_mutants(directory: Path, mutants: list[Mutant], variants: tuple[str, ...] = VARIANTS) -> list[Outcome]:
    """What is found in each; a mutant without edits is the engine as it is."""
    source = directory / "op_kernel"
    shutil.copytree(ROOT / "op_kernel", source)
    for number, mutant in enumerate(mutants):
        for edit in mutant.edits:
            path = source / edit.file
            text = path.read_text()
            assert edit.old in text, f"{edit.file} no longer contains {edit.old!r}: adapt the mutant {mutant.name!r}"
            path.write_text(text.replace(edit.old, edit.new.replace("MUTANT", f"AskedFor({number})")))
    (directory / "asked_for.h").write_text(ASKED_FOR)
    package = directory / "package" / "ascend_attention"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__", "*kernels*.so"))
    for compilation in [_compile(directory, package, core_type, variants) for core_type in CORE_TYPES]:
        output, _ = compilation.communicate()
        assert compilation.returncode == 0, output
    names = json.dumps([mutant.cases for mutant in mutants])
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(ROOT / "tests"), names],
        env=dict(os.environ, PYTHONPATH=str(package.parent)),
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    outcomes = [json.loads(line) for line in run.stdout.splitlines()]
    assert len(outcomes) == len(mutants), run.stdout
    return [Outcome(set(kinds), text) for kinds, text in outcomes]


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


def _compile(directory: Path, package: Path, core_type: str, variants: tuple[str, ...]) -> subprocess.Popen[str]:
    source = directory / "op_kernel"
    command = [
        *compiler(), "-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility=hidden",
        "-D__CCE_AICORE__=220", "-D__DAV_C220__", *CORE_TYPES[core_type],
        "-include", str(directory / "asked_for.h"),
        f"-I{ROOT / 'simulator' / 'include'}", f"-I{source}",
        *[str(source / "variants" / f"{variant}.cpp") for variant in variants],
        f"-L{package}", "-lascend_attention", "-Wl,-rpath,$ORIGIN",
        "-o", str(package / f"libascend_attention_kernels_{core_type}.so"),
    ]  # fmt: skip
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
