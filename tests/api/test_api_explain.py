# SPDX-License-Identifier: Apache-2.0
"""check() raises what the call would raise, explain() says what the call means; neither runs anything."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from helpers.doors import OPERATOR
from helpers.rule_file import read_rules

import ascend_attention
from ascend_attention import AttentionError, AttentionNotSupported, check, explain, golden

RULES = list(read_rules(Path(__file__).parents[1] / "conformance" / "fia_v2_rules.txt"))
CODES = {"refuse": 161002, "null": 161001, "later": 561003}
GOLDEN = "ascend_attention.golden.fused_infer_attention_score_v2 computes it."

OTHER_NAMES = {
    "num_heads": "did you mean 'num_query_heads'?",
    "scale": "did you mean 'softmax_scale'?",
    "scale_value": "did you mean 'softmax_scale'?",
    "actual_seq_lengths": "did you mean 'actual_seq_qlen'?",
    "actual_seq_lengths_kv": "did you mean 'actual_seq_kvlen'?",
    "value_antiquant_mode": "did you mean 'value_quant_mode'?",
    "antiquant_scale": "here dequant_scale_key and dequant_scale_value, one tensor each",
    "softmax_lse_flag": "did you mean 'return_softmax_lse'?",
    "attn_mask": "did you mean 'atten_mask'?",
    "attn_bias": "did you mean 'pse_shift'?",
    "softmax_lse": "did you mean 'return_softmax_lse'?",
    "dequant_scale1": "here nothing takes its place: version 2 has no such argument",
    "actul_seq_qlen": "did you mean 'actual_seq_qlen'?",
}


def arguments(**changes: Any) -> dict[str, Any]:
    shapes = {"query": (2, 6, 4, 32), "key": (2, 10, 2, 32), "value": (2, 10, 2, 32)}
    tensors = {name: torch.empty(shape, dtype=torch.float16, device="meta") for name, shape in shapes.items()}
    return {**tensors, "input_layout": "BSND", "num_query_heads": 4, "num_key_value_heads": 2, **changes}


def line(text: str, name: str) -> str:
    match = re.search(rf"^{name} +(.*)$", text, re.MULTILINE)
    assert match, text
    return match[1]


def sequences(text: str) -> list[str]:
    return re.findall(r"^(?:lengths)? +(sequences? .*|and .* more)$", text, re.MULTILINE)


def mask() -> torch.Tensor:
    return torch.empty(2048, 2048, dtype=torch.bool, device="meta")


def test_both_agree_with_every_rule() -> None:
    explained = 0
    for rule in RULES:
        if rule.about_results() or rule.bytes_needed() >= 1 << 30:
            continue
        given = rule.arguments()
        contract = ascend_attention.contract("extended" if rule.extended else "document")
        with ascend_attention.simulator(soc=rule.soc), contract:
            if rule.verdict == "accept":
                check(OPERATOR, **given)
            else:
                with pytest.raises(AttentionError) as refused:
                    check(OPERATOR, **given)
                assert refused.value.code == CODES[rule.verdict], str(rule)
                assert rule.words in str(refused.value)
            if rule.verdict in ("refuse", "null"):
                with pytest.raises(AttentionError) as again:
                    explain(OPERATOR, **given)
                assert str(again.value) == str(refused.value)
                continue
            text = explain(OPERATOR, **given)
        explained += 1
        assert text.startswith(f"{OPERATOR}, {'extended' if rule.extended else 'document'} contract\n")
        assert line(text, "runs").startswith("yes" if rule.verdict == "accept" else "not supported yet: ")
        assert sequences(text) or 0 in given["query"].shape
    assert explained > 200


@pytest.mark.parametrize("layout", ["BSH", "BSND", "BNSD", "BNSD_BSND"])
@pytest.mark.parametrize("lse", [False, True])
def test_the_explanation_of_results_is_what_a_call_returns(layout: str, lse: bool) -> None:
    shape = (2, 6, 128) if layout == "BSH" else (2, 4, 4, 32)
    tensors = {name: torch.empty(shape, dtype=torch.float16, device="meta") for name in ("query", "key", "value")}
    given = arguments(**tensors, input_layout=layout, num_key_value_heads=4, return_softmax_lse=lse)
    text = explain(OPERATOR, **given)
    results = ascend_attention.npu_fused_infer_attention_score_v2(**given)
    assert line(text, "attention_out") == f"float16 {tuple(results[0].shape)}"
    assert line(text, "softmax_lse").startswith(f"float32 {tuple(results[1].shape)}")


def test_what_each_row_sees() -> None:
    text = explain(OPERATOR, **arguments(sparse_mode=3, atten_mask=mask(), actual_seq_qlen=[6, 4]))
    assert sequences(text) == [
        "sequence 0: 6 queries, 10 keys; row 0 sees keys 0 to 4, row 5 keys 0 to 9",
        "sequence 1: 4 queries, 10 keys (rows 4 to 5 are padding); row 0 sees keys 0 to 6, row 3 keys 0 to 9",
    ]
    text = explain(OPERATOR, **arguments(sparse_mode=4, atten_mask=mask(), pre_tokens=2, next_tokens=-1))
    assert line(text, "visible").startswith(
        "sparse_mode 4: with d = i + (keys - queries), row i sees keys d - 2 to d - 1; "
    )
    assert sequences(text) == ["sequences 0 to 1: 6 queries, 10 keys; row 0 sees keys 2 to 3, row 5 keys 7 to 8"]
    text = explain(OPERATOR, **arguments(sparse_mode=3, atten_mask=mask(), actual_seq_kvlen=[3, 0]))
    assert sequences(text) == [
        "sequence 0: 6 queries, 3 keys; row 0 sees no key, row 5 keys 0 to 2",
        "sequence 1: 6 queries, 0 keys; every row sees no key",
    ]
    text = explain(OPERATOR, **arguments(sparse_mode=2, atten_mask=mask()))
    assert sequences(text) == ["sequences 0 to 1: 6 queries, 10 keys; row 0 sees key 0, row 5 keys 0 to 5"]


# Changed arguments, what "visible" says after the mode, what the sequences' line says after the sizes.
FULL_MASK: list[tuple[dict[str, Any], str, str]] = [
    ({}, "all keys", "every row would see keys 0 to 9"),
    ({"next_tokens": 0}, "keys 0 to i", "row 0 would see key 0, row 5 keys 0 to 5"),
    ({"pre_tokens": 3}, "keys i - 3 to the last", "row 0 would see keys 0 to 9, row 5 keys 2 to 9"),
    ({"pre_tokens": 3, "next_tokens": -1}, "keys i - 3 to i - 1", "row 0 would see no key, row 5 keys 2 to 4"),
    ({"pre_tokens": -1, "next_tokens": 2}, "keys i + 1 to i + 2", "row 0 would see keys 1 to 2, row 5 keys 6 to 7"),
    ({"sparse_mode": 1}, "all keys", "every row would see keys 0 to 9"),
]


@pytest.mark.parametrize(("changed", "visible", "rows"), FULL_MASK)
def test_a_full_mask_and_its_tokens_in_one_picture(changed: dict[str, Any], visible: str, rows: str) -> None:
    text = explain(OPERATOR, **arguments(atten_mask=mask()[:6, :10].clone(), **changed))
    mode = changed.get("sparse_mode", 0)
    assert line(text, "visible") == f"sparse_mode {mode}: of {visible}, row i sees those where atten_mask is zero"
    assert sequences(text)[0] == f"sequences 0 to 1: 6 queries, 10 keys; if atten_mask hid nothing, {rows}"


def test_packed_sequences_are_explained() -> None:
    tokens = {
        name: torch.empty(shape, dtype=torch.bfloat16, device="meta")
        for name, shape in {"query": (9, 4, 128), "key": (7, 2, 128), "value": (7, 2, 128)}.items()
    }
    packed = arguments(**tokens, input_layout="TND", actual_seq_qlen=[4, 9], actual_seq_kvlen=[4, 7])
    text = explain(OPERATOR, **packed)
    assert sequences(text) == [
        "sequence 0: 4 queries, 4 keys; every row sees keys 0 to 3",
        "sequence 1: 5 queries, 3 keys; every row sees keys 0 to 2",
    ]
    assert line(text, "runs").startswith("yes")
    check(OPERATOR, **packed)


def test_what_is_not_built_yet_is_explained() -> None:
    given = arguments(quant_scale_out=torch.empty(1, device="meta"))
    text = explain(OPERATOR, **given)
    expected = (
        "not supported yet: quant_scale_out float32 (1,); so far: no quant_scale_out: a result in the dtype of query. "
        + GOLDEN
    )
    assert line(text, "runs") == expected
    with pytest.raises(AttentionNotSupported, match="quant_scale_out"):
        check(OPERATOR, **given)


def test_quantisation_is_named() -> None:
    text = explain(
        OPERATOR,
        query=np.empty((2, 1, 256), np.float16),
        **dict.fromkeys(("key", "value"), np.empty((2, 48, 128), np.int8)),
        num_query_heads=4,
        num_key_value_heads=2,
        dequant_scale_key=np.empty((1, 128), np.float16),
        dequant_scale_value=np.empty((1, 2, 48), np.float32),
        value_quant_mode=1,
    )
    assert line(text, "quantised") == "key: int8, scales one per channel"
    assert "value: int8, scales one per token" in text
    assert "sees keys 0 to 47" in text
    assert "FIA-C92, C94 to C100" in text


def test_many_sequences_do_not_fill_the_screen() -> None:
    many = {name: torch.empty(200, 4, 64, dtype=torch.float16, device="meta") for name in ("query", "key", "value")}
    text = explain(OPERATOR, **many, num_query_heads=2, actual_seq_kvlen=[1 + i % 4 for i in range(200)])
    assert sequences(text)[-1] == "and 184 more"
    assert len(text.splitlines()) < 60


@pytest.mark.parametrize(
    "lengths",
    [
        (6, 4),
        torch.tensor([6, 4]),
        torch.tensor([6, 4], dtype=torch.int32),
        np.array([6, 4], np.int32),
        np.array([6, 0, 4, 0])[::2],
        torch.tensor([6, 0, 4, 0])[::2],
        [np.int64(6), torch.tensor(4)],
    ],
    ids=repr,
)
def test_lengths_in_every_form(lengths: Any) -> None:
    assert explain(OPERATOR, **arguments(actual_seq_qlen=lengths)) == explain(
        OPERATOR, **arguments(actual_seq_qlen=[6, 4])
    )
    check(OPERATOR, **arguments(actual_seq_qlen=lengths))


def test_the_operator_is_given_by_name_or_as_the_function() -> None:
    given = arguments()
    tensors = [given.pop(name) for name in ("query", "key", "value")]
    function = ascend_attention.npu_fused_infer_attention_score_v2
    assert explain(function, *tensors, **given) == explain(OPERATOR, *tensors, **given)
    check(function, *tensors, **given)
    for unknown in ("fused_infer", max, None):
        with pytest.raises(AttentionError, match=f"op: given .*; allowed: {OPERATOR}"):
            check(unknown, *tensors, **given)  # type: ignore[arg-type]


def test_wrong_arguments_are_type_errors_of_the_operator() -> None:
    with pytest.raises(TypeError, match=f"^{OPERATOR}: missing a required argument: 'value'"):
        check(OPERATOR, np.zeros(1), np.zeros(1))
    function = ascend_attention.npu_fused_infer_attention_score_v2
    for call in (function, partial(check, OPERATOR), partial(explain, OPERATOR)):
        for old, new in OTHER_NAMES.items():
            given = {**arguments(), old: 1}
            text = f"{OPERATOR}: got an unexpected keyword argument {old!r}; {new}"
            with pytest.raises(TypeError, match=f"^{re.escape(text)}"):
                call(**given)
    with pytest.raises(TypeError, match=r"'num_query_heads'; did you mean 'num_heads'\?"):
        ascend_attention.npu_prompt_flash_attention(1, 2, 3, num_query_heads=4)
    with pytest.raises(TypeError, match=r"'input_layout'; did you mean 'q_input_layout' and 'kv_input_layout'\?"):
        check("block_sparse_attention_v2", 1, 2, 3, input_layout="TND")
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'dequant_scale_key'$"):  # no near miss instead
        ascend_attention.npu_prompt_flash_attention(1, 2, 3, dequant_scale_key=4)
    for call, name, advice in (
        (function, "is_causal", "causal is sparse_mode=3 "),
        (function, "dropout_p", "these operators are for inference"),
        (function, "cu_seqlens_k", "did you mean 'actual_seq_kvlen'?"),
        (ascend_attention.npu_prompt_flash_attention, "block_table", "npu_fused_infer_attention_score_v2 has it"),
        (ascend_attention.npu_prompt_flash_attention, "softmax_lse_flag", "npu_fused_infer_attention_score_v2 has it"),
        (ascend_attention.npu_block_sparse_attention, "atten_mask", "which blocks are seen is said by block_sparse"),
    ):
        with pytest.raises(TypeError, match=f"unexpected keyword argument '{name}'; {re.escape(advice)}"):
            call(1, 2, 3, **{name: 4})
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'colour'$"):
        check(OPERATOR, colour=4)
    for name, advice in (
        ("npu_fused_infer_attention_score", "is version 1, and here is"),
        ("npu_promt_flash_attention", "did you mean 'npu_prompt_flash_attention'"),
        ("__path_of_nothing__", "has no attribute '__path_of_nothing__'$"),
    ):
        with pytest.raises(AttributeError, match=advice):
            getattr(ascend_attention, name)
    with pytest.raises(AttentionError, match="; did you mean 'npu_fused_infer_attention_score_v2'"):
        check("npu_fused_infer_atention_score_v2", **arguments())
    with pytest.raises(AttentionError, match=r"npu_block_sparse_attention \[OPERATOR, code"):
        check("softmax", **arguments())
    with pytest.raises(AttentionError, match=r"attention_score is version 1, and here is \w+_v2: num_heads is"):
        check("npu_fused_infer_attention_score", **arguments())
    with pytest.raises(TypeError, match=f"^{OPERATOR}: num_query_heads: given 4.0"):
        explain(OPERATOR, **arguments(num_query_heads=4.0))


def test_nothing_is_read_or_run() -> None:
    given = {name: value for name, value in arguments().items() if not isinstance(value, torch.Tensor)}
    with ascend_attention.simulator() as run:
        # More than any machine has.
        shape = {"query": (65536, 4096, 4, 64), "key": (65536, 4096, 2, 64), "value": (65536, 4096, 2, 64)}
        tensors = {n: torch.empty(s, dtype=torch.float16, device="meta") for n, s in shape.items()}
        check(OPERATOR, **tensors, **given)
        assert "attention_out float16 (65536, 4096, 4, 64)" in explain(OPERATOR, **tensors, **given)
    assert run.report.launches == ()


def test_lengths_of_queries_with_rope_and_head_dim_512() -> None:
    """FIA-C129: one query row ignores the list, several are held to it. golden does what explain says."""
    rng = np.random.default_rng(7)

    def call(rows: int, lengths: list[int] | None) -> dict[str, Any]:
        def tensor(*shape: int) -> np.ndarray:
            return rng.standard_normal(shape).astype(np.float16)

        several = {"sparse_mode": 3, "atten_mask": np.zeros((2048, 2048), bool)} if rows > 1 else {}
        return {
            "query": tensor(2, rows, 2, 512), "query_rope": tensor(2, rows, 2, 64),
            "key": tensor(2, 16, 512), "value": tensor(2, 16, 512), "key_rope": tensor(2, 16, 64),
            "block_table": np.array([[1], [0]], np.int32), "block_size": 16, "actual_seq_kvlen": [9, 5],
            "input_layout": "BSND", "num_query_heads": 2, "num_key_value_heads": 1, "softmax_scale": 0.04,
            "actual_seq_qlen": lengths, **several,
        }  # fmt: skip

    one = call(1, [0, 7])
    assert sequences(explain(OPERATOR, **one)) == sequences(explain(OPERATOR, **{**one, "actual_seq_qlen": None}))
    plain = golden.fused_infer_attention_score_v2(**{**one, "actual_seq_qlen": None})[0]
    assert np.array_equal(golden.fused_infer_attention_score_v2(**one)[0], plain) and plain.all()

    several = call(3, [3, 1])
    assert [re.findall(r"\d+", text)[:2] for text in sequences(explain(OPERATOR, **several))] == [
        ["0", "3"],
        ["1", "1"],
    ]
    out = golden.fused_infer_attention_score_v2(**several)[0]
    assert out[0].all() and out[1, :1].all() and not out[1, 1:].any()
    with pytest.raises(AttentionError, match="FIA-C37"):
        check(OPERATOR, **call(3, [3, 4]))


def test_near_misses_say_what_was_meant() -> None:
    swapped = np.zeros((2, 6, 4, 32), np.dtype(np.float16).newbyteorder())
    with pytest.raises(AttentionError, match="query: given float16 in the other byte order; allowed: "):
        check(OPERATOR, swapped, swapped, swapped)
    with pytest.raises(AttentionError, match='the mode goes by its name: mode="timed"'):
        ascend_attention.simulator("timed")
    page = np.zeros((4, 16, 64), np.float16)
    with pytest.raises(ascend_attention.golden.GoldenError, match="block_size: is needed with block_table"):
        ascend_attention.golden.fused_infer_attention_score_v2(
            page[:1], page, page, block_table=np.zeros((1, 1), np.int32), actual_seq_kvlen=[3]
        )
