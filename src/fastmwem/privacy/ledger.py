"""The ledger of one run: what was spent, written down before the outcome exists.

Append-only. A run first asks `authorise` for all it is going to do, which refuses if it does not fit the
budget, then records each event *before* the mechanism runs. A crash can therefore leave an event
without an outcome, never an outcome without an event.
"""

from __future__ import annotations

from typing import Protocol

from fastmwem.errors import BudgetExceeded
from fastmwem.privacy.budget import Budget
from fastmwem.privacy.events import DpEvent, composed, repeated

__all__ = ["Accountant", "Ledger"]


class Accountant(Protocol):
    """What a ledger needs of an accountant: an upper bound on epsilon, rounded outward."""

    name: str

    def epsilon(self, event: DpEvent, delta: float) -> float: ...
    def delta(self, event: DpEvent, epsilon: float) -> float: ...


class Ledger:
    """Events in the order in which they happened, under one budget and one accountant."""

    def __init__(self, budget: Budget, accountant: Accountant) -> None:
        self.budget = budget
        self.accountant = accountant
        self._entries: list[tuple[DpEvent, int]] = []  # runs of equal events, in order

    @property
    def entries(self) -> tuple[tuple[DpEvent, int], ...]:
        """(event, how many times in a row), in order."""
        return tuple(self._entries)

    @property
    def event(self) -> DpEvent | None:
        """Everything so far as one composed event; None if nothing was spent."""
        parts = [repeated(event, count) for event, count in self._entries]
        return composed(parts) if parts else None

    def epsilon(self) -> float:
        """The epsilon spent so far at the budget's delta."""
        event = self.event
        return 0.0 if event is None else self.accountant.epsilon(event, self.budget.delta)

    def authorise(self, event: DpEvent) -> None:
        """Refuse unless `event`, on top of what is already here, stays within the budget."""
        so_far = self.event
        total = event if so_far is None else composed([so_far, event])
        would_be = self.accountant.epsilon(total, self.budget.delta)
        if would_be > self.budget.epsilon:
            spent, left = self.epsilon(), self.budget.epsilon - self.epsilon()
            raise BudgetExceeded(
                f"this needs epsilon {would_be:.6g} in all at delta {self.budget.delta:g}, "
                f"but the budget is {self.budget.epsilon:.6g} ({spent:.6g} spent, {max(left, 0):.6g} left): "
                f"it is {would_be - self.budget.epsilon:.3g} too much; spend less or raise epsilon."
            )

    def record(self, event: DpEvent, count: int = 1) -> None:
        """Append `event`. Call this before the mechanism it describes runs."""
        if self._entries and self._entries[-1][0] == event:
            self._entries[-1] = (event, self._entries[-1][1] + count)
        else:
            self._entries.append((event, count))
