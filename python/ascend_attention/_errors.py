# SPDX-License-Identifier: Apache-2.0
"""What the package raises when it refuses a call. One text, made once in op_host, whatever the way in."""

from __future__ import annotations

from collections.abc import Container

MISSING_TENSOR = 161001
INVALID_PARAMETER = 161002
NOT_SUPPORTED = 561003


class AttentionError(ValueError):
    """A call was refused; nothing has been computed or written.

    Attributes:
        code: 161001 a required tensor is missing, 161002 a parameter breaks a documented rule, 561003 legal but not
            built yet (AttentionNotSupported), 561002 a defect of this package.
        operator: the operator's name.
        argument: the argument at fault, as the operator's document spells it.
        rule: the rule's id in docs/constraints.md, for example "FIA-C30"; a word such as "SOC" for what this
            package wants of its own (docs/checks.md).
        given: what the caller gave.
        allowed: what is allowed.
        help: what to do about it; may be empty.
    """

    def __init__(
        self,
        text: str,
        *,
        code: int = INVALID_PARAMETER,
        operator: str = "",
        argument: str = "",
        rule: str = "",
        given: str = "",
        allowed: str = "",
        help: str = "",
    ) -> None:
        super().__init__(text)
        self.code = code
        self.operator = operator
        self.argument = argument
        self.rule = rule
        self.given = given
        self.allowed = allowed
        self.help = help

    def __reduce__(self) -> tuple[object, ...]:
        # Keyword-only attributes do not survive the default; errors cross process borders in test runners and pools.
        fields = (self.code, self.operator, self.argument, self.rule, self.given, self.allowed, self.help)
        return from_status, (str(self), *fields)


class AttentionNotSupported(AttentionError):
    """The operator's document allows the call, this package cannot do it yet (code 561003)."""


def by_name(error: Exception, operator: str, name: str, defaults: Container[str]) -> Exception:
    """What a call of ``operator`` by another name raises; ``defaults``: arguments that the caller left out."""
    text = str(error).replace(f"{operator}: ", f"{name}: ", 1)
    if not isinstance(error, AttentionError):
        return type(error)(text)
    given, allowed = error.given, error.allowed
    if error.argument in defaults:
        given += " (default)"
    if "q_input_layout" in defaults:  # the one default that refusals of other arguments name
        allowed = allowed.replace("input layout TND", "input layout TND (default)")
    text = text.replace(f"given {error.given}; allowed: {error.allowed}", f"given {given}; allowed: {allowed}", 1)
    return from_status(text, error.code, name, error.argument, error.rule, given, allowed, error.help)


def from_status(
    text: str, code: int, operator: str, argument: str, rule: str, given: str, allowed: str, help: str
) -> AttentionError:
    """The exception for a Status of op_host. Called by the compiled module."""
    kind = AttentionNotSupported if code == NOT_SUPPORTED else AttentionError
    return kind(
        text, code=code, operator=operator, argument=argument, rule=rule, given=given, allowed=allowed, help=help
    )
