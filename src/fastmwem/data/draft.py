"""Drafts of domain files: from a table's column names and types, or from a table declared public.

Nothing here may see a private value: a range or a list of categories that was read off private rows is itself
a release of them.
"""

from __future__ import annotations

import math
from datetime import date, datetime
from pathlib import Path
from typing import Any

from fastmwem.data.cells import Calendar, Categorical, Cells, Integer, Numeric
from fastmwem.data.domain import Column, Domain
from fastmwem.data.domain_file import key_text
from fastmwem.data.engines import open_source, quietly
from fastmwem.errors import DataError

__all__ = ["draft_from_public", "draft_from_schema"]

_MOST_VALUES, _MOST_CELLS, _BINS = 200, 60, 10
_OPEN = {
    "integer": ("# low =     the smallest number that may occur", "# high =    the largest"),
    "numeric": (
        "# low =     the low end",
        "# high =    the high end",
        "# bins =    how many bins of equal width",
    ),
    "categorical": ("# values = [   the categories that may occur, in quotes   ]",),
    "date": ("# low =     the first day, such as 2020-01-01", "# high =    the last", 'unit = "month"'),
    "datetime": (
        "# low =     the first moment, such as 2020-01-01T00:00:00",
        "# high =    the last",
        'unit = "month"',
    ),
}


def draft_from_schema(source: str) -> str:
    """The text of a domain file with every column of `source`, its ranges left open.

    Looks at names and types only. A text file has no types, so its columns come out as categorical.
    """
    schema = _open(source).schema()
    lines = ["# Complete every column, from what is publicly known: never from the private table."]
    for name, kind in schema.items():
        guess = _type_of(kind)
        lines += ["", f"[{key_text(name)}]", f'type = "{guess}"', *_OPEN[guess]]
    return "\n".join(lines) + "\n"


def draft_from_public(source: str) -> str:
    """The text of a domain file whose ranges and categories are those of the PUBLIC table `source`."""
    import ibis

    path = Path(source)
    text = path.suffix.lower() in (".csv", ".tsv", ".txt")
    rows = _open_typed(source) if text else _open(source)

    def seen(name: str) -> dict[str, Any]:
        column = rows[name]
        if column.type().is_floating():  # NaN is a missing value, here as in a release
            column = ibis.ifelse(column.isnan(), ibis.null(column.type()), column)
        values = rows.select(value=column)
        summary = values.aggregate(
            low=values.value.min(),
            high=values.value.max(),
            rows=values.value.count(),
            nulls=values.value.isnull().sum(),
        )
        few = values.filter(values.value.notnull()).distinct().limit(_MOST_VALUES + 1).to_pyarrow()
        return summary.to_pyarrow().to_pylist()[0] | {"few": sorted(few["value"].to_pylist(), key=str)}

    unreadable = f"{source!r} cannot be read: check its format and that it is complete."
    found = {name: quietly(lambda name=name: seen(name), unreadable) for name in rows.columns}
    if not any(column["rows"] or column["nulls"] for column in found.values()):
        raise DataError(f"{source!r} has no rows to draft from.")
    columns = tuple(_column(name, rows.schema()[name], column) for name, column in found.items())
    return Domain(columns, public_sample=path.name).to_toml()


def _open_typed(source: str) -> Any:
    """A text table whose types are guessed from its values: for public tables only."""
    import ibis

    return quietly(lambda: ibis.duckdb.connect().read_csv(source), f"{source!r} cannot be read as CSV.")


def _open(source: str) -> Any:
    return quietly(lambda: open_source(source)(()), f"{source!r} cannot be opened: check that it is a table.")


def _type_of(kind: Any) -> str:
    if kind.is_integer():
        return "integer"
    if kind.is_numeric():
        return "numeric"
    if kind.is_date():
        return "date"
    return "datetime" if kind.is_timestamp() else "categorical"


def _column(name: str, kind: Any, seen: dict[str, Any]) -> Column:
    if not seen["rows"]:
        raise DataError(f"column {name!r} of the public table is empty: declare it by hand.")
    cells = _cells(name, kind, seen)
    other = "category" if isinstance(cells, Categorical) else "clip"
    return Column.of(name, cells, null=bool(seen["nulls"]), other=other)


def _cells(name: str, kind: Any, seen: dict[str, Any]) -> Cells:
    low, high, few = seen["low"], seen["high"], seen["few"]
    if kind.is_integer():
        return Integer(low, high, math.ceil((high - low + 1) / _MOST_CELLS))
    if kind.is_numeric():
        low, high = float(low), float(high)
        return Numeric.equal(low, high, _BINS) if low < high else Numeric((low, low + 1))
    if isinstance(low, date) and isinstance(high, date):
        if isinstance(low, datetime) and isinstance(high, datetime):
            low, high = low.replace(tzinfo=None), high.replace(tzinfo=None)
        days = high.toordinal() - low.toordinal()
        unit = "day" if days < _MOST_CELLS else "month" if days < 30 * _MOST_CELLS else "year"
        return Calendar(low, high, unit)
    if len(few) > _MOST_VALUES:
        raise DataError(
            f"column {name!r} of the public table has more than {_MOST_VALUES} values: leave it out, or "
            "declare it by hand."
        )
    return Categorical(tuple(v if isinstance(v, bool) else str(v) for v in few))
