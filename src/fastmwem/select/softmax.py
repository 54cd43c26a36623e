"""Compiled draws from softmax over a vector of scaled scores, by inversion.

The law is softmax(x), or over the 2m signed candidates softmax(x, -x): a pair (i, +), (i, -) then is one
leaf of weight exp(x_i) + exp(-x_i), and the sign is drawn given the leaf. One uniform number chooses
the block and another the place in it, so that each keeps its digits; m exponentials are taken, no
logarithm, and no Gumbel noise is needed. Sums are taken per block relative to the block's own maximum, so
exponents may spread over any range; they do not depend on the number of threads.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from fastmwem.kernels import kernel

__all__ = ["BLOCK", "THREADED", "choose", "draw_sign", "scale_and_sum", "scale_and_sum_threaded"]

BLOCK = 1024
THREADED = 500_000  # candidates from which the exponentials gain by threads


@kernel
def _sum_block(x, offsets, scale, signed):
    """x <- scale * (x - offsets) in one block; its largest log-weight and its sum relative to that."""
    peak = -np.inf
    for i in range(x.size):
        x[i] = scale * (x[i] - offsets[i])
        peak = max(peak, abs(x[i]) if signed else x[i])
    total = 0.0
    for i in range(x.size):
        total += np.exp(x[i] - peak)
        if signed:
            total += np.exp(-x[i] - peak)
    return peak, total


@kernel
def scale_and_sum(x, offsets, scale, signed, peaks, sums):
    """x <- scale * (x - offsets), and per block of candidates its largest log-weight and its sum."""
    for b in range(peaks.size):
        part = slice(b * BLOCK, (b + 1) * BLOCK)
        peaks[b], sums[b] = _sum_block(x[part], offsets[part], scale, signed)


@kernel(parallel=True)
def scale_and_sum_threaded(x, offsets, scale, signed, peaks, sums):
    """`scale_and_sum` on all threads; the same sums, whatever their number."""
    for b in prange(peaks.size):
        part = slice(b * BLOCK, (b + 1) * BLOCK)
        peaks[b], sums[b] = _sum_block(x[part], offsets[part], scale, signed)


@kernel
def choose(x, signed, peaks, sums, which, where):
    """The candidate (both signs together) at quantile `where` of the block at quantile `which` of the law.

    -1 if a score is not finite.
    """
    top = peaks.max()
    total = 0.0
    for b in range(peaks.size):
        total += sums[b] * np.exp(peaks[b] - top)
    if not np.isfinite(total):
        return -1
    rest = which * total
    block = -1
    for b in range(peaks.size):
        mass = sums[b] * np.exp(peaks[b] - top)
        if mass > 0.0:
            block = b  # so that rounding at the very end cannot choose a block of no mass
            if rest < mass:
                break
            rest -= mass
    rest, chosen = where * sums[block], -1
    for i in range(block * BLOCK, min((block + 1) * BLOCK, x.size)):
        weight = np.exp(x[i] - peaks[block])
        if signed:
            weight += np.exp(-x[i] - peaks[block])
        if weight > 0.0:
            chosen = i
            if rest < weight:
                break
            rest -= weight
    return chosen


@kernel
def draw_sign(x, uniform):
    """+1 with probability exp(x) / (exp(x) + exp(-x))."""
    if x >= 0.0:
        return 1 if uniform * (1.0 + np.exp(-2.0 * x)) < 1.0 else -1
    return 1 if uniform * (1.0 + np.exp(2.0 * x)) < np.exp(2.0 * x) else -1
