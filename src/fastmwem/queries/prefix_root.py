r"""The square root of the prefix sums: what to measure so that every range has little noise.

With P the matrix of prefix sums (ones on and below the diagonal) and L = P^(1/2), the lower triangular
Toeplitz matrix of the series (1 - x)^(-1/2), with c_0 = 1 and c_k = c_(k-1) (2k - 1)/(2k), prefix sums are
L (L x). So L x is measured with noise z, and L(L x + z) = P x + L z: both the sensitivity |column of L| and
the noise |row of L| grow like sqrt(1 + ln(n)/pi) only (Fichtenberger, Henzinger, Upadhyay 2022). For all
ranges of 1,024 cells the largest standard deviation is .73 of that of dyadic intervals with the same budget
and least squares. Products are convolutions: O(n log n), no matrix.
"""

from __future__ import annotations

import math

import numpy as np

from fastmwem.queries.base import FloatArray

__all__ = ["PrefixRoot"]


class PrefixRoot:
    """x -> L x on a line of `length` cells.

    One row of a table adds one column of L, of L2 norm at most `norm` = |c|; replacing a row adds the
    difference of two columns, at most sqrt(2) * `norm`, since no entry is negative.

    >>> root = PrefixRoot(4)
    >>> root.answers(np.array([1.0, 0, 0, 0])).round(4).tolist()
    [1.0, 0.5, 0.375, 0.3125]
    >>> root.prefix_sums(root.answers(np.ones(4))).round(6).tolist()
    [1.0, 2.0, 3.0, 4.0]
    """

    def __init__(self, length: int) -> None:
        self.m = self.dim = length
        steps = np.arange(1, length)
        self.coefficients = np.concatenate([[1.0], np.cumprod((2 * steps - 1) / (2 * steps))])
        self.norm = math.sqrt(float((self.coefficients**2).sum()))
        self._size = 1 << (2 * length - 1).bit_length()
        self._spectrum = np.fft.rfft(self.coefficients, self._size)

    def answers(self, v: FloatArray) -> FloatArray:
        """L v."""
        return np.fft.irfft(np.fft.rfft(v, self._size) * self._spectrum, self._size)[: self.dim]

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """L^T weights."""
        return self.answers(np.ascontiguousarray(weights[::-1]))[::-1]

    def prefix_sums(self, measured: FloatArray) -> FloatArray:
        """L y: the unbiased prefix sums that a measurement y of L x stands for."""
        return self.answers(measured)

    def range_deviations(self) -> FloatArray:
        """For lengths 0 .. n, a bound on |row_b - row_a| over a, b = a + length: noise of a range's answer.

        Row b less row a is c_0 .. c_(length-1) and then the differences c_(i+length) - c_i, summed here
        over all i < n, of which a range has the first a.
        """
        c = self.coefficients
        head = np.concatenate([[0.0], np.cumsum(c**2)])
        padded = np.concatenate([c, np.zeros(self.dim)])
        steps = np.arange(self.dim, 2 * self.dim)  # the series goes on where the table of it ends
        padded[self.dim :] = c[-1] * np.cumprod((2 * steps - 1) / (2 * steps))
        size = 1 << (3 * self.dim - 1).bit_length()
        product = np.fft.irfft(np.fft.rfft(padded, size) * np.fft.rfft(c[::-1], size), size)
        cross = product[self.dim - 1 : 2 * self.dim]  # sum_i c_(i+length) c_i
        squares = np.concatenate([[0.0], np.cumsum(padded**2)])
        lengths = np.arange(self.dim + 1)
        shifted = squares[lengths + self.dim] - squares[lengths]
        return np.sqrt(np.maximum(head + shifted + squares[self.dim] - 2 * cross, 0.0) * (1 + 1e-9))
