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
    return LinearProgram.from_linprog(
        np.array(lp.col_cost_),
        sparse.vstack([rows[below], -rows[above]], format="csr"),
        np.concatenate([high[below], -low[above]]),
        rows[equal],
        high[equal],
        np.column_stack([lp.col_lower_, lp.col_upper_]),
        sense="max" if maximise else "min",
        names=tuple(lp.col_names_),
    )


def read_cvxpy(problem: Any) -> LinearProgram:
    """cvxpy's own reduction to conic form, of which only the zero and the nonnegative cone may be used.

    The variables are cvxpy's: those of the problem in its order, then the ones its reduction adds.
    """
    try:
        import cvxpy
    except ImportError:
        raise MissingDependency("reading a cvxpy problem needs cvxpy: pip install cvxpy.") from None

    data, chain, _ = problem.get_problem_data(cvxpy.SCS)
    cones = data["dims"]
    if cones.soc or cones.psd or cones.exp or cones.p3d or ("P" in data and data["P"] is not None):
        raise InvalidArgument("problem must be a linear program: it has a quadratic or conic part.")
    rows, rhs, equal = data["A"].tocsr(), np.asarray(data["b"]), cones.zero
    del chain
    return LinearProgram.from_linprog(
        np.asarray(data["c"]).ravel(), rows[equal:], rhs[equal:], rows[:equal], rhs[:equal], (None, None)
    )
