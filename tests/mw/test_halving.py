"""The posterior of a line's cells against brute-force integration, and what it must never do."""

from __future__ import annotations

import numpy as np
import pytest

from fastmwem.mw import halving
from fastmwem.mw.halving import halving_posterior
from fastmwem.queries.wavelets import Haar


def integrated(seen, noise, even, widths):
    """The posterior mean of t on a fine grid."""
    t = np.linspace(-1, 1, 200_001)
    prior = np.full(t.size, 0.5)
    for width in widths:
        bump = np.exp(-((t - even) ** 2) / (2 * width**2))
        prior += bump / np.trapezoid(bump, t)
    log = -((t - seen) ** 2) / (2 * noise**2) + np.log(prior)
    weight = np.exp(log - log.max())
    return (weight * t).sum() / weight.sum()


@pytest.mark.parametrize("widths", [(), (0.3, 0.1, 0.03)])
@pytest.mark.parametrize("noise", [0.01, 0.3, 5.0])
def test_the_mean_of_a_split_by_brute_force(noise, widths):
    for even in (0.0, 0.2):
        seen = np.array([-8.0, -1.0, -0.4, 0.0, 0.03, 0.7, 1.3, 2.0]) * max(noise, 1.0)
        found = halving._posterior_mean(seen, np.full(8, noise), np.full(8, even), widths)
        wanted = [integrated(s, noise, even, widths) for s in seen]
        np.testing.assert_allclose(found, wanted, atol=2e-5)


@pytest.mark.parametrize("size", [2, 3, 7, 16, 100])
def test_exact_views_give_the_cells_back(size):
    haar = Haar(size)
    cells = np.random.default_rng(size).multinomial(5000, np.random.default_rng(0).dirichlet(np.ones(size)))
    std = np.full(size - 1, 1e-3)
    found = halving_posterior(haar, haar.matrix @ cells, std, 5000.0)
    np.testing.assert_allclose(found, cells, atol=0.05)


@pytest.mark.parametrize("size", [2, 5, 64])
def test_pure_noise_is_spread_nearly_evenly(size):
    haar = Haar(size)
    found = halving_posterior(haar, np.zeros(size - 1), np.full(size - 1, 1e9), 100.0)
    even = [halving_posterior(haar, np.zeros(size - 1), np.full(size - 1, 1e9), 100.0) for _ in range(2)]
    assert found.sum() == pytest.approx(100)
    assert (found > 0).all()
    np.testing.assert_array_equal(even[0], found)  # nothing is drawn
    if size in (2, 64):
        np.testing.assert_allclose(found, 100 / size, rtol=1e-6)


def test_wild_views_stay_possible():
    """Whatever the noise was, cells are finite, at least 0, and add up."""
    haar, rng = Haar(33), np.random.default_rng(1)
    for scale in (1e-3, 1.0, 1e6, 1e12):
        for total in (1.0, 1e3, 1e9):
            found = halving_posterior(haar, scale * rng.standard_cauchy(32), np.full(32, 2.0), total)
            assert np.isfinite(found).all()
            assert (found >= 0).all()
            assert found.sum() == pytest.approx(total)


def test_shrinking_is_worth_it():
    """Under noise of the size of the pieces, the posterior is nearer than the unbiased cells."""
    haar, rng = Haar(64), np.random.default_rng(2)
    truth = 1000 * rng.dirichlet(np.full(64, 5.0))
    std = np.full(63, 30.0)
    errors = []
    for _ in range(20):
        seen = haar.matrix @ truth + std * rng.standard_normal(63)
        plain = haar.matrix.T @ seen + 1000 / 64
        errors.append(
            [np.abs(np.cumsum(x - truth)).max() for x in (halving_posterior(haar, seen, std, 1000.0), plain)]
        )
    posterior, unbiased = np.mean(errors, axis=0)
    assert posterior < 0.8 * unbiased
