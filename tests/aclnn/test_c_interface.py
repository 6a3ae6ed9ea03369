# SPDX-License-Identifier: Apache-2.0
"""The C interface against the Python functions: the same refusals in the same words, the same results to the bit; its
headers, its symbols, and a user's CMake project. What needs a C++ program is in test_aclnn.cpp."""

from __future__ import annotations

import ctypes
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from helpers import aclnn
from helpers.doors import same_bits
from helpers.fia_requests import random_request
from helpers.other_requests import random_prompt_request, random_sparse_request
from helpers.rule_file import read_rules

import ascend_attention
from ascend_attention import AttentionError

ROOT = Path(__file__).parents[2]
PACKAGE = Path(ascend_attention.__file__).parent
RULES = {
    "npu_fused_infer_attention_score_v2": "fia_v2_rules.txt",
    "npu_prompt_flash_attention": "pfa_rules.txt",
    "block_sparse_attention_v2": "bsa_v2_rules.txt",
}


@pytest.mark.parametrize("op", RULES)
def test_every_refusal_has_the_code_and_the_words_of_python(op: str) -> None:
    seen = 0
    for rule in read_rules(ROOT / "tests" / "conformance" / RULES[op]):
        if rule.verdict == "accept" or rule.about_results() or rule.bytes_needed() > 1 << 24:
            continue
        given = rule.arguments()
        if not aclnn.can_be_said(op, given):
            continue
        contract = ascend_attention.contract("extended" if rule.extended else "document")
        with ascend_attention.simulator(soc=rule.soc), contract:
            with pytest.raises(AttentionError) as wanted:
                getattr(ascend_attention, op)(**given)
            error = aclnn.refusal(op, given)
        assert (str(error), error.code) == (str(wanted.value), wanted.value.code), str(rule)
        seen += 1
    assert seen > 60
    assert aclnn.library().ascendAttentionLiveObjects() == 0


RANDOM = {
    "npu_fused_infer_attention_score_v2": random_request,
    "npu_prompt_flash_attention": random_prompt_request,
    "block_sparse_attention_v2": lambda rng: random_sparse_request(rng, float8=0.0),
}


@pytest.mark.parametrize("op", RANDOM)
@pytest.mark.samples(12, full=300)
def test_random_requests_compute_the_same_bits(op: str, sample_rng: np.random.Generator) -> None:
    given: dict[str, Any] = RANDOM[op](sample_rng)
    if not aclnn.can_be_said(op, given):
        return
    try:
        results = getattr(ascend_attention, op)(**given)
    except AttentionError as wanted:
        error = aclnn.refusal(op, given)
        assert (str(error), error.code) == (str(wanted), wanted.code)
        return
    wanted_results = list(results) if isinstance(results, tuple) else [results]
    computed = aclnn.run(op, given, wanted_results)
    if aclnn.INTERFACES[op].has_lse and not (given.get("return_softmax_lse") or given.get("softmax_lse_flag")):
        assert (computed.pop() == 7).all()  # not asked for: left alone
        wanted_results.pop()
    for one, other in zip(computed, wanted_results, strict=True):
        assert same_bits(one, other)


SMALL: dict[str, dict[str, Any]] = {
    "npu_fused_infer_attention_score_v2": {"input_layout": "BNSD", "num_query_heads": 1},
    "npu_prompt_flash_attention": {"input_layout": "BNSD", "num_heads": 1},
    "block_sparse_attention_v2": {
        "q_input_layout": "BNSD", "kv_input_layout": "BNSD", "num_key_value_heads": 1, "scale_value": 0.1,
        "block_sparse_mask": np.ones((1, 1, 1, 1), np.int8),
    },
}  # fmt: skip


@pytest.mark.parametrize("op", SMALL)
def test_handles_that_are_none_or_none_any_more_are_refused_for_what_they_are(op: str) -> None:
    given = {**SMALL[op], **{name: np.ones((1, 1, 16, 64), np.float16) for name in ("query", "key", "value")}}
    anything = ctypes.create_string_buffer(64)
    with aclnn.Program() as program:
        dead = program.tensor(given["query"], with_data=False, owned=False)
        aclnn.check(program.lib.aclDestroyTensor(dead))
        tensor = program.argument(aclnn.TENSOR, given["query"], with_data=False)
        array = program.argument(aclnn.LENGTHS, [1], with_data=False)
        foreign = ctypes.cast(anything, ctypes.c_void_p)
        results = [program.tensor(given["query"], with_data=False)] * 2
        interface = aclnn.INTERFACES[op]
        results = results[: 1 + interface.has_lse]

        def refused(arguments: dict[str, Any], out: list[Any], name: str, words: str) -> None:
            with pytest.raises(aclnn.AclnnError) as caught:
                program.plan(op, interface, arguments, out, with_data=False)
            assert caught.value.code == 161002
            assert str(caught.value).startswith(f"{op}: {name}: given {words}; allowed: ")
            assert "[HANDLE, code 161002]" in str(caught.value)

        for name, kind in interface.parameters:
            if kind not in (aclnn.TENSOR, aclnn.LIST, aclnn.LENGTHS):
                continue
            other, other_name = (array, "an array of integers") if kind != aclnn.LENGTHS else (tensor, "a tensor")
            for handle, words in (
                (dead, "a tensor that was destroyed"),
                (foreign, "a pointer that this library did not give"),
                (other, other_name),
            ):
                refused({**given, name: handle}, results, name, words)
        refused(given, [dead, *results[1:]], "attention_out", "a tensor that was destroyed")
        executor, _ = program.plan(op, interface, given, results, with_data=False)
        aclnn.check(program.lib.aclDestroyAclOpExecutor(executor))


def test_the_older_interface_is_the_newer_one_with_fewer_arguments() -> None:
    op = "npu_fused_infer_attention_score_v2"
    rng = np.random.default_rng(3)
    given: dict[str, Any] = {name: rng.standard_normal((2, 20, 2, 32)).astype(np.float16) for name in ("key", "value")}
    given.update(query=rng.standard_normal((2, 12, 4, 32)).astype(np.float16), input_layout="BSND", num_query_heads=4)
    given.update(num_key_value_heads=2, softmax_scale=0.3, actual_seq_kvlen=[20, 7], return_softmax_lse=True)
    given.update(sparse_mode=3, atten_mask=np.triu(np.ones((2048, 2048), np.int8), 1), inner_precise=1)
    wanted = ascend_attention.npu_fused_infer_attention_score_v2(**given)
    for one, other in zip(aclnn.run(op, given, list(wanted), aclnn.V3), wanted, strict=True):
        assert same_bits(one, other)


def test_what_goes_wrong_on_the_device_is_told_to_whoever_waits_for_the_stream() -> None:
    op = "npu_fused_infer_attention_score_v2"
    given: dict[str, Any] = {name: np.ones((2, 128, 128), np.float16) for name in ("key", "value")}
    given.update(query=np.ones((1, 1, 2, 64), np.float16), input_layout="BSND", num_query_heads=2, block_size=128)
    given.update(block_table=np.array([[9]], np.int32), actual_seq_kvlen=[5])
    with pytest.raises(ascend_attention.SimulatorError) as wanted:
        ascend_attention.npu_fused_infer_attention_score_v2(**given)
    with pytest.raises(aclnn.AclnnError) as caught:
        aclnn.run(op, given, [given["query"], np.zeros(1, np.float32)])
    assert caught.value.code == 507015
    assert str(caught.value).startswith(f"{op}: ") and "block_table[0, 0] is 9" in str(caught.value)
    assert "block_table[0, 0] is 9" in str(wanted.value)


def test_arguments_that_only_the_c_interface_has_are_refused_as_not_supported() -> None:
    op = "npu_fused_infer_attention_score_v2"
    given = {name: np.ones((1, 1, 16, 16), np.float16) for name in ("query", "key", "value")}
    given.update(input_layout="BNSD", num_query_heads=1)
    for name, kind in aclnn.INTERFACES[op].parameters:
        if kind != aclnn.NULL:
            continue
        error = aclnn.refusal(op, {**given, name: np.ones(1, np.float32)})
        assert error.code == 561003
        assert str(error).startswith(
            f"{op}: {name}Optional: legal by the document, but not supported yet: given a tensor"
        )
        assert "[NOT-YET, code 561003]" in str(error)
    error = aclnn.refusal("npu_prompt_flash_attention", {**given, "num_heads": 1, "innerPrecise": 4})
    assert error.code == 161002 and "inner_precise: given 4; allowed: 0, 1, 2, 3 [PFA-A5, " in str(error)


def declared_functions() -> set[str]:
    names: set[str] = set()
    for header in (ROOT / "include").rglob("*.h"):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        names.update(re.findall(r"\b((?:acl|ascendAttention)\w+)\(\s*(?:\w[^;{]*)?\);", text))
    return names


def test_the_library_exports_what_the_headers_declare() -> None:
    library = PACKAGE / "libascend_attention_aclnn.so"
    listing = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    exported = {line.split()[2] for line in listing.splitlines()}
    assert exported == declared_functions()
    assert len(exported) > 70


C = [*shlex.split(os.environ.get("CC", "cc")), "-x", "c", "-std=c99"]
CPP = [*shlex.split(os.environ.get("CXX", "c++")), "-x", "c++", "-std=c++11"]


@pytest.mark.parametrize("compiler", [C, CPP], ids=["C99", "C++11"])
def test_headers_compile_alone_and_together(compiler: list[str], tmp_path: Path) -> None:
    headers = sorted(str(path.relative_to(ROOT / "include")) for path in (ROOT / "include").rglob("*.h"))
    flags = ["-fsyntax-only", "-Wall", "-Wextra", "-pedantic", "-Werror", f"-I{PACKAGE / 'include'}"]
    lines = [f'#include "{header}"\n' for header in headers]
    for name, text in {"together": "".join(lines), **{str(i): line for i, line in enumerate(lines)}}.items():
        (tmp_path / f"{name}.c").write_text(text + "int main(void) { return 0; }\n")
    sources = sorted(str(path) for path in tmp_path.glob("*.c"))
    subprocess.run([*compiler, *flags, *sources], check=True)


def test_a_users_cmake_project_builds_and_runs(tmp_path: Path) -> None:
    directory = subprocess.run(
        [sys.executable, "-m", "ascend_attention", "cmake-dir"], capture_output=True, text=True, check=True
    ).stdout.strip()
    source = ROOT / "examples" / "aclnn"
    for command in (
        ["cmake", "-S", source, "-B", tmp_path, f"-DCMAKE_PREFIX_PATH={directory}", "-DCMAKE_CXX_FLAGS=-Werror -Wall"],
        ["cmake", "--build", tmp_path],
    ):
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stdout + built.stderr
    checked = {**os.environ, "ASCEND_ATTENTION_SIM": "checked"}
    decoded = subprocess.run(
        [tmp_path / "fused_infer_attention"], capture_output=True, text=True, check=False, env=checked
    )
    assert decoded.returncode == 0, decoded.stderr
    assert decoded.stdout.startswith("1024 elements, 0 of them wrong; log-sum-exp")
    sparse = subprocess.run([tmp_path / "block_sparse_attention"], capture_output=True, text=True, check=False)
    assert sparse.returncode == 0, sparse.stderr
    assert "16384 elements, 0 of them not 1" in sparse.stdout
