"""`direct` on ranges: the measured map, its sensitivity, the fit's optimum, the bounds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import optimize, stats

import fastmwem as fm
from fastmwem.mw.entropic import entropic_least_squares
from fastmwem.privacy.budget import Budget, Unit
from fastmwem.privacy.randomness import Randomness
from fastmwem.problems.direct_ranges import DirectRanges
from fastmwem.problems.method import Problem
from fastmwem.queries.prefix_root import PrefixRoot

BUDGET = {"epsilon": 1.0, "delta": 1e-6}


def dense(root):
    return np.array([root.answers(e) for e in np.eye(root.dim)]).T


@pytest.mark.parametrize("n", [1, 2, 7, 64])
def test_the_root_squares_to_the_prefix_sums(n):
    root = PrefixRoot(n)
    matrix = dense(root)
    np.testing.assert_allclose(matrix @ matrix, np.tril(np.ones((n, n))), atol=1e-12)
    w = np.random.default_rng(0).normal(size=n)
    np.testing.assert_allclose(root.adjoint(w), matrix.T @ w, atol=1e-12)


@pytest.mark.parametrize("n", [2, 9, 40])
def test_the_roots_norm_and_deviations_by_brute_force(n):
    root = PrefixRoot(n)
    matrix = dense(root)
    columns = np.linalg.norm(matrix, axis=0)
    assert columns.max() == pytest.approx(root.norm)
    pairs = [np.linalg.norm(matrix[:, a] - matrix[:, b]) for a, b in itertools.combinations(range(n), 2)]
    assert max(pairs) <= np.sqrt(2) * root.norm
    rows = np.vstack([np.zeros(n), matrix])
    claimed = root.range_deviations()
    for a, b in itertools.combinations(range(n + 1), 2):
        exact = np.linalg.norm(rows[b] - rows[a])
        assert exact <= claimed[b - a] + 1e-12
        assert claimed[b - a] <= 1.6 * exact


def test_the_fit_is_the_optimum():
    rng = np.random.default_rng(1)
    root, total, std, tau = PrefixRoot(12), 100.0, 4.0, 3.0
    truth = np.maximum(rng.normal(size=12), 0)
    values = root.answers(truth * total / truth.sum()) + std * rng.normal(size=12)
    fit = entropic_least_squares(root, values, std, total, tau=tau, move=1e-9, max_iterations=20_000)
    assert fit.converged
    assert fit.x.sum() == pytest.approx(total)

    def objective(theta):
        p = np.exp(theta - theta.max())
        p /= p.sum()
        return ((root.answers(total * p) - values) ** 2).sum() / (2 * std**2) + tau * (p @ np.log(p))

    best = min(
        optimize.minimize(objective, t, method="BFGS").fun for t in (np.zeros(12), np.log(truth + 0.1))
    )
    p = fit.x / total
    assert objective(np.log(p)) <= best + 1e-6


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
        assert release.details["converged"]
        failures += np.abs(release.counts - workload.answers(h)) / release.total > release.bounds
    assert failures.max() <= stats.binom.ppf(1 - 1e-6, 60, 0.05)
    assert release.evaluate(h).max_error < 0.02


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


def test_measuring_beats_rounds_and_cells_on_long_lines():
    h = np.rint(1e5 * np.random.default_rng(4).dirichlet(np.full(512, 2.0)))
    plan = fm.plan(fm.ranges(512), n=100_000, epsilon=0.1, delta=1e-6)
    assert plan.chosen == "direct"
    errors = {
        method: fm.query_release(
            fm.ranges(512), h, epsilon=0.1, delta=1e-6, method=method, randomness=Randomness.seeded(1)
        )
        .evaluate(h)
        .max_error
        for method in ("direct", "histogram", "mwem")
    }
    assert errors["direct"] < min(errors["histogram"], errors["mwem"])


def test_it_is_not_for_a_matrix():
    problem = Problem(fm.linear(np.eye(4)), Budget(1, 1e-6), Unit(), 100)
    assert DirectRanges().predict(problem) is None
