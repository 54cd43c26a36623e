"""How a column's raw values fall into cells: the four kinds of declared partition.

Each kind is a public description, frozen, with `labels` for people and for the names of queries. What it
leaves open (nulls, values outside) is the column's business, see `domain`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import ClassVar

from fastmwem.errors import DomainError

__all__ = ["LARGEST_COLUMN", "UNITS", "Calendar", "Categorical", "Cells", "Integer", "Numeric", "Scalar"]

Scalar = str | int | float | bool

LARGEST_COLUMN = 1 << 20  # cells of one column: each has a label, so a slip must not fill the memory
_LARGEST_WHOLE = 1 << 53  # whole numbers that every engine's float64 holds exactly


@dataclass(frozen=True)
class Categorical:
    """One cell per declared value, in the declared order; text is compared without the spaces around it."""

    type: ClassVar[str] = "categorical"
    ordered: ClassVar[bool] = False
    values: tuple[Scalar, ...]

    def __post_init__(self) -> None:
        if not self.values:
            raise DomainError("values is empty: list the categories that may occur.")
        for value in self.values:
            if not isinstance(value, (str, int, float, bool)):
                raise DomainError("values may hold text, numbers and true/false only.")
            if isinstance(value, float) and not math.isfinite(value):
                raise DomainError("values must be finite: declare null = true for missing numbers.")
        if len(set(self.labels)) < len(self.values):
            raise DomainError("values holds one category twice: remove the repeated one.")
        _check_size(len(self.values), "values")

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return tuple(
            str(value).lower() if isinstance(value, bool) else str(value).strip() for value in self.values
        )


@dataclass(frozen=True)
class Numeric:
    """Bins between `edges`, closed on the left; the last is closed on both sides."""

    type: ClassVar[str] = "numeric"
    ordered: ClassVar[bool] = True
    edges: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.edges) < 2:
            raise DomainError("edges needs at least two numbers, the low end and the high end.")
        if not all(math.isfinite(edge) for edge in self.edges):
            raise DomainError("edges must be finite: values beyond them are clipped to the end bins.")
        if any(a >= b for a, b in zip(self.edges, self.edges[1:], strict=False)):
            raise DomainError("edges must increase from each number to the next.")
        _check_size(len(self.edges) - 1, "bins")

    @classmethod
    def equal(cls, low: float, high: float, bins: int) -> Numeric:
        """`bins` bins of equal width from `low` to `high`."""
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise DomainError("low must be below high, and both finite.")
        if bins < 1:
            raise DomainError("bins must be at least 1.")
        _check_size(bins, "bins")
        inner = [low + (high - low) * k / bins for k in range(1, bins)]
        return cls((float(low), *inner, float(high)))

    @cached_property
    def labels(self) -> tuple[str, ...]:
        text = _shortest(self.edges)
        last = len(text) - 2
        return tuple(f"[{text[i]}, {text[i + 1]}{']' if i == last else ')'}" for i in range(last + 1))


@dataclass(frozen=True)
class Integer:
    """Whole numbers `low` .. `high`, `width` of them to a cell (the last cell may hold fewer)."""

    type: ClassVar[str] = "integer"
    ordered: ClassVar[bool] = True
    low: int
    high: int
    width: int = 1

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise DomainError("low must not be above high.")
        if self.width < 1:
            raise DomainError("width must be at least 1.")
        if max(abs(self.low), abs(self.high)) > _LARGEST_WHOLE:
            raise DomainError(
                "low and high must lie within 2**53: declare the column as categorical instead."
            )
        _check_size(self.size, "low .. high", "give a width, so that several numbers share a cell")

    @property
    def size(self) -> int:
        return (self.high - self.low) // self.width + 1

    def span(self, cell: int) -> tuple[int, int]:
        """The smallest and the largest number of a cell."""
        start = self.low + cell * self.width
        return start, min(start + self.width - 1, self.high)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        spans = (self.span(cell) for cell in range(self.size))
        return tuple(str(a) if a == b else f"{a}..{b}" for a, b in spans)


@dataclass(frozen=True)
class Calendar:
    """Consecutive calendar units from the one that holds `low` to the one that holds `high`.

    Weeks begin on Monday. `ordinal` numbers the units of all time, so that a cell is an ordinal minus
    the first; `data.binning` computes the same number inside the engine.
    """

    ordered: ClassVar[bool] = True
    low: date | datetime
    high: date | datetime
    unit: str

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise DomainError(f"unit must be one of {', '.join(UNITS)}.")
        if isinstance(self.low, datetime) != isinstance(self.high, datetime):
            raise DomainError("low and high must both be dates, or both be dates with a time.")
        if self.unit == "hour" and not isinstance(self.low, datetime):
            raise DomainError('unit = "hour" needs low and high with a time: type = "datetime".')
        if any(isinstance(end, datetime) and end.tzinfo is not None for end in (self.low, self.high)):
            raise DomainError("low and high must carry no time zone: tables are read as UTC.")
        if self.low > self.high:
            raise DomainError("low must not be after high.")
        _check_size(self.size, "low .. high", "choose a coarser unit")

    @property
    def type(self) -> str:
        return "datetime" if isinstance(self.low, datetime) else "date"

    @property
    def first(self) -> int:
        return ordinal(self.low, self.unit)

    @property
    def size(self) -> int:
        return ordinal(self.high, self.unit) - self.first + 1

    def start(self, cell: int) -> datetime:
        """The moment at which a cell begins; `start(cell + 1)` is where it ends."""
        k = self.first + cell
        if self.unit == "hour":
            return _EPOCH + timedelta(hours=k)
        if self.unit in ("day", "week"):
            return _EPOCH + (timedelta(days=k) if self.unit == "day" else timedelta(days=7 * k - 3))
        months = k * _MONTHS[self.unit]
        return datetime(months // 12, months % 12 + 1, 1)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return tuple(_UNIT_LABEL[self.unit](self.start(cell)) for cell in range(self.size))


Cells = Categorical | Numeric | Integer | Calendar

_EPOCH = datetime(1970, 1, 1)
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_UNIT_LABEL = {
    "hour": lambda at: at.strftime("%Y-%m-%d %H:00"),
    "day": lambda at: at.strftime("%Y-%m-%d"),
    "week": lambda at: at.strftime("week of %Y-%m-%d"),
    "month": lambda at: at.strftime("%Y-%m"),
    "quarter": lambda at: f"{at.year}-Q{(at.month + 2) // 3}",
    "year": lambda at: str(at.year),
}
UNITS = tuple(_UNIT_LABEL)


def ordinal(at: date | datetime, unit: str) -> int:
    """The number of the calendar unit that holds `at`: hours and days since 1970, months since year 0."""
    if unit in _MONTHS:
        return (at.year * 12 + at.month - 1) // _MONTHS[unit]
    days = at.toordinal() - _EPOCH.toordinal()
    if unit == "hour":
        return days * 24 + (at.hour if isinstance(at, datetime) else 0)
    return days if unit == "day" else (days + 3) // 7  # 1970-01-01 was a Thursday


def _check_size(size: int, what: str, fix: str = "declare fewer") -> None:
    if size > LARGEST_COLUMN:
        raise DomainError(
            f"{what} makes {size:,} cells, more than the {LARGEST_COLUMN:,} of a column: {fix}."
        )


def _shortest(numbers: tuple[float, ...]) -> list[str]:
    """The numbers with the fewest digits that still tell neighbours apart."""
    for digits in range(3, 18):
        text = [f"{number:.{digits}g}" for number in numbers]
        if len(set(text)) == len(text) and all(
            math.isclose(float(t), x, rel_tol=1e-6, abs_tol=1e-12) for t, x in zip(text, numbers, strict=True)
        ):
            return [
                str(int(x)) if x.is_integer() and abs(x) < 1e15 else t
                for t, x in zip(text, numbers, strict=True)
            ]
    return [repr(number) for number in numbers]
