"""`measured`: what its picks may see, what it spends, how it averages, and whole runs."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from dp_accounting import dp_event

from fastmwem.data.domain import Domain
from fastmwem.privacy.accounting import accountant
from fastmwem.privacy.accounting.base import spend_of
from fastmwem.privacy.budget import Budget, Neighbours, Unit
from fastmwem.privacy.calibrate import rho
from fastmwem.privacy.events import AdaptiveSizesDpEvent
from fastmwem.privacy.ledger import Ledger
from fastmwem.privacy.randomness import Randomness
from fastmwem.problems.direct import strategy_for
from fastmwem.problems.marginal_strategy import MarginalStrategy
from fastmwem.problems.measured import Measured
from fastmwem.problems.measured_marginals import Beliefs, MeasuredMarginals, marginal_scores
from fastmwem.problems.method import Histogram, Problem
from fastmwem.queries.base import Queries
from fastmwem.queries.dense import Dense
from fastmwem.queries.marginals import marginals
from fastmwem.queries.ranges import ranges

DOMAIN = Domain.of_sizes({"a": 3, "b": 2, "c": 4})
PAIRS = marginals(DOMAIN, 2)


def problem(workload: Queries, neighbours: str, n: int | None = 2000, epsilon: float = 1.0) -> Problem:
    return Problem(workload, Budget(epsilon, 1e-6), Unit(Neighbours.parse(neighbours)), n)


def table(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.multinomial(n, rng.dirichlet(np.full(DOMAIN.size, 0.4))).astype(float)


def run(method, workload, counts, seed, neighbours="add-remove", epsilon=1.0):
    asked = problem(workload, neighbours, int(counts.sum()), epsilon)
    ledger = Ledger(asked.budget, accountant("optimal"))
    outcome = method.run(asked, Histogram(counts, DOMAIN.shape), ledger, Randomness.seeded(seed))
    return outcome, ledger


@pytest.mark.parametrize(("neighbours", "most"), [("add-remove", 1.0), ("replace-one", 2.0)])
def test_no_neighbour_moves_a_marginals_score_by_more_than_is_charged(neighbours: str, most: float) -> None:
    """Over all neighbours of several tables; the bound is met, so half of it would be caught."""
    rng = np.random.default_rng(1)
    cells = np.eye(DOMAIN.size)
    if neighbours == "add-remove":
        changes = cells
    else:
        changes = np.array([x - y for x, y in itertools.permutations(cells, 2)])
    largest = 0.0
    for _ in range(5):
        counts, model = rng.integers(1, 9, DOMAIN.size), rng.uniform(0, 9, DOMAIN.size)
        weights = rng.uniform(0.2, 1, len(PAIRS.subsets))
        weights[0] = 1.0

        def scores(h, model=model, weights=weights):
            split = PAIRS.bounds[1:-1]
            parts = np.split(PAIRS.answers(h), split), np.split(PAIRS.answers(model), split)
            return marginal_scores(*parts, weights, 0.7)

        before = scores(counts)
        moves = [np.abs(scores(counts + change) - before) for change in changes]
        assert all((move <= most * weights + 1e-9).all() for move in moves)
        largest = max(largest, max(move.max() for move in moves))
    assert largest == pytest.approx(most)


def test_beliefs_average_as_least_squares_does() -> None:
    """Two noisy marginals after a first look: the same as generalised least squares on everything."""
    strategy = strategy_for(problem(PAIRS, "add-remove"))
    assert isinstance(strategy, MarginalStrategy)
    rng = np.random.default_rng(2)
    values = rng.normal(size=strategy.std.size)
    beliefs = Beliefs(strategy.residuals, values.copy(), strategy.std**2)
    tables = {(0, 1): (rng.normal(size=6), 0.5), (1,): (rng.normal(size=2), 0.3)}
    for subset, (noisy, std) in tables.items():
        beliefs.update(subset, noisy, std)

    residuals = strategy.residuals
    rows = [np.eye(residuals.m) / strategy.std[:, None]]
    right = [values / strategy.std]
    for subset, (noisy, std) in tables.items():
        rows.append(np.array([residuals.marginal(unit, subset) for unit in np.eye(residuals.m)]).T / std)
        right.append(noisy / std)
    design, target = np.vstack(rows), np.concatenate(right)
    np.testing.assert_allclose(beliefs.mean, np.linalg.lstsq(design, target)[0], atol=1e-9)
    covariance = np.linalg.inv(design.T @ design)
    np.testing.assert_allclose(covariance, np.diag(beliefs.variance), atol=1e-9)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_marginal_rounds_spend_all_of_rho_and_no_more(neighbours: str) -> None:
    outcome, ledger = run(MeasuredMarginals(), PAIRS, table(2000), 3, neighbours)
    assert ledger.event is not None
    spent, allowed = spend_of(ledger.event).rho, rho(ledger.budget)
    assert spent == pytest.approx(allowed, rel=1e-9)
    # The sizes are adaptive: nothing tighter than zCDP may be claimed, whatever accountant was asked for.
    assert ledger.epsilon() == accountant("zcdp").epsilon(ledger.event, ledger.budget.delta)
    assert 0.99 < ledger.epsilon() <= 1
    kinds = [type(event) for event, _ in ledger.entries]
    assert kinds[:2] == [AdaptiveSizesDpEvent, dp_event.GaussianDpEvent]
    assert sum(count for _, count in ledger.entries) == 2 + 2 * outcome.details["rounds"]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_query_rounds_spend_what_was_authorised(neighbours: str) -> None:
    workload = ranges(DOMAIN, "c")
    outcome, ledger = run(Measured(), workload, table(2000), 4, neighbours)
    assert ledger.event is not None
    spend = spend_of(ledger.event)
    rounds = outcome.details["rounds"]
    assert sum(count for _, count in spend.ranged) == rounds
    assert sum(count for _, count in spend.gaussian) == rounds + (neighbours == "add-remove")
    assert 0.99 < ledger.epsilon() <= 1


@pytest.mark.parametrize("method", [MeasuredMarginals(), Measured()])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_the_model_learns_the_table(method, neighbours: str) -> None:
    counts = table(50_000)
    outcome, _ = run(method, PAIRS, counts, 5, neighbours)
    truth = PAIRS.answers(counts) / counts.sum()
    uniform = np.abs(PAIRS.answers(np.full(DOMAIN.size, 1 / DOMAIN.size)) - truth).max()
    error = np.abs(PAIRS.answers(outcome.distribution) - truth).max()
    assert error < uniform / 20
    assert outcome.details["gap"] <= 1e-2
    assert outcome.distribution.sum() == pytest.approx(1)


def test_measuring_again_helps_what_is_wrong() -> None:
    """The averaged estimates are never less precise than the first look."""
    counts = table(5_000)
    outcome, ledger = run(MeasuredMarginals(first=0.5), PAIRS, counts, 6)
    strategy = strategy_for(problem(PAIRS, "add-remove"))
    first = ledger.entries[1][0]
    assert isinstance(first, dp_event.GaussianDpEvent)
    widest = 2 * 1.96 * first.noise_multiplier * strategy.spread.max() / outcome.total
    assert np.median(outcome.bounds) < widest


@pytest.mark.parametrize(("method", "runs"), [(MeasuredMarginals(), 60), (Measured(), 50)])
def test_bounds_hold_as_often_as_they_say(method, runs: int) -> None:
    counts = table(2_000, seed=7)
    workload: Queries = PAIRS if isinstance(method, MeasuredMarginals) else _dense()
    truth = workload.answers(counts)
    each, any_ = np.zeros(workload.m), 0
    for seed in range(runs):
        outcome, _ = run(method, workload, counts, seed)
        answers = workload.answers(outcome.distribution) * outcome.total
        fails = np.abs(answers - truth) > outcome.bounds * outcome.total
        each += fails
        any_ += bool(fails.any())
    if isinstance(method, Measured):  # all answers at once
        assert any_ <= 15  # P(Bin(50, .05) > 15) < 1e-8
    else:
        assert each.max() <= 16  # P(Bin(60, .05) > 16) < 1e-8
        assert each.mean() <= 0.05 * runs


def _dense() -> Queries:
    return Dense(np.random.default_rng(8).uniform(size=(40, DOMAIN.size)))


def test_rounds_and_predictions_look_at_public_numbers() -> None:
    few, many = problem(_dense(), "replace-one", 500), problem(_dense(), "replace-one", 10**6)
    assert Measured().rounds(few) == 8
    assert Measured().rounds(many) == 40
    predictions = [Measured().predict(p) for p in (few, many)]
    assert all(p is not None and math.isfinite(p.max_error) for p in predictions)
    assert MeasuredMarginals().predict(few) is None
    assert MeasuredMarginals().predict(problem(PAIRS, "replace-one")) is not None
    without = problem(_dense(), "add-remove", None)
    assert Measured().predict(without) is None
    ledger = Ledger(without.budget, accountant("optimal"))
    outcome = Measured().run(without, Histogram(table(900)), ledger, Randomness.seeded(9))
    assert outcome.total == pytest.approx(900, abs=300)
