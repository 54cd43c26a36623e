"""Compressed sparse rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastmwem.errors import InvalidArgument, check_memory, check_whole
from fastmwem.queries.base import FloatArray, IntArray
from fastmwem.queries.stored import Stored

__all__ = ["Sparse"]


class Sparse(Stored):
    """Rows k_1 .. k_m of which only the cells that are not 0 are stored.

    Takes a SciPy sparse matrix or array of shape (m, dim), or the three CSR arrays. Products cost the
    number of stored cells.

    >>> queries = Sparse.from_arrays([0, 2, 3], [0, 2, 1], [1.0, 2.0, 1.0], dim=3)
    >>> queries.answers(np.array([0.5, 0.25, 0.25])).tolist()
    [1.0, 0.25]
    """

    def __init__(self, matrix: Any) -> None:
        from scipy import sparse

        if not sparse.issparse(matrix) or matrix.ndim != 2:
            raise InvalidArgument("matrix must be a SciPy sparse matrix with 2 axes: use Dense for an array.")
        if matrix.dtype.kind not in "buif":
            raise InvalidArgument(f"matrix must hold real numbers, not {matrix.dtype}: convert it first.")
        check_memory("matrix as sparse rows", 16.0 * matrix.nnz, "use fewer candidates")
        rows = sparse.csr_array(matrix, dtype=np.float64, copy=matrix.format != "csr")
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        self._store(rows.indptr, rows.indices, np.asarray(rows.data, np.float64), matrix.shape[1])

    @classmethod
    def from_arrays(cls, indptr: Any, cells: Any, values: Any, dim: int) -> Sparse:
        """Row i has `values[indptr[i]:indptr[i+1]]` at `cells[indptr[i]:indptr[i+1]]`."""
        from scipy import sparse

        dim = check_whole("dim", dim)
        starts, where, what = np.asarray(indptr), np.asarray(cells), np.asarray(values)
        if starts.ndim != 1 or where.ndim != 1 or what.shape != where.shape or starts.size < 1:
            raise InvalidArgument("indptr, cells and values must be vectors, the last two of one length.")
        if starts[0] != 0 or starts[-1] != where.size or (np.diff(starts) < 0).any():
            raise InvalidArgument("indptr must rise from 0 to the number of stored values.")
        if where.size and (where.dtype.kind not in "iu" or where.min() < 0 or where.max() >= dim):
            raise InvalidArgument(f"cells must hold whole numbers between 0 and {dim - 1}.")
        return cls(sparse.csr_array((what, where, starts), shape=(starts.size - 1, dim)))

    def _store(self, indptr: NDArray, cells: NDArray, values: FloatArray, dim: int) -> None:
        self.indptr = np.ascontiguousarray(indptr, np.int64)
        self.cells = np.ascontiguousarray(cells, np.int32 if dim < 2**31 else np.int64)
        self.values = np.ascontiguousarray(values, np.float64)
        self.m, self.dim = self.indptr.size - 1, int(dim)
        if self.m < 1 or self.dim < 1:
            raise InvalidArgument(
                f"matrix must have at least one row and one column, got ({self.m}, {self.dim})."
            )
        if not np.isfinite(self.values).all():
            raise InvalidArgument("matrix must be finite: it holds NaN or infinity.")

    def kernel_data(self) -> tuple[NDArray[np.int64], NDArray, FloatArray]:
        return self.indptr, self.cells, self.values

    @property
    def nbytes(self) -> int:
        return self.cells.nbytes + self.values.nbytes + self.indptr.nbytes

    def row(self, i: int) -> tuple[IntArray, FloatArray]:
        i = self._check_row(i)
        where = slice(self.indptr[i], self.indptr[i + 1])
        return self.cells[where].astype(np.int64), self.values[where].copy()
