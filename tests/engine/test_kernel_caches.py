# SPDX-License-Identifier: Apache-2.0
"""Caches with block_table: which entries are looked at, and caches beyond 32 bits."""

from __future__ import annotations

import dataclasses
import mmap
import os
import resource
from typing import Any

import numpy as np
import pytest
from helpers.fia_cases import FiaCase

import ascend_attention
from ascend_attention.precision import compare_fused_infer_attention_score_v2

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


@pytest.mark.parametrize("layout", ["BSND", "BNSD"])
def test_a_cache_beyond_32_bits(layout: str) -> None:
    """Blocks on both sides of 2^32 elements, and of 2^31 and 2^32 bytes; where a wrapped address would go lie other
    numbers."""
    rng = np.random.default_rng(1)
    size, dim, count = 512, 64, 2**32 // (512 * 64 * 2) + 40
    shape = (count, size, 2 * dim) if layout == "BSND" else (count, 2, size, dim)
    key, value = holes(*shape), holes(*shape)
    bytes_each = size * 2 * dim * 2
    table = np.full((1, 12), -1, np.int32)
    borders = (2**31 // bytes_each, 2**32 // bytes_each, 2**33 // bytes_each)
    blocks = [borders[0] - 1, borders[0] + 3, borders[1] - 1, borders[1] + 5, borders[2] - 1, borders[2], count - 1]
    table[0, : len(blocks)] = blocks
    for block in (*blocks, 0, 1, 3, 5, 39, count - 1 - borders[0], count - 1 - borders[1]):
        key[block], value[block] = rng.standard_normal((2, *shape[1:]))
    length = len(blocks) * size - 30
    query = rng.standard_normal((1, 2, 2, dim)).astype(np.float16)
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
