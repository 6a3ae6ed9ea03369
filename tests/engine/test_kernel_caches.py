# SPDX-License-Identifier: Apache-2.0
"""Caches with block_table: which entries are looked at, and caches beyond 32 bits."""

from __future__ import annotations

import dataclasses
import mmap
import os
import resource
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from helpers.fia_cases import FiaCase

import ascend_attention
from ascend_attention import golden
from ascend_attention.precision import compare, compare_fused_infer_attention_score_v2

CACHE = FiaCase("cache", "BNSD", "bfloat16", batch=3, num_query_heads=4, num_key_value_heads=2, query_length=3,
                head_dim=32, actual_seq_kvlen=(300, 0, 200), storage="BNBD", sparse_mode=3, mask_shape="SS",
                table_slack=2)  # fmt: skip
WINDOW = dataclasses.replace(CACHE, sparse_mode=4, pre_tokens=60, next_tokens=0, actual_seq_kvlen=(1000, 0, 700))


def call(arguments: dict[str, Any], mode: str = "checked") -> Any:
    with ascend_attention.simulator(mode=mode):
        return ascend_attention.npu_fused_infer_attention_score_v2(**arguments)


@pytest.mark.parametrize("block", [-1, "count", 2**31 - 1])
@pytest.mark.parametrize("case", [CACHE, dataclasses.replace(CACHE, query_length=1, mask_shape=None, sparse_mode=0)])
def test_a_used_block_that_the_cache_does_not_have(case: FiaCase, block: Any) -> None:
    arguments = case.arguments()
    count = len(arguments["key"])
    number = count if block == "count" else block
    arguments["block_table"][2, 1] = number  # key positions 128 to 199
    before = {name: value.copy() for name, value in arguments.items() if isinstance(value, np.ndarray)}
    with pytest.raises(ascend_attention.SimulatorError) as caught:
        call(arguments, "fast")
    text = str(caught.value)
    for part in ("block_table[2, 1]", f"is {number}", f"{count} blocks", "batch 2", "128 to 199"):
        assert part in text, text
    assert [finding["kind"] for finding in caught.value.findings] == ["bounds"]
    for name, value in before.items():
        assert arguments[name].tobytes() == value.tobytes(), name


@pytest.mark.parametrize("garbage", [-1, -(2**31), 2**31 - 1])
def test_entries_without_keys_are_not_looked_at(garbage: int) -> None:
    arguments = CACHE.arguments()
    expected = call(arguments)
    for row, used in enumerate((3, 0, 2)):
        arguments["block_table"][row, used:] = garbage
    for one, other in zip(call(arguments), expected, strict=True):
        assert one.tobytes() == other.tobytes()


def test_blocks_that_a_window_hides_may_be_gone() -> None:
    """Serving engines free the blocks of a sliding window: their entries are no blocks any more."""
    arguments = WINDOW.arguments()
    expected = call(arguments)
    assert compare_fused_infer_attention_score_v2(expected, **arguments).passed
    gone = (1000 - 3 - 60) // 128
    arguments["block_table"][0, :gone] = -1
    arguments["block_table"][2, : (700 - 3 - 60) // 128] = 2**31 - 1
    for one, other in zip(call(arguments), expected, strict=True):
        assert one.tobytes() == other.tobytes()


def holes(*shape: int) -> np.ndarray:
    """Zeros of float16 that take no memory before they are written."""
    size = int(np.prod(shape)) * 2
    file = os.memfd_create("holes")
    try:
        os.ftruncate(file, size)
        return np.frombuffer(mmap.mmap(file, size), np.float16).reshape(shape)
    finally:
        os.close(file)


def test_as_many_sequences_as_the_document_allows() -> None:
    """4096, token-packed, in a cache that they share: each is one of 16, so these say what is right."""
    rng = np.random.default_rng(7)
    lengths = [0, 1, 127, 128, 129, 2, 260, 0, 3, 5, 17, 1, 64, 2, 33, 4]
    query = rng.standard_normal((16, 2, 128)).astype(ml_dtypes.bfloat16)
    key, value = (holes(6000, 128, 128).view(ml_dtypes.bfloat16) for _ in range(2))
    blocks = rng.choice(6000, 9, replace=False)
    key[blocks], value[blocks] = rng.standard_normal((2, 9, 128, 128))
    table = rng.choice(blocks, (16, 3)).astype(np.int32)

    def arguments(times: int) -> dict[str, Any]:
        return {
            "query": np.tile(query, (times, 1, 1)), "key": key, "value": value,
            "block_table": np.tile(table, (times, 1)),
            "actual_seq_qlen": list(range(1, 16 * times + 1)), "actual_seq_kvlen": lengths * times, "block_size": 128,
            "num_query_heads": 2, "num_key_value_heads": 1, "softmax_scale": 0.1, "input_layout": "TND",
            "return_softmax_lse": True,
        }  # fmt: skip

    results = call(arguments(256))
    exact = golden.fused_infer_attention_score_v2(**arguments(1))
    peer = golden.fused_infer_attention_score_v2(**arguments(1), dtype_flow="device")
    for name, result, right, plain in zip(("attention_out", "softmax_lse"), results, exact, peer, strict=True):
        report = compare(result, np.tile(right, (256, 1, 1)), np.tile(plain, (256, 1, 1)), name=name)
        assert report.passed, report.reason
    assert (results[0][7::16] == 0).all() and np.isposinf(results[1][7::16]).all()


def peak() -> int:
    """Bytes of memory that this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def check_beyond_32_bits(arguments: dict[str, Any]) -> None:
    assert arguments["key"].nbytes > 2**33 and arguments["key"].size > 2**32
    before = peak()
    with ascend_attention.simulator(mode="checked") as block:
        results = ascend_attention.npu_fused_infer_attention_score_v2(**arguments)
    assert not block.report.findings
    assert peak() - before < 2**28  # no shadow of it all
    report = compare_fused_infer_attention_score_v2(results, **arguments)
    assert report.passed, report.table()


COMMON = {"num_query_heads": 2, "softmax_scale": 0.125, "sparse_mode": 4, "pre_tokens": 200, "next_tokens": 0,
          "atten_mask": np.triu(np.ones((2048, 2048), bool), 1), "return_softmax_lse": True}  # fmt: skip


def far_blocks(*caches: np.ndarray) -> np.ndarray:
    """block_table of one sequence, with blocks on both sides of 2^32 elements, and of 2^31 and 2^32 bytes of the first
    cache, which are filled; where a wrapped address would go lie other numbers."""
    rng = np.random.default_rng(1)
    count, bytes_each = len(caches[0]), caches[0][0].nbytes
    table = np.full((1, 12), -1, np.int32)
    borders = (2**31 // bytes_each, 2**32 // bytes_each, 2**33 // bytes_each)
    blocks = [borders[0] - 1, borders[0] + 3, borders[1] - 1, borders[1] + 5, borders[2] - 1, borders[2], count - 1]
    table[0, : len(blocks)] = blocks
    for block in (*blocks, 0, 1, 3, 5, 39, count - 1 - borders[0], count - 1 - borders[1]):
        for cache in caches:
            cache[block] = rng.standard_normal(cache.shape[1:])
    return table


@pytest.mark.parametrize(("layout", "dim"), [("BSND", 64), ("BNSD", 64), ("BSND", 320)])
def test_a_cache_beyond_32_bits(layout: str, dim: int) -> None:
    size = 512 if dim == 64 else 128
    count = 2**32 // (size * dim * 2) + 40
    shape = (count, size, 2 * dim) if layout == "BSND" else (count, 2, size, dim)
    key, value = holes(*shape), holes(*shape)
    table = far_blocks(key, value)
    length = 7 * size - 30
    query = np.random.default_rng(3).standard_normal((1, 2, 2, dim)).astype(np.float16)
    check_beyond_32_bits(
        COMMON | {"query": query, "key": key, "value": value, "input_layout": layout, "block_table": table,
                  "block_size": size, "actual_seq_kvlen": [length], "num_key_value_heads": 2, "pre_tokens": length}
    )  # fmt: skip


def test_dense_keys_beyond_32_bits() -> None:
    """17 million keys, of which a window sees the last ones."""
    rng = np.random.default_rng(2)
    length, dim = 2**24 + 1000, 256
    key, value = holes(1, 1, length, dim), holes(1, 1, length, dim)
    for tensor in (key, value):
        for start in (length - 300, length - 300 - 2**24, 0):  # where a wrapped address would go lie other numbers
            tensor[0, 0, start : start + 300] = rng.standard_normal((300, dim))
    query = rng.standard_normal((1, 2, 3, dim)).astype(np.float16)
    check_beyond_32_bits(
        COMMON | {"query": query, "key": key, "value": value, "input_layout": "BNSD", "num_key_value_heads": 1}
    )
