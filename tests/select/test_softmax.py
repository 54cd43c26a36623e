"""The draw by inversion, where candidates fill several blocks, and on all threads."""

import numpy as np
import pytest
from scipy import stats

from fastmwem.kernels import kernel
from fastmwem.privacy.randomness import Randomness
from fastmwem.privacy.stream import uniform
from fastmwem.queries.base import Candidates
from fastmwem.queries.dense import Dense
from fastmwem.select import ExponentialMechanism, bounds, softmax
from fastmwem.select.certified import Certified

TOO_UNLIKELY = 1e-6
M = 3 * softmax.BLOCK + 7
RNG = np.random.default_rng(51)
# Blocks of different peaks and masses, every place in a block of its own weight; what lies at -800 has none.
SCORES = RNG.normal(size=M) + np.repeat([0.0, 2.0, -1.0, 5.0], softmax.BLOCK)[:M] + np.arange(M) % 64 / 64
SCORES[::17] = -800.0


@kernel
def _draws(stream, x, signed, peaks, sums, out):
    for k in range(out.size):
        out[k] = softmax.choose(x, signed, peaks, sums, uniform(stream), uniform(stream))


def summed(scores, signed, by=softmax.scale_and_sum):
    x, offsets = scores / 2 + 1.0, np.ones(M)
    peaks, sums = np.empty(-(-M // softmax.BLOCK)), np.empty(-(-M // softmax.BLOCK))
    by(x, offsets, 2.0, signed, peaks, sums)
    return x, peaks, sums


@pytest.mark.parametrize("signed", [False, True])
def test_blocks_and_places_are_drawn_in_proportion(signed):
    scores = (
        np.maximum(SCORES, -3.0) if signed else SCORES
    )  # else the far ones had all the weight, as negatives
    x, peaks, sums = summed(scores, signed)
    out = np.empty(60_000, np.int64)
    _draws(Randomness.seeded(1).stream, x, signed, peaks, sums, out)
    weights = np.exp(scores) + (np.exp(-scores) if signed else 0.0)
    law, classes = (
        weights / weights.sum(),
        np.arange(M) // softmax.BLOCK * 64 + np.arange(M) % softmax.BLOCK // 16,
    )
    expected = np.bincount(classes, law) * out.size
    seen = np.bincount(classes[out], minlength=expected.size)
    kept = expected > 5
    rest = expected[~kept].sum()
    statistic = ((seen - expected)[kept] ** 2 / expected[kept]).sum() + (seen[~kept].sum() - rest) ** 2 / (
        rest + 1
    )
    assert stats.chi2.sf(statistic, kept.sum()) > TOO_UNLIKELY
    shifted = np.roll(expected, 1)
    assert stats.chi2.sf((((seen - shifted) ** 2)[kept] / expected[kept]).sum(), kept.sum()) < TOO_UNLIKELY
    assert signed or not (SCORES[out] == -800).any()


@pytest.mark.parametrize("signed", [False, True])
def test_all_threads_sum_what_one_does(signed):
    plain, threaded = summed(SCORES, signed), summed(SCORES, signed, softmax.scale_and_sum_threaded)
    for one, other in zip(plain, threaded, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("signed", [False, True])
def test_all_threads_refresh_what_one_does(signed):
    rows, offsets = Dense(RNG.random((M, 3))), RNG.random(M)
    states = []
    for run in (bounds.refresh, bounds.refresh_threaded):
        selector = Certified(
            Candidates(rows, offsets, signed), ExponentialMechanism(3.0, 0.5), Randomness.seeded(2)
        )
        v = np.array([0.2, 0.3, 0.5])
        assert run(selector._bounds, v, rows.answers(v), offsets, selector._tops)
        states.append(selector._bounds)
    for one, other in zip(*states, strict=True):
        np.testing.assert_array_equal(one, other)
    b = states[0]
    assert bounds._mass(b, 0) == pytest.approx(b.leaves.sum(), rel=1e-12)
