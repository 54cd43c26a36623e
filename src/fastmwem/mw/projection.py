r"""Bregman projection onto the 1/s-dense distributions: `Gamma_s`.

    minimise  KL(y || w)   over   y >= 0,  sum(y) = 1,  y_i <= 1/s.

The answer is y_i = min(1, c w_i) / s with the one c that makes it sum to 1. If k entries are capped, the
rest share (s - k)/s in proportion to w, so c = (s - k) / sum(w over the rest); the right k is the smallest
for which the largest of the rest is not above the cap. At k = ceil(s) - 1 it never is, because that entry
is part of its own sum and s - k <= 1: only the top ceil(s) entries need sorting. O(m + s log s).
"""

from __future__ import annotations

import math

import numpy as np

from fastmwem.errors import InvalidArgument
from fastmwem.queries.base import FloatArray

__all__ = ["dense_projection"]


def dense_projection(log_weights: FloatArray, s: float) -> FloatArray:
    """`Gamma_s`: the 1/s-dense distribution nearest in KL to the measure exp(`log_weights`).

    Works on logarithms throughout, so weights may span thousands of orders of magnitude.

    **Why a private run may rest on it.** Let A and A' be measures on two sets of rows that differ in one
    row (added, removed or replaced) and agree on the common rows. A larger c raises every common entry
    and a smaller c lowers every one, so the common entries all move the same way, and by as much in total
    as the mass of the odd row changes: |p - p'| with p, p' in [0, 1/s]. Hence

        sum over common rows of |Gamma_s A - Gamma_s A'|  =  |p - p'|  <=  1/s.

    The argument needs the measures to *agree* on common rows. Unprojected weights do: each is a function
    of its own row and of what was released. Weights that were projected before do not, since each
    projection carries the odd row's influence into all others.

    >>> dense_projection(np.log([4.0, 1.0, 1.0]), s=2).round(3).tolist()
    [0.5, 0.25, 0.25]
    """
    m = len(log_weights)
    if not 1 <= s <= m:
        raise InvalidArgument(f"s must lie between 1 and the number of rows ({m}), got {s:g}.")
    log_weights = log_weights - log_weights.max()  # invariant, and keeps the sums below accurate
    log_weights = np.where(np.isneginf(log_weights), -np.finfo(float).max, log_weights)
    top = math.ceil(s)
    split = np.partition(log_weights, m - top)
    largest = np.sort(split[m - top :])[::-1]
    # rest[k] = ln of the summed weight of all but the k largest
    below = np.logaddexp.reduce(split[: m - top]) if top < m else -np.inf
    rest = np.logaddexp.accumulate(np.concatenate([[below], largest[::-1]]))[:0:-1]
    log_c = np.log(s - np.arange(top)) - rest
    capped = int(np.argmax(log_c + largest <= 1e-14 * top))
    return np.exp(np.minimum(0.0, log_c[capped] + log_weights) - math.log(s))
