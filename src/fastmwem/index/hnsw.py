"""HNSW: a layered graph whose edges lead to near points, walked greedily (Malkov and Yashunin)."""

from __future__ import annotations

from dataclasses import dataclass

from fastmwem.errors import check_whole
from fastmwem.index.base import Backend, Metric, Points

__all__ = ["Hnsw"]


@dataclass(frozen=True)
class Hnsw:
    """FAISS `IndexHNSWFlat`; the defaults are the paper's: M = 32, efConstruction = 100, efSearch = 64.

    >>> Hnsw(ef_search=128).links
    32
    """

    links: int = 32
    ef_construction: int = 100
    ef_search: int = 64
    metric: Metric = "inner-product"
    threads: int = 1

    def __post_init__(self) -> None:
        check_whole("links", self.links, 2)
        check_whole("ef_construction", self.ef_construction)
        check_whole("ef_search", self.ef_search)

    def memory(self, m: int, columns: int) -> float:
        """Bytes that the index of m points takes, roughly."""
        return m * (4.0 * columns + 4.0 * 2.2 * self.links + 32.0)  # vectors, links on all levels, offsets

    def build(self, points: Points) -> Backend:
        """The index over `points`."""
        from fastmwem.index.faiss_backend import FaissBackend, faiss, metric_of

        index = faiss.IndexHNSWFlat(points.columns, self.links, metric_of(points))
        index.hnsw.efConstruction = self.ef_construction
        index.hnsw.efSearch = self.ef_search
        return FaissBackend(index, points, self.threads)
