"""The paper's synthetic data and queries, from seeds: public, made for experiments."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fastmwem.queries.base import FloatArray
from fastmwem.queries.binary import Binary

__all__ = ["paper_histogram", "paper_queries"]


def paper_histogram(n: int, cells: int, seed: int) -> FloatArray:
    """n samples from N(U/3, U/15) as counts over the U = `cells` cells."""
    generator = np.random.default_rng([seed, 0])
    return np.bincount(_points(generator, cells / 3, cells / 15, n, cells), minlength=cells).astype(float)


def paper_queries(m: int, cells: int, seed: int) -> Binary:
    """m queries, each the set of cells that U/4 samples from N(U/2, U/5) fall into."""
    generator = np.random.default_rng([seed, 1])
    rows = np.zeros((m, cells), np.int8)
    for row in rows:
        row[_points(generator, cells / 2, cells / 5, cells // 4, cells)] = 1
    return Binary(rows)


def _points(
    generator: np.random.Generator, centre: float, spread: float, count: int, cells: int
) -> NDArray[np.int64]:
    """`count` normal samples rounded to cells; those that fall outside are drawn again."""
    points = np.empty(0, np.int64)
    while len(points) < count:
        drawn = np.rint(generator.normal(centre, spread, count)).astype(np.int64)
        points = np.append(points, drawn[(drawn >= 0) & (drawn < cells)])
    return points[:count]
