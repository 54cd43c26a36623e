r"""`direct` for ranges and prefixes: measure the square root of each column's prefix sums, then fit.

**Privacy.** For each ordered column that the workload asks about, L M x is measured with Gaussian noise (M
sums out the other columns, L is `PrefixRoot`). A row lies in one cell of the column, so k rows move L M x by
at most k |c| under add-remove (a column of L each) and by at most sqrt(2) k |c| under replace-one, in L2. One
Gaussian event per column; all else is post-processing.

**Error.** A range's unbiased answer L y has known noise; the fitted answer is public, so their difference is
public too: |fitted - true| <= |fitted - unbiased| + 1.96 deviations, for each range, with probability 95 %.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fastmwem.mw.entropic import entropic_least_squares, simplex_multiplier
from fastmwem.mw.loop import Progress
from fastmwem.privacy.calibrate import calibrate_gaussian
from fastmwem.privacy.events import gaussian, repeated
from fastmwem.privacy.ledger import Ledger
from fastmwem.privacy.noise import add_gaussian
from fastmwem.privacy.randomness import Randomness
from fastmwem.problems.method import Outcome, Prediction, PrivateData, Problem, check_cells
from fastmwem.queries.base import FloatArray, Queries
from fastmwem.queries.prefix_root import PrefixRoot
from fastmwem.queries.ranges import Intervals

__all__ = ["DirectRanges"]

_QUANTILE = 1.959963984540054  # of the normal, two-sided 95 %


@dataclass(frozen=True)
class DirectRanges:
    """One measurement per ordered column; applies to ranges, prefixes and unions of them."""

    name = "direct"

    def predict(self, problem: Problem) -> Prediction | None:
        """The known noise of the widest range, less what fitting a histogram saves where it is large."""
        if problem.n is None or _intervals(problem.workload) is None:
            return None
        columns = _columns(problem.workload)
        noise = calibrate_gaussian(
            problem.budget, len(columns), accountant=problem.accountant
        ).noise_multiplier
        worst = 0.0
        for interval in columns.values():
            root = PrefixRoot(interval.length)
            worst = max(worst, noise * _sensitivity(root, problem) * float(root.range_deviations().max()))
        # The largest of all ranges is about 5 deviations of the widest; against n it saturates, because what
        # is fitted is a histogram with n rows. Both measured on one-dimensional benchmark histograms.
        plain = 5.0 * worst / problem.n
        largest = min(1.0, plain / (1.0 + 3.0 * plain))
        return Prediction(
            self.name,
            largest,
            largest / 4.0,
            rounds=len(columns),
            seconds=1e-5 * problem.cells * max(1.0, math.log2(problem.cells)) / 10
            + 1e-8 * problem.workload.m,
            bytes=200 * problem.cells + 24 * problem.workload.m,
        )

    def run(
        self,
        problem: Problem,
        data: PrivateData,
        ledger: Ledger,
        randomness: Randomness,
        progress: Progress | None = None,
    ) -> Outcome:
        """Measure, fit, bound."""
        check_cells(problem.cells)
        parts = _intervals(problem.workload)
        assert parts is not None
        columns = _columns(problem.workload)
        noise = calibrate_gaussian(
            problem.budget, len(columns), accountant=problem.accountant
        ).noise_multiplier
        ledger.authorise(repeated(gaussian(noise), len(columns)))
        lines = {axis: _Line(interval, noise, problem) for axis, interval in columns.items()}
        for done, (axis, line) in enumerate(lines.items(), start=1):
            counts = data.marginal((axis,))
            ledger.record(gaussian(noise))
            line.measure(counts, randomness)
            if progress is not None:
                progress(done, len(columns))
        total = float(problem.n) if not problem.counts and problem.n else _total(list(lines.values()))
        stacked = _Stacked(list(lines.values()), problem.cells)
        start = next(iter(lines.values())).start(total) if len(lines) == 1 else None
        tau = _entropy(total, min(line.std for line in lines.values()))
        fit = entropic_least_squares(stacked, stacked.values, 1.0, total, tau=tau, start=start)
        bounds = [_bounds(part, lines[part.axis], fit.x) for part in parts]
        return Outcome(
            distribution=fit.x / fit.x.sum(),
            total=total,
            bounds=np.minimum(np.concatenate(bounds) / total, 1.0),
            bound_kind="holds for each answer with probability 95 %",
            details={"noise_multiplier": noise, "iterations": fit.iterations, "converged": fit.converged},
        )


class _Line:
    """One column: what is measured of it, with which noise, and what was measured."""

    def __init__(self, interval: Intervals, noise: float, problem: Problem) -> None:
        self.interval, self.root = interval, PrefixRoot(interval.length)
        self.std = noise * _sensitivity(self.root, problem)
        self.values = np.zeros(interval.length)

    def measure(self, counts: FloatArray, randomness: Randomness) -> None:
        self.values = add_gaussian(self.root.answers(counts), self.std, randomness)

    def prefix_sums(self) -> FloatArray:
        """The unbiased F_0 .. F_n."""
        return np.concatenate([[0.0], self.root.prefix_sums(self.values)])

    def start(self, total: float) -> FloatArray:
        """The unbiased cells, projected, and spread evenly over the other columns."""
        cells = np.diff(self.prefix_sums())
        line = np.maximum(cells - simplex_multiplier(cells, total), 0.0)
        ones = self.interval.project(np.ones(self.interval.dim))
        spread = self.interval.spread(np.divide(line, ones, out=np.zeros_like(line), where=ones > 0))
        return spread * (total / max(float(spread.sum()), 1e-300))


class _Stacked:
    """All columns' measurements of one vector, each divided by its noise."""

    def __init__(self, lines: list[_Line], dim: int) -> None:
        self.lines, self.dim = lines, dim
        self.m = sum(line.root.m for line in lines)
        self.values = np.concatenate([line.values / line.std for line in lines])
        self._cuts = np.cumsum([line.root.m for line in lines])[:-1]

    def answers(self, v: FloatArray) -> FloatArray:
        return np.concatenate([line.root.answers(line.interval.project(v)) / line.std for line in self.lines])

    def adjoint(self, weights: FloatArray) -> FloatArray:
        parts = zip(self.lines, np.split(weights, self._cuts), strict=True)
        return np.sum([line.interval.spread(line.root.adjoint(w)) / line.std for line, w in parts], axis=0)


def _sensitivity(root: PrefixRoot, problem: Problem) -> float:
    return problem.unit.rows_per_person * root.norm * (1.0 if problem.counts else math.sqrt(2.0))


def _entropy(total: float, std: float) -> float:
    """The weight of the entropy, from released numbers: half of n over the noise, within 3 .. 300.

    Best to within some 20 % on one-dimensional benchmark histograms with 1,000 to 2.8e7 rows.
    """
    return min(300.0, max(3.0, 0.5 * total / std))


def _total(lines: list[_Line]) -> float:
    """The mean of the columns' unbiased totals: all estimate the same n."""
    return max(1.0, float(np.mean([line.prefix_sums()[-1] for line in lines])))


def _bounds(part: Intervals, line: _Line, x: FloatArray) -> FloatArray:
    """In counts, one per query of `part`."""
    low, high = part.ends(np.arange(part.m, dtype=np.int64))
    unbiased = line.prefix_sums()
    fitted = part.prefix_sums(x)
    difference = fitted - unbiased
    deviations = line.std * line.root.range_deviations()
    return np.abs(difference[high] - difference[low]) + _QUANTILE * deviations[high - low]


def _intervals(workload: Queries) -> list[Intervals] | None:
    """The parts of `workload`, in order, if all are intervals (with any weights); else None."""
    found: list[Intervals] = []
    for part in getattr(workload, "parts", (workload,)):
        inner = getattr(part, "inner", part)
        nested = [inner] if isinstance(inner, Intervals) else None
        if nested is None and inner is not workload and (hasattr(inner, "parts") or hasattr(inner, "inner")):
            nested = _intervals(inner)
        if nested is None:
            return None
        found.extend(nested)
    return found


def _columns(workload: Queries) -> dict[int, Intervals]:
    """One interval workload per axis."""
    return {part.axis: part for part in _intervals(workload) or []}
