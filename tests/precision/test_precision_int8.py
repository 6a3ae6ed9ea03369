# SPDX-License-Identifier: Apache-2.0
"""int8 results: right is what lies within the documented rounding of a value that the float rule allows."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from helpers.fia_cases import DTYPES, FiaCase
from helpers.online_attention import online_attention

from ascend_attention.golden import fused_infer_attention_score_v2, prompt_flash_attention
from ascend_attention.precision import (
    POLICIES,
    CallReport,
    compare,
    compare_fused_infer_attention_score_v2,
    compare_prompt_flash_attention,
)

Quantise = Callable[[np.ndarray], np.ndarray]

# Grouped heads, several key tiles, rows that see nothing (60 queries on 40 keys) and rows of no sequence.
CASE = FiaCase(
    "int8", "BSND", batch=2, num_query_heads=4, num_key_value_heads=2, query_length=60, key_length=400, head_dim=64,
    sparse_mode=3, mask_shape="SS", actual_seq_qlen=(60, 50), actual_seq_kvlen=(40, 400),
)  # fmt: skip


def to_int8(values: np.ndarray) -> np.ndarray:
    """As the hardware does, which has no direct conversion: through float16."""
    with np.errstate(over="ignore"):
        return np.clip(np.rint(np.nan_to_num(values.astype(np.float16).astype(np.float64))), -128, 127)


def steps(case: FiaCase, channels: bool) -> tuple[dict[str, Any], Quantise]:
    """Arguments with which results fill the range, and a kernel's last step for them."""
    rng = np.random.default_rng(5)
    count = case.num_query_heads * case.head_dim if channels else 1
    scale, offset = rng.uniform(60, 130, count).astype(np.float32), rng.integers(-9, 10, count).astype(np.float32)
    shape = (case.num_query_heads, 1, case.head_dim) if channels else (1,)
    factor, shift = scale.reshape(shape), offset.reshape(shape)
    return {"quant_scale_out": scale, "quant_offset_out": offset}, lambda out: to_int8(out * factor + shift)


def judge(case: FiaCase, actual: tuple[np.ndarray, np.ndarray], quantised: dict[str, Any]) -> CallReport:
    arguments = {**case.arguments(), **quantised, "return_softmax_lse": True}
    inputs = [arguments.pop(name) for name in ("query", "key", "value")]
    report = compare_fused_infer_attention_score_v2(actual, *inputs, **arguments)
    print(report.table())
    return report


@pytest.mark.parametrize("channels", [False, True], ids=["per-tensor", "per-channel"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_kernel_passes_and_two_steps_fail(dtype: str, channels: bool) -> None:
    case = dataclasses.replace(CASE, dtype=dtype)
    quantised, quantise = steps(case, channels)
    for tile in (64, 512):
        out, lse = online_attention(case, tile=tile, quantise=quantise)
        assert out.dtype == np.int8 and len(np.unique(out)) > 150
        report = judge(case, (out, lse), quantised)
        assert report.passed, report.reason
    for at in ((1, 7, 3, 5), (1, 49, 0, 63), (0, 59, 2, 0)):
        for off in (2, -2):
            wrong = out.copy()
            wrong[at] = out[at] + off if abs(int(out[at]) + off) < 120 else out[at] - off
            report = judge(case, (wrong, lse), quantised)["attention_out"]
            assert not report.passed and report.mismatches == 1 and report.worst[0].index == at
    wrong = out.copy()
    wrong[0, 3, 1, 4] = 1  # row 3 of 60 on 40 keys sees none
    assert judge(case, (wrong, lse), quantised)["attention_out"].not_zero == 1


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "mistake",
    ["causal_off_by_one", "dropped_key_tile", "swapped_heads", "skipped_rescale", "padding_keys_seen", "shifted_rows",
     "kv_head_modulo", "uniform_average"],
)  # fmt: skip
def test_mistakes_fail(dtype: str, mistake: str) -> None:
    case = dataclasses.replace(CASE, dtype=dtype)
    quantised, quantise = steps(case, True)
    out, _ = online_attention(case, mistake, quantise=quantise)
    _, lse = online_attention(case)
    assert not judge(case, (out, lse), quantised)["attention_out"].passed


@pytest.mark.parametrize("mistake", ["no offset", "scale 3 % too large", "rounded down", "wrapped"])
def test_mistakes_of_the_last_step_fail(mistake: str) -> None:
    case = dataclasses.replace(CASE, dtype="float16")
    quantised, right = steps(case, True)
    scale = quantised["quant_scale_out"].reshape(case.num_query_heads, 1, case.head_dim)
    offset = quantised["quant_offset_out"].reshape(scale.shape)
    wrong: dict[str, Quantise] = {
        "no offset": lambda out: to_int8(out * scale),
        "scale 3 % too large": lambda out: to_int8(out * (scale * np.float32(1.03)) + offset),
        "rounded down": lambda out: np.clip(np.floor(out * scale + offset), -128, 127),
        "wrapped": lambda out: np.rint(out * scale + offset).astype(np.int64).astype(np.int8),
    }
    assert judge(case, online_attention(case, quantise=right), quantised).passed
    report = judge(case, online_attention(case, quantise=wrong[mistake]), quantised)
    assert not report.passed and report["softmax_lse"].passed


def test_int8_prompt_chain() -> None:
    """The other operator with such results, where the probabilities are integers too."""
    rng = np.random.default_rng(3)
    query, key, value = (rng.integers(-60, 60, (1, 2, n, 32)).astype(np.int8) for n in (24, 300, 300))
    call: dict[str, Any] = {"num_heads": 2, "input_layout": "BNSD", "scale_value": 32**-0.5}
    call |= {"deq_scale1": np.float32([1e-3]), "quant_scale1": np.float32([127]), "deq_scale2": np.float32([1 / 127])}
    call |= {"quant_scale2": np.float32([1.5])}
    exact = prompt_flash_attention(query, key, value, **call, round_output=False)
    peer = prompt_flash_attention(query, key, value, **call, dtype_flow="device", round_output=False)
    assert exact.dtype == np.float64 and peer.dtype == np.float32
    rounded = prompt_flash_attention(query, key, value, **call)
    np.testing.assert_array_equal(rounded, np.clip(np.rint(exact), -128, 127))
    device = prompt_flash_attention(query, key, value, **call, dtype_flow="device")
    np.testing.assert_array_equal(device, to_int8(peer))
    for actual in (rounded.astype(np.int8), device):
        assert compare(actual, exact, peer).passed
        assert compare_prompt_flash_attention(actual, query, key, value, **call).passed
    device[0, 1, 5, 7] += 2 if device[0, 1, 5, 7] < 0 else -2
    assert compare(device, exact, peer).mismatches == 1
    assert not compare_prompt_flash_attention(device, query, key, value, **call).passed
    with pytest.raises(ValueError, match="round_output=False"):
        compare(device, exact, prompt_flash_attention(query, key, value, **call, dtype_flow="device"))


def test_numbers() -> None:
    """An integer's error is the way from the exact value to the nearest one that rounds to it."""
    exact = np.array([3.4, 3.4, -7.5, 0.0, 500.0, -500.0])
    actual = np.array([3, 4, -8, 0, 127, -128], np.int8)
    peer = np.array([3.4, 3.425, -7.5, 0.0, 90000.0, -500.0], np.float32)
    report = compare(actual, exact, peer)
    assert report.max_error == pytest.approx(0.1) and report.peer_max_error == pytest.approx(0.025, rel=1e-5)
    assert report.max_term == 2.0**-4  # one ulp of float16 at 127: two roundings of half an ulp
    assert report.passed and report.term == "i8-two-f16-roundings"
    assert report.worst[0].index == (1,) and report.worst[0].actual == 4 and report.worst[0].expected == 3.4
    for at, wrong in ((0, 4), (1, 5), (2, -6), (3, 1), (4, 126), (5, -127), (4, -128)):
        changed = actual.copy()
        changed[at] = wrong
        assert not compare(changed, exact, peer).passed, (at, wrong)
    assert compare(actual, exact, peer, dtype="int8 of bfloat16").max_term == pytest.approx(1.125 * 0.25)
    assert POLICIES["int8 of bfloat16"].ulp(127) == 0.5


def test_what_is_not_finite_saturates_or_is_zero() -> None:
    exact = np.array([math.inf, -math.inf, math.nan, math.nan, 1.0])
    peer = np.ones(5, np.float32)
    assert compare(np.array([127, -128, 0, 127, 1], np.int8), exact, peer).passed
    for at, wrong in ((0, 126), (0, -128), (1, 127), (2, 5)):
        actual = np.array([127, -128, 0, 127, 1], np.int8)
        actual[at] = wrong
        assert compare(actual, exact, peer).wrong_special == 1, (at, wrong)


def test_dtype_of_the_result_is_the_calls() -> None:
    case = dataclasses.replace(CASE, dtype="float16")
    quantised, quantise = steps(case, False)
    with pytest.raises(ValueError, match="float16, it has to be int8"):
        judge(case, online_attention(case), quantised)
    with pytest.raises(ValueError, match="int8, it has to be float16"):
        judge(case, online_attention(case, quantise=quantise), {})


def test_unrounded_results_are_what_is_rounded() -> None:
    arguments = {**CASE.arguments(), "return_softmax_lse": True}
    plain, lse = fused_infer_attention_score_v2(**arguments, dtype_flow="device")
    unrounded, same = fused_infer_attention_score_v2(**arguments, dtype_flow="device", round_output=False)
    assert unrounded.dtype == np.float32
    np.testing.assert_array_equal(unrounded.astype(np.float16), plain)
    np.testing.assert_array_equal(lse, same)
    exact, _ = fused_infer_attention_score_v2(**arguments)
    np.testing.assert_array_equal(exact, fused_infer_attention_score_v2(**arguments, round_output=False)[0])
