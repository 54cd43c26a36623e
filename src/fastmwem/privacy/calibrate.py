"""From a budget to the sizes of mechanisms: how large eps0, how small a noise multiplier.

Everything is one question: a plan (events with relative sizes) is given, by which factor may all of it be
scaled so that the accountant still certifies the budget? The answer is always on the safe side: the
scaled event itself was put before the accountant and fitted, so a ledger under the same budget and
accountant authorises exactly it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dp_accounting import dp_event

from fastmwem.errors import InvalidArgument, UnsupportedEvent, check_at_least, check_whole
from fastmwem.privacy.accounting import accountant
from fastmwem.privacy.accounting.base import spend_of
from fastmwem.privacy.accounting.profiles import ConcentratedProfile
from fastmwem.privacy.budget import Budget
from fastmwem.privacy.events import (
    AdaptiveSizesDpEvent,
    AssumedFailureDpEvent,
    BoundedRangeDpEvent,
    DpEvent,
    composed,
    exponential_mechanism,
    gaussian,
    laplace,
    repeated,
)

__all__ = ["Calibration", "calibrate_gaussian", "calibrate_rounds", "fit_to_budget", "rho", "scaled"]

_CLOSE = 1e-7  # how much of epsilon may be left unused


@dataclass(frozen=True)
class Calibration:
    """What a budget buys: `rounds` (T) of `eps0`, and `gaussians` measurements at `noise_multiplier`.

    `epsilon` is what the accountant certifies for all of it at `delta`, at most the budget's.
    """

    rounds: int
    eps0: float
    gaussians: int
    noise_multiplier: float
    epsilon: float
    delta: float

    @property
    def event(self) -> DpEvent:
        """All of it, as a ledger authorises it."""
        parts = []
        if self.rounds:
            parts.append(repeated(exponential_mechanism(self.eps0), self.rounds))
        if self.gaussians:
            parts.append(repeated(gaussian(self.noise_multiplier), self.gaussians))
        return composed(parts)


def rho(budget: Budget) -> float:
    """The zCDP that `budget` holds: what a plan that decides as it goes may spend.

    Whatever is spent within it, chosen with sight of earlier outcomes, fits the budget: rho adds up
    even when the sizes themselves are adaptive.

    >>> round(rho(Budget(1, 1e-6)), 5)
    0.02436
    """

    def epsilon(size: float) -> float:
        return ConcentratedProfile(size).epsilon(budget.delta)

    # The same conversion as the accountant's, which adds a rounding allowance of 2^-48 to a sum.
    return _largest(epsilon, budget.epsilon, budget.epsilon, close=1e-12) * (1 - 2.0**-40)


def scaled(event: DpEvent, factor: float) -> DpEvent:
    """`event` with every privacy loss `factor` times as large: eps0 * factor, noise / factor."""
    match event:
        case BoundedRangeDpEvent():
            return BoundedRangeDpEvent(event.epsilon * factor, event.assumption)
        case dp_event.GaussianDpEvent():
            return gaussian(event.noise_multiplier / factor)
        case dp_event.LaplaceDpEvent():
            return laplace(event.noise_multiplier / factor)
        case dp_event.ComposedDpEvent():
            return composed([scaled(part, factor) for part in event.events])
        case dp_event.SelfComposedDpEvent():
            return repeated(scaled(event.event, factor), event.count)
        case AdaptiveSizesDpEvent() | AssumedFailureDpEvent() | dp_event.NoOpDpEvent():
            return event
    raise UnsupportedEvent(
        f"a {type(event).__name__} has no size to scale: plan with fastmwem.privacy.events."
    )


def fit_to_budget(budget: Budget, plan: DpEvent | Sequence[DpEvent], *, using: str = "optimal") -> float:
    """The largest factor by which `plan` can be scaled within `budget`, as the accountant `using` counts.

    `scaled(plan, factor)` is then authorised by a ledger with that accountant.

    >>> plan = [repeated(exponential_mechanism(1.0), 5), repeated(gaussian(1.0), 5)]
    >>> factor = fit_to_budget(Budget(1, 1e-6), plan, using="zcdp")
    >>> round(factor, 4)
    0.0883
    """
    event = plan if isinstance(plan, DpEvent) else composed(list(plan))
    spend = spend_of(event)
    if not spend.private or spend.rho == 0:
        raise InvalidArgument("plan must hold at least one event with a size above 0 and noise above 0.")
    failure = spend.failure * (1 + math.exp(min(budget.epsilon, 700.0)))
    if failure >= budget.delta:
        raise InvalidArgument(
            f"delta must be above what the plan's assumed failure costs ({failure:.3g}), "
            f"got {budget.delta:g}: raise delta or drop the assumption."
        )
    judge = accountant(using)
    start = math.sqrt(rho(Budget(budget.epsilon, budget.delta - failure)) / spend.rho)
    return _largest(lambda factor: judge.epsilon(scaled(event, factor), budget.delta), budget.epsilon, start)


def calibrate_rounds(
    budget: Budget,
    rounds: int,
    *,
    accountant: str = "optimal",
    gaussians: int = 0,
    share: float | None = None,
) -> Calibration:
    """eps0 for `rounds` (T) rounds of the exponential mechanism, with or without Gaussian measurements.

    With `gaussians` of them, `share` in (0, 1) is the part of the budget, counted in zCDP, that goes to
    the rounds (1/2 if not given); the rest is split evenly over the measurements.

    >>> calibrate_rounds(Budget(1, 1e-3), 1000, accountant="zcdp").eps0 * 1000**0.5  # doctest: +ELLIPSIS
    0.689...
    """
    rounds = check_whole("rounds", rounds)
    gaussians = check_whole("gaussians", gaussians, low=0)
    if share is not None and not gaussians:
        raise InvalidArgument("share needs gaussians: give how many Gaussian measurements the rest is for.")
    share = _check_share(0.5 if share is None else share) if gaussians else 1.0
    eps0 = math.sqrt(8 * share / rounds)
    sigma = math.sqrt(gaussians / (2 * (1 - share))) if gaussians else math.inf
    return _calibrate(budget, Calibration(rounds, eps0, gaussians, sigma, 0.0, 0.0), accountant)


def calibrate_gaussian(budget: Budget, count: int = 1, *, accountant: str = "optimal") -> Calibration:
    """The noise multiplier for `count` Gaussian measurements that take the whole budget.

    >>> round(calibrate_gaussian(Budget(1, 1e-5)).noise_multiplier, 4)
    3.7306
    """
    count = check_whole("count", count)
    return _calibrate(budget, Calibration(0, 0.0, count, math.sqrt(count / 2), 0.0, 0.0), accountant)


def _calibrate(budget: Budget, relative: Calibration, using: str) -> Calibration:
    """`relative`, which costs one unit of rho, scaled to fill the budget."""
    factor = fit_to_budget(budget, relative.event, using=using)
    certified = accountant(using).epsilon(scaled(relative.event, factor), budget.delta)
    return Calibration(
        relative.rounds,
        relative.eps0 * factor,
        relative.gaussians,
        relative.noise_multiplier / factor,
        certified,
        budget.delta,
    )


def _check_share(share: float) -> float:
    share = check_at_least("share", share, 0.0)
    if not 0 < share < 1:
        raise InvalidArgument(f"share must lie strictly between 0 and 1, got {share:g}: the rounds' part.")
    return share


def _largest(cost: Callable[[float], float], limit: float, start: float, close: float = _CLOSE) -> float:
    """The largest x with cost(x) <= limit, up to `close`; cost is increasing, about a power of x.

    Secant steps on ln cost against ln x, kept inside the bracket and halving it every fourth time: a
    handful of evaluations. What is returned was evaluated and fits.
    """
    low, low_cost = 0.0, 0.0
    high, high_cost = math.inf, math.inf
    x = start
    for step in range(200):
        value = cost(x)
        if value <= limit:
            low, low_cost = x, value
            if value >= limit * (1 - close):
                break
        else:
            high, high_cost = x, value
        if low > 0 and high < math.inf and high <= low * (1 + 2.0**-50):
            break
        halve = step % 4 == 3 and low > 0 and math.isfinite(high)
        x = math.sqrt(low * high) if halve else _next(low, low_cost, high, high_cost, limit * (1 - close / 2))
    if low == 0:
        raise InvalidArgument("the budget is too small for this plan at any size that numbers can hold.")
    return low


def _next(low: float, low_cost: float, high: float, high_cost: float, target: float) -> float:
    if low == 0:
        return high * max(0.25, min(0.99, target / high_cost))
    if math.isinf(high):
        return low * max(1.01, min(4.0, target / low_cost)) if low_cost > 0 else 4 * low
    middle = math.sqrt(low * high)
    if low_cost <= 0 or math.isinf(high_cost):
        return middle
    slope = math.log(high / low) / math.log(high_cost / low_cost)
    guess = low * math.exp(slope * math.log(target / low_cost))
    return guess if low < guess < high else middle
