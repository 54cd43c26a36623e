"""`direct`: its strategies' sensitivity over all neighbours, their estimates, and whole runs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fastmwem.data.domain import Domain
from fastmwem.errors import InvalidArgument
from fastmwem.privacy.accounting import accountant
from fastmwem.privacy.budget import Budget, Neighbours, Unit
from fastmwem.privacy.events import gaussian
from fastmwem.privacy.ledger import Ledger
from fastmwem.privacy.randomness import Randomness
from fastmwem.problems.direct import Direct, strategy_for
from fastmwem.problems.error_bounds import answer_bounds
from fastmwem.problems.marginal_strategy import MarginalStrategy
from fastmwem.problems.method import Histogram, Problem
from fastmwem.queries.base import Queries
from fastmwem.queries.dense import Dense
from fastmwem.queries.marginals import Marginals, marginals
from fastmwem.queries.ranges import prefixes, ranges

DOMAIN = Domain.of_sizes({"a": 3, "b": 2, "c": 4})
MATRIX = np.random.default_rng(0).uniform(size=(7, DOMAIN.size))
WORKLOADS: dict[str, Queries] = {
    "marginals": marginals(DOMAIN, 2),
    "chosen": Marginals(DOMAIN, [["a"], ["b", "c"]]),
    "ranges": ranges(DOMAIN, "c"),
    "prefixes": prefixes(DOMAIN, "a"),
    "matrix": Dense(MATRIX),
    "zero-one": Dense((MATRIX > 0.5).astype(float)),
    "union": marginals(DOMAIN, 2) + ranges(DOMAIN, "c"),
    "weighted": np.linspace(0.5, 3, marginals(DOMAIN, 2).m) * marginals(DOMAIN, 2),
    "some weights 0": np.repeat([0.0, 3.0, 0.0], marginals(DOMAIN, 2).sizes) * marginals(DOMAIN, 2),
    "some weights tiny": np.repeat([1e-200, 1e-190, 1e-200], marginals(DOMAIN, 2).sizes)
    * marginals(DOMAIN, 2),
}


def problem(workload: Queries, neighbours: str, n: int = 1000, k: int = 1, epsilon: float = 1.0) -> Problem:
    return Problem(workload, Budget(epsilon, 1e-6), Unit(Neighbours.parse(neighbours), k), n)


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_no_neighbour_moves_the_measurements_by_more_than_one(name: str, neighbours: str) -> None:
    """Brute force: every cell a row can be in, every pair for replacement. And the claim is not slack."""
    strategy = strategy_for(problem(WORKLOADS[name], neighbours))
    moves = [strategy.measure(Histogram(cell, DOMAIN.shape)) for cell in np.eye(DOMAIN.size)]
    if neighbours == "replace-one":
        moves = [x - y for x, y in itertools.combinations(moves, 2)]
    free = strategy.std == 0  # released without noise: nothing but n, where it is public
    assert neighbours == "replace-one" or not free.any()
    assert all(np.allclose(move[free], 0, atol=1e-9) for move in moves)
    norms = [np.linalg.norm(move[~free] / strategy.std[~free]) for move in moves]
    assert max(norms) <= 1 + 1e-9
    assert max(norms) >= 0.6


def test_a_person_with_more_rows_counts_as_often() -> None:
    for workload in WORKLOADS.values():
        one = strategy_for(problem(workload, "add-remove"))
        three = strategy_for(problem(workload, "add-remove", k=3))
        np.testing.assert_allclose(three.std, 3 * one.std)
        np.testing.assert_allclose(three.spread, 3 * one.spread)


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_estimates_are_unbiased_with_the_spread_they_state(name: str, neighbours: str) -> None:
    workload = WORKLOADS[name]
    strategy = strategy_for(problem(workload, neighbours))
    counts = np.random.default_rng(1).integers(0, 20, DOMAIN.size).astype(float)
    exact = strategy.measure(Histogram(counts, DOMAIN.shape))
    np.testing.assert_allclose(strategy.estimates(exact), workload.answers(counts), atol=1e-8)
    linear = np.array([strategy.estimates(row) for row in np.diag(strategy.std)])
    actual = np.sqrt((linear**2).sum(axis=0))
    assert (actual <= strategy.spread + 1e-9).all()
    if "ranges" not in name and "union" not in name:  # a range's is bounded by its two ends'
        np.testing.assert_allclose(actual, strategy.spread)


def test_the_noise_of_interactions_is_the_best_at_its_cost() -> None:
    """No other allocation of the same cost has a smaller sum of variances over the closure."""
    strategy = strategy_for(problem(WORKLOADS["marginals"], "add-remove"))
    assert isinstance(strategy, MarginalStrategy)
    residuals = strategy.residuals
    shares = [residuals.variance_weights(outer) for outer in residuals.closure]
    cost = {s: np.prod([1 - 1 / DOMAIN.shape[i] for i in s]) for s in residuals.closure}

    def objective(variance) -> float:
        scale = sum(cost[s] / variance[s] for s in residuals.closure)
        return scale * sum(share * variance[s] for part in shares for s, share in part.items())

    best = objective(strategy.variance)
    rng = np.random.default_rng(2)
    for _ in range(50):
        other = {s: v * np.exp(0.3 * rng.normal()) for s, v in strategy.variance.items()}
        assert objective(other) >= best


def run(workload, counts, seed, *, epsilon=1.0, neighbours="add-remove", shape=DOMAIN.shape):
    asked = problem(workload, neighbours, int(counts.sum()), epsilon=epsilon)
    ledger = Ledger(asked.budget, accountant("optimal"))
    return Direct().run(asked, Histogram(counts, shape), ledger, Randomness.seeded(seed)), ledger


def table(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.multinomial(n, rng.dirichlet(np.full(DOMAIN.size, 0.5))).astype(float)


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_a_run_spends_one_gaussian_and_answers_well(name: str, neighbours: str) -> None:
    workload, counts = WORKLOADS[name], table(20_000)
    outcome, ledger = run(workload, counts, 3, neighbours=neighbours)
    ((event, times),) = ledger.entries
    assert (event, times) == (gaussian(outcome.details["noise_multiplier"]), 1)
    assert 0.999 < ledger.epsilon() <= 1
    assert outcome.distribution.sum() == pytest.approx(1)
    assert (outcome.distribution >= 0).all()
    assert outcome.details["gap"] <= 1e-2
    if neighbours == "replace-one":
        assert outcome.total == 20_000
    error = np.abs(workload.answers(outcome.distribution) - workload.answers(counts) / 20_000)
    weights = np.ones(workload.m) if workload.importance is None else workload.importance
    assert (weights * error / weights.max()).max() < 4e-3


def test_error_falls_as_the_table_grows() -> None:
    workload = WORKLOADS["marginals"]
    errors = []
    for n in (300, 3_000, 30_000, 300_000):
        counts = table(n)
        found = [run(workload, counts, seed)[0].distribution for seed in range(5)]
        errors.append(np.median([np.abs(workload.answers(p - counts / n)).max() for p in found]))
    slopes = np.diff(np.log(errors)) / np.log(10)
    assert (slopes < -0.6).all()


@pytest.mark.parametrize("name", ["marginals", "ranges", "matrix"])
def test_bounds_hold_as_often_as_they_say(name: str) -> None:
    """Each answer's bound fails at most 5 % of the time, over 100 seeded runs, beyond what chance allows."""
    workload, counts = WORKLOADS[name], table(2_000, seed=5)
    truth = workload.answers(counts)
    failures = np.zeros(workload.m)
    for seed in range(100):
        outcome, _ = run(workload, counts, seed)
        answers = workload.answers(outcome.distribution) * outcome.total
        failures += np.abs(answers - truth) > outcome.bounds * outcome.total
    assert failures.max() <= 20  # P(Bin(100, .05) > 20) < 1e-8 for each answer
    assert failures.mean() <= 5.0


def test_bounds_that_are_too_narrow_are_noticed() -> None:
    """The negative control: the same intervals at half of the deviation fail far more often."""
    rng = np.random.default_rng(6)
    estimates = 100 + 5 * rng.normal(size=4000)
    fails = [
        np.mean(np.abs(estimates - 100) > answer_bounds(estimates, estimates, np.full(4000, s)))
        for s in (5.0, 2.5)
    ]
    assert fails[0] < 0.07
    assert fails[1] > 0.25


def test_the_model_can_live_on_public_records() -> None:
    workload = WORKLOADS["marginals"]
    records = np.argwhere(np.ones(DOMAIN.shape))[::2]
    counts = np.zeros(DOMAIN.shape)
    counts[tuple(records[:6].T)] = 1000
    asked = problem(workload, "add-remove", 6000)
    placed = Problem(workload.on(records), asked.budget, asked.unit, 6000, asked=workload)
    ledger = Ledger(asked.budget, accountant("optimal"))
    outcome = Direct().run(placed, Histogram(counts.ravel(), DOMAIN.shape), ledger, Randomness.seeded(1))
    assert outcome.distribution.shape == (len(records),)
    error = placed.workload.answers(outcome.distribution) - workload.answers(counts.ravel()) / 6000
    assert np.abs(error).max() < 0.02


def test_weights_buy_precision() -> None:
    plain = strategy_for(problem(WORKLOADS["marginals"], "add-remove"))
    heavy = np.ones(WORKLOADS["marginals"].m)
    heavy[:6] = 20  # the cells of the first marginal
    weighted = strategy_for(problem(heavy * WORKLOADS["marginals"], "add-remove"))
    assert weighted.spread[0] < 0.8 * plain.spread[0]
    assert weighted.spread[-1] > plain.spread[-1]


def test_predictions_follow_the_budget_and_refuse_what_does_not_fit() -> None:
    predicted = [Direct().predict(problem(WORKLOADS["marginals"], "add-remove", epsilon=e)) for e in (0.1, 1)]
    assert predicted[0] is not None
    assert predicted[1] is not None
    assert predicted[1].max_error < predicted[0].max_error / 4
    constant = Marginals(Domain.of_sizes({"a": 1, "b": 2}), [["a"]])
    assert strategy_for(problem(constant, "add-remove")).std.shape == (2,)
    with pytest.raises(InvalidArgument, match="too many"):
        strategy_for(problem(_Many(), "add-remove"))


class _Many(Dense):
    def __init__(self) -> None:
        super().__init__(np.ones((1, 2)))
        self.m = 1_000_000
