# SPDX-License-Identifier: Apache-2.0
"""Lane-by-lane instructions, each with all its dtypes and forms, against NumPy statements of their meaning."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from helpers.vector_lanes import FORMS, draw_call, run, scalar_bits, values

DRAWS = 2  # calls per instruction, dtype and form
HALF, FLOAT, INT16, INT32 = "float16", "float32", "int16", "int32"
UINT16, UINT32, BF16 = "uint16", "uint32", "bfloat16"
ARITHMETIC = (HALF, FLOAT, INT16, INT32)


def once(operation: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """float16: the exact result rounded once. float32 and integers: NumPy's own operation."""

    def apply(*operands: np.ndarray) -> np.ndarray:
        if operands[0].dtype == np.float16:
            return operation(*(x.astype(np.float64) for x in operands)).astype(np.float16)
        return operation(*operands)

    return apply


def greater(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where(a != a, a, np.where(b != b, b, np.where(a >= b, a, b)))


def smaller(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.where(a != a, a, np.where(b != b, b, np.where(a <= b, a, b)))


def relu(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x, np.where(x != x, x, np.zeros_like(x)))


def in_float32(operation: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Multiply and add, each rounded to float32, then once to the destination."""
    return lambda *operands: operation(*(x.astype(np.float32) for x in operands))


BINARY = {
    "Add": (ARITHMETIC, once(lambda a, b: a + b)),
    "Sub": (ARITHMETIC, once(lambda a, b: a - b)),
    "Mul": (ARITHMETIC, once(lambda a, b: a * b)),
    "Max": (ARITHMETIC, greater),
    "Min": (ARITHMETIC, smaller),
    "Div": ((HALF, FLOAT), once(lambda a, b: a / b)),
    "And": ((INT16, UINT16), lambda a, b: a & b),
    "Or": ((INT16, UINT16), lambda a, b: a | b),
    "AddRelu": ((HALF, FLOAT, INT16), once(lambda a, b: relu(a + b))),
    "SubRelu": ((HALF, FLOAT, INT16), once(lambda a, b: relu(a - b))),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n, (dtypes, _) in BINARY.items() for d in dtypes])
def test_binary(name: str, dtype: str, form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(DRAWS):
        dst, sources, drawn = draw_call(rng, form, dtype, [dtype, dtype])
        run(name, dst, sources, drawn, BINARY[name][1])


TERNARY = {
    "MulAddDst": lambda a, b, d: d + a * b,
    "FusedMulAdd": lambda a, b, d: a * d + b,
    "FusedMulAddRelu": lambda a, b, d: relu(a * d + b),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("name", "dst_dtype", "src_dtype"),
    [(n, d, d) for n in TERNARY for d in (HALF, FLOAT)] + [("MulAddDst", FLOAT, HALF)],
)
def test_three_operands(name: str, dst_dtype: str, src_dtype: str, form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(DRAWS):
        dst, sources, drawn = draw_call(rng, form, dst_dtype, [src_dtype, src_dtype], reads_dst=True)
        run(name, dst, sources, drawn, in_float32(TERNARY[name]), reads_dst=True)


def reciprocal_sqrt(x: np.ndarray) -> np.ndarray:
    return np.float32(1) / np.sqrt(x.astype(np.float32))


UNARY = {
    "Relu": ((HALF, FLOAT, INT32), relu),
    "Abs": ((HALF, FLOAT), np.abs),
    "Sqrt": ((HALF, FLOAT), once(np.sqrt)),
    "Reciprocal": ((HALF, FLOAT), once(lambda x: 1 / x)),
    "Rsqrt": ((HALF, FLOAT), reciprocal_sqrt),
    "Not": ((INT16, UINT16), lambda x: ~x),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n, (dtypes, _) in UNARY.items() for d in dtypes])
def test_unary(name: str, dtype: str, form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(DRAWS):
        dst, sources, drawn = draw_call(rng, form, dtype, [dtype])
        run(name, dst, sources, drawn, UNARY[name][1])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [HALF, FLOAT])
@pytest.mark.parametrize(("name", "exact"), [("Exp", np.exp), ("Ln", np.log)])
def test_transcendental(name: str, exact: Callable[[np.ndarray], np.ndarray], dtype: str, form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(DRAWS):
        dst, sources, drawn = draw_call(rng, form, dtype, [dtype])
        run(name, dst, sources, drawn, lambda x: exact(x.astype(np.float64)), ulp=1.0)


def shift_left(x: np.ndarray, distance: np.ndarray) -> np.ndarray:
    bits = x.dtype.itemsize * 8
    unsigned = x.astype(np.int64) & ((1 << bits) - 1)
    moved = (unsigned << int(distance)) & ((1 << bits) - 1)
    if np.issubdtype(x.dtype, np.signedinteger):
        sign = 1 << (bits - 1)
        moved = (moved & ~sign) | (unsigned & sign)
    return moved.astype(x.dtype) if x.dtype.kind == "u" else (moved - ((moved >> (bits - 1)) << bits)).astype(x.dtype)


def shift_right(x: np.ndarray, distance: np.ndarray) -> np.ndarray:
    return (x.astype(np.int64) >> int(distance)).astype(x.dtype)


SCALAR = {
    "Adds": (ARITHMETIC, once(lambda a, s: a + s)),
    "Muls": (ARITHMETIC, once(lambda a, s: a * s)),
    "Maxs": (ARITHMETIC, lambda a, s: greater(a, np.broadcast_to(s, a.shape))),
    "Mins": (ARITHMETIC, lambda a, s: smaller(a, np.broadcast_to(s, a.shape))),
    "LeakyRelu": ((HALF, FLOAT), once(lambda a, s: np.where(a >= 0, a, a * s))),
    "ShiftLeft": ((INT16, UINT16, INT32, UINT32), shift_left),
    "ShiftRight": ((INT16, UINT16, INT32, UINT32), shift_right),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("name", "dtype"), [(n, d) for n, (dtypes, _) in SCALAR.items() for d in dtypes])
def test_with_scalar(name: str, dtype: str, form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(DRAWS):
        dst, sources, drawn = draw_call(rng, form, dtype, [dtype])
        scalar = values(rng, dtype, 1)
        if name.startswith("Shift"):
            scalar = rng.integers(0, scalar.dtype.itemsize * 8 + 1, 1).astype(scalar.dtype)
        operation = SCALAR[name][1]
        run(
            name,
            dst,
            sources,
            drawn,
            lambda x, operation=operation, scalar=scalar: operation(x, scalar[0] if x.dtype != np.float16 else scalar),
            {"scalarValue": scalar_bits(dtype, scalar[0])},
        )


@pytest.mark.parametrize("distance", range(0, 17))
def test_shift_right_rounds(distance: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for dtype in (INT16, INT32):
        dst, sources, drawn = draw_call(rng, "lanes", dtype, [dtype])

        def rounded(x: np.ndarray) -> np.ndarray:
            wide = x.astype(np.int64)
            last = (wide >> (distance - 1)) & 1 if distance else 0
            return ((wide >> distance) + last).astype(x.dtype)

        run("ShiftRight", dst, sources, drawn, rounded, {"scalarValue": distance, "roundEn": True})


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("dst_dtype", "src_dtype"), [(HALF, HALF), (FLOAT, FLOAT), (FLOAT, HALF)])
def test_axpy(dst_dtype: str, src_dtype: str, form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(DRAWS):
        dst, sources, drawn = draw_call(rng, form, dst_dtype, [src_dtype], reads_dst=True)
        scalar = values(rng, src_dtype, 1)[0]
        wide = np.float32(scalar)
        run(
            "Axpy",
            dst,
            sources,
            drawn,
            lambda x, d, wide=wide: d.astype(np.float32) + x.astype(np.float32) * wide,
            {"scalarValue": scalar_bits(src_dtype, scalar)},
            reads_dst=True,
        )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [HALF, BF16, FLOAT, INT16, UINT16, INT32, UINT32])
def test_duplicate(dtype: str, form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(DRAWS):
        dst, _, drawn = draw_call(rng, form, dtype, [dtype])
        scalar = values(rng, dtype, 1)
        run("Duplicate", dst, [], drawn, lambda s=scalar, n=drawn.lane.size: np.repeat(s, n),
            {"scalarValue": scalar_bits(dtype, scalar[0])})  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [HALF, FLOAT, INT16, INT32])
def test_create_vec_index(dtype: str, form: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lanes = 256 // np.dtype(dtype).itemsize
    for _ in range(DRAWS):
        dst, _, drawn = draw_call(rng, form, dtype, [dtype])
        first = int(rng.integers(-50, 50))
        index = drawn.repeat * lanes + drawn.lane + first
        run("CreateVecIndex", dst, [], drawn, lambda v=index, d=dtype: v.astype(np.float64).astype(d),
            {"firstValue": scalar_bits(dtype, first)})  # fmt: skip
