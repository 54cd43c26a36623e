"""What every representation that keeps its rows in memory shares: products, constants, checks."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastmwem.errors import InvalidArgument
from fastmwem.queries import kernels
from fastmwem.queries.base import FloatArray, IntArray, Queries

__all__ = ["Stored", "check_ids", "check_vector", "numeric_array"]

_OUTWARD = 1.0 + 1e-12  # covers the rounding of a constant that must be an upper bound


def numeric_array(name: str, value: Any, ndim: int) -> NDArray:
    """`value` as a real array with `ndim` axes and no empty one, or an error that names it."""
    try:
        array = np.asarray(value)
    except ValueError:
        raise InvalidArgument(f"{name} must be a rectangular array of numbers, its rows differ.") from None
    if array.dtype.kind not in "buif":
        raise InvalidArgument(f"{name} must hold real numbers, not {array.dtype}: convert it first.")
    if array.ndim != ndim or 0 in array.shape:
        raise InvalidArgument(
            f"{name} must have {ndim} axes and none of length 0, got shape {array.shape}: "
            "give at least one candidate and one cell."
        )
    return array


def check_vector(name: str, value: Any, size: int) -> FloatArray:
    """`value` as `size` finite float64 numbers."""
    array = np.asarray(value)
    if array.shape != (size,):
        raise InvalidArgument(f"{name} must have shape ({size},), got {array.shape}.")
    if array.dtype.kind not in "buif":
        raise InvalidArgument(f"{name} must hold real numbers, not {array.dtype}.")
    array = np.ascontiguousarray(array, np.float64)
    if not np.isfinite(array).all():
        raise InvalidArgument(f"{name} must be finite: it holds NaN or infinity.")
    return array


def check_ids(value: Any, m: int) -> IntArray:
    """`value` as candidate numbers in 0 .. m-1."""
    ids = np.asarray(value)
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        raise InvalidArgument(f"ids must be a vector of whole numbers, got {ids.dtype} of shape {ids.shape}.")
    if ids.size and (int(ids.min()) < 0 or int(ids.max()) >= m):
        raise InvalidArgument(f"ids must lie between 0 and {m - 1}.")
    return np.ascontiguousarray(ids, np.int64)


class Stored(Queries):
    """Rows in memory. A subclass stores them, says where (`kernel_data`), and gives single rows."""

    @abstractmethod
    def kernel_data(self) -> tuple[NDArray, ...]: ...

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes that one pass over all rows reads."""

    @cached_property
    def _constants(self) -> tuple[float, float, float]:
        measure = kernels.constants_threaded if self.nbytes > kernels.THREADED else kernels.constants
        half, norm, largest = measure(self.kernel_data(), self.m, self.dim)
        return half * _OUTWARD, norm * _OUTWARD, largest

    @property
    def half_range(self) -> float:
        return self._constants[0]

    @property
    def centred_norm(self) -> float:
        return self._constants[1]

    @property
    def largest(self) -> float:
        return self._constants[2]

    def answers(self, v: FloatArray) -> FloatArray:
        out = np.empty(self.m)
        scan = kernels.dot_all_threaded if self.nbytes > kernels.THREADED else kernels.dot_all
        scan(self.kernel_data(), check_vector("v", v, self.dim), out)
        return out

    def dot(self, ids: IntArray, v: FloatArray) -> FloatArray:
        ids = check_ids(ids, self.m)
        out = np.empty(ids.size)
        kernels.dot_some(self.kernel_data(), ids, check_vector("v", v, self.dim), out)
        return out

    def adjoint(self, weights: FloatArray) -> FloatArray:
        weights = check_vector("weights", weights, self.m)
        total = np.zeros(self.dim)
        kernels.add_rows(self.kernel_data(), np.flatnonzero(weights), weights, total)
        return total

    def _check_row(self, i: int) -> int:
        if not 0 <= i < self.m:
            raise InvalidArgument(f"i must lie between 0 and {self.m - 1}, got {i}.")
        return int(i)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(m={self.m}, dim={self.dim})"
