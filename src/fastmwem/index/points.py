"""Candidates as points: offsets and signs become geometry, so that any structure over points can be used.

The score <k_i, v> - a_i of candidate i is the inner product of two vectors with one coordinate more:

    point_i = (k_i - mean(k_i), L (a_i - mean(k_i) mass)),    probe = (v, -1/L),    mass = sum(v),

since <k_i - mean(k_i), v> = <k_i, v> - mean(k_i) mass. Centring takes away what all rows share, which is
where inner products with a probability vector waste their precision. Signed candidates are searched with
+probe and -probe; complements are never stored, as two antipodal clusters would trap a graph or a k-means
search in one of them. L changes no score; it balances the coordinates for structures that compare points.

The appendix's reduction to nearest neighbours appends sqrt(B^2 - |point|^2), B the largest norm, and 0 to the
probe: then |point - probe|^2 = B^2 + |probe|^2 - 2 score.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fastmwem.errors import InvalidArgument, check_memory
from fastmwem.index.base import Found, Index, Metric, Spec, distinct
from fastmwem.index.tail import Certified
from fastmwem.queries.base import Candidates, FloatArray, IntArray

__all__ = ["CandidatePoints", "SpecIndex"]

Float32Array = np.ndarray[Any, np.dtype[np.float32]]
BLOCK = 1024  # rows written out in float64 at a time


class CandidatePoints:
    """The candidates as float32 points (`Points`), for probes that sum to `mass`."""

    def __init__(self, candidates: Candidates, metric: Metric, mass: float) -> None:
        self.candidates, self.mass = candidates, mass
        self.metric: Metric = metric
        self.m = candidates.m
        self.columns = candidates.dim + (1 if metric == "inner-product" else 2)
        with np.errstate(over="ignore", invalid="ignore"):
            squares, offsets, self._largest_mean = self._measure()
            self.stretch = _stretch(float(squares.mean()) / candidates.dim, float(offsets.var()))
            norms = squares + (self.stretch * offsets) ** 2
            self._missing = np.sqrt(norms.max() - norms)  # the appendix's extra coordinate
        if not float(norms.max()) < float(np.finfo(np.float32).max):
            raise InvalidArgument(
                "the candidates hold values beyond float32's range: scale them, or use index='flat'."
            )
        self.highest = float(np.abs(offsets).max() if candidates.signed else (-offsets).max())

    def _rows(self, ids: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Centred rows, the means that they had, and their offsets."""
        rows = self.candidates.queries.dense(ids)
        means = rows.mean(axis=1)
        return rows - means[:, None], means, self.candidates.offsets[ids] - means * self.mass

    def _measure(self) -> tuple[FloatArray, FloatArray, float]:
        """Squared norms of the centred rows, offsets, and the largest |mean(k_i)|."""
        squares, offsets, largest = np.empty(self.m), np.empty(self.m), 0.0
        for start in range(0, self.m, BLOCK):
            ids = np.arange(start, min(start + BLOCK, self.m))
            rows, means, offsets[ids] = self._rows(ids)
            squares[ids] = np.einsum("ij,ij->i", rows, rows)
            largest = max(largest, float(np.abs(means).max()))
        return squares, offsets, largest

    def block(self, ids: IntArray) -> Float32Array:
        """The points `ids`, shape (len(ids), columns)."""
        dim = self.candidates.dim
        points = np.empty((len(ids), self.columns), np.float32)
        for start in range(0, len(ids), BLOCK):
            some = slice(start, start + BLOCK)
            rows, _, offsets = self._rows(ids[some])
            points[some, :dim], points[some, dim] = rows, self.stretch * offsets
        if self.metric == "nearest-neighbour":
            points[:, dim + 1] = self._missing[ids]
        return points

    def bound(self, v: FloatArray) -> float:
        """An upper bound on every (signed) score at `v`: Hölder on v less its mean, plus an offset.

        A sum of v that is not quite `mass` moves a score by as much times the mean of its row.
        """
        spread, beside = v - v.mean(), abs(float(v.sum()) - self.mass)
        bound = self.candidates.queries.half_range * float(np.abs(spread).sum()) + self.highest
        return bound + beside * self._largest_mean

    def probe(self, v: FloatArray) -> Float32Array:
        """`v` as a probe among the points."""
        probe = np.zeros(self.columns, np.float32)
        probe[: len(v)], probe[len(v)] = v, -1.0 / self.stretch
        return probe


def _stretch(entries: float, offsets: float) -> float:
    """L, such that the offset varies as much as a typical coordinate; takes the variances of both."""
    if not (entries > 0 and offsets > 0):
        return 1.0
    return min(max(math.sqrt(entries / offsets), 1e-9), 1e9)


class SpecIndex(Index):
    """Any `Spec`'s structure over the candidates. It vouches for an a-priori bound only."""

    def __init__(self, candidates: Candidates, spec: Spec, mass: float) -> None:
        super().__init__(candidates)
        columns = candidates.dim + 2
        check_memory(
            f"{type(spec).__name__} over {candidates.m:,} candidates of {candidates.dim:,} cells",
            float(spec.memory(candidates.m, columns)) + 16.0 * candidates.m + 16.0 * BLOCK * columns,
            "use index='flat', or the selector 'certified', which need no copy of the candidates",
        )
        self.points = CandidatePoints(candidates, spec.metric, mass)
        self.backend = spec.build(self.points)

    def search(self, v: FloatArray, k: int) -> Found:
        k = self._check(v, k)
        if abs(float(v.sum()) - self.points.mass) > 1e-6 * (1.0 + float(np.abs(v).sum())):
            raise InvalidArgument(
                f"v must sum to {self.points.mass:g}, the mass that the index was built for."
            )
        probe = self.points.probe(v)
        ids = [distinct(self.backend.nearest(probe, k), self.candidates.m)]
        if self.candidates.signed:
            ids.append(distinct(self.backend.nearest(-probe, k), self.candidates.m))
        signs = np.repeat([1, -1], [len(ids[0]), sum(map(len, ids[1:]))])
        return self._found(np.concatenate(ids), signs, k, v, Certified(self.points.bound(v)))
