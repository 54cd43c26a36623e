r"""MWEM and Fast-MWEM: T rounds of the exponential mechanism and multiplicative weights, no measurement.

Algorithm 1 of the paper (classic MWEM) is `selection="exhaustive"`; Algorithm 2 (Fast-MWEM) is
`selection="lazy"` with an index; "certified" and "auto" draw from the same law faster. What is spent is the
same for all: T events of the exponential mechanism, and under add-remove one Gaussian for the number of rows.

**Sensitivity.** A query has values in [0, 1]; w_i is its weight, k the rows per person, (i, s) a candidate.

- replace-one (n public): score w_i s (<q_i, p> - <q_i, H>/n). Replacing k rows moves <q_i, H> by at most k,
  so every score moves by at most max w * k/n, and R is twice that (two scores can move apart).
- add-remove: n is private. A noisy n~ is bought first. The score is w_i s (<q_i, p> - a_i) with
  a_i = (<q_i, H> - (n - n~)/2)/n~: a row x moves it by w_i s (q_i(x) - 1/2)/n~, hence by at most
  max w * k/(2 n~): half of what the plain score moves by, for an error of |n - n~|/(2 n~).

**Error.** By convexity the average p has max_i |w_i (<q_i, p> - a_i)| <= (1/T) sum_t max score_t, a pick is
at most (R/eps0)(ln(2m) + X_t) below the best, X_t dominated by Exp(1) given the past, and the scores of the
picks add up to no more than the regret against H/n. So with probability 1 - beta, for all queries at once,

    w_i |<q_i, p> - a_i| <= regret + (R/eps0) (ln(2m) + 1 + sqrt(2 ln(1/beta)/T) + ln(1/beta)/T).

The regret is computed from the released picks. It holds for the average iterate, not for the last.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fastmwem.errors import InvalidArgument, check_choice, check_whole
from fastmwem.index.tail import Certified, Tail, parse_tail
from fastmwem.mw.loop import Progress, play
from fastmwem.mw.schedule import make_step, paper_epsilon
from fastmwem.mw.update import MultiplicativeWeights
from fastmwem.privacy.calibrate import calibrate_rounds, fit_to_budget
from fastmwem.privacy.events import DpEvent, composed, gaussian, repeated
from fastmwem.privacy.ledger import Ledger
from fastmwem.privacy.noise import add_gaussian
from fastmwem.privacy.randomness import Randomness
from fastmwem.problems.course import Course
from fastmwem.problems.method import Outcome, Prediction, PrivateData, Problem
from fastmwem.queries.base import Candidates
from fastmwem.select import make_selector
from fastmwem.select.base import ExponentialMechanism

__all__ = ["Mwem", "Spending"]

_COUNT_SHARE = 0.1  # of the budget, in zCDP, for the number of rows under add-remove
_BETA = 0.05


@dataclass(frozen=True)
class Spending:
    """What the budget buys: T rounds at `eps0`, and n with noise `count_noise` (a multiplier) if private.

    `tail` says what a pick and a run cost beyond eps0: nothing, unless lazy selection rests on an assumption.
    """

    rounds: int
    eps0: float
    count_noise: float | None
    tail: Tail

    @property
    def event(self) -> DpEvent:
        rounds = [*self.tail.standing, repeated(self.tail.event(self.eps0), self.rounds)]
        return composed(rounds if self.count_noise is None else [gaussian(self.count_noise), *rounds])


@dataclass(frozen=True)
class Mwem:
    """The method, with its options; see `query_release.query_release` for what they mean."""

    rounds: int | Literal["auto"] = "auto"
    schedule: str = "calibrated"
    selection: str = "auto"
    index: Any = None
    tail: Any = None
    iterate: Literal["average", "last"] = "average"
    step: str | None = None
    support: bool = False

    name = "mwem"

    def __post_init__(self) -> None:
        check_choice("schedule", self.schedule, ("calibrated", "paper"))
        check_choice("iterate", self.iterate, ("average", "last"))
        if self.rounds == "auto" and self.schedule == "paper":
            raise InvalidArgument(
                "rounds must be given with schedule='paper': it leaves T to the experiment."
            )
        if self.rounds != "auto":
            check_whole("rounds", self.rounds)
        if self.step is not None:
            check_choice("step", self.step, ("adaptive", "fixed"))

    def spending(self, problem: Problem, rounds: int) -> Spending:
        """eps0 for `rounds` rounds, and the noise of n where it is private; nothing is spent yet."""
        tail = parse_tail(self.tail)
        budget = tail.left(problem.budget)
        if self.schedule == "paper":
            share = 1.0 if not problem.counts else 1.0 - _COUNT_SHARE
            eps0 = paper_epsilon(budget.epsilon * math.sqrt(share), budget.delta, rounds)
            noise = self._count_noise(problem, eps0 * math.sqrt(rounds / 8 / share))
            return Spending(rounds, eps0, noise, tail)
        if not problem.counts:
            price = calibrate_rounds(budget, rounds, accountant=problem.accountant).eps0
            return Spending(rounds, tail.eps0(price), None, tail)
        relative = Spending(
            rounds, math.sqrt(8 * (1 - _COUNT_SHARE) / rounds), self._count_noise(problem, 1.0), Certified()
        )
        factor = fit_to_budget(budget, relative.event, using=problem.accountant)
        assert relative.count_noise is not None
        return Spending(rounds, tail.eps0(relative.eps0 * factor), relative.count_noise / factor, tail)

    def _count_noise(self, problem: Problem, root_rho: float) -> float | None:
        """sigma with 1/(2 sigma^2) = share * rho."""
        return 1.0 / math.sqrt(2 * _COUNT_SHARE) / root_rho if problem.counts else None

    def planned_rounds(self, problem: Problem) -> int:
        """T: as given, or the number that the error model finds best."""
        if self.rounds != "auto":
            return int(self.rounds)
        from fastmwem.problems.predict import best_rounds

        return best_rounds(problem)

    def predict(self, problem: Problem) -> Prediction:
        """From public numbers only; see `predict`."""
        from fastmwem.problems.predict import predict_mwem

        return predict_mwem(problem, self, self.planned_rounds(problem))

    def run(
        self,
        problem: Problem,
        data: PrivateData,
        ledger: Ledger,
        randomness: Randomness,
        progress: Progress | None = None,
    ) -> Outcome:
        """Spend the budget; see the module for what is promised."""
        rounds = self.planned_rounds(problem)
        spending = self.spending(problem, rounds)
        ledger.authorise(spending.event)
        queries = problem.workload.scored()
        weight = problem.largest_weight
        total = (
            problem.n
            if spending.count_noise is None
            else self._noisy_count(problem, data, ledger, spending.count_noise, randomness)
        )
        assert total is not None
        answers = data.answers(problem.asked or problem.workload)
        centre, sensitivity = 0.0, weight * problem.unit.rows_per_person / total
        if problem.counts:
            centre, sensitivity = (data.rows() - total) / 2, sensitivity / 2
        offsets = (answers - centre) / total
        if problem.weights is not None:
            offsets *= problem.weights
        mechanism = ExponentialMechanism(spending.eps0, sensitivity)
        candidates = Candidates(queries, offsets, signed=True)
        selector = make_selector(
            self.selection, candidates, mechanism, randomness, index=self.index, tail=self.tail
        )
        step = make_step(
            self.step or ("fixed" if self.schedule == "paper" else "adaptive"), problem.cells, rounds
        )
        player = MultiplicativeWeights(queries, step, width=weight)
        course = Course(problem.workload)
        course.at(0, player.probe())
        picks = play(player, selector, rounds, ledger, course.beside(progress, player.probe))
        bound = self._bound(problem, mechanism, rounds, player.regret * weight, spending.tail.slip)
        if (
            spending.count_noise is not None
        ):  # |n - n~| at 95 %, once for the scores and once for the comparator
            bound += 2.0 * spending.count_noise * problem.unit.rows_per_person / total
        return Outcome(
            distribution=player.output(self.iterate),
            total=float(total),
            bounds=_per_query(bound, problem),
            bound_kind=(
                "holds for all answers at once with probability 95 %"
                if self.iterate == "average"
                else "none: a bound is known for the average iterate only"
            )
            if not self.support
            else "holds at 95 % if every row of the table lies on the support",
            details={
                "rounds": rounds,
                "eps0": spending.eps0,
                "picks": picks,
                "course": course.moves(),
                "regret": player.regret * weight,
            },
        )

    def _noisy_count(
        self, problem: Problem, data: PrivateData, ledger: Ledger, noise: float, randomness: Randomness
    ) -> float:
        """n~: one row moves n by 1, a person by `rows_per_person`. At least 1, so that fractions exist."""
        ledger.record(gaussian(noise))
        scale = noise * problem.unit.rows_per_person
        return max(1.0, float(add_gaussian(data.rows(), scale, randomness)))

    def _bound(
        self,
        problem: Problem,
        mechanism: ExponentialMechanism,
        rounds: int,
        regret: float,
        slip: float,
    ) -> float:
        """A tail charged with `slip` makes a pick at most e^slip times as likely: slip / scale is lost."""
        if self.iterate == "last":
            return math.inf
        tail = math.log(1 / _BETA)
        slack = math.log(2 * problem.workload.m) + 1 + math.sqrt(2 * tail / rounds) + tail / rounds + slip
        return regret + slack / mechanism.scale


def _per_query(bound: float, problem: Problem) -> np.ndarray:
    """A bound on w_i |error_i| as bounds on |error_i|; no answer is off by more than 1."""
    if problem.weights is None:
        return np.full(problem.workload.m, min(bound, 1.0))
    with np.errstate(divide="ignore"):
        return np.minimum(bound / problem.weights, 1.0)
