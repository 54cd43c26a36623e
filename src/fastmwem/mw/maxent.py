"""The maximum-entropy fit: the distribution that explains noisy linear measurements.

Given measurements y = A p + noise, noise_j of standard deviation sigma_j, and a public prior q:

    minimise over distributions p   sum_j (<a_j, p> - y_j)^2 / (2 sigma_j^2)  +  tau KL(p || q).      (P)

With B = A / sigma and z = y / sigma (rows divided by their sigma) the solution is
p_u = q exp(B^T u) / Z(u), for the u that minimises the smooth, tau-strongly convex

    g(u) = ln Z(u) - <z, u> + tau |u|^2 / 2,   grad g = B p_u - z + tau u,   hess g = B Cov(p_u) B^T + tau I.

-tau g is the dual of (P), and at any u (P) at p_u less the dual at u is exactly |grad g(u)|^2 / 2: a public
certificate, in nats. As (P) is strongly convex it bounds the distance from the optimum p* too:
sum_j <a_j, p_u - p*>^2 / (2 sigma_j^2) + tau KL(p_u || p*) <= gap. So the stopping rule says how far the
answers can still move, in units of the noise that is in them anyway.

Solved by Newton's method with conjugate gradients: a Hessian product is two products with A, whatever A is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fastmwem.errors import InvalidArgument, check_positive
from fastmwem.queries.base import FloatArray

__all__ = ["Evidence", "Fit", "LinearMap", "maximum_entropy"]


class LinearMap(Protocol):
    """m linear functions of a vector with `dim` entries: every `Queries` is one."""

    m: int
    dim: int

    def answers(self, v: FloatArray) -> FloatArray: ...
    def adjoint(self, weights: FloatArray) -> FloatArray: ...


@dataclass(frozen=True)
class Evidence:
    """Noisy answers: values = map.answers(p) + noise, independent, with standard deviations `std` > 0.

    `mean_square`, if known, is the mean over entries of each row's squared values: it only speeds the fit.
    """

    map: LinearMap
    values: FloatArray
    std: FloatArray
    mean_square: FloatArray | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", np.asarray(self.values, float))
        object.__setattr__(self, "std", np.broadcast_to(np.asarray(self.std, float), (self.map.m,)))
        if self.values.shape != (self.map.m,):
            raise InvalidArgument(f"values must hold one number per row of the map, {self.map.m} in all.")
        if not (np.isfinite(self.values).all() and np.isfinite(self.std).all() and (self.std > 0).all()):
            raise InvalidArgument("values must be finite and std finite and above 0.")


@dataclass(frozen=True)
class Fit:
    """`p`, the fitted distribution; `multipliers`, one array per piece of evidence (for a warm start).

    `gap` bounds, in nats, how far (P) is from its minimum; `iterations` are Newton steps.
    """

    p: FloatArray
    multipliers: tuple[FloatArray, ...]
    gap: float
    iterations: int
    converged: bool


def maximum_entropy(
    evidence: Sequence[Evidence],
    *,
    prior: FloatArray | None = None,
    tau: float = 1.0,
    start: Sequence[FloatArray] | None = None,
    gap: float = 1e-2,
    max_iterations: int = 100,
) -> Fit:
    """Solve (P) until the duality gap is at most `gap` nats.

    `prior` (q, positive, any scale) is uniform if not given; `start` are the `multipliers` of an earlier fit,
    one array per piece of `evidence` (zeros for new pieces).

    >>> from fastmwem.data.domain import Domain
    >>> from fastmwem.queries.marginals import Marginals
    >>> q = Marginals(Domain.of_sizes({"a": 2, "b": 2}), [["a"], ["b"]])
    >>> fit = maximum_entropy([Evidence(q, np.array([0.25, 0.75, 0.5, 0.5]), np.full(4, 1e-3))])
    >>> fit.p.round(3).tolist(), fit.converged
    ([0.125, 0.125, 0.375, 0.375], True)
    """
    check_positive("tau", tau)
    problem = _Dual(evidence, prior, tau)
    u = np.zeros(problem.m) if start is None else problem.whitened(start)
    state = problem.at(u)
    for iteration in range(max_iterations):  # noqa: B007
        if state.gap <= gap:
            break
        step = _conjugate_gradients(problem, state)
        advanced = _line_search(problem, state, step)
        if advanced is None:  # rounding error: no representable progress is left
            break
        state = advanced
    else:
        iteration = max_iterations
    return Fit(state.p, problem.split(state.u), state.gap, iteration, state.gap <= gap)


@dataclass(frozen=True)
class _State:
    u: FloatArray
    p: FloatArray
    value: float
    gradient: FloatArray

    @property
    def gap(self) -> float:
        return 0.5 * float(self.gradient @ self.gradient)


class _Dual:
    """g, its gradient and its Hessian product, with the evidence stacked and whitened."""

    def __init__(self, evidence: Sequence[Evidence], prior: FloatArray | None, tau: float) -> None:
        if not evidence:
            raise InvalidArgument("evidence is empty: give at least one measurement.")
        self.evidence, self.tau = evidence, tau
        self.dim = evidence[0].map.dim
        if any(e.map.dim != self.dim for e in evidence):
            raise InvalidArgument("evidence mixes vectors of different lengths: put all on one support.")
        self.log_prior = np.zeros(self.dim) if prior is None else _log_prior(prior, self.dim)
        self.cuts = np.cumsum([e.map.m for e in evidence])[:-1]
        self.m = sum(e.map.m for e in evidence)
        self.std = np.concatenate([e.std for e in evidence])
        self.target = np.concatenate([e.values for e in evidence]) / self.std
        squares = [np.full(e.map.m, 1.0) if e.mean_square is None else e.mean_square for e in evidence]
        self.diagonal = np.concatenate(squares) / self.std**2 + tau

    def whitened(self, multipliers: Sequence[FloatArray]) -> FloatArray:
        return np.concatenate([np.asarray(part, float) for part in multipliers]) * self.std

    def split(self, u: FloatArray) -> tuple[FloatArray, ...]:
        return tuple(np.split(u / self.std, self.cuts))

    def forward(self, v: FloatArray) -> FloatArray:
        return np.concatenate([e.map.answers(v) for e in self.evidence]) / self.std

    def backward(self, u: FloatArray) -> FloatArray:
        parts = np.split(u / self.std, self.cuts)
        total = self.evidence[0].map.adjoint(parts[0])
        for e, part in zip(self.evidence[1:], parts[1:], strict=True):
            total = total + e.map.adjoint(part)
        return total

    def at(self, u: FloatArray) -> _State:
        logits = self.log_prior + self.backward(u)
        top = float(logits.max())
        p = np.exp(logits - top)
        total = float(p.sum())
        p /= total
        value = top + math.log(total) - float(self.target @ u) + 0.5 * self.tau * float(u @ u)
        return _State(u, p, value, self.forward(p) - self.target + self.tau * u)

    def hessian(self, p: FloatArray, direction: FloatArray) -> FloatArray:
        moved = self.backward(direction)
        return self.forward(p * (moved - p @ moved)) + self.tau * direction


def _log_prior(prior: FloatArray, dim: int) -> FloatArray:
    q = np.asarray(prior, float)
    if q.shape != (dim,) or not np.isfinite(q).all() or (q <= 0).any():
        raise InvalidArgument(f"prior must hold {dim} finite numbers above 0.")
    return np.log(q)


def _conjugate_gradients(problem: _Dual, state: _State, limit: int = 400) -> FloatArray:
    """An inexact Newton direction: hess g d = -grad g, to a relative residual that shrinks with the gap."""
    residual = -state.gradient
    inverse = 1.0 / problem.diagonal
    goal = float(np.linalg.norm(residual)) * min(0.3, max(0.02, math.sqrt(state.gap) * 1e-2))
    direction = np.zeros_like(residual)
    z = inverse * residual
    search, weight = z, float(residual @ z)
    for _ in range(limit):
        product = problem.hessian(state.p, search)
        length = weight / float(search @ product)
        direction = direction + length * search
        residual = residual - length * product
        if np.linalg.norm(residual) <= goal:
            break
        z = inverse * residual
        weight, previous = float(residual @ z), weight
        search = z + (weight / previous) * search
    return direction


def _line_search(problem: _Dual, state: _State, step: FloatArray) -> _State | None:
    """Halve the step until g falls enough (Armijo); None if it cannot."""
    slope = float(state.gradient @ step)
    length = 1.0
    for _ in range(40):
        trial = problem.at(state.u + length * step)
        if trial.value <= state.value + 1e-4 * length * slope:
            return trial
        if abs(length * slope) < 1e-10 * (1 + abs(state.value)) and trial.gap < state.gap:
            return trial  # g no longer resolves the step; its gradient still does
        length *= 0.5
    return None
