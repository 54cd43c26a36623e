"""Measuring intervals of one column by Haar wavelets, with a noise per level that fits ranges.

**Sensitivity.** A row lies in one cell; at each level one wavelet is not 0 there, of squared value at most
M_l. So adding or removing it costs sum_l M_l / s_l^2. Replacing cell x by x' changes nothing at levels
where both lie in one half of one piece, at most (2 sqrt(M_l))^2 at the one level where they lie in two
halves of one piece, and at most 2 M_l below: in all at most 2 sum_l M_l / s_l^2 + 2 max_l M_l / s_l^2.

**Noise.** [0, b) is answered with variance sum_w <w, [0, b)>^2 s_w^2. Its mean over b is sum_l g_l s_l^2,
least at a given cost at s_l^2 proportional to sqrt(M_l / g_l). The range [a, b) is the difference of two
prefixes, so its standard deviation is at most the sum of theirs.
"""

from __future__ import annotations

import numpy as np

from fastmwem.errors import InvalidArgument
from fastmwem.privacy.budget import Neighbours, Unit
from fastmwem.problems.method import PrivateData
from fastmwem.problems.strategy import Strategy
from fastmwem.queries.base import FloatArray
from fastmwem.queries.marginals import Marginals
from fastmwem.queries.ranges import Intervals
from fastmwem.queries.wavelets import Haar, Wavelets

__all__ = ["IntervalStrategy"]


class IntervalStrategy(Strategy):
    """All wavelets of the column of a workload of intervals."""

    def __init__(self, workload: Intervals, unit: Unit) -> None:
        if workload.length < 2:
            raise InvalidArgument("workload is constant: its column has one cell only.")
        self.workload = workload
        self.haar = haar = Haar(workload.length)
        prefixes = haar.prefixes()
        gain = np.bincount(haar.level, np.asarray(prefixes.power(2).sum(axis=1)).ravel()) / haar.size
        largest = haar.largest_square()
        variance = np.sqrt(largest / gain)
        ramp = np.arange(haar.size + 1) / haar.size  # [0, b) = total * b/n + its wavelets
        if unit.neighbours is Neighbours.ADD_REMOVE:  # the total is one more level: a row moves it by 1
            total = float(np.sqrt(1 / np.mean(ramp**2)))
            cost = float((largest / variance).sum()) + 1 / total
        else:
            total = 0.0
            cost = 2 * float((largest / variance).sum() + (largest / variance).max())
        scale = cost * unit.rows_per_person**2
        each, total = scale * variance[haar.level], scale * total
        self.std = np.sqrt(np.concatenate([[total], each]))
        prefix_spread = np.sqrt(prefixes.power(2).T @ each + total * ramp**2)
        self.spread = self._of_ends(prefix_spread, add=True)
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
