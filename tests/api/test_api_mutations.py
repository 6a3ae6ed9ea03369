# SPDX-License-Identifier: Apache-2.0
"""Conformance cases with an argument or two changed into something nobody thought of: NumPy arrays, torch tensors, the
operator on the meta device and explain say the same of each, and none of them calls it a defect of ours."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from helpers.rule_file import Rule, read_rules

import ascend_attention
from ascend_attention import AttentionError, check, explain

DATA = Path(__file__).parents[1] / "conformance"
FILES = {
    "npu_fused_infer_attention_score_v2": "fia_v2_rules.txt",
    "npu_prompt_flash_attention": "pfa_rules.txt",
    "block_sparse_attention_v2": "bsa_v2_rules.txt",
}
REQUESTS = 400  # of each operator
DTYPES = (np.float16, np.float32, np.int8, np.int32, np.bool_, np.uint8, np.uint64, np.int64)
NUMBERS = (0, 1, -1, 2, 3, 4, 8, 128, 2**31, 2**62, -(2**63))
TEXTS = ("BSH", "BNSD", "BSND", "TND", "NTD_TND", "BNSD_BSND", "bsh", "")


def changed(rng: np.random.Generator, value: Any) -> Any:
    """Another value of the same kind, or None for a tensor."""
    choice = rng.integers(6)
    if isinstance(value, list) and value and isinstance(value[0], np.ndarray):
        return value[: rng.integers(len(value))]
    if isinstance(value, np.ndarray):
        shape = list(value.shape)
        if choice < 2 and shape:
            axis = rng.integers(len(shape))
            shape[axis] = max(0, (0, 1, shape[axis] - 1, shape[axis] + 1)[rng.integers(4)])
        elif choice == 2:
            shape = [*shape, 1] if rng.random() < 0.5 else shape[1:]
        elif choice == 3:
            return np.zeros(shape, DTYPES[rng.integers(len(DTYPES))])
        elif choice == 4:
            return None
        else:
            return np.zeros(shape[::-1], value.dtype).T
        return np.zeros(shape, value.dtype)
    if isinstance(value, (list, tuple)):
        last = (0, -1, 1, 48, 2**62)[rng.integers(5)]
        return [[*value[:-1], last], [*value, last], list(value[:-1]), list(value[::-1])][rng.integers(4)]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return (*NUMBERS, value + 1, value - 1, -value)[rng.integers(len(NUMBERS) + 3)]
    if isinstance(value, float):
        return (0.0, math.nan, 1e39, -1.0)[rng.integers(4)]
    return TEXTS[rng.integers(len(TEXTS))]


def mapped(value: Any, convert: Callable[[Any], Any], kind: type) -> Any:
    if isinstance(value, list) and value and isinstance(value[0], kind):
        return [convert(entry) for entry in value]
    return convert(value) if isinstance(value, kind) else value


def to_torch(array: np.ndarray) -> torch.Tensor:
    if array.dtype.name in ("bfloat16", "float8_e4m3fn"):
        integer = np.int16 if array.dtype.itemsize == 2 else np.int8
        return torch.from_numpy(array.view(integer)).view(getattr(torch, array.dtype.name))
    return torch.from_numpy(array)


def on_meta(tensor: torch.Tensor) -> torch.Tensor:
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")


def answer(ask: Callable[[], Any]) -> str:
    try:
        ask()
    except AttentionError as error:
        return str(error)
    except TypeError as error:  # shows the value, which is an array or a tensor
        return re.sub("given .*; allowed: .*", "", str(error))
    return "accepted"


def test_all_doors_say_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    seen: Counter[str] = Counter()
    for op, file in FILES.items():
        rules: list[Rule] = [r for r in read_rules(DATA / file) if r.bytes_needed() < 1 << 22 and not r.about_results()]
        for _ in range(REQUESTS):
            rule = rules[rng.integers(len(rules))]
            given = dict(rule.arguments())
            for name in rng.choice(list(given), 1 + (rng.random() < 0.3)):
                given[name] = changed(rng, given[name])
            shown = {n: (v.dtype.name, v.shape) if isinstance(v, np.ndarray) else v for n, v in given.items()}
            contract = ("document", "extended")[rng.integers(2)]
            with ascend_attention.contract(contract), ascend_attention.simulator(soc=rule.soc or "Ascend910B2"):
                tensors = {name: mapped(value, to_torch, np.ndarray) for name, value in given.items()}
                said = answer(lambda op=op, given=given: check(op, **given))
                assert said == answer(lambda op=op, tensors=tensors: check(op, **tensors)), (op, contract, shown)
                assert "561002" not in said, (op, contract, shown)
                explained = answer(lambda op=op, given=given: explain(op, **given))
                assert explained == ("accepted" if "561003" in said else said), (op, contract, shown)
                if all(isinstance(tensors.get(name), torch.Tensor) for name in ("query", "key", "value")):
                    meta = {name: mapped(value, on_meta, torch.Tensor) for name, value in tensors.items()}
                    function = getattr(ascend_attention, op)
                    assert said == answer(lambda function=function, meta=meta: function(**meta)), (op, contract, shown)
            seen[said.partition("code ")[2][:6] or said[:8]] += 1
    print(seen)
    assert seen["161002"] > REQUESTS and min(seen["161001"], seen["accepted"]) > 10
