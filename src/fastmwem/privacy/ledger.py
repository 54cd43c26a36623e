"""The ledger of one run: what was spent, written down before the outcome exists.

Append-only. A run first asks `authorise` for all it is going to do, which refuses if it does not fit the
budget, then records each event *before* the mechanism runs. A crash can therefore leave an event
without an outcome, never an outcome without an event.
"""

from __future__ import annotations

import math
from typing import Protocol

from dp_accounting.dp_event import NonPrivateDpEvent

from fastmwem.errors import BudgetExceeded, InvalidArgument, check_whole
from fastmwem.privacy.accounting.base import spend_of
from fastmwem.privacy.budget import Budget
from fastmwem.privacy.events import DpEvent, composed, non_private, repeated
from fastmwem.privacy.randomness import Randomness

__all__ = ["Accountant", "Ledger"]


class Accountant(Protocol):
    """What a ledger needs of an accountant: an upper bound on epsilon, rounded outward."""

    name: str
    proven: bool

    def epsilon(self, event: DpEvent, delta: float) -> float: ...
    def delta(self, event: DpEvent, epsilon: float) -> float: ...


class Ledger:
    """Events in the order in which they happened, under one budget and one accountant.

    >>> from fastmwem.privacy.accounting import accountant
    >>> from fastmwem.privacy.events import exponential_mechanism
    >>> ledger = Ledger(Budget(1, 1e-6), accountant("zcdp"))
    >>> ledger.authorise(repeated(exponential_mechanism(0.01), 1000))
    >>> ledger.record(exponential_mechanism(0.01), 1000)
    >>> round(ledger.epsilon(), 3)
    0.7
    """

    def __init__(self, budget: Budget, accountant: Accountant) -> None:
        if not accountant.proven:
            raise InvalidArgument(
                f"accountant must be one whose bound is proven: {accountant.name!r} is for comparison only, "
                "choose 'optimal' or 'zcdp'."
            )
        self.budget = budget
        self.accountant = accountant
        self._entries: list[tuple[DpEvent, int]] = []  # runs of equal events, in order
        self._last: DpEvent | None = None  # the event of the open run, and how often it was recorded;
        self._count = 0  # kept apart so that recording the same event again is one addition

    @classmethod
    def for_run(cls, budget: Budget, accountant: Accountant, randomness: Randomness) -> Ledger:
        """A fresh ledger; if `randomness` is seeded, it opens with `non_private()`: epsilon is infinite."""
        ledger = cls(budget, accountant)
        if not randomness.is_private:
            ledger.record(non_private())
        return ledger

    @property
    def entries(self) -> tuple[tuple[DpEvent, int], ...]:
        """(event, how many times in a row), in order."""
        open_run = () if self._last is None else ((self._last, self._count),)
        return (*self._entries, *open_run)

    @property
    def event(self) -> DpEvent | None:
        """Everything so far as one composed event; None if nothing was spent."""
        return _all_of(self.entries)

    @property
    def is_private(self) -> bool:
        """Whether the guarantee holds at all: false if the run was seeded, whatever it spent."""
        return self.event is None or spend_of(self.event).private

    def epsilon(self) -> float:
        """The epsilon spent so far at the budget's delta; infinite if the run was seeded."""
        event = self.event
        return 0.0 if event is None else self.accountant.epsilon(event, self.budget.delta)

    def authorise(self, event: DpEvent) -> None:
        """Refuse unless `event`, on top of what is already here, stays within the budget.

        A `non_private()` entry that is already here is set aside for this question, so that a seeded run
        is held to its budget as a private one is, and can run; its `epsilon()` stays infinite.
        Authorising reserves nothing: ask once, for the whole plan.
        """
        so_far = _all_of([entry for entry in self.entries if not isinstance(entry[0], NonPrivateDpEvent)])
        total = event if so_far is None else composed([so_far, event])
        would_be = self.accountant.epsilon(total, self.budget.delta)
        if would_be <= self.budget.epsilon:
            return
        spent = 0.0 if so_far is None else self.accountant.epsilon(so_far, self.budget.delta)
        if math.isinf(would_be):
            raise BudgetExceeded(
                f"this asks for an event that no epsilon covers at delta {self.budget.delta:g}, and "
                f"{max(0.0, self.budget.epsilon - spent):.6g} of epsilon {self.budget.epsilon:.6g} is left: "
                "use mechanisms with noise, or raise delta."
            )
        raise BudgetExceeded(
            f"this asks for epsilon {would_be - spent:.6g} more at delta {self.budget.delta:g}, but "
            f"{max(0.0, self.budget.epsilon - spent):.6g} of {self.budget.epsilon:.6g} is left: "
            f"{would_be - self.budget.epsilon:.3g} too much; ask for less or raise epsilon."
        )

    def record(self, event: DpEvent, count: int = 1) -> None:
        """Append `event`. Call this before the mechanism it describes runs."""
        if count != 1:
            count = check_whole("count", count)
        if event is self._last:
            self._count += count
            return
        if self._last is not None and event == self._last:
            self._count += count
            return
        spend_of(event)  # refuses what no accountant could price
        if self._last is not None:
            self._entries.append((self._last, self._count))
        self._last, self._count = event, count

    def __repr__(self) -> str:
        return f"Ledger({self.budget}, {self.accountant.name}, {len(self.entries)} entries)"


def _all_of(entries: tuple[tuple[DpEvent, int], ...] | list[tuple[DpEvent, int]]) -> DpEvent | None:
    parts = [repeated(event, count) for event, count in entries]
    return composed(parts) if parts else None
