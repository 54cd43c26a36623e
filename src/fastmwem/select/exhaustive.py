"""Every score, every round: the exponential mechanism as it is written down."""

from __future__ import annotations

import numpy as np

from fastmwem.errors import InvalidArgument, check_memory
from fastmwem.privacy.randomness import Randomness
from fastmwem.queries.base import Candidates, FloatArray
from fastmwem.queries.stored import check_vector
from fastmwem.select import softmax
from fastmwem.select.base import ExponentialMechanism, Pick, Selector

__all__ = ["Exhaustive"]


class Exhaustive(Selector):
    """One pass over all candidates per pick, then one draw by inversion: the reference for time and law."""

    def __init__(
        self, candidates: Candidates, mechanism: ExponentialMechanism, randomness: Randomness
    ) -> None:
        super().__init__(candidates, mechanism, randomness)
        check_memory("the scores of all candidates", 16.0 * candidates.m, "use fewer candidates")
        blocks = -(-candidates.m // softmax.BLOCK)
        self._peaks, self._sums = np.empty(blocks), np.empty(blocks)
        self._rounds = 0

    def pick(self, v: FloatArray) -> Pick:
        candidates = self.candidates
        self._rounds += 1
        x = candidates.queries.answers(check_vector("v", v, candidates.dim))
        summed = softmax.scale_and_sum_threaded if x.size > softmax.THREADED else softmax.scale_and_sum
        summed(x, candidates.offsets, self.mechanism.scale, candidates.signed, self._peaks, self._sums)
        generator = self.randomness.generator
        which, where = generator.random(), generator.random()
        chosen = softmax.choose(x, candidates.signed, self._peaks, self._sums, which, where)
        if chosen < 0:
            raise InvalidArgument(
                "eps0 / sensitivity times a score is beyond float64: the scores are too large."
            )
        if not candidates.signed:
            return Pick(chosen, 1)
        return Pick(chosen, softmax.draw_sign(x[chosen], generator.random()))

    @property
    def diagnostics(self) -> dict[str, float]:
        return {
            "rounds": self._rounds,
            "evaluations": self._rounds * self.candidates.m,
            "passes": self._rounds,
            "trials": 0,
        }
