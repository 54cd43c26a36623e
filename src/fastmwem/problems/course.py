"""How the model's answers moved while a run lasted: for the report, and public like the model.

It looks at the public iterate p, at rounds fixed beforehand, and at queries that are spread evenly over the
public workload: nothing of it depends on the table but through the events on the ledger.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fastmwem.mw.loop import Progress
from fastmwem.queries.base import FloatArray, Queries

__all__ = ["Course"]

_WATCHED, _SHOWN = 64, 6
Moves = tuple[list[int], list[tuple[str, FloatArray]]]  # rounds; (query in words, its answers then)


class Course:
    """Answers to some queries of `workload` by the iterates that it is shown."""

    def __init__(self, workload: Queries) -> None:
        self._workload = workload
        self._ids = np.unique(np.linspace(0, workload.m - 1, min(_WATCHED, workload.m)).astype(np.int64))
        self._rounds: list[int] = []
        self._answers: list[FloatArray] = []

    def at(self, t: int, p: FloatArray) -> None:
        """After round `t`, the iterate is `p`."""
        self._rounds.append(t)
        self._answers.append(self._workload.dot(self._ids, p))

    def beside(self, progress: Progress | None, probe: Callable[[], FloatArray]) -> Progress:
        """A progress callback that also looks at the iterate."""

        def look(t: int, rounds: int) -> None:
            self.at(t, probe())
            if progress is not None:
                progress(t, rounds)

        return look

    def moves(self) -> Moves:
        """The watched queries that moved the most."""
        answers = np.array(self._answers)
        moved = np.argsort(answers.min(axis=0) - answers.max(axis=0), kind="stable")[:_SHOWN]
        return self._rounds, [(self._workload.describe(int(self._ids[k])), answers[:, k]) for k in moved]
