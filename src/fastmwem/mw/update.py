"""Multiplicative weights over the cells of a public space: the player of query release and of scalar LPs.

The state is public: a step looks at the pick (released) and at the picked row (public), nothing else.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from fastmwem.errors import InvalidArgument
from fastmwem.kernels import kernel
from fastmwem.mw.average import LazyAverage, settle
from fastmwem.mw.schedule import Step
from fastmwem.queries.base import FloatArray, IntArray, Queries
from fastmwem.select.base import Pick

__all__ = ["MultiplicativeWeights"]

# Weights are rebuilt from the log-weights this often, or sooner when their mass has moved this much: the
# incremental mass then stays exact to about 1e-12, and no weight leaves the range of a float.
_REBUILD_ROUNDS = 1024
_REBUILD_FACTOR = 64.0


@kernel
def _moments(weights, cells, values):
    first, second = 0.0, 0.0
    for k in range(cells.size):
        part = weights[cells[k]] * values[k]
        first += part
        second += part * values[k]
    return first, second


@kernel
def _tilt(log_weights, weights, losses, cells, values, step, scale):
    """log w -= step * values, losses += scale * values, on `cells`; returns by how much the mass grew."""
    grown, factor, of = 0.0, 1.0, 0.0
    for k in range(cells.size):
        if values[k] != of:  # one exponential for a whole binary row
            of = values[k]
            factor = math.exp(-step * of)
        j = cells[k]
        before = weights[j]
        weights[j] = before * factor
        log_weights[j] -= step * of
        losses[j] += scale * of
        grown += weights[j] - before
    return grown


@kernel
def _normalise(weights, mass, out):
    inverse = 1.0 / mass
    for j in range(weights.size):
        out[j] = weights[j] * inverse


class MultiplicativeWeights:
    """log w -= eta_t * s * k_i / `width` for each pick (i, s); the probe is p = w / sum(w).

    A round costs the non-zeros of the picked row and one pass over the cells that writes p.
    """

    def __init__(
        self, queries: Queries, step: Step, *, width: float = 1.0, prior: FloatArray | None = None
    ) -> None:
        self._queries = queries
        self._step = step
        self._width = width
        self._log_weights = _log_prior(prior, queries.dim)
        self._weights = np.empty(queries.dim)
        self._probe = np.empty(queries.dim)
        self._losses = np.zeros(queries.dim)
        self._incurred = 0.0
        self._average = LazyAverage(queries.dim)
        self._rebuild()

    def _rebuild(self) -> None:
        self._log_weights -= self._log_weights.max()
        np.exp(self._log_weights, out=self._weights)
        self._mass = self._mass_at_rebuild = float(self._weights.sum())
        self._age = 0

    def probe(self) -> FloatArray:
        """p_t, the iterate. Not copied: valid until `respond`."""
        _normalise(self._weights, self._mass, self._probe)
        return self._probe

    def respond(self, pick: Pick) -> None:
        """The step on the loss s * k_i / width, at the current iterate."""
        self._average.tick(self._mass)
        cells, values = self._queries.row(pick.candidate)
        self.apply(cells, values, pick.sign / self._width)

    def apply(self, cells: IntArray, values: FloatArray, scale: float) -> None:
        """log w -= eta_t * `scale` * values on `cells`."""
        first, second = _moments(self._weights, cells, values)
        mean = first / self._mass
        variance = max(second / self._mass - mean * mean, 0.0) * scale * scale
        step = self._step.next(variance) * scale
        settle(self._average.total, self._average.seen, self._weights, self._average.clock, cells)
        self._incurred += mean * scale
        self._mass += _tilt(self._log_weights, self._weights, self._losses, cells, values, step, scale)
        self._age += 1
        shrunk = self._mass * _REBUILD_FACTOR < self._mass_at_rebuild
        if shrunk or self._mass > _REBUILD_FACTOR * self._mass_at_rebuild or self._age >= _REBUILD_ROUNDS:
            self._average.settle_all(self._weights)
            self._rebuild()

    @property
    def regret(self) -> float:
        """(1/T) (sum_t <p_t, loss_t> - min over cells of sum_t loss_t): exact, and public like its parts.

        For every distribution h, (1/T) sum_t <loss_t, p_t - h> is at most this.
        """
        rounds = max(self._average.rounds, 1)
        return max(0.0, self._incurred - float(self._losses.min())) / rounds

    def output(self, iterate: Literal["average", "last"]) -> FloatArray:
        """The average of p_1 .. p_T (the paper's output) or the last iterate p_(T+1)."""
        if iterate == "average" and self._average.rounds:
            return self._average.value(self._weights)
        return np.array(self.probe())


def _log_prior(prior: FloatArray | None, dim: int) -> FloatArray:
    if prior is None:
        return np.zeros(dim)
    prior = np.asarray(prior, np.float64)
    if prior.shape != (dim,) or not (np.isfinite(prior).all() and (prior > 0).all()):
        raise InvalidArgument(f"prior must be {dim} finite numbers above 0, one a cell.")
    return np.log(prior)
