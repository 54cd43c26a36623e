"""Measuring marginals by their interactions, with the noise of each chosen to fit the workload.

The interactions c_A of all sets A in the downward closure of the workload determine its marginals and
overlap in nothing (see `queries.interactions`).

**Sensitivity.** A row adds a vector of squared norm P_A = prod(1 - 1/n_i, i in A) to c_A, whatever its
cell: so adding or removing it costs sum_A P_A / s_A^2, for noise s_A on every entry of c_A. Replacing cell
x by x' moves c_A by 2 (P_A - <u, u'>), u = u(x): the inner product of the two rows of the basis is a
product over A of 1 - 1/n_i where they agree and -1/n_i where they differ, hence at least -P_A / (min_i n_i
- 1): at most 2 P_A (1 + 1/(min n_i - 1)). The empty set is the number of rows, which replacement does not
move.

**Noise.** The estimate of a cell of the marginal B has variance sum over A in B of s_A^2 P_A prod(n_j^-2, j
in B - A), the same in all cells. The sum of these over all B of the closure (times their squared weights),
at a given cost sum_A k_A / s_A^2 = 1, is least at s_A^2 = sqrt(k_A / v_A) sum_C sqrt(k_C v_C), v_A the
coefficient of s_A^2 (Cauchy-Schwarz); weights are floored, so that it is above 0. The whole closure counts,
not only the workload, because after the maximum-entropy fit the error that is left is that of the low-order
part.
"""

from __future__ import annotations

import math

import numpy as np

from fastmwem.errors import InvalidArgument
from fastmwem.privacy.budget import Neighbours, Unit
from fastmwem.problems.method import PrivateData
from fastmwem.problems.strategy import Stage, Strategy
from fastmwem.queries.base import FloatArray
from fastmwem.queries.interactions import (
    Interactions,
    block,
    interactions_to_marginal,
    marginal_to_interactions,
)
from fastmwem.queries.marginals import Marginals, Subset, downward_closure

__all__ = ["MarginalStrategy", "Residuals", "row_cost"]

_LEAST = 0.01  # of the largest weight: what counts for less, or nothing, is measured with finite noise too


def row_cost(subset: Subset, shape: tuple[int, ...], neighbours: Neighbours) -> float:
    """k_A: the most by which one row's neighbours move c_A, squared.

    >>> row_cost((0,), (4,), Neighbours.ADD_REMOVE), row_cost((0,), (4,), Neighbours.REPLACE_ONE)
    (0.75, 2.0)
    """
    added = math.prod(1 - 1 / shape[i] for i in subset)
    if neighbours is Neighbours.ADD_REMOVE:
        return added
    if not subset or added == 0:
        return 0.0
    return 2 * added * (1 + 1 / (min(shape[i] for i in subset) - 1))


class Residuals:
    """Interactions of a downward-closed family: from marginals and back, with variances."""

    def __init__(self, shape: tuple[int, ...], closure: tuple[Subset, ...]) -> None:
        self.shape, self.closure = shape, closure
        sizes = [math.prod(shape[i] - 1 for i in subset) for subset in closure]
        cuts = np.concatenate([[0], np.cumsum(sizes)])
        self.rows = {s: slice(int(cuts[i]), int(cuts[i + 1])) for i, s in enumerate(closure)}
        self.sizes, self.m = sizes, int(cuts[-1])

    def cells(self, subset: Subset) -> tuple[int, ...]:
        return tuple(self.shape[i] for i in subset)

    def rest(self, inner: Subset, outer: Subset) -> int:
        """prod(n_j, j in outer - inner)."""
        return math.prod(self.shape[j] for j in outer if j not in inner)

    def of_marginals(self, tables: dict[Subset, FloatArray]) -> FloatArray:
        """Every interaction, from any marginals that cover the closure."""
        out = np.full(self.m, np.nan)
        for outer, table in tables.items():
            transformed = marginal_to_interactions(table, self.cells(outer))
            for inner in downward_closure([outer]):
                scale = math.sqrt(self.rest(inner, outer))
                out[self.rows[inner]] = np.reshape(transformed[block(inner, outer)], -1) * scale
        return out

    def marginal(self, values: FloatArray, outer: Subset) -> FloatArray:
        """The marginal over `outer` that the interactions in `values` add up to."""
        coefficients = np.zeros(self.cells(outer))
        for inner in downward_closure([outer]):
            part = values[self.rows[inner]] / math.sqrt(self.rest(inner, outer))
            coefficients[block(inner, outer)] = part.reshape(np.shape(coefficients[block(inner, outer)]))
        return interactions_to_marginal(coefficients, self.cells(outer)).reshape(-1)

    def variance_weights(self, outer: Subset) -> dict[Subset, float]:
        """How much the variance of c_A counts in that of a cell of the marginal over `outer`."""
        return {
            inner: math.prod(1 - 1 / self.shape[i] for i in inner) / self.rest(inner, outer) ** 2
            for inner in downward_closure([outer])
        }

    def tops(self) -> list[Subset]:
        """The largest sets: their marginals hold all interactions."""
        return [s for s in self.closure if not any(set(s) < set(other) for other in self.closure)]


class MarginalStrategy(Strategy):
    """All interactions below a marginal workload; see the module for the noise and its proof."""

    shrinkage = (1.0, 4.0)

    def __init__(self, workload: Marginals, unit: Unit, weights: FloatArray | None = None) -> None:
        self.workload = workload
        shape = workload.domain.shape
        closure = downward_closure(workload.subsets)
        self.residuals = residuals = Residuals(shape, closure)
        counts = marginal_weights(workload, weights)
        subsets = list(workload.subsets)
        gain = dict.fromkeys(closure, 0.0)
        for outer in closure:
            above = [w for s, w in zip(subsets, counts, strict=True) if set(outer) <= set(s)]
            for inner, share in residuals.variance_weights(outer).items():
                gain[inner] += max(above) ** 2 * share  # an error that counts w times has w^2 the variance
        cost = {s: row_cost(s, shape, unit.neighbours) for s in closure}
        whole = sum(math.sqrt(cost[s] * gain[s]) for s in closure)
        if whole == 0:
            raise InvalidArgument("workload is constant: every marginal in it has one cell only.")
        self.variance = {
            # No noise only where no neighbour moves anything: a cost without a gain divides by zero, loudly.
            s: math.sqrt(cost[s] / gain[s]) * whole * unit.rows_per_person**2 if cost[s] else 0.0
            for s in closure
        }
        each = np.sqrt([self.variance[s] for s in closure])
        self.std = np.repeat(each, residuals.sizes)
        self.spread = np.repeat([self.deviation(s) for s in subsets], workload.sizes)
        self.stages = self._stages(closure)

    def deviation(self, outer: Subset) -> float:
        """The standard deviation of every cell of a marginal, at noise multiplier 1."""
        parts = self.residuals.variance_weights(outer).items()
        return math.sqrt(sum(share * self.variance[inner] for inner, share in parts))

    def _stages(self, closure: tuple[Subset, ...]) -> list[Stage]:
        """One stage per order: single columns, pairs, ... (without the empty set, whose answer is 1)."""
        stages: list[Stage] = []
        for order in range(1, len(closure[-1]) + 1):
            known = tuple(s for s in closure if 0 < len(s) <= order and self.variance[s] > 0)
            if known and (not stages or len(known) > len(stages[-1][0].subsets)):  # type: ignore[attr-defined]
                interactions = Interactions(self.workload, known)
                stages.append((interactions, interactions.m))
        return stages

    def measure(self, data: PrivateData) -> FloatArray:
        return self.residuals.of_marginals({top: data.marginal(top) for top in self.residuals.tops()})

    def estimates(self, values: FloatArray) -> FloatArray:
        return np.concatenate([self.residuals.marginal(values, s) for s in self.workload.subsets])


def marginal_weights(workload: Marginals, weights: FloatArray | None) -> FloatArray:
    """One weight per marginal, relative to the largest: that of its queries that counts most.

    Never 0: all interactions enter the estimates, and noise in proportion to 1/0 would be none at all.
    """
    if weights is None:
        return np.ones(len(workload.subsets))
    each = np.array([weights[workload.slice(i)].max() for i in range(len(workload.subsets))])
    return np.maximum(each / each.max(), _LEAST)
