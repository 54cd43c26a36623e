"""Cells back to values of the original types: what synthetic rows are written with.

Categories become their labels as declared, whole numbers are drawn from their cell, numbers uniformly from
their bin, dates and times from their calendar unit, and the null cell becomes null. What stood for undeclared
values becomes "(other)" in a text column, and null where no such value has the column's type. Drawing inside
a cell looks at nothing private: it costs no privacy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastmwem.data.cells import Calendar, Categorical, Integer, Numeric
from fastmwem.data.domain import OTHER, Column, Domain

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["decode"]


def decode(domain: Domain, codes: NDArray[np.int64], generator: np.random.Generator) -> pa.Table:
    """An Arrow table of rows whose cells are `codes`, shape (rows, columns)."""
    import pyarrow as pa

    columns = zip(domain.columns, np.asarray(codes).T, strict=True)
    return pa.table({column.name: _values(column, cells, generator) for column, cells in columns})


def _values(column: Column, cells: NDArray[np.int64], generator: np.random.Generator) -> Any:
    import pyarrow as pa

    undeclared = cells >= column.declared
    inside = np.where(undeclared, 0, cells)
    match column.partition:
        case Categorical(values=values):
            return _categories(column, values, cells)
        case Integer() as kind:
            low = kind.low + inside * kind.width
            high = np.minimum(low + kind.width - 1, kind.high)
            drawn = generator.integers(low, high, endpoint=True)
        case Numeric(edges=edges):
            ends = np.asarray(edges)
            low, high = ends[inside], ends[inside + 1]
            drawn = _round(low + (high - low) * generator.random(len(cells)), low, high)
        case Calendar() as kind:
            drawn = _moments(kind, inside, generator)
    return pa.array(drawn, mask=undeclared)


def _categories(column: Column, values: tuple[Any, ...], cells: NDArray[np.int64]) -> Any:
    import pyarrow as pa

    kinds = {type(value) for value in values}
    if kinds == {int, float}:
        kinds, values = {float}, tuple(map(float, values))
    if len(kinds) > 1:  # no one type holds them all: their labels do
        kinds, values = {str}, column.partition.labels
    other = [OTHER if kinds == {str} else None] if column.other == "category" else []
    null = [None] if column.null else []
    return pa.array([*values, *other, *null]).take(pa.array(cells))


def _round(x: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> Any:
    """Down to a thousandth of the bin's width or finer, in decimal: no digits that mean nothing."""
    scale = 10.0 ** np.clip(np.ceil(3 - np.log10(high - low)), -15, 15)
    return np.maximum(np.floor(x * scale) / scale, low)  # down, as the high end belongs to the next bin


def _moments(kind: Calendar, cells: NDArray[np.int64], generator: np.random.Generator) -> Any:
    """A day of the unit for dates, a second of it for dates with a time; never outside low .. high."""
    step = "datetime64[s]" if kind.type == "datetime" else "datetime64[D]"
    starts = np.array([kind.start(cell) for cell in range(kind.size)] + [kind.start(kind.size)], step)
    low, high = np.array(kind.low, step), np.array(kind.high, step)
    first = np.maximum(starts[cells], low).astype(np.int64)
    last = np.minimum(starts[cells + 1] - np.timedelta64(1, step[-2]), high).astype(np.int64)
    return generator.integers(first, last, endpoint=True).astype(step)
