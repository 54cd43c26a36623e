"""The errors a user can meet, and the argument checks that raise them.

Every message is one sentence that names the argument and the fix. No message ever holds a private
value: it may quote what is public (names, shapes, declared ranges, options), never a cell, an answer,
a right-hand side or a statistic of them.
"""

from __future__ import annotations

import math
from typing import Any

__all__ = [
    "BoundViolated",
    "BudgetExceeded",
    "DataError",
    "DomainError",
    "FastmwemError",
    "InvalidArgument",
    "LedgerError",
    "MissingDependency",
    "TooLarge",
    "UnsupportedEvent",
    "check_at_least",
    "check_choice",
    "check_memory",
    "check_positive",
    "check_probability",
    "check_whole",
]


class FastmwemError(Exception):
    """Base of every error that fastmwem raises on purpose; `exit_code` is the command line's."""

    exit_code = 1


class InvalidArgument(FastmwemError, ValueError):
    """An argument is outside what it may be; nothing was spent."""

    exit_code = 2


class UnsupportedEvent(InvalidArgument):
    """The ledger holds an event that the accountant has no bound for; it is never guessed."""


class DomainError(InvalidArgument):
    """The declared domain is malformed, or does not fit the workload or the table's columns."""


class DataError(FastmwemError):
    """A table or file cannot be read as what it should be; says nothing of its values."""


class TooLarge(InvalidArgument):
    """What was asked for will not fit in memory; said before allocating."""


class MissingDependency(FastmwemError, ImportError):
    """An optional part is not installed; the message holds the command that installs it."""


class BudgetExceeded(FastmwemError):
    """The privacy budget does not cover what was asked; nothing was spent."""

    exit_code = 3


class LedgerError(FastmwemError):
    """The ledger file is corrupt, locked or not writable; nothing was released."""

    exit_code = 3


class BoundViolated(FastmwemError):
    """A bound that the exactness of a sampler rests on was false; the run stops and releases nothing."""


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or (not isinstance(value, (int, float)) and not hasattr(value, "__float__")):
        raise InvalidArgument(f"{name} must be a number, not {type(value).__name__}.")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name} must be a number, not {type(value).__name__}.") from None


def check_positive(name: str, value: Any, fix: str = "give a finite number above 0") -> float:
    """`value` as a float, if it is finite and > 0.

    >>> check_positive("epsilon", 1)
    1.0
    """
    number = _number(name, value)
    if not math.isfinite(number) or number <= 0:
        raise InvalidArgument(f"{name} must be above 0 and finite, got {number:g}: {fix}.")
    return number


def check_at_least(name: str, value: Any, low: float, fix: str = "") -> float:
    """`value` as a float, if it is finite and >= `low`."""
    number = _number(name, value)
    if not math.isfinite(number) or number < low:
        raise InvalidArgument(f"{name} must be at least {low:g} and finite, got {number:g}{_fix(fix)}.")
    return number


def check_probability(name: str, value: Any, fix: str = "give a number strictly between 0 and 1") -> float:
    """`value` as a float, if it lies strictly between 0 and 1."""
    number = _number(name, value)
    if not 0 < number < 1:
        raise InvalidArgument(f"{name} must lie strictly between 0 and 1, got {number:g}: {fix}.")
    return number


def check_whole(name: str, value: Any, low: int = 1, high: int | None = None, fix: str = "") -> int:
    """`value` as an int, if it is whole and in [low, high]."""
    number = _number(name, value)
    if not math.isfinite(number) or number != int(number):
        raise InvalidArgument(f"{name} must be a whole number, got {number:g}{_fix(fix)}.")
    if number < low or (high is not None and number > high):
        span = f"at least {low}" if high is None else f"between {low} and {high}"
        raise InvalidArgument(f"{name} must be {span}, got {int(number)}{_fix(fix)}.")
    return int(number)


def check_choice(name: str, value: Any, choices: tuple[str, ...] | list[str]) -> str:
    """`value`, if it is one of `choices`; the message suggests the nearest."""
    if value in choices:
        return value
    import difflib

    near = difflib.get_close_matches(str(value), choices, n=1)
    hint = f" (did you mean {near[0]!r}?)" if near else ""
    raise InvalidArgument(f"{name} must be one of {', '.join(choices)}, got {value!r}{hint}.")


def check_memory(what: str, size: float, fix: str) -> None:
    """Refuse, before anything is allocated, what needs more than the memory that is free.

    >>> check_memory("a small table", 1e3, "make it smaller")
    """
    free = _free_memory()
    if free is not None and size > free:
        raise TooLarge(
            f"{what} needs about {size / 1e9:.3g} GB of memory and {free / 1e9:.3g} GB is free: {fix}."
        )


def _free_memory() -> float | None:
    """Bytes that can be allocated without swapping, or None where the system does not say."""
    try:
        with open("/proc/meminfo") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return 1024.0 * int(line.split()[1])
    except OSError:
        pass
    return None


def _fix(fix: str) -> str:
    return f": {fix}" if fix else ""
