"""Measuring intervals of one column by Haar wavelets, with the noise of each level chosen to fit ranges.

**Sensitivity.** A row lies in one cell; at each level one wavelet is not 0 there, of squared value at most
M_l. So adding or removing it costs sum_l M_l / s_l^2. Replacing cell x by x' changes nothing at levels
where both lie in one half of one piece, at most (2 sqrt(M_l))^2 at the one level where they lie in two
halves of one piece, and at most 2 M_l below: in all at most 2 sum_l M_l / s_l^2 + 2 max_l M_l / s_l^2.

**Noise.** All levels weigh alike in the error of a prefix: in each, b lies in one piece, whose two halves
differ by a number with noise of variance s_l^2 / M_l. A share f_l of the cost, s_l^2 = M_l / f_l, leaves of
a difference that varies by t_l^2 the variance 1 / (1/t_l^2 + f_l). The sum of these is least at
f_l = max(A - 1/t_l^2, 0) (water-filling): nothing is spent on levels whose differences drown in noise
whatever is done. t_l is guessed: t_0^2 = .15 n^2, falling by 2^1.5 a level, and no f_l is less than
.3 (.9^l) A, since a column may have most of its rows in few cells. A wrong guess costs error, never privacy.

The range [a, b) is the difference of two prefixes, whose noise is never negatively correlated (a wavelet
adds up to at least 0 over every prefix): its variance is at most the sum of theirs.
"""

from __future__ import annotations

import math

import numpy as np

from fastmwem.errors import InvalidArgument
from fastmwem.privacy.budget import Neighbours, Unit
from fastmwem.problems.method import PrivateData
from fastmwem.problems.strategy import Strategy
from fastmwem.queries.base import FloatArray
from fastmwem.queries.marginals import Marginals
from fastmwem.queries.ranges import Intervals
from fastmwem.queries.wavelets import Haar, Wavelets

__all__ = ["IntervalStrategy", "level_shares", "level_signals"]

# The guess of t_l^2 and the least share: tried on one-dimensional benchmark tables, 1,000 .. 2.8e7 rows
_SPREAD, _FALL, _LEAST, _LEAST_FALL = 0.15, 2.0**1.5, 0.3, 0.9


def level_signals(levels: int, signal: float) -> FloatArray:
    """t_l^2, the variance of the differences at each level, for `signal` = n over the noise multiplier."""
    return _SPREAD * signal**2 / _FALL ** np.arange(levels)


def level_shares(levels: int, signal: float) -> FloatArray:
    """f_l: which part of the cost each level gets; they add up to 1.

    >>> level_shares(4, math.inf).tolist(), level_shares(4, 10.0).round(2).tolist()
    ([0.25, 0.25, 0.25, 0.25], [0.44, 0.32, 0.12, 0.11])
    """
    least = _LEAST * _LEAST_FALL ** np.arange(levels)
    drowned = 1.0 / np.maximum(level_signals(levels, signal), 1e-12)

    def given(level: float) -> FloatArray:
        return np.maximum(level - drowned, least * level)

    low, high = 0.0, 2.0 / float(least.sum())
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if given(middle).sum() > 1 else (middle, high)
    return given(high) / given(high).sum()


class IntervalStrategy(Strategy):
    """All wavelets of the column of a workload of intervals.

    `signal` is the number of rows (or a public guess of it) over the noise multiplier and the rows a person.
    """

    def __init__(self, workload: Intervals, unit: Unit, signal: float = math.inf) -> None:
        if workload.length < 2:
            raise InvalidArgument("workload is constant: its column has one cell only.")
        self.workload = workload
        self.haar = haar = Haar(workload.length)
        largest = haar.largest_square()
        shares = level_shares(largest.size, signal)
        variance = largest / shares
        if unit.neighbours is Neighbours.ADD_REMOVE:  # the total is half a level more: a row moves it by 1
            total = 2.0 * largest.size
            cost = float((largest / variance).sum()) + 1 / total
        else:
            total = 0.0
            cost = 2 * float((largest / variance).sum() + (largest / variance).max())
        scale = cost * unit.rows_per_person**2
        each, total = scale * variance[haar.level], scale * total
        self.std = np.sqrt(np.concatenate([[total], each]))
        ramp = np.arange(haar.size + 1) / haar.size  # [0, b) = total * b/n + its wavelets
        self.spread = np.sqrt(self._of_ends(haar.prefixes().power(2).T @ each + total * ramp**2, add=True))
        line = Marginals(workload.domain, [(workload.axis,)], workload.records)
        cuts = np.cumsum(np.bincount(haar.level))
        chosen = sorted(
            {int(cuts[(len(cuts) * part) // 3 - 1]) for part in (1, 2, 3) if len(cuts) * part >= 3}
        )
        self.stages = [(Wavelets(line, haar, rows), rows) for rows in chosen]

    def measure(self, data: PrivateData) -> FloatArray:
        counts = data.marginal((self.workload.axis,))
        return np.concatenate([[counts.sum()], self.haar.matrix @ counts])

    def estimates(self, values: FloatArray) -> FloatArray:
        cells = self.haar.matrix.T @ values[1:] + values[0] / self.haar.size
        return self._of_ends(np.concatenate([[0.0], np.cumsum(cells)]), add=False)

    def _of_ends(self, at: FloatArray, add: bool) -> FloatArray:
        """For each query [a, b): at[b] - at[a], or at[b] + at[a]."""
        out = np.empty(self.workload.m)
        for begin in range(0, self.workload.m, 1 << 20):  # in pieces: there may be millions
            ids = np.arange(begin, min(begin + (1 << 20), self.workload.m), dtype=np.int64)
            low, high = self.workload.ends(ids)
            out[ids] = at[high] + at[low] if add else at[high] - at[low]
        return out
