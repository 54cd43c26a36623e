"""Lazy Gumbel sampling (the paper's Algorithm 2): the exponential mechanism from about sqrt(m) of m scores.

argmax_i (x_i + G_i) has law softmax(x). Look at a set S first, and let M be the maximum over it. If no x
outside S exceeds tau, a candidate there can win only if its noise exceeds B = M - tau, and few noises do:
their number C is binomial, their places T are uniform, and given these they are Gumbel variables conditioned
on G > B. To draw C, T and these noises is to draw from the joint law of all m noises, less those that cannot
matter. Exact for *every* S and every true tau, and both may depend on anything but the noise.

S comes from an index. tau comes from the tail (`fastmwem.index.tail`); the default is proven by an anchor.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from fastmwem.errors import BoundViolated, InvalidArgument, check_whole
from fastmwem.index import Flat, Index, Spec, Tail, build_index, parse_tail
from fastmwem.index.flat import FlatIndex, largest
from fastmwem.index.points import SpecIndex
from fastmwem.index.tail import Certified, Exact
from fastmwem.privacy.events import DpEvent
from fastmwem.privacy.randomness import Randomness
from fastmwem.queries.base import Candidates, FloatArray, IntArray, Queries
from fastmwem.select.base import ExponentialMechanism, Pick, Selector
from fastmwem.select.gumbel import exceedances, gumbel, truncated_gumbel

__all__ = ["Lazy", "Noise", "PrivateNoise", "lazy_argmax"]

PASS = 0.5  # a pass over m candidates takes the time of about m/2 evaluations one by one


class Noise(Protocol):
    """The Gumbel variables of one pick, drawn where they are needed."""

    def inside(self, count: int) -> FloatArray:
        """Of the candidates in S, in their order."""
        ...

    def above(self, bound: float, count: int) -> tuple[IntArray, FloatArray]:
        """(places, values) of those among the `count` outside S that exceed `bound`."""
        ...


@dataclass(frozen=True)
class PrivateNoise:
    """Independent noise from a generator."""

    generator: np.random.Generator

    def inside(self, count: int) -> FloatArray:
        return gumbel(self.generator, count)

    def above(self, bound: float, count: int) -> tuple[IntArray, FloatArray]:
        places = exceedances(count, bound, self.generator)
        return places, truncated_gumbel(bound, self.generator, len(places))


def lazy_argmax(
    inside: FloatArray, tau: float, outside: int, evaluate: Callable[[IntArray], FloatArray], noise: Noise
) -> tuple[int, int]:
    """A draw from softmax(x): (position, C), where positions from len(inside) on are places outside S.

    `inside` holds x on S, `tau` is at least every x at the `outside` places left, and `evaluate(places)`
    gives x there. C is how many places were evaluated.

    >>> x = np.array([0.0, 1.0, 60.0, 2.0])
    >>> rest = x[2:]
    >>> noise = PrivateNoise(np.random.default_rng(0))
    >>> lazy_argmax(x[:2], 60.0, 2, lambda places: rest[places], noise)[0]
    2
    """
    perturbed = inside + noise.inside(len(inside))
    best = int(np.argmax(perturbed)) if len(inside) else -1
    maximum = perturbed[best] if len(inside) else -np.inf
    places, gumbels = noise.above(float(maximum - tau), outside)
    if len(places):
        tail = evaluate(places) + gumbels
        top = int(np.argmax(tail))
        if tail[top] > maximum:
            best = len(inside) + int(places[top])
    return best, len(places)


@dataclass(frozen=True, repr=False)  # PRIVATE: its scores hold the offsets
class _Anchor:
    """The best signed candidates at an earlier probe `v`, best first: what is left of one pass.

    No score moves by more than drift(v') from v to v', so none outside a set S exceeds, at v', the largest
    outside S at v by more than the drift.
    """

    v: FloatArray
    codes: IntArray
    scores: FloatArray

    @classmethod
    def at(cls, v: FloatArray, candidates: Candidates, size: int) -> _Anchor:
        """One pass at `v`, keeping the `size` best."""
        scores = candidates.scores(v)
        ids, signs = largest(scores, size, candidates.signed)
        order = np.argsort(-signs * scores[ids], kind="stable")
        ids, signs = ids[order], signs[order]
        return cls(v.copy(), _encode(ids, signs, candidates.m), signs * scores[ids])

    def drift(self, v: FloatArray, queries: Queries, largest_mean: float) -> float:
        """An upper bound on how far a score can have moved since.

        With step = u + t 1 and sum(u) = 0, <k, step> = <k, u> + t sum(k): the constants of `Queries` bound
        the first term, and |t sum(k)| = |sum(step) mean(k)|.
        """
        step = v - self.v
        total = float(step.sum())
        u = step - total / len(step)
        turned = min(
            queries.half_range * float(np.abs(u).sum()), queries.centred_norm * float(np.sqrt(u @ u))
        )
        return turned + abs(total) * largest_mean

    def best_outside(self, codes: IntArray) -> float:
        """The largest score at the anchor outside `codes`, of which there are fewer than the anchor holds."""
        return float(self.scores[int(np.argmax(~np.isin(self.codes, codes)))])


class Lazy(Selector):
    """The exponential mechanism by lazy Gumbel sampling over `index` (default `flat`), under `tail`.

    A signed candidate (i, s) has the code i if s = +1 and m + i if s = -1; m' is the number of codes, and k
    is about sqrt(m') unless given. `mass` is what every probe sums to (see `build_index`).

    The default tail is `Certified`. An index that vouches for its answer (`flat`) is believed. Otherwise an
    anchor, one pass at an earlier probe, joins its best to S and proves tau: the best score outside S at the
    anchor, plus the drift since. When the evaluations that a fresh anchor would have saved come to a pass, it
    is renewed. That is decided before the pick's noise is drawn, so it changes the time and not the law.

    The assumed tails are the paper's, on request only; `event` and `standing` say what they cost. A score
    that is seen to break a tail, proven or assumed, ends the run.
    """

    def __init__(
        self,
        candidates: Candidates,
        mechanism: ExponentialMechanism,
        randomness: Randomness,
        *,
        index: Index | Flat | Spec | str | None = None,
        tail: Tail | str | None = None,
        k: int | None = None,
        mass: float = 1.0,
    ) -> None:
        super().__init__(candidates, mechanism, randomness)
        self.tail = parse_tail(tail)
        self.codes = candidates.m * (2 if candidates.signed else 1)
        k = min(candidates.m, math.ceil(math.sqrt(self.codes))) if k is None else k
        self.k = check_whole("k", k, 1, candidates.m, fix="it counts candidates")
        self.index = index if isinstance(index, Index) else build_index(candidates, index or "flat", mass)
        if type(self.index) not in (FlatIndex, SpecIndex):  # what another class vouches for is not proven
            raise InvalidArgument("index must be a name, a spec, or what build_index made of one.")
        if self.index.candidates is not candidates:
            raise InvalidArgument("index must be built over the same candidates that are selected from.")
        if isinstance(self.tail, Exact) and not isinstance(self.index, FlatIndex):
            raise InvalidArgument("tail='exact' needs index='flat', the only one that proves its answer.")
        sums = candidates.queries.answers(np.ones(candidates.dim))
        self._largest_mean = float(np.abs(sums).max()) / candidates.dim
        self._largest_offset = float(np.abs(candidates.offsets).max())
        self._anchor: _Anchor | None = None
        self._regret = 0.0  # evaluations that a fresh anchor would have saved, since the last one
        self._fresh = 0.0  # evaluations expected of a pick at its own anchor
        self._counts = {"rounds": 0, "evaluations": 0, "passes": 0, "C": 0}

    @property
    def event(self) -> DpEvent:
        return self.tail.event(self.mechanism.epsilon)

    @property
    def standing(self) -> tuple[DpEvent, ...]:
        return self.tail.standing

    def pick(self, v: FloatArray) -> Pick:
        found = self.index.search(v, self.k)
        self._count(len(found.ids))
        inside = _Inside.of(_encode(found.ids, found.signs, self.candidates.m), self._scaled(found.scores))
        if isinstance(self.tail, Certified) and isinstance(found.tail, Certified):
            inside, tau = self._certify(inside, found.tail.bound, v)
        else:
            tau = inside.least + self.tail.margin
        tau += self._rounding(v)
        limit = tau + self.tail.slip

        def evaluate(places: IntArray) -> FloatArray:
            x = self._evaluate(inside.others(places), v)
            if x.max() > limit:
                raise BoundViolated(
                    "a score was found above the bound that lazy sampling rests on: nothing is released; "
                    + ("the tail's assumption is false." if self.tail.assumption else "please report this.")
                )
            return x

        noise = PrivateNoise(self.randomness.generator)
        place, drawn = lazy_argmax(inside.x, tau, self.codes - len(inside.codes), evaluate, noise)
        self._counts["rounds"] += 1
        self._counts["C"] = drawn
        return self._decode(inside.code(place))

    def _certify(self, found: _Inside, bound: float, v: FloatArray) -> tuple[_Inside, float]:
        """S with the anchor's best, and a proven tau; renews the anchor where that is worth a pass."""
        if self._anchor is not None:
            inside, tau = self._prove(found, bound, v, self._anchor)
            regret = self._regret + inside.expected(tau, self.codes) - self._fresh
            if regret <= PASS * self.candidates.m:
                self._regret = max(regret, 0.0)
                return inside, tau
        self._anchor = _Anchor.at(v, self.candidates, min(self.codes, 2 * self.k + 1))
        self._count(self.candidates.m, passes=1)
        inside, tau = self._prove(found, bound, v, self._anchor)
        self._regret, self._fresh = 0.0, inside.expected(tau, self.codes)
        return inside, tau

    def _prove(self, found: _Inside, bound: float, v: FloatArray, anchor: _Anchor) -> tuple[_Inside, float]:
        more = np.setdiff1d(anchor.codes[: self.k], found.codes, assume_unique=True)
        codes = np.concatenate([found.codes, more])
        inside = _Inside.of(codes, np.concatenate([found.x, self._evaluate(more, v)]))
        if len(codes) == self.codes:
            return inside, -math.inf
        proven = anchor.best_outside(codes) + anchor.drift(v, self.candidates.queries, self._largest_mean)
        return inside, self.mechanism.scale * min(proven, bound)

    def _evaluate(self, codes: IntArray, v: FloatArray) -> FloatArray:
        """Scaled scores of `codes`: one by one, or by a pass where that is faster."""
        m = self.candidates.m
        if len(codes) > PASS * m:
            self._count(m, passes=1)
            scores = self.candidates.scores(v)[codes % m]
        else:
            self._count(len(codes))
            scores = self.candidates.dot(codes % m, v)
        return self._scaled(np.where(codes < m, scores, -scores))

    def _scaled(self, scores: FloatArray) -> FloatArray:
        with np.errstate(over="ignore"):
            x = self.mechanism.scale * scores
        if not np.isfinite(x).all():
            raise InvalidArgument("eps0 / sensitivity times a score is beyond float64: scale the candidates.")
        return x

    def _rounding(self, v: FloatArray) -> float:
        """More than a scaled score's float64 rounding, so that no bound fails for want of digits.

        A dot product errs by at most dim * eps/2 * largest * |v|_1, in either of two orders; so does a drift.
        """
        largest = self._largest_mean + 2.0 * self.candidates.queries.half_range  # no |k_ij| is larger
        size = (self.candidates.dim + 64) * largest * float(np.abs(v).sum()) + 64 * self._largest_offset
        return 4.0 * float(np.finfo(float).eps) * self.mechanism.scale * size

    def _decode(self, code: int) -> Pick:
        sign, candidate = divmod(code, self.candidates.m)
        return Pick(candidate, -1 if sign else 1)

    def _count(self, evaluations: int, passes: int = 0) -> None:
        self._counts["evaluations"] += evaluations
        self._counts["passes"] += passes

    @property
    def diagnostics(self) -> dict[str, float]:
        return dict(self._counts)


@dataclass(frozen=True, repr=False)  # PRIVATE
class _Inside:
    """The set S: its codes, rising, and their scaled scores x."""

    codes: IntArray
    x: FloatArray

    @classmethod
    def of(cls, codes: IntArray, x: FloatArray) -> _Inside:
        order = np.argsort(codes)
        return cls(codes[order], x[order])

    @property
    def least(self) -> float:
        """min over S; infinite if S is empty, as then S bounds nothing."""
        return float(self.x.min()) if len(self.x) else math.inf

    def expected(self, tau: float, codes: int) -> float:
        """E[C]: a candidate outside is drawn with probability e^tau / (e^tau + sum over S of e^x)."""
        peak = self.x.max()
        log_odds = peak + math.log(np.exp(self.x - peak).sum()) - tau
        return (codes - len(self.codes)) / (1.0 + math.exp(min(log_odds, 700.0)))

    def others(self, places: IntArray) -> IntArray:
        """The codes at `places` among those not in S: r, plus the members of S that come before."""
        return places + np.searchsorted(self.codes - np.arange(len(self.codes)), places, side="right")

    def code(self, position: int) -> int:
        """The code at a position of `lazy_argmax`."""
        if position < len(self.codes):
            return int(self.codes[position])
        return int(self.others(np.array([position - len(self.codes)]))[0])


def _encode(ids: IntArray, signs: IntArray, m: int) -> IntArray:
    return np.where(signs > 0, ids, m + ids)
