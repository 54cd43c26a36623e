"""Exact selection from a few scores a round: rejection from upper bounds that the drift of v proves."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastmwem.errors import BoundViolated, InvalidArgument, check_memory
from fastmwem.privacy.randomness import Randomness
from fastmwem.queries.base import Candidates, FloatArray
from fastmwem.queries.stored import Stored, check_vector
from fastmwem.select import bounds
from fastmwem.select.base import ExponentialMechanism, Pick, Selector
from fastmwem.select.softmax import THREADED

__all__ = ["Certified", "Costs"]

_MOST_SLOTS = 16
_TURN = 3.0  # the drift of the current anchor from which a new one is made: measured, and flat around it
_FLOAT = np.dtype(np.float64)
_EPS = float(np.finfo(float).eps)
_SETTLED = 100_000  # trials that bounds made a moment ago, at the probe itself, never need


class Costs(NamedTuple):
    """Nanoseconds of a streaming pass and of one trial, on a current machine.

    A deterministic model, not a measurement, so that a seeded run repeats itself; where it is wrong, a
    run takes longer, and its law stays what it is.
    """

    full: float
    trial: float

    @classmethod
    def of(cls, candidates: Candidates) -> Costs:
        """Stored rows stream at memory speed; implicit ones are summed by NumPy, a few calls per trial."""
        m, queries = candidates.m, candidates.queries
        if isinstance(queries, Stored):
            row = queries.nbytes / m
            return cls(2e4 + m * (row + 60.0) / 30.0, 250.0 + row / 6.0)
        return cls(1e5 + 25.0 * m + 5.0 * candidates.dim, 1e4)

    @property
    def trials(self) -> int:
        """How many trials cost as much as a pass."""
        return max(2, int(self.full / self.trial))

    def slots(self, dim: int) -> int:
        """How many anchors to keep: to measure all their drifts costs at most a quarter of a pass, or two."""
        return int(min(max(self.full / (4.0 * dim), 2.0), _MOST_SLOTS))


class Certified(Selector):
    """Rejection sampling from certified bounds: exact like a full scan, at a few evaluations a pick.

    The first pick looks at every score; later ones evaluate about sum exp(u) / sum exp(x) of them, u the
    bounds and x the scaled scores. Where the trials of a pick have cost as much as a streaming pass, it is
    made: it refreshes every bound. See `fastmwem.select.bounds` for the proof.

    `passes` counts the refreshes, `trials` the evaluations of the last pick, and `pass_cost` is what a
    refresh costs in trials. The first two depend on private data.

    Probes must all have the same sum, as distributions have; where sums differ, bounds widen accordingly. A
    bound that turns out false (`half_range` or `centred_norm` of the queries too small) raises
    `BoundViolated`; the run must then release nothing.
    """

    def __init__(
        self, candidates: Candidates, mechanism: ExponentialMechanism, randomness: Randomness
    ) -> None:
        super().__init__(candidates, mechanism, randomness)
        m, dim, queries = candidates.m, candidates.dim, candidates.queries
        costs = Costs.of(candidates)
        slots = costs.slots(dim)
        fix = "use the exhaustive selector or fewer queries"
        check_memory("the certified selector", bounds.bytes_needed(m, dim, slots), fix)
        self._bounds = bounds.make_bounds(m, dim, slots)
        self._tops = np.empty(-(-m // bounds.CHUNK))
        self._data = queries.kernel_data()
        self.pass_cost = costs.trials
        self._budget = self.pass_cost
        self._largest_offset = float(np.abs(candidates.offsets).max())
        self._shape = (dim,)
        self._rounds = self.passes = self.trials = 0
        self._fresh = False
        numbers = self._bounds.numbers
        numbers[bounds.SCALE] = mechanism.scale
        numbers[bounds.HALF_RANGE] = queries.half_range
        numbers[bounds.CENTRED_NORM] = queries.centred_norm
        numbers[bounds.LARGEST] = queries.largest
        numbers[bounds.TURN] = _TURN
        self._bounds.counts[bounds.SIGNED] = candidates.signed

    def pick(self, v: FloatArray) -> Pick:
        if not (
            type(v) is np.ndarray and v.dtype == _FLOAT and v.shape == self._shape and v.flags.c_contiguous
        ):
            v = check_vector("v", v, self.candidates.dim)  # a plain vector is checked where it is read
        self._rounds += 1
        if not self._fresh:
            self.refresh(v)
        candidate, sign = self._try(v, self._budget)
        self.trials = int(self._bounds.counts[bounds.TRIALS])
        if candidate == bounds.REFRESH:
            self.refresh(v)
            candidate, sign = self._try(v, _SETTLED)
        if candidate >= 0:
            return Pick(candidate, sign)
        self._fresh = False
        if candidate == bounds.NOT_FINITE:
            check_vector("v", v, self.candidates.dim)
            raise InvalidArgument(
                "eps0 / sensitivity times a score is beyond float64: the scores are too large."
            )
        if candidate == bounds.REFRESH:  # SLACK alone rejected them all
            raise InvalidArgument(
                "sensitivity is too small: eps0 / sensitivity times the rounding of a score is far above 1; "
                "give a larger sensitivity, or scale the candidates."
            )
        raise BoundViolated(
            "a certified bound on a score was false: half_range or centred_norm is too small."
        )

    def forget(self) -> None:
        """Renew all bounds at the next pick: the probe has moved far since the last."""
        self._fresh = False

    def refresh(self, v: FloatArray) -> None:
        """Stream through all candidates at v and bound each by its own score there."""
        candidates, numbers = self.candidates, self._bounds.numbers
        x = candidates.queries.answers(v)
        # Rounding of one score: a dot product errs by at most dim * eps * largest * |v|_1, twice for the two
        # orders in which it may be summed; logarithms and exponentials near FLOOR err by far less than 1e-11.
        largest = float(numbers[bounds.LARGEST]) * float(np.abs(v).sum())
        size = largest * (candidates.dim + 8) + self._largest_offset
        numbers[bounds.SLACK] = 1e-11 + 4.0 * _EPS * size * self.mechanism.scale
        run = bounds.refresh_threaded if candidates.m > THREADED else bounds.refresh
        self.passes += 1
        self._fresh = run(self._bounds, v, x, candidates.offsets, self._tops)
        if not self._fresh:
            raise InvalidArgument(
                "eps0 / sensitivity times a score is beyond float64: the scores are too large."
            )

    def _try(self, v: FloatArray, budget: int) -> tuple[int, int]:
        stream, candidates = self.randomness.stream, self.candidates
        if self._data is not None:
            return bounds.pick(self._bounds, stream, self._data, candidates.offsets, v, budget)
        return self._try_in_batches(v, budget)

    def _try_in_batches(self, v: FloatArray, budget: int) -> tuple[int, int]:
        """`bounds.pick` for rows that only `Queries.dot` reaches; batches grow from the last one."""
        b, stream, candidates = self._bounds, self.randomness.stream, self.candidates
        batch = 1 + int(b.counts[bounds.TRIALS])
        verdict = bounds.begin(b, v)
        while verdict >= 0 and budget > 0:
            ids, upper = np.empty(min(batch, 512, budget), np.int64), np.empty(min(batch, 512, budget))
            verdict = bounds.propose(b, stream, ids, upper)
            if verdict < 0:
                break
            evaluated = b.counts[bounds.EVALUATIONS] + ids.size
            here = candidates.dot(ids, v)
            there = candidates.dot(ids, b.anchors[b.counts[bounds.CURRENT]])
            verdict, sign = bounds.settle(b, stream, ids, upper, here, there)
            b.counts[bounds.EVALUATIONS] = evaluated  # those after the accepted one too
            if verdict != bounds.REFRESH:
                return verdict, sign
            verdict = 0
            budget -= ids.size
            batch *= 2
        return min(verdict, bounds.REFRESH), 0

    @property
    def diagnostics(self) -> dict[str, float]:
        trials = int(self._bounds.counts[bounds.EVALUATIONS])
        return {
            "rounds": self._rounds,
            "evaluations": trials + self.passes * self.candidates.m,
            "passes": self.passes,
            "trials": trials,
        }
