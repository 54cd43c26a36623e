"""Every method of query release, attacked on neighbouring tables; and broken ones, which must be caught."""

from __future__ import annotations

import numpy as np
import pytest
from clopper_pearson import attack

import fastmwem.problems.mwem as mwem_module
from fastmwem.data.domain import Domain
from fastmwem.privacy.budget import Budget, Neighbours, Unit
from fastmwem.privacy.calibrate import calibrate_gaussian
from fastmwem.privacy.ledger import Ledger
from fastmwem.privacy.noise import add_gaussian
from fastmwem.privacy.randomness import Randomness
from fastmwem.problems.direct import Direct, noisy
from fastmwem.problems.histogram import HistogramNoise
from fastmwem.problems.interval_strategy import IntervalStrategy
from fastmwem.problems.measured import Measured
from fastmwem.problems.measured_marginals import MeasuredMarginals
from fastmwem.problems.method import Histogram, Problem
from fastmwem.problems.mwem import Mwem
from fastmwem.queries.linear import linear
from fastmwem.queries.marginals import marginals
from fastmwem.queries.ranges import prefixes
from fastmwem.select.base import Pick, Selector

ADD_REMOVE, REPLACE_ONE = Unit(Neighbours.ADD_REMOVE), Unit(Neighbours.REPLACE_ONE)


class Unjudged:
    """Certifies anything: what a run may spend is tested elsewhere, thousands of runs need no judge."""

    name, proven = "none", True

    def epsilon(self, event, delta):
        return 0.0

    def delta(self, event, epsilon):
        return 0.0


def outcomes(method, problem, tables, runs, statistic):
    """`statistic` of what is released from each of two neighbouring tables."""
    source = Randomness.seeded(7)

    def run(table):
        return statistic(method.run(problem, Histogram(table), Ledger(problem.budget, Unjudged()), source))

    return [np.array([run(np.array(table)) for _ in range(runs)]) for table in tables]


def first_sign(outcome):
    return outcome.details["picks"].sign[0]


def test_mwem_and_a_sign_looked_up_outside_the_mechanism(monkeypatch):
    """The printed |score| leaves the sign to be looked up in the private data: one look tells it all."""
    budget = Budget(1.0, 1e-3)
    problem = Problem(linear([[1, 0]]), budget, REPLACE_ONE, 1, "zcdp")
    tables = [1.0, 0.0], [0.0, 1.0]  # p starts at 1/2: one score is 1/2 below, the other 1/2 above
    honest = outcomes(Mwem(rounds=1), problem, tables, 2000, first_sign)
    assert attack(*honest, budget.delta) < budget.epsilon

    class LooksUp(Selector):
        def pick(self, v):
            return Pick(0, int(np.sign(self.candidates.scores(v)[0])))

    monkeypatch.setattr(mwem_module, "make_selector", lambda name, *given, **kw: LooksUp(*given))
    broken = outcomes(Mwem(rounds=1), problem, tables, 300, first_sign)
    assert attack(*broken, budget.delta) > budget.epsilon


@pytest.mark.parametrize("unit", [REPLACE_ONE, ADD_REMOVE], ids=["replace-one", "add-remove"])
def test_mwem_over_rounds(unit):
    """Many queries that all say the same make the exponential mechanism as sensitive as it can be."""
    budget = Budget(2.0, 1e-3)
    rows = np.array([[1, 0]] + 30 * [[0, 1]])
    problem = Problem(linear(rows), budget, unit, 2, "zcdp")
    tables = ([2.0, 0.0], [1.0, 1.0]) if unit is REPLACE_ONE else ([2.0, 0.0], [1.0, 0.0])

    def score(outcome):
        picks = outcome.details["picks"]
        return float((picks.sign * np.where(picks.candidate == 0, 1, -1)).sum())

    found = outcomes(Mwem(rounds=4), problem, tables, 1000, score)
    assert attack(*found, budget.delta) < budget.epsilon


def test_the_histogram_and_half_of_its_noise(monkeypatch):
    budget = Budget(1.0, 1e-6)
    problem = Problem(prefixes(2), budget, ADD_REMOVE, 1)
    tables = [5.0, 0.0], [6.0, 0.0]
    multiplier, scale = HistogramNoise().noise(problem)

    def total(outcome):
        return outcome.total * outcome.distribution[0]

    monkeypatch.setattr(HistogramNoise, "noise", lambda self, problem: (multiplier, scale))
    honest = attack(*outcomes(HistogramNoise(), problem, tables, 4000, total), budget.delta)
    assert 0.3 < honest < budget.epsilon
    monkeypatch.setattr(HistogramNoise, "noise", lambda self, problem: (multiplier, scale / 2))
    broken = outcomes(HistogramNoise(), problem, tables, 6000, total)
    assert attack(*broken, budget.delta) > budget.epsilon


def test_direct_ranges_and_half_of_their_noise():
    """The measurement is all that sees the table; looked at along what the row adds to it."""
    budget = Budget(1.0, 1e-2)
    noise = calibrate_gaussian(budget).noise_multiplier
    strategy = IntervalStrategy(prefixes(4), ADD_REMOVE, signal=20.0)
    tables = [Histogram(np.array([first, 40.0, 40.0, 40.0])) for first in (40.0, 41.0)]
    exact = [strategy.measure(table) for table in tables]
    along = (exact[1] - exact[0]) / strategy.std**2

    def measured(std):
        source = Randomness.seeded(3)
        return [[noisy(value, std, source) @ along for _ in range(40_000)] for value in exact]

    honest = attack(*measured(noise * strategy.std), budget.delta)
    assert 0.3 < honest < budget.epsilon
    assert attack(*measured(noise * strategy.std / 2), budget.delta) > budget.epsilon


LINE = Domain.of_sizes({"a": 2})
FITTED = {
    "direct": (Direct(), marginals(LINE, 1)),
    "measured": (Measured(), linear([[1, 0]])),
    "measured_marginals": (MeasuredMarginals(), marginals(LINE, 1)),
}


@pytest.mark.parametrize("name", FITTED)
def test_methods_that_fit_and_a_tenth_of_their_noise(name, monkeypatch):
    """What is looked at is the model, fitted to all measurements and picks of a whole run."""
    method, workload = FITTED[name]
    budget = Budget(1.0, 1e-2)
    problem = Problem(workload, budget, REPLACE_ONE, 40, "zcdp")
    tables = [20.0, 20.0], [21.0, 19.0]

    def first_cell(outcome):
        return float(outcome.distribution[0])

    honest = outcomes(method, problem, tables, 200, first_cell)
    assert attack(*honest, budget.delta) < budget.epsilon

    def too_little(values, std, randomness):
        return add_gaussian(values, std / 10, randomness)

    for module in ("direct", "measured", "measured_marginals"):
        monkeypatch.setattr(f"fastmwem.problems.{module}.add_gaussian", too_little)
    broken = outcomes(method, problem, tables, 200, first_cell)
    assert attack(*broken, budget.delta) > budget.epsilon
