# SPDX-License-Identifier: Apache-2.0
"""Operations with a conversion behind them: AddReluCast, SubReluCast, MulCast, AddDeqRelu, CastDeq; and Xor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.single_instruction import Memory, execute, given, random_memory, refused
from helpers.vector_lanes import FORMS, draw_call, draw_form, run

F16, F32 = np.float16, np.float32
PAIRS = [("float16", "int8"), ("float32", "float16"), ("int16", "int8")]


def to_bytes(values: np.ndarray, low: int, high: int) -> np.ndarray:
    wide = np.rint(values.astype(np.float64))
    return np.clip(np.where(np.isnan(wide), 0, wide), low, high)


def relu(values: np.ndarray) -> np.ndarray:
    return np.where(values > 0, values, np.where(np.isnan(values), values, 0)).astype(values.dtype)


def fused(src: str, dst: str, combine: Any) -> Any:
    def function(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        result = relu(combine(a, b))
        return result if dst == "float16" else to_bytes(result, 0 if dst == "uint8" else -128, 127)

    return function


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("types", PAIRS)
@pytest.mark.parametrize("name", ["AddReluCast", "SubReluCast"])
def test_relu_casts(name: str, types: tuple[str, str], form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    src, dst = types
    combine = np.add if name == "AddReluCast" else np.subtract
    for _ in range(3):
        to, sources, drawn = draw_call(rng, form, dst, [src, src], distinct=True)
        run(name, to, sources, drawn, fused(src, dst, combine))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dst", ["int8", "uint8"])
def test_mul_cast(dst: str, form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    low, high = (-128, 127) if dst == "int8" else (0, 255)
    for _ in range(3):
        to, sources, drawn = draw_call(rng, form, dst, ["float16", "float16"], distinct=True)
        run("MulCast", to, sources, drawn, lambda a, b: to_bytes(a * b, low, high))


@pytest.mark.parametrize("scale", [1.0, 0.1, 0.00048828125])
@pytest.mark.parametrize("form", ["count", "lanes", "bits", "register"])
def test_add_deq_relu(form: str, scale: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    factor = F32(F16(scale))
    down, up = F32(2.0**-17), F32(2.0**17)

    def function(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return relu((((a + b).astype(F32) * down * factor) * up).astype(F16))

    to, sources, drawn = draw_call(rng, form, "float16", ["int32", "int32"], distinct=True)
    run("AddDeqRelu", to, sources, drawn, function, state={"deq_scale": float(factor)})


def test_add_deq_relu_uses_up_its_sources() -> None:
    """The library keeps intermediate results in them."""
    x = given("ub", "int32", np.arange(64, dtype=np.int32), 0)
    y = given("ub", "int32", np.arange(64, dtype=np.int32), 256)
    dst = given("ub", "float16", np.zeros(64, F16), 512)
    results, _ = execute("AddDeqRelu", [dst, x, y], {"calCount": 60}, "vector")
    for source in results[1:]:
        assert source.defined[: 60 * 4].sum() == 0
        assert source.defined[60 * 4 :].all()


def test_fused_casts_refuse() -> None:
    halves = [given("ub", "float16", np.zeros(128, F16), 256 * i) for i in range(3)]
    refused("AddReluCast", halves, {"calCount": 128}, "vector", "float16 to int8")
    refused("MulCast", halves, {"calCount": 128}, "vector", "float16 to int8 or uint8")
    refused("AddDeqRelu", halves, {"calCount": 128}, "vector", "int32 to float16")
    dst = given("ub", "int8", np.zeros(128, np.int8), 0)
    refused("MulCast", [dst, *halves[:2]], {"calCount": 128}, "vector", "src0")
    high = given("ub", "int32", np.zeros(64, np.int32), 184 * 1024)
    low = given("ub", "int32", np.zeros(64, np.int32), 1024)
    refused("AddDeqRelu", [halves[0], high, low], {"calCount": 64}, "vector", "188416")


def config_of(scale: float, offset: int, signed: bool) -> int:
    return int(np.float32(scale).view(np.uint32)) | (offset & 0x1FF) << 37 | int(signed) << 46


def dequantised(value: int, config: int) -> int:
    scale = np.array(config & 0xFFFFE000, np.uint32).view(F32)  # the hardware reads 10 bits of the significand
    offset = config >> 37 & 0x1FF
    low, high = (-128, 127) if config >> 46 & 1 else (0, 255)
    exact = float(value) * float(scale) + (offset - 512 if offset >= 256 else offset)
    return int(np.clip(np.rint(exact), low, high)) & 0xFF


@pytest.mark.parametrize("high", [False, True])
@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("form", FORMS)
def test_cast_deq(form: str, dtype: str, vector: bool, high: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    signed = dtype == "int8"
    configs = np.array(
        [config_of(rng.uniform(-2, 2), int(rng.integers(-256, 256)), signed) for _ in range(16)], np.uint64
    )
    if not vector:
        configs[:] = configs[0]
    drawn = draw_form(rng, 128, form)
    block, step = (1, 8) if drawn.packed else (2, 17)
    source_step = 8 if drawn.packed else int(rng.integers(8, 12))
    src = random_memory(rng, "ub", "int16", int(drawn.repeat.max() + 1) * source_step * 32, 0)
    src.data.view(np.int16)[:] = rng.integers(-300, 300, src.data.size // 2)
    dst = random_memory(rng, "ub", dtype, int(drawn.repeat.max() + 1) * step * 32 + 512, 32768, 0.5)
    table = given("ub", "uint64", configs, 65536)
    expected = dst.copy()
    for repeat, lane in zip(drawn.repeat, drawn.lane, strict=True):
        value = int(src.data[repeat * source_step * 32 :].view(np.int16)[lane])
        to = repeat * step * 32 + lane // 16 * block * 32 + 16 * high + lane % 16
        expected.data[to] = dequantised(value, int(configs[lane % 16]))
        expected.defined[to] = 1
    params: dict[str, Any] = drawn.params | {"halfBlock": high}
    if not drawn.packed:
        params |= {"dstBlkStride": block, "dstRepStride": step, "srcRepStride": source_step}
    if not vector:
        params |= {"config": int(configs[0])}
    for mode in ("fast", "checked"):
        operands = [dst, src, table] if vector else [dst, src]
        actual, _ = execute("CastDeq", operands, params, "vector", mode, drawn.state)
        live = expected.defined == 1
        np.testing.assert_array_equal(actual[0].data[live], expected.data[live], err_msg=f"{params} {mode}")
        if mode == "checked":
            np.testing.assert_array_equal(actual[0].defined, expected.defined)


def test_cast_deq_wants_its_own_scale() -> None:
    dst = given("ub", "int8", np.zeros(256, np.int8), 4096)
    src = given("ub", "int16", np.zeros(128, np.int16), 0)
    table = given("ub", "uint64", np.full(16, config_of(1, 0, True), np.uint64), 8192)
    call = {"calCount": 128}
    refused("CastDeq", [dst, src], call, "vector", "SetDeqScale(scale, offset, signMode)")
    refused("CastDeq", [dst, src, table], call | {"isVecDeq": False}, "vector", "SetDeqScale(scale, offset, signMode)")
    refused("CastDeq", [dst, src], call | {"config": 0, "isVecDeq": True}, "vector", "SetDeqScale(vdeq, vdeqInfo)")
    refused("CastDeq", [dst, src], call | {"config": config_of(1, 0, False)}, "vector", "signMode")
    refused("CastDeq", [src, src], call | {"config": 0}, "vector", "int8, uint8")
    high = given("ub", "uint64", np.zeros(16, np.uint64), 8200)
    refused("CastDeq", [dst, src, high], call, "vector", "multiple of 32")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", ["int16", "uint16"])
def test_xor(dtype: str, form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(3):
        to, sources, drawn = draw_call(rng, form, dtype, [dtype, dtype], distinct=True)
        run("Xor", to, sources, drawn, np.bitwise_xor)


@pytest.mark.parametrize("count", [1, 31, 128, 300])
@pytest.mark.parametrize("work_bytes", [64, 100, 4096])
def test_xor_with_work(count: int, work_bytes: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = (rng.integers(-32768, 32768, 320).astype(np.int16) for _ in range(2))
    dst = random_memory(rng, "ub", "int16", 640, 0)
    work = given("ub", "uint8", np.zeros(work_bytes, np.uint8), 8192)
    operands = [dst, given("ub", "int16", x, 1024), given("ub", "int16", y, 2048), work]
    for mode in ("fast", "checked"):
        results, _ = execute("XorWithWork", operands, {"calCount": count}, "vector", mode)
        expected = dst.typed().copy()
        expected[:count] = (x ^ y)[:count]
        np.testing.assert_array_equal(results[0].typed(), expected)
    used = min(count * 2, work_bytes // 64 * 64)
    assert not results[3].defined[:used].any()
    assert results[3].defined[used:].all()


def test_xor_refuses() -> None:
    shorts = [given("ub", "int16", np.zeros(64, np.int16), 128 * i) for i in range(3)]
    small = given("ub", "uint8", np.zeros(32, np.uint8), 1024)
    refused("XorWithWork", [*shorts, small], {"calCount": 64}, "vector", "64 bytes or more")
    refused("Xor", [shorts[0], shorts[0], shorts[1]], {"calCount": 64}, "vector", "src0")
    words = [given("ub", "int32", np.zeros(64, np.int32), 256 * i) for i in range(3)]
    refused("Xor", words, {"calCount": 64}, "vector", "int16, uint16")
    lying_on: Memory = given("ub", "uint8", np.zeros(64, np.uint8), 128)
    refused("XorWithWork", [*shorts, lying_on], {"calCount": 64}, "vector", "apart from dst")
