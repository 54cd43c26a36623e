"""What a budget buys: the table of figures, the whole range of rounds, and never a hair over budget."""

import math

import pytest
from dp_accounting import dp_event
from hypothesis import given, settings
from hypothesis import strategies as st

from fastmwem.errors import InvalidArgument, UnsupportedEvent
from fastmwem.privacy.accounting import ACCOUNTANTS, accountant
from fastmwem.privacy.budget import Budget
from fastmwem.privacy.calibrate import (
    calibrate_gaussian,
    calibrate_rounds,
    fit_to_budget,
    rho,
    scaled,
)
from fastmwem.privacy.events import (
    AssumedFailureDpEvent,
    composed,
    exponential_mechanism,
    gaussian,
    laplace,
    non_private,
    repeated,
)
from fastmwem.privacy.ledger import Ledger

# eps0 * sqrt(T) at T = 1000: (epsilon, delta, paper, zcdp, optimal), and the Gaussian limit of optimal
TABLE = [
    (1, 1e-3, 0.3805, 0.6893, 0.7771, 0.7768),
    (1, 1e-6, 0.2690, 0.4414, 0.4740, 0.4734),
    (0.1, 1e-6, 0.0269, 0.0507, 0.0551, 0.0551),
    (4, 1e-6, 1.0762, 1.5775, 1.6782, 1.6757),
]
TARGETS = [(epsilon, delta, limit) for epsilon, delta, *_, limit in TABLE]


@pytest.mark.parametrize(("epsilon", "delta", "paper", "zcdp", "optimal", "limit"), TABLE)
def test_the_table_of_what_each_accountant_allows(epsilon, delta, paper, zcdp, optimal, limit):
    def allowed(name):
        return calibrate_rounds(Budget(epsilon, delta), 1000, accountant=name).eps0 * math.sqrt(1000)

    assert allowed("paper") == pytest.approx(paper, abs=5.1e-5)
    assert allowed("zcdp") == pytest.approx(zcdp, abs=5.1e-5)
    assert 0.99 * optimal <= allowed("optimal") <= optimal + 5e-5
    sigma = calibrate_gaussian(Budget(epsilon, delta)).noise_multiplier
    assert 2 / sigma == pytest.approx(limit, abs=5.1e-5)


@pytest.mark.parametrize(("epsilon", "delta", "limit"), TARGETS)
@pytest.mark.parametrize("rounds", [100, 127, 128, 129, 256, 300, 1000, 10_000, 100_000])
def test_every_number_of_rounds_keeps_close_to_the_gaussian_limit(epsilon, delta, limit, rounds):
    bought = calibrate_rounds(Budget(epsilon, delta), rounds)
    assert bought.eps0 * math.sqrt(rounds) >= 0.99 * limit  # 0.97 is the promise
    assert bought.epsilon <= epsilon


def test_the_papers_formula_is_covered_by_the_truth():
    budget = Budget(1, 1e-3)
    eps0 = calibrate_rounds(budget, 1000, accountant="paper").eps0
    truth = accountant("optimal").epsilon(repeated(exponential_mechanism(eps0), 1000), budget.delta)
    assert truth < 0.5  # the printed eps0 buys less than half of what the budget would


@pytest.mark.parametrize("name", ACCOUNTANTS)
@settings(deadline=None, derandomize=True, max_examples=15)
@given(
    epsilon=st.floats(1e-3, 12),
    delta=st.floats(1e-12, 0.3),
    rounds=st.integers(1, 200_000),
    gaussians=st.integers(0, 200),
    share=st.floats(0.01, 0.99),
)
def test_what_was_calibrated_is_authorised_and_fills_the_budget(
    name, epsilon, delta, rounds, gaussians, share
):
    budget = Budget(epsilon, delta)
    gaussians = 0 if name == "paper" else gaussians
    share = share if gaussians else None
    bought = calibrate_rounds(budget, rounds, accountant=name, gaussians=gaussians, share=share)
    assert budget.epsilon * (1 - 1e-4) <= bought.epsilon <= budget.epsilon
    if name == "paper":
        return
    ledger = Ledger(budget, accountant(name))
    ledger.authorise(bought.event)
    ledger.record(exponential_mechanism(bought.eps0), rounds)
    if gaussians:
        ledger.record(gaussian(bought.noise_multiplier), gaussians)
    assert ledger.epsilon() == bought.epsilon


def test_share_divides_the_budget_in_zcdp():
    bought = calibrate_rounds(Budget(1, 1e-6), 500, gaussians=20, share=0.3)
    rounds, measured = 500 * bought.eps0**2 / 8, 20 / (2 * bought.noise_multiplier**2)
    assert rounds / (rounds + measured) == pytest.approx(0.3)
    even = calibrate_rounds(Budget(1, 1e-6), 500, gaussians=20)
    assert 500 * even.eps0**2 / 8 == pytest.approx(20 / (2 * even.noise_multiplier**2))


def test_rho_is_what_zcdp_may_spend():
    budget = Budget(1, 1e-6)
    size = rho(budget)
    parts = [gaussian(math.sqrt(3 / (2 * size))), exponential_mechanism(math.sqrt(8 * size / 3))]
    parts.append(repeated(exponential_mechanism(math.sqrt(8 * size / 300)), 100))
    for name in ("zcdp", "optimal"):
        Ledger(budget, accountant(name)).authorise(composed(parts))
    used = accountant("zcdp").epsilon(composed(parts), budget.delta)
    assert used == pytest.approx(1, rel=1e-9)


@pytest.mark.parametrize("name", ["zcdp", "optimal"])
def test_a_plan_of_many_sizes_fits_and_fills(name):
    budget = Budget(1, 1e-6)
    sizes = [2 ** (i / 4) for i in range(12)]
    plan = [repeated(composed([exponential_mechanism(s), gaussian(0.4 / s)]), 2) for s in sizes] + [
        laplace(1.0)
    ]
    factor = fit_to_budget(budget, plan, using=name)
    event = scaled(composed(plan), factor)
    assert 1 - 1e-6 <= accountant(name).epsilon(event, budget.delta) <= 1
    Ledger(budget, accountant(name)).authorise(event)
    assert factor >= fit_to_budget(budget, plan, using="zcdp")


def test_an_assumed_failure_takes_its_part_of_delta_first():
    budget, plan = Budget(1, 1e-6), [repeated(exponential_mechanism(1.0), 200)]
    failing = [*plan, AssumedFailureDpEvent(2e-7, "the index is perfect")]
    rest = 1e-6 - 2e-7 * (1 + math.e)
    assert fit_to_budget(budget, failing) == pytest.approx(fit_to_budget(Budget(1, rest), plan), rel=1e-6)
    with pytest.raises(InvalidArgument, match="raise delta"):
        fit_to_budget(Budget(1, 7e-7), failing)


def test_plans_that_cannot_be_scaled_are_refused():
    for plan in ([non_private()], [dp_event.NoOpDpEvent()], [gaussian(0.0)]):
        with pytest.raises(InvalidArgument, match="plan"):
            fit_to_budget(Budget(1, 1e-6), plan)
    with pytest.raises(UnsupportedEvent, match="PoissonSampled"):
        fit_to_budget(Budget(1, 1e-6), [dp_event.PoissonSampledDpEvent(0.1, gaussian(1.0))])


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"rounds": 0}, "rounds"),
        ({"rounds": 2.5}, "rounds"),
        ({"rounds": math.nan}, "rounds"),
        ({"rounds": 10, "gaussians": -1}, "gaussians"),
        ({"rounds": 10, "gaussians": 2, "share": 0.0}, "share"),
        ({"rounds": 10, "gaussians": 2, "share": 1.0}, "share"),
        ({"rounds": 10, "gaussians": 2, "share": math.nan}, "share"),
        ({"rounds": 10, "share": 0.5}, "gaussians"),
        ({"rounds": 10, "accountant": "moments"}, "accountant"),
    ],
)
def test_bad_numbers_are_named(arguments, word):
    with pytest.raises(InvalidArgument, match=word):
        calibrate_rounds(Budget(1, 1e-6), **arguments)
