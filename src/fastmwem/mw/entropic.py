r"""A non-negative, entropic least-squares fit, for ill-conditioned maps with a fast product.

Given y = A x + noise of standard deviation sigma, and the total N:

    minimise over x >= 0, sum x = N   |A x - y|^2 / (2 sigma^2) + tau sum_j (x_j/N) ln(x_j/N).

The maximum-entropy fit's problem with a uniform prior, solved in x rather than in the multipliers:
accelerated proximal gradient with restarts (FISTA; O'Donoghue and Candes 2015). The proximal step of the
entropy on the simplex is one scalar equation: x_j = kappa omega((v_j - nu)/kappa - 1 - ln kappa), omega
Wright's function. Everything is public, so how long it takes is too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fastmwem.mw.maxent import LinearMap
from fastmwem.queries.base import FloatArray

__all__ = ["EntropicFit", "entropic_least_squares", "simplex_multiplier"]


@dataclass(frozen=True)
class EntropicFit:
    """`x`; `move`, the last step's largest change of a measurement in units of its noise; `iterations`."""

    x: FloatArray
    move: float
    iterations: int
    converged: bool


def entropic_least_squares(
    measured: LinearMap,
    values: FloatArray,
    std: float,
    total: float,
    *,
    tau: float = 3.0,
    start: FloatArray | None = None,
    move: float = 1e-3,
    max_iterations: int = 2000,
) -> EntropicFit:
    """Solve until no measurement's fit moves by more than `move` standard deviations in a step.

    >>> from fastmwem.queries.prefix_root import PrefixRoot
    >>> root = PrefixRoot(4)
    >>> fit = entropic_least_squares(root, root.answers(np.array([60.0, 0, 30, 10])), 0.1, 100.0)
    >>> fit.x.round().tolist(), fit.converged
    ([60.0, 0.0, 30.0, 10.0], True)
    """
    step = std * std / _largest_eigenvalue(measured)
    kappa = step * tau / total
    uniform = np.full(measured.dim, total / measured.dim)
    x = uniform if start is None else 0.9 * start + 0.1 * uniform
    fitted = measured.answers(x)
    lead, lead_fitted, momentum, moved, iteration = x, fitted, 1.0, math.inf, 0
    for iteration in range(1, max_iterations + 1):  # noqa: B007
        gradient = measured.adjoint(lead_fitted - values) / (std * std)
        new = _entropic_step(lead - step * gradient, kappa, total)
        new_fitted = measured.answers(new)
        change = new - x
        if (lead - new) @ change > 0:  # the momentum points uphill: forget it
            momentum = 1.0
        faster = (1.0 + math.sqrt(1.0 + 4.0 * momentum * momentum)) / 2.0
        pull = (momentum - 1.0) / faster
        moved = float(np.abs(new_fitted - fitted).max()) / std
        lead, lead_fitted = new + pull * change, new_fitted + pull * (new_fitted - fitted)
        x, fitted, momentum = new, new_fitted, faster
        if moved <= move:
            break
    return EntropicFit(x, moved, iteration, moved <= move)


def simplex_multiplier(v: FloatArray, total: float) -> float:
    """nu with sum max(v - nu, 0) = total: the Euclidean projection, and where the entropic step starts."""
    ordered = np.sort(v)[::-1]
    excess = np.cumsum(ordered) - total
    places = np.arange(1, v.size + 1)
    kept = int(np.flatnonzero(ordered * places > excess)[-1]) + 1
    return float(excess[kept - 1] / kept)


def _entropic_step(v: FloatArray, kappa: float, total: float) -> FloatArray:
    """argmin |x - v|^2 / 2 + kappa sum x ln x over sum x = total, by Newton's method on the multiplier.

    sum x(nu) is decreasing and convex. The start is at most the root shifted by kappa (1 + ln max x), and
    any start left of the root converges; from the right, one step of a convex function goes left.
    """
    from scipy.special import wrightomega

    nu = simplex_multiplier(v, total)
    offset = 1.0 + math.log(kappa)
    x = kappa * wrightomega((v - nu) / kappa - offset)
    for _ in range(60):
        off = float(x.sum()) - total
        if abs(off) <= 1e-10 * total:
            break
        nu += off / float((x / (x + kappa)).sum())
        x = kappa * wrightomega((v - nu) / kappa - offset)
    return x * (total / x.sum())


def _largest_eigenvalue(measured: LinearMap) -> float:
    """Of A^T A, by power iteration from a positive vector, with a margin of 2 %."""
    v = np.ones(measured.dim)
    size = 1.0
    for _ in range(60):
        v = measured.adjoint(measured.answers(v))
        size = float(np.linalg.norm(v))
        v /= size
    return 1.02 * size
