# SPDX-License-Identifier: Apache-2.0
"""Right results at every door, whatever the arguments come as."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from helpers.doors import DOORS, same_bits, through_numpy, through_torch, to_torch
from helpers.fia_cases import DTYPES, LAYOUTS, FiaCase
from helpers.fia_random import random_case

import ascend_attention
from ascend_attention.precision import compare_fused_infer_attention_score_v2

CASES = [
    FiaCase(
        f"{layout}-{dtype}", layout, dtype, batch=2, num_query_heads=4, num_key_value_heads=2, query_length=21,
        key_length=70, head_dim=32, actual_seq_qlen=(21, 9), actual_seq_kvlen=(50, 70), sparse_mode=3,
        mask_shape="SS",
    )
    for layout in LAYOUTS
    for dtype in DTYPES
]  # fmt: skip
CASES += [
    FiaCase("mask-uint8", "BSND", batch=2, num_query_heads=2, query_length=18, key_length=40, mask_shape="B1SS",
            mask_dtype="uint8", mask_pattern="rows", pre_tokens=20, next_tokens=15),
    FiaCase("no-lse", "BSH", batch=1, num_query_heads=2, query_length=18, key_length=40, return_softmax_lse=False),
]  # fmt: skip


def judge(result: tuple[np.ndarray, np.ndarray], arguments: dict[str, Any]) -> None:
    report = compare_fused_infer_attention_score_v2(result, **arguments)
    assert report.passed, report.table()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_door_gives_the_same_right_result(case: FiaCase) -> None:
    arguments = case.arguments()
    results = {door: through(arguments) for door, through in DOORS.items()}
    judge(results["numpy"], arguments)
    out, lse = results["numpy"]
    assert out.dtype.name == case.dtype
    assert lse.dtype == np.float32
    assert lse.shape == ((2, 4, 21, 1) if case.name in {c.name for c in CASES[:8]} else lse.shape)
    if not case.return_softmax_lse:
        assert lse.shape == (1,) and lse[0] == 0
    for door in ("torch", "torch.ops"):
        assert all(same_bits(a, b) for a, b in zip(results[door], results["numpy"], strict=True)), door


def test_random_calls_agree_between_the_doors(sample_rng: np.random.Generator) -> None:
    case = random_case(sample_rng, max_work=2**20, max_query_heads=4, max_group=8)
    print(case)
    arguments = case.arguments()
    result = through_numpy(arguments)
    judge(result, arguments)
    assert all(same_bits(a, b) for a, b in zip(through_torch(arguments), result, strict=True))


def test_lengths_come_as_anything() -> None:
    arguments = CASES[0].arguments()
    queries, keys = arguments["actual_seq_qlen"], arguments["actual_seq_kvlen"]
    expected = through_torch(arguments)
    wide = torch.tensor([[queries[0], -1], [queries[1], -1]], dtype=torch.int32)
    forms: list[tuple[Any, Any]] = [
        (tuple(queries), tuple(keys)),
        (torch.tensor(queries), torch.tensor(keys, dtype=torch.int32)),
        (np.array(queries, np.int64), np.array(keys, np.int32)),
        (wide[:, 0], np.array([keys[0], -1, keys[1]])[::2]),
        ([np.int64(x) for x in queries], [torch.tensor(x) for x in keys]),
        (range(queries[0], queries[1] - 1, queries[1] - queries[0]), keys),
    ]
    for qlen, kvlen in forms:
        for through in (through_numpy, through_torch):
            result = through({**arguments, "actual_seq_kvlen": kvlen} | {"actual_seq_qlen": qlen})
            assert all(same_bits(a, b) for a, b in zip(result, expected, strict=True)), (qlen, kvlen)


def test_numbers_come_as_numpy_scalars() -> None:
    arguments = CASES[0].arguments()
    expected = through_numpy(arguments)
    scalars = {
        "num_query_heads": np.int32(4),
        "sparse_mode": np.uint8(3),
        "softmax_scale": np.float64(arguments["softmax_scale"]),
        "return_softmax_lse": np.bool_(True),
    }
    assert all(same_bits(a, b) for a, b in zip(through_numpy(arguments | scalars), expected, strict=True))


@pytest.mark.parametrize("door", DOORS)
def test_empty_query_gives_an_empty_result(door: str) -> None:
    for layout, shape in (("BNSD", (2, 2, 0, 32)), ("BSND", (0, 5, 2, 32)), ("BSH", (2, 0, 64))):
        keys = {"BNSD": (2, 2, 9, 32), "BSND": (0, 9, 2, 32), "BSH": (2, 9, 64)}[layout]
        with ascend_attention.simulator() as run:
            out, lse = DOORS[door](
                {
                    "query": np.zeros(shape, np.float16),
                    "key": np.ones(keys, np.float16),
                    "value": np.ones(keys, np.float16),
                    "num_query_heads": 2,
                    "input_layout": layout,
                    "return_softmax_lse": True,
                }
            )
        assert out.shape == shape and lse.size == 0
        assert not run.report.launches


@pytest.mark.parametrize("door", DOORS)
def test_empty_keys_give_zeros_and_infinite_lse(door: str) -> None:
    arguments = FiaCase("", batch=2, num_query_heads=2, query_length=9, key_length=0).arguments()
    out, lse = DOORS[door](arguments)
    assert out.shape == (2, 2, 9, 64) and not out.any()
    assert lse.shape == (2, 2, 9, 1) and np.isposinf(lse).all()


def test_one_tensor_as_query_key_and_value() -> None:
    case = FiaCase("self", "BSND", batch=1, num_query_heads=2, query_length=33, key_length=33)
    arguments = {**case.arguments()}
    arguments["key"] = arguments["value"] = arguments["query"]
    for mode in ("fast", "checked"):
        with ascend_attention.simulator(mode=mode):
            judge(through_numpy(arguments), arguments)
    # Views that overlap in part.
    tokens = np.random.default_rng(3).standard_normal((1, 40, 2, 64)).astype(np.float16)
    arguments.update(query=tokens[:, :33], key=tokens[:, 7:40], value=tokens[:, 3:36])
    with ascend_attention.simulator(mode="checked"):
        judge(through_numpy(arguments), arguments)


def test_inputs_are_left_alone_and_may_be_read_only() -> None:
    arguments = CASES[0].arguments()
    before = {name: value.copy() for name, value in arguments.items() if isinstance(value, np.ndarray)}
    for name in before:
        arguments[name].flags.writeable = False
    through_numpy(arguments)
    for name, array in before.items():
        assert same_bits(arguments[name], array)


def test_views_at_odd_addresses() -> None:
    arguments = CASES[0].arguments()
    expected = through_numpy(arguments)
    for name in ("query", "key", "value"):
        array = arguments[name]
        room = np.zeros(array.size + 1, array.dtype)
        room[1:] = array.reshape(-1)
        arguments[name] = room[1:].reshape(array.shape)  # contiguous, two bytes off any alignment
    assert all(same_bits(a, b) for a, b in zip(through_numpy(arguments), expected, strict=True))


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    arguments = CASES[1].arguments()
    tensors = {name: to_torch(value) for name, value in arguments.items()}
    before = torch.get_num_threads()
    results = []
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            results.append(ascend_attention.npu_fused_infer_attention_score_v2(**tensors))
    finally:
        torch.set_num_threads(before)
    for out, lse in results[1:]:
        assert torch.equal(out, results[0][0]) and torch.equal(lse, results[0][1])
