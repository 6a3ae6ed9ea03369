# SPDX-License-Identifier: Apache-2.0
"""``check`` and ``explain``: a call judged and put into words, without running anything."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ascend_attention import _block_sparse_attention_v2 as bsa_v2
from ascend_attention import _call, _core
from ascend_attention import _fused_infer_attention_score_v2 as fia_v2
from ascend_attention import _prompt_flash_attention as pfa
from ascend_attention._arguments import refuse, shown
from ascend_attention._errors import AttentionError, by_name
from ascend_attention._other_names import unknown_argument, version_1_help


@dataclass(frozen=True)
class Operator:
    """What ``check`` and ``explain`` need to know of an operator."""

    function: Callable[..., Any]  # its signature says which arguments there are
    signature: _call.Signature


OPERATORS = {
    fia_v2.NAME: Operator(fia_v2.npu_fused_infer_attention_score_v2, fia_v2.SIGNATURE),
    pfa.NAME: Operator(pfa.npu_prompt_flash_attention, pfa.SIGNATURE),
    bsa_v2.NAME: Operator(bsa_v2.block_sparse_attention_v2, bsa_v2.SIGNATURE),
    "npu_block_sparse_attention": Operator(bsa_v2.npu_block_sparse_attention, bsa_v2.SIGNATURE),
}


def check(op: str | Callable[..., Any], /, *positional: Any, **arguments: Any) -> None:
    """Says whether a call would be accepted, by raising what the call would raise. Nothing is run or written.

    Looks at dtypes, shapes and lengths only: tensors may hold anything and may be on torch's meta device. Lengths are
    taken in every form that the operator takes.

    Args:
        op: the operator, as its name ("npu_fused_infer_attention_score_v2") or the function itself.
        positional, arguments: those of the call.

    Raises:
        AttentionError: a documented rule is broken (code 161001, 161002), under the contract in force.
        AttentionNotSupported: the document allows the call, this package cannot run it yet (code 561003).
        TypeError: an argument of the wrong Python type, or one that the operator does not have.
    """
    _ask("check", _core.AttentionCall, op, positional, arguments)


def explain(op: str | Callable[..., Any], /, *positional: Any, **arguments: Any) -> str:
    """What a call means, as text: layout, what each row sees, quantisation, results, and the rules it was held to.

    Nothing is run; tensors are looked at as ``check`` does. A call that is legal and not built yet is explained too:
    its last line says so.

    Args:
        op: the operator, as its name ("npu_fused_infer_attention_score_v2") or the function itself.
        positional, arguments: those of the call.

    Raises:
        AttentionError: a documented rule is broken, under the contract in force.
        TypeError: an argument of the wrong Python type, or one that the operator does not have.

        print(ascend_attention.explain("npu_fused_infer_attention_score_v2", query, key, value, num_query_heads=8))
    """
    name, text = _ask("explain", _core.explain_call, op, positional, arguments)
    return f"{name},{text.split(',', 1)[1]}"  # the title begins with the operator's name


def _nearest(name: str) -> str:
    """What was probably meant by a name that is no operator's, as a question to append, or an empty text."""
    near = difflib.get_close_matches(name, OPERATORS, n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _ask(
    caller: str,
    question: Callable[[str, dict[str, Any]], Any],
    op: str | Callable[..., Any],
    positional: tuple[Any, ...],
    arguments: dict[str, Any],
) -> tuple[str, Any]:
    """The name that the operator was called by, and the answer."""
    name = op if isinstance(op, str) else getattr(op, "__name__", "")
    operator = OPERATORS.get(name)
    if operator is None or not (isinstance(op, str) or op is operator.function):
        allowed = ", ".join(OPERATORS) + (version_1_help(name) or _nearest(name))
        refuse(caller, "op", shown(op), allowed, rule="OPERATOR")
    signature = inspect.signature(operator.function)
    try:
        bound = signature.bind(*positional, **arguments)
    except TypeError as error:
        raise TypeError(f"{name}: {unknown_argument(signature.parameters, arguments) or error}") from None
    left_out = signature.parameters.keys() - bound.arguments.keys()
    bound.apply_defaults()
    real_name = operator.signature.name
    try:
        return name, question(real_name, _call.shapes_described(operator.signature, bound.arguments))
    except (AttentionError, TypeError) as error:
        if name == real_name:
            raise
        raise by_name(error, real_name, name, left_out) from None
