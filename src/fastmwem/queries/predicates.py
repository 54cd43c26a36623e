"""Conjunctions of predicates: "age in 30 .. 39 and sex = F and region in {north, east}".

Each is a product of one set of cells per named column, so it is answered from a marginal over its own
columns: no vector over the full domain is kept per query.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fastmwem.data.domain import Column, Domain
from fastmwem.errors import DomainError, InvalidArgument
from fastmwem.queries.base import FloatArray, IntArray, Queries
from fastmwem.queries.marginals import Marginals, Subset

__all__ = ["Conjunctions", "predicates"]

Condition = Mapping[str, Any]
_CHUNK = 1 << 22  # entries of a contraction held at once


class Conjunctions(Queries):
    """m conjunctions; `cells[i]` maps each axis that query i constrains to the cells that it allows.

    One row of a table satisfies a conjunction or not, so it moves every query by 0 or 1.
    """

    def __init__(
        self, domain: Domain, cells: Sequence[dict[int, IntArray]], *, records: IntArray | None = None
    ) -> None:
        if not cells:
            raise InvalidArgument("predicates is empty: give at least one.")
        self.domain = domain
        self._cells = tuple(cells)
        self.m = len(self._cells)
        groups: dict[Subset, list[int]] = {}
        for i, allowed in enumerate(self._cells):
            groups.setdefault(tuple(sorted(allowed)), []).append(i)
        self._groups = [
            _Group(domain, subset, np.array(ids), [self._cells[i] for i in ids], records)
            for subset, ids in groups.items()
        ]
        self._space = self._groups[0].table
        self.records, self.dim = self._space.records, self._space.dim
        self._group_of = np.empty(self.m, np.int64)
        self._place_of = np.empty(self.m, np.int64)
        for g, group in enumerate(self._groups):
            self._group_of[group.ids] = g
            self._place_of[group.ids] = np.arange(group.ids.size)

    def on(self, records: IntArray) -> Conjunctions:
        """The same queries with the weights on public `records`."""
        return Conjunctions(self.domain, self._cells, records=records)

    @property
    def half_range(self) -> float:
        return 0.5

    @property
    def centred_norm(self) -> float:
        """A query that holds K of N entries has K - K^2/N, largest at half."""
        return math.sqrt(self.dim) / 2

    def answers(self, v: FloatArray) -> FloatArray:
        out = np.empty(self.m)
        for group in self._groups:
            out[group.ids] = group.answers(v, slice(None))
        return out

    def from_marginals(self, marginal: Callable[[Subset], FloatArray]) -> FloatArray:
        out = np.empty(self.m)
        for group in self._groups:
            out[group.ids] = group.contract(marginal(group.subset), slice(None))
        return out

    def dot(self, ids: IntArray, v: FloatArray) -> FloatArray:
        ids = np.asarray(ids, np.int64)
        out = np.empty(ids.size)
        which = self._group_of[ids]
        for g in np.unique(which):
            mine = which == g
            out[mine] = self._groups[g].answers(v, self._place_of[ids[mine]])
        return out

    def row(self, i: int) -> tuple[IntArray, FloatArray]:
        allowed = self._cells[i]
        if self.records is not None:
            holds = np.ones(self.dim, bool)
            for axis, inside in allowed.items():
                holds &= np.isin(self.records[:, axis], inside)
            cells = np.flatnonzero(holds)
        else:  # the outer sum of the allowed cells' strides
            cells = np.zeros(1, np.int64)
            for axis, size in enumerate(self.domain.shape):
                inside = allowed.get(axis, np.arange(size))
                cells = (cells[:, None] * size + inside).ravel()
        return cells, np.ones(cells.size)

    def adjoint(self, weights: FloatArray) -> FloatArray:
        weights = np.asarray(weights, np.float64)
        return np.sum([group.adjoint(weights[group.ids]) for group in self._groups], axis=0)

    def describe(self, i: int) -> str:
        said = [_say(self.domain.columns[axis], inside) for axis, inside in sorted(self._cells[i].items())]
        return " and ".join(said) or "everyone"


class _Group:
    """The conjunctions that constrain the same columns, answered from one marginal by contraction."""

    def __init__(
        self,
        domain: Domain,
        subset: Subset,
        ids: IntArray,
        cells: list[dict[int, IntArray]],
        records: IntArray | None,
    ) -> None:
        self.ids, self.subset = ids, subset
        self.table = Marginals(domain, [subset], records=records)
        self.shape = tuple(domain.shape[axis] for axis in subset)
        self.masks = []
        for axis, size in zip(subset, self.shape, strict=True):
            mask = np.zeros((ids.size, size))
            for k, allowed in enumerate(cells):
                mask[k, allowed[axis]] = 1.0
            self.masks.append(mask)

    def answers(self, v: FloatArray, which: slice | IntArray) -> FloatArray:
        return self.contract(self.table.answers(v), which)

    def contract(self, counts: FloatArray, which: slice | IntArray) -> FloatArray:
        """The answers from the marginal's `counts`."""
        table = counts.reshape(self.shape)
        masks = [mask[which] for mask in self.masks]
        if not masks:
            count = self.ids[which].size
            return np.full(count, float(table))
        count = len(masks[0])
        out = np.empty(count)
        step = max(1, _CHUNK * self.shape[-1] // max(table.size, 1))
        for start in range(0, count, step):
            part = slice(start, min(start + step, count))
            held = table @ masks[-1][part].T  # (..., queries)
            for mask in reversed(masks[:-1]):
                held = np.einsum("...ak,ka->...k", held, mask[part])
            out[part] = held
        return out

    def adjoint(self, weights: FloatArray) -> FloatArray:
        table = np.zeros(math.prod(self.shape))
        if not self.masks:
            return self.table.adjoint(np.array([weights.sum()]))
        step = max(1, _CHUNK // max(table.size, 1))
        for start in range(0, weights.size, step):
            part = slice(start, start + step)
            held = weights[part, None]
            for mask in self.masks[:-1]:
                held = (held[:, :, None] * mask[part][:, None, :]).reshape(len(held), -1)
            table += (held.T @ self.masks[-1][part]).ravel()
        return self.table.adjoint(table)


def predicates(
    domain: Domain, conditions: Iterable[Condition], *, records: IntArray | None = None
) -> Conjunctions:
    """One query per condition: a mapping from column name to what is allowed there.

    What is allowed is one label, a collection of labels, or, on an ordered column, a pair
    `slice(first, last)` of labels, both ends included. Labels are those of the domain.

    >>> domain = Domain.of_sizes({"age": 4, "sex": 2})
    >>> q = predicates(domain, [{"age": slice("1", "3"), "sex": "0"}, {"sex": ["0", "1"]}])
    >>> q.describe(0), q.answers(np.arange(8.0)).tolist()
    ('age from 1 to 3 and sex=0', [12.0, 28.0])
    """
    cells = []
    for condition in conditions:
        axes = {domain.axis(name): allowed for name, allowed in condition.items()}
        cells.append({axis: _cells(domain.columns[axis], allowed) for axis, allowed in axes.items()})
    return Conjunctions(domain, cells, records=records)


def _cells(column: Column, allowed: Any) -> IntArray:
    if isinstance(allowed, slice):
        if not column.ordered:
            raise InvalidArgument(f"column {column.name!r} has no order: list its labels, not a slice.")
        first = 0 if allowed.start is None else _cell(column, allowed.start)
        last = column.size - 1 if allowed.stop is None else _cell(column, allowed.stop)
        if first > last:
            raise InvalidArgument(f"column {column.name!r}: the slice ends before it begins.")
        return np.arange(first, last + 1)
    labels = [allowed] if isinstance(allowed, (str, int, float)) else list(allowed)
    if not labels:
        raise InvalidArgument(f"column {column.name!r}: a predicate must allow at least one label.")
    return np.unique([_cell(column, label) for label in labels])


def _cell(column: Column, label: Any) -> int:
    try:
        return column.labels.index(str(label))
    except ValueError:
        shown = ", ".join(column.labels[:6]) + (", ..." if column.size > 6 else "")
        raise DomainError(f"column {column.name!r} has no label {str(label)!r}: it has {shown}.") from None


def _say(column: Column, inside: IntArray) -> str:
    labels = [column.labels[k] for k in inside]
    if len(labels) == 1:
        return f"{column.name}={labels[0]}"
    if column.ordered and inside[-1] - inside[0] == inside.size - 1:
        return f"{column.name} from {labels[0]} to {labels[-1]}"
    return f"{column.name} in {{{', '.join(labels)}}}"
