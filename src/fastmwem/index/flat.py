"""Flat: look at all of them. `Flat` is the only index that knows that it found the best.

It scans the candidates' own representation in float64 (int8, float, sparse or structured kernels) and
vouches `Exact`. `FaissFlat` is FAISS's scan of a float32 copy: rounding may hide a best score, so what it
leaves out needs a bound, as with every other index.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fastmwem.index.base import Backend, Found, Index, Metric, Points
from fastmwem.index.tail import Exact
from fastmwem.queries.base import FloatArray, IntArray

__all__ = ["FaissFlat", "Flat", "FlatIndex", "largest"]


@dataclass(frozen=True)
class Flat:
    """The exact scan: no copy of the candidates, nothing to set.

    >>> Flat()
    Flat()
    """


class FlatIndex(Index):
    """Scores everything and keeps the k best."""

    def search(self, v: FloatArray, k: int) -> Found:
        k = self._check(v, k)
        ids, signs = largest(self.candidates.scores(v), k, self.candidates.signed)
        return self._found(ids, signs, k, v, Exact())


def largest(scores: FloatArray, k: int, signed: bool) -> tuple[IntArray, IntArray]:
    """(ids, signs) of the k largest among `scores`, or among them and their negatives if `signed`."""
    both = np.concatenate([scores, -scores]) if signed else scores
    codes = np.argpartition(-both, k - 1)[:k] if k < len(both) else np.arange(len(both))
    return codes % len(scores), np.where(codes < len(scores), 1, -1)


@dataclass(frozen=True)
class FaissFlat:
    """FAISS `IndexFlat` over a float32 copy of the candidates."""

    metric: Metric = "inner-product"
    threads: int = 1

    def memory(self, m: int, columns: int) -> float:
        return 4.0 * m * columns

    def build(self, points: Points) -> Backend:
        from fastmwem.index.faiss_backend import FaissBackend, faiss, metric_of

        return FaissBackend(faiss.IndexFlat(points.columns, metric_of(points)), points, self.threads)
