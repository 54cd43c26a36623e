"""Values that no declaration foresaw, a domain for them, and where each must go, worked out in Python."""

import math
import re
from bisect import bisect_right
from datetime import date, datetime

from fastmwem.data.cells import Calendar, Categorical, Integer, Numeric, ordinal
from fastmwem.data.domain import Column, Domain

POLICIES = ({}, {"null": True}, {"other": "category"}, {"null": True, "other": "category"})


def domain(policy):
    """One column of every kind under `policy`; names are those of the tables below."""
    return Domain(
        (
            Column.categorical("word", ["red", "green", "two words"], **policy),
            Column.categorical("code", [1, 2, 3.5], **policy),
            Column.categorical("flag", [True, False], **policy),
            Column.integer("count", -2, 7, width=4, **policy),
            Column.numeric("size", [-1.5, 0, 0.1, 2.5, 10], **policy),
            Column.calendar("day", date(2020, 2, 27), date(2020, 3, 3), "day", **policy),
            Column.calendar("week", date(2019, 12, 30), date(2020, 3, 3), "week", **policy),
            Column.calendar("month", date(2019, 11, 5), date(2020, 3, 3), "month", **policy),
            Column.calendar("hour", datetime(2020, 2, 28, 22), datetime(2020, 3, 1, 2), "hour", **policy),
        )
    )


TEXT = {
    "word": ["red", " green ", "two words", "Red", "blue", "", None, "(other)", "é", "re", "redd"],
    "code": [
        "1",
        "2.0",
        "3.5",
        "1e0",
        " 2",
        "4",
        "x",
        "",
        None,
        "nan",
        "inf",
        "1e999",
        "0x1",
        "--1",
        "9" * 300,
    ],
    "flag": ["true", "False", " TRUE", "yes", "1", "", None],
    "count": [
        "-2",
        "1",
        "2",
        "7",
        "7.9",
        "8",
        "-2.5",
        "-99",
        "1e30",
        "many",
        "",
        None,
        "NaN",
        "-inf",
        "1_0",
        "2 3",
    ],
    "size": [
        "-1.5",
        "0",
        "0.1",
        ".1",
        "2.5",
        "10",
        "10.5",
        "-2",
        "1e99",
        "1e400",
        "0,5",
        "",
        None,
        "nan",
        "+3.",
    ],
    "day": [
        "2020-02-27",
        "2020-02-29",
        "2020-03-01 10:00:00",
        "2021-01-01",
        "2020-13-01",
        "2020-2-28",
        "x",
        "",
        None,
    ],
    "week": [
        "2019-12-30",
        "2020-01-05",
        "2020-01-06",
        "2020-03-03",
        "1999-01-01",
        "9999-12-31",
        "0000-01-01",
    ],
    "month": ["2019-11-01", "2020-03-31", "2020-02-29T23:59:59Z", "2020-04-01", "20200101", None],
    "hour": [
        "2020-02-28 22:59:59",
        "2020-02-29T00:00",
        "2020-03-01",
        "2020-02-28 24:00",
        "2020-02-28",
        "now",
    ],
}
TYPED = {
    "word": ["red", "green", None, "blue"],
    "code": [1.0, 2.0, 3.5, math.nan, math.inf, None, 4.0],
    "flag": [True, False, None],
    "count": [-2, 1, 2, 7, 8, -99, 10**12, None],
    "size": [-1.5, -1.6, 0.0, 0.1, 2.4999, 2.5, 10.0, 11.0, math.inf, -math.inf, math.nan, None],
    "day": [date(2020, 2, 27), date(2020, 2, 29), date(2020, 3, 4), date(1970, 1, 1), None],
    "week": [datetime(2019, 12, 30), datetime(2020, 1, 5, 23, 59), datetime(2020, 1, 6), None],
    "month": [date(2019, 11, 30), date(2020, 3, 1), date(2019, 10, 31), date(2020, 4, 1), None],
    "hour": [datetime(2020, 2, 28, 22, 30), datetime(2020, 2, 29), datetime(2020, 3, 1, 3), None],
}


def cell(column, value):
    """Where `value` goes, by the words of `Column`'s docstring rather than by its expressions."""
    cells = column.partition
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return column.null_cell
    if isinstance(value, str):
        value = value.strip()
        if not value:
            return column.null_cell
    where = _nearest(cells, value)
    if where is None:
        return column.other_cell
    k, outside = where
    return column.other_cell if outside and column.other == "category" else k


def _nearest(cells, value):
    if isinstance(cells, Categorical):
        return _category(cells, value)
    if isinstance(cells, Calendar):
        at = _moment(value)
        if at is None:
            return None
        k = at[cells.unit] - cells.first
        return min(max(k, 0), cells.size - 1), not 0 <= k < cells.size
    x = _number(value)
    if x is None:
        return None
    if isinstance(cells, Integer):
        whole = x if math.isinf(x) else math.floor(x)
        inside = min(max(whole, cells.low), cells.high)
        return int(inside - cells.low) // cells.width, not cells.low <= whole <= cells.high
    assert isinstance(cells, Numeric)
    k = bisect_right(cells.edges[1:-1], x)
    return k, not cells.edges[0] <= x <= cells.edges[-1]


def _number(value):
    if not isinstance(value, str):
        return float(value)
    sound = re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,2})?", value, re.ASCII)
    return float(value) if sound and len(value) <= 200 else None


def _category(cells, value):
    for k, declared in enumerate(cells.values):
        if isinstance(declared, bool):
            same = value is declared or (isinstance(value, str) and value.lower() == str(declared).lower())
        elif isinstance(declared, str):
            same = value == declared
        else:
            same = not isinstance(value, bool) and _number(value) == declared
        if same:
            return k, False
    return None


def _moment(value):
    """Ordinals by unit; a 30th of February counts as a day of March."""
    if isinstance(value, str):
        found = re.fullmatch(
            r"(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])([T ]([01]\d|2[0-3])(:.*)?)?", value, re.ASCII
        )
        if not found:
            return None
        year, month, day, hour = int(found[1]), int(found[2]), int(found[3]), int(found[5] or 0)
        if year == 0:  # before Python's calendar begins, and before any range that a test declares
            return dict.fromkeys(("hour", "day", "week", "month"), -(10**9))
        value = datetime(year, month, day, hour)
    return {unit: ordinal(value, unit) for unit in ("hour", "day", "week", "month")}


def rows(columns):
    """The columns, made equally long by repetition with steps, so that values meet in many ways."""
    longest = max(map(len, columns.values()))
    return {
        name: [
            values[(i * (1 + j)) % len(values)] if i >= len(values) else values[i] for i in range(2 * longest)
        ]
        for j, (name, values) in enumerate(columns.items())
    }
