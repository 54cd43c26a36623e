"""The events a run may put on its ledger: dp-accounting's, and the one it lacks.

dp-accounting has no event for a bounded-range mechanism, so `BoundedRangeDpEvent` is ours. Everything
else is dp-accounting's own class, so that another accountant can read a ledger of ours.
"""

from __future__ import annotations

import attr
from dp_accounting import dp_event

__all__ = [
    "AdaptiveSizesDpEvent",
    "AssumedFailureDpEvent",
    "BoundedRangeDpEvent",
    "DpEvent",
    "adaptive_sizes",
    "composed",
    "exponential_mechanism",
    "gaussian",
    "laplace",
    "non_private",
    "repeated",
]

DpEvent = dp_event.DpEvent


@attr.s(frozen=True, slots=True, auto_attribs=True)
class BoundedRangeDpEvent(DpEvent):
    """One adaptively chosen mechanism that is `epsilon`-bounded-range (BR).

    M is epsilon-BR if for all neighbours h, h' there is a t in [0, epsilon] with
    t - epsilon <= ln P(M(h) = y) / P(M(h') = y) <= t for every outcome y. The exponential mechanism
    with weights exp(epsilon * u / R) is: numerator and normaliser move by a common factor, and R is
    the largest difference between the moves of two scores (2*Delta; Delta if all move the same way).
    """

    epsilon: float
    assumption: str = ""  # what the claim rests on beyond the mathematics; printed in the report


@attr.s(frozen=True, slots=True, auto_attribs=True)
class AssumedFailureDpEvent(DpEvent):
    """With probability at most `delta` the run is not what the other events say.

    Accountants add delta (1 + e^epsilon), because when it fails may depend on the private table.
    """

    delta: float
    assumption: str


@attr.s(frozen=True, slots=True, auto_attribs=True)
class AdaptiveSizesDpEvent(DpEvent):
    """Costs nothing itself: says that sizes of other events were chosen with sight of earlier outcomes.

    Their total rho was limited in advance, so they may be added up as zCDP and in no other way.
    """


def exponential_mechanism(epsilon: float, assumption: str = "") -> DpEvent:
    """One draw from exp(epsilon * u / R)."""
    return BoundedRangeDpEvent(float(epsilon), assumption)


def gaussian(noise_multiplier: float) -> DpEvent:
    """Gaussian noise of standard deviation `noise_multiplier` times the L2 sensitivity."""
    return dp_event.GaussianDpEvent(float(noise_multiplier))


def laplace(noise_multiplier: float) -> DpEvent:
    """Laplace noise of scale `noise_multiplier` times the L1 sensitivity: (1/noise_multiplier)-DP."""
    return dp_event.LaplaceDpEvent(float(noise_multiplier))


def repeated(event: DpEvent, count: int) -> DpEvent:
    """`event`, `count` times, each chosen with sight of the earlier outcomes."""
    return event if count == 1 else dp_event.SelfComposedDpEvent(event, int(count))


def composed(events: list[DpEvent] | tuple[DpEvent, ...]) -> DpEvent:
    """All of `events`, each chosen with sight of the earlier outcomes."""
    return events[0] if len(events) == 1 else dp_event.ComposedDpEvent(list(events))


def adaptive_sizes() -> DpEvent:
    """What a run puts on its ledger first if the sizes of its events depend on earlier outcomes."""
    return AdaptiveSizesDpEvent()


def non_private() -> DpEvent:
    """No privacy at all: what a seeded run puts on its ledger, so that its epsilon is infinite."""
    return dp_event.NonPrivateDpEvent()
