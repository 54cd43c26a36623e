"""What every method of query release is given and gives back; the seam between them and the private table.

A method is a module with a name in `query_release.METHODS`. It sees the public `Problem`, asks the private
`PrivateData` for what its mechanisms need, and hands back a public `Outcome`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from fastmwem.data.domain import Domain
from fastmwem.errors import InvalidArgument, TooLarge, check_memory
from fastmwem.mw.loop import Progress
from fastmwem.privacy.budget import Budget, Neighbours, Unit
from fastmwem.privacy.ledger import Ledger
from fastmwem.privacy.randomness import Randomness
from fastmwem.queries.base import FloatArray, IntArray, Queries
from fastmwem.queries.marginals import check_records
from fastmwem.queries.union import place

__all__ = ["Histogram", "Method", "Outcome", "Prediction", "PrivateData", "Problem", "Records"]


@dataclass(frozen=True)
class Problem:
    """What is public about a release before it runs: all that a plan may look at.

    `n` is the number of rows: public, and exact, under replace-one; under add-remove it is a public guess
    (for planning only), since the true number is private there.
    """

    workload: Queries
    budget: Budget
    unit: Unit
    n: int | None
    accountant: str = "optimal"
    asked: Queries | None = None  # the workload on the full domain, where `workload` is placed on a support

    @property
    def cells(self) -> int:
        """|X|: the cells of the support."""
        return self.workload.dim

    @cached_property
    def weights(self) -> FloatArray | None:
        """How many times an error on each query counts; None: once each."""
        return self.workload.importance

    @property
    def on_support(self) -> bool:
        """Whether the model lives on public records instead of the full domain."""
        return self.asked is not None and self.asked is not self.workload

    @property
    def largest_weight(self) -> float:
        """By how much the weights multiply the sensitivity of a score."""
        return 1.0 if self.weights is None else float(self.weights.max())

    @property
    def counts(self) -> bool:
        """Whether sensitivities are in counts (add-remove), not in fractions of a public n."""
        return self.unit.neighbours is Neighbours.ADD_REMOVE


class PrivateData(ABC):
    """The private table, as far as a mechanism may ask. All that it returns is private, and in counts."""

    @abstractmethod
    def rows(self) -> int | float:
        """The number of rows: public under replace-one, private under add-remove."""

    @abstractmethod
    def answers(self, queries: Queries) -> FloatArray:
        """<k_i, H> for all i, H being the histogram of counts."""

    @abstractmethod
    def histogram(self) -> FloatArray:
        """H: a count for every cell of the full domain; `TooLarge` where there are too many cells."""

    @abstractmethod
    def marginal(self, columns: tuple[int, ...]) -> FloatArray:
        """Counts over the joint cells of `columns` (positions in the domain), row-major and flat."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(private)"


class Histogram(PrivateData):
    """A private histogram in memory. `shape` is the domain's; without one, the cells are one column."""

    def __init__(self, counts: FloatArray, shape: tuple[int, ...] | None = None) -> None:
        self._counts = check_histogram(counts)
        self._shape = (self._counts.size,) if shape is None else shape

    def rows(self) -> float:
        return float(self._counts.sum())

    def answers(self, queries: Queries) -> FloatArray:
        return queries.answers(self._counts)

    def histogram(self) -> FloatArray:
        return self._counts

    def marginal(self, columns: tuple[int, ...]) -> FloatArray:
        rest = tuple(axis for axis in range(len(self._shape)) if axis not in columns)
        summed = self._counts.reshape(self._shape).sum(axis=rest)
        order = np.argsort(np.argsort(columns))  # summed has the columns in domain order
        return np.ascontiguousarray(summed.transpose(order)).ravel()


class Records(PrivateData):
    """A private table in memory: one row of cell codes per record, one column per column of `domain`.

    Answers come from the records themselves, so the full domain may be far too large for a histogram.
    """

    def __init__(self, codes: IntArray, domain: Domain) -> None:
        self._codes = check_records(domain, codes, least=0)  # whether there are rows may be private
        self._domain = domain

    def rows(self) -> int:
        return len(self._codes)

    def answers(self, queries: Queries) -> FloatArray:
        if not len(self._codes):
            return np.zeros(queries.m)
        if hasattr(queries, "on"):  # on its own records, a table has weight 1 everywhere
            return place(queries, self._codes).answers(np.ones(len(self._codes)))
        return queries.answers(self.histogram())

    def histogram(self) -> FloatArray:
        check_cells(self._domain.size, copies=2)
        cells = np.ravel_multi_index(tuple(self._codes.T), self._domain.shape)
        return np.bincount(cells, minlength=self._domain.size).astype(np.float64)

    def marginal(self, columns: tuple[int, ...]) -> FloatArray:
        sizes = tuple(self._domain.shape[axis] for axis in columns)
        cells = np.ravel_multi_index(tuple(self._codes[:, axis] for axis in columns), sizes)
        return np.bincount(cells, minlength=math.prod(sizes)).astype(np.float64)


def check_histogram(counts: Any) -> FloatArray:
    """`counts` as finite, whole, non-negative float64 in one dimension.

    All 0 is a table like any other: whether it has rows is private where n is.
    """
    try:
        array = np.asarray(counts, np.float64).ravel()
    except (TypeError, ValueError):
        raise InvalidArgument("histogram must be an array of numbers, one count a cell.") from None
    if array.size == 0:
        raise InvalidArgument("histogram must have at least one cell, got an empty array.")
    if not np.isfinite(array).all():
        raise InvalidArgument("histogram must be finite: it holds NaN or infinity.")
    if (array < 0).any():
        raise InvalidArgument("histogram must not be negative: give the count of rows in each cell.")
    if (array != np.rint(array)).any():
        raise InvalidArgument(
            "histogram must hold whole numbers, the count of rows in each cell: not shares, and not weights."
        )
    return array


def check_cells(cells: int, copies: int = 8, limit: int = 1 << 31) -> None:
    """Refuse a support whose `copies` vectors of float64 would not fit, before any is made."""
    need = cells * 8 * copies
    if need > limit:
        raise TooLarge(
            f"the domain has {cells:,} cells, which would take {need / 1e9:,.3g} GB: use fewer columns or "
            "coarser bins, or give `support`, a public table of records to put the weights on."
        )
    check_memory(f"a model of {cells:,} cells", need, "use fewer columns or coarser bins, or give `support`")


@dataclass(frozen=True)
class Prediction:
    """What a method is expected to do, from public numbers only; errors are fractions of n."""

    method: str
    max_error: float
    mean_error: float
    rounds: int
    seconds: float
    bytes: int
    note: str = ""


@dataclass(frozen=True)
class Outcome:
    """What a method hands back; all of it is covered by the ledger's events, hence public.

    `distribution` is the model p over the cells, `total` the number of rows it stands for (n, or its noisy
    value), `bounds` a 95 % bound on each answer's error as a fraction of `total` (each on its own).
    """

    distribution: FloatArray
    total: float
    bounds: FloatArray
    bound_kind: str
    details: dict[str, Any] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()


class Method(Protocol):
    """One way to release a workload: `predict` looks at public numbers, `run` spends the budget."""

    name: str

    def predict(self, problem: Problem) -> Prediction | None:
        """None where the method does not apply to the workload."""
        ...

    def run(
        self,
        problem: Problem,
        data: PrivateData,
        ledger: Ledger,
        randomness: Randomness,
        progress: Progress | None = None,
    ) -> Outcome: ...
