# SPDX-License-Identifier: Apache-2.0
"""The rule of docs/precision.md, applied to one tensor."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from ascend_attention.precision.arrays import Array, as_float64, as_numpy, dtype_name
from ascend_attention.precision.policy import INT8_LAST_TIES, INT8_RANGE, PEER_RATIO, POLICIES, Policy
from ascend_attention.precision.report import Position, TensorReport


def compare(
    actual: Any,
    expected_exact: Any,
    peer: Any,
    *,
    name: str = "attention_out",
    dtype: str | None = None,
    must_be_zero: Any = None,
    worst: int = 5,
) -> TensorReport:
    """Judges ``actual`` by its error against the exact result and by the plain peer's error.

    actual          NumPy array or torch tensor: float16, bfloat16 (ml_dtypes, torch, or uint16 bits), float32 or int8
    expected_exact  float64, the same shape (golden model, dtype_flow="exact")
    peer            the same shape (golden model, dtype_flow="device")
    dtype           whose absolute term to use; that of ``actual`` unless given; "int8 of bfloat16" where query is that
    must_be_zero    bool, broadcastable to the shape: elements that have to be exactly zero
    worst           how many of the worst elements to list

    int8 is judged before rounding: both references have to come with round_output=False, in steps of the result. The
    error of an integer is the distance of the exact value from the values that round to this integer.
    """
    given, exact_given, peer_given = _alike(name, actual, expected_exact, peer)
    dtype = dtype or dtype_name(given)
    if dtype not in POLICIES:
        raise ValueError(f"precision.compare: {name}: dtype {dtype} has no policy, only {', '.join(POLICIES)}")
    policy = POLICIES[dtype]
    if exact_given.dtype != np.float64:
        raise ValueError(
            f"precision.compare: {name}: expected_exact is {dtype_name(exact_given)}, not float64: "
            'its own rounding would count; the golden model gives it with dtype_flow="exact", the default'
        )
    real, exact, plain = as_float64(given), as_float64(exact_given), as_float64(peer_given)
    zero = np.zeros(exact.shape, bool)
    if must_be_zero is not None:
        zero = np.broadcast_to(np.asarray(as_numpy(must_be_zero), bool), exact.shape) & (real != 0)

    finite = np.isfinite(exact)
    judged = finite & np.isfinite(real)
    if dtype_name(given) == "int8":
        if dtype_name(peer_given) == "int8":
            raise ValueError(
                f"precision.compare: {name}: int8 results are judged by references before rounding, peer is int8: "
                "the golden model leaves the rounding out with round_output=False"
            )
        error = _error(_before_rounding(real, exact), exact, judged)
        shown = np.where(finite, np.clip(exact, *INT8_LAST_TIES), exact)
        limits = _limits(shown, np.clip(plain, *INT8_LAST_TIES), policy)
    else:
        error = _error(real, exact, judged)
        limits = _limits(exact, plain, policy)
    max_error, rms_error = _maximum(error[judged]), _rms(error[judged])
    not_finite = int(np.count_nonzero(finite & ~np.isfinite(real)))
    wrong_special = int(np.count_nonzero(~finite & np.isinf(error)))
    not_zero = int(np.count_nonzero(zero))
    mismatch = (error > limits.max_limit) | zero
    reasons = _reasons(limits, max_error, rms_error, not_finite, wrong_special, not_zero)
    return TensorReport(
        name=name,
        dtype=dtype,
        shape=tuple(given.shape),
        passed=not reasons,
        reasons=reasons,
        max_error=max_error,
        rms_error=rms_error,
        **dataclasses.asdict(limits),
        elements=int(exact.size),
        mismatches=int(np.count_nonzero(mismatch)),
        not_finite=not_finite,
        wrong_special=wrong_special,
        not_zero=not_zero,
        peer_not_finite=int(np.count_nonzero(finite & ~np.isfinite(plain))),
        cosine=_cosine(real[judged], exact[judged]),
        mismatch_region=_region(mismatch),
        worst=_worst(real, exact, plain, error, worst),
    )


def _before_rounding(integers: Array, exact: Array) -> Array:
    """The values nearest to the exact ones that round to these integers, saturating. Not a number becomes 0."""
    lowest, highest = INT8_RANGE
    low = np.where(integers == lowest, -np.inf, integers - 0.5)
    high = np.where(integers == highest, np.inf, integers + 0.5)
    ends = np.isin(integers, (0, *INT8_RANGE))  # what becomes of a value that is not finite
    return np.where(np.isnan(exact), np.where(ends, np.nan, integers), np.clip(exact, low, high))


def _alike(name: str, actual: Any, exact: Any, peer: Any) -> tuple[Array, Array, Array]:
    a, e, p = (np.asarray(as_numpy(x)) for x in (actual, exact, peer))
    if a.shape != e.shape or a.shape != p.shape:
        raise ValueError(f"precision.compare: {name}: shapes differ: actual {a.shape}, exact {e.shape}, peer {p.shape}")
    return a, e, p


@dataclass(frozen=True)
class _Limits:
    """What errors are allowed, and of what: PEER_RATIO times the plain peer's plus the policy's term."""

    peer_max_error: float
    peer_rms_error: float
    max_term: float
    rms_term: float
    max_limit: float
    rms_limit: float
    term: str


def _limits(exact: Array, plain: Array, policy: Policy) -> _Limits:
    finite = np.isfinite(exact)
    judged = finite & np.isfinite(plain)
    error = np.abs(plain[judged] - exact[judged])
    # The plain peer of a row without keys is exact. Such rows dilute all RMS values alike.
    peer_max, peer_rms = _maximum(error), _rms(error)
    max_term = policy.maximum_term(_maximum(np.abs(exact[finite])))
    rms_term = policy.rms_term(_rms(exact[finite]), int(np.count_nonzero(finite)))
    return _Limits(
        peer_max_error=peer_max,
        peer_rms_error=peer_rms,
        max_term=max_term,
        rms_term=rms_term,
        max_limit=PEER_RATIO * peer_max + max_term,
        rms_limit=PEER_RATIO * peer_rms + rms_term,
        term=policy.term,
    )


def _reasons(
    limits: _Limits, max_error: float, rms_error: float, not_finite: int, wrong_special: int, not_zero: int
) -> tuple[str, ...]:
    """Why the tensor fails; empty when it passes."""
    reasons = []
    if not_finite:
        reasons.append(f"{not_finite} elements are not finite where the exact result is")
    if wrong_special:
        reasons.append(f"{wrong_special} elements differ where the exact result is infinite or not a number")
    if not_zero:
        reasons.append(f"{not_zero} elements of rows without visible keys are not zero")
    for label, value, limit, plain_error, term in (
        ("maximum", max_error, limits.max_limit, limits.peer_max_error, limits.max_term),
        ("RMS", rms_error, limits.rms_limit, limits.peer_rms_error, limits.rms_term),
    ):
        if value > limit:
            reasons.append(
                f"{label} error {value:.3g} exceeds {limit:.3g} = {PEER_RATIO:g} x {plain_error:.3g} (plain peer) "
                f"+ {term:.3g} ({limits.term})"
            )
    return tuple(reasons)


def _error(real: Array, exact: Array, judged: Array) -> Array:
    """Absolute error; infinite where only one of the two is finite or an infinity is the wrong one.

    Where the exact result is not a number, anything that is not finite will do.
    """
    error = np.full(exact.shape, np.inf)
    error[judged] = np.abs(real[judged] - exact[judged])
    same = (real == exact) | (np.isnan(exact) & ~np.isfinite(real))
    error[same] = 0.0
    return error


def _maximum(values: Array) -> float:
    return float(values.max()) if values.size else 0.0


def _rms(values: Array) -> float:
    if not values.size:
        return 0.0
    largest = float(np.abs(values).max())
    # Scaled, because the squares of subnormal bfloat16 errors and of large values leave float64's range.
    return largest * float(np.sqrt(np.mean(np.square(values / largest)))) if largest > 0 else 0.0


def _cosine(a: Array, b: Array) -> float:
    size_a, size_b = _rms(a), _rms(b)
    if size_a == 0 or size_b == 0:
        return 1.0 if size_a == size_b else 0.0
    return float(np.mean((a / size_a) * (b / size_b)))


def _region(mismatch: Array) -> tuple[tuple[int, int], ...]:
    where = np.nonzero(mismatch)
    if not where or not where[0].size:
        return ()
    return tuple((int(axis.min()), int(axis.max())) for axis in where)


def _worst(real: Array, exact: Array, plain: Array, error: Array, count: int) -> tuple[Position, ...]:
    flat = error.ravel()
    count = min(count, flat.size)
    if count <= 0:
        return ()
    chosen = np.argpartition(-flat, count - 1)[:count]
    chosen = chosen[np.argsort(-flat[chosen], kind="stable")]
    positions = []
    for at in chosen:
        if flat[at] == 0:
            break
        index = tuple(int(i) for i in np.unravel_index(at, error.shape))
        positions.append(
            Position(index, float(real[index]), float(exact[index]), float(plain[index]), float(error[index]))
        )
    return tuple(positions)
