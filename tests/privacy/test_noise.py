"""Noise has the law its event is charged for, and lands on a grid that does not depend on the data."""

import numpy as np
import pytest
from scipy import stats

from fastmwem.errors import InvalidArgument
from fastmwem.privacy.noise import add_gaussian, add_laplace, grid
from fastmwem.privacy.randomness import Randomness

MECHANISMS = [(add_gaussian, stats.norm), (add_laplace, stats.laplace)]


@pytest.mark.parametrize(("add", "law"), MECHANISMS)
def test_the_noise_has_the_scale_that_is_charged(add, law):
    noisy = add(np.full((300, 200), 1234.5), 7.0, Randomness.seeded(5)) - 1234.5
    assert noisy.shape == (300, 200)
    assert stats.kstest(noisy.ravel(), law(scale=7.0).cdf).pvalue > 1e-6
    assert stats.kstest(noisy.ravel(), law(scale=6.5).cdf).pvalue < 1e-6  # too little noise is seen


@pytest.mark.parametrize(("add", "law"), MECHANISMS)
@pytest.mark.parametrize("scale", [3e-9, 0.7, 1.0, 5e6])
def test_no_bit_below_the_grid_is_released(add, law, scale):
    for value in (0.0, 1 / 3, np.nextafter(1 / 3, 1), -17.1):
        noisy = add(np.full(500, value), scale, Randomness.seeded(6))
        assert np.all(noisy == np.rint(noisy / grid(scale)) * grid(scale))
    assert scale / 2**11 < grid(scale) <= scale / 2**10


def test_plain_sums_betray_the_value_and_the_grid_does_not():
    # Near 1 floats are coarse, near 0 they are fine: the last bits of a plain sum tell 0 from 1 for sure.
    def has_fine_bits(released):
        return np.mean(released % 2.0**-50 != 0)

    noise = 1e-3 * Randomness.seeded(7).generator.standard_normal(1000)
    assert has_fine_bits(0.0 + noise) > 0.99
    assert has_fine_bits(1.0 + noise) < 0.9
    for value in (0.0, 1.0):
        assert has_fine_bits(add_gaussian(np.full(1000, value), 1e-3, Randomness.seeded(7))) == 0


def test_a_scale_of_zero_is_refused():
    with pytest.raises(InvalidArgument, match="scale"):
        add_gaussian([1.0], 0.0, Randomness.seeded(1))
