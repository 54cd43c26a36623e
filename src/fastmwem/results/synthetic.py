"""Rows that follow a model: stratified rounding, then a shuffle."""

from __future__ import annotations

import numpy as np

from fastmwem.errors import check_whole
from fastmwem.privacy.randomness import Randomness
from fastmwem.queries.base import FloatArray, IntArray

__all__ = ["sample_cells"]


def sample_cells(distribution: FloatArray, rows: int, randomness: Randomness | None = None) -> IntArray:
    """`rows` cells drawn from `distribution`, in random order.

    The cumulative distribution is cut into `rows` strata of equal mass and one point is drawn in each,
    independently. Every cell then comes up n*p_j times in expectation and never more than 1 away from
    both of its neighbouring whole numbers' span; the count of any set of cells has the right mean and a
    variance at most that of independent rows (the variance between strata is gone), so marginals that
    were never measured follow the model as well as those that were. Cells are in row-major order, which
    makes the strata finest for the first columns. Post-processing: costs no privacy.

    >>> p = np.array([0.5, 0.25, 0.25])
    >>> np.bincount(sample_cells(p, 8, Randomness.seeded(1))).tolist()
    [4, 2, 2]
    """
    rows = check_whole("rows", rows)
    generator = (randomness or Randomness.private()).generator
    edges = np.cumsum(distribution)
    points = (np.arange(rows) + generator.random(rows)) * (edges[-1] / rows)
    cells = np.searchsorted(edges, points, side="right")
    # Rounding can put the last point past the end: it belongs to the last cell that has mass.
    np.minimum(cells, int(np.flatnonzero(distribution)[-1]), out=cells)
    generator.shuffle(cells)
    return cells
