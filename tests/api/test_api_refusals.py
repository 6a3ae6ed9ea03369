# SPDX-License-Identifier: Apache-2.0
"""Bad input is refused with the same words at every door, and nothing else happens."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.doors import DOORS, OPERATOR, through_numpy, through_torch, through_torch_ops, to_torch
from helpers.fia_cases import FiaCase
from helpers.rule_file import Rule, read_rules

import ascend_attention
from ascend_attention import AttentionError, AttentionNotSupported, _core

ROOT = Path(__file__).parents[2]

CODES = {"refuse": 161002, "null": 161001, "later": 561003}
RULES = list(read_rules(Path(__file__).parents[1] / "conformance" / "fia_v2_rules.txt"))
# Larger requests exist to test limits; the C++ tests, which need no memory for them, cover those.
REFUSED = [
    rule for rule in RULES if rule.verdict != "accept" and not rule.about_results() and rule.bytes_needed() < 1 << 28
]
OUT_VARIANT = [rule for rule in RULES if rule.about_results()]

BASE = FiaCase(
    "base", "BSND", batch=2, num_query_heads=4, num_key_value_heads=2, query_length=20, key_length=24, head_dim=32
)


def base(**changes: Any) -> dict[str, Any]:
    return {**BASE.arguments(), **changes}


def strided(array: np.ndarray) -> np.ndarray:
    return np.repeat(array, 2, axis=-1)[..., ::2]


def zeros(*shape: int, dtype: str = "float16") -> np.ndarray:
    return np.zeros(shape, dtype)


# The issue's list: name, changed arguments, argument at fault, code.
BAD_INPUT: list[tuple[str, dict[str, Any], str, int]] = [
    ("dtype-query", base(query=zeros(2, 20, 4, 32, dtype="float32")), "query", 161002),
    ("dtype-key", base(key=zeros(2, 24, 2, 32, dtype="float64")), "key", 161002),
    ("dtype-value", base(value=zeros(2, 24, 2, 32, dtype="int16")), "value", 161002),
    ("rank-query", base(query=zeros(2, 20, 128)), "query", 161002),
    ("rank-key", base(key=zeros(2, 24, 64)), "key", 161002),
    ("heads-query", base(num_query_heads=3), "num_key_value_heads", 161002),
    ("heads-query-axis", base(num_query_heads=8), "num_query_heads", 161002),
    ("heads-key-axis", base(num_key_value_heads=4), "num_key_value_heads", 161002),
    ("heads-zero", base(num_query_heads=0), "num_query_heads", 161002),
    ("heads-negative", base(num_key_value_heads=-1), "num_key_value_heads", 161002),
    ("layout-unknown", base(input_layout="BDSN"), "input_layout", 161002),
    ("layout-later", base(input_layout="TND"), "", 161002),
    ("qlen-negative", base(actual_seq_qlen=[20, -1]), "actual_seq_qlen", 161002),
    ("qlen-long", base(actual_seq_qlen=[21, 20]), "actual_seq_qlen", 161002),
    ("kvlen-negative", base(actual_seq_kvlen=[-1]), "actual_seq_kvlen", 161002),
    ("kvlen-long", base(actual_seq_kvlen=[24, 25]), "actual_seq_kvlen", 161002),
    ("qlen-count", base(query=zeros(3, 20, 4, 32), key=zeros(3, 24, 2, 32), value=zeros(3, 24, 2, 32),
                        actual_seq_qlen=[20, 20]), "actual_seq_qlen", 161002),
    ("kvlen-count", base(query=zeros(3, 20, 4, 32), key=zeros(3, 24, 2, 32), value=zeros(3, 24, 2, 32),
                         actual_seq_kvlen=[24, 24]), "actual_seq_kvlen", 161002),
    ("mask-shape", base(atten_mask=zeros(20, 23, dtype="bool")), "atten_mask", 161002),
    ("mask-batch", base(atten_mask=zeros(3, 20, 24, dtype="bool")), "atten_mask", 161002),
    ("mask-rank", base(atten_mask=zeros(24, dtype="bool")), "atten_mask", 161002),
    ("mask-2048", base(atten_mask=zeros(20, 24, dtype="bool"), sparse_mode=3), "atten_mask", 161002),
    ("mask-dtype", base(atten_mask=zeros(20, 24, dtype="float16")), "atten_mask", 161002),
    ("mask-missing", base(sparse_mode=2), "atten_mask", 161002),
    ("head-dim-8", base(query=zeros(2, 20, 4, 8), key=zeros(2, 24, 2, 8), value=zeros(2, 24, 2, 8)), "", 161002),
    ("head-dim-differs", base(key=zeros(2, 24, 2, 16), value=zeros(2, 24, 2, 16)), "key", 161002),
    ("head-dim-528", base(query=zeros(2, 20, 4, 528), key=zeros(2, 24, 2, 528), value=zeros(2, 24, 2, 528)), "",
     161002),
    ("strided-query", base(query=strided(base()["query"])), "query", 161002),
    ("strided-key", base(key=strided(base()["key"])), "key", 161002),
    ("strided-value", base(value=strided(base()["value"])), "value", 161002),
    ("strided-mask", base(atten_mask=strided(zeros(20, 24, dtype="bool"))), "atten_mask", 161002),
    ("sparse-mode", base(sparse_mode=5), "sparse_mode", 161002),
    ("inner-precise", base(inner_precise=4), "inner_precise", 161002),
    ("int8-output", base(quant_scale_out=np.ones(1, np.float32)), "quant_scale_out", 561003),
    ("sink", base(learnable_sink=zeros(4)), "learnable_sink", 161002),
]  # fmt: skip


def tensors(**changes: Any) -> dict[str, Any]:
    return {name: to_torch(value) for name, value in base(**changes).items()}


def text_at(door: str, arguments: dict[str, Any]) -> str:
    with pytest.raises(RuntimeError if door == "torch.ops" else AttentionError) as caught:
        DOORS[door](arguments)
    return str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "argument", "code"), [row[1:] for row in BAD_INPUT], ids=[r[0] for r in BAD_INPUT]
)
def test_every_item_of_the_issue_is_refused_alike(arguments: dict[str, Any], argument: str, code: int) -> None:
    before = {name: value.tobytes() for name, value in arguments.items() if isinstance(value, np.ndarray)}
    with pytest.raises(AttentionError) as caught:
        through_numpy(arguments)
    error = caught.value
    assert error.code == code
    assert isinstance(error, AttentionNotSupported) == (code == 561003)
    assert error.operator == OPERATOR
    if argument:
        assert error.argument == argument
    for part in (error.operator, error.argument, error.given, error.allowed, error.rule, str(error.code)):
        assert part and part in str(error)
    assert text_at("torch", arguments) == text_at("torch.ops", arguments) == str(error)
    after = {name: value.tobytes() for name, value in arguments.items() if isinstance(value, np.ndarray)}
    assert before == after


@pytest.mark.parametrize("rule", REFUSED, ids=str)
def test_every_rule_is_refused_alike(rule: Rule) -> None:
    arguments = rule.arguments()
    contract = ascend_attention.contract("extended" if rule.extended else "document")
    with ascend_attention.simulator(soc=rule.soc), contract:
        with pytest.raises(AttentionError) as caught:
            through_numpy(arguments)
        assert caught.value.code == CODES[rule.verdict]
        if rule.verdict != "later":
            assert caught.value.rule == rule.rule
        assert rule.words in str(caught.value)
        assert text_at("torch", arguments) == str(caught.value)
        # Torch's schema does not let None pass for a required tensor, and has no lists of tensors.
        if rule.verdict != "null" and not any(text.startswith("[") for text in rule.texts.values()):
            assert text_at("torch.ops", arguments) == str(caught.value)


@pytest.mark.parametrize("rule", OUT_VARIANT, ids=str)
def test_every_rule_about_results_holds_for_the_out_variant(rule: Rule) -> None:
    arguments = {name: to_torch(value) for name, value in rule.arguments().items()}
    functional = torch.ops.ascend_attention.npu_fused_infer_attention_score_v2
    results = dict(zip(("attention_out", "softmax_lse"), functional(**arguments), strict=True))
    results.update({name: to_torch(value) for name, value in rule.results().items()})
    if rule.verdict == "accept":
        functional.out(**arguments, **results)
        return
    with pytest.raises(RuntimeError) as caught:
        functional.out(**arguments, **results)
    for part in (rule.rule, next(iter(rule.results())), str(CODES[rule.verdict])):
        assert part in str(caught.value)


@pytest.mark.parametrize("dtype", ["uint16", "uint32", "uint64", "complex64", "complex128"])
@pytest.mark.parametrize("name", ["query", "key", "atten_mask"])
def test_a_refusal_names_the_dtype_that_was_given(dtype: str, name: str) -> None:
    shape = (20, 24) if name == "atten_mask" else base()[name].shape
    arguments = base(**{name: zeros(*shape, dtype=dtype)})
    texts = {door: text_at(door, arguments) for door in DOORS}
    assert f"{name}: given {dtype}; allowed: " in texts["numpy"]
    assert texts["torch"] == texts["torch.ops"] == texts["numpy"]


def test_dtypes_of_one_library_only_are_named_too() -> None:
    shape = base()["query"].shape
    for array, given in (
        (zeros(*shape).astype(object), "object"),
        (zeros(*shape, dtype=">f2"), "float16 in the other byte order"),
        (zeros(*shape, dtype="longdouble"), np.dtype("longdouble").name),
    ):
        with pytest.raises(AttentionError, match=f"query: given {given}; allowed: "):
            through_numpy(base(query=array))
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2, torch.complex32):
        for through, error in (
            (ascend_attention.npu_fused_infer_attention_score_v2, AttentionError),
            (torch.ops.ascend_attention.npu_fused_infer_attention_score_v2, RuntimeError),
        ):
            with pytest.raises(error, match=f"query: given {str(dtype).removeprefix('torch.')}; allowed: "):
                through(**{**tensors(), "query": torch.empty(shape, dtype=dtype)})
    # Younger than the torch release whose interface the library is built for.
    with pytest.raises(AttentionError, match=r"query: given a dtype without a name .*; allowed: "):
        ascend_attention.npu_fused_infer_attention_score_v2(
            **{**tensors(), "query": torch.empty(shape, dtype=torch.float8_e8m0fnu)}
        )


@pytest.mark.parametrize("through", [through_numpy, through_torch])
def test_missing_tensors_are_null_pointers(through: Any) -> None:
    for name in ("query", "key", "value"):
        with pytest.raises(AttentionError) as caught:
            through(base(**{name: None}))
        assert (caught.value.code, caught.value.argument) == (161001, name)
    with pytest.raises(AttentionError, match="161001"):
        ascend_attention.npu_fused_infer_attention_score_v2(None, None, None)


WRONG_TYPES: list[tuple[str, Any, str]] = [
    ("query", [[1.0]], "query"),
    ("atten_mask", "causal", "atten_mask"),
    ("actual_seq_qlen", 20, "actual_seq_qlen"),
    ("actual_seq_qlen", "20", "actual_seq_qlen"),
    ("actual_seq_qlen", [20, 2.5], r"actual_seq_qlen\[1\]"),
    ("actual_seq_kvlen", [True, True], r"actual_seq_kvlen\[0\]"),
    ("actual_seq_kvlen", np.array([20.0, 20.0]), r"actual_seq_kvlen\[0\]"),
    ("actual_seq_kvlen", torch.tensor([20.0, 20.0]), r"actual_seq_kvlen\[0\]"),
    ("num_query_heads", "4", "num_query_heads"),
    ("num_query_heads", 4.0, "num_query_heads"),
    ("num_query_heads", None, "num_query_heads"),
    ("sparse_mode", True, "sparse_mode"),
    ("softmax_scale", "0.1", "softmax_scale"),
    ("softmax_scale", None, "softmax_scale"),
    ("softmax_scale", 1j, "softmax_scale"),
    ("input_layout", 3, "input_layout"),
    ("input_layout", b"BSH", "input_layout"),
    ("return_softmax_lse", 1, "return_softmax_lse"),
    ("query_dtype", torch.float16, "query_dtype"),
]


@pytest.mark.parametrize(("name", "value", "named"), WRONG_TYPES)
@pytest.mark.parametrize("through", [through_numpy, through_torch])
def test_wrong_python_types_name_the_argument(through: Any, name: str, value: Any, named: str) -> None:
    with pytest.raises(TypeError, match=f"^{OPERATOR}: {named}: given .*; allowed: "):
        through(base(**{name: value}))


@pytest.mark.parametrize("through", [through_numpy, through_torch])
def test_lengths_with_two_axes_and_huge_numbers_are_refused(through: Any) -> None:
    with pytest.raises(AttentionError, match=r"actual_seq_qlen: given shape \(1, 2\)"):
        through(base(actual_seq_qlen=np.array([[20, 20]])))
    with pytest.raises(AttentionError, match=r"actual_seq_kvlen\[1\]: given 18446744073709551616"):
        through(base(actual_seq_kvlen=[1, 2**64]))
    with pytest.raises(AttentionError, match="pre_tokens: given -9223372036854775809"):
        through(base(pre_tokens=-(2**63) - 1))


def test_kinds_are_not_mixed() -> None:
    arguments = base()
    arguments["key"] = torch.from_numpy(arguments["key"])
    with pytest.raises(TypeError, match=r"query: given .*ndarray.*allowed: a torch\.Tensor"):
        through_numpy(arguments)
    with pytest.raises(TypeError, match=r"query: given .*MaskedArray.*allowed: a plain numpy\.ndarray"):
        through_numpy(base(query=np.ma.masked_array(base()["query"])))


def test_other_byte_order_is_another_type() -> None:
    with pytest.raises(AttentionError, match="query"):
        through_numpy(base(query=base()["query"].astype(">f2")))


def test_other_devices_are_not_supported_yet() -> None:
    given = tensors()
    with pytest.raises(AttentionError, match="key: given a tensor on cpu; allowed: a tensor on meta, as query is"):
        ascend_attention.npu_fused_infer_attention_score_v2(**{**given, "query": given["query"].to("meta")})

    class OnNpu(torch.Tensor):
        device = torch.device("privateuseone:0")  # type: ignore[assignment]

    elsewhere = {**given, "query": given["query"].as_subclass(OnNpu)}
    with pytest.raises(
        AttentionNotSupported, match=r"query: .*not supported yet: given a tensor on privateuseone:0"
    ) as e:
        ascend_attention.npu_fused_infer_attention_score_v2(**elsewhere)
    assert e.value.code == 561003


def test_sparse_tensors_are_refused() -> None:
    given = tensors()
    given["key"] = torch.zeros(given["key"].shape, dtype=torch.float16).to_sparse()
    with pytest.raises(AttentionError, match=r"key: given a tensor of layout torch\.sparse_coo"):
        ascend_attention.npu_fused_infer_attention_score_v2(**given)


def test_a_refusal_is_a_value_error_and_survives_pickling() -> None:
    with pytest.raises(ValueError, match=re.escape("FIA-C7")) as caught:
        through_numpy(base(input_layout="XYZ"))
    again = pickle.loads(pickle.dumps(caught.value))
    assert type(again) is type(caught.value)
    assert vars(again) == vars(caught.value)
    assert str(again) == str(caught.value)


def test_rules_of_this_package_alone_are_on_the_page() -> None:
    """Every refusal has a rule: an operator's, which tests/test_constraint_table.py looks for, or one of these."""
    page = (ROOT / "docs" / "checks.md").read_text(encoding="utf-8")
    told = set(re.findall(r"`([A-Z-]+)`", "".join(re.findall(r"^\| (`[A-Z-]+`(?:, `[A-Z-]+`)*) \|", page, re.M))))
    header = (ROOT / "op_host" / "common" / "own_rules.h").read_text(encoding="utf-8")
    used = set(re.findall(r'= "([A-Z-]+)";', header))
    for path in (ROOT / "python" / "ascend_attention").glob("*.py"):
        used |= set(re.findall(r'rule="([A-Z-]+)"', path.read_text(encoding="utf-8")))
    assert used == told
    for name, value, word in (
        ("query", torch.zeros(1).to_sparse(), "TENSOR"),
        ("actual_seq_kvlen", torch.zeros(2, 2, dtype=torch.int64), "LENGTHS"),
        ("pre_tokens", 2**64, "INTEGER"),
    ):
        with pytest.raises(AttentionError) as caught:
            ascend_attention.npu_fused_infer_attention_score_v2(**{**tensors(), name: value})
        assert caught.value.rule == word


def test_a_refused_out_variant_has_written_nothing() -> None:
    given = tensors()
    out, lse = torch.full((2, 20, 4, 32), 7.0, dtype=torch.float16), torch.full((2, 4, 20, 1), 7.0)
    operator = torch.ops.ascend_attention.npu_fused_infer_attention_score_v2.out
    with pytest.raises(RuntimeError, match="FIA-C42"):
        operator(**{**given, "sparse_mode": 7}, attention_out=out, softmax_lse=lse)
    assert torch.all(out == 7) and torch.all(lse == 7)


def test_no_text_of_an_earlier_failure_leaks_into_a_later_one() -> None:
    with pytest.raises(RuntimeError):
        through_torch_ops(base(input_layout="XYZ"))  # leaves its failure for a package function that never comes
    with pytest.raises(AttentionError, match="num_query_heads"):
        through_torch(base(num_query_heads=0))
    with pytest.raises(RuntimeError):
        through_torch_ops(base(input_layout="XYZ"))
    with pytest.raises(AttentionError, match="XYZ"):
        _core.rethrow_failure()
    _core.rethrow_failure()  # told once
