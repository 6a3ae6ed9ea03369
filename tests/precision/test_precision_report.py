# SPDX-License-Identifier: Apache-2.0
"""The numbers of a report, on tensors small enough to check by hand."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ascend_attention.precision
from ascend_attention.precision import POLICIES, CallReport, compare, compare_fused_infer_attention_score_v2


def test_numbers() -> None:
    exact = np.array([[1.0, -2.0], [0.5, 0.0]])
    actual = np.array([[1.0, -2.5], [0.5, 0.0]], np.float16)
    peer = np.array([[1.25, -2.0], [0.5, 0.125]], np.float16)
    report = compare(actual, exact, peer, name="x")
    assert report.max_error == 0.5 and report.rms_error == 0.25
    assert report.peer_max_error == 0.25
    assert report.peer_rms_error == pytest.approx(math.sqrt((0.25**2 + 0.125**2) / 4))
    assert report.max_ratio == 2.0
    rms = math.sqrt((1 + 4 + 0.25) / 4)
    assert 1 < rms < 2
    assert report.max_term == 2.0**-9  # one ulp at 2
    assert report.rms_term == pytest.approx(
        math.sqrt((3 * 2 / 12 + 1) / 4) * 2.0**-10
    )  # four elements, one of them worst
    assert report.max_limit == 0.5 + 2.0**-9
    assert report.passed and report.verdict == "pass" and report.mismatches == 0
    assert report.cosine == pytest.approx((1 + 5 + 0.25) / math.sqrt((1 + 4 + 0.25) * (1 + 6.25 + 0.25)))
    assert [at.index for at in report.worst] == [(0, 1)]
    assert report.worst[0].actual == -2.5 and report.worst[0].expected == -2.0 and report.worst[0].peer == -2.0


def test_limit_is_inclusive_and_nothing_more() -> None:
    exact, peer = np.full(4, 1.0), np.full(4, 1.0, np.float16)
    one_ulp = np.array([1.0, 1.0, 1.0, 1.0 + 2.0**-10], np.float16)
    assert compare(one_ulp, exact, peer).max_error == compare(one_ulp, exact, peer).max_limit
    two_ulps = np.array([1.0] * 99 + [1.0 + 2.0**-9], np.float16)
    report = compare(two_ulps, np.ones(100), np.ones(100, np.float16))
    assert not report.passed and report.mismatches == 1 and report.mismatch_share == 0.01
    assert len(report.reasons) == 1 and "maximum error" in report.reason and "f16-two-roundings" in report.reason


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_rms_of_one_element_is_its_error(dtype: type) -> None:
    """Both lines of the rule are one then. With many elements the term is that of independent roundings."""
    roundings, ulp = (2, 2.0**-10) if dtype == np.float16 else (8, 2.0**-23)
    for elements in (1, 2, 9, 10**6):
        off = np.ones(elements)
        off[-1] += roundings / 2 * ulp
        report = compare(off.astype(dtype), np.ones(elements), np.ones(elements, dtype))
        assert report.passed and report.max_error == report.max_limit
        assert (report.rms_limit == report.max_limit) == (elements == 1)
    assert report.rms_term == pytest.approx(math.sqrt(roundings / 12) * ulp, rel=1e-4)


def test_rms_catches_what_the_maximum_misses() -> None:
    exact = np.linspace(1.0, 1.999, 1000)
    peer = exact.astype(np.float16)
    shifted = (peer + np.float16(2.0**-10)).astype(np.float16)  # every value one ulp too large
    report = compare(shifted, exact, peer)
    assert report.max_error <= report.max_limit
    assert not report.passed and "RMS error" in report.reason


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_finite(bad: float) -> None:
    exact = np.ones((3, 4))
    actual = np.ones((3, 4), np.float32)
    actual[1, 2] = bad
    report = compare(actual, exact, np.ones((3, 4), np.float32))
    assert not report.passed
    assert report.not_finite == 1 and report.mismatches == 1
    assert report.mismatch_region == ((1, 1), (2, 2))
    assert report.worst[0].index == (1, 2) and report.worst[0].error == math.inf
    assert report.max_error == 0.0  # over the elements that can be compared
    assert "not finite" in report.table()


def test_special_values_of_the_exact_result() -> None:
    exact = np.array([np.inf, -np.inf, np.nan, np.nan, 1.0])
    actual = np.array([np.inf, -np.inf, np.nan, np.inf, 1.0], np.float32)
    assert compare(actual, exact, actual).passed
    for at, wrong in ((0, -np.inf), (0, 1.0), (1, np.nan), (2, 0.0)):
        changed = actual.copy()
        changed[at] = wrong
        report = compare(changed, exact, actual)
        assert report.wrong_special == 1 and not report.passed, (at, wrong)


def test_a_broken_peer_excuses_nothing() -> None:
    exact = np.ones(4)
    peer = np.array([np.nan, np.inf, 1.0, 1.0], np.float16)
    good = np.ones(4, np.float16)
    report = compare(good, exact, peer)
    assert report.passed and report.peer_not_finite == 2 and report.peer_max_error == 0
    assert not compare(np.array([1.1, 1, 1, 1], np.float16), exact, peer).passed
    assert not compare(peer, exact, peer).passed


def test_must_be_zero() -> None:
    exact = np.array([0.0, 1.0])
    actual = np.array([1e-7, 1.0], np.float16)
    peer = exact.astype(np.float16)
    assert compare(actual, exact, peer).passed
    report = compare(actual, exact, peer, must_be_zero=np.array([True, False]))
    assert not report.passed and report.not_zero == 1 and report.mismatches == 1
    assert compare(-peer, exact, peer, must_be_zero=np.array([True, False])).not_zero == 0  # -0 is zero


def test_region_and_worst_order() -> None:
    exact = np.zeros((4, 6, 8))
    actual = np.zeros((4, 6, 8), np.float32)
    actual[1:3, 2, 3:7] = 1.0
    actual[2, 2, 5] = 9.0
    report = compare(actual, exact, np.zeros((4, 6, 8)), worst=3)
    assert report.mismatches == 8
    assert report.mismatch_region == ((1, 2), (2, 2), (3, 6))
    assert [at.error for at in report.worst] == [9.0, 1.0, 1.0]
    assert report.worst[0].index == (2, 2, 5)
    assert "[1..2, 2, 3..6]" in report.table()


@pytest.mark.parametrize(("dtype", "bits"), [("float16", 11), ("bfloat16", 8), ("float32", 24)])
def test_ulp(dtype: str, bits: int) -> None:
    policy = POLICIES[dtype]
    assert policy.ulp(1.0) == 2.0 ** (1 - bits)
    assert policy.ulp(1.999) == 2.0 ** (1 - bits)
    assert policy.ulp(2.0) == 2.0 ** (2 - bits)
    if dtype == "bfloat16":
        assert policy.ulp(0.0) == policy.ulp(1e-40) == 2.0**-133
    else:
        kind = np.dtype(dtype).type
        for size in (0.0, 1e-7, 6e-5, 0.3, 1.0, 1000.0, 30000.0):
            assert policy.ulp(float(kind(size))) == float(np.spacing(kind(size)))


def test_subnormal_results_are_judged() -> None:
    """Errors around 1e-41 must not vanish in their squares."""
    ml_dtypes = pytest.importorskip("ml_dtypes")
    step = 2.0**-133
    exact = np.array([3 * step, 5 * step] * 50)
    right = exact.astype(ml_dtypes.bfloat16)
    assert compare(right, exact, right).passed
    report = compare(np.zeros(100, ml_dtypes.bfloat16), exact, right)
    assert not report.passed and report.rms_error == pytest.approx(math.sqrt(17) * step)


def test_shape_and_dtype_are_checked() -> None:
    with pytest.raises(ValueError, match=r"shapes differ: actual \(3,\)"):
        compare(np.zeros(3, np.float16), np.zeros(4), np.zeros(4))
    with pytest.raises(ValueError, match="no policy"):
        compare(np.zeros(3, np.int16), np.zeros(3), np.zeros(3))


def test_a_result_is_a_pair_or_one_array() -> None:
    with pytest.raises(ValueError, match=r"actual: given 1 results; allowed: \(attention_out, softmax_lse\)"):
        compare_fused_infer_attention_score_v2((np.zeros(1),), *[np.zeros(1)] * 3)


def test_empty() -> None:
    report = compare(np.zeros((2, 0), np.float16), np.zeros((2, 0)), np.zeros((2, 0), np.float16))
    assert report.passed and report.elements == 0 and report.worst == () and "empty" in report.reason
    assert report.table()


def test_dictionary_is_plain_data_and_table_is_readable() -> None:
    exact = np.ones((2, 3))
    actual = np.full((2, 3), 1.5, np.float16)
    tensor = compare(actual, exact, np.ones((2, 3), np.float16))
    report = CallReport("an_operator", (tensor,))
    data = json.loads(json.dumps(report.to_dict()))
    assert data["verdict"] == "fail" and data["passed"] is False
    inner = data["tensors"]["attention_out"]
    assert inner["max_error"] == 0.5 and inner["mismatch_share"] == 1.0 and len(inner["worst"]) == 5
    assert inner["reason"] in data["reason"]
    table = report.table()
    for word in ("an_operator: FAIL", "plain peer", "limit", "6 of 6 (100 %)", "cosine", "worst at", "[0, 0]"):
        assert word in table
    assert max(len(line) for line in table.splitlines() if "exceeds" not in line) <= 100
    assert report["attention_out"] is tensor
    with pytest.raises(KeyError):
        report["softmax_lse"]


def test_import_needs_no_torch() -> None:
    code = "import sys, ascend_attention.precision; assert not {'torch', 'ml_dtypes'} & set(sys.modules)"
    package = Path(ascend_attention.precision.__file__).parents[2]
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(package), "PATH": ""})


def test_an_exact_result_is_float64() -> None:
    ones = np.ones(3, np.float16)
    with pytest.raises(ValueError, match="expected_exact is float32, not float64"):
        compare(ones, ones.astype(np.float32), ones)
