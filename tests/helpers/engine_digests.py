# SPDX-License-Identifier: Apache-2.0
"""Digests of what the engine computes, one line a case, to compare two machines: the results must be the same bits.

    python tests/helpers/engine_digests.py [number of cases]

Each line has the case, a digest of its inputs and one of its results.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import ascend_attention
from helpers.fia_cases import DATA_KINDS, FiaCase
from helpers.fia_random import random_case

WORK = 2**17


def cases(count: int) -> Iterable[FiaCase]:
    for dtype in ("float16", "bfloat16"):
        for data in DATA_KINDS:
            yield FiaCase(f"{dtype}-{data}", dtype=dtype, data=data, num_query_heads=2, query_length=20, key_length=150)
    for number in range(count):
        yield random_case(np.random.default_rng(number), max_work=WORK)


def digest(values: Iterable[Any]) -> str:
    total = hashlib.sha256()
    for value in values:
        total.update(np.ascontiguousarray(value).tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
    return total.hexdigest()[:16]


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    for index, case in enumerate(cases(count)):
        arguments = case.arguments()
        mode = "checked" if index % 4 == 0 else "fast"
        with ascend_attention.simulator(mode=mode):
            results = ascend_attention.npu_fused_infer_attention_score_v2(**arguments)
        print(f"{index:3} {case.name} {mode} {digest(arguments.values())} {digest(results)}", flush=True)


if __name__ == "__main__":
    main()
