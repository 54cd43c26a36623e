"""Additive noise, and what of it survives floating-point arithmetic.

A float64 sum `value + noise` takes only some of the neighbouring floats, and which ones depends on `value`:
its last bits can betray it, whatever the noise's law (Mironov 2012). So the noise is added and the sum is
rounded to a public grid some 2^42 times coarser than the noise's own resolution.

What is claimed. Rounding to a public grid is post-processing, so the ideal mechanism (real-valued noise,
then rounding) costs exactly the event of its noise. The one that runs gives each grid point the ideal
probability up to a factor 1 +- 2^-40 (1 + |value|/std), within the noise's range of 53 random bits. What is
not claimed: a proof at the level of every bit of the generator's tail, which is cut near probability 2^-53.

Cost in accuracy: the grid's spacing is below std/2^10, so rounding adds less than 1e-7 of the variance.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fastmwem.errors import check_positive
from fastmwem.privacy.randomness import Randomness

__all__ = ["add_gaussian", "add_laplace", "grid"]


def grid(scale: float) -> float:
    """The spacing of released values under noise of this scale: a power of two, at most scale/2^10.

    >>> grid(1.0), grid(1.5) == 2.0**-10
    (0.0009765625, True)
    """
    return 2.0 ** (math.frexp(check_positive("scale", scale))[1] - 11)


def add_gaussian(values: ArrayLike, std: float, randomness: Randomness) -> NDArray[np.float64]:
    """`values` (private) plus independent N(0, std^2), on the public grid. Covered by one
    `gaussian(std / sensitivity)` for the L2 sensitivity of the whole array.

    >>> noisy = add_gaussian([3.0, 4.0], 2.0, Randomness.seeded(1))
    >>> bool((noisy % grid(2.0) == 0).all())
    True
    """
    exact = np.asarray(values, np.float64)
    return _round(exact + std * randomness.generator.standard_normal(exact.shape), std)


def add_laplace(values: ArrayLike, scale: float, randomness: Randomness) -> NDArray[np.float64]:
    """`values` (private) plus independent Laplace noise, on the public grid. Covered by one
    `laplace(scale / sensitivity)` for the L1 sensitivity of the whole array.
    """
    exact = np.asarray(values, np.float64)
    generator = randomness.generator
    noise = generator.standard_exponential(exact.shape) - generator.standard_exponential(exact.shape)
    return _round(exact + scale * noise, scale)


def _round(noisy: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    spacing = grid(scale)
    return np.asarray(np.rint(noisy / spacing) * spacing)  # exact but for the rounding: a power of two
