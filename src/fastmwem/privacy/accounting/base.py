"""What every accountant does: read a composed event, refuse what it does not know, bound (epsilon, delta)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass

from dp_accounting import dp_event

from fastmwem.errors import InvalidArgument, UnsupportedEvent, check_at_least, check_whole
from fastmwem.privacy.accounting.profiles import Profile
from fastmwem.privacy.events import (
    AdaptiveSizesDpEvent,
    AssumedFailureDpEvent,
    BoundedRangeDpEvent,
    DpEvent,
)

__all__ = ["Accountant", "Spend", "spend_of"]

_LEAST = 2.0**-1000  # of a square: a loss that underflows is rounded up, never to nothing
_FAILURE_STEPS = 200  # more only where the failure itself uses up delta: then infinity is said
Counts = tuple[tuple[float, int], ...]  # (parameter, how many), sorted by parameter


@dataclass(frozen=True)
class Spend:
    """A composed event without its order: how many mechanisms of each kind, sorted, hence hashable.

    No accountant of ours uses the order, so none can be wrong about it: each bounds the worst order.
    """

    ranged: Counts = ()  # bounded-range mechanisms, by epsilon
    gaussian: Counts = ()  # by noise multiplier
    pure: Counts = ()  # epsilon-DP mechanisms (Laplace), by epsilon
    failure: float = 0.0  # probability that the rest is not what was done
    private: bool = True
    adaptive: bool = False  # sizes depend on earlier outcomes: only rho may be added up

    @property
    def rho(self) -> float:
        """zCDP: epsilon^2/8 a bounded-range, 1/(2 sigma^2) a Gaussian, epsilon^2/2 a pure mechanism."""
        parts = [count * max(eps / 8 * eps, _LEAST) for eps, count in self.ranged]
        parts += [count * max(eps / 2 * eps, _LEAST) for eps, count in self.pure]
        return math.fsum([self.noise / 2, *parts])

    @property
    def noise(self) -> float:
        """mu^2 of all Gaussian noise together: 1/sigma^2 each."""
        return math.fsum(count * max(1 / sigma / sigma, _LEAST) for sigma, count in self.gaussian)

    @property
    def pure_epsilon(self) -> float:
        """The sum of epsilons at delta = 0; infinite with a Gaussian in it."""
        if self.gaussian:
            return math.inf
        return math.fsum(eps * count for eps, count in self.ranged + self.pure)


def spend_of(event: DpEvent) -> Spend:
    """`event` as a `Spend`; an event that is not known here is refused.

    >>> from fastmwem.privacy.events import composed, exponential_mechanism, gaussian, repeated
    >>> spend_of(composed([gaussian(2), repeated(exponential_mechanism(0.1), 5)]))
    Spend(ranged=((0.1, 5),), gaussian=((2.0, 1),), pure=(), failure=0.0, private=True, adaptive=False)
    """
    ranged: Counter[float] = Counter()
    gaussian: Counter[float] = Counter()
    pure: Counter[float] = Counter()
    failures: list[float] = []
    private, adaptive = True, False
    stack = [(event, 1)]
    while stack:
        part, times = stack.pop()
        if times == 0:
            continue
        match part:
            case dp_event.NoOpDpEvent():
                pass
            case dp_event.NonPrivateDpEvent():
                private = False
            case AdaptiveSizesDpEvent():
                adaptive = True
            case dp_event.ComposedDpEvent():
                stack += [(inner, times) for inner in part.events]
            case dp_event.SelfComposedDpEvent():
                stack.append(
                    (part.event, times * check_whole("count of a composed event", part.count, low=0))
                )
            case BoundedRangeDpEvent():
                ranged[_size("epsilon of a bounded-range event", part.epsilon)] += times
            case dp_event.GaussianDpEvent():
                gaussian[_size("noise_multiplier of a Gaussian event", part.noise_multiplier)] += times
            case dp_event.LaplaceDpEvent():
                scale = _size("noise_multiplier of a Laplace event", part.noise_multiplier)
                pure[math.nextafter(1 / scale, math.inf) if scale else math.inf] += times
            case AssumedFailureDpEvent():
                failures.append(times * _size("delta of an assumed failure", part.delta))
            case _:
                raise UnsupportedEvent(
                    f"the accountant does not know the event {type(part).__name__}: "
                    "use the events of fastmwem.privacy.events."
                )
    noiseless = 0.0 in gaussian or any(math.isinf(eps) for eps in (*ranged, *pure))
    ranged.pop(0.0, None)  # a 0-bounded-range mechanism ignores the data
    return Spend(
        ranged=tuple(sorted(ranged.items())),
        gaussian=tuple(sorted(gaussian.items())),
        pure=tuple(sorted(pure.items())),
        failure=min(1.0, math.fsum(failures)),
        private=private and not noiseless,
        adaptive=adaptive,
    )


def _size(name: str, value: float) -> float:
    if math.isnan(value) or value < 0:
        raise InvalidArgument(f"{name} must be at least 0, got {value:g}.")
    return float(value)


class Accountant(ABC):
    """Bounds what a composed event may cost, whatever the order and however adaptive.

    `epsilon(event, delta)` and `delta(event, epsilon)` are upper bounds, rounded outward: the smallest
    float that the accountant can vouch for, never below it. Non-private events cost infinity.

    Adaptive: what a mechanism asks may depend on all outcomes before it. Its size (eps0, the noise
    multiplier) is taken as fixed in advance. Where later sizes are chosen with sight of earlier outcomes,
    only rho within a limit fixed in advance is covered (zCDP adds up even then: Feldman and Zrnic 2021),
    which is what `zcdp` counts. Such a run says so by `adaptive_sizes()`; every accountant then counts rho.

    An assumed failure of probability gamma adds gamma (1 + e^epsilon) to delta: with good(h) the outcomes at
    which the run on h is what the events say, P(S) <= P(S and good(h)) + gamma, which is at most
    e^epsilon Q'(S and good(h)) + delta + gamma for the promised Q', and Q' differs from Q by at most gamma
    more. (The first gamma alone would do if good were one event for both neighbours; it may depend on h.)
    """

    name: str
    proven = True  # whether a ledger may rest on it

    @abstractmethod
    def profile(self, spend: Spend) -> Profile:
        """The curve of `spend`, which is private; its failure probability is added by the caller."""

    def epsilon(self, event: DpEvent, delta: float) -> float:
        """The epsilon that `event` costs at `delta`; infinite if no epsilon is enough."""
        delta = check_at_least("delta", delta, 0.0)
        spend = spend_of(event)
        if not spend.private:
            return math.inf
        profile, epsilon = self.profile(spend), 0.0
        for _ in range(_FAILURE_STEPS):  # the least fixed point; one step without an assumed failure
            left = delta - _failure(spend, epsilon)
            if left < 0:
                return math.inf
            needed = profile.epsilon(left)
            if not spend.failure or needed <= epsilon:
                return max(needed, epsilon)
            epsilon = needed * (1 + 1e-12)
        return math.inf

    def delta(self, event: DpEvent, epsilon: float) -> float:
        """The delta that `event` costs at `epsilon`, at most 1."""
        epsilon = check_at_least("epsilon", epsilon, 0.0)
        spend = spend_of(event)
        if not spend.private:
            return 1.0
        return min(1.0, self.profile(spend).delta(epsilon) + _failure(spend, epsilon))

    def __repr__(self) -> str:
        return f"accountant({self.name!r})"


def _failure(spend: Spend, epsilon: float) -> float:
    """What the assumed failures add to delta at `epsilon`, rounded up."""
    if not spend.failure:
        return 0.0
    return spend.failure * (1 + math.exp(min(epsilon, 700.0))) * (1 + 2.0**-48)
