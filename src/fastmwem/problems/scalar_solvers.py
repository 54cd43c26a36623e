"""The two ways to answer a scalar-private program: the game, and Gaussian noise on b."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastmwem.lp.baseline import least_cost, least_violation
from fastmwem.mw.hedge import Hedge
from fastmwem.mw.loop import Picks, Progress, play
from fastmwem.privacy.events import gaussian
from fastmwem.privacy.ledger import Ledger
from fastmwem.privacy.noise import add_gaussian
from fastmwem.privacy.randomness import Randomness
from fastmwem.problems.lp_bounds import gaussian_tail
from fastmwem.problems.lp_plan import ScalarPlan
from fastmwem.problems.opt_search import stage
from fastmwem.problems.scalar_problem import ScalarProblem
from fastmwem.queries.base import FloatArray
from fastmwem.results.lp_result import Certificate
from fastmwem.select import make_selector
from fastmwem.select.base import ExponentialMechanism

__all__ = ["Answer", "Game", "NoisyRhs"]


@dataclass(frozen=True, eq=False)
class Answer:
    """One solve: z, and what is known of it."""

    z: FloatArray
    regret: float
    selection: float
    picks: Picks | None
    certificate: Certificate | None
    optimised: bool = False  # c.x is the best that noise on b leaves possible

    @property
    def alpha(self) -> float:
        """What rows may be violated by, beyond what they must be."""
        return self.regret + self.selection


class Game:
    """Multiplicative weights against the exponential mechanism; one run for each value of OPT tried."""

    def __init__(
        self,
        problem: ScalarProblem,
        plan: ScalarPlan,
        ledger: Ledger,
        randomness: Randomness,
        selection: tuple[str, Any, Any],
        progress: Progress | None,
    ) -> None:
        self._problem, self._plan, self._ledger = problem, plan, ledger
        self._randomness, self._selection, self._progress = randomness, selection, progress
        self._runs = 0

    def solve(self, opt: float | None) -> Answer:
        plan, problem = self._plan, self._problem
        if opt is not None:
            problem = problem.at(opt)
        name, index, tail = self._selection
        mechanism = ExponentialMechanism(plan.eps0, problem.sensitivity, problem.one_sided)
        selector = make_selector(
            name, problem.candidates(), mechanism, self._randomness, index=index, tail=tail
        )
        player = Hedge(problem.queries, plan.eta)
        progress = stage(self._progress, self._runs, plan.probes)
        picks = play(player, selector, plan.rounds, self._ledger, progress)
        self._runs += 1
        bought = self._certificate(problem, player.average) if plan.certificates else None
        return Answer(player.average, player.regret, plan.selection, picks, bought)

    def _certificate(self, problem: ScalarProblem, z: FloatArray) -> Certificate:
        """max over private rows of (row z - rhs), noise of `noise_multiplier` times Delta."""
        event = gaussian(self._plan.noise_multiplier)
        self._ledger.authorise(event)
        self._ledger.record(event)
        deviation = self._plan.noise_multiplier * problem.sensitivity
        worst = (problem.queries.answers(z) - problem.rhs)[problem.moves > 0].max()
        value = float(add_gaussian(worst, deviation, self._randomness))
        return Certificate.around("max violation", value, gaussian_tail(1, deviation, 0.05))


class NoisyRhs:
    """Gaussian noise on b, once; HiGHS on the noisy b as often as wanted, which is post-processing.

    With probability 1 - beta all noise lies within the reach r, so A z <= noisy + r + v holds where
    A z <= b + v does, and implies A z <= b + 2 r + v.
    """

    def __init__(
        self,
        problem: ScalarProblem,
        plan: ScalarPlan,
        ledger: Ledger,
        randomness: Randomness,
    ) -> None:
        from fastmwem.privacy.calibrate import calibrate_gaussian

        multiplier = calibrate_gaussian(ledger.budget, accountant=plan.accountant).noise_multiplier
        event = gaussian(multiplier)
        ledger.authorise(event)
        ledger.record(event)
        # |b - b'|_2 <= |moves|_2, since entry i moves by at most moves_i.
        deviation = multiplier * float(np.sqrt((problem.moves**2).sum()))
        private = problem.moves > 0
        self._problem = problem
        self._noisy = problem.rhs.copy()
        self._noisy[private] = add_gaussian(problem.rhs[private], deviation, randomness)
        count = int(private.sum())
        self._reach = gaussian_tail(count, deviation, plan.beta)
        self._usual = gaussian_tail(count, deviation, 0.05)

    def solve(self, opt: float | None) -> Answer:
        """The z that violates the noisy rows least, c.x against `opt` among them."""
        problem = self._problem if opt is None else self._problem.at(opt)
        noisy = np.where(problem.moves > 0, self._noisy, problem.rhs)
        z, _ = least_violation(problem.matrix, noisy)
        return self._answer(z)

    def optimise(self) -> Answer:
        """The z with the best c.x (the last row) among those that the noise leaves possible.

        Those contain all that are feasible for b; if HiGHS finds none, the z that violates the rows least.
        """
        rows, private = self._problem.matrix[:-1], self._problem.moves[:-1] > 0
        loosened = self._noisy[:-1] + np.where(private, self._reach, 0.0)
        goal = self._problem.matrix[-1:]
        cost = goal.toarray().ravel() if hasattr(goal, "tocsr") else goal[0]
        z = least_cost(cost, rows, loosened)
        return self._answer(least_violation(rows, self._noisy[:-1])[0] if z is None else z, optimised=True)

    def _answer(self, z: FloatArray, optimised: bool = False) -> Answer:
        violated = self._problem.queries.answers(z) - self._noisy
        apparent = float(violated[self._problem.moves > 0].max())
        around = Certificate.around("max violation", apparent, self._usual)
        return Answer(z, 0.0, 2.0 * self._reach, None, around, optimised)
