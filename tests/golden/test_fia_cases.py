# SPDX-License-Identifier: Apache-2.0
"""The cases that kernels are judged by: what they poison is what nobody may read, and files of cases say what they
mean."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from helpers.fia_case_file import read_cases
from helpers.fia_cases import FiaCase
from helpers.fia_draws import FAMILIES, draw_case

from ascend_attention import golden

PADDING = FiaCase("padding", batch=2, num_query_heads=2, query_length=5, key_length=70, actual_seq_qlen=(5, 3),
                  actual_seq_kvlen=(70, 9), pse="random", pse_padded=True)  # fmt: skip
CACHE = FiaCase("cache", batch=3, query_length=1, actual_seq_kvlen=(40, 0, 16), block_size=16, storage="BBH")


def test_poison_has_no_influence(seed: int) -> None:
    rng = np.random.default_rng(seed)
    for family in FAMILIES * 2:
        case = draw_case(rng, [family], max_work=2**12)
        results = [
            golden.fused_infer_attention_score_v2(**dataclasses.replace(case, poison=poison).arguments())
            for poison in (True, False)
        ]
        for poisoned, clean in zip(*results, strict=True):
            np.testing.assert_array_equal(poisoned, clean, err_msg=str(case))


def test_padding_is_poison() -> None:
    arguments = PADDING.arguments()
    for name, padding in (("query", np.s_[1, :, 3:]), ("key", np.s_[1, :, 9:]), ("pse_shift", np.s_[:, :, :, 70:])):
        assert not np.isfinite(arguments[name][padding]).any(), name
    assert np.isfinite(arguments["query"][0]).all() and np.isfinite(arguments["value"][1, :, :9]).all()


@pytest.mark.parametrize("storage", ["BBH", "BNBD", "NZ"])
def test_caches_are_poison_but_for_their_tokens(storage: str) -> None:
    case = dataclasses.replace(CACHE, storage=storage)
    arguments = case.arguments()
    table, blocks = arguments["block_table"], len(arguments["key"])
    used = {int(block) for row, count in zip(table, (3, 0, 1), strict=True) for block in row[:count]}
    assert len(used) == 4 and used <= set(range(blocks))
    unused = np.concatenate([table[0, 3:], table[1], table[2, 1:]])
    assert ((unused < 0) | (unused >= blocks)).all()
    finite = int(np.isfinite(arguments["key"].astype(np.float32)).sum())
    assert finite == (40 + 0 + 16) * case.head_dim


def test_shared_blocks_are_in_several_rows_of_the_table() -> None:
    case = dataclasses.replace(CACHE, actual_seq_kvlen=(64, 64, 64), blocks="shared")
    table = case.arguments()["block_table"][:, :4]
    assert (table[:, :2] == table[0, :2]).all() and len(np.unique(table)) == 2 + 3 * 2


def test_a_file_of_cases(tmp_path: Path) -> None:
    file = tmp_path / "some.txt"
    file.write_text(
        "# words\nbase b batch=2 query_length=1  # more words\n"
        "case c b mask_shape=None|BK actual_seq_kvlen={3,0*2} pse_shape=1 poison=false pre_tokens=max\n"
        "case d b dtype=bfloat16\n"
    )
    first, second, third = read_cases(file)
    assert (first.name, second.name, third.name) == ("some.c-None", "some.c-BK", "some.d")
    assert (first.mask_shape, second.mask_shape) == (None, "BK")
    assert second == FiaCase("some.c-BK", batch=2, query_length=1, mask_shape="BK", actual_seq_kvlen=(3, 0, 0),
                             pse_shape="1", poison=False, pre_tokens=2147483647)  # fmt: skip
    assert third == FiaCase("some.d", batch=2, query_length=1, dtype="bfloat16")


@pytest.mark.parametrize(
    "line, why",
    [
        ("case a none batch=2", "none"),
        ("case a", "IndexError"),
        ("base b colour=red", "colour"),
        ("cases c", "begins with base or case"),
        ("base b batch=1\ncase a b\ncase a b batch=2", "two cases of one name"),
    ],
)
def test_a_file_with_a_mistake(tmp_path: Path, line: str, why: str) -> None:
    (tmp_path / "some.txt").write_text(line)
    with pytest.raises(ValueError, match=why):
        read_cases(tmp_path / "some.txt")
