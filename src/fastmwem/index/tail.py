"""Tails: who vouches for the scores that were not looked at, as a type.

Lazy sampling looks at a set S of candidates and needs a number tau that no scaled score outside S exceeds.
It is exact whatever S is, as long as tau is true. So what a run may claim depends on where tau comes from:

- `Exact`: S is the true top-k, so tau = min over S. Only our own full scan says this.
- `Certified`: tau is proven without trust in the index. The default, for every index.
- `Assumed`: max outside S - min over S <= c *is assumed*. Printed in the privacy report.
- `PerfectExcept`: S *is assumed* to be the top-k throughout the run, except with probability gamma.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from fastmwem.errors import InvalidArgument, check_at_least, check_choice, check_probability
from fastmwem.privacy.budget import Budget
from fastmwem.privacy.events import AssumedFailureDpEvent, DpEvent, exponential_mechanism

__all__ = ["Assumed", "Certified", "Exact", "PerfectExcept", "Tail", "parse_tail"]


class _Tail:
    """What every tail answers: the text of its assumption (empty if proven), tau, and what it costs."""

    @property
    def assumption(self) -> str:
        return ""

    @property
    def margin(self) -> float:
        """tau - min over S, in scaled scores, where tau comes from S."""
        return 0.0

    @property
    def slip(self) -> float:
        """By how much a scaled score outside S may exceed tau before the assumption is false."""
        return 0.0

    def event(self, epsilon: float) -> DpEvent:
        """What one pick costs, where the exponential mechanism would cost `epsilon` (eps0)."""
        return exponential_mechanism(epsilon, self.assumption)

    @property
    def standing(self) -> tuple[DpEvent, ...]:
        """What a run costs once, however many its rounds."""
        return ()

    def left(self, budget: Budget) -> Budget:
        """What `standing` leaves of `budget` for the rounds."""
        return budget

    def eps0(self, price: float) -> float:
        """The mechanism's eps0 in a pick that may cost `price` in all: `event(eps0)` is what `price` buys."""
        eps0 = price - 4.0 * self.slip
        if eps0 <= 0:
            raise InvalidArgument(
                f"c of the tail must be below {price / 4:.3g}, a quarter of what the budget leaves for a "
                "round: use the certified tail, or fewer rounds."
            )
        return eps0


@dataclass(frozen=True)
class Exact(_Tail):
    """S is the true top-k: tau = min over S."""


@dataclass(frozen=True)
class Certified(_Tail):
    """No score outside S exceeds `bound` (a score, not yet scaled), and that is proven.

    Infinite is what an index says that can prove nothing; the selector's own bound then stands alone.
    """

    bound: float = math.inf


@dataclass(frozen=True)
class Assumed(_Tail):
    """Assumed, not proven: in every round, max outside S - min over S <= `c`, in scaled scores x.

    `margin` takes tau = min over S + c. If the assumption holds, tau is true and a pick is the exponential
    mechanism, eps0-bounded-range, at about e^c sqrt(m) evaluations (the paper's "preserving privacy").

    `charge` takes tau = min over S (the paper's "preserving runtime"). A pick is then (eps0 + 2c)-DP and
    (eps0 + 4c)-bounded-range, and is charged as the latter. Proof. Let x' = x on S and min(x, tau) outside,
    so x - c <= x' <= x; Z and Z' are the sums of e^x and e^x'; M is the maximum of x + G over S. A candidate
    outside S is *drawn* iff G > M - tau, and then x' + G > x' - tau + M; undrawn ones have x' + G <= M.

    - i in S wins iff no drawn j has x_j + G_j > M, which is the event that no j outside has x'_j + G_j > M
      (the two differ only where x_j > tau, and there being drawn means exactly both). So
      P(i) = e^{x_i} / Z', between e^{x_i} / Z and e^c e^{x_i} / Z.
    - i outside S wins if x'_i + G_i exceeds x_j + G_j for every other j: it exceeds M, so i is drawn. Hence
      P(i) >= e^{x'_i} / Z >= e^{-c} e^{x_i} / Z. And it wins only if x_i + G_i exceeds x'_j + G_j for every
      other j, drawn or not. Hence P(i) <= e^{x_i} / Z' <= e^c e^{x_i} / Z.

    Every outcome thus has its probability under the exponential mechanism up to a factor in [e^-c, e^c], on
    both of two neighbours, which stretches the interval of log-ratios by 2c at either end.

    >>> Assumed(0.5, "charge").event(0.1).epsilon
    2.1
    """

    c: float
    kind: Literal["margin", "charge"] = "margin"

    def __post_init__(self) -> None:
        object.__setattr__(self, "c", check_at_least("c", self.c, 0))
        check_choice("kind", self.kind, ("margin", "charge"))

    @property
    def assumption(self) -> str:
        """What the privacy report prints."""
        return (
            "in every round, no scaled score outside the index's answer exceeds the least inside by more "
            f"than {self.c:g}"
        )

    @property
    def margin(self) -> float:
        return self.c if self.kind == "margin" else 0.0

    @property
    def slip(self) -> float:
        return self.c if self.kind == "charge" else 0.0

    def event(self, epsilon: float) -> DpEvent:
        return super().event(epsilon + 4.0 * self.slip)


@dataclass(frozen=True)
class PerfectExcept(_Tail):
    """Assumed, not proven: the index returns the true top-k in all rounds, but for probability `gamma`.

    The paper's first theorem, with gamma = 1/m. tau = min over S. On the good event the run is what `Exact`
    would make it. gamma is charged once per run, as (1 + e^eps) gamma on top of delta: whether the index errs
    depends on the private vector it is asked about, so the two neighbours may err at different outcomes.

    >>> PerfectExcept(1e-9).assumption
    'the index is right in all rounds together, except with probability 1e-09'
    """

    gamma: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", check_probability("gamma", self.gamma))

    @property
    def assumption(self) -> str:
        """What the privacy report prints."""
        return f"the index is right in all rounds together, except with probability {self.gamma:g}"

    @property
    def standing(self) -> tuple[DpEvent, ...]:
        return (AssumedFailureDpEvent(self.gamma, self.assumption),)

    def left(self, budget: Budget) -> Budget:
        most = budget.delta / (1.0 + math.exp(min(budget.epsilon, 700.0)))
        if self.gamma >= most:
            raise InvalidArgument(
                f"gamma of the tail must be below delta / (1 + e^epsilon) = {most:.3g}, got {self.gamma:g}: "
                "it is paid for out of delta."
            )
        return Budget(budget.epsilon, budget.delta * (1.0 - self.gamma / most) * (1.0 - 1e-9))


Tail = Exact | Certified | Assumed | PerfectExcept


def parse_tail(tail: Tail | str | None) -> Tail:
    """The tail that `tail` names; None is `Certified()`.

    >>> parse_tail(None)
    Certified(bound=inf)
    """
    if tail is None or tail == "certified":
        return Certified()
    if tail == "exact":
        return Exact()
    if isinstance(tail, Tail):
        return tail
    raise InvalidArgument(
        f"tail must be 'certified', 'exact', Assumed(c, kind) or PerfectExcept(gamma), got {tail!r}."
    )
