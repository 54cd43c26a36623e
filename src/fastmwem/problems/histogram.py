r"""The baseline: noise on every cell of the histogram, then a histogram that is possible.

Laplace noise in proportion to the L1 sensitivity of the histogram: a row lies in one cell, so k rows move it
by k under add-remove and by 2k under replace-one. From the noisy counts y, without data, cells that look like
noise are set to 0 or shrunk until the rest has the right sum (n, or sum y), and large ones stay as they are.
(The nearest non-negative vector of that sum takes as much off large cells as off small ones. Over regions
that hold most of the people this adds up to a bias, which was found to double the error where n is large.)

**Error.** |<q, yhat> - <q, H>| <= |<q, yhat - y>| + |<q, y - H>|; the first is public, the second a sum of
independent Laplace variables of scale b times values in [0, 1]; `laplace_tail` bounds it by Chernoff.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fastmwem.mw.loop import Progress
from fastmwem.privacy.calibrate import fit_to_budget
from fastmwem.privacy.events import laplace
from fastmwem.privacy.ledger import Ledger
from fastmwem.privacy.noise import add_laplace
from fastmwem.privacy.randomness import Randomness
from fastmwem.problems.method import Outcome, Prediction, PrivateData, Problem, check_cells
from fastmwem.queries.base import FloatArray

__all__ = ["HistogramNoise", "firm_to_total", "laplace_tail"]

_FIRM, _HALVINGS = 3.0, 60


@dataclass(frozen=True)
class HistogramNoise:
    """Laplace noise on every cell of the full domain: best where there are few, hopeless where many."""

    name = "histogram"

    def noise(self, problem: Problem) -> tuple[float, float]:
        """The noise multiplier (b over the L1 sensitivity), and b itself, in counts."""
        multiplier = 1.0 / fit_to_budget(problem.budget, laplace(1.0), using=problem.accountant)
        moved = problem.unit.rows_per_person * (1 if problem.counts else 2)
        return multiplier, multiplier * moved

    def predict(self, problem: Problem) -> Prediction | None:
        """The noise of the widest query, over n, less what the threshold was found to gain.

        Where the noise of a cell is r times an average count, most of it falls on cells that hold next to
        nothing, and the threshold takes it away: the more so, the more cells a query adds up. Where noise
        drowns everything the model is nearly uniform, whose own error is about a quarter. Constants fitted
        to the paper's workload, random halves, and marginals of correlated columns, n = 300 .. 300,000.
        """
        if problem.n is None or problem.on_support:
            return None
        _, scale = self.noise(problem)
        sizes = problem.workload.answers(np.ones(problem.cells))
        spread = scale * math.sqrt(2.0) / problem.n
        # Over all m queries the worst is about sqrt(2 ln m) deviations of the widest one; a query and its
        # complement have the same error once the total is known, so half of the cells is the widest.
        widest = min(float(sizes.max()), problem.cells / 2)
        typical = float(np.sqrt(np.minimum(sizes, problem.cells - sizes).clip(1)).mean())
        deviations = math.sqrt(2.0 * math.log(max(problem.workload.m, 2)))
        share = 2.0 * widest / problem.cells
        gain = 1.0 + 0.35 * math.sqrt(share * max(1.0, spread * problem.cells))  # spread * cells is r
        largest = spread * math.sqrt(widest) * deviations / gain
        return Prediction(
            self.name,
            largest / math.hypot(1, 4 * largest),
            min(1.0, spread * typical * math.sqrt(2 / math.pi) / gain),
            rounds=0,
            seconds=1e-7 * problem.cells,
            bytes=32 * problem.cells,
        )

    def run(
        self,
        problem: Problem,
        data: PrivateData,
        ledger: Ledger,
        randomness: Randomness,
        progress: Progress | None = None,
    ) -> Outcome:
        """One Laplace mechanism, one threshold."""
        check_cells(problem.cells)
        multiplier, scale = self.noise(problem)
        event = laplace(multiplier)
        ledger.authorise(event)
        counts = data.histogram()
        ledger.record(event)
        noisy = add_laplace(counts, scale, randomness)
        total = float(problem.n) if not problem.counts and problem.n else max(1.0, float(noisy.sum()))
        possible = firm_to_total(noisy, total)
        workload = problem.workload
        # Values lie in [0, 1], so sum q^2 <= sum q.
        noise = laplace_tail(scale, workload.answers(np.ones(problem.cells)), beta=0.05)
        bounds = (np.abs(workload.answers(possible - noisy)) + noise) / total
        if progress is not None:
            progress(1, 1)
        return Outcome(
            distribution=possible / total,
            total=total,
            bounds=np.minimum(bounds, 1.0),
            bound_kind="holds for each answer with probability 95 %",
            details={"noise_scale": scale},
        )


def laplace_tail(scale: float, sizes: FloatArray, beta: float) -> FloatArray:
    """t with P(|sum_j q_j Z_j| > t) <= beta, for Z_j ~ Laplace(`scale`) and sum_j q_j^2 <= `sizes`, q_j <= 1.

    ln E exp(u q Z) = -ln(1 - u^2 q^2 b^2) <= 2 u^2 q^2 b^2 for |u q b| <= 1/sqrt(2), so Chernoff with
    u = min(sqrt(L / (2 V)), 1/sqrt(2)) / b, L = ln(2/beta), V = sum q^2, gives t = 2 u V b^2 + L/u.
    """
    log_term = math.log(2.0 / beta)
    sizes = np.maximum(sizes, 1e-12)
    u = np.minimum(np.sqrt(log_term / (2.0 * sizes)), math.sqrt(0.5))
    return scale * (2.0 * u * sizes + log_term / u)


def firm_to_total(noisy: FloatArray, total: float) -> FloatArray:
    """Entries >= 0 that add up to `total`: 0 up to a threshold t, as they were from 3t on, linear between.

    >>> firm_to_total(np.array([5.0, 1.0, -1.0]), 5.0).round(6).tolist()
    [5.0, 0.0, 0.0]
    >>> firm_to_total(np.array([-1.0, -1.0]), 4.0).tolist()
    [2.0, 2.0]
    """
    ordered = np.sort(noisy[noisy > 0])
    if not ordered.size:
        return np.full(noisy.size, total / noisy.size)
    below = np.concatenate([[0.0], np.cumsum(ordered)])

    def kept(threshold: float) -> float:
        low, high = np.searchsorted(ordered, (threshold, _FIRM * threshold), side="right")
        between = below[high] - below[low] - (high - low) * threshold
        return float(below[-1] - below[high] + between * _FIRM / (_FIRM - 1))

    low, high = 0.0, float(ordered[-1])
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if kept(middle) > total else (low, middle)
    shrunk = np.clip((noisy - low) * _FIRM / (_FIRM - 1), 0.0, np.maximum(noisy, 0.0))
    return shrunk * (total / shrunk.sum())
