"""Queries: m public (or, in the constraint-private LP, private) rows k_i over a space of `dim` cells.

One protocol for everything that is scored against a vector: linear queries, LP rows, LP columns. A new
representation subclasses `Queries` and nothing else changes: selectors only call what is declared here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Candidates", "FloatArray", "IntArray", "PerturbedMax", "Queries", "StructuredDraw", "Workload"]

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class PerturbedMax(NamedTuple):
    """The largest x_(i,s) + Gumbel, and the candidate (i, s) that has it.

    Largest of several such maxima is the maximum over all of their candidates, so structured parts and
    scanned parts combine into one exact draw. `value` has law Gumbel + log sum exp(x), independent of (i, s).
    """

    value: float
    candidate: int
    sign: int


class StructuredDraw(Protocol):
    """An exact draw from softmax(scale * score) over all candidates, without looking at each of them."""

    def __call__(
        self, v: FloatArray, scale: float, signed: bool, generator: np.random.Generator
    ) -> PerturbedMax: ...


class Queries(ABC):
    """m linear functions k_1 .. k_m on vectors with `dim` entries; cells in row-major order.

    The two constants are what drift bounds stand on. For any v, v' with sum(v) = sum(v'):
    |<k_i, v - v'>| <= half_range * |v - v'|_1  and  <= centred_norm * |v - v'|_2,
    because a constant may be subtracted from k_i without changing the product: its mid-range for the
    first (Hölder, 1 against infinity), its mean for the second (Cauchy-Schwarz).

    >>> from fastmwem import marginals, ranges, Domain
    >>> domain = Domain.of_sizes({"age": 4, "sex": 2})
    >>> workload = marginals(domain, k=1) + 2 * ranges(domain, "age")  # an error of a range counts twice
    >>> workload.m, workload.dim, workload.describe(0)
    (16, 8, 'age=0')
    """

    m: int
    dim: int

    @property
    @abstractmethod
    def half_range(self) -> float:
        """max_i (max_j k_ij - min_j k_ij) / 2, or an upper bound."""

    @property
    @abstractmethod
    def centred_norm(self) -> float:
        """max_i |k_i - mean(k_i)|_2, or an upper bound."""

    @property
    def largest(self) -> float:
        """max_ij |k_ij|, or an upper bound: what rounding errors are measured by."""
        means = self.answers(np.full(self.dim, 1.0 / self.dim))
        return float(np.abs(means).max()) + 2.0 * self.half_range

    @abstractmethod
    def answers(self, v: FloatArray) -> FloatArray:
        """<k_i, v> for all i, in float64."""

    @abstractmethod
    def dot(self, ids: IntArray, v: FloatArray) -> FloatArray:
        """<k_i, v> for i in `ids`, in float64; the same numbers as `answers(v)[ids]` up to rounding."""

    @abstractmethod
    def row(self, i: int) -> tuple[IntArray, FloatArray]:
        """k_i as (cells where it is not 0, its values there)."""

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """sum_i weights_i k_i. Representations override this where they know a faster way."""
        total = np.zeros(self.dim)
        for i in np.flatnonzero(weights):
            cells, values = self.row(int(i))
            total[cells] += weights[i] * values
        return total

    def kernel_data(self) -> tuple[NDArray, ...] | None:
        """The stored rows as `queries.kernels.dot_row` takes them, or None where rows are implicit.

        A selector that gets them evaluates rows inside its own compiled loop; otherwise it calls `dot`.
        """
        return None

    @property
    def importance(self) -> FloatArray | None:
        """How many times an error on each query counts (m numbers >= 0), or None: once each."""
        return None

    def scored(self) -> Queries:
        """The queries as a selection scores them: every row multiplied by its importance."""
        return self

    def structured_draw(self, offsets: FloatArray) -> StructuredDraw | None:
        """A sampler that is exact by structure, if these queries against these offsets have one."""
        return None

    def __add__(self, other: Queries) -> Queries:
        """Both workloads as one, these queries first."""
        from fastmwem.queries.union import union

        return union(self, other)

    def __rmul__(self, weight: float | FloatArray) -> Queries:
        """The same workload with errors that count `weight` times."""
        from fastmwem.queries.union import weighted

        return weighted(self, weight)

    __array_ufunc__ = None  # so that `weights * workload` with an array arrives here

    def dense(self, ids: IntArray) -> FloatArray:
        """k_i for i in `ids` written out, shape (len(ids), dim). For indices, which want rows as points."""
        rows = np.zeros((len(ids), self.dim))
        for position, i in enumerate(ids):
            cells, values = self.row(int(i))
            rows[position, cells] = values
        return rows

    def from_marginals(self, marginal: Callable[[tuple[int, ...]], FloatArray]) -> FloatArray | None:
        """All answers, by way of `marginal`: axes -> counts over their cells, row-major and flat.

        For tables on domains that no vector fits; None if these queries have no such way.
        """
        return None

    def describe(self, i: int) -> str:
        """What query i asks, in words a reader of the answers understands."""
        return f"query {i}"


@dataclass(frozen=True)
class Candidates:
    """What the exponential mechanism chooses among: `queries` against `offsets`.

    The score of i at probe v is <k_i, v> - offsets_i. If `signed`, every i stands for two candidates,
    (i, +1) with that score and (i, -1) with its negative; complements are never stored.
    `offsets` are private answers or a private right-hand side: they never appear in a repr.
    """

    queries: Queries
    offsets: FloatArray
    signed: bool

    @property
    def m(self) -> int:
        return self.queries.m

    @property
    def dim(self) -> int:
        return self.queries.dim

    def scores(self, v: FloatArray) -> FloatArray:
        """<k_i, v> - offsets_i for all i."""
        return self.queries.answers(v) - self.offsets

    def dot(self, ids: IntArray, v: FloatArray) -> FloatArray:
        """<k_i, v> - offsets_i for i in `ids`."""
        return self.queries.dot(ids, v) - self.offsets[ids]

    def __repr__(self) -> str:
        return f"Candidates(m={self.m}, dim={self.dim}, signed={self.signed})"


Workload = Queries  # what users call it
