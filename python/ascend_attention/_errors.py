# SPDX-License-Identifier: Apache-2.0
"""What the package raises when it refuses a call. One text, made once in op_host, whatever the way in."""

from __future__ import annotations

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
        rule: the rule's id in the constraint catalogue, for example "FIA-C30"; empty when there is none.
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


def from_status(
    text: str, code: int, operator: str, argument: str, rule: str, given: str, allowed: str, help: str
) -> AttentionError:
    """The exception for a Status of op_host. Called by the compiled module."""
    kind = AttentionNotSupported if code == NOT_SUPPORTED else AttentionError
    return kind(
        text, code=code, operator=operator, argument=argument, rule=rule, given=given, allowed=allowed, help=help
    )
