"""What a plan is likely to come to: the run itself, on a made-up right-hand side.

Everything is public: the rows are, and b is made up, so that each row is tight at an x drawn at random. No
budget is touched. A promise covers the worst rows and the worst luck; this shows the ordinary ones.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fastmwem.privacy.accounting import accountant
from fastmwem.privacy.budget import Budget
from fastmwem.privacy.ledger import Ledger
from fastmwem.privacy.randomness import Randomness
from fastmwem.problems.lp_plan import Rehearsal, ScalarPlan
from fastmwem.problems.scalar_problem import ScalarProblem, as_queries
from fastmwem.problems.scalar_solvers import Game

__all__ = ["rehearse"]

_ROUNDS = 5_000  # of all plays together: a play of few rounds is mostly luck, so there are more of them
_TIMES = (5, 101)
_MOST_ROWS = 50_000


def rehearse(problem: ScalarProblem, plan: ScalarPlan, budget: Budget) -> Rehearsal:
    """Play `plan` on `problem` with made-up right-hand sides, always the same ones."""
    rng = np.random.default_rng(0)
    few = _sample(problem, rng)
    uniform = np.full(few.queries.dim, 1.0 / few.queries.dim)
    seen = []
    for seed in range(min(max(_ROUNDS // plan.rounds, _TIMES[0]), _TIMES[1])):
        rhs = few.queries.answers(rng.dirichlet(np.ones(few.queries.dim)))
        randomness = Randomness.seeded(seed)
        ledger = Ledger.for_run(budget, accountant(plan.accountant), randomness)
        silent = replace(plan, certificates=0)
        game = Game(replace(few, rhs=rhs), silent, ledger, randomness, ("auto", None, None), None)
        seen.append([(few.queries.answers(z) - rhs).max() for z in (game.solve(None).z, uniform)])
    violation, least = np.median(seen, axis=0)
    return Rehearsal(float(violation), float(least))


def _sample(problem: ScalarProblem, rng: np.random.Generator) -> ScalarProblem:
    """So many rows that a rehearsal takes about a second."""
    m = problem.queries.m
    if m <= _MOST_ROWS:
        return problem
    kept = np.sort(rng.choice(m, _MOST_ROWS, replace=False))
    moves = np.full(_MOST_ROWS, problem.sensitivity)
    return replace(problem, queries=as_queries(problem.matrix[kept]), moves=moves)
