"""Whichever costs less from here on: certified selection, or a scan a round."""

from __future__ import annotations

from fastmwem.errors import TooLarge
from fastmwem.privacy.randomness import Randomness
from fastmwem.queries.base import Candidates, FloatArray
from fastmwem.select.base import ExponentialMechanism, Pick, Selector
from fastmwem.select.certified import Certified
from fastmwem.select.exhaustive import Exhaustive

__all__ = ["Auto"]

_LONGEST_REST = 64  # rounds of scanning between two attempts at bounds
_WORTH = 0.8  # scans a round: what an attempt must cost less than, to have paid


class Auto(Selector):
    """Certified selection for as long as it pays, plain scans while it does not.

    An attempt is the rounds from one refresh of all bounds to the next, and costs that refresh and its
    trials. One that did not pay is followed by a round of scanning, the next in a row by 2, 4, .. 64: where
    bounds never pay, a run costs a few per cent more than scanning alone. Whatever is done, the next
    pick has law softmax given what happened before; the choice depends on private data and changes time only.
    """

    def __init__(
        self, candidates: Candidates, mechanism: ExponentialMechanism, randomness: Randomness
    ) -> None:
        super().__init__(candidates, mechanism, randomness)
        self._exhaustive = Exhaustive(candidates, mechanism, randomness)
        try:
            self._certified = Certified(candidates, mechanism, randomness)
        except TooLarge:  # scanning needs less
            self._certified = None
        self._rest = self._failures = 0
        self._served = self._spent = 0  # rounds and trials of this attempt

    def pick(self, v: FloatArray) -> Pick:
        certified = self._certified
        if certified is None:
            return self._exhaustive.pick(v)
        if self._rest > 0:
            self._rest -= 1
            if self._rest == 0:
                certified.forget()
            return self._exhaustive.pick(v)
        passes = certified.passes
        pick = certified.pick(v)
        self._spent += certified.trials
        if certified.passes > passes:
            self._judge(certified.pass_cost)
        self._served += 1
        return pick

    def _judge(self, pass_cost: int) -> None:
        """The bounds were just renewed: an attempt has ended, unless this is the first."""
        if self._served > 0:
            paid = self._spent + pass_cost < _WORTH * self._served * pass_cost
            self._failures = 0 if paid else self._failures + 1
            if not paid:
                self._rest = min(2 ** (self._failures - 1), _LONGEST_REST)
        self._served = self._spent = 0
        if self._rest > 0:
            self._served = -1  # the next refresh opens an attempt, it does not end one

    @property
    def diagnostics(self) -> dict[str, float]:
        total = self._exhaustive.diagnostics
        if self._certified is not None:
            for name, value in self._certified.diagnostics.items():
                total[name] += value
        return total
