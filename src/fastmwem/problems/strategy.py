"""What to measure for a workload, and with how much noise each: all of it public, made before any data.

A strategy is a vector of linear measurements z = (number of rows, W H) with noise of standard deviation
multiplier * std_j on entry j. Its privacy is that of one Gaussian mechanism: `std` is scaled so that for all
neighbours the L2 norm of (change of z_j / std_j) is at most 1, hence the event gaussian(multiplier).
Under replace-one the number of rows is public and its std is 0.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from fastmwem.mw.maxent import LinearMap
from fastmwem.privacy.budget import Neighbours, Unit
from fastmwem.problems.method import PrivateData
from fastmwem.queries.base import FloatArray, Queries

__all__ = ["Joint", "QueryStrategy", "Stage", "Strategy"]

_LARGEST_DOMAIN = 1 << 26  # cells
TOTAL_SHARE = 0.02  # of the squared sensitivity, for the number of rows where nothing else tells it

Stage = tuple[
    LinearMap, int
]  # a map on the support, and how many of the measurements (after the total) it is


class Strategy(ABC):
    """Measurements for one workload of m queries; `std` includes the total's, first.

    `stages` are maps of growing detail, each answering a prefix of the measurements after the total;
    `shrinkage` is their fit's (see `mw.maxent_stages`), chosen on public tables;
    `spread` is the standard deviation of each of `estimates` at noise multiplier 1.
    """

    std: FloatArray
    spread: FloatArray
    stages: Sequence[Stage]
    shrinkage: tuple[float, float] = (0.1, 1.0)

    @abstractmethod
    def measure(self, data: PrivateData) -> FloatArray:
        """z without noise: private, in counts."""

    @abstractmethod
    def estimates(self, values: FloatArray) -> FloatArray:
        """Unbiased counts for the workload's queries from (noisy) z: linear, so post-processing."""


class QueryStrategy(Strategy):
    """Measures the queries themselves, all with the same noise.

    **Sensitivity.** Values q_i(x) lie in [0, 1]. Adding a row x moves the answers by (q_i(x))_i, of squared
    L2 norm sum q_i(x)^2 <= sum q_i(x) <= C, C the largest column sum. Replacing x by x' moves them by
    q_i(x) - q_i(x'), of squared norm at most sum |q_i(x) - q_i(x')| <= min(m, 2C). A person with k rows: k
    times the norm (triangle inequality).
    """

    def __init__(self, asked: Queries, placed: Queries, unit: Unit) -> None:
        self.asked = asked
        columns = _most_answered(asked)
        k = unit.rows_per_person
        if unit.neighbours is Neighbours.ADD_REMOVE:
            total, each = k / math.sqrt(TOTAL_SHARE), k * math.sqrt(columns / (1 - TOTAL_SHARE))
        else:
            total, each = 0.0, k * math.sqrt(min(asked.m, 2 * columns))
        self.spread = np.full(asked.m, each)
        self.std = np.concatenate([[total], self.spread])
        self.stages = [(placed, placed.m)]

    def measure(self, data: PrivateData) -> FloatArray:
        return np.concatenate([[float(data.rows())], data.answers(self.asked)])

    def estimates(self, values: FloatArray) -> FloatArray:
        return values[1:]


def _most_answered(asked: Queries) -> float:
    """C, or a bound on it where the domain is too large to go through: no row satisfies more than all m."""
    if asked.dim > _LARGEST_DOMAIN:
        return float(asked.m)
    return float(asked.adjoint(np.ones(asked.m)).max())


class Joint(Strategy):
    """Several strategies side by side, for a union of workloads; the first one's total serves all.

    Each part gets a share of the squared sensitivity in proportion to its worst variance, which makes the
    worst variances equal: the shares add up to 1, so the norm of the whole is at most 1.
    """

    def __init__(self, parts: Sequence[Strategy]) -> None:
        self.parts = parts
        worst = np.array([float(part.spread.max()) ** 2 for part in parts])
        factors = np.sqrt(worst.sum() / worst)
        self.factors = factors
        self.std = np.concatenate([part.std * f for part, f in zip(parts, factors, strict=True)])
        self.spread = np.concatenate([part.spread * f for part, f in zip(parts, factors, strict=True)])
        self.bounds = np.concatenate([[0], np.cumsum([part.std.size for part in parts])])
        self.shrinkage = min(part.shrinkage for part in parts)
        self.stages = ()  # a joint fit takes its parts' stages side by side

    def measure(self, data: PrivateData) -> FloatArray:
        return np.concatenate([part.measure(data) for part in self.parts])

    def estimates(self, values: FloatArray) -> FloatArray:
        pieces = np.split(values, self.bounds[1:-1])
        return np.concatenate([part.estimates(v) for part, v in zip(self.parts, pieces, strict=True)])
