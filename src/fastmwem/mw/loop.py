"""The one loop: probe, pick, respond, for T rounds fixed before the data are touched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fastmwem.privacy.events import composed, repeated
from fastmwem.privacy.ledger import Ledger
from fastmwem.queries.base import FloatArray, IntArray
from fastmwem.select.base import Pick, Selector

__all__ = ["Picks", "Player", "Progress", "play"]

Progress = Callable[[int, int], None]  # (t, T): nothing else about a run may be shown while it runs


class Player(Protocol):
    """An application as the loop sees it: a state that shows a probe and answers a pick."""

    def probe(self) -> FloatArray:
        """What the candidates are scored against this round. Not copied: valid until `respond`."""
        ...

    def respond(self, pick: Pick) -> None:
        """Multiplicative-weights step on the loss that `pick` stands for; updates the average."""
        ...


@dataclass(frozen=True)
class Picks:
    """The trajectory of choices: released, each covered by its event."""

    candidate: IntArray
    sign: IntArray


def play(
    player: Player, selector: Selector, rounds: int, ledger: Ledger, progress: Progress | None = None
) -> Picks:
    """Run `rounds` (T) rounds. Nothing leaves this function before all of them are done.

    All events are authorised first; each is recorded before its pick is drawn, so an interruption
    (Ctrl-C between rounds, an exception) leaves the spend on the ledger and releases nothing.
    """
    event = selector.event
    ledger.authorise(composed([*selector.standing, repeated(event, rounds)]))
    for once in selector.standing:
        ledger.record(once)
    candidate, sign = np.empty(rounds, np.int64), np.empty(rounds, np.int64)
    report_every = max(1, rounds // 200)
    for t in range(rounds):
        ledger.record(event)
        candidate[t], sign[t] = pick = selector.pick(player.probe())
        player.respond(pick)
        if progress is not None and (t + 1) % report_every == 0:
            progress(t + 1, rounds)
    return Picks(candidate, sign)
