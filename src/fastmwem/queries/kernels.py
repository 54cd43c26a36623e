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
PART = 256  # rows that a thread takes at a time
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


def _dot_rows(data: Any, first: int, last: int, v: Any, out: Any) -> None:
    """out_i = <k_i, v> for first <= i < last; callable from compiled code only."""
    raise NotImplementedError("_dot_rows exists in compiled code only.")


@overload(_dot_rows, jit_options={"fastmath": REASSOCIATE})
def _dot_some_rows(data, first, last, v, out):
    if len(data) == 1 and data[0].dtype == types.int8:

        def bits(data, first, last, v, out):
            """Eight rows abreast: one row's stream from memory leaves the arithmetic waiting."""
            matrix, whole = data[0], last - (last - first) % 8
            for i in range(first, whole, 8):
                s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
                for j in range(v.size):
                    x = v[j]
                    s0 += x if matrix[i, j] == 1 else 0.0
                    s1 += x if matrix[i + 1, j] == 1 else 0.0
                    s2 += x if matrix[i + 2, j] == 1 else 0.0
                    s3 += x if matrix[i + 3, j] == 1 else 0.0
                    s4 += x if matrix[i + 4, j] == 1 else 0.0
                    s5 += x if matrix[i + 5, j] == 1 else 0.0
                    s6 += x if matrix[i + 6, j] == 1 else 0.0
                    s7 += x if matrix[i + 7, j] == 1 else 0.0
                out[i], out[i + 1], out[i + 2], out[i + 3] = s0, s1, s2, s3
                out[i + 4], out[i + 5], out[i + 6], out[i + 7] = s4, s5, s6, s7
            for i in range(whole, last):
                out[i] = dot_row(data, i, v)

        return bits

    def one_by_one(data, first, last, v, out):
        for i in range(first, last):
            out[i] = dot_row(data, i, v)

    return one_by_one


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
    _dot_rows(data, 0, out.size, v, out)


@kernel(parallel=True)
def dot_all_threaded(data, v, out):
    """`dot_all` on all threads: worth their start from `THREADED` bytes of rows."""
    for part in prange((out.size + PART - 1) // PART):
        _dot_rows(data, part * PART, min((part + 1) * PART, out.size), v, out)


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
