"""Private rows, one a person: made to fit public bounds row by row, and never a reason to fail.

Whatever a row holds, what becomes of it is a function of that row and of public bounds alone, so a neighbour
that differs in one row still differs in one row afterwards. An exception would not be: it would tell
that such a row exists. So nothing here looks at a value and raises.
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
    if hasattr(A, "tocsr"):
        from scipy.sparse import csr_array

        rows: Matrix = csr_array(A, dtype=np.float64, copy=True)
        rows.sum_duplicates()
        rows.data = _clip(rows.data, 0.0, upper[rows.indices], 0.0)
    else:
        rows = _numbers("A_ub", A)
        if rows.ndim == 2:
            rows = _clip(rows, 0.0, upper, 0.0) if rows.shape[1] == len(upper) else rows
    if rows.ndim != 2 or rows.shape[1] != len(upper):
        raise InvalidArgument(f"A_ub must have {len(upper)} columns, one for each entry of c.")
    values = _numbers("b_ub", b)
    if values.ndim == 0:
        values = np.full(rows.shape[0], float(values))
    if values.shape != (rows.shape[0],):
        raise InvalidArgument("b_ub must have one entry for each row of A_ub.")
    return PeopleRows(rows, _clip(values, rhs[0], rhs[1], easiest))


def _numbers(name: str, value: Any) -> FloatArray:
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name} must hold numbers in rows of equal length.") from None


def _clip(values: FloatArray, low: Any, high: Any, missing: float) -> FloatArray:
    clipped = np.clip(values, low, high)
    return np.where(np.isnan(clipped), missing, clipped)
