"""What MWEM will do, from public numbers only: the error model behind `plan` and `auto`.

The theory's shape with measured constants. With a = h sqrt(2 ln d) (h half the range of a score, d cells)
and b = R (ln 2m + 1)/(eps0 sqrt(T)), the bound is a/sqrt(T) + b sqrt(T), least at 2 sqrt(ab). What happens is
smaller in both parts, and does not rise again with T, because the noise of T picks averages out:

    max error = hypot(.13 sqrt(ln d / T), .16 s * 2 sqrt(ab)), mean error = max error / 3.5.

s = .86 + .53 `independence` of the queries: where they are alike, a pick of one corrects others, too.
Fitted to the paper's workload (m = 1,000 .. 1e5, n = 500 .. 1e5, T = 500 .. 2e4; s = 1) and to random halves
of 1,000 and 2,000 cells (m = 1,000 .. 1e5, n = 2,000 and 20,000; s = 1.3). A wrong constant costs error or
time, never privacy.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fastmwem.errors import InvalidArgument
from fastmwem.privacy.calibrate import rho
from fastmwem.problems.method import Prediction, Problem
from fastmwem.queries.base import Queries

if TYPE_CHECKING:
    from fastmwem.problems.mwem import Mwem

__all__ = ["best_rounds", "independence", "predict_mwem"]

_OPTIMISATION, _FLOOR, _MEAN = 0.13, 0.16, 3.5
_ALIKE, _APART = 0.86, 0.53  # s
_SAMPLED = 256  # queries, and at most 16 times as many cells
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


def independence(workload: Queries) -> float:
    """From 0 (all queries alike, up to a sign and a constant) to 1 (orthogonal once centred).

    It is (r - 1)/(k - 1) for the effective rank r = (tr G)^2 / |G|_F^2 of the correlations G of k of the
    queries on some of the cells, always the same ones. Public.

    >>> from fastmwem.queries.binary import Binary
    >>> independence(Binary(np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1]])))
    1.0
    >>> independence(Binary(np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1]])))
    0.0
    """
    count = min(workload.m, _SAMPLED)
    seen = np.linspace(0, workload.dim - 1, min(workload.dim, 16 * _SAMPLED)).astype(np.int64)
    rows, whole = np.empty((count, len(seen))), np.zeros(workload.dim)
    for row, i in zip(rows, np.linspace(0, workload.m - 1, count).astype(np.int64), strict=True):
        cells, values = workload.row(int(i))
        whole[cells] = values
        row[:] = whole[seen]
        whole[cells] = 0.0
    rows -= rows.mean(axis=1, keepdims=True)
    norms = np.sqrt((rows * rows).sum(axis=1))
    rows = rows[norms > 0] / norms[norms > 0, None]
    if len(rows) < 2:
        return 0.0
    correlations = rows @ rows.T
    rank = len(rows) ** 2 / float((correlations * correlations).sum())
    return max(0.0, round((rank - 1) / (len(rows) - 1), 12))


def predict_mwem(problem: Problem, method: Mwem, rounds: int) -> Prediction:
    """The model above at T = `rounds`."""
    optimisation = _OPTIMISATION * math.sqrt(math.log(max(problem.cells, 2)) / rounds)
    floor = _floor(problem) * (_ALIKE + _APART * independence(problem.workload))
    largest = min(1.0, math.hypot(optimisation, floor))
    return Prediction(
        method.name,
        largest,
        largest / _MEAN,
        rounds=rounds,
        seconds=rounds * _round_seconds(problem),
        bytes=64 * problem.cells + 56 * problem.workload.m,
    )
