r"""`direct` for ranges and prefixes: measure each column's wavelets, then read its cells off from the top.

**Privacy.** One Gaussian mechanism per ordered column that the workload asks about: its number of rows and
its wavelets, with the noise of each level chosen from public numbers; the sensitivity is that of
`interval_strategy`. All else is post-processing.

**Model.** The posterior mean of each column's cells (`mw.halving`). The joint distribution is the nearest to
uniform that has these columns: their product on the full domain, and on a support what iterative
proportional fitting comes to.

**Error.** A range has an unbiased estimate with known noise; the model's answer is public, so their
difference is public too: it bounds |answer - truth|, for each range, with probability 95 % (`error_bounds`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from fastmwem.mw.halving import halving_posterior
from fastmwem.mw.loop import Progress
from fastmwem.privacy.calibrate import calibrate_gaussian
from fastmwem.privacy.events import gaussian, repeated
from fastmwem.privacy.ledger import Ledger
from fastmwem.privacy.randomness import Randomness
from fastmwem.problems.direct import noisy
from fastmwem.problems.error_bounds import answer_bounds
from fastmwem.problems.interval_strategy import IntervalStrategy, level_shares, level_signals
from fastmwem.problems.method import Outcome, Prediction, PrivateData, Problem, check_cells
from fastmwem.queries.base import FloatArray, Queries
from fastmwem.queries.ranges import Intervals
from fastmwem.queries.union import Union, Weighted

__all__ = ["DirectRanges"]

_SWEEPS = 30  # of proportional fitting on a support
_WORST = 4.0  # the worst of all ranges, in deviations of a prefix: measured on benchmark tables


@dataclass(frozen=True)
class DirectRanges:
    """One measurement per ordered column; applies to ranges, prefixes and unions of them."""

    name = "direct"

    def noise(self, problem: Problem, columns: int) -> float:
        """The noise multiplier of each column's measurement."""
        return calibrate_gaussian(problem.budget, columns, accountant=problem.accountant).noise_multiplier

    def predict(self, problem: Problem) -> Prediction | None:
        """What the measurements leave open of a prefix, times what the worst of all ranges comes to."""
        if problem.n is None or _intervals(problem.workload) is None:
            return None
        columns = _columns(problem.workload)
        signal = _signal(problem, self.noise(problem, len(columns)))
        widest = max(_left_open(column.length, signal) for column in columns.values())
        reach = _WORST * widest / signal
        largest = reach / (1.0 + 3.0 * reach)  # against n it saturates: what is fitted is a histogram
        return Prediction(
            self.name,
            largest,
            largest / 4.0,
            rounds=len(columns),
            seconds=1e-6 * problem.cells + 2e-7 * problem.workload.m,
            bytes=100 * problem.cells + 60 * problem.workload.m,
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
        noise = self.noise(problem, len(columns))
        ledger.authorise(repeated(gaussian(noise), len(columns)))
        strategies = [IntervalStrategy(part, problem.unit, _signal(problem, noise)) for part in parts]
        of_axis = {strategy.workload.axis: strategy for strategy in strategies}
        measured: dict[int, FloatArray] = {}
        for done, (axis, strategy) in enumerate(of_axis.items(), start=1):
            exact = strategy.measure(data)
            ledger.record(gaussian(noise))
            measured[axis] = noisy(exact, noise * strategy.std, randomness)
            if progress is not None:
                progress(done, len(columns))
        total = max(1.0, float(np.mean([values[0] for values in measured.values()])))
        lines = {
            axis: halving_posterior(strategy.haar, measured[axis][1:], noise * strategy.std[1:], total)
            for axis, strategy in of_axis.items()
        }
        p = _joint(columns, lines, problem.cells)
        bounds = [
            answer_bounds(
                total * strategy.workload.answers(p),
                strategy.estimates(measured[strategy.workload.axis]),
                noise * strategy.spread,
            )
            for strategy in strategies
        ]
        return Outcome(
            distribution=p,
            total=total,
            bounds=np.minimum(np.concatenate(bounds) / total, 1.0),
            bound_kind="holds for each answer with probability 95 %",
            details={"rounds": len(columns), "noise_multiplier": noise},
        )


def _signal(problem: Problem, noise: float) -> float:
    """The rows (or a public guess of them) over the noise of one, for `interval_strategy`."""
    return math.inf if problem.n is None else problem.n / (noise * problem.unit.rows_per_person)


def _left_open(length: int, signal: float) -> float:
    """The deviation of a prefix once all levels are measured, in units of the noise multiplier."""
    levels = math.ceil(math.log2(length))
    each = 1.0 / (1.0 / level_signals(levels, signal) + level_shares(levels, signal))
    return 0.5 * math.sqrt(float(each.sum()))


def _joint(columns: Mapping[int, Intervals], lines: Mapping[int, FloatArray], cells: int) -> FloatArray:
    """The nearest to uniform of all distributions with these columns (`lines`, of any sum).

    One sweep of proportional fitting ends at the product where the support is the full domain.
    """
    p = np.full(cells, 1.0 / cells)
    placed = next(iter(columns.values())).records is not None
    for _ in range(_SWEEPS if placed and len(columns) > 1 else 1):
        for axis, line in lines.items():
            held = columns[axis].project(p)
            p *= columns[axis].spread(np.divide(line, held, out=np.zeros_like(line), where=held > 0))
            mass = float(p.sum())
            p = p / mass if mass > 0 else np.full(cells, 1.0 / cells)
    return p


def _intervals(workload: Queries) -> list[Intervals] | None:
    """The parts of `workload`, in order, if all are intervals of two cells or more (any weights)."""
    if isinstance(workload, Union):
        found = [_intervals(part) for part in workload.parts]
        return None if None in found else [part for some in found if some for part in some]
    if isinstance(workload, Weighted):
        return _intervals(workload.inner)
    return [workload] if isinstance(workload, Intervals) and workload.length > 1 else None


def _columns(workload: Queries) -> dict[int, Intervals]:
    """One interval workload per axis."""
    return {part.axis: part for part in _intervals(workload) or []}
