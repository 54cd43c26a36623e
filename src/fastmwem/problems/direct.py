"""`direct`: measure the whole workload once with Gaussian noise, then fit the maximum-entropy model.

One Gaussian mechanism. What is measured and how precisely is a `Strategy`, public: interactions for
marginals, wavelets for intervals of a column, the queries themselves otherwise, side by side for a union.
The released answers are those of the model: non-negative, consistent, and nearer to the truth than the
measurements.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fastmwem.errors import InvalidArgument
from fastmwem.mw.loop import Progress
from fastmwem.mw.maxent import Evidence
from fastmwem.mw.maxent_stages import staged_maximum_entropy
from fastmwem.privacy.budget import Unit
from fastmwem.privacy.calibrate import calibrate_gaussian
from fastmwem.privacy.events import gaussian
from fastmwem.privacy.ledger import Ledger
from fastmwem.privacy.noise import add_gaussian
from fastmwem.privacy.randomness import Randomness
from fastmwem.problems.error_bounds import answer_bounds
from fastmwem.problems.interval_strategy import IntervalStrategy
from fastmwem.problems.marginal_strategy import MarginalStrategy
from fastmwem.problems.method import Outcome, Prediction, PrivateData, Problem, check_cells
from fastmwem.problems.strategy import Joint, QueryStrategy, Strategy
from fastmwem.queries.base import FloatArray, Queries
from fastmwem.queries.marginals import Marginals
from fastmwem.queries.ranges import Intervals
from fastmwem.queries.union import Union, Weighted

__all__ = ["Direct", "evidence_stages", "noisy", "strategy_for"]

_MOST_ROWS = 200_000  # of a generic workload: more measurements than this are neither precise nor quick


@dataclass(frozen=True)
class Direct:
    """Measure everything at once: best for few or structured queries and many people."""

    name = "direct"

    def predict(self, problem: Problem) -> Prediction | None:
        """From the noise of the unbiased estimates, by what the fit was found to leave of it."""
        if problem.n is None or (_generic_rows(problem.workload) > _MOST_ROWS):
            return None
        strategy = strategy_for(problem)
        noise = calibrate_gaussian(problem.budget, accountant=problem.accountant).noise_multiplier
        deviation = strategy.spread * (noise / problem.n)
        largest, typical = float(deviation.max()), float(deviation.mean())
        held = _mean_answer(problem.workload)
        # What non-negativity and entropy leave of the noise depends on how an average answer compares
        # with it: constants fitted to marginals and ranges of public tables, n = 1,000 .. 50,000. Where
        # noise drowns everything the model is nearly uniform, whose own error is about a quarter.
        ratio = held / typical
        deviations = math.sqrt(2 * math.log(max(problem.workload.m, 2)))
        shrunk = min(1.0, 0.55 * ratio**0.09)
        generic = _generic_rows(problem.workload)
        if generic:  # far fewer queries than cells can all be met, noise and all
            shrunk **= min(1.0, 3 * generic / problem.cells)
        reach = largest * deviations * shrunk
        return Prediction(
            self.name,
            reach / math.hypot(1, 4 * reach),
            min(1.0, 0.7 * typical * min(1.0, 0.17 * ratio**0.37)),
            rounds=1,
            seconds=2e-5 * problem.cells + 1e-7 * problem.workload.m + 1e-6 * problem.cells * generic,
            bytes=64 * problem.cells + 64 * problem.workload.m,
        )

    def run(
        self,
        problem: Problem,
        data: PrivateData,
        ledger: Ledger,
        randomness: Randomness,
        progress: Progress | None = None,
    ) -> Outcome:
        """One Gaussian mechanism, one fit."""
        check_cells(problem.cells)
        strategy = strategy_for(problem)
        noise = calibrate_gaussian(problem.budget, accountant=problem.accountant).noise_multiplier
        event = gaussian(noise)
        ledger.authorise(event)
        exact = strategy.measure(data)
        ledger.record(event)
        std = noise * strategy.std
        values = noisy(exact, std, randomness)
        total = max(1.0, float(values[0]))
        fit = staged_maximum_entropy(
            evidence_stages(strategy, values / total, std / total), shrinkage=strategy.shrinkage
        )
        answers = total * problem.workload.answers(fit.p)
        bounds = answer_bounds(answers, strategy.estimates(values), noise * strategy.spread) / total
        if progress is not None:
            progress(1, 1)
        return Outcome(
            distribution=fit.p,
            total=total,
            bounds=np.minimum(bounds, 1.0),
            bound_kind="holds for each answer with probability 95 %",
            details={
                "rounds": 1,
                "measurements": int(values.size),
                "gap": fit.gap,
                "noise_multiplier": noise,
            },
        )


def noisy(exact: FloatArray, std: FloatArray, randomness: Randomness) -> FloatArray:
    """`exact` (private) plus Gaussian noise of deviation `std` each; where that is 0, as it is."""
    values = exact.copy()
    for level in np.unique(std[std > 0]):  # a public grid goes with each size of noise
        same = std == level
        values[same] = add_gaussian(exact[same], float(level), randomness)
    return values


def strategy_for(problem: Problem) -> Strategy:
    """What to measure for the workload of `problem`; looks at nothing private."""
    asked = problem.workload if problem.asked is None else problem.asked
    return _strategy(asked, problem.workload, problem.unit, None)


def _strategy(asked: Queries, placed: Queries, unit: Unit, weights: FloatArray | None) -> Strategy:
    """By kind of workload; `asked` is it on the private table's cells, `placed` on the model's support."""
    if isinstance(asked, Weighted) and isinstance(placed, Weighted):
        return _strategy(asked.inner, placed.inner, unit, asked.importance)
    if isinstance(asked, Union) and isinstance(placed, Union):
        pairs = zip(asked.parts, placed.parts, strict=True)
        return Joint([_strategy(a, p, unit, None) for a, p in pairs])
    if isinstance(placed, Marginals) and max(placed.sizes) > 1:
        return MarginalStrategy(placed, unit, weights)
    if isinstance(placed, Intervals) and placed.length > 1:
        return IntervalStrategy(placed, unit)
    if asked.m > _MOST_ROWS:
        raise InvalidArgument(
            f"method 'direct' measures each of these {asked.m:,} queries, which are too many: use 'mwem'."
        )
    return QueryStrategy(asked, placed, unit)


def evidence_stages(strategy: Strategy, values: FloatArray, std: FloatArray) -> list[list[Evidence]]:
    """The measurements as evidence for a fit, coarse first; `values` and `std` are fractions of the total."""
    if isinstance(strategy, Joint):
        parts = [
            evidence_stages(part, values[a:b], std[a:b])
            for part, a, b in zip(strategy.parts, strategy.bounds, strategy.bounds[1:], strict=False)
        ]
        deepest = max(len(stages) for stages in parts)
        return [[p for stages in parts for p in stages[min(j, len(stages) - 1)]] for j in range(deepest)]
    return [
        [Evidence(map_, values[1 : 1 + rows], std[1 : 1 + rows], _mean_square(map_))]
        for map_, rows in strategy.stages
    ]


def _mean_square(map_: object) -> FloatArray | None:
    known = getattr(map_, "mean_square", None)
    return None if known is None else known()


def _generic_rows(workload: Queries) -> int:
    """How many queries would have to be measured one by one."""
    if isinstance(workload, Weighted):
        return _generic_rows(workload.inner)
    if isinstance(workload, Union):
        return sum(_generic_rows(part) for part in workload.parts)
    return 0 if isinstance(workload, Marginals | Intervals) else workload.m


def _mean_answer(workload: Queries) -> float:
    """The mean answer of the uniform distribution."""
    return float(workload.answers(np.full(workload.dim, 1.0 / workload.dim)).mean())
