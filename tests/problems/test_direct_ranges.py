"""`direct` on ranges: sensitivity, how noise is shared among levels, the joint model, the bounds."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import fastmwem as fm
from fastmwem.privacy.budget import Budget, Neighbours, Unit
from fastmwem.privacy.randomness import Randomness
from fastmwem.problems.direct_ranges import DirectRanges
from fastmwem.problems.interval_strategy import IntervalStrategy, level_shares, level_signals
from fastmwem.problems.method import Histogram, Problem

BUDGET = {"epsilon": 1.0, "delta": 1e-6}


@pytest.mark.parametrize("signal", [1.0, 25.0, math.inf])
@pytest.mark.parametrize("length", [2, 3, 7, 16])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_no_neighbour_moves_the_measurements_by_more_than_one(neighbours, length, signal):
    """Brute force over all neighbours, at every way of sharing the noise; and the claim is not slack."""
    strategy = IntervalStrategy(fm.ranges(length), Unit(Neighbours.parse(neighbours)), signal)
    moves = [strategy.measure(Histogram(cell)) for cell in np.eye(length)]
    if neighbours == "replace-one":
        moves = [x - y for x, y in itertools.combinations(moves, 2)]
    free = strategy.std == 0  # n, where it is public
    assert free.sum() == (neighbours == "replace-one")
    assert all(np.allclose(move[free], 0, atol=1e-9) for move in moves)
    norms = [np.linalg.norm(move[~free] / strategy.std[~free]) for move in moves]
    assert max(norms) <= 1 + 1e-9
    assert max(norms) >= 0.7


@pytest.mark.parametrize("signal", [2.0, 30.0, math.inf])
def test_the_spread_of_a_range_covers_its_noise(signal):
    workload = fm.ranges(13)
    strategy = IntervalStrategy(workload, Unit(Neighbours.ADD_REMOVE), signal)
    linear = np.array([strategy.estimates(row) for row in np.diag(strategy.std)])
    actual = np.sqrt((linear**2).sum(axis=0))
    assert (actual <= strategy.spread + 1e-9).all()
    assert (strategy.spread <= 2.2 * actual.max()).all()


def test_levels_share_the_cost_by_what_they_can_tell():
    """Water-filling: of the guess's own error it leaves less than even shares; all get some."""
    assert level_shares(12, math.inf) == pytest.approx(np.full(12, 1 / 12))
    for signal in (5.0, 30.0, 300.0):
        shares, signals = level_shares(12, signal), level_signals(12, signal)
        assert shares.sum() == pytest.approx(1)
        assert (shares > 0).all()
        assert (np.diff(shares) < 0).all() or signal > 100
        assert (1 / (1 / signals + shares)).sum() < (1 / (1 / signals + 1 / 12)).sum()


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_answers_are_near_and_bounds_hold(neighbours):
    h = np.rint(5000 * np.random.default_rng(2).dirichlet(np.full(32, 0.3)))
    workload = fm.ranges(32)
    failures = np.zeros(workload.m)
    for seed in range(60):
        release = fm.query_release(
            workload,
            h,
            **BUDGET,
            method="direct",
            neighbours=neighbours,
            n=int(h.sum()),
            accountant="zcdp",
            randomness=Randomness.seeded(seed),
        )
        failures += np.abs(release.counts - workload.answers(h)) / release.total > release.bounds
        assert release.evaluate(h).max_error < 0.05
    assert failures.max() <= stats.binom.ppf(1 - 1e-6, 60, 0.05)


def test_several_columns_and_a_support():
    domain = fm.Domain.of_sizes({"a": 8, "b": 6, "c": 2})
    rng = np.random.default_rng(3)
    table = np.stack([rng.binomial(7, 0.3, 4000), rng.integers(0, 6, 4000), rng.integers(0, 2, 4000)], axis=1)
    workload = fm.ranges(domain, "a") + 2.0 * fm.prefixes(domain, "b")
    for support in (None, np.unique(table, axis=0)):
        release = fm.query_release(
            workload, table, **BUDGET, method="direct", support=support, randomness=Randomness.seeded(0)
        )
        truth = np.concatenate(
            [
                fm.ranges(8).answers(np.bincount(table[:, 0], minlength=8) / 4000),
                fm.prefixes(6).answers(np.bincount(table[:, 1], minlength=6) / 4000),
            ]
        )
        assert np.abs(release.values - truth).max() < 0.03
        assert release.report.events[0][1] == 2


def test_a_support_that_misses_a_column_s_cells_still_holds_a_model():
    domain = fm.Domain.of_sizes({"a": 8, "b": 2})
    support = np.array([[0, 0], [7, 1], [3, 0]])
    table = np.tile([[5, 0]], (500, 1))  # private, and nowhere on the support
    release = fm.query_release(fm.ranges(domain, "a"), table, **BUDGET, method="direct", support=support)
    assert release.distribution.sum() == pytest.approx(1)
    assert (release.distribution >= 0).all()


@pytest.mark.parametrize(("kind", "rivals"), [("smooth", ["histogram", "mwem"]), ("few cells", ["mwem"])])
@pytest.mark.parametrize("n", [1_000, 10_000, 1_000_000])
def test_measuring_is_as_good_as_rounds_on_long_lines(n, kind, rivals):
    """Whatever the table looks like: public numbers alone choose the method."""
    rng = np.random.default_rng(4)
    h = rng.multinomial(n, rng.dirichlet(np.full(512, 2.0 if kind == "smooth" else 0.01))).astype(float)
    options = {"epsilon": 0.1, "delta": 1e-6}
    assert fm.plan(fm.ranges(512), n=n, **options).chosen == "direct"

    def error(method):
        extra = {"rounds": 300} if method == "mwem" else {}
        releases = [
            fm.query_release(
                fm.ranges(512), h, **options, method=method, randomness=Randomness.seeded(s), **extra
            )
            for s in range(5)
        ]
        return np.median([release.evaluate(h).max_error for release in releases])

    assert error("direct") < 1.2 * min(map(error, rivals))


def test_it_is_not_for_a_matrix():
    problem = Problem(fm.linear(np.eye(4)), Budget(1, 1e-6), Unit(), 100)
    assert DirectRanges().predict(problem) is None


def test_a_line_of_one_cell_has_an_answer():
    release = fm.query_release(fm.ranges(1), [40.0], **BUDGET, method="direct")
    assert release.counts.tolist() == pytest.approx([40.0])
