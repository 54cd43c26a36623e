"""Ranges and prefixes on an ordered column: implicit, answered and sampled through prefix sums.

With F_b the mass of the cells before b, the range [a, b) has answer F_b - F_a. All n(n+1)/2 ranges of a
line of n cells are therefore answered, spread back and sampled without a matrix.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable

import numpy as np

from fastmwem.data.domain import Domain
from fastmwem.errors import InvalidArgument, check_whole
from fastmwem.kernels import kernel
from fastmwem.queries.base import FloatArray, IntArray, PerturbedMax, Queries, StructuredDraw
from fastmwem.queries.marginals import Marginals

__all__ = ["Intervals", "Prefixes", "Ranges", "prefixes", "ranges"]


class Intervals(Queries):
    """Queries that each sum the cells a <= x < b of one ordered column; all else is summed out.

    One row of a table lies in one cell of the column, so it moves every query by 0 or 1.
    """

    def __init__(self, domain: Domain, column: str | int = 0, *, records: IntArray | None = None) -> None:
        self.domain = domain
        self._line = Marginals(domain, [[column]], records=records)
        (self.axis,) = self._line.subsets[0]
        if not domain.columns[self.axis].ordered:
            name = domain.names[self.axis]
            raise InvalidArgument(f"column {name!r} has no order: use marginals, or declare it as numeric.")
        self.records, self.dim = self._line.records, self._line.dim
        self.length = domain.shape[self.axis]

    @abstractmethod
    def ends(self, ids: IntArray) -> tuple[IntArray, IntArray]:
        """[a, b) of the queries `ids`."""

    @abstractmethod
    def on(self, records: IntArray) -> Intervals:
        """The same queries with the weights on public `records`."""

    @property
    def half_range(self) -> float:
        return 0.5 if self.length > 1 else 0.0

    @property
    def centred_norm(self) -> float:
        """A query that holds K of N entries has K - K^2/N, largest at half."""
        return math.sqrt(self.dim) / 2 if self.length > 1 else 0.0

    def project(self, v: FloatArray) -> FloatArray:
        """The mass of each cell of the column."""
        return self._line.answers(v)

    def spread(self, line: FloatArray) -> FloatArray:
        """The adjoint of `project`: every cell gets the number of its cell of the column."""
        return self._line.adjoint(line)

    def prefix_sums(self, v: FloatArray) -> FloatArray:
        """F_0 = 0 .. F_n."""
        sums = np.zeros(self.length + 1)
        np.cumsum(self.project(v), out=sums[1:])
        return sums

    def from_marginals(self, marginal: Callable[[tuple[int, ...]], FloatArray]) -> FloatArray:
        alone = type(self)(Domain((self.domain.columns[self.axis],)))
        return alone.answers(marginal((self.axis,)))

    def dot(self, ids: IntArray, v: FloatArray) -> FloatArray:
        low, high = self.ends(np.asarray(ids, np.int64))
        sums = self.prefix_sums(v)
        return sums[high] - sums[low]

    def row(self, i: int) -> tuple[IntArray, FloatArray]:
        (low,), (high,) = self.ends(np.array([i], np.int64))
        if self.dim == self.length and self.records is None:  # the column is the whole domain
            cells = np.arange(low, high)
        else:
            codes = self._line.codes((self.axis,))
            cells = np.flatnonzero((codes >= low) & (codes < high))
        return cells, np.ones(cells.size)

    def adjoint(self, weights: FloatArray) -> FloatArray:
        steps = self._steps(np.asarray(weights, np.float64))
        return self._line.adjoint(np.cumsum(steps)[:-1])

    @abstractmethod
    def _steps(self, weights: FloatArray) -> FloatArray:
        """At each boundary 0 .. n, the weights of the queries that begin there less those that end there."""

    def describe(self, i: int) -> str:
        (low,), (high,) = self.ends(np.array([i], np.int64))
        column = self.domain.columns[self.axis]
        first, last = column.labels[low], column.labels[high - 1]
        return f"{column.name}={first}" if low == high - 1 else f"{column.name} from {first} to {last}"


class Prefixes(Intervals):
    """The n queries [0, b), b = 1 .. n: the cumulative distribution of a column.

    >>> q = prefixes(4)
    >>> q.answers(np.array([1.0, 2.0, 3.0, 4.0])).tolist()
    [1.0, 3.0, 6.0, 10.0]
    """

    def __init__(self, domain: Domain, column: str | int = 0, *, records: IntArray | None = None) -> None:
        super().__init__(domain, column, records=records)
        self.m = self.length

    def on(self, records: IntArray) -> Prefixes:
        return Prefixes(self.domain, self.axis, records=records)

    def ends(self, ids: IntArray) -> tuple[IntArray, IntArray]:
        return np.zeros_like(ids), ids + 1

    def answers(self, v: FloatArray) -> FloatArray:
        return self.prefix_sums(v)[1:]

    def _steps(self, weights: FloatArray) -> FloatArray:
        return np.concatenate([[weights.sum()], -weights])


class Ranges(Intervals):
    """All n(n+1)/2 queries [a, b), ordered by a, then b; query a*n - a(a-1)/2 + (b-a-1).

    >>> q = ranges(3)
    >>> [q.describe(i) for i in range(q.m)][:4]
    ['cell=0', 'cell from 0 to 1', 'cell from 0 to 2', 'cell=1']
    >>> q.answers(np.array([1.0, 2.0, 4.0])).tolist()
    [1.0, 3.0, 7.0, 2.0, 6.0, 4.0]
    """

    def __init__(self, domain: Domain, column: str | int = 0, *, records: IntArray | None = None) -> None:
        super().__init__(domain, column, records=records)
        self.m = self.length * (self.length + 1) // 2

    def on(self, records: IntArray) -> Ranges:
        return Ranges(self.domain, self.axis, records=records)

    def ends(self, ids: IntArray) -> tuple[IntArray, IntArray]:
        n = self.length
        starts = _starts(n)
        low = np.searchsorted(starts, ids, side="right") - 1
        return low, low + 1 + ids - starts[low]

    def answers(self, v: FloatArray) -> FloatArray:
        out = np.empty(self.m)
        _all_differences(self.prefix_sums(v), out)
        return out

    def _steps(self, weights: FloatArray) -> FloatArray:
        steps = np.zeros(self.length + 1)
        _all_steps(weights, self.length, steps)
        return steps

    def structured_draw(self, offsets: FloatArray) -> StructuredDraw | None:
        """The draw below, if the offsets are G_b - G_a plus one constant, as the answers of any table are."""
        base, constant = np.zeros(self.length + 1), 0.0
        if self.length > 1:  # [0,1) + [1,2) - [0,2): the constant is in each of them once
            constant = float(offsets[0] + offsets[self.length] - offsets[1])
        base[1:] = offsets[: self.length] - constant
        tolerance = 1e-9 * (1.0 + abs(constant) + float(np.abs(base).max()))
        if not _is_additive(base, constant, offsets, tolerance):
            return None
        return _RangeDraw(self, base, constant)


class _RangeDraw:
    """One exact draw over all signed ranges in O(n), not O(n^2).

    With D_b = scale * (F_b - G_b), the scaled score of ([a, b), s) is s * (D_b - D_a - C). For s = +1 its
    softmax factorises: P(b) is proportional to e^(D_b) sum_(a < b) e^(-D_a), and P(a | b) to e^(-D_a); for
    s = -1 with D negated. The sums over a < b are one running log-sum-exp.
    """

    def __init__(self, ranges: Ranges, base: FloatArray, constant: float) -> None:
        self._ranges, self._base, self._constant = ranges, base, constant

    def __call__(
        self, v: FloatArray, scale: float, signed: bool, generator: np.random.Generator
    ) -> PerturbedMax:
        exponent = scale * (self._ranges.prefix_sums(v) - self._base)
        shift = scale * self._constant
        u_sign, u_high, u_low = generator.random(3)
        log_total, low, high, sign = _draw_range(exponent, shift, signed, u_sign, u_high, u_low)
        n = self._ranges.length
        candidate = low * n - low * (low - 1) // 2 + high - low - 1
        return PerturbedMax(float(log_total + generator.gumbel()), int(candidate), int(sign))

    def __repr__(self) -> str:
        return "_RangeDraw(private)"


def ranges(domain: Domain | int, column: str | int = 0, *, records: IntArray | None = None) -> Ranges:
    """Every range of consecutive cells of an ordered `column`; `domain` may be a number of cells.

    >>> ranges(4096).m
    8390656
    """
    return Ranges(_line_domain(domain), column, records=records)


def prefixes(domain: Domain | int, column: str | int = 0, *, records: IntArray | None = None) -> Prefixes:
    """Every range that begins at the first cell of an ordered `column`: as many queries as it has cells.

    >>> prefixes(4).answers([0.4, 0.3, 0.2, 0.1]).round(6).tolist()
    [0.4, 0.7, 0.9, 1.0]
    """
    return Prefixes(_line_domain(domain), column, records=records)


def _line_domain(domain: Domain | int) -> Domain:
    if isinstance(domain, Domain):
        return domain
    return Domain.of_sizes({"cell": check_whole("domain", domain)})


def _starts(n: int) -> IntArray:
    """The number of the query [a, a+1), for a = 0 .. n-1."""
    a = np.arange(n, dtype=np.int64)
    return a * n - a * (a - 1) // 2


@kernel
def _all_differences(sums, out):
    k, n = 0, sums.size - 1
    for a in range(n):
        for b in range(a + 1, n + 1):
            out[k] = sums[b] - sums[a]
            k += 1


@kernel
def _all_steps(weights, n, steps):
    k = 0
    for a in range(n):
        for b in range(a + 1, n + 1):
            steps[a] += weights[k]
            steps[b] -= weights[k]
            k += 1


@kernel
def _is_additive(base, constant, offsets, tolerance):
    k, n = 0, base.size - 1
    for a in range(n):
        for b in range(a + 1, n + 1):
            if not abs(base[b] - base[a] + constant - offsets[k]) <= tolerance:
                return False
            k += 1
    return True


@kernel
def _prefix_log_sums(exponent, sign, out):
    """out_b = sign * D_b + log sum_(a < b) exp(-sign * D_a), for b >= 1; returns log sum_b exp(out_b)."""
    top, inside = -sign * exponent[0], 1.0  # sum of exp(-sign * D_a) so far = inside * exp(top)
    all_top, all_inside = -np.inf, 0.0
    for b in range(1, exponent.size):
        g = sign * exponent[b] + top + math.log(inside)
        out[b] = g
        if g > all_top:
            all_inside = all_inside * math.exp(all_top - g) + 1.0
            all_top = g
        else:
            all_inside += math.exp(g - all_top)
        x = -sign * exponent[b]
        if x > top:
            inside = inside * math.exp(top - x) + 1.0
            top = x
        else:
            inside += math.exp(x - top)
    return all_top + math.log(all_inside)


@kernel
def _draw_range(exponent, shift, signed, u_sign, u_high, u_low):
    n = exponent.size - 1
    plus, minus = np.empty(n + 1), np.empty(n + 1)
    log_plus = _prefix_log_sums(exponent, 1.0, plus) - shift
    log_minus = -np.inf
    if signed:
        log_minus = _prefix_log_sums(exponent, -1.0, minus) + shift
    top = max(log_plus, log_minus)
    log_total = top + math.log(math.exp(log_plus - top) + math.exp(log_minus - top))
    sign = 1 if u_sign < math.exp(log_plus - log_total) else -1
    weights = plus if sign == 1 else minus
    within = log_plus + shift if sign == 1 else log_minus - shift
    # Inverse distribution functions; whatever rounding leaves over goes to the last index with weight.
    left, high = u_high, 1
    for b in range(1, n + 1):
        part = math.exp(weights[b] - within)
        if part > 0.0:
            high = b
            left -= part
            if left < 0.0:
                break
    mass = weights[high] - sign * exponent[high]
    left, low = u_low, 0
    for a in range(high):
        part = math.exp(-sign * exponent[a] - mass)
        if part > 0.0:
            low = a
            left -= part
            if left < 0.0:
                break
    return log_total, low, high, sign
