"""IVF: k-means cells; a search scans the few cells whose centres score best."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fastmwem.errors import check_whole
from fastmwem.index.base import Backend, Metric, Points

__all__ = ["Ivf"]


@dataclass(frozen=True)
class Ivf:
    """FAISS `IndexIVFFlat`; by default the paper's nlist = max(2 sqrt(m), 20), nprobe = min(nlist/4, 10).

    >>> Ivf().cells(10_000), Ivf().probes(10_000)
    (200, 10)
    """

    nlist: int | None = None
    nprobe: int | None = None
    metric: Metric = "inner-product"
    threads: int = 1

    def __post_init__(self) -> None:
        for name in ("nlist", "nprobe"):
            if getattr(self, name) is not None:
                check_whole(name, getattr(self, name))

    def cells(self, m: int) -> int:
        """nlist for m points; never more than m."""
        return min(m, self.nlist or max(round(2 * math.sqrt(m)), 20))

    def probes(self, m: int) -> int:
        """nprobe for m points."""
        return self.nprobe or max(1, min(self.cells(m) // 4, 10))

    def memory(self, m: int, columns: int) -> float:
        """Bytes that the index of m points takes, roughly."""
        sample = min(m, 256 * self.cells(m))
        return 4.0 * columns * (m + sample + self.cells(m)) + 8.0 * m

    def build(self, points: Points) -> Backend:
        """The index over `points`."""
        from fastmwem.index.faiss_backend import FaissBackend, faiss, metric_of

        cells = self.cells(points.m)
        metric = metric_of(points)
        index = faiss.IndexIVFFlat(faiss.IndexFlat(points.columns, metric), points.columns, cells, metric)
        index.nprobe = self.probes(points.m)
        index.cp.min_points_per_centroid = 1  # 2 sqrt(m) cells are meant to hold few points: no warning
        return FaissBackend(index, points, self.threads, sample=256 * cells)
