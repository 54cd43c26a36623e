"""The suite that every accountant inherits, and what the two proven ones must satisfy besides."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from dp_accounting import dp_event
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from fastmwem.errors import InvalidArgument, UnsupportedEvent
from fastmwem.privacy.accounting import ACCOUNTANTS, accountant
from fastmwem.privacy.accounting.base import spend_of
from fastmwem.privacy.accounting.profiles import ConcentratedProfile, PureProfile
from fastmwem.privacy.events import (
    AssumedFailureDpEvent,
    BoundedRangeDpEvent,
    adaptive_sizes,
    composed,
    exponential_mechanism,
    gaussian,
    laplace,
    non_private,
    repeated,
)

PROVEN = ("optimal", "zcdp")
DELTAS = (1e-9, 1e-6, 1e-3, 0.1)


@pytest.mark.parametrize("name", ACCOUNTANTS)
class TestEveryAccountant:
    def test_more_rounds_larger_rounds_and_smaller_delta_cost_more(self, name):
        judge = accountant(name)
        for delta in DELTAS:
            rounds = [
                judge.epsilon(repeated(exponential_mechanism(0.1), t), delta) for t in (1, 2, 5, 60, 400)
            ]
            assert rounds == sorted(rounds)
            sizes = [judge.epsilon(repeated(exponential_mechanism(e), 20), delta) for e in (0.001, 0.1, 1, 3)]
            assert sizes == sorted(sizes)
        event = repeated(exponential_mechanism(0.1), 300)
        costs = [judge.epsilon(event, delta) for delta in DELTAS]
        assert costs == sorted(costs, reverse=True)
        deltas = [judge.delta(event, epsilon) for epsilon in (0.0, 0.1, 1.0, 5.0)]
        assert deltas == sorted(deltas, reverse=True)

    def test_epsilon_and_delta_agree(self, name):
        judge = accountant(name)
        for count in (1, 2, 50, 1000):
            event = repeated(exponential_mechanism(0.05), count)
            for delta in DELTAS:
                epsilon = judge.epsilon(event, delta)
                assert judge.delta(event, epsilon) <= delta * (1 + 1e-6)
                if epsilon > 1e-9:
                    assert judge.delta(event, epsilon * (1 - 1e-5)) > delta

    def test_a_no_op_is_free(self, name):
        judge, event = accountant(name), repeated(exponential_mechanism(0.1), 7)
        assert judge.epsilon(dp_event.NoOpDpEvent(), 1e-6) == 0
        assert judge.delta(dp_event.NoOpDpEvent(), 0) == 0
        assert judge.epsilon(composed([event, dp_event.NoOpDpEvent()]), 1e-6) == judge.epsilon(event, 1e-6)

    def test_order_and_nesting_do_not_matter(self, name):
        a, b, c = (exponential_mechanism(size) for size in (0.1, 0.2, 0.3))
        judge = accountant(name)
        flat = judge.epsilon(composed([a, b, b, c]), 1e-5)
        assert judge.epsilon(composed([b, composed([c, a]), b]), 1e-5) == flat
        assert judge.epsilon(composed([repeated(b, 2), c, a]), 1e-5) == flat

    @pytest.mark.parametrize(
        "event",
        [
            dp_event.UnsupportedDpEvent(),
            dp_event.PoissonSampledDpEvent(0.1, gaussian(1.0)),
            dp_event.MixtureOfGaussiansDpEvent(1.0, [1.0], [1.0]),
            dp_event.DpEvent(),
        ],
    )
    def test_an_unknown_event_is_refused(self, name, event):
        for wrapped in (event, composed([exponential_mechanism(0.1), repeated(event, 2)])):
            with pytest.raises(UnsupportedEvent, match=type(event).__name__):
                accountant(name).epsilon(wrapped, 1e-6)
            with pytest.raises(UnsupportedEvent):
                accountant(name).delta(wrapped, 1.0)

    def test_no_privacy_costs_everything(self, name):
        judge = accountant(name)
        for event in (
            non_private(),
            composed([exponential_mechanism(0.1), non_private()]),
            exponential_mechanism(math.inf),
            gaussian(0.0),
            laplace(0.0),
        ):
            assert judge.epsilon(event, 1e-6) == math.inf
            assert judge.delta(event, 10.0) == 1.0

    def test_an_assumed_failure_is_added_to_delta_for_both_neighbours(self, name):
        judge, event = accountant(name), repeated(exponential_mechanism(0.1), 50)
        failing = composed([event, AssumedFailureDpEvent(1e-7, "the index is perfect")])
        for epsilon in (0.0, 1.0, 2.0):
            added = 1e-7 * (1 + math.exp(epsilon))
            assert judge.delta(failing, epsilon) == pytest.approx(min(1, judge.delta(event, epsilon) + added))
        for delta in (3e-6, 1e-3):
            epsilon = judge.epsilon(failing, delta)
            assert judge.delta(failing, epsilon) <= delta
            assert judge.delta(failing, epsilon * (1 - 1e-6)) > delta
            assert epsilon > judge.epsilon(event, delta)
        assert judge.epsilon(failing, 1.9e-7) == math.inf

    def test_an_assumption_has_no_say_in_the_cost(self, name):
        judge = accountant(name)
        assert judge.epsilon(BoundedRangeDpEvent(0.1, "recall is 1"), 1e-6) == judge.epsilon(
            BoundedRangeDpEvent(0.1), 1e-6
        )

    def test_bad_numbers_are_named(self, name):
        judge = accountant(name)
        for count in (-1, 0.5):  # nothing may be taken off a sum
            less = dp_event.SelfComposedDpEvent(exponential_mechanism(0.1), count)
            with pytest.raises(InvalidArgument, match="count"):
                judge.epsilon(composed([repeated(exponential_mechanism(0.1), 5), less]), 1e-6)
        with pytest.raises(InvalidArgument, match="delta"):
            judge.epsilon(exponential_mechanism(0.1), math.nan)
        with pytest.raises(InvalidArgument, match="epsilon"):
            judge.delta(exponential_mechanism(0.1), -1.0)
        with pytest.raises(InvalidArgument, match="bounded-range"):
            judge.epsilon(exponential_mechanism(math.nan), 0.1)


def test_a_failure_that_depends_on_the_table_needs_more_than_its_probability():
    # As promised, neighbours have one law and nothing is lost. But where P's run would give the third outcome
    # it fails and gives the second; Q's run the other way round. Each fails with probability gamma.
    gamma = 1e-3
    promised = np.array([1 - 2 * gamma, gamma, gamma])
    p, q = promised + np.array([[0, gamma, -gamma], [0, -gamma, gamma]])
    assert np.maximum(p - q, 0).sum() > 1.9 * gamma  # delta + gamma would be too small a charge
    event = AssumedFailureDpEvent(gamma, "neither run fails")
    for epsilon in (0.0, 0.5, 2.0):
        worst = np.maximum(p - math.exp(epsilon) * q, 0).sum()
        assert all(accountant(name).delta(event, epsilon) >= worst for name in ACCOUNTANTS)


@pytest.mark.parametrize("name", PROVEN)
@settings(deadline=None, derandomize=True, max_examples=40)
@given(
    eps0=st.floats(1e-4, 2),
    rounds=st.integers(1, 3000),
    sigma=st.floats(0.3, 300),
    count=st.integers(0, 30),
    delta=st.floats(1e-10, 0.2),
)
def test_adding_noise_measurements_never_lowers_the_cost(name, eps0, rounds, sigma, count, delta):
    judge = accountant(name)
    alone = judge.epsilon(repeated(exponential_mechanism(eps0), rounds), delta)
    both = composed([repeated(exponential_mechanism(eps0), rounds), repeated(gaussian(sigma), max(count, 1))])
    assert judge.epsilon(both, delta) >= alone * (1 - 1e-9)
    assert judge.epsilon(both, delta) >= judge.epsilon(gaussian(sigma), delta) * (1 - 1e-9)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    eps0=st.floats(1e-4, 3),
    rounds=st.integers(1, 3000),
    other=st.floats(1e-4, 3),
    sigma=st.floats(0.3, 300),
    delta=st.floats(1e-10, 0.2),
)
def test_optimal_never_costs_more_than_zcdp(eps0, rounds, other, sigma, delta):
    event = composed(
        [repeated(exponential_mechanism(eps0), rounds), exponential_mechanism(other), gaussian(sigma)]
    )
    assert accountant("optimal").epsilon(event, delta) <= accountant("zcdp").epsilon(event, delta)


@pytest.mark.parametrize("rho", [1e-4, 0.02, 0.3, 5.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_zcdp_is_dp_accountings(rho, delta):
    # the same conversion, over a grid of orders fine enough that its minimum is good to 1e-6
    best = 1 + math.sqrt(-math.log(delta) / rho)
    orders = 1 + (best - 1) * np.geomspace(0.05, 2, 4000)
    theirs = RdpAccountant(orders)
    theirs.compose(dp_event.ZCDpEvent(rho / 2))
    theirs.compose(gaussian(math.sqrt(1 / rho)))
    ours = composed(
        [
            exponential_mechanism(math.sqrt(4 * rho)),
            gaussian(math.sqrt(2 / rho)),
            gaussian(math.sqrt(2 / rho)),
        ]
    )
    assert accountant("zcdp").epsilon(ours, delta) == pytest.approx(
        theirs.get_epsilon(delta), rel=1e-6, abs=1e-9
    )


def test_the_same_zcdp_by_other_means():
    judge = accountant("zcdp")
    rho = 0.02
    events = (
        repeated(exponential_mechanism(math.sqrt(8 * rho / 50)), 50),
        gaussian(math.sqrt(1 / (2 * rho))),
        repeated(laplace(1 / math.sqrt(2 * rho / 3)), 3),
    )
    first, *others = (judge.epsilon(event, 1e-6) for event in events)
    assert all(other == pytest.approx(first, rel=1e-9) for other in others)


def root(increasing):
    """Where `increasing` passes 0, between e^-200 and e^200, in the working digits."""
    low, high = mpmath.mpf(-200), mpmath.mpf(200)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (low, middle) if increasing(mpmath.exp(middle)) > 0 else (middle, high)
    return mpmath.exp(high)


@pytest.mark.parametrize("rho", [1e-6, 1e-2, 1.0, 1e6])
@pytest.mark.parametrize("log_inverse", [700.0, 14.0, 1.0, 1e-3, 1e-7])
def test_the_conversion_from_zcdp_is_rounded_up(rho, log_inverse):
    """Against the least value of the formula in 60 digits; a delta near 1 takes orders near 1."""
    profile, delta = ConcentratedProfile(rho), math.exp(-log_inverse)
    with mpmath.workdps(60):
        size, target = mpmath.mpf(rho), -mpmath.log(mpmath.mpf(delta))
        b = root(lambda b: b * b * size + mpmath.log1p(b) - target)
        epsilon = (1 + b) * size + (target - (1 + b) * mpmath.log1p(1 / b) - mpmath.log(b)) / b
        assert max(0, epsilon) <= profile.epsilon(delta) <= max(0, epsilon) * (1 + 1e-6) + 1e-9
        for at in (0.0, 0.3 * rho, rho, 3 * rho + 0.1, profile.epsilon(delta)):
            b = root(lambda b: (2 * b + 1) * size - at - mpmath.log1p(1 / b))  # noqa: B023
            exact = mpmath.exp(b * ((1 + b) * size - at) - (1 + b) * mpmath.log1p(1 / b)) / b
            assert min(1, exact) <= profile.delta(at) <= min(1, exact) * (1 + 1e-6) + 1e-290


@pytest.mark.parametrize("name", PROVEN)
@pytest.mark.parametrize(
    "event",
    [
        *[gaussian(sigma) for sigma in (1e-300, 1e-160, 1e-3, 1e160, 1e300)],
        *[repeated(exponential_mechanism(size), 3) for size in (1e-300, 1e-160, 1e-9, 30.0, 31.0, 1e200)],
        *[laplace(scale) for scale in (5e-324, 1e-200, 1e-2, 1e300)],
    ],
    ids=str,
)
def test_sizes_at_the_ends_of_float64_are_never_free(name, event):
    judge = accountant(name)
    assert judge.epsilon(event, 0.0) > 0
    assert judge.epsilon(event, 1e-9) <= judge.epsilon(event, 0.0)
    deltas = [judge.delta(event, epsilon) for epsilon in (0.0, 1e-200, 1e-9, 1.0, 1e4, 1e300)]
    assert deltas == sorted(deltas, reverse=True)
    assert 0 < deltas[0] <= 1


@pytest.mark.parametrize("scale", [0.7, 3.0, 49.0, 1e-3])
def test_epsilon_of_laplace_noise_is_rounded_up(scale):
    ((epsilon, _),) = spend_of(laplace(scale)).pure
    assert 1 / Fraction(scale) < Fraction(epsilon) <= (1 + Fraction(2) ** -50) / Fraction(scale)


@pytest.mark.parametrize("total", [1e-9, 0.3, 5.0, 40.0])
def test_the_curve_of_pure_privacy_is_rounded_up(total):
    with mpmath.workdps(40):
        for part in (0.0, 0.1, 0.37, 0.9, 1 - 1e-9):
            epsilon = part * total
            exact = -mpmath.expm1(mpmath.mpf(epsilon) - total) / (1 + mpmath.exp(-mpmath.mpf(total)))
            assert exact <= PureProfile(total).delta(epsilon) <= exact * (1 + 1e-9)


def test_an_unknown_accountant_is_named_with_the_nearest():
    with pytest.raises(InvalidArgument, match="did you mean 'optimal'"):
        accountant("optimum")


def test_the_papers_formula_knows_rounds_only():
    with pytest.raises(UnsupportedEvent, match="optimal"):
        accountant("paper").epsilon(gaussian(1.0), 1e-6)


def test_the_papers_formula_is_no_bound():
    """Where epsilon is 6 ln(1/delta), rounds that lose +-eps0/2 each, independently, have more than delta."""
    delta, rounds = 1e-3, 1000
    epsilon = 6 * math.log(1 / delta)
    eps0 = epsilon / math.sqrt(rounds * math.log(1 / delta))
    x = np.arange(rounds + 1)
    high = stats.logistic.cdf(eps0 / 2)
    gain = stats.binom.pmf(x, rounds, high) - np.exp(epsilon) * stats.binom.pmf(x, rounds, 1 - high)
    event = repeated(exponential_mechanism(eps0), rounds)
    assert accountant("paper").delta(event, epsilon) <= delta * (1 + 1e-9) < 0.02 * gain[gain > 0].sum()
    assert not accountant("paper").proven
    for name in PROVEN:
        assert accountant(name).proven
        assert accountant(name).delta(event, epsilon) >= gain[gain > 0].sum()


def test_adaptive_sizes_are_counted_by_rho_alone():
    """One such run makes zCDP the measure of all that is composed with it, however small it is."""
    rounds = repeated(exponential_mechanism(0.02), 1000)
    marked = composed([rounds, composed([adaptive_sizes(), gaussian(1e6)])])
    plain = composed([rounds, gaussian(1e6)])
    assert accountant("optimal").epsilon(marked, 1e-6) == accountant("zcdp").epsilon(plain, 1e-6)
    assert accountant("optimal").epsilon(plain, 1e-6) < 0.99 * accountant("zcdp").epsilon(plain, 1e-6)
    pure = composed([adaptive_sizes(), laplace(2.0)])
    assert accountant("optimal").epsilon(pure, 0.0) == math.inf  # not the plain sum of epsilons either
    with pytest.raises(UnsupportedEvent, match="fixed size"):
        accountant("paper").epsilon(marked, 1e-6)
