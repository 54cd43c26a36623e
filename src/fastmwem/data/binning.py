"""Declared columns as ibis expressions: raw values -> cells, computed where the rows are.

Every expression is total: no value of any kind makes an engine raise (an error on a private row is itself
a leak), and every engine gives the same cell. Hence text is only cast where a pattern has vouched for it,
calendar dates are taken apart by arithmetic rather than parsed, and NaN is compared with nothing. The cell of
a row depends on that row alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fastmwem.data.cells import Calendar, Categorical, Integer, Numeric, Scalar
from fastmwem.data.domain import Column

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["cells_of"]

_NUMBER = r"^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,2})?$"
_LONGEST_NUMBER = 200  # digits; with at most two in the exponent, no float64 overflows or underflows
_DATE = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
_TIME = r"([T ]([01][0-9]|2[0-3])(:.*)?)?$"


def cells_of(rows: ir.Table, columns: Sequence[Column], keep: dict[str, Any]) -> ir.Table:
    """A table with the cell of each row in each column as c0, c1, ..., never null, and the columns `keep`.

    In SQL terms: COALESCE(its cell, CASE WHEN missing THEN null_cell ELSE other_cell END); a missing value
    is in none of the declared cells, so its own cell comes out as null.

    In three nested SELECTs (clean the raw value, read it, place it), because an engine computes an expression
    as often as it is written, and each of these uses the one before several times.
    """
    each = list(enumerate(columns))
    kept = list(keep)
    clean = {f"c{i}": _clean(column, rows[column.name]) for i, column in each}
    missing = {
        f"m{i}": _is_missing(column, rows[column.name])
        for i, column in each
        if column.null_cell != column.other_cell
    }
    rows = rows.select(**clean, **missing, **keep)
    rows = rows.select(*missing, *kept, **{f"c{i}": _read(column, rows[f"c{i}"]) for i, column in each})
    return rows.select(*kept, **{f"c{i}": _place(column, rows, i) for i, column in each})


def _clean(column: Column, value: Any) -> Any:
    """`value`, less what a number or a date cannot be read from."""
    import ibis

    kind = value.type()
    if isinstance(column.partition, Categorical):
        return value
    if kind.is_floating():  # no engine may order NaN or round it
        return ibis.ifelse(value.isnan(), ibis.null(kind), value)
    if not kind.is_string():
        return value
    if isinstance(column.partition, Calendar):
        return _sound(value, _DATE + _TIME)
    return _sound(value, _NUMBER, _LONGEST_NUMBER)


def _read(column: Column, value: Any) -> Any:
    """What the partition counts by, null where there is none: a position, a number, a calendar unit."""
    match column.partition:
        case Categorical(values=values):
            return _category(values, value)
        case Calendar() as cells:
            return _unit(cells, value)
    return _number(value)


def _place(column: Column, rows: ir.Table, i: int) -> Any:
    """The cell."""
    import ibis

    value = rows[f"c{i}"]
    match column.partition:
        case Categorical():
            placed = value
        case Integer() as cells:
            placed = _whole(column, cells, value)
        case Numeric() as cells:
            placed = _bin(column, cells, value)
        case Calendar() as cells:
            placed = _within(column, value, cells.first, cells.first + cells.size - 1) - cells.first
    lost: Any = ibis.literal(column.other_cell)
    if column.null_cell != column.other_cell:
        lost = ibis.ifelse(rows[f"m{i}"], column.null_cell, column.other_cell)
    return placed.fill_null(lost).cast("int32")


def _is_missing(column: Column, value: Any) -> Any:
    """Null, NaN, or empty text (unless the empty text is a declared category)."""
    kind = value.type()
    if kind.is_string():
        cells = column.partition
        declares_empty = isinstance(cells, Categorical) and "" in cells.labels
        return value.isnull() if declares_empty else value.isnull() | (value.strip() == "")
    if kind.is_floating():
        return value.isnull() | value.isnan()
    return value.isnull()


def _number(value: Any) -> Any:
    """A clean `value` as a number, null where it is none."""
    import ibis

    kind = value.type()
    if kind.is_string():
        return value.cast("float64")
    if kind.is_boolean():
        return value.cast("int8")
    if kind.is_integer():
        return value
    return value.cast("float64") if kind.is_floating() or kind.is_decimal() else ibis.null("float64")


def _sound(value: Any, pattern: str, longest: int = 64) -> Any:
    """The text, null where it does not match: what is left is safe to cast."""
    import ibis

    text = value.strip()
    return ibis.ifelse(text.re_search(pattern) & (text.length() <= longest), text, ibis.null("string"))


def _category(values: tuple[Scalar, ...], value: Any) -> Any:
    """The position of `value` in `values`, null if it is not there."""
    import ibis

    branches = [(test, i) for i, v in enumerate(values) if (test := _is(value, v)) is not None]
    if value.type().is_string():  # most text has no spaces around it: found before any is looked for
        plain = [(value == v.strip(), i) for i, v in enumerate(values) if isinstance(v, str)]
        branches = plain + branches
    return ibis.cases(*branches, else_=ibis.null("int32")) if branches else ibis.null("int32")


def _is(value: Any, declared: Scalar) -> Any:
    """Whether `value` is the category `declared`; None if a column of this type cannot hold it.

    Across types, numbers are compared as numbers (3, 3.0 and the text "3" are the category 3), true and
    false as those words or as 1 and 0, everything else as text.
    """
    kind, label = value.type(), str(declared).strip()
    if kind.is_string():
        if isinstance(declared, bool):
            return value.strip().lower() == label.lower()
        if isinstance(declared, str):
            return value.strip() == label
        return _number(_sound(value, _NUMBER, _LONGEST_NUMBER)) == declared
    if kind.is_boolean():
        truth = {"true": True, "false": False, "1": True, "0": False}.get(label.lower())
        return None if truth is None else value == truth
    if kind.is_numeric():
        try:
            return _number(value) == (float(label) if isinstance(declared, str) else declared + 0)
        except ValueError:
            return None
    return value.cast("string") == label


def _whole(column: Column, cells: Integer, x: Any) -> Any:
    # Clipped before it is rounded down or cast: an engine's integers end where a float64 does not.
    inside = _within(column, x, cells.low, cells.high, beyond=x >= cells.high + 1)
    small = max(abs(cells.low), abs(cells.high)) < 1 << 30  # then so are the differences
    inside = (inside if x.type().is_integer() else inside.floor()).cast("int32" if small else "int64")
    inside = inside - cells.low if cells.low else inside
    return inside if cells.width == 1 else (inside / cells.width).floor()


def _bin(column: Column, cells: Numeric, x: Any) -> Any:
    """The number of inner edges at or below x, by bisection: a tree of comparisons, so exact everywhere.

    What lies outside falls into the end bins by itself; null, the only other value, is sorted out first.
    """
    import ibis

    edges = cells.edges
    lost = x.isnull()
    if column.other == "category":
        lost = lost | (x < edges[0]) | (x > edges[-1])

    def between(low: int, high: int) -> Any:
        if high - low == 1:
            return ibis.literal(low, "int32")
        middle = (low + high) // 2
        return ibis.ifelse(x < edges[middle], between(low, middle), between(middle, high))

    return ibis.ifelse(lost, ibis.null("int32"), between(0, len(edges) - 1))


def _unit(cells: Calendar, value: Any) -> Any:
    """The calendar unit of a clean `value`, by the arithmetic of `cells.ordinal`."""
    import ibis

    kind = value.type()
    if kind.is_string():
        year, month, day = (value.substr(a, n).cast("int64") for a, n in ((0, 4), (5, 2), (8, 2)))
        clock = ibis.ifelse(value.length() >= 13, value.substr(11, 2), ibis.literal("0"))
        hour = ibis.ifelse(value.isnull(), ibis.null("string"), clock).cast("int64")
    elif kind.is_date() or kind.is_timestamp():
        year, month, day = (part.cast("int64") for part in (value.year(), value.month(), value.day()))
        hour = value.hour().cast("int64") if kind.is_timestamp() else ibis.literal(0, "int64")
    else:
        return ibis.null("int64")
    return _ordinal(cells.unit, year, month, day, hour)


def _ordinal(unit: str, year: Any, month: Any, day: Any, hour: Any) -> Any:
    import ibis

    def whole(x: Any) -> Any:
        return x.floor().cast("int64")

    if unit in ("month", "quarter", "year"):
        months = year * 12 + month - 1
        return whole(months / {"month": 1, "quarter": 3, "year": 12}[unit])
    # Days since 1970-01-01; the year begins in March, so that the leap day comes last.
    late = month > 2
    y = year - ibis.ifelse(late, 0, 1)
    m = month + ibis.ifelse(late, -3, 9)
    leaps = whole(y / 4) - whole(y / 100) + whole(y / 400)
    days = y * 365 + leaps + whole((m * 153 + 2) / 5) + day - 719469
    if unit == "hour":
        return days * 24 + hour
    return days if unit == "day" else whole((days + 3) / 7)


def _within(column: Column, x: Any, low: float, high: float, beyond: Any = None) -> Any:
    """x in [low, high]: clipped, or null outside if the column has a cell for that. Null stays null."""
    import ibis

    below, above = (low, high) if column.other == "clip" else (ibis.null(x.type()),) * 2
    return ibis.cases((x < low, below), (x > high if beyond is None else beyond, above), else_=x)
