"""`measured` for any queries: T rounds that pick the worst query, measure it, and fit the model to all picks.

MWEM as first published (Hardt, Ligett, McSherry 2012), with the maximum-entropy fit in place of single
multiplicative updates. T and all sizes are fixed in advance, so any accountant may count them.

**Sensitivity.** In counts, <q_i, H> moves by at most k, the rows per person, whether a row is added,
removed or replaced (values lie in [0, 1]); N and p are public. So scores w_i s (<q_i, p> - <q_i, H>/N) move
by at most max w * k/N, and a pick is measured with noise sigma k. Under add-remove one more such
measurement buys N.

**Error.** With probability 1 - beta/2 the last pick's score is within (R/eps0) ln(4m/beta) of the best (the
mechanism's tail over 2m candidates), and with probability 1 - beta/2 it is at most what its own measurement
says plus z sigma k/N, one-sided. So all answers of the model that the last pick was made against are within
a known bound at once; the released model differs from that one by a public amount per query.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtri

from fastmwem.mw.loop import Progress
from fastmwem.mw.maxent import Evidence, Fit, maximum_entropy
from fastmwem.privacy.calibrate import Calibration, calibrate_rounds, rho
from fastmwem.privacy.events import exponential_mechanism, gaussian
from fastmwem.privacy.ledger import Ledger
from fastmwem.privacy.noise import add_gaussian
from fastmwem.privacy.randomness import Randomness
from fastmwem.problems.course import Course
from fastmwem.problems.method import Outcome, Prediction, PrivateData, Problem, check_cells
from fastmwem.problems.predict import independence
from fastmwem.queries.base import Candidates, FloatArray, Queries
from fastmwem.select import make_selector
from fastmwem.select.base import ExponentialMechanism

__all__ = ["Measured"]

_BETA = 0.05
_MOST_ROUNDS = 100
_SHRINKAGE = 0.1  # tau * sigma of the fit


class _Picked:
    """Some rows of a workload, written out."""

    def __init__(self, queries: Queries) -> None:
        self.queries, self.m, self.dim = queries, 0, queries.dim
        self.matrix = csr_array((0, queries.dim))

    def add(self, i: int) -> None:
        cells, values = self.queries.row(i)
        old = self.matrix
        pointers = np.concatenate([old.indptr, [old.nnz + len(cells)]])
        held = np.concatenate([old.data, values]), np.concatenate([old.indices, cells]), pointers
        self.m += 1
        self.matrix = csr_array(held, (self.m, self.dim))

    def answers(self, v: FloatArray) -> FloatArray:
        return np.asarray(self.matrix @ v)

    def adjoint(self, weights: FloatArray) -> FloatArray:
        return np.asarray(self.matrix.T @ weights)


@dataclass(frozen=True)
class Measured:
    """Pick, measure, fit: for workloads that are too many to measure, and people enough for a few picks."""

    name = "measured"

    def rounds(self, problem: Problem) -> int:
        """T: as many picks as can each be measured well, from public numbers."""
        assert problem.n is not None
        affordable = int(0.02 * problem.n / problem.unit.rows_per_person * math.sqrt(rho(problem.budget)))
        return min(max(8, min(affordable, _MOST_ROUNDS)), max(2, problem.workload.m))

    def calibration(self, problem: Problem, rounds: int) -> Calibration:
        """eps0 and the noise multiplier: half of the budget each."""
        extra = 1 if problem.counts else 0
        return calibrate_rounds(
            problem.budget, rounds, accountant=problem.accountant, gaussians=rounds + extra, share=0.5
        )

    def predict(self, problem: Problem) -> Prediction | None:
        """An optimisation error that falls with T, and selection noise that grows with it.

        The constants are fitted to the paper's workload, m = 1,000 and 5,000, n = 300 .. 300,000, and to
        random halves of 1,000 cells, m = 1,000 and n = 2,000.
        """
        if problem.n is None:
            return None
        rounds = self.rounds(problem)
        bought = self.calibration(problem, rounds)
        optimisation = 0.062 * math.sqrt(math.log(max(problem.cells, 2)) / rounds)
        width = 2 * problem.unit.rows_per_person * problem.largest_weight / problem.n
        selection = 0.276 * width / bought.eps0 * math.log(2 * problem.workload.m)
        apart = 1 + 1.64 * independence(problem.workload)
        largest = min(1.0, apart * math.hypot(optimisation, selection))
        each = 1e-9 * (problem.cells * min(problem.workload.m, 5_000) + 400 * rounds * problem.cells)
        return Prediction(
            self.name,
            largest,
            largest / 3.5,
            rounds=rounds,
            seconds=rounds * each,
            bytes=problem.cells * (64 + 12 * rounds) + 32 * problem.workload.m,
        )

    def run(
        self,
        problem: Problem,
        data: PrivateData,
        ledger: Ledger,
        randomness: Randomness,
        progress: Progress | None = None,
    ) -> Outcome:
        """T rounds, all authorised first, each event recorded before its outcome exists."""
        check_cells(problem.cells)
        if problem.n is None:  # add-remove without a guess of n: plan for a moderate table
            problem = Problem(
                problem.workload, problem.budget, problem.unit, 10_000, problem.accountant, problem.asked
            )
        rounds = self.rounds(problem)
        bought = self.calibration(problem, rounds)
        ledger.authorise(bought.event)
        noise, k = gaussian(bought.noise_multiplier), problem.unit.rows_per_person
        std = bought.noise_multiplier * k
        assert problem.n is not None
        total = float(problem.n)
        if problem.counts:
            ledger.record(noise)
            total = max(1.0, float(add_gaussian([float(data.rows())], std, randomness)[0]))
        asked = problem.workload if problem.asked is None else problem.asked
        truth = data.answers(asked)
        weights = problem.weights if problem.weights is not None else np.ones(asked.m)
        mechanism = ExponentialMechanism(bought.eps0, problem.largest_weight * k / total)
        candidates = Candidates(problem.workload.scored(), weights * truth / total, signed=True)
        selector = make_selector("auto", candidates, mechanism, randomness)

        picked, values = _Picked(problem.workload), np.empty(0)
        p = before = np.full(problem.cells, 1.0 / problem.cells)
        fit: Fit | None = None
        said, course, selected = 0.0, Course(problem.workload), []
        course.at(0, p)
        for t in range(rounds):
            ledger.record(exponential_mechanism(bought.eps0))
            pick = selector.pick(p)
            ledger.record(noise)
            measured = float(add_gaussian(truth[[pick.candidate]], std, randomness)[0]) / total
            answered = float(problem.workload.dot(np.array([pick.candidate]), p)[0])
            said = float(weights[pick.candidate]) * (
                abs(answered - measured) + _one_sided(_BETA / 2) * std / total
            )
            picked.add(pick.candidate)
            selected.append(problem.workload.describe(pick.candidate))
            values = np.append(values, measured)
            before = p
            fit = self._fit(picked, values, std / total, fit)
            p = fit.p
            course.at(t + 1, p)
            if progress is not None:
                progress(t + 1, rounds)
        assert fit is not None
        reach = said + math.log(4 * asked.m / _BETA) / mechanism.scale
        with np.errstate(divide="ignore"):  # an error that counts 0 times has no bound but 1
            bounds = np.abs(problem.workload.answers(p - before)) + reach / weights
        return Outcome(
            distribution=p,
            total=total,
            bounds=np.minimum(bounds, 1.0),
            bound_kind="holds for all answers at once with probability 95 %",
            details={
                "rounds": rounds,
                "gap": fit.gap,
                "eps0": bought.eps0,
                "selected": selected,
                "course": course.moves(),
            },
        )

    def _fit(self, picked: _Picked, values: FloatArray, sigma: float, last: Fit | None) -> Fit:
        """The model of all picks so far, from where the last one ended."""
        start = None if last is None else [np.append(last.multipliers[0], 0.0)]
        evidence = Evidence(picked, values, np.full(picked.m, sigma))
        return maximum_entropy([evidence], tau=_SHRINKAGE / sigma, start=start)


def _one_sided(beta: float) -> float:
    """z with P(N(0, 1) > z) = beta."""
    return float(ndtri(1 - beta))
