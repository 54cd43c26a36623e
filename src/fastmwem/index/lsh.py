"""LSH: signs of random projections; a search compares bit strings."""

from __future__ import annotations

from dataclasses import dataclass

from fastmwem.errors import check_whole
from fastmwem.index.base import Backend, Metric, Points

__all__ = ["Lsh"]


@dataclass(frozen=True)
class Lsh:
    """FAISS `IndexLSH` with `bits` random directions; at most one per column is used.

    Bits agree where angles are small, so by default the appendix's reduction gives all points one length:
    among such, the smallest angle is the largest inner product.

    >>> Lsh(bits=256).metric
    'nearest-neighbour'
    """

    bits: int = 1024
    metric: Metric = "nearest-neighbour"
    threads: int = 1

    def __post_init__(self) -> None:
        check_whole("bits", self.bits)

    def memory(self, m: int, columns: int) -> float:
        """Bytes that the index of m points takes, roughly."""
        bits = min(self.bits, columns)
        return m * bits / 8.0 + 4.0 * bits * max(bits, columns)

    def build(self, points: Points) -> Backend:
        """The index over `points`."""
        from fastmwem.index.faiss_backend import FaissBackend, faiss

        index = faiss.IndexLSH(points.columns, min(self.bits, points.columns))
        return FaissBackend(index, points, self.threads, sample=points.m)
