# SPDX-License-Identifier: Apache-2.0
"""The policy must pass what is right and fail what is wrong; a policy that does only one of these is worthless."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from helpers.fia_cases import DTYPES, FiaCase
from helpers.fia_edges import edge_cases
from helpers.fia_random import random_case
from helpers.online_attention import MISTAKES, online_attention
from helpers.prompt_cases import PromptCase

from ascend_attention.golden import fused_infer_attention_score_v2, prompt_flash_attention
from ascend_attention.precision import (
    CallReport,
    compare_fused_infer_attention_score_v2,
    compare_prompt_flash_attention,
)

# Chunked prefill: two batches of different lengths, grouped heads, several key tiles, and head_dim 64.
CHUNKED = FiaCase(
    "chunked", "BSND", batch=2, num_query_heads=4, num_key_value_heads=2, query_length=100, key_length=700, head_dim=64,
    sparse_mode=3, mask_shape="SS", actual_seq_qlen=(100, 60), actual_seq_kvlen=(700, 530),
)  # fmt: skip
# The smallest call in which all these mistakes can be made.
SHORT = dataclasses.replace(
    CHUNKED, name="short", query_length=20, key_length=160, actual_seq_qlen=(20, 11), actual_seq_kvlen=(150, 140)
)
SHAPES = [
    dataclasses.replace(case, dtype=dtype, input_layout=layout, name=f"{case.name}-{dtype}-{layout}")
    for case in (CHUNKED, SHORT)
    for dtype, layout in zip(DTYPES, ("BSND", "BNSD_BSND"), strict=True)
]

# A bfloat16 accumulator that is rounded ten times, once for each 16 of 150 keys, is no worse than twice the bfloat16
# peer: the rule speaks about results. At 700 keys it shows.
WRONG = [
    pytest.param(case, mistake, id=f"{mistake}-{case.name}")
    for case in SHAPES
    for mistake in MISTAKES
    if not (mistake == "low_precision_accumulation" and case.key_length < 700 and case.dtype == "bfloat16")
]


def judge(case: FiaCase, actual: tuple[np.ndarray, np.ndarray], bfloat16: str = "ml_dtypes") -> CallReport:
    arguments = case.arguments(bfloat16)
    inputs = [arguments.pop(name) for name in ("query", "key", "value")]
    arguments["return_softmax_lse"] = True
    report = compare_fused_infer_attention_score_v2(actual, *inputs, **arguments)
    print(case, report.table(), sep="\n")
    return report


@pytest.mark.parametrize(("case", "mistake"), WRONG)
def test_mistakes_fail(case: FiaCase, mistake: str) -> None:
    report = judge(case, online_attention(case, mistake))
    assert not report.passed
    assert report.reason


@pytest.mark.parametrize(("case", "mistake"), [wrong for wrong in WRONG if wrong.values[1] != "rounded_scores"])
def test_mistakes_fail_without_lse(case: FiaCase, mistake: str) -> None:
    """attention_out alone gives them away. (Rounded scores cost about as much as rounded probabilities: only
    softmax_lse shows them surely.)"""
    out, _ = online_attention(case, mistake)
    report = judge(case, (out, fused_infer_attention_score_v2(**_arguments(case), dtype_flow="device")[1]))
    assert not report["attention_out"].passed
    assert report["softmax_lse"].passed


def _arguments(case: FiaCase) -> dict[str, object]:
    return {**case.arguments(), "return_softmax_lse": True}


@pytest.mark.parametrize("case", SHAPES, ids=lambda case: case.name)
def test_online_softmax_passes(case: FiaCase) -> None:
    for tile in (16, 128, 512):
        assert judge(case, online_attention(case, tile=tile)).passed


@pytest.mark.parametrize("case", edge_cases(), ids=lambda case: case.name)
def test_edges_pass(case: FiaCase) -> None:
    """A float32 online softmax with 16-bit probabilities is right on every edge."""
    assert judge(case, online_attention(case)).passed


def test_samples_pass(sample_rng: np.random.Generator) -> None:
    case = random_case(sample_rng, max_work=2**24)
    tile = int(sample_rng.choice([64, 128, 512]))
    assert judge(case, online_attention(case, tile=tile)).passed


def test_peer_and_exact_pass(sample_rng: np.random.Generator) -> None:
    case = random_case(sample_rng, max_work=2**22)
    peer = fused_infer_attention_score_v2(**_arguments(case), dtype_flow="device")
    report = judge(case, peer)
    assert report.passed
    for tensor in report.tensors:
        assert tensor.max_error == tensor.peer_max_error and tensor.rms_error == tensor.peer_rms_error


def test_values_in_rows_without_keys_fail() -> None:
    """However small: such rows are zeros by contract."""
    case = dataclasses.replace(SHORT, query_length=40, actual_seq_qlen=None, actual_seq_kvlen=(20, 10))
    for layout in ("BSH", "BSND", "BNSD", "BNSD_BSND"):
        case = dataclasses.replace(case, input_layout=layout)
        out, lse = online_attention(case)
        assert judge(case, (out, lse)).passed
        wrong = out.copy()
        # head 1, row 3 of batch 0: 40 queries on 20 keys, so it sees nothing
        at = {"BSH": (0, 3, 64), "BNSD": (0, 1, 3, 0)}.get(layout, (0, 3, 1, 0))
        wrong[at] = 1e-6
        report = judge(case, (wrong, lse))
        assert report["attention_out"].not_zero == 1 and not report.passed
        assert "without visible keys" in report.reason


@pytest.mark.parametrize("special", [-np.inf, 0.0, np.nan, 3.0e38])
def test_lse_of_rows_without_keys_must_be_plus_infinity(special: float) -> None:
    case = dataclasses.replace(SHORT, actual_seq_qlen=(10, 11))
    out, lse = online_attention(case)
    lse[0, 2, 15] = special
    report = judge(case, (out, lse))
    assert report["softmax_lse"].wrong_special == 1
    assert not report.passed and report["attention_out"].passed


def test_infinite_lse_of_an_ordinary_row_fails() -> None:
    out, lse = online_attention(SHORT)
    lse[0, 2, 5] = np.inf
    report = judge(SHORT, (out, lse))
    assert report["softmax_lse"].not_finite == 1 and not report.passed
    assert report["softmax_lse"].worst[0].index == (0, 2, 5, 0)


def test_lse_not_asked_for_has_to_be_one_zero() -> None:
    arguments = SHORT.arguments()
    inputs = [arguments.pop(name) for name in ("query", "key", "value")]
    arguments["return_softmax_lse"] = False
    out, _ = online_attention(SHORT)
    assert compare_fused_infer_attention_score_v2((out, np.zeros(1, np.float32)), *inputs, **arguments).passed
    assert not compare_fused_infer_attention_score_v2((out, np.full(1, 1e-9, np.float32)), *inputs, **arguments).passed
    assert compare_fused_infer_attention_score_v2(out, *inputs, **arguments).passed
    with pytest.raises(ValueError, match="shapes differ"):
        compare_fused_infer_attention_score_v2((out, np.zeros(0, np.float32)), *inputs, **arguments)


@pytest.mark.parametrize("dtype", DTYPES)
def test_torch_tensors(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    case = dataclasses.replace(SHORT, dtype=dtype, mask_dtype="bool")
    arguments = case.arguments("bits")
    inputs = []
    for name in ("query", "key", "value"):
        array = arguments.pop(name)
        tensor = torch.from_numpy(array.view(np.int16)).view(getattr(torch, dtype))
        inputs.append(tensor)
    arguments["atten_mask"] = torch.from_numpy(arguments["atten_mask"])
    arguments["actual_seq_kvlen"] = torch.tensor(arguments["actual_seq_kvlen"])
    query, key, value = (x.double() for x in inputs)
    out = torch.zeros_like(query)
    for b in range(2):
        s1, s2 = case.query_lengths()[b], case.key_lengths()[b]
        keep = torch.ones(s1, s2, dtype=torch.bool).tril(s2 - s1)
        q, k, v = (x[b, :n].transpose(0, 1) for x, n in ((query, s1), (key, s2), (value, s2)))
        attended = torch.nn.functional.scaled_dot_product_attention(
            q[None], k.repeat_interleave(2, 0)[None], v.repeat_interleave(2, 0)[None], attn_mask=keep
        )
        out[b, :s1] = attended[0].transpose(0, 1)
    out = out.to(inputs[0].dtype)
    report = compare_fused_infer_attention_score_v2(out, *inputs, **arguments)
    assert report.passed and report["attention_out"].dtype == dtype
    report = compare_fused_infer_attention_score_v2(out * 1.05, *inputs, **arguments)
    assert not report.passed
    with pytest.raises(ValueError, match="attention_out is float32"):
        compare_fused_infer_attention_score_v2(out.float(), *inputs, **arguments)


@pytest.mark.parametrize("input_layout", ["BSH", "BNSD_BSND", "TND"])
def test_prompt_flash_attention(input_layout: str) -> None:
    """A result that is off; rows without keys that are not zero; another dtype."""
    packed = {"head_dim": 128, "dtype": "bfloat16", "sparse_mode": 3, "mask_shape": "SS"}
    case = PromptCase(
        "prompt", input_layout, batch=2, num_query_heads=2, query_length=7, key_length=30, actual_seq_qlen=(7, 4),
        actual_seq_kvlen=(30, 30), **packed if input_layout == "TND" else {"head_dim": 20},
    )  # fmt: skip
    arguments = case.arguments()
    peer = prompt_flash_attention(**arguments, dtype_flow="device")
    assert compare_prompt_flash_attention(peer, **arguments).passed
    wrong = peer.copy()
    wrong[..., -1 if input_layout == "BSH" else slice(None)] *= np.asarray(1.1, peer.dtype)
    report = compare_prompt_flash_attention(wrong, **arguments)
    assert not report.passed and "error" in report.reason
    with pytest.raises(ValueError, match="attention_out is float32"):
        compare_prompt_flash_attention(peer.astype(np.float32), **arguments)
    if input_layout != "TND":
        wrong = peer.copy()
        wrong[1, 5, 0] = np.float16(6e-8)  # of a row beyond actual_seq_lengths
        report = compare_prompt_flash_attention(wrong, **arguments)
        assert not report.passed and report["attention_out"].not_zero > 0


@pytest.mark.parametrize("input_layout", ["BSH_NBSD", "BNSD_BSND", "TND", "TND_NTD", "NTD_TND"])
def test_rows_without_keys_in_every_layout(input_layout: str) -> None:
    """Sequences of 3 and 2 rows; the second has no keys, so its rows have to be exactly zero wherever they lie."""
    axes, _, output = input_layout.partition("_")
    packed = "T" in axes
    rng = np.random.default_rng(5)

    def tensor(shape: dict[str, int], heads: int) -> np.ndarray:
        sizes = shape | {"N": heads, "D": 16, "H": heads * 16}
        return rng.standard_normal([sizes[axis] for axis in axes]).astype(np.float16)

    arguments = {
        "query": tensor({"B": 2, "S": 3, "T": 5}, 4), "num_query_heads": 4, "num_key_value_heads": 2,
        "actual_seq_qlen": [3, 5] if packed else [3, 2], "actual_seq_kvlen": [6, 6] if packed else [6, 0],
        "input_layout": input_layout, "softmax_scale": 0.25, "return_softmax_lse": True,
    }  # fmt: skip
    arguments |= {name: tensor({"B": 2, "S": 6, "T": 6}, 2) for name in ("key", "value")}
    out, lse = fused_infer_attention_score_v2(**arguments, dtype_flow="device")
    assert compare_fused_infer_attention_score_v2((out, lse), **arguments).passed
    blind = {"NBSD": np.s_[:, 1], "BSND": np.s_[1], "TND": np.s_[3:], "NTD": np.s_[:, 3:]}[output or axes]
    assert (out[blind] == 0).all() and (out != 0).any()
    out[blind] = 2.0**-24
    report = compare_fused_infer_attention_score_v2((out, lse), **arguments)
    assert not report.passed and report["attention_out"].not_zero == out[blind].size
