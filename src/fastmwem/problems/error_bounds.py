"""How far an answer may be from the truth, from what is public: the noise and the fit.

For a query with an unbiased estimate e = truth + N(0, s^2), truth lies in [e - z s, e + z s] with
probability 95 %, and in [0, total] always (up to the noise of the total itself, which e's interval covers
on its own). The answer is a the model's. So |a - truth| <= max(e + z s - a, a - max(e - z s, 0)), with that
probability, for each query on its own. The bound does not assume that the model is right: where it is not,
a leaves the interval.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from fastmwem.errors import check_probability
from fastmwem.queries.base import FloatArray

__all__ = ["answer_bounds"]


def answer_bounds(
    answers: FloatArray, estimates: FloatArray, deviations: FloatArray, confidence: float = 0.95
) -> FloatArray:
    """A bound on |answers - truth|, each with probability `confidence`; everything in counts.

    >>> answer_bounds(np.array([10.0]), np.array([11.0]), np.array([1.0])).round(2).tolist()
    [2.96]
    """
    z = float(ndtri(0.5 + check_probability("confidence", confidence) / 2))
    high = np.maximum(estimates + z * deviations, 0.0)
    low = np.maximum(estimates - z * deviations, 0.0)
    return np.maximum(high - answers, answers - low)
