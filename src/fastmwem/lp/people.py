"""Private rows, one a person: made to fit public bounds row by row, and never a reason to fail.

Whatever a row holds, what becomes of it is a function of that row and of public bounds alone, so a neighbour
that differs in one row still differs in one row afterwards. An exception would not be: it would tell
that such a row exists. So nothing here looks at a value and raises. What has a type (an array, a sparse
matrix, a data frame) has a public number of columns, which is checked; in a list of rows each has a length of
its own, so a row that has too few cells or too many counts as NaN throughout, like a cell that is no number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastmwem.errors import InvalidArgument
from fastmwem.lp.program import Matrix
from fastmwem.queries.base import FloatArray

__all__ = ["PeopleRows", "clipped_rows"]


@dataclass(frozen=True, eq=False)
class PeopleRows:
    """Rows A_i with 0 <= A_ij <= U_j and b_lo <= b_i <= b_hi. Private: the repr tells nothing."""

    A: Matrix
    b: FloatArray

    def __repr__(self) -> str:
        return "PeopleRows(private)"


def clipped_rows(A: Any, b: Any, upper: FloatArray, rhs: tuple[float, float], sense: str) -> PeopleRows:
    """Coefficients clipped to [0, U_j] and right-hand sides to [b_lo, b_hi]; sparse rows stay sparse.

    NaN counts as "asks for nothing": a coefficient of 0, and the right-hand side that is easiest to keep
    (b_hi for packing, b_lo for covering).

    >>> rows = clipped_rows([[2.0, -1.0], [float("nan"), 0.5]], [0.5, 9.0], np.ones(2), (0.0, 1.0), "packing")
    >>> rows.A.tolist(), rows.b.tolist()
    ([[1.0, 0.0], [0.0, 0.5]], [0.5, 1.0])
    """
    easiest = rhs[1] if sense == "packing" else rhs[0]
    shape = getattr(A, "shape", None)
    if shape is not None and (len(shape) != 2 or shape[1] != len(upper)):
        raise InvalidArgument(f"A_ub must have {len(upper)} columns, one for each entry of c.")
    if hasattr(A, "tocsr"):
        from scipy.sparse import csr_array

        rows: Matrix = csr_array(A, dtype=np.float64, copy=True)
        rows.sum_duplicates()
        rows.data = _clip(rows.data, 0.0, upper[rows.indices], 0.0)
    else:
        rows = _clip(_matrix(A, len(upper)), 0.0, upper, 0.0)
    values = _vector(b)
    if values.ndim == 0:
        values = np.full(rows.shape[0], float(values))
    if values.shape != (rows.shape[0],):
        raise InvalidArgument("b_ub must have one entry for each row of A_ub.")
    return PeopleRows(rows, _clip(values, rhs[0], rhs[1], easiest))


def as_number(value: Any) -> float:
    """`value` as a float; NaN if it is none."""
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _matrix(A: Any, columns: int) -> FloatArray:
    """Numbers as they are; where some cell or row resists, row by row."""
    try:
        rows = np.asarray(A, dtype=np.float64)
        if rows.ndim == 2 and rows.shape[1] == columns:
            return rows
    except (TypeError, ValueError, OverflowError):
        pass
    if isinstance(A, str) or not hasattr(A, "__len__"):
        raise InvalidArgument("A_ub must be a matrix: rows of coefficients.")
    given = list(A.to_numpy() if hasattr(A, "to_numpy") else A)  # data frames iterate over columns
    rows = np.full((len(given), columns), np.nan)
    for row, cells in zip(rows, given, strict=True):
        if not isinstance(cells, str) and hasattr(cells, "__len__") and len(cells) == columns:
            row[:] = [as_number(cell) for cell in cells]
    return rows


def _vector(b: Any) -> FloatArray:
    """The same of right-hand sides; one number stands for all."""
    try:
        values = np.asarray(b, dtype=np.float64)
        if values.ndim < 2 or hasattr(b, "shape"):
            return values
    except (TypeError, ValueError, OverflowError):
        pass
    if isinstance(b, str) or not hasattr(b, "__len__"):
        raise InvalidArgument("b_ub must be a number, or a vector with one for each row.")
    return np.array([as_number(value) for value in b], dtype=np.float64)


def _clip(values: FloatArray, low: Any, high: Any, missing: float) -> FloatArray:
    clipped = np.clip(values, low, high)
    return np.where(np.isnan(clipped), missing, clipped)
