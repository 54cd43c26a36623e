r"""The optimal value, privately: by bisection over a public grid, or by one noisy logarithm.

**Bisection.** Whether a value is attainable is monotone in the value, so ceil(log2(|grid| + 1)) probes decide
between the grid's values and "none of them". Each probe is a whole private run with a bought certificate,
each is charged, and always that many are made: their number must not depend on private rows. The answer is
one of the probes', chosen by what the probes showed, so what is promised of it with probability 1 - beta is
promised of each with 1 - beta/probes.

**One logarithm** (scalar-private, every b_i >= b_min > 0). If |b - b'|_inf <= Delta then b' <= b + Delta
<= (1 + r) b with r = Delta/b_min, so x feasible for b' makes x/(1 + r) feasible for b, and OPT(b) >=
OPT(b')/(1 + r); by symmetry |ln OPT - ln OPT'| <= ln(1 + r). A private b is first raised to b_min where it
is below (and cut to 1e9 b_min above, where no solver is exact), which brings neighbours no farther apart:
b' <= (1 + r) b holds of the clipped ones too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np

from fastmwem.errors import InvalidArgument, check_positive, warn_if_read_off
from fastmwem.lp.baseline import optimum
from fastmwem.lp.program import Matrix, as_matrix, as_vector
from fastmwem.mw.loop import Progress
from fastmwem.privacy.noise import add_laplace
from fastmwem.privacy.randomness import Randomness
from fastmwem.queries.base import FloatArray
from fastmwem.results.lp_result import Certificate, Probe

__all__ = [
    "EstimatedOpt",
    "bisect",
    "check_grid",
    "estimate_opt",
    "log_opt_sensitivity",
    "probes_needed",
    "search",
    "stage",
]

# HiGHS keeps rows and reduced costs to 1e-7. In the units of `_scaled`, b >= 1 and OPT >= 1, so ln OPT is off
# by little more: with duals y the first costs at most 1e-7 sum y <= 1e-7 b.y = 1e-7 OPT, and the second at
# most 1e-7 sum x, which is 1e-7 OPT where c > 0.
_SOLVER = 1e-5
_LARGEST = 1e9  # b beyond this many times b_min is cut to it: HiGHS would keep it inexactly, or not at all


def probes_needed(grid: Sequence[float] | FloatArray) -> int:
    """ceil(log2(|grid| + 1)).

    >>> probes_needed([1.0, 2.0, 3.0])
    2
    """
    return math.ceil(math.log2(len(grid) + 1))


def check_grid(grid: Any) -> FloatArray:
    """`grid` as rising finite numbers."""
    values = as_vector("opt_grid", grid, np.size(grid))
    if len(values) < 1 or (np.diff(values) <= 0).any():
        raise InvalidArgument("opt_grid must hold at least one value, in rising order: it is public.")
    return values


def bisect(grid: FloatArray, probe: Callable[[float], bool], maximise: bool) -> float | None:
    """The best value that `probe` accepts, by always `probes_needed(grid)` probes; None if it accepts none.

    The grid is walked from easy to hard (upwards if `maximise`), its hardest value repeated until there are
    2^k - 1 entries, so that every path through the bisection has the same length.
    """
    ordered = grid if maximise else grid[::-1]
    count = probes_needed(grid)
    accepted, refused = -1, 2**count - 1  # positions in the padded grid
    for _ in range(count):
        middle = (accepted + refused) // 2
        if probe(float(ordered[min(middle, len(ordered) - 1)])):
            accepted = middle
        else:
            refused = middle
    return None if accepted < 0 else float(ordered[min(accepted, len(ordered) - 1)])


class Probed(Protocol):
    """What a probe of `search` gives back."""

    @property
    def certificate(self) -> Certificate | None: ...


Answer = TypeVar("Answer", bound=Probed)


def search(
    grid: FloatArray, solve: Callable[[float], Answer], tolerance: float, maximise: bool
) -> tuple[float | None, tuple[Probe, ...], Answer]:
    """Bisection by runs of `solve`: a value is accepted if its noisy certificate is at most `tolerance`.

    The value found, all probes, and the answer of that value; where none was accepted, of the easiest.
    """
    tried: list[tuple[Probe, Answer]] = []

    def probe(opt: float) -> bool:
        answer = solve(opt)
        assert answer.certificate is not None
        tried.append((Probe(opt, answer.certificate, answer.certificate.value <= tolerance), answer))
        return tried[-1][0].accepted

    found = bisect(grid, probe, maximise)
    # The hardest value may have been tried twice: the answer is of a probe that was accepted.
    good = tried[-1:] if found is None else [pair for pair in tried if pair[0].accepted]
    answer = next(a for p, a in reversed(good) if found is None or p.opt == found)
    return found, tuple(p for p, _ in tried), answer


def stage(progress: Progress | None, done: int, stages: int) -> Progress | None:
    """`progress` of a run that is number `done` of `stages` equally long ones."""
    if progress is None:
        return None
    return lambda t, rounds: progress(done * rounds + t, stages * rounds)


@dataclass(frozen=True)
class EstimatedOpt:
    """A private estimate of OPT; the truth lies in `low` to `high` with probability .95.

    `epsilon` is what it cost: infinite if the randomness was seeded.
    """

    value: float
    low: float
    high: float
    epsilon: float


def log_opt_sensitivity(sensitivity: float, rhs_lower: float) -> float:
    """ln(1 + Delta/b_min): how far ln OPT may move (see the module), and the solver's own tolerance."""
    return math.log1p(sensitivity / rhs_lower) + _SOLVER


def estimate_opt(
    A_ub: Any,
    b_ub: Any,
    *,
    c: Any,
    rhs_lower: float,
    sensitivity: float,
    epsilon: float,
    randomness: Randomness | None = None,
) -> EstimatedOpt:
    """OPT of max c.x, A_ub x <= b_ub, x >= 0 with private b_ub >= `rhs_lower` > 0: `epsilon`-DP.

    Laplace noise of scale ln(1 + Delta/b_min)/epsilon on ln OPT. Give `low` as `opt` to
    `solve_scalar_private` with what is left of the budget: the two epsilons add up.

    >>> estimate_opt([[1.0]], [2.0], c=[1.0], rhs_lower=1, sensitivity=1e-9, epsilon=100).value > 1.99
    True
    """
    rows = as_matrix("A_ub", A_ub)
    cost = as_vector("c", c, rows.shape[1])
    rhs = as_vector("b_ub", b_ub, rows.shape[0])
    least = check_positive("rhs_lower", rhs_lower, "a public lower bound on every entry of b")
    warn_if_read_off("rhs_lower", least)
    moves = log_opt_sensitivity(check_positive("sensitivity", sensitivity), least)
    if not (cost > 0).any():
        raise InvalidArgument("c must be above 0 somewhere, or the optimum is 0 whatever b is.")
    rows, cost, unit = _scaled(rows, cost)
    scale = moves / check_positive("epsilon", epsilon)
    randomness = Randomness.private() if randomness is None else randomness
    value = optimum(cost, rows, np.clip(rhs / least, 1.0, _LARGEST), maximise=True)
    exact = math.log(max(1.0 if value is None else value, 1.0))
    noisy = math.log(unit * least) + float(add_laplace(exact, scale, randomness))
    reach = scale * math.log(20.0)  # P(|Laplace| > scale ln 20) = 1/20
    spent = float(epsilon) if randomness.is_private else math.inf
    with np.errstate(over="ignore"):
        value, low, high = np.exp([noisy, noisy - reach, noisy + reach]).tolist()
    return EstimatedOpt(value, low, high, spent)


def _scaled(rows: Matrix, cost: FloatArray) -> tuple[Matrix, FloatArray, float]:
    """Rows and costs for x'_j = |c_j| x_j / unit; `unit`: the best c.x that one x_j reaches alone for b = 1.

    All public. Costs are then 1, -1 or 0, the optimum is at least 1 for b >= 1, and a column of cost 1 has an
    entry of at least 1, which the solver does not take for 0.
    """
    peaks = rows.max(axis=0)
    peaks = peaks.toarray().ravel() if hasattr(peaks, "toarray") else peaks
    wanted = cost > 0
    if (peaks[wanted] > 0).all():
        unit = float((cost[wanted] / peaks[wanted]).max())
        scale = np.divide(unit, np.abs(cost), out=np.ones_like(cost), where=cost != 0)
        scaled = rows.multiply(scale).tocsr() if hasattr(rows, "tocsr") else rows * scale
        # x = 0 is feasible for all b > 0, so that the program is bounded for all of them or for none.
        if optimum(np.sign(cost), scaled, np.ones(rows.shape[0]), maximise=True) is not None:
            return scaled, np.sign(cost), unit
    raise InvalidArgument("A_ub and c leave c.x unbounded: add rows that bound it.")
