"""A histogram from noisy differences of halves: the posterior mean, from the whole line down to its cells.

A line of cells is halved again and again (`queries.wavelets`). Say a piece holds P rows, of which the left
half has P (1 + t)/2: then its wavelet's coefficient, seen with Gaussian noise of known size, is a noisy view
of t. With a prior on t in [-1, 1] the posterior mean of t splits P among the halves, and so on downwards:
every cell comes out at 0 or above, and what noise drowns is spread evenly. P is taken at its own mean.

The prior of t is uniform for the first levels, which hold the coarse shape of the column, and a mixture
below, of equal parts: uniform (rows in few cells), and normal about an even spread with deviations .3, .1 and
.03 (smoother and smoother columns). Each part's posterior is a normal cut off at -1 and 1, and its weight
how likely it made the coefficient seen: all in closed form, O(cells) in all. Public, like all it looks at.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_ndtr

from fastmwem.queries.base import FloatArray
from fastmwem.queries.wavelets import Haar

__all__ = ["halving_posterior"]

_COARSE = 3  # levels of any shape
_SMOOTH = (0.3, 0.1, 0.03)  # deviations of the normal parts
_DROWNED = 1e3  # noise of t beyond which its size no longer matters
_FAR = 30.0  # deviations of noise beyond [-1, 1] after which a view says all that it can
_LOG_ROOT = 0.5 * math.log(2 * math.pi)


def halving_posterior(haar: Haar, coefficients: FloatArray, std: FloatArray, total: float) -> FloatArray:
    """The cells of a line with `total` rows, from its wavelets' noisy `coefficients`; they add up to `total`.

    >>> haar = Haar(4)
    >>> seen = haar.matrix @ np.array([600.0, 0, 300, 100])
    >>> halving_posterior(haar, seen, np.full(3, 1e-3), 1000.0).round(2).tolist()
    [600.0, 0.0, 300.0, 100.0]
    """
    cells = np.zeros(haar.size)
    cells[0] = total  # a piece's rows stand at its first cell until it is halved
    for level in range(int(haar.level.max(initial=-1)) + 1):
        rows = np.flatnonzero(haar.level == level)
        low, middle, high = haar.pieces[rows].T
        up, down = haar.up[rows], haar.down[rows]
        whole = cells[low]
        noise = 2 * std[rows] / (up + down)
        held = np.maximum(whole, noise / _DROWNED)
        deviation = noise / held
        seen = (2 * coefficients[rows] / held - (up - down)) / (up + down)
        seen = np.clip(seen, -1 - _FAR * deviation, 1 + _FAR * deviation)
        even = (2 * middle - low - high) / (high - low)
        t = _posterior_mean(seen, deviation, even, () if level < _COARSE else _SMOOTH)
        cells[low], cells[middle] = whole * (1 + t) / 2, whole * (1 - t) / 2
    return cells


def _posterior_mean(
    seen: FloatArray, noise: FloatArray, even: FloatArray, widths: tuple[float, ...]
) -> FloatArray:
    """E[t | t + N(0, noise^2) = seen], with equal prior weight on [-1, 1] and each normal about `even`."""
    log_weights, means = [], []
    mass, mean = _cut_normal(seen, noise)
    log_weights.append(mass - math.log(2))
    means.append(mean)
    for width in widths:
        variance = noise**2 + width**2
        prior, _ = _cut_normal(even, np.full_like(even, width))
        mass, mean = _cut_normal(
            (seen * width**2 + even * noise**2) / variance, noise * width / variance**0.5
        )
        likely = -((seen - even) ** 2) / (2 * variance) - 0.5 * np.log(variance) - _LOG_ROOT
        log_weights.append(likely + mass - prior)
        means.append(mean)
    weights = np.exp(log_weights - np.max(log_weights, axis=0))
    return (weights * means).sum(axis=0) / weights.sum(axis=0)


def _cut_normal(centre: FloatArray, deviation: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Of N(centre, deviation^2): the log of its mass on [-1, 1], and its mean there."""
    left = -np.abs(centre)  # by symmetry; differences of tails are then taken where tails are small
    a, b = (-1 - left) / deviation, (1 - left) / deviation
    below, above = log_ndtr(-a), log_ndtr(-b)
    mass = below + np.log1p(-np.exp(np.minimum(above - below, -1e-300)))
    at_a, at_b = (np.exp(-0.5 * end**2 - _LOG_ROOT - mass) for end in (a, b))
    mean = np.clip(left + deviation * (at_a - at_b), -1.0, 1.0)
    return mass, np.where(centre > 0, -mean, mean)
