# SPDX-License-Identifier: Apache-2.0
"""The hand-picked cases of npu_fused_infer_attention_score_v2: one thing that goes wrong each."""

from __future__ import annotations

import dataclasses

from helpers.fia_cases import (
    COMPRESSED_MASK_SHAPES,
    DATA_KINDS,
    DTYPES,
    FULL_MASK_SHAPES,
    LAYOUTS,
    MASK_DTYPES,
    FiaCase,
)


def edge_cases() -> list[FiaCase]:
    """Hand-picked cases. All are small: 5 million multiply-adds at most."""
    cases = _layout_edges() + _mask_edges() + _length_edges() + _shape_edges() + _data_edges()
    names = [case.name for case in cases]
    if len(set(names)) != len(names):
        raise ValueError("edge case names must differ")
    return cases


def _layout_edges() -> list[FiaCase]:
    cases = []
    for layout in LAYOUTS:
        for dtype in DTYPES:
            cases.append(
                FiaCase(
                    f"layout-{layout}-{dtype}", layout, dtype, batch=2, num_query_heads=4, num_key_value_heads=2,
                    query_length=37, key_length=83, head_dim=48, actual_seq_qlen=(37, 20), actual_seq_kvlen=(64, 83),
                    sparse_mode=3, mask_shape="SS",
                )
            )  # fmt: skip
    cases.append(FiaCase("lse-not-wanted", batch=2, num_query_heads=2, return_softmax_lse=False))
    for precise in (1, 2, 3):
        cases.append(
            FiaCase(
                f"inner-precise-{precise}", inner_precise=precise, query_length=20, key_length=40, mask_shape="SS",
                mask_pattern="rows", sparse_mode=1,
            )
        )  # fmt: skip
    return cases


def _mask_edges() -> list[FiaCase]:
    cases: list[FiaCase] = []
    for mode in (0, 1):
        for shape in FULL_MASK_SHAPES:
            for padded in (False, True):
                dtype = MASK_DTYPES[(len(cases)) % 3]
                cases.append(
                    FiaCase(
                        f"mask-mode{mode}-{shape}{'-padded' if padded else ''}-{dtype}", "BSND", batch=2,
                        num_query_heads=2, query_length=35, key_length=67, sparse_mode=mode, mask_shape=shape,
                        mask_dtype=dtype, mask_padded=padded, actual_seq_kvlen=(67, 50), actual_seq_qlen=(30, 35),
                        pre_tokens=40 if mode == 0 else -5, next_tokens=25 if mode == 0 else -5,
                    )
                )  # fmt: skip
    for mode in (2, 3, 4):
        for shape in COMPRESSED_MASK_SHAPES:
            cases.append(
                FiaCase(
                    f"mask-mode{mode}-2048-{shape}", "BNSD_BSND", batch=2, num_query_heads=2, query_length=70,
                    key_length=150, sparse_mode=mode, mask_shape=shape, mask_dtype=MASK_DTYPES[mode - 2],
                    actual_seq_kvlen=(150, 99), pre_tokens=60, next_tokens=10,
                )
            )  # fmt: skip
    small = FiaCase("", num_query_heads=2, query_length=40, key_length=60, mask_shape="SS")
    for pattern in ("all", "none", "causal", "padding", "rows"):
        cases.append(dataclasses.replace(small, name=f"mask-{pattern}", mask_pattern=pattern))
    bands = [(0, 0), (5, -2), (-2, 5), (-3, 3), (39, -39), (-39, 39), (-1, 1), (1, -1), (2**40, -3), (10, 2**40)]
    for pre, next_ in bands:
        limited = dataclasses.replace(small, pre_tokens=pre, next_tokens=next_)
        cases.append(dataclasses.replace(limited, name=f"band-mode0{pre:+}{next_:+}", mask_pattern="none"))
        cases.append(dataclasses.replace(limited, name=f"band-mode4{pre:+}{next_:+}", sparse_mode=4))
    return cases


def _length_edges() -> list[FiaCase]:
    cases = []
    for mode in (0, 2, 3, 4):
        mask = "SS" if mode else None
        cases.append(
            FiaCase(
                f"lengths-0-1-mode{mode}", "BSND", batch=6, num_query_heads=2, query_length=5, key_length=7,
                actual_seq_qlen=(0, 1, 5, 5, 1, 3), actual_seq_kvlen=(7, 1, 0, 7, 0, 1), sparse_mode=mode,
                mask_shape=mask, pre_tokens=2, next_tokens=1,
            )
        )  # fmt: skip
        cases.append(
            FiaCase(
                f"keys-fewer-mode{mode}", "BSH", batch=2, num_query_heads=2, query_length=90, key_length=33,
                sparse_mode=mode, mask_shape=mask, actual_seq_kvlen=(33, 2), pre_tokens=4, next_tokens=0,
            )
        )  # fmt: skip
    cases += [
        FiaCase("lengths-one-entry", "BSH", batch=3, query_length=9, key_length=21, actual_seq_qlen=(4,),
                actual_seq_kvlen=(20,)),
        FiaCase("lengths-more-than-batch", batch=2, query_length=9, key_length=21, actual_seq_qlen=(4, 9, 1, 0),
                actual_seq_kvlen=(20, 21, 3)),
        FiaCase("lengths-all-zero", batch=2, query_length=9, key_length=21, actual_seq_qlen=(0,)),
        FiaCase("keys-all-zero", batch=2, query_length=9, key_length=21, actual_seq_kvlen=(0,)),
        FiaCase("lengths-empty-list", batch=2, query_length=9, key_length=21, actual_seq_qlen=(), actual_seq_kvlen=()),
        FiaCase("key-empty", batch=2, num_query_heads=2, query_length=9, key_length=0),
        FiaCase("key-empty-bsh", "BSH", "bfloat16", batch=2, num_query_heads=2, query_length=9, key_length=0),
        FiaCase("query-empty", batch=2, num_query_heads=2, query_length=0, key_length=9),
        FiaCase("batch-empty", "BSND", batch=0, num_query_heads=2, query_length=3, key_length=9),
    ]  # fmt: skip
    return cases


def _shape_edges() -> list[FiaCase]:
    cases = []
    for dim in range(16, 257, 16):
        layout = LAYOUTS[dim // 16 % 4]
        cases.append(FiaCase(f"head-dim-{dim}", layout, query_length=19, key_length=45, head_dim=dim))
    tails = ((2, 1), (2, 1100), (300, 1), (127, 129), (128, 128), (129, 511), (16, 512), (65, 513), (257, 257))
    for rows, keys in tails:
        cases.append(
            FiaCase(f"tails-{rows}x{keys}", num_query_heads=2, query_length=rows, key_length=keys, head_dim=32)
        )
        cases.append(
            FiaCase(f"tails-{rows}x{keys}-causal", "BSND", "bfloat16", query_length=rows, key_length=keys, head_dim=32,
                    sparse_mode=3, mask_shape="SS")
        )  # fmt: skip
    for heads, key_heads in ((8, 1), (8, 8), (6, 3), (64, 1), (5, 1)):
        for layout in ("BSND", "BNSD"):
            cases.append(
                FiaCase(f"groups-{heads}-over-{key_heads}-{layout}", layout, num_query_heads=heads,
                        num_key_value_heads=key_heads, query_length=7, key_length=40, head_dim=32, sparse_mode=3,
                        mask_shape="SS", batch=2, actual_seq_qlen=(7, 4))
            )  # fmt: skip
    cases.append(FiaCase("scale-zero", softmax_scale=0.0, query_length=8, key_length=50))
    cases.append(FiaCase("scale-negative", softmax_scale=-0.25, query_length=8, key_length=50))
    return cases


def _data_edges() -> list[FiaCase]:
    cases = []
    for data in DATA_KINDS[1:]:
        for dtype in DTYPES:
            cases.append(
                FiaCase(f"data-{data}-{dtype}", "BSH", dtype, num_query_heads=2, query_length=24, key_length=600,
                        head_dim=64, data=data, sparse_mode=3, mask_shape="SS", actual_seq_kvlen=(590,))
            )  # fmt: skip
        cases.append(
            FiaCase(f"data-{data}-dim16", query_length=40, key_length=300, head_dim=16, data=data, sparse_mode=1,
                    mask_shape="SS", mask_pattern="rows")
        )  # fmt: skip
    return cases
