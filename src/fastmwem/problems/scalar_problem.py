"""The scalar-private LP as a game on the simplex: public rows, private right-hand side."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fastmwem.errors import InvalidArgument, check_positive
from fastmwem.lp.program import LinearProgram, Matrix, as_vector
from fastmwem.lp.standard import Simplex, StandardForm, standard_form
from fastmwem.queries.base import Candidates, FloatArray, Queries

__all__ = ["ScalarProblem", "as_queries", "scalar_problem"]


def as_queries(matrix: Matrix) -> Queries:
    """Rows as candidates, sparse ones without densifying."""
    if hasattr(matrix, "tocsr"):
        from fastmwem.queries.sparse import Sparse

        return Sparse(matrix)
    from fastmwem.queries.dense import Dense

    return Dense(matrix)


@dataclass(frozen=True, eq=False, repr=False)
class ScalarProblem:
    """Find z in the simplex with `queries` z <= `rhs`; `moves` is how far each rhs may move (0: public).

    Public row weights are already in all three: a violation here is weight_i times that of row i as the
    user wrote it. If `goal` is set, the last row is the objective.
    """

    queries: Queries
    rhs: FloatArray
    moves: FloatArray
    one_sided: bool
    simplex: Simplex
    form: StandardForm
    program: LinearProgram
    weighted: bool
    goal: float | None = None  # weight of the objective row, signed so that goal * c.x' >= goal * OPT

    @property
    def sensitivity(self) -> float:
        """Delta of the scores: |u_i - u_i'| <= moves_i, since u_i = <row_i, z> - rhs_i and only rhs moves."""
        return float(self.moves.max(initial=0.0))

    @property
    def score_range(self) -> float:
        """R: 2 Delta, or Delta if every neighbour moves all entries of b the same way."""
        return self.sensitivity * (1.0 if self.one_sided else 2.0)

    @cached_property
    def half_range(self) -> float:
        """h = max_i (max_j - min_j of row i)/2."""
        return self.queries.half_range

    @cached_property
    def matrix(self) -> Matrix:
        """The rows, as they are stored."""
        stored: Any = self.queries
        if hasattr(stored, "matrix"):
            return stored.matrix
        from scipy.sparse import csr_array

        return csr_array((stored.values, stored.cells, stored.indptr), shape=(stored.m, stored.dim))

    @property
    def width(self) -> float:
        """rho, the paper's width: the largest |entry| of a row."""
        return float(max(self.matrix.max(), -self.matrix.min()))

    @cached_property
    def uniform_violation(self) -> float:
        """The most that uniform z can violate a feasible program by: max_i (mean_j - min_j of row i).

        Feasible means rhs_i >= <row_i, z*> >= min_j row_ij. Public, as the rows are.
        """
        means = self.queries.answers(np.full(self.queries.dim, 1.0 / self.queries.dim))
        return float((means - _along_rows(self.matrix, "min")).max())

    @property
    def region(self) -> str:
        """Where x is sought, in words."""
        shifted = self.form.back is not None or bool(self.form.offset.any())
        if shifted and not self.simplex.fixes_value:
            return f"{self.simplex.says}, x counted from its bounds"
        return f"{'x within its bounds' if shifted else 'x >= 0'} with {self.simplex.says}"

    def objective_slack(self, alpha: float) -> float | None:
        """What c.x may miss OPT by if no row is violated by more than `alpha`; None without such a row."""
        return None if self.goal is None else alpha / abs(self.goal)

    def candidates(self) -> Candidates:
        return Candidates(self.queries, self.rhs, signed=False)

    def x(self, z: FloatArray) -> FloatArray:
        """The user's x."""
        return self.form.x(self.simplex.inner(z))

    def at(self, opt: float) -> ScalarProblem:
        """The same rows with the objective row asking for `opt`: only a public entry of rhs changes."""
        if self.goal is None:
            return self
        rhs = self.rhs.copy()
        rhs[-1] = -self.goal * (opt - self.program.value(self.form.offset))
        return replace(self, rhs=rhs)


def scalar_problem(
    program: LinearProgram,
    sensitivity: Any,
    *,
    one_sided: bool,
    opt: float | None,
    search: bool,
    radius: float | None,
    row_weights: Any,
) -> ScalarProblem:
    """Reduce `program` to the simplex: see `solve_scalar_private` for what each argument means."""
    moves = _sensitivities(program, sensitivity)
    if program.c is not None and not program.c.any():
        program, search = replace(program, c=None), False
    equilibrate = isinstance(row_weights, str)
    if equilibrate and row_weights != "equilibrate":
        raise InvalidArgument("row_weights must be None, 'equilibrate' or a vector, one entry a row.")
    if row_weights is not None and not equilibrate:
        program, moves = _weighted(program, moves, row_weights)
    if one_sided and (moves[len(program.b_ub) :] > 0).any():
        raise InvalidArgument(
            "one_sided must be False with a private b_eq: an equality is two rows that move opposite ways."
        )
    if one_sided and program.both_ways:
        raise InvalidArgument(
            "one_sided must be False with a model that has <= and >= rows: b moves them opposite ways."
        )
    form = standard_form(program, moves)
    if radius is None and form.back is not None and form.back.shape[1] > program.dim:
        raise InvalidArgument("radius must be given where a variable is free: it bounds sum |x_j - low_j|.")
    if radius is not None:
        simplex = Simplex.within(form.dim, check_positive("radius", radius))
    elif opt is not None and form.c is not None:
        simplex = Simplex.at_value(form.c, opt, program.value(form.offset))
    else:
        simplex = Simplex.plain(form.dim)
    needs_goal = form.c is not None and (search or (opt is not None and radius is not None))
    return _assemble(program, form, simplex, one_sided, row_weights, needs_goal)


def _assemble(
    program: LinearProgram,
    form: StandardForm,
    simplex: Simplex,
    one_sided: bool,
    row_weights: Any,
    goal: bool,
) -> ScalarProblem:
    rows, rhs, moves = simplex.rows(form.A), form.b, form.sensitivity
    if not rows.shape[0]:
        raise InvalidArgument("A_ub must have at least one row with a finite right-hand side.")
    if isinstance(row_weights, str):  # "equilibrate": the rest of the weights are in `program` already
        weights = 1.0 / _half_ranges(rows)
        rows = _times(rows, weights)
        rhs, moves = rhs * weights, moves * weights
    factor = None
    if goal and form.c is not None:
        cost = simplex.rows(form.c[None, :])[0]
        spread = np.ptp(cost)
        if spread == 0:
            raise InvalidArgument("c must differ between variables: every x has the same c.x.")
        # As wide as the widest row, so that alpha means the same in both; sign: c.x >= OPT or c.x <= OPT.
        wide = 2.0 * as_queries(rows).half_range
        factor = (wide if wide > 0 else 1.0) / spread * (1.0 if program.sense == "max" else -1.0)
        rows = _append(rows, -factor * cost)
        rhs, moves = np.append(rhs, np.inf), np.append(moves, 0.0)
    weighted = row_weights is not None
    return ScalarProblem(as_queries(rows), rhs, moves, one_sided, simplex, form, program, weighted, factor)


def _append(rows: Matrix, row: FloatArray) -> Matrix:
    if hasattr(rows, "tocsr"):
        from scipy import sparse

        return sparse.vstack([rows, sparse.csr_array(row[None, :])], format="csr")
    return np.vstack([rows, row[None, :]])


def _sensitivities(program: LinearProgram, sensitivity: Any) -> FloatArray:
    """Delta for each row of b_ub, then of b_eq; 0 marks a public entry."""
    if np.ndim(sensitivity) > 1:
        raise InvalidArgument(
            "sensitivity must be one number, or one for each entry of b: A is public here, and where people "
            "are whole rows of it, solve_constraint_private keeps them private."
        )
    if np.ndim(sensitivity) == 0:
        check_positive("sensitivity", sensitivity, "give the most by which one person moves an entry of b")
    moves = as_vector("sensitivity", sensitivity, len(program.b_ub) + len(program.b_eq))
    if (moves < 0).any() or not (moves > 0).any():
        raise InvalidArgument("sensitivity must not be negative, and above 0 for the private entries of b.")
    return moves


def _weighted(
    program: LinearProgram, moves: FloatArray, row_weights: Any
) -> tuple[LinearProgram, FloatArray]:
    weights = as_vector("row_weights", row_weights, len(moves))
    if not (weights > 0).all():
        raise InvalidArgument("row_weights must be above 0.")
    ub, eq = weights[: len(program.b_ub)], weights[len(program.b_ub) :]
    scaled = replace(
        program,
        A_ub=_times(program.A_ub, ub),
        b_ub=program.b_ub * ub,
        A_eq=_times(program.A_eq, eq),
        b_eq=program.b_eq * eq,
    )
    return scaled, moves * weights


def _times(rows: Matrix, weights: FloatArray) -> Matrix:
    if hasattr(rows, "tocsr"):
        from scipy import sparse

        return (sparse.diags_array(weights) @ rows).tocsr()
    return rows * weights[:, None]


def _half_ranges(rows: Matrix) -> FloatArray:
    """(max_j - min_j)/2 of each row, or 1 where that is 0."""
    half = (_along_rows(rows, "max") - _along_rows(rows, "min")) / 2.0
    return np.where(half > 0, half, 1.0)


def _along_rows(rows: Matrix, extreme: str) -> FloatArray:
    """The "max" or "min" of each row; what a sparse row does not store is 0."""
    found = getattr(rows, extreme)(axis=1)
    return np.asarray(found.todense()).ravel() if hasattr(rows, "tocsr") else found
