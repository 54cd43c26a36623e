"""`optimal` is above everything an adversary can do, and not far above."""

import math

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from fastmwem.privacy.accounting import accountant
from fastmwem.privacy.accounting.bounded_range import (
    BLOCK,
    BoundedRangeProfile,
    _nodes,
    _resolution,
    gaussian_mu,
    single_mu,
)
from fastmwem.privacy.accounting.profiles import GaussianProfile
from fastmwem.privacy.events import composed, exponential_mechanism, gaussian, laplace, repeated

OPTIMAL = accountant("optimal")


def binomial_delta(eps0: float, rounds: int, epsilon: float) -> float:
    """Exact delta of `rounds` non-adaptive two-point losses +-eps0/2: one adversary among those allowed."""
    x = np.arange(rounds + 1)
    high = stats.logistic.cdf(eps0 / 2)
    under_p, under_q = stats.binom.pmf(x, rounds, high), stats.binom.pmf(x, rounds, 1 - high)
    gain = under_p - math.exp(epsilon) * under_q
    return float(gain[gain > 0].sum())


def two_point(eps0, t):
    """(P, Q) over two outcomes, with log-ratios t and t - eps0: bounded-range, unit mass under both."""
    p = -np.expm1(t - eps0) / -math.expm1(-eps0)
    q = p * np.exp(-t)
    return np.stack([p, 1 - p]), np.stack([q, 1 - q])


def best_two_round_adversary(eps0: float, epsilon: float, steps: int = 80) -> float:
    """The largest delta over t1 and a t2 for each first outcome, all on a grid: brute force, 4 outcomes."""
    t = np.linspace(0, eps0, steps + 1)
    p, q = two_point(eps0, t)
    # gain[a, i, j] of first outcome a under t1 = t[i], followed by t2 = t[j]
    gain = np.zeros((2, steps + 1, steps + 1))
    for first in (0, 1):
        for second in (0, 1):
            difference = np.outer(p[first], p[second]) - math.exp(epsilon) * np.outer(q[first], q[second])
            gain[first] += np.maximum(difference, 0)
    return float((gain[0].max(axis=1) + gain[1].max(axis=1)).max())


@pytest.mark.parametrize("eps0", [1e-3, 0.1, 1.0, 3.0])
def test_one_round_is_exact(eps0):
    event, top = exponential_mechanism(eps0), math.exp(eps0)
    for epsilon in np.linspace(0, 0.9 * eps0, 7):
        exact = (math.sqrt(top) - math.exp(epsilon / 2)) ** 2 / (top - 1)
        assert exact <= OPTIMAL.delta(event, float(epsilon)) <= exact * (1 + 1e-4)


def one_step(previous, y, top, pieces=400):
    """sup_z p(z) D(y/z) + (1 - p(z)) D(y E/z) in 40 digits, over a grid of z: below D_k, if `previous` is."""
    grid = (top ** (mpmath.mpf(j) / pieces) for j in range(pieces + 1))
    return max(
        (top - z) / (top - 1) * previous(y / z) + (z - 1) / (top - 1) * previous(y * top / z) for z in grid
    )


@pytest.mark.parametrize("eps0", [1e-9, 1e-5, 0.01, 1.0, 25.0])
def test_rounding_never_lowers_the_curve(eps0):
    """One and two rounds against 40 digits, also just below the top, where all but the last digits cancel."""
    with mpmath.workdps(40):
        top = mpmath.exp(mpmath.mpf(eps0))

        def one(y):
            if y < 1:
                return 1 - y + y * one(1 / y)
            return (mpmath.sqrt(top) - mpmath.sqrt(y)) ** 2 / (top - 1) if y < top else mpmath.mpf(0)

        for rounds, exact in ((1, one), (2, lambda y: one_step(one, y, top))):
            for part in (1e-12, 0.01, 0.3, 0.5, 0.9, 1 - 1e-6, 1 - 1e-12):
                epsilon = rounds * eps0 * part
                truth = exact(mpmath.exp(mpmath.mpf(epsilon)))
                profile = BoundedRangeProfile(eps0, rounds)
                assert profile.delta(epsilon) >= truth
                assert BoundedRangeProfile(eps0, rounds, 1e-3 * eps0).delta(epsilon) >= truth


@pytest.mark.parametrize("eps0", [1e-9, 1e-5, 0.01, 1.0, 7.3, 29.9])
def test_nodes_of_one_round_are_exact_and_rounded_up(eps0):
    """V_0 is its own chord, so V_1 is D_1 at the nodes: rounding alone lifts it, if not much."""
    g, v = _nodes(eps0, 1, 128)
    with mpmath.workdps(40):
        assert 128 * mpmath.mpf(g) >= mpmath.mpf(eps0)
        top = mpmath.exp(128 * mpmath.mpf(g))
        for i, value in enumerate(v[:-1]):
            exact = (mpmath.sqrt(top) - mpmath.exp(i * mpmath.mpf(g) / 2)) ** 2 / (top - 1)
            assert exact <= mpmath.mpf(value) <= exact * (1 + 1e-4)
        assert v[-1] == 0


@pytest.mark.parametrize("eps0", [0.01, 0.3, 2.0])
def test_one_round_is_the_best_two_point_mechanism(eps0):
    p, q = two_point(eps0, np.linspace(0, eps0, 20_001))
    for epsilon in np.linspace(0, 0.9 * eps0, 5):
        best = np.maximum(p - math.exp(epsilon) * q, 0).sum(axis=0).max()
        bound = OPTIMAL.delta(exponential_mechanism(eps0), float(epsilon))
        assert best <= bound <= best * (1 + 1e-4)


@pytest.mark.parametrize("eps0", [0.01, 0.3, 2.0])
def test_two_adaptive_rounds_are_exact(eps0):
    event = repeated(exponential_mechanism(eps0), 2)
    for epsilon in np.linspace(0, 1.6 * eps0, 6):
        adversary = best_two_round_adversary(eps0, float(epsilon), steps=600)
        bound = OPTIMAL.delta(event, float(epsilon))
        assert adversary <= bound <= adversary * (1 + 2e-3) + 1e-15


def test_the_adversary_beats_a_bound_that_is_too_small():
    # Negative control. Composing the worst single round non-adaptively is not a bound, nor is 99 % of ours.
    eps0, beats = 0.5, []
    for epsilon in np.linspace(0, 1.6 * eps0, 9):
        adversary = best_two_round_adversary(eps0, float(epsilon))
        beats.append(adversary > binomial_delta(eps0, 2, float(epsilon)) * (1 + 1e-9))
        assert adversary > 0.99 * OPTIMAL.delta(repeated(exponential_mechanism(eps0), 2), float(epsilon))
    assert any(beats)


def test_a_real_exponential_mechanism_stays_below():
    # Three candidates, scores that a neighbour moves by up to 1: outcomes enumerated, second round adaptive.
    eps0 = 0.8
    moves = np.array(np.meshgrid(*[[-1.0, 0.0, 1.0]] * 3)).reshape(3, -1).T
    pairs = []
    for scores in ([0.0, 0.0, 0.0], [0.0, 1.5, -0.5], [4.0, 0.0, 0.0]):
        for move in moves:
            weights = np.exp(eps0 * np.array([scores, scores + move]) / 2)
            pairs.append(weights / weights.sum(axis=1, keepdims=True))
    pairs = np.array(pairs)
    for epsilon in (0.0, 0.2, 0.5, 0.9):
        worst = np.maximum(pairs[:, 0] - math.exp(epsilon) * pairs[:, 1], 0).sum(axis=1).max()
        assert worst <= OPTIMAL.delta(exponential_mechanism(eps0), epsilon)
        joint_p = np.einsum("ax,by->abxy", pairs[:, 0], pairs[:, 0])
        joint_q = np.einsum("ax,by->abxy", pairs[:, 1], pairs[:, 1])
        gain = np.maximum(joint_p - math.exp(epsilon) * joint_q, 0).sum(axis=3)  # [first, second, outcome]
        adaptive = gain.max(axis=1).sum(axis=1).max()
        assert adaptive <= OPTIMAL.delta(repeated(exponential_mechanism(eps0), 2), epsilon)


@settings(deadline=None, derandomize=True, max_examples=80)
@given(log_eps0=st.floats(-8, 0.5), rounds=st.integers(1, 4000), spread=st.floats(0, 6))
def test_never_below_the_non_adaptive_binomial(log_eps0, rounds, spread):
    eps0 = math.exp(log_eps0)
    epsilon = min(20.0, spread * 0.5 * eps0 * math.sqrt(rounds) + rounds * eps0 * eps0 / 8)
    event = repeated(exponential_mechanism(eps0), rounds)
    exact = binomial_delta(eps0, rounds, epsilon)
    assert OPTIMAL.delta(event, epsilon) >= exact * (1 - 1e-9)
    # and the oracle has teeth: a bound for rounds a tenth smaller falls below it somewhere near 0
    if rounds > 20 and eps0 * math.sqrt(rounds) < 2:
        smaller = repeated(exponential_mechanism(0.9 * eps0), rounds)
        assert OPTIMAL.delta(smaller, 0.0) < binomial_delta(eps0, rounds, 0.0)


@pytest.mark.parametrize(("eps0", "k"), [(0.01, 40), (0.1, 128), (0.5, 60)])
def test_a_finer_grid_only_lowers_the_curve(eps0, k):
    coarse, fine = _nodes(eps0, k, 8)[1], _nodes(eps0, k, 32)[1]
    assert np.all(coarse >= fine[::4] * (1 - 1e-12))
    near = coarse > 1e-9
    assert np.all(coarse[near] <= fine[::4][near] * 1.5)


def test_the_curve_is_convex_falling_and_ends():
    g, v = _nodes(0.2, 16, 128)
    y = np.exp(g * np.arange(len(v)))
    slopes = np.diff(v) / np.diff(y)
    assert np.all(slopes <= 0)
    assert np.all(np.diff(slopes) >= -1e-10)
    assert v[-1] == 0
    assert g * (len(v) - 1) == pytest.approx(16 * 0.2)


@pytest.mark.parametrize(("eps0", "rounds"), [(0.02, 1), (0.02, 7), (0.02, 300), (0.3, 150), (0.001, 2000)])
def test_the_gaussian_lies_above_the_rounds_it_stands_for(eps0, rounds):
    curve = GaussianProfile(gaussian_mu(eps0, rounds))
    limit = GaussianProfile(0.5 * eps0 * math.sqrt(rounds))
    beats = 0
    for epsilon in np.linspace(0, 5 * limit.mu, 30):
        truth = binomial_delta(eps0, rounds, float(epsilon))
        assert curve.delta(float(epsilon)) >= truth
        beats += limit.delta(float(epsilon)) < truth
    assert (
        rounds > 2 or beats
    )  # few rounds are NOT below the limiting Gaussian: the domination is no formality


def test_blocks_agree_with_one_long_recursion():
    eps0, rounds = 0.05, BLOCK + 60
    v = _nodes(eps0, rounds, 16)[1]
    curve = GaussianProfile(gaussian_mu(eps0, rounds))
    for i in range(0, 6 * 16 * int(math.sqrt(rounds)), 40):
        epsilon = i * eps0 / 16
        ours = curve.delta(epsilon)
        if v[i] > 1e-12:
            assert 0.999 * v[i] <= ours <= 1.25 * v[i] + 1e-9


@pytest.mark.parametrize("sigma", [0.5, 1.0, 3.73, 40.0])
def test_gaussian_events_alone_are_exact(sigma):
    for epsilon in (0.0, 0.1, 1.0, 4.0):
        theirs = pld.from_gaussian_mechanism(sigma / math.sqrt(3), value_discretization_interval=1e-3)
        exact = stats.norm.cdf(math.sqrt(3) / (2 * sigma) - epsilon * sigma / math.sqrt(3))
        exact -= math.exp(epsilon) * stats.norm.cdf(
            -math.sqrt(3) / (2 * sigma) - epsilon * sigma / math.sqrt(3)
        )
        ours = OPTIMAL.delta(repeated(gaussian(sigma), 3), epsilon)
        assert ours == pytest.approx(exact, rel=1e-9, abs=1e-15)
        assert ours <= theirs.get_delta_for_epsilon(epsilon) * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize(("eps0", "k", "sigma"), [(0.5, 1, 2.0), (0.1, 30, 2.0), (0.02, 100, 5.0)])
def test_rounds_after_a_gaussian_match_the_integral(eps0, k, sigma):
    mu = 1 / sigma
    event = composed([repeated(exponential_mechanism(eps0), k), gaussian(sigma)])
    g, v = _nodes(eps0, k, _resolution(k))
    y = np.exp(g * np.arange(len(v)))

    def curve(log_y):
        return np.interp(np.exp(log_y), y, v) if log_y >= 0 else 1 - np.exp(log_y) * (1 - curve_above(-log_y))

    def curve_above(log_y):
        return np.interp(np.exp(log_y), y, v)

    for epsilon in (0.0, 0.3, 1.0):
        losses = np.linspace(mu * mu / 2 - 9 * mu, mu * mu / 2 + 9 * mu, 40_001)
        density = stats.norm.pdf(losses, mu * mu / 2, mu)
        integral = integrate.trapezoid(
            [density[i] * curve(epsilon - x) for i, x in enumerate(losses)], losses
        )
        bound = BoundedRangeProfile(eps0, k, mu).delta(epsilon)
        assert bound == pytest.approx(integral, rel=1e-4)
        assert OPTIMAL.delta(event, epsilon) <= bound * (1 + 1e-9)


@pytest.mark.parametrize(("count", "loss", "sigma"), [(30, 0.05, 3.0), (200, 0.02, 3.0), (3, 0.3, 1.0)])
def test_laplace_and_gaussian_together_against_dp_accounting(count, loss, sigma):
    event = composed([repeated(laplace(1 / loss), count), gaussian(sigma)])
    # Randomised response is one loss-DP mechanism, so what dp-accounting says of it is a lower bound for us,
    # up to the 1e-4 by which it rounds losses up.
    response = pld.from_privacy_parameters(
        pld.common.DifferentialPrivacyParameters(loss, 0.0), value_discretization_interval=1e-4
    )
    both = response.self_compose(count).compose(
        pld.from_gaussian_mechanism(sigma, value_discretization_interval=1e-4)
    )
    for epsilon in (0.1, 0.5, 1.0):
        theirs = both.get_delta_for_epsilon(epsilon)
        assert theirs * 0.99 <= OPTIMAL.delta(event, epsilon) <= 2.0 * theirs + 1e-12


def attack(sizes, y, steps=30):
    """What an adversary gets from rounds of `sizes`, in this order, each t on a grid chosen with sight of
    the outcomes so far: a lower bound on the delta of any composition that allows this order."""
    if not sizes:
        return np.maximum(0.0, 1 - y)
    top = math.exp(sizes[0])
    z = np.exp(np.linspace(0, sizes[0], steps + 1))
    p = (top - z) / (top - 1)
    after_high = attack(sizes[1:], y[..., None] / z, steps)
    after_low = attack(sizes[1:], y[..., None] * top / z, steps)
    return (p * after_high + (1 - p) * after_low).max(axis=-1)


@pytest.mark.parametrize("small", [0.95, 0.85, 0.5, 0.1])
def test_interleaved_rounds_of_two_sizes_stay_below(small):
    epsilons = np.array([0.0, 0.4, 1.0])
    for order in ([1, small, 1], [small, 1, small], [1, 1, small], [small, small, 1], [small, 1, 1]):
        event = composed([exponential_mechanism(size) for size in order])
        reached = attack(order, np.exp(epsilons))
        for epsilon, delta in zip(epsilons, reached, strict=True):
            assert OPTIMAL.delta(event, float(epsilon)) >= delta
        smaller = composed([exponential_mechanism(0.7 * size) for size in order])
        assert OPTIMAL.delta(smaller, 0.4) < reached[1]  # the adversary is no weakling


def test_a_round_that_stands_alone_is_dominated_by_its_gaussian():
    for eps0 in (1e-3, 0.1, 1.0, 5.0):
        curve, top = GaussianProfile(single_mu(eps0)), math.exp(eps0)
        for epsilon in np.linspace(0, eps0, 50):
            exact = (math.sqrt(top) - math.exp(epsilon / 2)) ** 2 / (top - 1)
            assert curve.delta(float(epsilon)) >= exact
        # and it is the least such: at epsilon = 0 they meet
        assert curve.delta(0.0) <= math.tanh(eps0 / 4) * (1 + 1e-4)


def test_delta_reaches_zero_at_the_sum_of_epsilons():
    event = composed([repeated(exponential_mechanism(0.1), 3), laplace(2.0)])
    assert OPTIMAL.delta(event, 0.8 + 1e-9) == 0
    assert OPTIMAL.epsilon(event, 0.0) == pytest.approx(0.8)
    assert OPTIMAL.epsilon(composed([event, gaussian(1.0)]), 0.0) == math.inf


@pytest.mark.parametrize("eps0", [9.0, 50.0, 700.0])
def test_enormous_rounds_are_charged_as_pure(eps0):
    assert OPTIMAL.epsilon(exponential_mechanism(eps0), 1e-6) <= eps0 * (1 + 1e-12)
    assert OPTIMAL.epsilon(repeated(exponential_mechanism(eps0), 500), 1e-6) > eps0


@pytest.mark.parametrize("eps0", [1e-9, 1e-7])
def test_minute_rounds_lose_no_digits(eps0):
    rounds = round(0.01 / eps0**2)
    epsilon = OPTIMAL.epsilon(repeated(exponential_mechanism(eps0), rounds), 1e-6)
    assert epsilon == pytest.approx(GaussianProfile(0.05).epsilon(1e-6), rel=0.01)
