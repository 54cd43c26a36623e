"""Dense rows of floating-point numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastmwem.errors import InvalidArgument, check_choice, check_memory
from fastmwem.queries.base import FloatArray, IntArray
from fastmwem.queries.stored import Stored, check_ids, numeric_array

__all__ = ["Dense"]


class Dense(Stored):
    """Rows k_1 .. k_m as a dense matrix of shape (m, dim), in float64 or float32.

    A contiguous float32 or float64 matrix is used in place, not copied: do not change it afterwards.
    `dtype="float32"` halves the memory and the time of a scan; products are summed in float64 all the same.

    >>> queries = Dense([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]])
    >>> queries.answers(np.array([0.5, 0.25, 0.25])).tolist()
    [1.0, 0.25]
    >>> queries.half_range >= 1
    True
    """

    def __init__(self, matrix: Any, *, dtype: str | None = None) -> None:
        array = numeric_array("matrix", matrix, ndim=2)
        if dtype is None:
            dtype = "float32" if array.dtype == np.float32 else "float64"
        wanted = np.dtype(check_choice("dtype", dtype, ("float32", "float64")))
        if array.dtype != wanted or not array.flags.c_contiguous:
            fix = 'use dtype="float32", Binary or Sparse, or fewer candidates'
            check_memory("a copy of matrix", array.size * wanted.itemsize, fix)
        with np.errstate(over="ignore"):
            self.matrix: NDArray = np.ascontiguousarray(array, dtype=wanted)
        self.m, self.dim = self.matrix.shape
        block = max(1, (1 << 18) // self.dim)  # rows at a time: no mask as large as the matrix
        if not all(np.isfinite(self.matrix[i : i + block]).all() for i in range(0, self.m, block)):
            raise InvalidArgument(
                f"matrix must be finite: it holds NaN, infinity or numbers beyond {wanted}."
            )

    def kernel_data(self) -> tuple[NDArray]:
        return (self.matrix,)

    @property
    def nbytes(self) -> int:
        return self.matrix.nbytes

    def dense(self, ids: IntArray) -> FloatArray:
        return self.matrix[check_ids(ids, self.m)].astype(np.float64)

    def row(self, i: int) -> tuple[IntArray, FloatArray]:
        values = self.matrix[self._check_row(i)]
        cells = np.flatnonzero(values)
        return cells, values[cells].astype(np.float64)
