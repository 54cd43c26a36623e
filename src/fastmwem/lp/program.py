"""`LinearProgram`: what linprog, MPS files, cvxpy and HiGHS describe, in one shape.

    min or max  c.x + constant   subject to   A_ub x <= b_ub,   A_eq x = b_eq,   lower <= x <= upper.

It may hold private numbers, so its repr shows shapes only.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from fastmwem.errors import InvalidArgument, check_choice
from fastmwem.queries.base import FloatArray

__all__ = ["LinearProgram", "Matrix", "as_matrix", "as_vector"]

Matrix: TypeAlias = Any  # a float64 array or a scipy.sparse.csr_array; SciPy has no type for "either"

SENSES = ("min", "max")


def as_matrix(name: str, value: Any, columns: int | None = None) -> Matrix:
    """`value` as a finite float64 array or CSR array with `columns` columns; never densified."""
    if hasattr(value, "tocsr"):
        from scipy.sparse import csr_array

        matrix: Matrix = csr_array(value, dtype=np.float64)
        stored = matrix.data
    else:
        try:
            matrix = stored = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise InvalidArgument(f"{name} must be a matrix of numbers.") from None
    if matrix.ndim != 2 or (columns is not None and matrix.shape[1] != columns):
        wanted = f"(rows, {columns})" if columns is not None else "(rows, columns)"
        raise InvalidArgument(f"{name} must have shape {wanted}, got {matrix.shape}.")
    if not np.isfinite(stored).all():
        raise InvalidArgument(f"{name} must be finite: it holds NaN or infinity.")
    return matrix


def as_vector(name: str, value: Any, size: int, infinite: bool = False) -> FloatArray:
    """`value` as `size` float64 numbers, a single number standing for all; NaN is refused."""
    try:
        vector = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument(f"{name} must be a vector of numbers.") from None
    if vector.ndim == 0:
        vector = np.full(size, float(vector))
    if vector.shape != (size,):
        raise InvalidArgument(f"{name} must have {size} entries, got shape {vector.shape}.")
    if np.isnan(vector).any() or not (infinite or np.isfinite(vector).all()):
        raise InvalidArgument(f"{name} must be {'without NaN' if infinite else 'finite'}.")
    return vector


@dataclass(frozen=True, eq=False, repr=False)
class LinearProgram:
    """A linear program, as `from_linprog`, `from_mps`, `from_cvxpy` or `from_highs` read it.

    `both_ways`: some entries of `b_ub` are minus those of the model that was read, because it has >= rows
    beside <= rows. Where all of the model's b moves one way, b_ub then does not.

    >>> LinearProgram.from_linprog([1.0, 2.0], A_ub=[[1.0, 1.0]], b_ub=[3.0])
    LinearProgram(min, 2 variables, 1 inequality, 0 equalities)
    """

    c: FloatArray | None
    A_ub: Matrix
    b_ub: FloatArray
    A_eq: Matrix
    b_eq: FloatArray
    lower: FloatArray
    upper: FloatArray
    sense: str = "min"
    names: tuple[str, ...] = ()
    constant: float = 0.0
    both_ways: bool = False
    rows: tuple[str, ...] = ()  # names of the inequalities, then of the equalities, where the source has some

    @classmethod
    def from_linprog(
        cls,
        c: Any,
        A_ub: Any = None,
        b_ub: Any = None,
        A_eq: Any = None,
        b_eq: Any = None,
        bounds: Any = (0, None),
        *,
        sense: str = "min",
        names: tuple[str, ...] = (),
        constant: float = 0.0,
        both_ways: bool = False,
        rows: tuple[str, ...] = (),
    ) -> LinearProgram:
        """The arguments of `scipy.optimize.linprog`, in its order; `c` may be None (feasibility only).

        A row with b_ub = +inf asks for nothing and is dropped: which entries of b are infinite is public.
        """
        check_choice("sense", sense, SENSES)
        given = next((a for a in (A_ub, A_eq) if a is not None), None)
        if given is None and c is None:
            raise InvalidArgument("A_ub must be given (or A_eq, or c): there is nothing to solve.")
        dim = np.shape(given)[-1] if given is not None else np.size(c)
        ub, rhs_ub = _rows("ub", A_ub, b_ub, dim)
        eq, rhs_eq = _rows("eq", A_eq, b_eq, dim)
        if np.isneginf(rhs_ub).any() or not np.isfinite(rhs_eq).all():
            raise InvalidArgument("b_ub must not hold -inf, and b_eq must be finite.")
        cost = None if c is None else as_vector("c", c, dim)
        limits = _bounds(bounds, dim)
        more = (sense, tuple(names), constant, both_ways, tuple(rows))
        return cls(cost, ub, rhs_ub, eq, rhs_eq, *limits, *more)

    @classmethod
    def from_mps(cls, path: str | Path) -> LinearProgram:
        """An MPS (or CPLEX LP) file, read by HiGHS."""
        from fastmwem.lp.readers import read_mps

        return read_mps(Path(path))

    @classmethod
    def from_highs(cls, highs: Any) -> LinearProgram:
        """A `highspy.Highs` object that holds a model."""
        from fastmwem.lp.readers import read_highs

        return read_highs(highs)

    @classmethod
    def from_cvxpy(cls, problem: Any) -> LinearProgram:
        """A `cvxpy.Problem` with a linear objective and linear constraints."""
        from fastmwem.lp.readers import read_cvxpy

        return read_cvxpy(problem)

    @property
    def dim(self) -> int:
        """d, the number of variables."""
        return len(self.lower)

    def value(self, x: FloatArray) -> float:
        """c.x + constant, c being 0 where there is no objective."""
        return self.constant + (0.0 if self.c is None else float(self.c @ x))

    def __repr__(self) -> str:
        rows, equal = len(self.b_ub), len(self.b_eq)
        return (
            f"LinearProgram({self.sense}, {self.dim} variables, {rows} inequalit{'y' if rows == 1 else 'ies'}"
            f", {equal} equalit{'y' if equal == 1 else 'ies'})"
        )


def _rows(kind: str, matrix: Any, rhs: Any, dim: int) -> tuple[Matrix, FloatArray]:
    if (matrix is None) != (rhs is None):
        raise InvalidArgument(f"A_{kind} and b_{kind} must be given together.")
    if matrix is None:
        return np.zeros((0, dim)), np.zeros(0)
    rows = as_matrix(f"A_{kind}", matrix, dim)
    return rows, as_vector(f"b_{kind}", rhs, rows.shape[0], infinite=True)


def _bounds(bounds: Any, dim: int) -> tuple[FloatArray, FloatArray]:
    """linprog's `bounds` (one pair, or a pair for each variable; None for no bound) as two vectors."""
    try:
        pairs = np.array(bounds, dtype=object)
        if pairs.shape == (2,):
            pairs = np.broadcast_to(pairs, (dim, 2))
        if pairs.shape != (dim, 2):
            raise ValueError
        lower = np.array([-np.inf if low is None else float(low) for low in pairs[:, 0]])
        upper = np.array([np.inf if high is None else float(high) for high in pairs[:, 1]])
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"bounds must be a (low, high) pair or {dim} of them, with None for no bound."
        ) from None
    if np.isnan(lower).any() or np.isnan(upper).any() or (lower > upper).any():
        raise InvalidArgument("bounds must have low <= high for every variable.")
    return lower, upper
