"""Privacy curves in closed form: Gaussian, zero-concentrated, and pure.

Outward rounding. Each delta is computed with a relative error that is at most some hundred units in the
last place (`scipy.special.ndtr`, `erfcx`, `math.exp` are taken to be good to 2^-45) and then raised by
`_OUT`, which is more; each epsilon is one at which the raised delta was seen to fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx, ndtr

__all__ = [
    "ConcentratedProfile",
    "GaussianProfile",
    "LeastProfile",
    "Profile",
    "PureProfile",
    "gaussian_delta",
    "smallest_that_fits",
]


class Profile(Protocol):
    """A proven privacy curve: delta at every epsilon >= 0, and back; both rounded outward."""

    def delta(self, epsilon: float) -> float: ...
    def epsilon(self, delta: float) -> float: ...


_OUT = 1 + 2.0**-40
_NOISE = 2.0**-45
_TINY = 1e-300  # where exponentials underflow


def smallest_that_fits(fits: Callable[[float], bool], low: float, high: float, steps: int = 60) -> float:
    """A number at which `fits` holds, next to one at which it does not; `fits` must be increasing.

    `low` does not fit (or is returned if it does); `high` grows until it fits, or infinity is returned.
    """
    if fits(low):
        return low
    while not fits(high):
        low, high = high, 2 * high
        if math.isinf(high):
            return math.inf
    for _ in range(steps):
        middle = 0.5 * (low + high)
        if not low < middle < high or high - low <= 2.0**-48 * high:
            break
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


def gaussian_delta(epsilon: NDArray[np.float64], mu: float) -> NDArray[np.float64]:
    """Hockey-stick divergence of N(mu, 1) from N(0, 1) at e^epsilon, any sign of epsilon, rounded up.

    delta(eps) = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu)   (Balle and Wang 2018, theorem 8).
    With x = eps/mu - mu/2 the second term is exp(-x^2/2) erfcx((x + mu)/sqrt 2)/2: no overflow. For
    negative eps, delta(-eps) = 1 - e^-eps + e^-eps delta(eps).
    """
    if mu == 0:
        return -np.expm1(np.minimum(epsilon, 0.0))
    mu, size = max(mu, 1e-200), np.minimum(np.abs(epsilon), 1e90)  # far beyond any use, short of overflow
    x = np.clip(size / mu - mu / 2, -1e100, 1e100)
    first = ndtr(-x)
    second = 0.5 * np.exp(-0.5 * x * x) * erfcx((x + mu) / math.sqrt(2))
    # x is off by some units in the last place of its terms; that moves both by a factor, allowed for here.
    delta = np.maximum(first - second, 0.0) + _NOISE * (1 + x * x + mu * mu) * (first + second)
    return np.where(epsilon < 0, -np.expm1(-size) + np.exp(-size) * delta, delta)


@dataclass(frozen=True)
class GaussianProfile:
    """N(0, 1) against N(mu, 1): what Gaussian noise of std sensitivity/mu costs, exactly."""

    mu: float

    def delta(self, epsilon: float) -> float:
        if math.isinf(self.mu):
            return 1.0
        return min(1.0, float(gaussian_delta(np.array([epsilon]), self.mu)[0]))

    def epsilon(self, delta: float) -> float:
        if self.mu == 0:
            return 0.0
        if delta <= 0 or math.isinf(self.mu):
            return math.inf if delta < 1 else 0.0
        start = self.mu * self.mu / 2 + self.mu
        return smallest_that_fits(lambda eps: self.delta(eps) <= delta, 0.0, start)


@dataclass(frozen=True)
class ConcentratedProfile:
    """rho-zCDP, converted as tightly as one order at a time can be.

    delta(eps) = min_{a > 1} exp((a-1)(a rho - eps)) (1 - 1/a)^a / (a - 1)
    (Canonne, Kamath and Steinke 2020, proposition 12). Every a gives a valid bound, so how well the
    minimum is found decides tightness, never validity. The derivative of the exponent in a is
    (2a - 1) rho - eps + ln(1 - 1/a), increasing; put back into the exponent it leaves
    ln(1/delta) = (a-1)^2 rho + ln a at the optimum, increasing too: one root each way. In b = a - 1,
    which may be minute, ln(1 - 1/a) = -ln(1 + 1/b).
    """

    rho: float

    def delta(self, epsilon: float) -> float:
        if self.rho == 0:
            return 0.0
        if math.isinf(self.rho):
            return 1.0
        epsilon = min(epsilon, 1e100)  # as b below: far beyond any use, short of overflow

        def past_optimum(b: float) -> bool:
            return (2 * b + 1) * self.rho - epsilon - math.log1p(1 / b) >= 0

        b = min(smallest_that_fits(past_optimum, 1e-12, 1.0), 1e100)
        log_delta = b * ((1 + b) * self.rho - epsilon) - (1 + b) * math.log1p(1 / b) - math.log(b)
        size = 1 + abs(math.log(b)) + b * (epsilon + (1 + b) * self.rho)
        return min(1.0, math.exp(min(0.0, log_delta + _NOISE * size)) * _OUT + _TINY)

    def epsilon(self, delta: float) -> float:
        if self.rho == 0:
            return 0.0
        if delta <= 0 or math.isinf(self.rho):
            return math.inf if delta < 1 else 0.0
        if delta >= 1:
            return 0.0
        log_inverse = -math.log(delta)
        b = smallest_that_fits(lambda b: b * b * self.rho + math.log1p(b) >= log_inverse, 1e-12, 1.0)
        most = (1 + b) * self.rho
        epsilon = most + (log_inverse - (1 + b) * math.log1p(1 / b) - math.log(b)) / b
        size = most + (2 + abs(math.log(b)) + log_inverse) / b
        return max(0.0, epsilon + _NOISE * size)


@dataclass(frozen=True)
class PureProfile:
    """epsilon-DP: delta 0 from there on; before it, that of randomised response, which dominates it."""

    pure_epsilon: float

    def delta(self, epsilon: float) -> float:
        if epsilon >= self.pure_epsilon:
            return 0.0
        if math.isinf(self.pure_epsilon):
            return 1.0
        # hockey-stick divergence of randomised response, (e^p - e^eps) / (1 + e^p), divided by e^p
        return min(1.0, -math.expm1(epsilon - self.pure_epsilon) / (1 + math.exp(-self.pure_epsilon)) * _OUT)

    def epsilon(self, delta: float) -> float:
        if math.isinf(self.pure_epsilon):
            return math.inf if delta < 1 else 0.0
        return smallest_that_fits(lambda eps: self.delta(eps) <= delta, 0.0, self.pure_epsilon)


@dataclass(frozen=True)
class LeastProfile:
    """The least of several proven curves, which is one too."""

    curves: tuple[Profile, ...]

    def delta(self, epsilon: float) -> float:
        return min(curve.delta(epsilon) for curve in self.curves)

    def epsilon(self, delta: float) -> float:
        return min(curve.epsilon(delta) for curve in self.curves)
