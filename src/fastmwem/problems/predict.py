"""What MWEM will do, from public numbers only: the error model behind `plan` and `auto`.

The theory's shape with measured constants. With a = h sqrt(2 ln d) (h half the range of a score, d cells)
and b = R (ln 2m + 1)/(eps0 sqrt(T)), the bound is a/sqrt(T) + b sqrt(T), least at 2 sqrt(ab). What happens is
smaller in both parts, and does not rise again with T, because the noise of T picks averages out:

    max error = hypot(.13 sqrt(ln d / T), .16 * 2 sqrt(ab)), mean error = max error / 3.5,

fitted to the paper's workload (m = 1,000 .. 1e5, n = 500 .. 1e5, T = 500 .. 2e4). A wrong constant costs
error or time, never privacy.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fastmwem.errors import InvalidArgument
from fastmwem.privacy.calibrate import rho
from fastmwem.problems.method import Prediction, Problem

if TYPE_CHECKING:
    from fastmwem.problems.mwem import Mwem

__all__ = ["best_rounds", "predict_mwem"]

_OPTIMISATION, _FLOOR, _MEAN = 0.13, 0.16, 3.5
_MOST_ROUNDS = 20_000
_MOST_SECONDS = 600.0


def _floor(problem: Problem) -> float:
    """The error that no number of rounds goes below."""
    n = public_size(problem)
    weight = problem.largest_weight
    halved = 0.5 if problem.counts else 1.0
    width = 2.0 * halved * weight * problem.unit.rows_per_person / n
    a = weight / 2 * math.sqrt(2 * math.log(max(problem.cells, 2)))
    b = width * (math.log(2 * problem.workload.m) + 1) / math.sqrt(8 * rho(problem.budget))
    return _FLOOR * 2 * math.sqrt(a * b)


def public_size(problem: Problem) -> int:
    """n, or the public guess of it."""
    if problem.n is None:
        raise InvalidArgument(
            "n is missing: where the number of rows is private, give a public guess of it, to plan by."
        )
    return problem.n


def best_rounds(problem: Problem) -> int:
    """T at which the optimisation error is half of the floor: more rounds no longer pay."""
    half = max(_floor(problem) / 2, 1e-6)
    wanted = math.ceil((_OPTIMISATION / half) ** 2 * math.log(max(problem.cells, 2)))
    affordable = int(_MOST_SECONDS / _round_seconds(problem))
    return max(10, min(wanted, _MOST_ROUNDS, max(affordable, 100)))


def _round_seconds(problem: Problem) -> float:
    """A selection evaluates between a few and all of the candidates, or passes over the cells."""
    evaluations = min(problem.workload.m, 1000)
    return 2e-5 + 2e-9 * problem.cells + 1e-9 * evaluations * min(problem.cells, 5000)


def predict_mwem(problem: Problem, method: Mwem, rounds: int) -> Prediction:
    """The model above at T = `rounds`."""
    optimisation = _OPTIMISATION * math.sqrt(math.log(max(problem.cells, 2)) / rounds)
    largest = min(1.0, math.hypot(optimisation, _floor(problem)))
    return Prediction(
        method.name,
        largest,
        largest / _MEAN,
        rounds=rounds,
        seconds=rounds * _round_seconds(problem),
        bytes=64 * problem.cells + 56 * problem.workload.m,
    )
