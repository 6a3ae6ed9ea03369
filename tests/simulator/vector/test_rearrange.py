# SPDX-License-Identifier: Apache-2.0
"""Instructions that move values: Copy, Brcb, Gather, Gatherb, GatherMask, Transpose. Undefined values move along."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.single_instruction import DTYPES, Memory, check, execute, given, move_bytes, random_memory, refused
from helpers.vector_lanes import FORMS, Form, bit_lanes, draw_call, draw_form, draw_mask

WORDS = ["float16", "bfloat16", "float32", "int16", "uint16", "int32", "uint32"]


def size_of(dtype: str) -> int:
    return DTYPES[dtype].itemsize


def moves(
    name: str,
    dst: Memory,
    sources: list[Memory],
    pairs: list[tuple[int, int]],
    size: int,
    params: dict[str, Any],
    state: dict[str, Any] | None = None,
) -> None:
    """Byte offsets (to, from) of elements of `size` bytes out of the first source."""
    expected = dst.copy()
    for to, source in pairs:
        move_bytes(expected, to, sources[0], source, size)
    for mode in ("fast", "checked"):
        actual, _ = execute(name, [dst, *sources], params, "vector", mode, state)
        what = f"{name} {params} {mode}"
        live = expected.defined == 1
        assert np.array_equal(actual[0].data[live], expected.data[live]), what
        if mode == "checked":
            assert np.array_equal(actual[0].defined, expected.defined), what


@pytest.mark.parametrize("form", ["lanes", "bits", "register"])
@pytest.mark.parametrize("dtype", WORDS)
def test_copy(dtype: str, form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = size_of(dtype)
    for _ in range(2):
        dst, (src,), drawn = draw_call(rng, form, dtype, [dtype], distinct=True)
        src.memory.defined[:] = np.repeat(rng.random(src.memory.data.size // size) < 0.7, size)
        params = drawn.params | {
            "dstBlkStride": dst.block,
            "dstRepStride": dst.repeat,
            "srcBlkStride": src.block,
            "srcRepStride": src.repeat,
        }
        pairs = list(zip(dst.at.tolist(), src.at.tolist(), strict=True))
        moves("Copy", dst.memory, [src.memory], pairs, size, params, drawn.state)


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_copy_repeats_in_counter_mode(dtype: str, seed: int) -> None:
    """The one instruction whose repeat count works in counter mode: the mask counts the elements of each repeat."""
    rng = np.random.default_rng(seed)
    size = size_of(dtype)
    src = random_memory(rng, "ub", dtype, 4096, 8192)
    dst = random_memory(rng, "ub", dtype, 4096, 0, 0.5)
    count = 20
    pairs = [(r * 9 * 32 + i * size, r * 256 + i * size) for r in range(4) for i in range(count)]
    params = {"mask": [count, 0], "repeatTimes": 4, "dstBlkStride": 1, "dstRepStride": 9, "srcBlkStride": 1,
              "srcRepStride": 8}  # fmt: skip
    moves("Copy", dst, [src], pairs, size, params, {"counter_mode": True})


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_copy_counts_over_many_blocks_in_counter_mode(dtype: str, seed: int) -> None:
    """The mask may count more elements than a repeat has lanes: the repeat then takes as many blocks as that needs."""
    rng = np.random.default_rng(seed)
    size = size_of(dtype)
    src = random_memory(rng, "ub", dtype, 16384, 16384)
    dst = random_memory(rng, "ub", dtype, 4096, 0, 0.5)
    count, per_block = 18 * 32 // size - 3, 32 // size
    pairs = [
        (r * 1024 + i * size, r * 32 + i // per_block * 8 * 32 + i % per_block * size)
        for r in range(2)
        for i in range(count)
    ]
    params = {"mask": [count, 0], "repeatTimes": 2, "dstBlkStride": 1, "dstRepStride": 32, "srcBlkStride": 8,
              "srcRepStride": 1}  # fmt: skip
    moves("Copy", dst, [src], pairs, size, params, {"counter_mode": True})


@pytest.mark.parametrize("dtype", WORDS)
def test_brcb(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = size_of(dtype)
    for repeats, block, step in ((1, 1, 8), (3, 1, 8), (4, 2, 16), (5, 1, 11)):
        src = random_memory(rng, "ub", dtype, repeats * 8 * size, 65536, 0.3)
        src.defined = np.repeat(src.defined[::size], size)
        dst = random_memory(rng, "ub", dtype, (repeats - 1) * step * 32 + 7 * block * 32 + 32, 0, 0.5)
        pairs = [
            (r * step * 32 + b * block * 32 + i * size, (r * 8 + b) * size)
            for r in range(repeats)
            for b in range(8)
            for i in range(32 // size)
        ]
        params = {"repeatTimes": repeats, "dstBlkStride": block, "dstRepStride": step}
        moves("Brcb", dst, [src], pairs, size, params)


def test_brcb_wants_apart_memories() -> None:
    memory = given("ub", "float32", np.zeros(64, np.float32))
    refused("Brcb", [memory, memory], {"repeatTimes": 1}, "vector", "apart from dst")


@pytest.mark.parametrize("form", ["count", "lanes", "bits"])
@pytest.mark.parametrize("dtype", WORDS)
def test_gather(dtype: str, form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = size_of(dtype)
    lanes = 256 // size
    for _ in range(2):
        drawn = draw_form(rng, lanes, form)
        step = 8 if drawn.packed else int(rng.integers(8, 12))
        base = int(rng.integers(0, 20)) * size
        src = random_memory(rng, "ub", dtype, 2048, 0)
        src.defined = np.repeat((rng.random(2048 // size) < 0.7).astype(np.uint8), size)
        positions = drawn.repeat * lanes + drawn.lane
        table = np.zeros((int(positions.max(initial=0)) // 8 + 1) * 8, np.uint32)
        chosen = rng.integers(0, (2048 - base) // size, positions.size).astype(np.uint32) * size
        table[positions] = chosen
        offset = given("ub", "uint32", table, 4096)
        offset.defined[:] = 0  # only the offsets of active lanes are read
        offset.defined[(positions[:, None] * 4 + np.arange(4)).ravel()] = 1
        to = drawn.repeat * step * 32 + drawn.lane * size
        dst = random_memory(rng, "ub", dtype, int(to.max(initial=0)) // 32 * 32 + 32, 65536, 0.5)
        pairs = [(int(t), base + int(c)) for t, c in zip(to, chosen, strict=True)]
        params = drawn.params | {"srcBaseAddr": base}
        if not drawn.packed:
            params |= {"dstRepStride": step}
        moves("Gather", dst, [src, offset], pairs, size, params)


@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_gatherb(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    src = random_memory(rng, "ub", dtype, 4096, 0, 0.2)
    offset = given("ub", "uint32", rng.integers(0, 128, 24).astype(np.uint32) * 32, 8192)
    for block, step in ((1, 8), (2, 16), (1, 9)):
        dst = random_memory(rng, "ub", dtype, 2 * step * 32 + 7 * block * 32 + 32, 65536, 0.5)
        table = offset.typed()
        pairs = [((i // 8) * step * 32 + (i % 8) * block * 32, int(table[i])) for i in range(24)]
        params = {"repeatTimes": 3, "dstBlkStride": block, "dstRepStride": step}
        moves("Gatherb", dst, [src, offset], pairs, 32, params)


def test_gather_refuses_bad_offsets() -> None:
    dst = given("ub", "float32", np.zeros(64, np.float32), 4096)
    src = given("ub", "float32", np.zeros(64, np.float32), 0)
    for table, base, mentions in (
        ([0, 2], 0, "element size"),
        ([0, 4], 2, "srcBaseAddr"),
        ([0, 256], 0, "reads bytes"),
    ):
        offset = given("ub", "uint32", np.array(table, np.uint32), 8192)
        refused("Gather", [dst, src, offset], {"calCount": 2, "srcBaseAddr": base}, "vector", mentions)
    refused("Gather", [src, src, given("ub", "uint32", np.zeros(8, np.uint32), 8192)], {"calCount": 8}, "vector",
            "apart from dst")  # fmt: skip


@pytest.mark.parametrize("dtype", WORDS)
def test_gather_takes_its_offsets_as_uint32(dtype: str) -> None:
    dst, src = given("ub", dtype, np.zeros(64, DTYPES[dtype]), 4096), given("ub", dtype, np.zeros(64, DTYPES[dtype]))
    execute("Gather", [dst, src, given("ub", "uint32", np.zeros(8, np.uint32), 8192)], {"calCount": 8}, "vector")
    for wrong in ("int32", "uint16", "float32"):
        offset = given("ub", wrong, np.zeros(8, DTYPES[wrong]), 8192)
        refused("Gather", [dst, src, offset], {"calCount": 8}, "vector", "srcOffset dtype")


def blocks_and_offsets(dtype: str = "uint32", offset: int = 0) -> list[Memory]:
    return [given("ub", dtype, np.zeros(256, DTYPES[dtype]), 4096), given("ub", dtype, np.zeros(64, DTYPES[dtype])),
            given("ub", "uint32", np.full(16, offset, np.uint32), 8192)]  # fmt: skip


@pytest.mark.parametrize("mode", ["fast", "checked"])
@pytest.mark.parametrize(
    ("params", "mentions"),
    [
        ({"repeatTimes": 256}, "repeatTimes is 256"),
        ({"repeatTimes": -1}, "repeatTimes is -1"),
        ({"dstBlkStride": 0}, "dstBlkStride is 0"),
        ({"dstBlkStride": 256}, "block stride is 256"),
        ({"dstRepStride": 65536}, "repeat stride is 65536"),
        ({"repeatTimes": 2, "dstRepStride": 32}, "dst (UB uint32) writes bytes"),
        ({"repeatTimes": 3}, "offset (UB uint32) reads bytes"),
    ],
)
def test_limits_of_gatherb(params: dict[str, int], mentions: str, mode: str) -> None:
    execute("Gatherb", blocks_and_offsets(), {"repeatTimes": 1}, "vector", mode)
    refused("Gatherb", blocks_and_offsets(), {"repeatTimes": 1} | params, "vector", mentions, mode)


@pytest.mark.parametrize("mode", ["fast", "checked"])
def test_offsets_of_gatherb(mode: str) -> None:
    one = {"repeatTimes": 1}
    for offset, mentions in ((16, "a multiple of 32"), (256, "src0 (UB uint32) reads bytes"), (4096, "apart from dst")):
        refused("Gatherb", blocks_and_offsets(offset=offset), one, "vector", mentions, mode)
    untouched = blocks_and_offsets(offset=16)
    out, _ = execute("Gatherb", untouched, {"repeatTimes": 0}, "vector", mode)
    assert np.array_equal(out[0].data, untouched[0].data)


def test_types_and_places_of_gatherb() -> None:
    one = {"repeatTimes": 1}
    for dtype in DTYPES:
        if dtype in ("uint16", "uint32"):
            execute("Gatherb", blocks_and_offsets(dtype), one, "vector")
        else:
            refused("Gatherb", blocks_and_offsets(dtype), one, "vector", "dst dtype")
    operands = blocks_and_offsets()
    operands[1].dtype = "uint16"
    refused("Gatherb", operands, one, "vector", "src0 dtype")
    for wrong in ("int32", "uint16"):
        operands = blocks_and_offsets()
        operands[2].dtype = wrong
        refused("Gatherb", operands, one, "vector", "offset dtype")
    for index, name in enumerate(("dst", "src0", "offset")):
        operands = blocks_and_offsets()
        operands[index].address += 16
        refused("Gatherb", operands, one, "vector", f"{name} (UB uint32)")
        operands = blocks_and_offsets()
        operands[index].space, operands[index].address = "gm", 0
        refused("Gatherb", operands, one, "vector", "must lie in UB")


def gather_mask(operands: list[Memory], params: dict[str, Any], mode: str) -> tuple[Memory, int, dict[str, Any]]:
    from ascend_attention import _core

    listed = [(o.space, o.dtype, o.data, o.address, o.defined) for o in operands]
    call = dict(params)
    outputs, report = _core.sim.execute("GatherMask", listed, call, "vector", mode)
    result = Memory("ub", operands[0].dtype, np.asarray(outputs[0]), np.asarray(report["defined"][0]))
    return result, call["rsvdCnt"], report


def kept_lanes(pattern: int | np.ndarray, per_repeat: int, repeats: int, step: int) -> list[tuple[int, int]]:
    """(repeat, element) of every kept element: built-in patterns as documented, or bits of a tensor."""
    built_in = {1: [0, 2], 2: [1, 3], 3: [0], 4: [1], 5: [2], 6: [3], 7: [0, 1, 2, 3]}
    kept = []
    for repeat in range(repeats):
        for index in range(per_repeat):
            if isinstance(pattern, int):
                keep = index % 4 in built_in[pattern]
            else:
                keep = bool(pattern[repeat * step * 32 + index // 8] >> (index % 8) & 1)
            if keep:
                kept.append((repeat, index))
    return kept


@pytest.mark.parametrize("counter", [False, True])
@pytest.mark.parametrize("pattern", [1, 2, 3, 4, 5, 6, 7, "tensor"])
@pytest.mark.parametrize("dtype", WORDS)
def test_gather_mask(dtype: str, pattern: int | str, counter: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    size = size_of(dtype)
    per_block = 32 // size
    for _ in range(2):
        per_repeat = int(rng.integers(1, 200)) if counter else 256 // size
        repeats = int(rng.integers(1, 5))
        block, step = [(1, 8), (2, 20), (1, 13)][rng.integers(3)]
        blocks = (per_repeat - 1) // per_block
        src = random_memory(rng, "ub", dtype, (repeats - 1) * step * 32 + blocks * block * 32 + 32, 65536)
        src.defined = np.repeat((rng.random(src.data.size // size) < 0.8).astype(np.uint8), size)
        operands = [random_memory(rng, "ub", dtype, repeats * 1024, 0, 0.5), src]
        params: dict[str, Any] = {"repeatTimes": repeats, "reduceMode": counter, "src0BlockStride": block,
                                  "src0RepeatStride": step, "mask": per_repeat if counter else 0}  # fmt: skip
        if pattern == "tensor":
            pattern_step = int(rng.choice([0, 1, 4]))
            bits = rng.integers(0, 256, repeats * 4 * 32 + 64, np.uint8)
            operands.append(Memory("ub", {2: "uint16", 4: "uint32"}[size], bits, np.ones(bits.size, np.uint8), 32768))
            params |= {"src1RepeatStride": pattern_step}
            kept = kept_lanes(bits, per_repeat, repeats, pattern_step)
        else:
            params |= {"src1Pattern": pattern}
            kept = kept_lanes(int(pattern), per_repeat, repeats, 0)
        expected = operands[0].copy()
        for index, (repeat, lane) in enumerate(kept):
            source = repeat * step * 32 + lane // per_block * block * 32 + lane % per_block * size
            move_bytes(expected, index * size, src, source, size)
        for mode in ("fast", "checked"):
            actual, count, report = gather_mask(operands, params, mode)
            assert count == len(kept)
            live = expected.defined == 1
            assert np.array_equal(actual.data[live], expected.data[live]), params
            if mode == "checked":
                assert np.array_equal(actual.defined, expected.defined), params
            assert report["state"]["counter_mode"] is False and report["state"]["mask_specified"] is False


@pytest.mark.parametrize(
    ("params", "mentions"),
    [
        ({"src1Pattern": 0}, "1..7"),
        ({"src1Pattern": 8}, "1..7"),
        ({"src1Pattern": 1, "reduceMode": True, "mask": 0}, "1 or more"),
        ({"src1Pattern": 1, "repeatTimes": 256}, "0..255"),
    ],
)
def test_gather_mask_refuses(params: dict[str, Any], mentions: str) -> None:
    operands = [given("ub", "float32", np.zeros(64, np.float32), a) for a in (0, 1024)]
    refused("GatherMask", operands, params, "vector", mentions)


def test_gather_mask_pattern_type_and_overlap() -> None:
    operands = [given("ub", "float32", np.zeros(64, np.float32), a) for a in (0, 1024)]
    wrong = given("ub", "uint16", np.zeros(64, np.uint16), 2048)
    refused("GatherMask", [*operands, wrong], {}, "vector", "uint16 for 16-bit")
    inside = [given("ub", "float32", np.zeros(64, np.float32), a) for a in (64, 32)]
    refused("GatherMask", inside, {"src1Pattern": 1}, "vector", "at or before src0")


@pytest.mark.parametrize("dtype", ["float16", "int16", "uint16"])
def test_transpose(dtype: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    src = random_memory(rng, "ub", dtype, 512, 1024, 0.3)
    dst = random_memory(rng, "ub", dtype, 512, 0, 0.3)

    def statement(operands: list[Memory]) -> None:
        for row in range(16):
            for column in range(16):
                move_bytes(operands[0], (column * 16 + row) * 2, operands[1], (row * 16 + column) * 2, 2)

    check("Transpose", [dst, src], {}, "vector", statement)


def test_every_form_is_drawn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    assert {type(draw_form(rng, 64, kind)) for kind in FORMS} == {Form}
    assert all(bit_lanes(draw_mask(rng), 128) for _ in range(20))
