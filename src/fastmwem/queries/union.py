"""Workloads put together: `+` of several, and weights on their queries.

A weight w_i says that an error on query i counts w_i times. Selection then scores w_i * s * (<q_i, p> - a_i),
whose sensitivity is max w_i times that of an unweighted score; answers are those of the queries themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastmwem.errors import InvalidArgument
from fastmwem.queries.base import FloatArray, IntArray, PerturbedMax, Queries, StructuredDraw

__all__ = ["Multiple", "Union", "Weighted", "place", "union", "weighted"]


class Union(Queries):
    """Several workloads on the same cells, one after the other.

    >>> from fastmwem.queries.ranges import prefixes, ranges
    >>> q = union(ranges(3), prefixes(3))
    >>> q.m, q.describe(6)
    (9, 'cell=0')
    """

    def __init__(self, parts: Sequence[Queries]) -> None:
        if not parts:
            raise InvalidArgument("workload is empty: give at least one part.")
        if len({part.dim for part in parts}) > 1:
            cells = ", ".join(f"{part.dim:,}" for part in parts)
            raise InvalidArgument(f"the parts of a workload must share one domain, got {cells} cells.")
        self.parts: tuple[Queries, ...] = tuple(parts)
        self.dim = parts[0].dim
        self.bounds: IntArray = np.concatenate([[0], np.cumsum([part.m for part in parts])]).astype(np.int64)
        self.m = int(self.bounds[-1])

    @property
    def half_range(self) -> float:
        return max(part.half_range for part in self.parts)

    @property
    def centred_norm(self) -> float:
        return max(part.centred_norm for part in self.parts)

    def answers(self, v: FloatArray) -> FloatArray:
        return np.concatenate([part.answers(v) for part in self.parts])

    def from_marginals(self, marginal: Callable[[tuple[int, ...]], FloatArray]) -> FloatArray | None:
        each = [part.from_marginals(marginal) for part in self.parts]
        found = [answers for answers in each if answers is not None]
        return np.concatenate(found) if len(found) == len(each) else None

    def dot(self, ids: IntArray, v: FloatArray) -> FloatArray:
        ids = np.asarray(ids, np.int64)
        which = np.searchsorted(self.bounds, ids, side="right") - 1
        out = np.empty(ids.size)
        for k in np.unique(which):
            mine = which == k
            out[mine] = self.parts[k].dot(ids[mine] - self.bounds[k], v)
        return out

    def row(self, i: int) -> tuple[IntArray, FloatArray]:
        part, local = self._find(i)
        return part.row(local)

    def adjoint(self, weights: FloatArray) -> FloatArray:
        pieces = np.split(np.asarray(weights, np.float64), self.bounds[1:-1])
        return np.sum([part.adjoint(w) for part, w in zip(self.parts, pieces, strict=True)], axis=0)

    @property
    def importance(self) -> FloatArray | None:
        each = [part.importance for part in self.parts]
        if all(weights is None for weights in each):
            return None
        pairs = zip(each, self.parts, strict=True)
        return np.concatenate([np.ones(part.m) if w is None else w for w, part in pairs])

    def scored(self) -> Queries:
        return self if self.importance is None else Union([part.scored() for part in self.parts])

    def on(self, records: IntArray) -> Union:
        """The same queries with the weights on public `records`."""
        return Union([place(part, records) for part in self.parts])

    def structured_draw(self, offsets: FloatArray) -> StructuredDraw | None:
        """The largest of the parts' perturbed maxima; small parts without structure are scanned."""
        pieces = np.split(offsets, self.bounds[1:-1])
        structured = [part.structured_draw(a) for part, a in zip(self.parts, pieces, strict=True)]
        if all(draw is None for draw in structured):
            return None
        draws: list[StructuredDraw] = []
        for part, piece, draw in zip(self.parts, pieces, structured, strict=True):
            if draw is None and part.m > 4 * self.dim:
                return None
            draws.append(draw or _Scan(part, piece))
        return _UnionDraw(draws, self.bounds)

    def describe(self, i: int) -> str:
        part, local = self._find(i)
        return part.describe(local)

    def _find(self, i: int) -> tuple[Queries, int]:
        k = int(np.searchsorted(self.bounds, i, side="right")) - 1
        return self.parts[k], int(i - self.bounds[k])


class Multiple(Queries):
    """`factors` times each row of another workload: what a weighted selection scores."""

    def __init__(self, inner: Queries, factors: FloatArray) -> None:
        self.inner, self.factors = inner, factors
        self.m, self.dim = inner.m, inner.dim
        self._largest = float(factors.max())

    @property
    def half_range(self) -> float:
        return self._largest * self.inner.half_range

    @property
    def centred_norm(self) -> float:
        return self._largest * self.inner.centred_norm

    def answers(self, v: FloatArray) -> FloatArray:
        return self.factors * self.inner.answers(v)

    def dot(self, ids: IntArray, v: FloatArray) -> FloatArray:
        return self.factors[ids] * self.inner.dot(ids, v)

    def row(self, i: int) -> tuple[IntArray, FloatArray]:
        cells, values = self.inner.row(i)
        return cells, self.factors[i] * values

    def adjoint(self, weights: FloatArray) -> FloatArray:
        return self.inner.adjoint(self.factors * weights)

    def structured_draw(self, offsets: FloatArray) -> StructuredDraw | None:
        """The inner structure survives one common factor, not different ones."""
        factor = self._largest
        if factor <= 0 or self.factors.min() < factor:
            return None
        inner = self.inner.structured_draw(offsets / factor)
        if inner is None:
            return None
        return lambda v, scale, signed, generator: inner(v, scale * factor, signed, generator)

    def describe(self, i: int) -> str:
        return self.inner.describe(i)


class Weighted(Queries):
    """A workload whose errors count `weights` times; answered like the workload itself."""

    def __init__(self, inner: Queries, weights: FloatArray) -> None:
        self.inner, self._weights = inner, weights
        self.m, self.dim = inner.m, inner.dim

    @property
    def half_range(self) -> float:
        return self.inner.half_range

    @property
    def centred_norm(self) -> float:
        return self.inner.centred_norm

    def answers(self, v: FloatArray) -> FloatArray:
        return self.inner.answers(v)

    def from_marginals(self, marginal: Callable[[tuple[int, ...]], FloatArray]) -> FloatArray | None:
        return self.inner.from_marginals(marginal)

    def dot(self, ids: IntArray, v: FloatArray) -> FloatArray:
        return self.inner.dot(ids, v)

    def row(self, i: int) -> tuple[IntArray, FloatArray]:
        return self.inner.row(i)

    def adjoint(self, weights: FloatArray) -> FloatArray:
        return self.inner.adjoint(weights)

    @property
    def importance(self) -> FloatArray:
        inner = self.inner.importance
        return self._weights if inner is None else self._weights * inner

    def scored(self) -> Queries:
        return Multiple(self.inner, self.importance)

    def on(self, records: IntArray) -> Weighted:
        """The same queries with the weights on public `records`."""
        return Weighted(place(self.inner, records), self._weights)

    def structured_draw(self, offsets: FloatArray) -> StructuredDraw | None:
        return self.inner.structured_draw(offsets)

    def describe(self, i: int) -> str:
        return self.inner.describe(i)


class _Scan:
    """The perturbed maximum of a part without structure: a Gumbel on every score."""

    def __init__(self, queries: Queries, offsets: FloatArray) -> None:
        self._queries, self._offsets = queries, offsets

    def __call__(
        self, v: FloatArray, scale: float, signed: bool, generator: np.random.Generator
    ) -> PerturbedMax:
        scores = scale * (self._queries.answers(v) - self._offsets)
        noisy = np.concatenate([scores, -scores]) if signed else scores
        noisy = noisy + generator.gumbel(size=noisy.size)
        best = int(noisy.argmax())
        negative = best >= scores.size
        return PerturbedMax(float(noisy[best]), best - scores.size * negative, -1 if negative else 1)

    def __repr__(self) -> str:
        return "_Scan(private)"


class _UnionDraw:
    def __init__(self, draws: list[StructuredDraw], bounds: IntArray) -> None:
        self._draws, self._bounds = draws, bounds

    def __call__(
        self, v: FloatArray, scale: float, signed: bool, generator: np.random.Generator
    ) -> PerturbedMax:
        drawn = [draw(v, scale, signed, generator) for draw in self._draws]
        k = max(range(len(drawn)), key=lambda j: drawn[j].value)
        return drawn[k]._replace(candidate=int(self._bounds[k]) + drawn[k].candidate)

    def __repr__(self) -> str:
        return "_UnionDraw(private)"


def union(*workloads: Queries) -> Queries:
    """All of `workloads` as one; `a + b` does the same."""
    parts: list[Queries] = []
    for workload in workloads:
        parts.extend(workload.parts if isinstance(workload, Union) else [workload])
    return parts[0] if len(parts) == 1 else Union(parts)


def weighted(workload: Queries, weights: Any) -> Queries:
    """`workload` with errors that count `weights` times: one number, or one per query.

    >>> from fastmwem.queries.ranges import prefixes
    >>> weighted(prefixes(3), 2).importance.tolist()
    [2.0, 2.0, 2.0]
    """
    array = np.asarray(weights, np.float64)
    if array.shape not in ((), (workload.m,)):
        raise InvalidArgument(f"weights must be one number or one per query, {workload.m:,} in all.")
    if not np.isfinite(array).all() or (array < 0).any() or not array.max() > 0:
        raise InvalidArgument("weights must be finite, at least 0, and not all 0.")
    return Weighted(workload, np.broadcast_to(array, workload.m))


def place(workload: Queries, records: IntArray) -> Queries:
    """`workload` with the weights on a public table of `records` instead of the full domain."""
    on = getattr(workload, "on", None)
    if on is None:
        kind = type(workload).__name__
        raise InvalidArgument(f"a {kind} workload cannot move to a support: give its values on the records.")
    return on(records)
