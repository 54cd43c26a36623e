"""Pure samplers around the Gumbel distribution; every one of them is a function of a Generator.

A standard Gumbel variable is G = -log(E) with E exponential, and argmax_i (x_i + G_i) has law softmax(x).
"""

from __future__ import annotations

import numpy as np

from fastmwem.errors import InvalidArgument
from fastmwem.queries.base import FloatArray, IntArray

__all__ = ["exceedance", "exceedances", "gumbel", "truncated_gumbel"]


def gumbel(generator: np.random.Generator, size: int | tuple[int, ...]) -> FloatArray:
    """Standard Gumbel noise, as -log of a standard exponential: accurate in both tails."""
    return -np.log(generator.standard_exponential(size))


def exceedance(bound: float) -> float:
    """P(G > bound) = 1 - exp(-exp(-bound)), without cancellation for large bounds."""
    return 1.0 if bound < -700 else float(-np.expm1(-np.exp(-bound)))


def truncated_gumbel(bound: float, generator: np.random.Generator, size: int) -> FloatArray:
    """Gumbel noise conditioned on G > bound.

    G > bound means E < exp(-bound); E is drawn by inversion, E = -log1p(-V * P(G > bound)) with V uniform,
    which keeps full relative precision however small E is (-log(-log U) near U = 1 does not).
    """
    uniform = 1.0 - generator.random(size)  # in (0, 1]: E > 0, so G is finite
    with np.errstate(divide="ignore"):  # V * P may round to 1, E to infinity: then G is `bound` itself
        exponential = -np.log1p(-uniform * exceedance(bound))
    return np.maximum(-np.log(exponential), bound)


def exceedances(count: int, bound: float, generator: np.random.Generator) -> IntArray:
    """Which of `count` independent Gumbel variables exceed `bound`: their positions, in rising order.

    Their number is Binomial(count, P(G > bound)) and, given it, the set is uniform: exactly the C and
    the T of lazy Gumbel sampling in one. Work is proportional to the number found.

    The gaps between successes of a Bernoulli sequence are geometric, 1 + floor(E / -log(1 - p)) with E
    exponential; and -log(1 - p) = exp(-bound), so that no probability is ever rounded to 0 or 1.
    """
    if count < 0 or np.isnan(bound):
        raise InvalidArgument("count must not be negative and bound must be a number.")
    rate = float(np.exp(min(-bound, 700.0)))
    if count == 0 or rate == 0.0:
        return np.empty(0, np.int64)
    mean = count * exceedance(bound)
    if rate > 1.0:  # most exceed: trials one by one cost no more than gaps
        return np.flatnonzero(generator.standard_exponential(count) < rate)
    found: list[IntArray] = []
    last = -1.0
    while last < count:
        draws = int(mean + 4.0 * np.sqrt(mean) + 8.0)
        with np.errstate(over="ignore"):  # a gap beyond float64 is beyond `count` too
            gaps = 1.0 + np.floor(generator.standard_exponential(draws) / rate)
        positions = last + np.cumsum(gaps)
        found.append(positions[positions < count].astype(np.int64))
        last = float(positions[-1])
    return np.concatenate(found)
