"""People as rows of a file: numbers in CSV or Parquet, or one basket of items a line.

The columns are public: named by a header that the caller vouches for, or by the list of items. Cells are
private, so a cell that holds no number becomes NaN, which asks for nothing, and an item that is not on the
list is passed over. Text is read line by line, a line being a row whatever it holds, so that an odd quote in
one touches no other.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from fastmwem.errors import DataError, InvalidArgument
from fastmwem.lp.people import as_number
from fastmwem.lp.program import Matrix
from fastmwem.queries.base import FloatArray

__all__ = ["Baskets", "Items", "PeopleFile", "PeopleTable"]


class PeopleFile(Protocol):
    """A file of people: the variables' public names, and the private rows once they are asked for."""

    @property
    def names(self) -> tuple[str, ...]: ...

    def read(self) -> tuple[Matrix, FloatArray | None]:
        """Coefficients, and right-hand sides if the file holds them."""
        ...


@dataclass(frozen=True)
class Items:
    """A public list of variables and what one unit of each costs."""

    names: tuple[str, ...]
    costs: tuple[float, ...]

    @classmethod
    def of(cls, path: Path) -> Items:
        """One item a line: its name, and after a comma its cost where that is not 1."""
        try:
            with open(path, newline="", encoding="utf-8-sig") as lines:
                rows = [[cell.strip() for cell in row] for row in csv.reader(lines) if any(row)]
        except (OSError, UnicodeDecodeError, csv.Error):
            raise DataError(f"{path} cannot be read as a list of items, one a line.") from None
        names = tuple(row[0] for row in rows)
        if len(set(names)) < max(len(names), 2):
            raise InvalidArgument(f"{path}: the items must differ from each other, and be at least two.")
        costs = tuple(as_number(row[1]) if len(row) == 2 else 1.0 for row in rows)
        if any(len(row) > 2 for row in rows) or not all(0 < cost < float("inf") for cost in costs):
            raise InvalidArgument(
                f"{path}: each line must be an item, or an item, a comma and a cost above 0."
            )
        return cls(names, costs)


@dataclass(frozen=True)
class Baskets:
    """One basket a line, items separated by commas; a sparse 0/1 row for each line that is not blank."""

    path: Path
    names: tuple[str, ...]

    def read(self) -> tuple[Matrix, None]:
        from scipy.sparse import csr_array

        at = {name: j for j, name in enumerate(self.names)}
        columns: list[int] = []
        starts = [0]
        try:
            with open(self.path, newline="", encoding="utf-8-sig", errors="replace") as lines:
                for row in _rows(lines):
                    columns.extend({at[name] for name in row if name in at})
                    starts.append(len(columns))
        except OSError:
            raise DataError(f"{self.path} cannot be read as baskets, one a line.") from None
        shape = (len(starts) - 1, len(self.names))
        return csr_array((np.ones(len(columns)), columns, starts), shape=shape), None


@dataclass(frozen=True)
class PeopleTable:
    """A CSV or Parquet table, a row for each person; the column `rhs`, if named, holds right-hand sides."""

    path: Path
    names: tuple[str, ...]
    rhs: str | None

    @classmethod
    def of(cls, path: Path, rhs: str | None = None, wanted: Sequence[str] | None = None) -> PeopleTable:
        """The file at `path`, of which this reads the header alone; `wanted` are the columns that count."""
        try:
            header = (_parquet_header if path.suffix == ".parquet" else _csv_header)(path)
        except (OSError, ValueError):
            raise DataError(f"{path} cannot be read as a CSV or Parquet table.") from None
        if not header or len(set(header)) < len(header):
            raise DataError(f"{path} must open with a header of different column names.")
        if rhs is not None and rhs not in header:
            raise InvalidArgument(f"rhs must be a column of {path}, got {rhs!r}.")
        names = tuple(name for name in header if name != rhs) if wanted is None else tuple(wanted)
        for name in names:
            if name not in header:
                raise InvalidArgument(f"items must be columns of {path}: it has no column {name!r}.")
        if len(names) < 2:
            raise DataError(f"{path} must have at least two columns of coefficients.")
        return cls(path, names, rhs)

    def read(self) -> tuple[Matrix, FloatArray | None]:
        wanted = [*self.names, *([] if self.rhs is None else [self.rhs])]
        try:
            columns = (_parquet if self.path.suffix == ".parquet" else _csv)(self.path, wanted)
        except (OSError, ValueError):
            raise DataError(f"{self.path} cannot be read as a CSV or Parquet table.") from None
        matrix = np.column_stack(columns[: len(self.names)])
        return matrix, None if self.rhs is None else columns[-1]


def _parquet_header(path: Path) -> list[str]:
    from pyarrow import parquet, types

    schema = parquet.read_schema(path)
    for column in schema:
        kind = column.type
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            raise DataError(f"{path}: column {column.name!r} must hold numbers, not {kind}.")
    return schema.names


def _parquet(path: Path, wanted: list[str]) -> list[FloatArray]:
    from pyarrow import parquet

    table = parquet.read_table(path, columns=wanted)
    return [table[name].cast("float64", safe=False).to_numpy() for name in wanted]  # nulls become NaN


def _csv_header(path: Path) -> list[str]:
    with open(path, newline="", encoding="utf-8-sig", errors="replace") as lines:
        return next(_rows(lines), [])


def _csv(path: Path, wanted: list[str]) -> list[FloatArray]:
    with open(path, newline="", encoding="utf-8-sig", errors="replace") as lines:
        rows = _rows(lines)
        header = next(rows, [])
        at = [header.index(name) for name in wanted]
        cells = [[as_number(row[j]) if j < len(row) else np.nan for j in at] for row in rows]
    return list(np.array(cells, dtype=np.float64).reshape(-1, len(wanted)).T)


def _rows(lines: Iterable[str]) -> Iterator[list[str]]:
    """The cells of each line that is not blank; none where a line is no CSV."""
    for line in lines:
        if line.strip():
            try:
                yield [cell.strip() for cell in next(csv.reader([line]), [])]
            except csv.Error:
                yield []
