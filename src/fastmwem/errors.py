"""The errors a user can meet, and the argument checks that raise them.

Every message is one sentence that names the argument and the fix. No message ever holds a private
value: it may quote what is public (names, shapes, declared ranges, options), never a cell, an answer,
a right-hand side or a statistic of them.
"""

from __future__ import annotations

import math
from typing import Any

__all__ = [
    "BoundLooksPrivate",
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
    "warn_if_read_off",
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


class BoundLooksPrivate(UserWarning):
    """A bound that should be public has so many digits that it may have been read off the data."""


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or (not isinstance(value, (int, float)) and not hasattr(value, "__float__")):
        raise InvalidArgument(f"{name} must be a number, not {type(value).__name__}.")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name} must be a number, not {type(value).__name__}.") from None
    except OverflowError:
        raise InvalidArgument(f"{name} is too large for a number.") from None


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
    """Bytes that this process may still allocate: the least that the machine, a container and `ulimit` leave.

    None where none of them says.
    """
    left = [found for found in (_machine(), _container(), _address_space()) if found is not None]
    return min(left, default=None)


def _machine() -> float | None:
    """What can be allocated without swapping."""
    kilobytes = _reading("/proc/meminfo", "MemAvailable:")
    return None if kilobytes is None else 1024.0 * kilobytes


def _container() -> float | None:
    """What a control group leaves, version 2 or 1; pages of files do not count, they are given up first."""
    for folder, limit, used, files in (
        ("/sys/fs/cgroup", "memory.max", "memory.current", "file"),
        ("/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache"),
    ):
        most, now = (_reading(f"{folder}/{name}") for name in (limit, used))
        if most is not None and now is not None:
            return max(0.0, most - now + (_reading(f"{folder}/memory.stat", files) or 0.0))
    return None


def _address_space() -> float | None:
    """What `ulimit -v` leaves."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    kilobytes = _reading("/proc/self/status", "VmSize:")
    if limit == resource.RLIM_INFINITY or kilobytes is None:
        return None
    return max(0.0, limit - 1024.0 * kilobytes)


def _reading(path: str, name: str | None = None) -> float | None:
    """The number that a file of the system gives for `name`, or opens with; None if there is none."""
    try:
        with open(path) as lines:
            words = next(line.split() for line in lines if name is None or line.split()[:1] == [name])
        return float(words[name is not None])
    except (OSError, StopIteration, ValueError, IndexError):
        return None


def warn_if_read_off(name: str, values: Any, digits: int = 6) -> None:
    """Warn if one of `values`, declared as public, has more than `digits` significant digits.

    A bound that equals the private maximum is a release of its own, but a check that compared the two would
    tell what it saw. So the bound itself is looked at, and nothing else: people declare round numbers.
    """
    import warnings

    import numpy as np

    for value in np.unique(np.asarray(values, np.float64)).tolist():
        rounded = float(f"{value:.{digits}g}")
        if rounded != value:
            warnings.warn(
                f"{name} = {value:.12g} looks as if it had been read off the private rows: declare a round "
                "number without looking at them.",
                BoundLooksPrivate,
                stacklevel=4,
            )
            return


def _fix(fix: str) -> str:
    return f": {fix}" if fix else ""
