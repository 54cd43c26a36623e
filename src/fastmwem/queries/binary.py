"""Dense rows of zeros and ones, one byte a cell."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastmwem.errors import InvalidArgument, check_memory, check_whole
from fastmwem.queries import kernels
from fastmwem.queries.base import FloatArray, IntArray
from fastmwem.queries.stored import Stored, check_ids, numeric_array

__all__ = ["Binary"]

_FIX = "use Sparse, or fewer candidates"


class Binary(Stored):
    """Rows k_1 .. k_m of zeros and ones: each asks for the weight of a set of cells.

    One byte a cell, a quarter of float32; a contiguous int8, uint8 or bool matrix is used in place.

    >>> queries = Binary([[1, 0, 1], [0, 1, 0]])
    >>> queries.answers(np.array([0.5, 0.25, 0.25])).tolist()
    [0.75, 0.25]
    >>> Binary.from_cells([[0, 2], [1, 2]], dim=3).matrix.tolist()
    [[1, 0, 1], [0, 1, 1]]
    """

    def __init__(self, matrix: Any) -> None:
        array = numeric_array("matrix", matrix, ndim=2)
        if array.dtype.itemsize != 1 or not array.flags.c_contiguous:
            check_memory("matrix as one byte a cell", array.size, _FIX)
        if not all(((row == 0) | (row == 1)).all() for row in array):
            raise InvalidArgument(
                "matrix must hold zeros and ones only: use Dense or Sparse for other numbers."
            )
        if array.dtype.itemsize == 1 and array.flags.c_contiguous:
            self.matrix: NDArray[np.int8] = array.view(np.int8)
        else:
            self.matrix = np.ascontiguousarray(array, dtype=np.int8)
        self.m, self.dim = self.matrix.shape

    @classmethod
    def from_cells(cls, cells: Any, dim: int) -> Binary:
        """Row i is 1 on `cells[i]`; every row of `cells`, of shape (m, size), names as many cells."""
        where = numeric_array("cells", cells, ndim=2)
        dim = check_whole("dim", dim)
        if where.dtype.kind not in "iu" or int(where.min()) < 0 or int(where.max()) >= dim:
            raise InvalidArgument(f"cells must hold whole numbers between 0 and {dim - 1}.")
        check_memory("matrix as one byte a cell", where.shape[0] * dim, _FIX)
        matrix = np.zeros((where.shape[0], dim), np.int8)
        for row, ones in zip(matrix, where, strict=True):
            row[ones] = 1
        return cls(matrix)

    def kernel_data(self) -> tuple[NDArray[np.int8]]:
        return (self.matrix,)

    @property
    def nbytes(self) -> int:
        return self.matrix.nbytes

    def dense(self, ids: IntArray) -> FloatArray:
        return self.matrix[check_ids(ids, self.m)].astype(np.float64)

    def row(self, i: int) -> tuple[IntArray, FloatArray]:
        cells = kernels.ones(self.matrix, self._check_row(i))
        return cells, np.ones(cells.size)
