"""Dense multiplicative weights: the regret claimed, against the best dense distribution in hindsight."""

import math

import numpy as np
import pytest

from fastmwem.mw.dense_weights import DenseWeights
from fastmwem.queries.dense import Dense
from fastmwem.select.base import Pick


def play(entries, base, s, eta, picks):
    """The gains of all rounds, and what y_t made of them: gain_t = base - the picked column's entries."""
    player = DenseWeights(Dense(entries), base, s, eta)
    gains, made = [], 0.0
    for j in picks:
        gain = base - entries[j]
        made += float(player.probe() @ gain)
        gains.append(gain)
        player.respond(Pick(int(j), 1))
    return np.array(gains), made


def best(gains, s):
    """The mean of the s largest sums: what the best 1/s-dense distribution makes."""
    return float(np.sort(gains.sum(axis=0))[-s:].mean())


@pytest.mark.parametrize("kind", ["random", "one column", "alternating"])
@pytest.mark.parametrize(("low", "high"), [(-0.5, 0.5), (0.0, 1.0), (-1.0, 0.0)])
def test_the_regret_is_within_each_bound(kind, low, high):
    rng = np.random.default_rng(5)
    m, s, rounds = 200, 10, 400
    entries = rng.uniform(0, 1, (6, m))
    base = np.full(m, high)  # gains then lie in [low, high], a range of 1
    picks = {
        "random": rng.integers(0, 6, rounds),
        "one column": np.zeros(rounds),
        "alternating": np.arange(rounds) % 2,
    }
    for u in (0.05, math.sqrt(8 * math.log(m / s) / rounds), 1.0):
        gains, made = play(entries, base, s, u, picks[kind].astype(int))
        wanted = best(gains, s)
        slack = math.log(m / s) / u
        assert wanted <= made + slack + rounds * u / 8
        if low == 0:
            assert wanted <= math.expm1(u) / u * made + slack
        if high == 0:
            assert wanted <= -math.expm1(-u) / u * made + slack


def test_too_small_a_bound_is_exceeded():
    """The leading term is needed: the best distribution is found only after ln(m/s)/u."""
    m, s, rounds, u = 200, 10, 400, 0.05
    entries = np.zeros((1, m))
    entries[0, s:] = 1.0
    gains, made = play(entries, np.ones(m), s, u, np.zeros(rounds, int))
    assert best(gains, s) > made + 0.5 * math.log(m / s) / u
