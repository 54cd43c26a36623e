"""k-MIPS: the k candidates with the largest scores, found without looking at all of them.

An index is a hint. It chooses the set S that lazy sampling looks at first, and with that the running time;
the law of a pick, and so its privacy, rests on the tail (`fastmwem.index.tail`), never on recall.

What a new index must do is `Spec`: a frozen description that builds a `Backend` over points, which names
the nearest ones to a probe. Signs, offsets, centring and the metric are handled here for all of them, and
whatever a backend returns is checked and scored again in float64, so that it can be late but not wrong.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from fastmwem.errors import InvalidArgument, check_memory, check_whole
from fastmwem.index.tail import Certified, Exact
from fastmwem.queries.base import Candidates, FloatArray, IntArray
from fastmwem.queries.stored import check_vector

__all__ = ["Backend", "Found", "Index", "Metric", "Points", "Spec", "check_index"]

Metric = Literal["inner-product", "nearest-neighbour"]


class Found(NamedTuple):
    """What a search returns: distinct signed candidates, best first, and who vouches for the rest.

    `ids` and `signs` name the candidates, `scores` are signs * (<k_i, v> - offset_i) in float64, `tail` is
    about those that are not here. There may be fewer than were asked for, even none. All of it is private.
    """

    ids: IntArray
    signs: IntArray
    scores: FloatArray
    tail: Exact | Certified

    def __repr__(self) -> str:
        return f"Found({len(self.ids)} candidates)"


class Index(ABC):
    """A built index over `candidates`. Lives in memory only: offsets are private, so it is never saved."""

    def __init__(self, candidates: Candidates) -> None:
        check_whole("the number of candidates", candidates.m, 1, fix="give at least one query")
        self.candidates = candidates

    @abstractmethod
    def search(self, v: FloatArray, k: int) -> Found:
        """About the k best candidates at probe `v`: of either sign, if the candidates are signed."""

    def _check(self, v: FloatArray, k: int) -> int:
        check_vector("v", v, self.candidates.dim)
        return check_whole("k", k, 1, self.candidates.m, fix="it counts candidates")

    def _found(self, ids: IntArray, signs: IntArray, k: int, v: FloatArray, tail: Exact | Certified) -> Found:
        """The k best of the named candidates, scored in float64."""
        scores = signs * self.candidates.dot(ids, v)
        order = np.argsort(-scores, kind="stable")[:k]
        return Found(ids[order], signs[order], scores[order], tail)

    def __reduce__(self) -> Any:
        raise TypeError("an index is never pickled or saved: it holds private offsets; build it again.")

    def __repr__(self) -> str:
        return f"{type(self).__name__}(m={self.candidates.m}, dim={self.candidates.dim})"


class Points(Protocol):
    """The candidates as points, as a backend sees them: float32, `columns` wide, made block by block."""

    @property
    def m(self) -> int: ...
    @property
    def columns(self) -> int: ...
    @property
    def metric(self) -> Metric: ...
    def block(self, ids: IntArray) -> np.ndarray[Any, np.dtype[np.float32]]:
        """The points `ids`, shape (len(ids), columns)."""
        ...


class Backend(Protocol):
    """A built search structure."""

    def nearest(self, probe: np.ndarray[Any, np.dtype[np.float32]], k: int) -> IntArray:
        """About k points with the largest inner product with `probe` (or the smallest distance to it).

        Fewer, repeated, and -1 for "none" are all allowed.
        """
        ...


class Spec(Protocol):
    """A frozen description of an index: every setting it has, and how to build it."""

    @property
    def metric(self) -> Metric:
        """`inner-product`, or `nearest-neighbour` after the appendix's reduction."""
        ...

    def memory(self, m: int, columns: int) -> float:
        """Bytes that the built structure takes, roughly."""
        ...

    def build(self, points: Points) -> Backend: ...


def distinct(found: Any, m: int) -> IntArray:
    """The distinct ids in [0, m) among what a backend returned, in its order; -1 means none."""
    ids = np.asarray(found)
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        raise InvalidArgument("a backend must return a 1-D array of whole numbers from nearest().")
    ids = ids.astype(np.int64)
    if ids.size and (ids.min() < -1 or ids.max() >= m):
        raise InvalidArgument(f"a backend must return ids between 0 and {m - 1}, or -1 for none.")
    ids = ids[ids >= 0]
    return ids[np.sort(np.unique(ids, return_index=True)[1])]


@dataclass(frozen=True)
class _Example:
    """A few fixed public points, for `check_index`."""

    metric: Metric
    m: int = 64
    columns: int = 4

    def block(self, ids: IntArray) -> np.ndarray[Any, np.dtype[np.float32]]:
        angle = np.outer(ids + 1.0, np.array([1.0, 2.0, 3.0, 5.0]))
        return np.cos(angle).astype(np.float32)


def check_index(spec: Any) -> None:
    """Refuse a `Spec` of one's own that does not keep the contract, tried out on a few public points.

    It checks form, not recall: an index of poor recall is slow, never wrong, since nothing that a spec
    builds can vouch for the scores it leaves out (`Certified` by the selector's own bounds is the best it
    gets). `build_index` runs this on every spec that is not one of ours.

    >>> from fastmwem.index.hnsw import Hnsw
    >>> check_index(Hnsw())
    """
    metric = getattr(spec, "metric", None)
    if metric not in ("inner-product", "nearest-neighbour"):
        raise InvalidArgument("an index spec must have metric 'inner-product' or 'nearest-neighbour'.")
    for method in ("memory", "build"):
        if not callable(getattr(spec, method, None)):
            raise InvalidArgument(
                f"an index spec must have a method {method}(): see fastmwem.index.base.Spec."
            )
    points = _Example(metric)
    check_memory("the index on 64 points", float(spec.memory(points.m, points.columns)), "correct memory()")
    backend = spec.build(points)
    if not callable(getattr(backend, "nearest", None)):
        raise InvalidArgument("build() must return an object with nearest(probe, k).")
    for k in (1, 8, points.m):
        distinct(backend.nearest(points.block(np.array([3]))[0], k), points.m)
