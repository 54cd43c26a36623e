"""Compiled products of stored rows with a vector, shared by every representation that keeps its rows.

A representation hands its arrays over as a tuple, and the tuple's length says how the rows lie:
`(matrix,)` rows of numbers, int8 for zeros and ones only; `(indptr, cells, values)` compressed sparse rows.
`dot_row` is compiled for each kind where it is used, so that a selector can fuse evaluation with what
surrounds it.

Sums may be reassociated (that is what makes them fast), never computed in less than float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange, types
from numba.extending import overload

from fastmwem.kernels import kernel

__all__ = [
    "REASSOCIATE",
    "THREADED",
    "add_rows",
    "constants",
    "constants_threaded",
    "dot_all",
    "dot_all_threaded",
    "dot_row",
    "dot_row_twice",
    "dot_some",
    "ones",
]

REASSOCIATE = {"reassoc", "nsz", "contract"}  # keeps NaN and infinity meaningful, unlike fastmath=True
THREADED = 16_000_000  # bytes of rows from which a pass gains by threads even where cores are busy


def dot_row(data: Any, i: int, v: Any) -> float:
    """<k_i, v>; callable from compiled code only."""
    raise NotImplementedError("dot_row exists in compiled code only.")


@overload(dot_row, jit_options={"fastmath": REASSOCIATE})
def _dot_row(data, i, v):
    if len(data) == 1:

        def stored(data, i, v):
            row, total = data[0][i], 0.0
            for j in range(v.size):
                total += row[j] * v[j]
            return total

        return stored

    def compressed(data, i, v):
        indptr, cells, values = data
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += values[k] * v[cells[k]]
        return total

    return compressed


def dot_row_twice(data: Any, i: int, v: Any, w: Any) -> tuple[float, float]:
    """<k_i, v> and <k_i, w> in one pass over the row; callable from compiled code only."""
    raise NotImplementedError("dot_row_twice exists in compiled code only.")


@overload(dot_row_twice, jit_options={"fastmath": REASSOCIATE})
def _dot_row_twice(data, i, v, w):
    if len(data) == 1:

        def stored(data, i, v, w):
            row, first, second = data[0][i], 0.0, 0.0
            for j in range(v.size):
                k = np.float64(row[j])
                first += k * v[j]
                second += k * w[j]
            return first, second

        return stored

    def compressed(data, i, v, w):
        indptr, cells, values = data
        first, second = 0.0, 0.0
        for k in range(indptr[i], indptr[i + 1]):
            first += values[k] * v[cells[k]]
            second += values[k] * w[cells[k]]
        return first, second

    return compressed


def _spread(data: Any, i: int, dim: int) -> tuple[float, float, float]:
    """(half the range, centred norm, largest absolute value) of row i; from compiled code only."""
    raise NotImplementedError("_spread exists in compiled code only.")


@overload(_spread, jit_options={"fastmath": True})  # stored numbers are finite
def _spread_row(data, i, dim):
    if len(data) == 1 and data[0].dtype == types.int8:

        def bits(data, i, dim):
            row, count = data[0][i], 0
            for j in range(dim):
                count += row[j]
            mixed = 0.5 if 0 < count < dim else 0.0
            return mixed, np.sqrt(count * (1.0 - count / dim)), 1.0

        return bits

    if len(data) == 1:

        def stored(data, i, dim):
            row = data[0][i]
            low = high = row[0]
            total = 0.0
            for j in range(dim):
                low, high = min(low, row[j]), max(high, row[j])
                total += row[j]
            mean, square = total / dim, 0.0
            for j in range(dim):
                d = row[j] - mean
                square += d * d
            low, high = np.float64(low), np.float64(high)
            return (high - low) / 2.0, np.sqrt(square), max(abs(low), abs(high))

        return stored

    def compressed(data, i, dim):
        indptr, _, values = data
        first, last = indptr[i], indptr[i + 1]
        zeros = dim - (last - first)
        low = high = 0.0 if zeros > 0 else values[first]
        total = 0.0
        for k in range(first, last):
            low, high = min(low, values[k]), max(high, values[k])
            total += values[k]
        mean = total / dim
        square = zeros * mean * mean
        for k in range(first, last):
            square += (values[k] - mean) ** 2
        return (high - low) / 2.0, np.sqrt(square), max(abs(low), abs(high))

    return compressed


@kernel
def dot_all(data, v, out):
    """out_i = <k_i, v> for all i."""
    for i in range(out.size):
        out[i] = dot_row(data, i, v)


@kernel(parallel=True)
def dot_all_threaded(data, v, out):
    """`dot_all` on all threads: worth their start from `THREADED` bytes of rows."""
    for i in prange(out.size):
        out[i] = dot_row(data, i, v)


@kernel
def dot_some(data, ids, v, out):
    """out_k = <k_{ids_k}, v>."""
    for k in range(ids.size):
        out[k] = dot_row(data, ids[k], v)


@kernel
def ones(matrix, i):
    """The cells at which row i of a 0/1 matrix is 1."""
    row = matrix[i]
    cells, found = np.empty(row.size + 1, np.int64), 0
    for j in range(row.size):  # without a branch, which a random row would mispredict
        cells[found] = j
        found += row[j]
    return cells[:found].copy()


@kernel
def constants(data, m, dim):
    """max_i of half the range, of the centred norm and of the largest absolute value of row i."""
    half, norm, largest = 0.0, 0.0, 0.0
    for i in range(m):
        spread = _spread(data, i, dim)
        half, norm, largest = max(half, spread[0]), max(norm, spread[1]), max(largest, spread[2])
    return half, norm, largest


@kernel(parallel=True)
def constants_threaded(data, m, dim):
    """`constants` on all threads."""
    half, norm, largest = 0.0, 0.0, 0.0
    for i in prange(m):
        spread = _spread(data, i, dim)
        half = max(half, spread[0])
        norm = max(norm, spread[1])
        largest = max(largest, spread[2])
    return half, norm, largest


def _add_row(data: Any, i: int, weight: float, total: Any) -> None:
    """total += weight * k_i; callable from compiled code only."""
    raise NotImplementedError("_add_row exists in compiled code only.")


@overload(_add_row)
def _add_one(data, i, weight, total):
    if len(data) == 1:

        def stored(data, i, weight, total):
            row = data[0][i]
            for j in range(total.size):
                total[j] += weight * row[j]

        return stored

    def compressed(data, i, weight, total):
        indptr, cells, values = data
        for k in range(indptr[i], indptr[i + 1]):
            total[cells[k]] += weight * values[k]

    return compressed


@kernel
def add_rows(data, ids, weights, total):
    """total += sum_i weights_i k_i over i in `ids`."""
    for i in ids:
        _add_row(data, i, weights[i], total)
