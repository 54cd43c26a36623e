"""Compiled products of stored rows with a vector, shared by every representation that keeps its rows.

A representation hands its arrays over as a tuple, and the tuple's length says how the rows lie:
`(matrix,)` rows of numbers of any type, `(indptr, cells, values)` compressed sparse rows. `dot_row` is
compiled for each kind where it is used, so that a selector can fuse evaluation with what surrounds it.

Sums may be reassociated (that is what makes them fast), never computed in less than float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit, prange
from numba.extending import overload

__all__ = [
    "REASSOCIATE",
    "THREADED",
    "add_rows",
    "centred_norm",
    "dot_all",
    "dot_all_threaded",
    "dot_row",
    "dot_some",
    "half_range",
]

REASSOCIATE = {"reassoc", "nsz", "contract"}  # keeps NaN and infinity meaningful, unlike fastmath=True
THREADED = 4_000_000  # bytes of rows from which a pass gains by threads


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


def _spread(data: Any, i: int, dim: int) -> tuple[float, float]:
    """(half the range, centred norm) of row i; callable from compiled code only."""
    raise NotImplementedError("_spread exists in compiled code only.")


@overload(_spread)
def _spread_row(data, i, dim):
    if len(data) == 1:

        def stored(data, i, dim):
            row = data[0][i]
            low = high = np.float64(row[0])
            mean = 0.0
            for j in range(dim):
                x = np.float64(row[j])
                low, high = min(low, x), max(high, x)
                mean += x / dim
            square = 0.0
            for j in range(dim):
                square += (row[j] - mean) ** 2
            return (high - low) / 2.0, np.sqrt(square)

        return stored

    def compressed(data, i, dim):
        indptr, _, values = data
        first, last = indptr[i], indptr[i + 1]
        zeros = dim - (last - first)
        low = high = 0.0 if zeros > 0 else values[first]
        mean = 0.0
        for k in range(first, last):
            low, high = min(low, values[k]), max(high, values[k])
            mean += values[k] / dim
        square = zeros * mean * mean
        for k in range(first, last):
            square += (values[k] - mean) ** 2
        return (high - low) / 2.0, np.sqrt(square)

    return compressed


@njit(cache=True)
def dot_all(data, v, out):
    """out_i = <k_i, v> for all i."""
    for i in range(out.size):
        out[i] = dot_row(data, i, v)


@njit(cache=True, parallel=True)
def dot_all_threaded(data, v, out):
    """`dot_all` on all threads: worth their start from about `THREADED` bytes of rows."""
    for i in prange(out.size):
        out[i] = dot_row(data, i, v)


@njit(cache=True)
def dot_some(data, ids, v, out):
    """out_k = <k_{ids_k}, v>."""
    for k in range(ids.size):
        out[k] = dot_row(data, ids[k], v)


@njit(cache=True)
def half_range(data, m, dim):
    """max_i (max_j k_ij - min_j k_ij) / 2."""
    widest = 0.0
    for i in range(m):
        widest = max(widest, _spread(data, i, dim)[0])
    return widest


@njit(cache=True)
def centred_norm(data, m, dim):
    """max_i |k_i - mean(k_i)|_2."""
    widest = 0.0
    for i in range(m):
        widest = max(widest, _spread(data, i, dim)[1])
    return widest


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


@njit(cache=True)
def add_rows(data, ids, weights, total):
    """total += sum_i weights_i k_i over i in `ids`."""
    for i in ids:
        _add_row(data, i, weights[i], total)
