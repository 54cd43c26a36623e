"""The exponential mechanism drawn by structure: O(cells) a draw over O(cells^2) ranges."""

from __future__ import annotations

from fastmwem.privacy.randomness import Randomness
from fastmwem.queries.base import Candidates, FloatArray, StructuredDraw
from fastmwem.select.base import ExponentialMechanism, Pick, Selector

__all__ = ["Structured"]


class Structured(Selector):
    """Hands the draw to the queries, which know how their softmax factorises (`structured_draw`).

    The law is softmax(scale * score), exactly as for every selector: only sums are regrouped.
    """

    def __init__(
        self,
        candidates: Candidates,
        mechanism: ExponentialMechanism,
        randomness: Randomness,
        draw: StructuredDraw,
    ) -> None:
        super().__init__(candidates, mechanism, randomness)
        self._draw = draw

    def pick(self, v: FloatArray) -> Pick:
        """One draw at probe `v`."""
        drawn = self._draw(v, self.mechanism.scale, self.candidates.signed, self.randomness.generator)
        return Pick(drawn.candidate, drawn.sign)
