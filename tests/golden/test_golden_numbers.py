# SPDX-License-Identifier: Apache-2.0
"""bfloat16, the device flow, and independence of other packages."""

from __future__ import annotations

import ast
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.fia_cases import FiaCase
from helpers.fia_random import random_case

import ascend_attention.golden
from ascend_attention.golden import attention, bfloat16_from_float, bfloat16_to_float, fused_infer_attention_score_v2


def test_golden_needs_numpy_only() -> None:
    code = (
        "import sys, ascend_attention.golden\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "assert not loaded & {'torch', 'ml_dtypes', 'scipy'}, loaded\n"
        "assert 'ascend_attention._core' not in sys.modules\n"
    )
    package = Path(ascend_attention.golden.__file__).parents[2]
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(package), "PATH": ""})


def test_golden_imports_nothing_of_ours() -> None:
    """It must not share a mistake with what it judges."""
    folder = Path(ascend_attention.golden.__file__).parent
    files = list(folder.glob("*.py"))
    assert len(files) >= 6
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{file.name}: relative import"
                names = [node.module or ""]
            for name in names:
                allowed = name.startswith("ascend_attention.golden") or name.partition(".")[0] in (
                    "numpy", *sys.stdlib_module_names
                )  # fmt: skip
                assert allowed, f"{file.name} imports {name}"


def test_every_bfloat16_decodes() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    bits = np.arange(65536).astype(np.uint16)
    ours = bfloat16_to_float(bits)
    np.testing.assert_array_equal(ours, bits.view(ml_dtypes.bfloat16).astype(np.float32))
    number = ~np.isnan(ours)
    np.testing.assert_array_equal(bfloat16_from_float(ours)[number], bits[number])


def test_bfloat16_rounds_to_nearest_even(seed: int) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    rng = np.random.default_rng(seed)
    bits = rng.integers(0, 2**32, 1_000_000, dtype=np.uint64).astype(np.uint32)
    ties = (bits[:200_000] & np.uint32(0xFFFF0000)) | np.uint32(0x8000)
    special = np.array([0, 1, 0x7F7FFFFF, 0x7F7F7FFF, 0x7F7F8000, 0x7F800000, 0x7F800001, 0xFFFFFFFF, 0x80000000])
    values = np.concatenate([bits, ties, ties + 1, ties - 1, special.astype(np.uint32)]).view(np.float32)
    ours = bfloat16_to_float(bfloat16_from_float(values))
    with np.errstate(invalid="ignore"):
        theirs = values.astype(ml_dtypes.bfloat16).astype(np.float32)
    np.testing.assert_array_equal(ours, theirs)  # NaN equals NaN here
    np.testing.assert_array_equal(np.signbit(ours)[~np.isnan(ours)], np.signbit(theirs)[~np.isnan(ours)])


def test_both_kinds_of_bfloat16_arrays() -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    case = FiaCase("", "BSH", "bfloat16", num_query_heads=2, query_length=9, key_length=30)
    for flow in ("exact", "device"):
        first, first_lse = fused_infer_attention_score_v2(**case.arguments(), dtype_flow=flow)
        second, second_lse = fused_infer_attention_score_v2(**case.arguments("bits"), dtype_flow=flow)
        np.testing.assert_array_equal(first_lse, second_lse)
        if flow == "device":
            assert first.dtype == ml_dtypes.bfloat16 and second.dtype == np.uint16
            first = first.view(np.uint16)
        np.testing.assert_array_equal(first, second)


def _nearest(value: float, dtype: str) -> float:
    if dtype == "float16":
        return float(np.float16(value))
    return float(bfloat16_to_float(bfloat16_from_float(np.float32([value])))[0])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_device_flow_step_by_step(dtype: str) -> None:
    """The definition of the plain peer, one float32 operation at a time."""
    case = FiaCase("", "BNSD", dtype, query_length=6, key_length=23, head_dim=16, sparse_mode=3, mask_shape="SS")
    query, key, value = (x[0, 0] for x in case.values())
    out, lse = fused_infer_attention_score_v2(**case.arguments("bits"), dtype_flow="device")
    got = out[0, 0].astype(np.float32) if dtype == "float16" else bfloat16_to_float(out[0, 0])
    assert lse.dtype == np.float32
    f = np.float32
    for i in range(6):
        scores = []
        for j in range(23 - 6 + i + 1):
            total = f(0)
            for d in range(16):
                total = f(total + f(query[i, d] * key[j, d]))
            scores.append(f(total * f(case.scale())))
        top = max(scores)
        weights = np.exp(np.array(scores, f) - top)
        total = weights.sum(dtype=np.float64)
        assert lse[0, 0, i, 0] == pytest.approx(float(top) + math.log(total), rel=3e-7, abs=3e-7)
        for d in range(16):
            exact_sum = math.fsum(_nearest(w, dtype) * float(value[j, d]) for j, w in enumerate(weights))
            # The order of the sum over keys is the matrix library's, hence one neighbour is allowed.
            ideal = exact_sum / total
            near = {_nearest(ideal * (1 + e), dtype) for e in (-1e-5, 0.0, 1e-5)}
            assert float(got[i, d]) in near


def test_device_flow_sums_scores_in_channel_order() -> None:
    """With one key, softmax_lse is the score: the bits tell the order of the sum."""
    case = FiaCase("", num_query_heads=8, query_length=50, key_length=1, head_dim=256, data="peaked", softmax_scale=1.0)
    query, key, _ = case.values()
    _, lse = fused_infer_attention_score_v2(**case.arguments(), dtype_flow="device")
    score = np.zeros(lse.shape[:3], np.float32)
    for channel in range(256):
        score = score + query[..., channel] * key[..., channel]
    np.testing.assert_array_equal(lse[..., 0], score)
    # Another order gives other bits, or this test would show nothing.
    backwards = np.zeros(lse.shape[:3], np.float32)
    for channel in reversed(range(256)):
        backwards = backwards + query[..., channel] * key[..., channel]
    assert (backwards != score).mean() > 0.5


@pytest.mark.parametrize("rows", [1, 2, 64, 65])
@pytest.mark.parametrize("keys", [1, 2, 3, 1024, 1025])
def test_scores_by_channel_of_every_block_shape(rows: int, keys: int, seed: int) -> None:
    """Whatever is left over for the last block, down to one row and one key, is summed in the same order."""
    rng = np.random.default_rng(seed)
    query, key = (rng.standard_normal((n, 72)).astype(np.float16).astype(np.float32) for n in (rows, keys))
    expected = np.zeros((rows, keys), np.float32)
    for channel in range(72):
        expected = expected + query[:, channel, None] * key[None, :, channel]
    np.testing.assert_array_equal(attention._scores_by_channel(query[None], key, None)[0], expected)


def test_device_flow_stays_close(sample_rng: np.random.Generator) -> None:
    """Rounded probabilities are the peer's only coarse step: far from exact means the flow is wrong, not imprecise."""
    case = random_case(sample_rng, max_work=2**22, data_kinds=("normal",))
    print(case)
    exact, exact_lse = fused_infer_attention_score_v2(**case.arguments("bits"))
    peer, peer_lse = fused_infer_attention_score_v2(**case.arguments("bits"), dtype_flow="device")
    peer = peer.astype(np.float64) if case.dtype == "float16" else bfloat16_to_float(peer).astype(np.float64)
    _, _, value = case.values()
    size = float(np.abs(value[np.isfinite(value)]).max(initial=0))
    half_ulp = 2.0**-11 if case.dtype == "float16" else 2.0**-8
    # Probabilities and result are rounded once each; their weighted sum is at most the largest value.
    assert np.abs(peer - exact).max(initial=0) <= 2.1 * half_ulp * size
    np.testing.assert_allclose(peer_lse, exact_lse, rtol=1e-5, atol=1e-5)
