# SPDX-License-Identifier: Apache-2.0
"""From the parts of a call to its result: what the operators share after each has read its own arguments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ascend_attention.golden import attention
from ascend_attention.golden.bias import Bias
from ascend_attention.golden.cache import Floats, Source
from ascend_attention.golden.conversions import Conversions
from ascend_attention.golden.errors import GoldenError
from ascend_attention.golden.layouts import Span, filled
from ascend_attention.golden.numbers import Array, Format
from ascend_attention.golden.visibility import BlockMap, Visibility


@dataclass(frozen=True)
class Rope:
    """Channels of query and key that stand in tensors of their own."""

    query: Array  # (B, N, S, D)
    keys: Source
    query_number: Format
    key_number: Format


@dataclass(frozen=True)
class Call:
    query: Array  # (B, N, S, D), as stored
    spans: list[Span]  # the rows of each sequence in it
    keys: Source
    values: Source
    sees: list[Visibility] | list[BlockMap]
    scale: float
    output_axes: str
    lse_axes: str
    rope: Rope | None = None
    bias: list[Bias | None] | None = None
    sink: Array | None = None

    def terms(self, b: int, numbers: Conversions) -> tuple[attention.Term, ...]:
        """query keyᵀ, and query_rope key_ropeᵀ where there is rope."""
        query = numbers.query(np.ascontiguousarray(self.spans[b].of(self.query)), b)
        first = attention.Term(query, Floats(self.keys.rows[b], numbers.key(b)), numbers.rescale(b))
        if self.rope is None:
            return (first,)
        rope = self.rope
        query = rope.query_number.decode(np.ascontiguousarray(self.spans[b].of(rope.query)))
        keys = Floats(rope.keys.rows[b], lambda stored, head, first: rope.key_number.decode(stored))
        return first, attention.Term(query, keys)


def compute(call: Call, numbers: Conversions) -> tuple[Array, Array]:
    """(attention_out, softmax_lse). Rows of no sequence, like rows that see no key, are zeros and +inf."""
    for query, keys in [(call.query, call.keys)] + ([(call.rope.query, call.rope.keys)] if call.rope else []):
        if query.shape[3] != keys.dim:
            raise GoldenError(keys.argument, f"its head dim is {keys.dim}, that of query {query.shape[3]}")
    batch, heads, length, _ = call.query.shape
    sizes = {"B": batch, "N": heads, "S": length, "D": call.values.dim}
    result, output = filled(0, sizes, call.output_axes, numbers.flow.work)
    all_lse, lse = filled(np.inf, sizes, call.lse_axes, numbers.flow.work)
    for b, span in enumerate(call.spans):
        sequence = attention.Sequence(
            terms=call.terms(b, numbers),
            values=Floats(call.values.rows[b], numbers.value(b)),
            sees=call.sees[b],
            output=span.of(output),
            lse=span.of(lse),
            bias=call.bias[b] if call.bias else None,
            sink=call.sink,
        )
        attention.attend(sequence, call.scale, numbers.flow)
    return numbers.finish(result, output, ~np.isposinf(lse)), all_lse[..., None]
