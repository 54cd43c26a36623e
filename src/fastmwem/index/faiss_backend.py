"""What the FAISS indices share: training and filling block by block, searching, threads held back.

FAISS's own randomness (k-means seeds, graph levels, hash directions) is seeded with constants, so it is
public. That is fine: an index only decides where to look first.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import faiss
import numpy as np

from fastmwem.index.base import Points
from fastmwem.queries.base import IntArray

__all__ = ["FaissBackend", "faiss", "metric_of"]

BLOCK_BYTES = 32 * 2**20  # float32 points made at a time: enough to keep FAISS busy, small beside the index


class FaissBackend:
    """A FAISS index, trained on at most `sample` of the points, then filled with all of them."""

    def __init__(self, index: Any, points: Points, threads: int, sample: int = 0) -> None:
        self.index, self.threads = index, threads
        with _threads(threads):
            if not index.is_trained:
                size = min(points.m, sample)
                index.train(points.block(np.linspace(0, points.m - 1, size).astype(np.int64)))
            rows = max(1, BLOCK_BYTES // (4 * points.columns))
            for start in range(0, points.m, rows):
                index.add(points.block(np.arange(start, min(start + rows, points.m))))

    def nearest(self, probe: np.ndarray[Any, np.dtype[np.float32]], k: int) -> IntArray:
        with _threads(self.threads):
            return self.index.search(probe[None, :], min(k, self.index.ntotal))[1][0]


def metric_of(points: Points) -> int:
    """FAISS's name for the metric of `points`."""
    return faiss.METRIC_INNER_PRODUCT if points.metric == "inner-product" else faiss.METRIC_L2


@contextmanager
def _threads(count: int) -> Iterator[None]:
    """FAISS's thread count is one number per process: set it for the call, then put it back."""
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(count)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
