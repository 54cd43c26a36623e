"""Steps and rounds: how far a multiplicative-weights round moves, and how many there are.

Everything here is a function of public numbers: T, |X|, and, for the self-tuned step, the public losses
and the public iterates. `eta` is the step, `T` the number of rounds, `d` = |X| the number of cells.
"""

from __future__ import annotations

import math
from typing import Protocol

from fastmwem.errors import check_choice, check_positive

__all__ = ["STEPS", "AdaptiveStep", "FixedStep", "Step", "make_step", "paper_epsilon", "paper_rounds"]

STEPS = ("adaptive", "fixed")


class Step(Protocol):
    """eta_t, given the variance of the loss of round t under the iterate of round t (public)."""

    def next(self, variance: float) -> float: ...


class FixedStep:
    """The same eta in every round: the paper's sqrt(ln|X| / T)."""

    def __init__(self, eta: float) -> None:
        self.eta = check_positive("eta", eta)

    @classmethod
    def paper(cls, dim: int, rounds: int) -> FixedStep:
        """eta = sqrt(ln|X| / T)."""
        return cls(math.sqrt(math.log(max(dim, 2)) / rounds))

    def next(self, variance: float) -> float:
        return self.eta


class AdaptiveStep:
    """eta_t = c sqrt(2 ln d / (T v_t)), v_t the mean variance of the losses so far; never above 1.

    The second-order regret bound of Hedge is ln(d)/eta + eta/2 * V_T up to terms of third order, with V_T
    the sum of Var_{p_t}(loss_t); the best fixed step in hindsight is sqrt(2 ln d / V_T), and T v_t is the
    running forecast of V_T (it starts at 1/4, the most a loss in [0, 1] can vary). The bound is for losses
    chosen by an adversary; picks are noisy and often repeat, and a step of c = 0.5 times as much is best
    for the average iterate over n = 500 .. 1e5 and T = 500 .. 2e4 on the paper's workload. The cap is the
    range in which exp(-eta * loss) follows its second-order expansion.
    """

    def __init__(self, dim: int, rounds: int, factor: float = 0.5) -> None:
        self._numerator = factor * factor * 2.0 * math.log(max(dim, 2)) / rounds
        self._variance, self._count = 0.25, 1

    def next(self, variance: float) -> float:
        self._variance += variance
        self._count += 1
        return min(1.0, math.sqrt(self._numerator * self._count / self._variance))


def make_step(name: str, dim: int, rounds: int) -> Step:
    """The step rule called `name`: "adaptive" or "fixed"."""
    check_choice("step", name, STEPS)
    return AdaptiveStep(dim, rounds) if name == "adaptive" else FixedStep.paper(dim, rounds)


def paper_epsilon(epsilon: float, delta: float, rounds: int) -> float:
    """eps0 as the paper prints it: epsilon / sqrt(T ln(1/delta)).

    >>> round(paper_epsilon(1, 1e-3, 1000) * 1000**.5, 4)
    0.3805
    """
    return epsilon / math.sqrt(rounds * math.log(1.0 / delta))


def paper_rounds(m: int, alpha: float) -> int:
    """T as the paper prints it: 16 ln(m) / alpha^2 for a target error alpha.

    The regret bound needs ln|X| in the place of ln m; kept as printed for comparison.
    """
    return math.ceil(16.0 * math.log(max(m, 2)) / alpha**2)
