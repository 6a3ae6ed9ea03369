# SPDX-License-Identifier: Apache-2.0
"""Conversions of the quantised forms of the operators: which numbers the stored values mean, and where rounding belongs
to the mathematics.

exact   float64. Quantised inputs are the numbers they stand for; where the document quantises in between (the
        exponentials of int8 prompt flash attention, an int8 output) the rounding is applied.
device  the plain peer. Its choices are listed in docs/numerics.md, section "Quantised paths".
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ascend_attention.golden import conversions, quantisation
from ascend_attention.golden.attention import EXACT, Flow, Rescale, device_flow
from ascend_attention.golden.cache import Source, Storage
from ascend_attention.golden.conversions import Conversions, Convert
from ascend_attention.golden.errors import GoldenError
from ascend_attention.golden.layouts import Layout, by_head
from ascend_attention.golden.lengths import Lengths, as_integers
from ascend_attention.golden.numbers import Array, Format, as_array, format_of, one_of
from ascend_attention.golden.quantisation import KeyValueScale
from ascend_attention.golden.sequences import Call
from ascend_attention.golden.visibility import Columns

# Keys that share a running maximum in the device flow of integer paths. No larger than a kernel's tiles, or the peer
# would know the maximum of a short row beforehand and a kernel not: rounding to fixed steps makes that a difference.
TILE = 128
# Full int8 MLA has no scale for the exponentials, which are at most 1: they use the whole range of int8.
INT8_STEPS = 127.0
# The same for FP8 e4m3: a power of two, so that only the format rounds, and small exponentials are no subnormals.
FLOAT8_STEPS = 256.0


def unpacked(given: Any, argument: str) -> Any:
    """key or value with int4 in int32 words spread out as int8; anything else as it is."""
    if isinstance(given, (list, tuple)):
        return [unpacked(array, argument) for array in given]
    if not isinstance(given, np.ndarray) or given.dtype != np.int32 or given.ndim == 0:
        return given
    if given.ndim == 5:
        raise GoldenError(argument, "int4 has no NZ form in the documents")
    return quantisation.unpack_int4(given)


def _holds_int8(given: Any) -> bool:
    return any(getattr(array, "dtype", None) == np.int8 for array in _each(given))


def _each(given: Any) -> list[Any]:
    return list(given) if isinstance(given, (list, tuple)) else [given]


def _all_int8(given: Any, argument: str, other: str) -> None:
    for array in _each(given):
        if as_array(array, argument).dtype != np.int8:
            raise GoldenError(argument, f"is {array.dtype} where {other} is quantised")


def _needed(given: Any, argument: str, tensors: str) -> Any:
    if given is None:
        raise GoldenError(argument, f"is needed: {tensors} {'is' if ' ' not in tensors else 'are'} quantised")
    return given


def _none(why: str, **arguments: Any) -> None:
    for name, given in arguments.items():
        if given is not None:
            raise GoldenError(name, why)


def _as_stored(stored: Array, head: int, first: int) -> Array:
    return stored


def _integer_peer(steps: float, after: float) -> Flow:
    """Both products of integers: exponentials times ``steps`` as int8, the second product times ``after``."""
    factor = np.float32(steps)
    return dataclasses.replace(
        device_flow(None),
        operand=lambda weights, total: quantisation.to_int8_through_half(weights * factor).astype(np.float32),
        after=after,
        tile=TILE,
    )


# ---- fused_infer_attention_score_v2 ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Antiquant:
    """Stored integers mean (stored + offset) * scale."""

    scale: KeyValueScale
    offset: KeyValueScale | None
    table: Array | None  # block_table

    def of_sequence(self, b: int, work: str, rounded: Callable[[Array], Array]) -> Convert:
        blocks = None if self.table is None else self.table[b]

        def convert(stored: Array, head: int, first: int) -> Array:
            tokens = (b, head, first, first + len(stored), blocks)
            offset = None if self.offset is None else self.offset.read(*tokens)
            return rounded(quantisation.dequantise(stored, self.scale.read(*tokens), offset, work))

        return convert


@dataclass(frozen=True)
class FusedInferScales:
    """The arguments that say what the integers of a call mean."""

    query_scale: Any
    key_scale: Any
    key_offset: Any
    value_scale: Any
    value_offset: Any
    modes: tuple[int, int]  # key_quant_mode, value_quant_mode
    key_heads: int

    def conversions(
        self, query: Any, key: Any, value: Any, query_rope: Any, call: Call, store: Storage, layout: Layout, exact: bool
    ) -> Conversions:
        """int8 query: full int8 MLA. Otherwise int8 keys: antiquant. Otherwise no scale has a meaning."""
        if _holds_int8(query):
            return self._int8_mla(key, value, query_rope, call, layout, exact)
        _none("query is not quantised", dequant_scale_query=self.query_scale)
        if _holds_int8(key) or _holds_int8(value):
            return self._antiquant(query, key, value, call, store, exact)
        _none(
            "key and value are not quantised",
            dequant_scale_key=self.key_scale,
            dequant_offset_key=self.key_offset,
            dequant_scale_value=self.value_scale,
            dequant_offset_value=self.value_offset,
        )
        return conversions.plain(query, key, value, exact)

    def _antiquant(self, query: Any, key: Any, value: Any, call: Call, store: Storage, exact: bool) -> Conversions:
        """key and value mean (stored + offset) * scale (FIA-V15).

        The plain peer computes that in float32, rounds it to the dtype of query, and goes on as with 16-bit tensors.
        """
        _all_int8(key, "key", "value")
        _all_int8(value, "value", "key")
        number = format_of(query, "query")
        work, rounded = ("float64", lambda values: values) if exact else ("float32", number.round)

        def of(name: str, scale: Any, offset: Any, mode: int, source: Source) -> Callable[[int], Convert]:
            sizes = (mode, len(source.rows), self.key_heads, source.dim)
            scale = quantisation.key_value_scale(
                _needed(scale, f"dequant_scale_{name}", name), *sizes, f"dequant_scale_{name}"
            )
            if offset is not None:
                offset = quantisation.key_value_scale(offset, *sizes, f"dequant_offset_{name}")
            tensor = Antiquant(scale, offset, store.table)
            return lambda b: tensor.of_sequence(b, work, rounded)

        return Conversions(
            flow=EXACT if exact else device_flow(number),
            query=lambda stored, b: number.decode(stored),
            key=of("key", self.key_scale, self.key_offset, self.modes[0], call.keys),
            value=of("value", self.value_scale, self.value_offset, self.modes[1], call.values),
            finish=conversions.rounded_to(number, exact),
        )

    def _int8_mla(self, key: Any, value: Any, query_rope: Any, call: Call, layout: Layout, exact: bool) -> Conversions:
        """Query by token and head, key and value by tensor; rope beside them in 16 bits, and so is attention_out.

        scores = softmax_scale * (query_scale key_scale query keyᵀ + query_rope key_ropeᵀ)

        The plain peer multiplies integers in both products: exponentials become int8 in steps of 1/127.
        """
        if query_rope is None:
            raise GoldenError("query", "int8 has a meaning only with query_rope and key_rope")
        _all_int8(key, "key", "query")
        _all_int8(value, "value", "query")
        _none("full int8 has no offsets", dequant_offset_key=self.key_offset, dequant_offset_value=self.value_offset)
        tensors = "query, key and value"
        given = _needed(self.query_scale, "dequant_scale_query", tensors)
        of_query = quantisation.scale_values(given, "dequant_scale_query")[..., None]
        of_query = by_head(of_query, layout.query.replace("H", "ND"), call.query.shape[1], "dequant_scale_query")
        if of_query.shape[:3] != call.query.shape[:3]:
            raise GoldenError("dequant_scale_query", f"shape {given.shape} is not a number for each row of query")
        given = _needed(self.key_scale, "dequant_scale_key", tensors)
        of_key = quantisation.per_tensor_value(given, "dequant_scale_key")
        given = _needed(self.value_scale, "dequant_scale_value", tensors)
        of_value = quantisation.per_tensor_value(given, "dequant_scale_value")

        def rescale(b: int) -> Rescale:
            of_rows = call.spans[b].of(of_query)

            def apply(product: Array, heads: slice, rows: slice, columns: Columns) -> Array:
                factors = of_rows[heads, rows].astype(product.dtype) * product.dtype.type(of_key)
                return np.asarray(product * factors)

            return apply

        exact_flow = dataclasses.replace(EXACT, after=of_value)
        return Conversions(
            flow=exact_flow if exact else _integer_peer(INT8_STEPS, of_value / INT8_STEPS),
            query=lambda stored, b: stored,
            key=lambda b: _as_stored,
            value=lambda b: _as_stored,
            finish=conversions.rounded_to(format_of(query_rope, "query_rope"), exact),
            rescale=rescale,
        )


# ---- prompt_flash_attention ------------------------------------------------------------------------------------------


def prompt(
    query: Any, key: Any, value: Any, deq_scale1: Any, quant_scale1: Any, deq_scale2: Any, exact: bool
) -> Conversions:
    """The int8 chain for an int8 query; without one its scales have no meaning."""
    if _holds_int8(query):
        _all_int8(key, "key", "query")
        _all_int8(value, "value", "query")
        return int8_chain(deq_scale1, quant_scale1, deq_scale2, exact)
    _none("query is not int8", deq_scale1=deq_scale1, quant_scale1=quant_scale1, deq_scale2=deq_scale2)
    return conversions.plain(query, key, value, exact)


def int8_chain(deq_scale1: Any, quant_scale1: Any, deq_scale2: Any, exact: bool) -> Conversions:
    """int8 query, key and value, float16 out.

    scores  = scale * (deq_scale1 * query keyᵀ) + pse
    weights = int8(quant_scale1 * exp(scores - maximum))
    output  = deq_scale2 * (weights value) / sum(exp(scores - maximum))

    The exponentials that are summed are not rounded. The plain peer takes the maximum so far, tile by tile.
    """
    tensors = "query, key and value"
    first = quantisation.deq_scale_value(_needed(deq_scale1, "deq_scale1", tensors), "deq_scale1")
    steps = quantisation.per_tensor_value(_needed(quant_scale1, "quant_scale1", tensors), "quant_scale1")
    second = quantisation.deq_scale_value(_needed(deq_scale2, "deq_scale2", tensors), "deq_scale2")
    exact_flow = dataclasses.replace(
        EXACT, operand=lambda weights, total: quantisation.to_int8(weights * steps).astype(np.float64), after=second
    )

    def apply(product: Array, heads: slice, rows: slice, columns: Columns) -> Array:
        return np.asarray(product * product.dtype.type(first))

    return Conversions(
        flow=exact_flow if exact else _integer_peer(steps, second),
        query=lambda stored, b: stored,
        key=lambda b: _as_stored,
        value=lambda b: _as_stored,
        finish=conversions.rounded_to(Format("float16", np.dtype(np.float16)), exact),
        rescale=lambda b: apply,
    )


# ---- block_sparse_attention_v2 ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BlockScales:
    """The arguments that say what FP8 tensors mean, and what dtype the result has then."""

    query: Any
    key: Any
    value: Any
    output: str | None

    def conversions(
        self,
        query: Any,
        key: Any,
        value: Any,
        block_shape: Lengths,
        batch: int,
        heads: tuple[int, int],
        longest: tuple[int, int],
        exact: bool,
    ) -> Conversions:
        if not quantisation.is_float8(query):
            why = "query, key and value are not FP8"
            _none(why, q_dequant_scale=self.query, k_dequant_scale=self.key, v_dequant_scale=self.value)
            if self.output is not None:
                one_of(self.output, (format_of(query, "query").name,), "attention_out_dtype")
            return conversions.plain(query, key, value, exact)
        for name, array in (("key", key), ("value", value)):
            if not quantisation.is_float8(array):
                raise GoldenError(name, f"is {array.dtype} where query is FP8")
        sizes = as_integers(block_shape, "block_shape")
        if not sizes:
            raise GoldenError("block_shape", "is needed: the blocks of FP8 scales are those of the mask")
        number = Format(self.output or "bfloat16", np.dtype(np.float16 if self.output == "float16" else np.uint16))
        if number.name not in ("float16", "bfloat16"):
            raise GoldenError("attention_out_dtype", f"{self.output!r} is neither 'float16' nor 'bfloat16'")
        scales = (self.query, self.key, self.value)
        return float8_blocks(*scales, (sizes[0], sizes[1]), batch, heads, longest, number, exact)


def float8_blocks(
    query_scale: Any,
    key_scale: Any,
    value_scale: Any,
    block_shape: tuple[int, int],
    batch: int,
    heads: tuple[int, int],
    longest: tuple[int, int],
    number: Format,
    exact: bool,
) -> Conversions:
    """FP8 e4m3 query, key and value, each block of rows of a head with a scale of its own.

    Scales are (B, heads, blocks, 1); ``longest`` is (maxQSeqLength, maxKvSeqLength). The plain peer multiplies FP8
    values, scales the float32 product, and rounds the exponentials to FP8 in steps of 1/256 for the second product.
    """
    of_query = _block_scales(query_scale, batch, heads[0], longest[0], block_shape[0], "q_dequant_scale")
    of_key = _block_scales(key_scale, batch, heads[1], longest[1], block_shape[1], "k_dequant_scale")
    of_value = _block_scales(value_scale, batch, heads[1], longest[1], block_shape[1], "v_dequant_scale")
    group = heads[0] // heads[1]

    def rescale(b: int) -> Rescale:
        def apply(product: Array, heads: slice, rows: slice, columns: Columns) -> Array:
            tokens = np.arange(columns.start, columns.stop) if isinstance(columns, slice) else columns
            row_blocks = np.arange(rows.start, rows.stop) // block_shape[0]
            left = of_query[b, heads][:, row_blocks, None].astype(product.dtype)
            right = of_key[b, heads.start // group, tokens // block_shape[1]].astype(product.dtype)
            return np.asarray(product * (left * right))

        return apply

    def value(b: int) -> Convert:
        def convert(stored: Array, head: int, first: int) -> Array:
            blocks = np.arange(first, first + len(stored)) // block_shape[1]
            values = quantisation.float8_to_float(stored).astype("float64" if exact else "float32")
            return np.asarray(values * of_value[b, head, blocks, None])

        return convert

    flow = EXACT
    if not exact:
        steps = np.float32(FLOAT8_STEPS)
        flow = dataclasses.replace(
            device_flow(None),
            operand=lambda weights, total: quantisation.float8_to_float(
                quantisation.float8_from_float(weights * steps)
            ),
            after=1 / FLOAT8_STEPS,
        )
    return Conversions(
        flow=flow,
        query=lambda stored, b: quantisation.float8_to_float(stored),
        key=lambda b: lambda stored, head, first: quantisation.float8_to_float(stored),
        value=value,
        finish=conversions.rounded_to(number, exact),
        rescale=rescale,
    )


def _block_scales(given: Any, batch: int, heads: int, longest: int, rows_each: int, argument: str) -> Array:
    values = quantisation.scale_values(_needed(given, argument, "query, key and value"), argument)
    want = (batch, heads, -(-longest // rows_each), 1)
    if values.shape != want:
        raise GoldenError(argument, f"shape {values.shape} is not {want}, a scale for each {rows_each} rows")
    return values[..., 0]


# ---- int8 output -----------------------------------------------------------------------------------------------------


def with_output(
    numbers: Conversions,
    scale: Any,
    offset: Any,
    sizes: tuple[int, int],
    names: tuple[str, str],
    exact: bool,
    rounded: bool,
) -> Conversions:
    """int8(output * scale + offset), per tensor or per channel, instead of the 16-bit output; no scale: unchanged.

    ``sizes`` is (N, D_v), ``names`` those of the two arguments.

    Rows that see no key, and rows of no sequence, are zeros here too, without the offset. The exact flow returns the
    integers as float64. Not ``rounded``: neither to int8 nor to 16 bits, in float64 or the device flow's float32.
    """
    if scale is None:
        if offset is not None:
            raise GoldenError(names[1], f"means nothing without {names[0]}")
        return numbers if rounded else conversions.unrounded(numbers)
    factors = quantisation.per_output_channel(scale, *sizes, names[0])
    shifts = None if offset is None else quantisation.per_output_channel(offset, *sizes, names[1])

    def finish(result: Array, by_head: Array, seen: Array) -> Array:
        with np.errstate(invalid="ignore", over="ignore"):  # any scale and offset give an int8
            values = by_head * factors.astype(by_head.dtype)
            if shifts is not None:
                values = values + shifts.astype(by_head.dtype)
        if rounded:
            values = quantisation.to_int8(values) if exact else quantisation.to_int8_through_half(values)
        by_head[...] = np.where(seen[..., None], values, 0)
        return result.astype(np.int8) if rounded and not exact else result

    return dataclasses.replace(numbers, finish=finish)
