"""Readers: HiGHS models (hence MPS and LP files) and cvxpy problems, as a `LinearProgram`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from fastmwem.errors import DataError, InvalidArgument, MissingDependency
from fastmwem.lp.program import LinearProgram

__all__ = ["read_cvxpy", "read_highs", "read_mps"]


def read_mps(path: Path) -> LinearProgram:
    """The file at `path`, read by HiGHS; its messages are silenced, since they may quote the file."""
    import highspy

    if not path.is_file():
        raise DataError(f"{path} is not a file: give an MPS or LP file.")
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    if highs.readModel(str(path)) == highspy.HighsStatus.kError:
        raise DataError(f"{path} cannot be read as an MPS or LP file.")
    return read_highs(highs)


def read_highs(highs: Any) -> LinearProgram:
    """`row_lower <= A x <= row_upper`: equal sides give an equality, each finite side else an inequality."""
    import highspy
    from scipy import sparse

    lp = highs.getLp()
    if any(kind != highspy.HighsVarType.kContinuous for kind in lp.integrality_):
        raise InvalidArgument("the model must have continuous variables only: it holds integer ones.")
    a = lp.a_matrix_
    arrays = np.array(a.value_), np.array(a.index_), np.array(a.start_)
    columnwise = a.format_ == highspy.MatrixFormat.kColwise
    rows = (sparse.csc_array if columnwise else sparse.csr_array)(
        arrays, shape=(lp.num_row_, lp.num_col_)
    ).tocsr()
    low, high = np.array(lp.row_lower_), np.array(lp.row_upper_)
    equal, below, above = low == high, (low != high) & (high < np.inf), (low != high) & (low > -np.inf)
    maximise = lp.sense_ == highspy.ObjSense.kMaximize
    called = np.array([str(name) for name in lp.row_names_] or [""] * lp.num_row_, dtype=object)
    return LinearProgram.from_linprog(
        np.array(lp.col_cost_),
        sparse.vstack([rows[below], -rows[above]], format="csr"),
        np.concatenate([high[below], -low[above]]),
        rows[equal],
        high[equal],
        np.column_stack([lp.col_lower_, lp.col_upper_]),
        sense="max" if maximise else "min",
        names=tuple(lp.col_names_),
        constant=float(lp.offset_),
        both_ways=bool(below.any() and above.any()),
        rows=(*called[below], *(f"{name} (at least)" for name in called[above]), *called[equal]),
    )


def read_cvxpy(problem: Any) -> LinearProgram:
    """cvxpy's own reduction for HiGHS: its rows in cvxpy's order, bounds of variables as bounds.

    The variables are cvxpy's: those of the problem in its order, then the ones its reduction adds. Ask for
    x >= 0 by `cvxpy.Variable(nonneg=True)`: written as a constraint, it is a row like any other.
    """
    try:
        import cvxpy
        from cvxpy.error import SolverError
    except ImportError:
        raise MissingDependency("reading a cvxpy problem needs cvxpy: pip install cvxpy.") from None

    try:
        data, _, _ = problem.get_problem_data(cvxpy.HIGHS)
    except SolverError:
        data = {}
    if not data or data.get("P") is not None:
        raise InvalidArgument("problem must be a linear program: it has a quadratic or conic part.")
    if data["bool_vars_idx"] or data["int_vars_idx"]:
        raise InvalidArgument("problem must have continuous variables only: it holds integer ones.")
    rows, rhs, equal = data["A"].tocsr(), np.asarray(data["b"]), data["dims"].zero
    low, high = (data[f"{side}_bounds"] for side in ("lower", "upper"))
    maximise = isinstance(problem.objective, cvxpy.Maximize)  # which cvxpy reduces to minimising -c.x
    sign = -1.0 if maximise else 1.0
    cost, dim = sign * np.asarray(data["c"]).ravel(), rows.shape[1]
    return LinearProgram.from_linprog(
        cost if cost.any() else None,
        rows[equal:],
        rhs[equal:],
        rows[:equal],
        rhs[:equal],
        np.column_stack(
            [np.full(dim, -np.inf) if low is None else low, np.full(dim, np.inf) if high is None else high]
        ),
        sense="max" if maximise else "min",
        names=tuple(name for variable in data["param_prob"].variables for name in _entries(variable)),
        constant=sign * float(data["param_prob"].apply_parameters()[1]),
        both_ways=rows.shape[0] > equal + 1,  # cvxpy does not say which rows were written with >=
    )


def _entries(variable: Any) -> list[str]:
    """The names of a cvxpy variable's entries, in the order of its columns: y, x[0], x[1], M[0,0], M[1,0]."""
    if not variable.shape:
        return [variable.name()]
    places = (np.unravel_index(k, variable.shape, order="F") for k in range(variable.size))
    return [f"{variable.name()}[{','.join(str(i) for i in place)}]" for place in places]
