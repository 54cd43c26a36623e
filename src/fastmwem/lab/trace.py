"""Query release, watched: the library's own loop with an observer, which a private run never has.

Everything here sees private data (true errors, diagnostics) and draws from seeds: nothing of it is private.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np

from fastmwem.mw.loop import Player, play
from fastmwem.mw.schedule import FixedStep
from fastmwem.mw.update import MultiplicativeWeights
from fastmwem.privacy.accounting import accountant
from fastmwem.privacy.budget import Budget
from fastmwem.privacy.calibrate import calibrate_rounds
from fastmwem.privacy.ledger import Ledger
from fastmwem.privacy.randomness import Randomness
from fastmwem.queries.base import Candidates, FloatArray, Queries
from fastmwem.select import ExponentialMechanism, Pick, Selector, make_selector

__all__ = ["METHODS", "Setting", "checkpoints", "select_with", "watched"]

# Method -> (selector, index)
METHODS = {
    "exhaustive": ("exhaustive", None),
    "flat": ("lazy", "flat"),
    "ivf": ("lazy", "ivf"),
    "hnsw": ("lazy", "hnsw"),
    "lsh": ("lazy", "lsh"),
    "certified": ("certified", None),
}


@dataclass(frozen=True)
class Setting:
    """The paper's query release: `queries` on a histogram of `n` rows, T = `rounds`, within `budget`.

    `accountant` sizes eps0; the ledger counts by a proven bound.
    """

    queries: Queries
    counts: FloatArray
    rounds: int
    budget: Budget
    accountant: str

    @property
    def n(self) -> float:
        return float(self.counts.sum())

    @cached_property
    def candidates(self) -> Candidates:
        return Candidates(self.queries, self.queries.answers(self.counts / self.n), signed=True)

    @cached_property
    def mechanism(self) -> ExponentialMechanism:
        bought = calibrate_rounds(self.budget, self.rounds, accountant=self.accountant)
        return ExponentialMechanism(bought.eps0, 1.0 / self.n)

    def error(self, answers: FloatArray) -> float:
        """The largest error of `answers`, as a fraction of n."""
        return float(np.abs(answers - self.candidates.offsets).max())

    def run(
        self,
        selector: Selector,
        watch: Callable[[int, MultiplicativeWeights], None],
        rounds: int | None = None,
    ) -> float:
        """Play, calling `watch(t, player)` after every round; returns the seconds that all of it took.

        `rounds` stops early (for timings); step and eps0 remain those of the whole run.
        """
        step = FixedStep.paper(self.queries.dim, self.rounds)
        player = watched(MultiplicativeWeights(self.queries, step), watch)
        ledger = Ledger(self.budget, accountant("optimal"))
        start = time.perf_counter()
        play(player, selector, self.rounds if rounds is None else rounds, ledger)
        return time.perf_counter() - start


def select_with(setting: Setting, method: str, seed: int) -> Selector:
    """The selector that `method` names, over the setting's candidates."""
    name, index = METHODS[method]
    randomness = Randomness.seeded(seed)
    return make_selector(name, setting.candidates, setting.mechanism, randomness, index=index)


def checkpoints(rounds: int, count: int) -> set[int]:
    """About `count` rounds at which to look, evenly spaced, the last included."""
    return {int(t) for t in np.linspace(rounds / count, rounds, count)}


P = TypeVar("P", bound=Player)


def watched(player: P, watch: Callable[[int, P], None]) -> Player:
    """`player`, with `watch(t, player)` called after every round t."""
    return _Watched(player, watch)


class _Watched(Generic[P]):
    def __init__(self, player: P, watch: Callable[[int, P], None]) -> None:
        self._player, self._watch, self._t = player, watch, 0

    def probe(self) -> FloatArray:
        return self._player.probe()

    def respond(self, pick: Pick) -> None:
        self._player.respond(pick)
        self._t += 1
        self._watch(self._t, self._player)
