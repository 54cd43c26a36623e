"""What needs no game: HiGHS on a right-hand side, least violation first."""

from __future__ import annotations

import numpy as np

from fastmwem.errors import FastmwemError
from fastmwem.lp.program import Matrix
from fastmwem.queries.base import FloatArray

__all__ = ["least_cost", "least_violation", "optimum"]


def least_violation(rows: Matrix, rhs: FloatArray) -> tuple[FloatArray, float]:
    """z in the simplex, and t, with `rows` z <= `rhs` + t for the least t: always solvable.

    >>> z, t = least_violation(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.25, 0.25]))
    >>> z.round(6).tolist(), round(t, 6)
    ([0.5, 0.5], 0.25)
    """
    from scipy import sparse
    from scipy.optimize import linprog

    count, dim = rows.shape
    extended = sparse.hstack([sparse.csr_array(rows), -np.ones((count, 1))], format="csr")
    result = linprog(
        np.r_[np.zeros(dim), 1.0],
        A_ub=extended,
        b_ub=rhs,
        A_eq=np.r_[np.ones(dim), 0.0][None, :],
        b_eq=[1.0],
        bounds=[(0, None)] * dim + [(None, None)],
        method="highs",
    )
    if result.x is None:
        raise FastmwemError("HiGHS could not solve the noisy program: use method='mw'.")
    z = np.maximum(result.x[:-1], 0.0)
    return z / z.sum(), float(result.x[-1])


def least_cost(cost: FloatArray, rows: Matrix, rhs: FloatArray) -> FloatArray | None:
    """The z in the simplex with `rows` z <= `rhs` that has the least `cost`; None if HiGHS finds none.

    >>> least_cost(np.array([0.0, -1.0]), np.array([[0.0, 1.0]]), np.array([0.25])).round(6).tolist()
    [0.75, 0.25]
    """
    from scipy.optimize import linprog

    ones = np.ones((1, len(cost)))
    result = linprog(cost, A_ub=rows, b_ub=rhs, A_eq=ones, b_eq=[1.0], bounds=(0, None), method="highs")
    if result.status != 0:
        return None
    z = np.maximum(result.x, 0.0)
    return z / z.sum()


def optimum(c: FloatArray, rows: Matrix, rhs: FloatArray, maximise: bool) -> float | None:
    """The optimal value of c.x over rows x <= rhs, x >= 0; None if HiGHS does not find one."""
    from scipy.optimize import linprog

    result = linprog(-c if maximise else c, A_ub=rows, b_ub=rhs, bounds=(0, None), method="highs")
    if result.status != 0:
        return None
    return float(-result.fun if maximise else result.fun)
