"""The errors of Tenure: what happened, where, what was expected, a hint."""

from __future__ import annotations

__all__ = [
    "TenureError",
    "UsageError",
    "InputError",
    "BudgetError",
    "PolicyError",
    "ConflictError",
    "UnavailableError",
    "DamagedError",
    "InternalError",
]


class TenureError(Exception):
    """A failure. ``str()`` of it is the whole message, in lines."""

    kind: str
    """``usage``, ``input``, ``budget``, ``policy``, ``conflict``, ``unavailable``, ``damaged`` or ``internal``."""
    what: str
    """The failure, in words."""
    where: str | None
    """The place of it: a field, a file."""
    line: int | None
    """The line there, counted from 1."""
    expected: str | None
    """The input that was expected instead."""
    hint: str | None
    """Advice on what to do."""

    def __init__(
        self,
        message: str,
        *,
        kind: str = "input",
        what: str | None = None,
        where: str | None = None,
        line: int | None = None,
        expected: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.what = message if what is None else what
        self.where = where
        self.line = line
        self.expected = expected
        self.hint = hint


class UsageError(TenureError, TypeError):
    """The call itself is wrong."""


class InputError(TenureError, ValueError):
    """Something that came from outside is malformed, or is not there."""


class BudgetError(TenureError):
    """What must go in does not fit."""


class PolicyError(TenureError, PermissionError):
    """The policy or a permission forbids it."""


class ConflictError(TenureError):
    """Someone else wrote first."""


class UnavailableError(TenureError, ConnectionError):
    """A service that the call needs cannot be reached now; the same call may succeed later."""


class DamagedError(TenureError):
    """Stored data is not as it was written."""


class InternalError(TenureError, RuntimeError):
    """A promise of Tenure did not hold: a bug."""


_KINDS: dict[str, type[TenureError]] = {
    "usage": UsageError,
    "input": InputError,
    "budget": BudgetError,
    "policy": PolicyError,
    "conflict": ConflictError,
    "unavailable": UnavailableError,
    "damaged": DamagedError,
    "internal": InternalError,
}


def made(
    kind: str,
    message: str,
    what: str,
    where: str | None,
    line: int | None,
    expected: str | None,
    hint: str | None,
) -> TenureError:
    """Makes the error of a kind."""
    error = _KINDS.get(kind, InternalError)
    return error(message, kind=kind, what=what, where=where, line=line, expected=expected, hint=hint)
