"""The pure samplers, each against the distribution it promises."""

import numpy as np
import pytest
from scipy import stats

from fastmwem.errors import InvalidArgument
from fastmwem.select.gumbel import exceedance, exceedances, gumbel, truncated_gumbel

TOO_UNLIKELY = 1e-6


def above(bound):
    """CDF of Gumbel noise given that it exceeds `bound`, accurate at every bound."""

    def cdf(x):
        return 1 - np.expm1(-np.exp(-x)) / np.expm1(-np.exp(-bound))

    return cdf


def test_gumbel_follows_its_law():
    draws = gumbel(np.random.default_rng(1), 50_000)
    assert stats.kstest(draws, stats.gumbel_r.cdf).pvalue > TOO_UNLIKELY
    assert stats.kstest(draws + 0.05, stats.gumbel_r.cdf).pvalue < TOO_UNLIKELY


@pytest.mark.parametrize("bound", [-3.0, -1.0, 0.0, 1.0, 5.0, 12.0, 20.0, 33.0, 37.0, 40.0])
def test_truncated_gumbel_follows_its_law(bound):
    draws = truncated_gumbel(bound, np.random.default_rng(2), 20_000)
    assert (draws >= bound).all()
    assert np.isfinite(draws).all()
    assert np.unique(draws).size > 19_900
    assert stats.kstest(draws, above(bound)).pvalue > TOO_UNLIKELY
    assert stats.kstest(draws + 0.1, above(bound)).pvalue < TOO_UNLIKELY


def test_truncation_far_below_is_no_truncation():
    draws = truncated_gumbel(-800.0, np.random.default_rng(3), 20_000)
    assert stats.kstest(draws, stats.gumbel_r.cdf).pvalue > TOO_UNLIKELY


def test_exceedance_keeps_its_precision():
    assert exceedance(40.0) == pytest.approx(np.exp(-40.0), rel=1e-12)
    assert exceedance(0.0) == pytest.approx(1 - np.exp(-1))
    assert exceedance(-800.0) == 1.0


@pytest.mark.parametrize(("count", "bound"), [(40, -1.5), (40, 0.2), (40, 3.0), (3000, 7.0)])
def test_exceedances_are_binomial_and_uniform(count, bound):
    generator = np.random.default_rng(4)
    sets = [exceedances(count, bound, generator) for _ in range(4000)]
    for found in sets[:200]:
        assert (np.diff(found) > 0).all()
        assert found.size == 0 or (found[0] >= 0 and found[-1] < count)
    number = np.bincount([found.size for found in sets], minlength=count + 1)
    law = stats.binom.pmf(np.arange(count + 1), count, exceedance(bound)) * len(sets)
    assert _chi_square(number, law) > TOO_UNLIKELY
    where = np.bincount(np.concatenate(sets) * 20 // count, minlength=20)
    assert stats.chisquare(where).pvalue > TOO_UNLIKELY


def test_exceedances_go_on_where_the_first_gaps_end():
    """Gaps of 1 for ever: more are found than were expected, and none is left out between two batches."""

    class Dense:
        def standard_exponential(self, size):
            return np.zeros(size)

    found = exceedances(1000, 30.0, Dense())  # type: ignore[arg-type]
    np.testing.assert_array_equal(found, np.arange(1000))


def _chi_square(seen, expected):
    rare = expected < 5
    seen = np.append(seen[~rare], seen[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    keep = expected > 0
    return stats.chisquare(seen[keep], expected[keep] * seen[keep].sum() / expected[keep].sum()).pvalue


def test_exceedances_at_the_ends():
    generator = np.random.default_rng(5)
    assert exceedances(0, 1.0, generator).size == 0
    assert exceedances(10**6, 800.0, generator).size == 0
    assert exceedances(10**12, 60.0, generator).size == 0
    np.testing.assert_array_equal(exceedances(7, -800.0, generator), np.arange(7))
    with pytest.raises(InvalidArgument):
        exceedances(-1, 0.0, generator)
    with pytest.raises(InvalidArgument):
        exceedances(1, np.nan, generator)
