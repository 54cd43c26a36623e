"""`measured` for marginals: measure all of them coarsely, then again those that the model gets most wrong.

First the whole workload is measured once, as `direct` does, with a share of the budget. Then rounds: the
exponential mechanism picks a marginal of the downward closure (one column to all of a workload marginal's),
Gaussian noise measures it, and the maximum-entropy model is fitted to everything so far. What overlapping
measurements say of one interaction is averaged by inverse variance.

**Selection.** The score of the marginal r is w_r (|M_r H - N M_r p|_1 - sqrt(2/pi) sigma n_r): how wrong
the model is in counts, less the L1 norm of the noise that measuring it would add; w_r counts the columns
that r shares with the workload's marginals, at most 1. Adding or removing a row moves |M_r H - N M_r p|_1
by at most 1 (one cell by 1), replacing one by at most 2 (two cells by 1); k rows k times that; p and N are
public. The rest is public too.

**Budget.** When a round's measurement moved the model by less than its own noise, rounds have stopped
paying: the next ones get twice the eps0 and half the sigma, as in AIM (McKenna et al. 2022). So the sizes
of the mechanisms depend on earlier outcomes. zCDP may be added up even then, with the total fixed in
advance (a privacy filter: Feldman and Zrnic 2021; Whitehouse et al. 2023); `adaptive_sizes()` on the ledger
makes every accountant count so, also in an account that holds the run. The last round takes what is left.

**Bounds.** As in `direct`, from the averaged estimates; what is measured again is chosen with sight of
earlier noise, which these intervals do not account for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fastmwem.mw.loop import Progress
from fastmwem.mw.maxent import Fit
from fastmwem.mw.maxent_stages import staged_maximum_entropy
from fastmwem.privacy.calibrate import rho
from fastmwem.privacy.events import adaptive_sizes, composed, exponential_mechanism, gaussian
from fastmwem.privacy.ledger import Ledger
from fastmwem.privacy.noise import add_gaussian
from fastmwem.privacy.randomness import Randomness
from fastmwem.problems.course import Course
from fastmwem.problems.direct import Direct, evidence_stages, noisy, strategy_for
from fastmwem.problems.error_bounds import answer_bounds
from fastmwem.problems.marginal_strategy import MarginalStrategy, Residuals
from fastmwem.problems.method import Outcome, Prediction, PrivateData, Problem, check_cells
from fastmwem.queries.base import Candidates, FloatArray
from fastmwem.queries.dense import Dense
from fastmwem.queries.marginals import Marginals, Subset
from fastmwem.select import make_selector
from fastmwem.select.base import ExponentialMechanism

__all__ = ["Beliefs", "MeasuredMarginals", "marginal_scores"]

_FIRST = 0.7  # of rho, for measuring everything
_SELECT = 0.3  # of each round's rho, for the pick
_ROUNDS_PER_COLUMN = 2  # rounds planned before any growth of their budget


def marginal_scores(
    truth: list[FloatArray], model: list[FloatArray], weights: FloatArray, noise: float
) -> FloatArray:
    """weight * (L1 distance of the true (private) from the model's counts, less `noise` per cell)."""
    wrong = [np.abs(a - b).sum() - noise * len(b) for a, b in zip(truth, model, strict=True)]
    return weights * np.array(wrong)


@dataclass
class Beliefs:
    """Averaged noisy interactions, in counts: `mean`, and `variance` of every entry (0: exact)."""

    residuals: Residuals
    mean: FloatArray
    variance: FloatArray

    def update(self, subset: Subset, table: FloatArray, std: float) -> None:
        """Average in a marginal with independent noise of deviation `std` on every cell."""
        below = Residuals(
            self.residuals.shape, tuple(s for s in self.residuals.closure if set(s) <= set(subset))
        )
        found = below.of_marginals({subset: table})
        for inner in below.closure:
            rows = self.residuals.rows[inner]
            fresh = std**2 * below.rest(inner, subset)
            old = self.variance[rows]
            share = old / (old + fresh)  # 0 where the old value is exact
            self.mean[rows] += share * (found[below.rows[inner]] - self.mean[rows])
            self.variance[rows] = share * fresh


@dataclass(frozen=True)
class MeasuredMarginals:
    """Applies to one workload of marginals."""

    first: float = _FIRST
    name = "measured"

    def predict(self, problem: Problem) -> Prediction | None:
        """As `direct` with the first share of the budget; what the rounds add is not promised."""
        if not isinstance(problem.workload, Marginals) or max(problem.workload.sizes) < 2:
            return None
        once = Direct().predict(problem)
        if once is None:
            return None
        worse = 1 / math.sqrt(self.first)
        rounds = self.rounds(problem)
        return Prediction(
            self.name,
            min(1.0, once.max_error * worse),
            min(1.0, once.mean_error * worse),
            rounds=rounds,
            seconds=once.seconds * rounds,
            bytes=once.bytes,
        )

    def rounds(self, problem: Problem) -> int:
        """How many rounds there are at most."""
        workload = problem.workload
        assert isinstance(workload, Marginals)
        return max(2, _ROUNDS_PER_COLUMN * len({axis for s in workload.subsets for axis in s}))

    def run(
        self,
        problem: Problem,
        data: PrivateData,
        ledger: Ledger,
        randomness: Randomness,
        progress: Progress | None = None,
    ) -> Outcome:
        """One measurement of everything, then rounds until the budget's rho is spent."""
        check_cells(problem.cells)
        total_rho = rho(problem.budget)
        ledger.authorise(composed([adaptive_sizes(), gaussian(1 / math.sqrt(2 * total_rho))]))
        ledger.record(adaptive_sizes())
        run = _Run(problem, data, ledger, randomness, self.first * total_rho)
        planned = self.rounds(problem)
        left = total_rho * (1 - self.first)
        each = left / planned
        done = 0
        while left > 0:
            size = left if left < 2 * each else each  # the last round takes what is left
            paid = run.round(size)
            left = 0.0 if size == left else left - size
            each *= 1.0 if paid else 4.0
            done += 1
            run.course.at(done, run.fit.p)
            if progress is not None:
                progress(min(done, planned), planned)
        if progress is not None:
            progress(planned, planned)
        return run.outcome(done)


class _Run:
    """The state of one run: beliefs and model are public, `data` is not."""

    def __init__(
        self, problem: Problem, data: PrivateData, ledger: Ledger, randomness: Randomness, size: float
    ) -> None:
        strategy = strategy_for(problem)
        assert isinstance(strategy, MarginalStrategy)
        self.problem, self.data, self.ledger, self.randomness = problem, data, ledger, randomness
        self.strategy, residuals = strategy, strategy.residuals
        event = gaussian(1 / math.sqrt(2 * size))
        std = strategy.std / math.sqrt(2 * size)
        exact = strategy.measure(data)
        ledger.record(event)
        self.beliefs = Beliefs(residuals, noisy(exact, std, randomness), std**2)
        self.subsets = [s for s in residuals.closure if math.prod(residuals.cells(s)) > 1]
        self.space = strategy.workload.select(self.subsets)
        self.truth = [data.marginal(s) for s in self.subsets]
        shared = [sum(len(set(s) & set(o)) for o in strategy.workload.subsets) for s in self.subsets]
        self.weights = np.array(shared) / max(shared)
        self.fit = self.refit()
        self.course, self.selected = Course(problem.workload), []
        self.course.at(0, self.fit.p)

    @property
    def total(self) -> float:
        """N: the number of rows, public or noisy."""
        return max(1.0, float(self.beliefs.mean[0]))

    def refit(self) -> Fit:
        std = np.sqrt(self.beliefs.variance) / self.total
        stages = evidence_stages(self.strategy, self.beliefs.mean / self.total, std)
        return staged_maximum_entropy(stages, shrinkage=self.strategy.shrinkage)

    def round(self, size: float) -> bool:
        """Spend `size` (rho) on one pick and its measurement; whether the model moved by more than noise."""
        unit, counts = self.problem.unit, self.problem.counts
        moved = unit.rows_per_person * (1.0 if counts else 2.0)
        multiplier = 1 / math.sqrt(2 * (1 - _SELECT) * size)
        sigma = multiplier * unit.rows_per_person * (1.0 if counts else math.sqrt(2.0))
        mechanism = ExponentialMechanism(math.sqrt(8 * _SELECT * size), moved)
        model = [self.total * table for table in self._tables()]
        scores = marginal_scores(self.truth, model, self.weights, math.sqrt(2 / math.pi) * sigma)
        self.ledger.record(exponential_mechanism(mechanism.epsilon))
        chosen = Candidates(Dense(scores[:, None]), np.zeros(len(scores)), signed=False)
        index = make_selector("exhaustive", chosen, mechanism, self.randomness).pick(np.ones(1)).candidate
        self.selected.append(self.subsets[index])
        self.ledger.record(gaussian(multiplier))
        table = add_gaussian(self.truth[index], sigma, self.randomness)
        self.beliefs.update(self.subsets[index], table, sigma)
        self.fit = self.refit()
        change = float(np.abs(self.total * self._tables()[index] - model[index]).sum())
        return change > math.sqrt(2 / math.pi) * sigma * len(table)

    def _tables(self) -> list[FloatArray]:
        return np.split(self.space.answers(self.fit.p), self.space.bounds[1:-1])

    def outcome(self, rounds: int) -> Outcome:
        workload, residuals = self.strategy.workload, self.beliefs.residuals
        variance = {
            s: float(self.beliefs.variance[residuals.rows[s]].max(initial=0.0)) for s in residuals.closure
        }
        spread = [
            math.sqrt(sum(share * variance[s] for s, share in residuals.variance_weights(outer).items()))
            for outer in workload.subsets
        ]
        estimates = self.strategy.estimates(self.beliefs.mean)
        answers = self.total * workload.answers(self.fit.p)
        bounds = answer_bounds(answers, estimates, np.repeat(spread, workload.sizes)) / self.total
        return Outcome(
            distribution=self.fit.p,
            total=self.total,
            bounds=np.minimum(bounds, 1.0),
            bound_kind="for each answer, 95 % if what to measure again had not been chosen by looking",
            details={
                "rounds": rounds,
                "gap": self.fit.gap,
                "selected": [" × ".join(workload.domain.names[a] for a in s) for s in self.selected],
                "course": self.course.moves(),
            },
        )
