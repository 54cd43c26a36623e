"""Marginals: for chosen sets of columns, the count of every combination of their cells.

Implicit: no matrix is ever formed. A marginal over the columns A is a table with prod(n_i, i in A) cells; the
queries are the cells of all chosen marginals, subset after subset, row-major within each.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable

import numpy as np

from fastmwem.data.domain import Domain
from fastmwem.errors import DomainError, InvalidArgument, check_whole
from fastmwem.queries.base import FloatArray, IntArray, Queries

__all__ = ["Marginals", "Subset", "downward_closure", "marginals"]

Subset = tuple[int, ...]  # axes of a domain, ascending


class Marginals(Queries):
    """The marginals of `domain` over `subsets`, each a collection of column names or positions.

    `records`, if given, is a public table (one row of cell codes per record, one column per column of
    the domain): vectors then have one entry per record instead of one per cell of the full domain.

    Sensitivity, per row of a person: one row lies in exactly one cell of each marginal, so adding or
    removing it moves the counts of one marginal by 1 in L1 and in L2, of k marginals by k in L1 and
    sqrt(k) in L2; replacing it moves two cells of each at most: 2k in L1, sqrt(2k) in L2.

    >>> from fastmwem.data.domain import Domain
    >>> q = Marginals(Domain.of_sizes({"age": 3, "sex": 2}), [["sex"], ["age", "sex"]])
    >>> q.m, q.describe(0), q.describe(7)
    (8, 'sex=0', 'age=2, sex=1')
    >>> q.answers(np.array([5.0, 1, 0, 2, 0, 4])).tolist()
    [5.0, 7.0, 5.0, 1.0, 0.0, 2.0, 0.0, 4.0]
    """

    def __init__(
        self,
        domain: Domain,
        subsets: Iterable[Iterable[str | int]],
        records: IntArray | None = None,
    ) -> None:
        self.domain = domain
        self.subsets: tuple[Subset, ...] = tuple(_axes(domain, subset) for subset in subsets)
        if not self.subsets:
            raise InvalidArgument("subsets is empty: give at least one set of columns.")
        if len(set(self.subsets)) < len(self.subsets):
            raise InvalidArgument("subsets holds the same set of columns twice: give each marginal once.")
        self.records = None if records is None else check_records(domain, records)
        self.dim = domain.size if self.records is None else len(self.records)
        shape = domain.shape
        self.sizes: list[int] = [math.prod(shape[i] for i in subset) for subset in self.subsets]
        self.bounds: IntArray = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        self.m = int(self.bounds[-1])
        self._codes: dict[Subset, IntArray] = {}

    @property
    def half_range(self) -> float:
        return 0.5 if max(self.sizes) > 1 else 0.0

    @property
    def centred_norm(self) -> float:
        if self.records is None:  # a cell of the marginal holds K = N / size of the N cells
            held = self.dim / np.asarray(self.sizes, float)
        else:
            held = self.answers(np.ones(self.dim))
        return float(np.sqrt(np.max(held - held**2 / self.dim)))

    def slice(self, index: int) -> slice:
        """Where the cells of marginal number `index` are among the queries."""
        return slice(int(self.bounds[index]), int(self.bounds[index + 1]))

    def select(self, subsets: Iterable[Iterable[str | int]]) -> Marginals:
        """Other marginals of the same domain, on the same vectors."""
        return Marginals(self.domain, subsets, self.records)

    def on(self, records: IntArray) -> Marginals:
        """The same queries with the weights on public `records`."""
        return Marginals(self.domain, self.subsets, records)

    def answers(self, v: FloatArray) -> FloatArray:
        out = np.empty(self.m)
        if self.records is None:
            found: dict[Subset, FloatArray] = {}
            _sum_out(np.asarray(v, float).reshape(1, -1), 0, self.domain.shape, _by_self(self.subsets), found)
            for index, subset in enumerate(self.subsets):
                out[self.slice(index)] = found[subset]
        else:
            for index, subset in enumerate(self.subsets):
                out[self.slice(index)] = np.bincount(self.codes(subset), v, self.sizes[index])
        return out

    def from_marginals(self, marginal: Callable[[Subset], FloatArray]) -> FloatArray:
        return np.concatenate([marginal(subset) for subset in self.subsets])

    def adjoint(self, weights: FloatArray) -> FloatArray:
        if self.records is None:
            tables = {s: np.asarray(weights[self.slice(i)], float) for i, s in enumerate(self.subsets)}
            return _spread(tables, 1, 0, self.domain.shape, _by_self(self.subsets)).reshape(-1)
        total = np.zeros(self.dim)
        for index, subset in enumerate(self.subsets):
            total += weights[self.slice(index)][self.codes(subset)]
        return total

    def dot(self, ids: IntArray, v: FloatArray) -> FloatArray:
        ids = np.asarray(ids, np.int64)
        which = np.searchsorted(self.bounds, ids, side="right") - 1
        out = np.empty(len(ids))
        tensor = np.asarray(v, float).reshape(self.domain.shape) if self.records is None else None
        for index in np.unique(which):
            mine = np.flatnonzero(which == index)
            cells, subset = ids[mine] - self.bounds[index], self.subsets[index]
            if tensor is None:
                out[mine] = np.bincount(self.codes(subset), v, self.sizes[index])[cells]
            elif len(mine) * 4 < self.sizes[index]:  # a few cells: sum the slices
                for where, cell in zip(mine, cells, strict=True):
                    out[where] = tensor[self._slices(subset, int(cell))].sum()
            else:
                rest = tuple(i for i in range(tensor.ndim) if i not in subset)
                out[mine] = tensor.sum(axis=rest).reshape(-1)[cells]
        return out

    def row(self, i: int) -> tuple[IntArray, FloatArray]:
        index = int(np.searchsorted(self.bounds, i, side="right")) - 1
        subset, cell = self.subsets[index], int(i - self.bounds[index])
        if self.records is None:
            grid = np.arange(self.dim).reshape(self.domain.shape)
            cells = grid[self._slices(subset, cell)].reshape(-1)
        else:
            cells = np.flatnonzero(self.codes(subset) == cell)
        return cells.astype(np.int64), np.ones(len(cells))

    def describe(self, i: int) -> str:
        index = int(np.searchsorted(self.bounds, i, side="right")) - 1
        subset = self.subsets[index]
        columns = [self.domain.columns[axis] for axis in subset]
        cells = np.unravel_index(int(i - self.bounds[index]), [c.size for c in columns]) if columns else ()
        said = ", ".join(f"{c.name}={c.labels[int(cell)]}" for c, cell in zip(columns, cells, strict=True))
        return said or "everyone"

    def codes(self, subset: Subset) -> IntArray:
        """Which cell of the marginal over `subset` each entry of a vector lies in."""
        if subset not in self._codes:
            shape = self.domain.shape
            if self.records is None:
                grid = np.indices([shape[i] for i in subset], sparse=True) if subset else ()
                codes = np.zeros([shape[i] if i in subset else 1 for i in range(len(shape))], np.int64)
                for axis, part in zip(subset, grid, strict=True):
                    where = [1] * len(shape)
                    where[axis] = shape[axis]
                    codes = codes * shape[axis] + part.reshape(where)
                self._codes[subset] = np.broadcast_to(codes, shape).reshape(-1)
            else:
                codes = np.zeros(self.dim, np.int64)
                for axis in subset:
                    codes = codes * shape[axis] + self.records[:, axis]
                self._codes[subset] = codes
        return self._codes[subset]

    def _slices(self, subset: Subset, cell: int) -> tuple[slice | int, ...]:
        shape = self.domain.shape
        at = (
            dict(zip(subset, np.unravel_index(cell, [shape[i] for i in subset]), strict=True))
            if subset
            else {}
        )
        return tuple(int(at[i]) if i in at else slice(None) for i in range(len(shape)))


def marginals(
    domain: Domain,
    k: int | None = None,
    *,
    subsets: Iterable[Iterable[str | int]] | None = None,
    records: IntArray | None = None,
) -> Marginals:
    """All marginals of exactly `k` columns of `domain`, or the chosen `subsets`.

    >>> from fastmwem.data.domain import Domain
    >>> marginals(Domain.of_sizes({"a": 2, "b": 3, "c": 4}), k=2).m
    26
    """
    if (k is None) == (subsets is None):
        raise InvalidArgument("give either k or subsets, not both.")
    if subsets is None:
        columns = len(domain.columns)
        k = check_whole("k", k, 1, columns, fix=f"the domain has {columns} columns")
        subsets = itertools.combinations(range(columns), k)
    return Marginals(domain, subsets, records)


def downward_closure(subsets: Iterable[Subset]) -> tuple[Subset, ...]:
    """Every subset of every one of `subsets`, the empty one included, small before large.

    >>> downward_closure([(0, 1)])
    ((), (0,), (1,), (0, 1))
    """
    closed = {
        part for s in set(subsets) for size in range(len(s) + 1) for part in itertools.combinations(s, size)
    }
    return tuple(sorted(closed, key=lambda s: (len(s), s)))


def check_records(domain: Domain, records: IntArray, least: int = 1) -> IntArray:
    """`records` as an integer array of cell codes, if it lies on `domain` and has `least` rows."""
    given = np.asarray(records)
    if given.ndim != 2 or given.shape[1] != len(domain.columns) or len(given) < least:
        kind = "non-empty table" if least else "table"
        raise DomainError(f"records must be a {kind} with {len(domain.columns)} columns of cell codes.")
    codes = given.astype(np.int64)
    if (codes != given).any() or (codes < 0).any() or (codes >= np.asarray(domain.shape)).any():
        raise DomainError("records must hold whole cell codes from 0 to the size of their column less 1.")
    return codes


def _axes(domain: Domain, subset: Iterable[str | int]) -> Subset:
    """`subset` as ascending axes; a name or position that is not there, or is there twice, is refused."""
    if isinstance(subset, str):
        subset = [subset]
    columns = len(domain.columns)
    axes = [
        domain.axis(c) if isinstance(c, str) else check_whole("column", c, 0, columns - 1) for c in subset
    ]
    if len(set(axes)) < len(axes):
        raise InvalidArgument("a marginal names the same column twice: name each column once.")
    return tuple(sorted(axes))


def _by_self(subsets: tuple[Subset, ...]) -> dict[Subset, Subset]:
    return {s: s for s in subsets}


def _sum_out(
    table: FloatArray,
    axis: int,
    shape: tuple[int, ...],
    wanted: dict[Subset, Subset],
    found: dict[Subset, FloatArray],
) -> None:
    """Fill `found` with the tables of `wanted` (whole subset -> its axes from `axis` on).

    `table` is (cells of the axes kept so far) x (cells of the axes from `axis` on). Each axis is either
    kept or summed out; marginals that agree so far share the work.
    """
    if not any(wanted.values()):
        for subset in wanted:
            found[subset] = table.sum(axis=1)
        return
    kept = {s: rest[1:] for s, rest in wanted.items() if rest and rest[0] == axis}
    dropped = {s: rest for s, rest in wanted.items() if not rest or rest[0] != axis}
    size = shape[axis]
    if kept:
        _sum_out(table.reshape(len(table) * size, -1), axis + 1, shape, kept, found)
    if dropped:
        _sum_out(table.reshape(len(table), size, -1).sum(axis=1), axis + 1, shape, dropped, found)


def _spread(
    tables: dict[Subset, FloatArray],
    cells: int,
    axis: int,
    shape: tuple[int, ...],
    wanted: dict[Subset, Subset],
) -> FloatArray:
    """The transpose of `_sum_out`: all tables, spread over (cells kept so far) x (cells from `axis` on)."""
    width = math.prod(shape[axis:])
    if not any(wanted.values()):
        total = sum(tables[subset] for subset in wanted)
        return np.repeat(np.asarray(total).reshape(cells, 1), width, axis=1)
    kept = {s: rest[1:] for s, rest in wanted.items() if rest and rest[0] == axis}
    dropped = {s: rest for s, rest in wanted.items() if not rest or rest[0] != axis}
    size = shape[axis]
    total = np.zeros((cells, size, width // size))
    if kept:
        total += _spread(tables, cells * size, axis + 1, shape, kept).reshape(total.shape)
    if dropped:
        total += _spread(tables, cells, axis + 1, shape, dropped)[:, None, :]
    return total.reshape(cells, width)
