"""The exponential mechanism and the contract that every sampler of it keeps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from fastmwem.errors import InvalidArgument, check_positive
from fastmwem.privacy.events import DpEvent, exponential_mechanism
from fastmwem.privacy.randomness import Randomness
from fastmwem.queries.base import Candidates, FloatArray

__all__ = ["ExponentialMechanism", "Pick", "Selector"]

# What of the sensitivity is set aside for rounding: four units in the last place of a score, where the
# sensitivity is at least `_FINEST` of the largest offset or row.
_ROUNDING = 2.0**-16
_FINEST = 2.0**-34


class Pick(NamedTuple):
    """What the exponential mechanism chose: `candidate`, with `sign` (+1 unless signed)."""

    candidate: int
    sign: int


@dataclass(frozen=True)
class ExponentialMechanism:
    """`eps0` and the sensitivity: weights exp(scale * score), scale = eps0 / R.

    R = 2 * sensitivity, or `sensitivity` if every neighbour moves all scores the same way
    (`one_sided`). It is eps0-bounded-range, hence eps0-DP and eps0^2/8-zCDP.
    """

    epsilon: float
    sensitivity: float
    one_sided: bool = False

    @property
    def scale(self) -> float:
        """eps0 / R: what a score is multiplied by before it meets Gumbel noise."""
        return self.epsilon / (self.sensitivity if self.one_sided else 2.0 * self.sensitivity)

    @property
    def event(self) -> DpEvent:
        return exponential_mechanism(self.epsilon)


class Selector(ABC):
    """Draws candidates with law softmax(scale * score), exactly; samplers differ only in time.

    One `pick` is one `event`; the caller records the event before it calls `pick`.
    `diagnostics` (scores evaluated, C, tails) depends on private data: for benchmarks and `lab`
    only, never part of a release.

    A score is computed in float64, so on neighbours it may differ by the sensitivity and some units in its
    last place (of an offset, of the difference). These are paid for by a sensitivity raised by 2^-16; one
    below 2^-34 of what it is a difference of, for which that might not be enough, is refused.
    """

    def __init__(
        self, candidates: Candidates, mechanism: ExponentialMechanism, randomness: Randomness
    ) -> None:
        offsets = candidates.offsets
        if offsets.shape != (candidates.m,) or offsets.dtype != np.float64:
            raise InvalidArgument(
                f"offsets must be {candidates.m} float64 numbers, one per candidate, "
                f"got {offsets.dtype} of shape {offsets.shape}."
            )
        if not np.isfinite(offsets).all():
            raise InvalidArgument("offsets must be finite: they hold NaN or infinity.")
        check_positive("eps0", mechanism.epsilon)
        check_positive("sensitivity", mechanism.sensitivity)
        check_positive("eps0 / sensitivity", mechanism.scale)
        size = 2.0 * candidates.queries.half_range + float(np.abs(offsets).max())
        if mechanism.sensitivity < _FINEST * size:
            raise InvalidArgument(
                "sensitivity must be at least 2^-34 of the rows and offsets, as scores have 53 bits: "
                "give a larger sensitivity, or shift and scale the rows."
            )
        self.candidates = candidates
        self.mechanism = replace(mechanism, sensitivity=mechanism.sensitivity * (1.0 + _ROUNDING))
        self.randomness = randomness

    @property
    def event(self) -> DpEvent:
        """What one pick costs."""
        return self.mechanism.event

    @property
    def standing(self) -> tuple[DpEvent, ...]:
        """What a run of picks costs once, however many they are; recorded before the first."""
        return ()

    @abstractmethod
    def pick(self, v: FloatArray) -> Pick:
        """One draw at probe `v`."""

    @property
    def diagnostics(self) -> dict[str, float]:
        """Private counts of work done so far. Never release these.

        `rounds`, `evaluations` (scores computed), of them in `passes` over all, in `trials` alone.
        """
        return {}
