# SPDX-License-Identifier: Apache-2.0
"""What a comparison found, as text and as plain data."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Position:
    """One element."""

    index: tuple[int, ...]
    actual: float
    expected: float
    peer: float
    error: float  # infinite where one of actual and expected is finite and the other is not


@dataclass(frozen=True)
class TensorReport:
    """One tensor against the exact result and the plain peer. Errors are absolute, over elements whose exact value and
    actual value are finite."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    passed: bool
    reasons: tuple[str, ...]  # why it failed; empty when it passed
    max_error: float
    rms_error: float
    peer_max_error: float
    peer_rms_error: float
    max_term: float
    rms_term: float
    max_limit: float
    rms_limit: float
    term: str
    elements: int
    mismatches: int  # elements off by more than max_limit, or finite where they should not be, or the reverse
    not_finite: int  # not finite where the exact value is
    wrong_special: int  # exact value infinite or NaN, actual value something else
    not_zero: int  # elements that must be exactly zero and are not
    peer_not_finite: int  # elements where the peer is of no use; they count as no error of the peer
    cosine: float
    mismatch_region: tuple[tuple[int, int], ...]  # first and last index along each axis, where there are mismatches
    worst: tuple[Position, ...]

    @property
    def max_ratio(self) -> float:
        return _ratio(self.max_error, self.peer_max_error)

    @property
    def rms_ratio(self) -> float:
        return _ratio(self.rms_error, self.peer_rms_error)

    @property
    def mismatch_share(self) -> float:
        return self.mismatches / self.elements if self.elements else 0.0

    @property
    def verdict(self) -> str:
        return "pass" if self.passed else "fail"

    @property
    def reason(self) -> str:
        if self.reasons:
            return f"{self.name}: " + "; ".join(self.reasons)
        if not self.elements:
            return f"{self.name}: empty"
        return (
            f"{self.name}: maximum error {self.max_error:.3g} within {self.max_limit:.3g}, "
            f"RMS error {self.rms_error:.3g} within {self.rms_limit:.3g}"
        )

    def to_dict(self) -> dict[str, Any]:
        result = asdict(self)
        result.update(
            verdict=self.verdict,
            reason=self.reason,
            max_ratio=self.max_ratio,
            rms_ratio=self.rms_ratio,
            mismatch_share=self.mismatch_share,
        )
        return result

    def table(self) -> str:
        lines = [
            f"{self.name}  {self.dtype} {'x'.join(str(n) for n in self.shape)}  {self.verdict.upper()}",
            f"  {'':<22}{'maximum':>12}{'RMS':>12}",
            f"  {'error':<22}{self.max_error:>12.3e}{self.rms_error:>12.3e}",
            f"  {'plain peer':<22}{self.peer_max_error:>12.3e}{self.peer_rms_error:>12.3e}",
            f"  {'ratio':<22}{self.max_ratio:>12.2f}{self.rms_ratio:>12.2f}",
            f"  {self.term:<22}{self.max_term:>12.3e}{self.rms_term:>12.3e}",
            f"  {'limit':<22}{self.max_limit:>12.3e}{self.rms_limit:>12.3e}",
            f"  {'mismatches':<22}{self.mismatches:>12} of {self.elements} ({100 * self.mismatch_share:.3g} %)",
            f"  {'cosine':<22}{self.cosine:>12.8f}",
        ]
        if self.mismatches:
            region = ", ".join(str(a) if a == b else f"{a}..{b}" for a, b in self.mismatch_region)
            lines.append(f"  {'mismatches within':<22}[{region}]")
        if self.worst:
            lines.append(f"  {'worst at':<22}{'actual':>14}{'exact':>14}{'peer':>14}{'error':>12}")
        for at in self.worst:
            index = "[" + ", ".join(str(i) for i in at.index) + "]"
            lines.append(f"  {index:<22}{at.actual:>14.6g}{at.expected:>14.6g}{at.peer:>14.6g}{at.error:>12.3e}")
        lines.append(f"  {self.reason}")
        return "\n".join(lines)


@dataclass(frozen=True)
class CallReport:
    """All results of one call."""

    operator: str
    tensors: tuple[TensorReport, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def passed(self) -> bool:
        return all(tensor.passed for tensor in self.tensors)

    @property
    def verdict(self) -> str:
        return "pass" if self.passed else "fail"

    @property
    def reason(self) -> str:
        chosen = [tensor for tensor in self.tensors if tensor.passed == self.passed]
        return "; ".join(tensor.reason for tensor in chosen)

    def __getitem__(self, name: str) -> TensorReport:
        for tensor in self.tensors:
            if tensor.name == name:
                return tensor
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        return {
            "operator": self.operator,
            "verdict": self.verdict,
            "passed": self.passed,
            "reason": self.reason,
            "notes": list(self.notes),
            "tensors": {tensor.name: tensor.to_dict() for tensor in self.tensors},
        }

    def table(self) -> str:
        head = f"{self.operator}: {self.verdict.upper()}"
        return "\n".join([head, *self.notes, *(tensor.table() for tensor in self.tensors)])


def _ratio(error: float, peer: float) -> float:
    if peer > 0:
        return error / peer
    return 1.0 if error == 0 else float("inf")
