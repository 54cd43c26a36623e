"""The average of the iterates p_1 .. p_T, in time proportional to the cells a round touches."""

from __future__ import annotations

import numpy as np

from fastmwem.kernels import kernel
from fastmwem.queries.base import FloatArray

__all__ = ["LazyAverage", "settle"]


@kernel
def settle(total, seen, weights, clock, cells):
    """Credit `cells` for the rounds since each was last touched, at the weight it had during them."""
    for j in cells:
        total[j] += weights[j] * (clock - seen[j])
        seen[j] = clock


class LazyAverage:
    """sum_t p_t for p_t = w_t / W_t, where a round changes few entries of w.

    While w_j stands still, the rounds t in (a, b] add w_j * (S_b - S_a) to its sum, with the clock
    S_t = sum_{u <= t} 1/W_u shared by all cells. A cell is therefore settled only when its weight is about
    to change. The caller ticks the clock once a round, and settles a cell before it changes its weight.
    """

    def __init__(self, dim: int) -> None:
        self.total = np.zeros(dim)
        self.seen = np.zeros(dim)
        self.clock = 0.0
        self.rounds = 0

    def tick(self, mass: float) -> None:
        """One more round whose iterate is w / `mass`."""
        self.clock += 1.0 / mass
        self.rounds += 1

    def settle_all(self, weights: FloatArray) -> None:
        """Settle every cell and restart the clock: before all weights are rescaled."""
        self.total += weights * (self.clock - self.seen)
        self.seen[:] = 0.0
        self.clock = 0.0

    def value(self, weights: FloatArray) -> FloatArray:
        """The average of the iterates so far, summing to 1."""
        self.settle_all(weights)
        return self.total / self.total.sum()
