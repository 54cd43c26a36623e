r"""What a private linear program can promise, from public numbers alone.

Both solvers play T rounds; the error they promise with probability 1 - beta is

    alpha(T) = regret(T) + selection(T),

the first falling in T and the second rising, because the budget is split over more picks.

**Selection.** A round of the exponential mechanism over k candidates, weights exp(eps0 u / R), falls short of
the best score by G_t. ln P(G_t > (R/eps0)(ln k + g)) <= -g: at most k outcomes have scores so low, each with
weight at most e^{-g}/k of the best one's. So eps0 G_t / R - ln k lies below a standard exponential variable
whatever came before, and the mean of T of them below a Gamma(T)/T variable:

    selection(T) = (R/eps0) (ln k + Q/T),   Q = the 1 - beta quantile of Gamma(T)  (Q <= T + sqrt(2 T L) +
    L, L = ln 1/beta).

**T*.** With eps0 = kappa/sqrt(T), regret(T) = a/sqrt(T) and selection(T) ~ b_ sqrt(T), b_ = (R/kappa)(ln k
+ 1); the sum is least at T* = a/b_, where it is alpha* = 2 sqrt(a b_).
"""

from __future__ import annotations

import math
from typing import Any

from fastmwem.privacy.budget import Budget

__all__ = ["best_rounds", "gaussian_tail", "kappa", "selection_error"]


def kappa(budget: Budget) -> float:
    """eps0 sqrt(T) for many rounds T: twice the mu of the Gaussian mechanism that the budget allows.

    T rounds of eps0-bounded-range mechanisms tend to mu-Gaussian privacy with mu = eps0 sqrt(T)/2. For
    planning only; a run's eps0 is calibrated for its T.

    >>> round(kappa(Budget(1, 1e-3)), 3)
    0.777
    """
    from scipy.optimize import brentq
    from scipy.special import log_ndtr

    def log_delta(log_mu: float) -> float:
        mu = math.exp(log_mu)
        first = log_ndtr(mu / 2 - budget.epsilon / mu)
        second = budget.epsilon + log_ndtr(-mu / 2 - budget.epsilon / mu)
        return float(first + math.log(-math.expm1(min(second - first, -1e-300))) - math.log(budget.delta))

    high = math.log(math.sqrt(2 * budget.epsilon) + budget.epsilon + 40)
    log_mu: Any = brentq(log_delta, math.log(budget.epsilon) - 12, high, xtol=1e-10)
    return 2.0 * math.exp(log_mu)


def selection_error(
    candidates: int, score_range: float, eps0: float, rounds: int, beta: float, slip: float = 0.0
) -> float:
    """(R/eps0)(ln k + Q/T): what T picks lose on average, with probability 1 - `beta`.

    A tail charged with `slip` makes a pick up to e^slip times as likely, which adds (R/eps0) slip.
    """
    from scipy.special import gammainccinv

    quantile = float(gammainccinv(rounds, beta)) / rounds
    return score_range / eps0 * (math.log(candidates) + slip + quantile)


def best_rounds(regret: float, candidates: int, score_range: float, kappa: float) -> float:
    """T* for regret(T) = `regret`/sqrt(T)."""
    if score_range == 0:
        return math.inf
    return regret * kappa / (score_range * (math.log(candidates) + 1.0))


def gaussian_tail(count: int, deviation: float, beta: float) -> float:
    """What all of `count` Gaussian variables stay below in absolute value, with probability 1 - beta."""
    from scipy.special import ndtri

    return deviation * -float(ndtri(beta / (2.0 * max(count, 1))))
