"""People as rows of a file: numbers in CSV or Parquet, or one basket of items a line.

The columns are public: named by the file's header, or by the list of items. Cells are private, so a cell that
holds no number becomes NaN, which asks for nothing, and an item that is not on the list is passed over.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from fastmwem.errors import DataError, InvalidArgument
from fastmwem.lp.people import as_number
from fastmwem.lp.program import Matrix
from fastmwem.queries.base import FloatArray

__all__ = ["read_baskets", "read_items", "read_people"]


def read_items(path: Path) -> tuple[str, ...]:
    """The public list of items, one a line."""
    try:
        names = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, UnicodeDecodeError):
        raise DataError(f"{path} cannot be read as a list of items, one a line.") from None
    items = tuple(name for name in names if name)
    if len(set(items)) < max(len(items), 2):
        raise InvalidArgument(f"{path}: the items must differ from each other, and be at least two.")
    return items


def read_baskets(path: Path, items: tuple[str, ...]) -> Matrix:
    """One basket a line, items separated by commas: a sparse 0/1 row for each line that is not blank."""
    from scipy.sparse import csr_array

    at = {name: j for j, name in enumerate(items)}
    columns: list[int] = []
    starts = [0]
    try:
        with open(path, newline="", encoding="utf-8", errors="replace") as lines:
            for row in csv.reader(lines):
                if row:
                    columns.extend({at[name.strip()] for name in row if name.strip() in at})
                    starts.append(len(columns))
    except (OSError, csv.Error):
        raise DataError(f"{path} cannot be read as baskets, one a line.") from None
    return csr_array((np.ones(len(columns)), columns, starts), shape=(len(starts) - 1, len(items)))


def read_people(path: Path, rhs: str | None) -> tuple[FloatArray, FloatArray | None, tuple[str, ...]]:
    """Coefficients, right-hand sides (the column `rhs`, if named) and the names of the variables."""
    try:
        names, columns = (_parquet if path.suffix == ".parquet" else _csv)(path)
    except (OSError, UnicodeDecodeError, ValueError, csv.Error):
        raise DataError(f"{path} cannot be read as a CSV or Parquet table.") from None
    if rhs is not None and rhs not in names:
        raise InvalidArgument(f"rhs must be a column of {path}, got {rhs!r}.")
    kept = tuple(name for name in names if name != rhs)
    if len(kept) < 2:
        raise DataError(f"{path} must have at least two columns of coefficients.")
    matrix = np.column_stack([columns[name] for name in kept])
    return matrix, None if rhs is None else columns[rhs], kept


def _parquet(path: Path) -> tuple[list[str], dict[str, FloatArray]]:
    from pyarrow import parquet, types

    table = parquet.read_table(path)
    for column in table.schema:
        kind = column.type
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            raise DataError(f"{path}: column {column.name!r} must hold numbers, not {kind}.")
    return table.column_names, {
        name: np.array(table[name].to_numpy(zero_copy_only=False), dtype=object).astype(np.float64)
        if table[name].null_count == 0
        else np.array([as_number(value) for value in table[name].to_pylist()])
        for name in table.column_names
    }


def _csv(path: Path) -> tuple[list[str], dict[str, FloatArray]]:
    with open(path, newline="", encoding="utf-8", errors="replace") as lines:
        rows = csv.reader(lines)
        names = [name.strip() for name in next(rows, [])]
        cells = [row for row in rows if row]
    if not names or len(set(names)) < len(names):
        raise DataError(f"{path} must open with a header of different column names.")
    return names, {
        name: np.array([as_number(row[j]) if j < len(row) else np.nan for row in cells], dtype=np.float64)
        for j, name in enumerate(names)
    }
