"""The ledger: append-only, refuses before anything is spent, and says what a seed does to the promise."""

import math
import re
import time

import pytest
from dp_accounting import dp_event

from fastmwem.errors import BudgetExceeded, InvalidArgument, UnsupportedEvent
from fastmwem.privacy.accounting import accountant
from fastmwem.privacy.budget import Budget
from fastmwem.privacy.calibrate import calibrate_rounds
from fastmwem.privacy.events import (
    composed,
    exponential_mechanism,
    gaussian,
    non_private,
    repeated,
)
from fastmwem.privacy.ledger import Ledger
from fastmwem.privacy.randomness import Randomness

BUDGET = Budget(1, 1e-6)


@pytest.fixture(params=["optimal", "zcdp"])
def ledger(request):
    return Ledger(BUDGET, accountant(request.param))


def test_it_starts_empty(ledger):
    assert ledger.entries == ()
    assert ledger.event is None
    assert ledger.epsilon() == 0
    assert ledger.is_private


def test_it_keeps_the_order_and_counts_runs(ledger):
    round_, noise = exponential_mechanism(0.01), gaussian(20.0)
    for event in (round_, exponential_mechanism(0.01), noise, round_):
        ledger.record(event)
    ledger.record(round_, 5)
    ledger.record(exponential_mechanism(0.01), 4)
    assert ledger.entries == ((round_, 2), (noise, 1), (round_, 10))
    same = composed([repeated(round_, 12), noise])
    assert ledger.epsilon() == ledger.accountant.epsilon(same, BUDGET.delta)


def test_what_it_hands_out_cannot_change_it(ledger):
    ledger.record(exponential_mechanism(0.01))
    seen = ledger.entries
    ledger.record(gaussian(20.0))
    assert seen == ((exponential_mechanism(0.01), 1),)
    assert isinstance(ledger.event, dp_event.ComposedDpEvent)
    ledger.event.events.clear()  # dp-accounting's composed event holds a list; ours is made anew each time
    assert ledger.entries == ((exponential_mechanism(0.01), 1), (gaussian(20.0), 1))
    assert len(ledger.event.events) == 2


def test_a_refusal_says_requested_left_and_the_difference_and_spends_nothing(ledger):
    ledger.record(exponential_mechanism(0.01), 1000)
    before = ledger.entries
    with pytest.raises(BudgetExceeded) as refusal:
        ledger.authorise(repeated(exponential_mechanism(0.01), 2000))
    assert ledger.entries == before
    message = str(refusal.value)
    asked, delta, left, total, over = (
        float(x) for x in re.findall(r"[\d.]+(?:e-\d+)?(?=[ ,:])", message)[:5]
    )
    assert (delta, total) == (BUDGET.delta, BUDGET.epsilon)
    assert asked - left == pytest.approx(over, rel=2e-3)
    assert left == pytest.approx(1 - ledger.epsilon(), rel=1e-5)
    assert "ask for less or raise epsilon" in message
    assert refusal.value.exit_code == 3


def test_what_no_epsilon_covers_is_refused(ledger):
    for event in (non_private(), gaussian(0.0), exponential_mechanism(math.inf)):
        with pytest.raises(BudgetExceeded, match="no epsilon covers"):
            ledger.authorise(event)


def test_an_unknown_event_is_neither_authorised_nor_recorded(ledger):
    unknown = dp_event.PoissonSampledDpEvent(0.1, gaussian(1.0))
    with pytest.raises(UnsupportedEvent):
        ledger.authorise(unknown)
    with pytest.raises(UnsupportedEvent):
        ledger.record(unknown)
    assert ledger.entries == ()


def test_a_ledger_rests_on_proven_bounds_alone():
    with pytest.raises(InvalidArgument, match="'paper' is for comparison only"):
        Ledger(BUDGET, accountant("paper"))


def test_nothing_is_ever_taken_off(ledger):
    event = exponential_mechanism(0.01)
    ledger.record(event, 3)
    for count in (0, -1, 1.5, math.nan):
        with pytest.raises(InvalidArgument, match="count"):
            ledger.record(event, count)
    assert ledger.entries == ((event, 3),)


def test_a_seed_inside_a_composed_event_is_seen(ledger):
    ledger.record(composed([gaussian(20.0), non_private()]))
    assert not ledger.is_private


@pytest.mark.parametrize("name", ["optimal", "zcdp"])
def test_the_budget_can_be_used_to_the_last_and_no_further(name):
    bought = calibrate_rounds(BUDGET, 700, accountant=name, gaussians=5)
    ledger = Ledger(BUDGET, accountant(name))
    ledger.authorise(bought.event)
    ledger.record(exponential_mechanism(bought.eps0), 700)
    ledger.authorise(repeated(gaussian(bought.noise_multiplier), 5))
    ledger.record(gaussian(bought.noise_multiplier), 5)
    assert ledger.epsilon() <= BUDGET.epsilon
    with pytest.raises(BudgetExceeded):
        ledger.authorise(exponential_mechanism(bought.eps0))


def test_a_private_run_opens_an_empty_ledger():
    ledger = Ledger.for_run(BUDGET, accountant("zcdp"), Randomness.private())
    assert ledger.entries == ()
    assert ledger.is_private


def test_a_seeded_run_may_run_within_its_budget_and_promises_nothing():
    ledger = Ledger.for_run(BUDGET, accountant("optimal"), Randomness.seeded(1))
    assert ledger.entries == ((non_private(), 1),)
    assert not ledger.is_private
    assert ledger.epsilon() == math.inf
    ledger.authorise(repeated(exponential_mechanism(0.01), 1000))
    ledger.record(exponential_mechanism(0.01), 1000)
    assert ledger.epsilon() == math.inf
    with pytest.raises(BudgetExceeded):
        ledger.authorise(repeated(exponential_mechanism(0.01), 100_000))


def test_recording_a_round_is_cheap():
    ledger, event = Ledger(BUDGET, accountant("zcdp")), exponential_mechanism(0.001)
    best = math.inf
    for _ in range(5):
        start = time.perf_counter()
        for _ in range(20_000):
            ledger.record(event)
        best = min(best, (time.perf_counter() - start) / 20_000)
    assert len(ledger.entries) == 1
    assert best < 1e-6
