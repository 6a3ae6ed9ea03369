# SPDX-License-Identifier: Apache-2.0
"""How much error is allowed.

    maximum error <= 2 x the plain peer's maximum error + the dtype's absolute term
    RMS error     <= 2 x the plain peer's RMS error     + the dtype's absolute term

The plain peer makes the rule fit the data: long rows, cancellation and large scores cost it as much as they cost the
kernel. The absolute term is for the cases where the peer is lucky, say because the result happens to be representable.
docs/precision.md has the reasoning; nothing here was fitted to what a kernel achieves.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

PEER_RATIO = 2.0


# int8 results saturate. Values beyond the last ties, where everything rounds to the end, count as these.
INT8_RANGE = (-128.0, 127.0)
INT8_LAST_TIES = (-127.5, 126.5)


@dataclass(frozen=True)
class Policy:
    """The absolute term of one dtype: what a correct result may be off by while the peer is off by nothing."""

    dtype: str  # of the result, "of" that of the query where it matters
    term: str  # its name, in reports and in docs/precision.md
    precision: int  # significant bits
    smallest_exponent: int  # of normal numbers
    roundings: float  # half-ulp roundings a correct kernel may have had more than the peer
    scale_floor: float  # sizes below this count as this

    def ulp(self, size: float) -> float:
        """Distance of the dtype's neighbouring values at this size."""
        exponent = math.frexp(size)[1] - 1 if size > 0 else self.smallest_exponent
        return math.ldexp(1.0, max(exponent, self.smallest_exponent) - self.precision + 1)

    def maximum_term(self, size: float) -> float:
        """At the largest exact value: each rounding is off by half an ulp at most, all in one direction at worst."""
        return self.roundings * 0.5 * self.ulp(max(size, self.scale_floor))

    def rms_term(self, size: float, elements: int) -> float:
        """At the exact values' RMS: a rounding is off by ulp/sqrt(12) RMS, and independent ones add as squares. One of
        the elements may be off by as much as one can be: the RMS of a single element is its error."""
        usual = self.roundings / 12.0
        most = (self.roundings * 0.5) ** 2
        return self.ulp(max(size, self.scale_floor)) * math.sqrt(usual + (most - usual) / max(elements, 1))


# 16-bit results: the kernel rounds twice, the probabilities and the result; the peer may have been lucky both times.
# int8 results: the same two roundings, of the probabilities and on the way to int8, which leads through float16. With a
# bfloat16 query the first is eight times as coarse as the second.
# float32 (softmax_lse): eight roundings, of maximum, exponentials, their sum over tiles, its rescaling, logarithm and
# final sum. The logarithm's error does not shrink when maximum and logarithm cancel, hence the floor of one.
POLICIES = {
    "float16": Policy("float16", "f16-two-roundings", 11, -14, 2, 0.0),
    "bfloat16": Policy("bfloat16", "bf16-two-roundings", 8, -126, 2, 0.0),
    "int8": Policy("int8", "i8-two-f16-roundings", 11, -14, 2, 0.0),
    "int8 of bfloat16": Policy("int8 of bfloat16", "i8-bf16-and-f16-rounding", 8, -126, 1 + 1 / 8, 0.0),
    "float32": Policy("float32", "f32-eight-roundings", 24, -126, 8, 1.0),
}
