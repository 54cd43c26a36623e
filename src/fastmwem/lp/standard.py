"""Reductions: any linear program to nonnegative variables, and those to the probability simplex.

All maps here are public and linear: x = offset + M x' with x' >= 0, then x'_j = scale_j z_j with z in the
simplex. The right-hand side only ever has a public vector taken from it, so it keeps its sensitivity.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fastmwem.errors import InvalidArgument
from fastmwem.lp.program import LinearProgram, Matrix
from fastmwem.queries.base import FloatArray

__all__ = ["Simplex", "StandardForm", "row_names", "standard_form"]


@dataclass(frozen=True, eq=False, repr=False)
class StandardForm:
    """A x' <= b, x' >= 0, with x = offset + M x'; `sensitivity` says row by row how far b may move."""

    A: Matrix
    b: FloatArray
    sensitivity: FloatArray
    c: FloatArray | None
    offset: FloatArray
    back: Matrix | None  # M; None for the identity

    @property
    def dim(self) -> int:
        return self.A.shape[1]

    def x(self, inner: FloatArray) -> FloatArray:
        """x for x'."""
        return self.offset + (inner if self.back is None else self.back @ inner)


def standard_form(lp: LinearProgram, sensitivity: FloatArray) -> StandardForm:
    """`lp` over nonnegative variables. `sensitivity` has an entry for each row of b_ub, then of b_eq.

    A bound on one side is the origin of x'_j (counted downwards from an upper one), a second bound is a
    row with a public right-hand side, a free variable is a difference of two, an equality is two rows.
    """
    dim, rows_ub = lp.dim, len(lp.b_ub)
    kept = np.isfinite(lp.b_ub)
    up, down = np.isfinite(lp.lower), ~np.isfinite(lp.lower) & np.isfinite(lp.upper)
    free = np.flatnonzero(~up & ~down)
    offset = np.where(up, lp.lower, np.where(down, lp.upper, 0.0))
    boxed = np.flatnonzero(up & np.isfinite(lp.upper))

    A_ub, b_ub = (lp.A_ub, lp.b_ub) if kept.all() else (lp.A_ub[kept], lp.b_ub[kept])
    parts = [A_ub] if rows_ub else []
    parts += [lp.A_eq, -lp.A_eq] if len(lp.b_eq) else []
    A = parts[0] if len(parts) == 1 else _stack(parts, dim)
    b = np.concatenate([b_ub, lp.b_eq, -lp.b_eq])
    moves = np.concatenate([sensitivity[:rows_ub][kept], sensitivity[rows_ub:], sensitivity[rows_ub:]])
    if offset.any():
        b = b - A @ offset
    if len(boxed):
        box = _unit_rows(boxed, dim)
        A = _stack([A, box], dim)
        b = np.concatenate([b, (lp.upper - lp.lower)[boxed]])
        moves = np.concatenate([moves, np.zeros(len(boxed))])
    back, c = None, lp.c
    if down.any() or len(free):
        back = _back(down, free, dim)
        A, c = A @ back, (None if c is None else back.T @ c)
    return StandardForm(A, b, moves, c, offset, back)


def row_names(lp: LinearProgram) -> tuple[str, ...]:
    """What the rows of `standard_form` are, in its order; () where the rows of `lp` have no names."""
    if len(lp.rows) != len(lp.b_ub) + len(lp.b_eq):
        return ()
    kept = [name for name, b in zip(lp.rows, lp.b_ub, strict=False) if np.isfinite(b)]
    equal = lp.rows[len(lp.b_ub) :]
    boxed = np.flatnonzero(np.isfinite(lp.lower) & np.isfinite(lp.upper))
    variables = lp.names if len(lp.names) == lp.dim else [f"x[{j}]" for j in range(lp.dim)]
    return (
        *kept,
        *(f"{name} (at most)" for name in equal),
        *(f"{name} (at least)" for name in equal),
        *(f"upper bound of {variables[j]}" for j in boxed),
    )


def _back(down: np.ndarray, free: np.ndarray, dim: int) -> Matrix:
    from scipy import sparse

    signs = sparse.diags_array(np.where(down, -1.0, 1.0)).tocsr()
    negatives = sparse.csr_array((-np.ones(len(free)), (free, np.arange(len(free)))), shape=(dim, len(free)))
    return sparse.hstack([signs, negatives], format="csr")


def _unit_rows(columns: np.ndarray, dim: int) -> Matrix:
    from scipy import sparse

    where = (np.ones(len(columns)), (np.arange(len(columns)), columns))
    return sparse.csr_array(where, shape=(len(columns), dim))


def _stack(parts: list, dim: int) -> Matrix:
    if not parts:
        return np.zeros((0, dim))
    if any(hasattr(part, "tocsr") for part in parts):
        from scipy import sparse

        return sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")
    return np.vstack(parts)


@dataclass(frozen=True, eq=False)
class Simplex:
    """x'_j = scale_j z_j for z in the simplex; `slack` is one more z that is no variable.

    * {c.x' = OPT, x' >= 0} for c > 0: scale_j = OPT / c_j (the paper's K_OPT);
    * {sum x' <= radius, x' >= 0}: scale_j = radius and a slack;
    * the simplex itself: scale_j = 1.
    """

    scale: FloatArray
    says: str
    slack: bool = False
    fixes_value: bool = False

    @classmethod
    def at_value(cls, c: FloatArray, opt: float, constant: float = 0.0) -> Simplex:
        """{c.x' = opt - constant, x' >= 0}."""
        if not (c > 0).all():
            raise InvalidArgument(
                "c must be above 0 in every entry for {c.x = opt} to be bounded: give radius instead."
            )
        if not opt > constant:
            raise InvalidArgument(
                f"opt must be above {constant:g} for {{c.x = opt, x >= 0}} with c > 0 to hold an x."
            )
        return cls((opt - constant) / c, f"c.x = {opt:g}", fixes_value=True)

    @classmethod
    def within(cls, dim: int, radius: float) -> Simplex:
        """{sum x' <= radius, x' >= 0}."""
        return cls(np.full(dim, radius), f"sum x <= {radius:g}", slack=True)

    @classmethod
    def plain(cls, dim: int) -> Simplex:
        """{sum x' = 1, x' >= 0}."""
        return cls(np.ones(dim), "sum x = 1")

    def rows(self, A: Matrix) -> Matrix:
        """A' with A' z = A x'."""
        if not (self.scale == 1).all():
            A = A.multiply(self.scale).tocsr() if hasattr(A, "tocsr") else A * self.scale
        if not self.slack:
            return A
        if hasattr(A, "tocsr"):
            from scipy import sparse

            return sparse.hstack([A, sparse.csr_array((A.shape[0], 1))], format="csr")
        return np.column_stack([A, np.zeros(A.shape[0])])

    def inner(self, z: FloatArray) -> FloatArray:
        """x' for z."""
        return self.scale * (z[:-1] if self.slack else z)
