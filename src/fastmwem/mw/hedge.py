r"""Hedge with a known regret, over public losses: the player of the scalar-private LP.

x_t is proportional to exp(-eta_t L_{t-1}), L the sum of the losses so far (follow the regularised leader:
the whole past is weighed with today's step, which is what makes a *decreasing* step provable).

`adaptive` is AdaHedge: eta_t = ln(d) / D_{t-1}, with D the sum of the mixability gaps

    delta_t = <x_t, l_t> + (1/eta_t) ln sum_j x_tj exp(-eta_t l_tj)   >= 0.

Regret <= 2 D_T whatever the losses. *Proof.* The mix losses -(1/eta) ln sum x e^(-eta l), with eta never
rising, add up to at most min_j L_Tj + ln(d)/eta_T, and ln(d)/eta_T = D_{T-1} <= D_T; the rest of the regret
is D_T by definition. For losses of range S, delta_t <= min(S, eta_t S^2/8) (Hoeffding's lemma), so
D_t^2 - D_{t-1}^2 = delta_t^2 + 2 delta_t D_{t-1} <= S delta_t + S^2 ln(d)/4, hence
D_T^2 <= S D_T + T S^2 ln(d)/4, D_T <= S sqrt(T ln d)/2 + S, and regret <= S sqrt(T ln d) + 2S.  []

A fixed eta has regret <= ln(d)/eta + T eta S^2/8, at best S sqrt(T ln(d)/2): a better worst case, by sqrt(2),
and a worse answer almost always, because losses seldom vary by their full range under x_t.
"""

from __future__ import annotations

import math

import numpy as np

from fastmwem.errors import check_positive
from fastmwem.queries.base import FloatArray, Queries
from fastmwem.select.base import Pick

__all__ = ["Hedge", "fixed_step", "regret_bound"]


def fixed_step(half_range: float, dim: int, rounds: int) -> float:
    """The fixed eta with the least bound: sqrt(2 ln(d)/T)/h, `half_range` (`h`) being S/2."""
    return math.sqrt(2.0 * math.log(dim) / rounds) / half_range


def regret_bound(eta: float | None, half_range: float, dim: int, rounds: int) -> float:
    """What the average regret cannot exceed, known before the run; `eta` None is the adaptive step.

    >>> round(regret_bound(fixed_step(1.0, 20, 100), 1.0, 20, 100), 6)
    0.244775
    """
    if eta is None:
        return half_range * (2.0 * math.sqrt(math.log(dim) / rounds) + 4.0 / rounds)
    return math.log(dim) / (eta * rounds) + eta * half_range**2 / 2.0


class Hedge:
    """Minimises the losses s * k_i of the picks (i, s) over the simplex; its state is public.

    `eta` is a fixed step, or None for the adaptive one.

    `average` is the mean of x_1 .. x_T, and `regret` what the run fell short of the best fixed x, exactly:
    (1/T) (sum_t <x_t, l_t> - min_j L_Tj).
    """

    def __init__(self, queries: Queries, eta: float | None = None) -> None:
        self._queries = queries
        self._adaptive = eta is None
        self._log_dim = math.log(queries.dim)
        self._gaps = 0.0  # D
        self._eta = math.inf if eta is None else check_positive("eta", eta)
        self._losses = np.zeros(queries.dim)  # L
        self._x = np.full(queries.dim, 1.0 / queries.dim)
        self._sum = np.zeros(queries.dim)
        self._incurred = 0.0
        self.rounds = 0

    @property
    def average(self) -> FloatArray:
        return self._sum / self._sum.sum()

    @property
    def regret(self) -> float:
        return max(0.0, (self._incurred - float(self._losses.min())) / self.rounds)

    def probe(self) -> FloatArray:
        """x_t. Not copied: valid until `respond`."""
        return self._x

    def respond(self, pick: Pick) -> None:
        """Suffer the loss that the pick stands for, and move."""
        loss = np.zeros(self._queries.dim)
        cells, values = self._queries.row(pick.candidate)
        loss[cells] = pick.sign * values
        suffered = float(self._x @ loss)
        self._sum += self._x
        self._incurred += suffered
        self.rounds += 1
        if self._adaptive:
            self._gaps += max(0.0, suffered - self._mix(loss))
            self._eta = self._log_dim / self._gaps if self._gaps > 0 else math.inf
        self._losses += loss
        self._move()

    def _mix(self, loss: FloatArray) -> float:
        """-(1/eta) ln sum_j x_j exp(-eta l_j); its limit for eta = inf is the least loss that x meets."""
        if math.isinf(self._eta):
            return float(loss[self._x > 0].min())
        least = loss.min()
        return float(least - math.log(self._x @ np.exp(-self._eta * (loss - least))) / self._eta)

    def _move(self) -> None:
        behind = self._losses - self._losses.min()
        weights = (behind <= 0).astype(float) if math.isinf(self._eta) else np.exp(-self._eta * behind)
        self._x = weights / weights.sum()
