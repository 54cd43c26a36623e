"""Any matrix as a workload: dense, binary or sparse, whichever holds it best."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastmwem.errors import InvalidArgument
from fastmwem.queries.base import Queries
from fastmwem.queries.binary import Binary
from fastmwem.queries.dense import Dense
from fastmwem.queries.sparse import Sparse
from fastmwem.queries.stored import numeric_array

__all__ = ["check_unit_values", "linear"]


def linear(Q: Any) -> Queries:
    """The rows of `Q`, of shape (queries, cells), as a workload; all values must lie in [0, 1].

    A SciPy sparse matrix stays sparse, zeros and ones take one byte each, all else is dense float.

    >>> linear([[0, 1, 1], [1, 0, 0]]).answers(np.array([0.5, 0.25, 0.25])).tolist()
    [0.5, 0.5]
    """
    if isinstance(Q, Queries):
        check_unit_values(Q)
        return Q
    if hasattr(Q, "tocsr"):
        queries: Queries = Sparse(Q)
    else:
        array = numeric_array("Q", Q, ndim=2)
        binary = all(((row == 0) | (row == 1)).all() for row in array)
        queries = Binary(array) if binary else Dense(array)
    check_unit_values(queries)
    return queries


def check_unit_values(queries: Queries) -> None:
    """Refuse stored values outside [0, 1], on which every sensitivity of query release rests.

    Implicit workloads hold zeros and ones by construction; parts of unions and weighted ones are checked.
    """
    for part in getattr(queries, "parts", ()) or (getattr(queries, "inner", None),):
        if part is not None:
            check_unit_values(part)
    values = _values(queries)
    if values is not None and values.size and not (values.min() >= 0 and values.max() <= 1):
        raise InvalidArgument(
            "the values of a linear query must lie in [0, 1]: shift and scale the rows of Q first."
        )


def _values(queries: Queries) -> np.ndarray | None:
    if isinstance(queries, Dense):
        return queries.matrix
    return queries.values if isinstance(queries, Sparse) else None
