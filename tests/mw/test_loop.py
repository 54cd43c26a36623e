"""The loop: authorised as a whole, each round on the ledger before its pick, nothing out before the end."""

import numpy as np
import pytest

from fastmwem.errors import BudgetExceeded
from fastmwem.mw.loop import play
from fastmwem.privacy.accounting import accountant
from fastmwem.privacy.budget import Budget
from fastmwem.privacy.events import AssumedFailureDpEvent, exponential_mechanism
from fastmwem.privacy.ledger import Ledger
from fastmwem.select.base import Pick

EVENT = exponential_mechanism(0.01)
ONCE = AssumedFailureDpEvent(1e-9, "an index is right")


class Still:
    def __init__(self):
        self.answered = []

    def probe(self):
        return np.ones(2)

    def respond(self, pick):
        self.answered.append(pick)


class Watching:
    """A selector that notes what was on the ledger when it was asked, and fails in one round."""

    event, standing = EVENT, (ONCE,)

    def __init__(self, ledger, fails=-1):
        self.ledger, self.fails, self.seen = ledger, fails, []

    def pick(self, v):
        self.seen.append(dict(self.ledger.entries))
        if len(self.seen) == self.fails:
            raise KeyboardInterrupt
        return Pick(len(self.seen), 1)


@pytest.fixture
def ledger():
    return Ledger(Budget(1, 1e-6), accountant("zcdp"))


def test_each_event_is_on_the_ledger_before_its_pick(ledger):
    selector, player, shown = Watching(ledger), Still(), []
    picks = play(player, selector, 5, ledger, lambda t, of: shown.append((t, of)))
    assert selector.seen == [{ONCE: 1, EVENT: t} for t in range(1, 6)]
    assert picks.candidate.tolist() == [1, 2, 3, 4, 5]
    assert player.answered == [Pick(t, 1) for t in range(1, 6)]
    assert shown == [(t, 5) for t in range(1, 6)]


def test_an_interrupted_run_has_spent_the_round_that_it_was_in(ledger):
    with pytest.raises(KeyboardInterrupt):
        play(Still(), Watching(ledger, fails=3), 5, ledger)
    assert dict(ledger.entries) == {ONCE: 1, EVENT: 3}


@pytest.mark.parametrize("standing", [(), (AssumedFailureDpEvent(1e-5, "an index is right"),)])
def test_a_run_beyond_the_budget_does_not_begin(ledger, standing):
    selector = Watching(ledger)
    selector.standing = standing  # for one of the two, delta is gone with it
    with pytest.raises(BudgetExceeded):
        play(Still(), selector, 5 if standing else 100_000, ledger)
    assert selector.seen == []
    assert ledger.entries == ()
