"""Haar wavelets on one ordered column: intervals of all lengths from coarse to fine, each told once.

A line of n cells is halved again and again (the left half larger by one where it must be). The wavelet of a
piece is constant on its left half and on its right half, adds up to 0 and has L2 norm 1; all wavelets and
the constant are an orthonormal basis of R^n. Measuring every dyadic interval and reconciling them by least
squares is the same as measuring wavelets with a noise per level (Xiao, Wang, Gehrke 2010: Privelet).
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from fastmwem.queries.base import FloatArray, IntArray
from fastmwem.queries.marginals import Marginals

__all__ = ["Haar", "Wavelets"]


class Haar:
    """The n - 1 wavelets of a line of n cells as a sparse matrix, coarse levels first.

    >>> Haar(4).matrix.toarray().round(2).tolist()
    [[0.5, 0.5, -0.5, -0.5], [0.71, -0.71, 0.0, 0.0], [0.0, 0.0, 0.71, -0.71]]
    """

    def __init__(self, size: int) -> None:
        self.size = size
        rows: list[tuple[int, int, int]] = []
        levels: list[int] = []
        pieces = [(0, size)]
        while pieces := [(a, b) for a, b in pieces if b - a > 1]:
            levels.append(len(pieces))
            rows += [(a, (a + b + 1) // 2, b) for a, b in pieces]
            pieces = [half for a, b in pieces for half in ((a, (a + b + 1) // 2), ((a + b + 1) // 2, b))]
        self.pieces: IntArray = np.array(rows, np.int64).reshape(-1, 3)
        self.level: IntArray = np.repeat(np.arange(len(levels)), levels)
        low, middle, high = self.pieces.T
        left, right = middle - low, high - middle
        self.up: FloatArray = np.sqrt(right / (left * (left + right)))  # the value on the left half
        self.down: FloatArray = np.sqrt(left / (right * (left + right)))  # less the value on the right half

    @cached_property
    def matrix(self) -> csr_array:
        """One row per wavelet."""
        low, _, high = self.pieces.T
        pointers = np.concatenate([[0], np.cumsum(high - low)])
        data = np.repeat(np.stack([self.up, -self.down], 1).ravel(), self._halves().ravel())
        starts = np.repeat(low - pointers[:-1], high - low)
        return csr_array((data, np.arange(pointers[-1]) + starts, pointers), (len(low), self.size))

    def _halves(self) -> IntArray:
        low, middle, high = self.pieces.T
        return np.stack([middle - low, high - middle], 1)

    def largest_square(self) -> FloatArray:
        """For each level, the largest squared entry."""
        squares = np.maximum(self.up, self.down) ** 2
        return np.array([squares[self.level == k].max() for k in range(int(self.level.max(initial=-1)) + 1)])

    def prefixes(self) -> csr_array:
        """<wavelet, [0, b)> for b = 0 .. n, one column per b: its values added up."""
        lines = self.matrix
        sums = lines.data.cumsum()
        before = np.repeat(np.concatenate([[0.0], sums])[lines.indptr[:-1]], np.diff(lines.indptr))
        return csr_array((sums - before, lines.indices + 1, lines.indptr), (len(self.pieces), self.size + 1))


class Wavelets:
    """The map x -> wavelets of the marginal over one column, and its adjoint: the first `rows` of them."""

    def __init__(self, line: Marginals, haar: Haar, rows: int) -> None:
        self.line = line
        self.dim, self.m = line.dim, rows
        self._matrix = haar.matrix[:rows]
        self._transposed = csr_array(self._matrix.T)

    def answers(self, v: FloatArray) -> FloatArray:
        return np.asarray(self._matrix @ self.line.answers(v))

    def adjoint(self, weights: FloatArray) -> FloatArray:
        return self.line.adjoint(np.asarray(self._transposed @ weights))

    def mean_square(self) -> FloatArray:
        """The mean of each row's squared entries, where every cell holds as many entries."""
        return np.full(self.m, 1.0 / math.prod(self._matrix.shape[1:]))
