"""The plan of a constraint-private run, from public numbers alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fastmwem.errors import InvalidArgument, check_choice, check_positive, check_whole, warn_if_read_off
from fastmwem.index.tail import Tail
from fastmwem.lp.program import as_vector
from fastmwem.mw.schedule import paper_epsilon
from fastmwem.privacy.budget import Budget, Neighbours, Unit
from fastmwem.problems.lp_bounds import best_rounds, kappa, selection_error
from fastmwem.problems.lp_plan import SCHEDULES, LPPlan, calibrated
from fastmwem.queries.base import FloatArray

__all__ = ["ConstraintPlan", "PublicProgram", "make_constraint_plan"]

_MOST_ROUNDS = 100_000
_LARGEST_STEP = 2.0
# The promise is flat about its least, and a pick is noisier the more there are: of the numbers of rounds that
# promise as much to this share, the fewest. (Groceries, T = 47 in the place of 51, 40 seeds: .45 and not .39
# of all baskets are covered in full.)
_NEARLY = 0.001


@dataclass(frozen=True, eq=False)
class PublicProgram:
    """What is public of a constraint-private program: everything but its rows, and bounds on those.

    Packing: max c.x, A_i x <= b_i; covering: min c.x, A_i x >= b_i; x >= 0, 0 <= A_ij <= `upper`_j (`U`) and
    b_lo <= b_i <= b_hi for each person i. `s` rows may be violated, `rows` (n_bar) is at least their number.
    """

    c: FloatArray
    upper: FloatArray
    rhs: tuple[float, float]
    sense: str
    s: float
    rows: int
    unit: Unit

    @classmethod
    def checked(
        cls, c: Any, coef_bounds: Any, rhs_bounds: Any, sense: str, max_violated: Any, rows: Any, unit: Unit
    ) -> PublicProgram:
        """The same from what a user writes, or an error that names the argument."""
        cost = as_vector("c", c, np.size(c))
        if len(cost) < 2 or not (cost > 0).all():
            raise InvalidArgument(
                "c must have at least two entries, all above 0: c.x = opt bounds x through them."
            )
        upper = np.asarray(coef_bounds, dtype=object)
        if upper.ndim and len(upper) == 2 and (len(cost) != 2 or isinstance(coef_bounds, tuple)):
            if not np.all(np.asarray(upper[0], np.float64) == 0):
                raise InvalidArgument(
                    "coef_bounds must start at 0: packing and covering programs have no signed coefficients."
                )
            upper = upper[1]
        upper = as_vector("coef_bounds", np.asarray(upper, np.float64), len(cost))
        if (upper < 0).any() or not (upper > 0).any():
            raise InvalidArgument(
                "coef_bounds must be the largest coefficients, none below 0 and some above."
            )
        with np.errstate(over="ignore"):
            reaches = upper / cost
        if not np.isfinite(reaches).all():
            raise InvalidArgument("c must not be so small that coef_bounds / c is beyond float64.")
        low, high = as_vector("rhs_bounds", rhs_bounds, 2)
        if low > high:
            raise InvalidArgument("rhs_bounds must be (low, high) with low <= high.")
        count = check_whole("n_rows_public", rows, fix="a public number that the rows will not exceed")
        s = check_positive("max_violated", max_violated)
        if s < 1:
            raise InvalidArgument(
                "max_violated must be at least 1: with less, one row would decide everything."
            )
        if s >= count:
            raise InvalidArgument(
                "max_violated must be below n_rows_public: if every row may be violated, nothing is asked."
            )
        check_choice("sense", sense, ("packing", "covering"))
        warn_if_read_off("coef_bounds", upper)
        warn_if_read_off("rhs_bounds", (low, high))
        if unit.neighbours is Neighbours.ADD_REMOVE:  # otherwise the number of rows is public
            warn_if_read_off("n_rows_public", count, digits=3)
        return cls(cost, upper, (float(low), float(high)), sense, s, count, unit)

    @property
    def dim(self) -> int:
        return len(self.c)

    @cached_property
    def density(self) -> float:
        """n_bar / s."""
        return self.rows / self.s

    def reach(self, opt: float) -> float:
        """W = OPT max_j U_j/c_j, the most that A_i x can be for x in {x >= 0, c.x = OPT}."""
        return opt * float((self.upper / self.c).max())

    def violation_range(self, opt: float) -> float:
        """R_w = W + b_hi - b_lo, the range of a row's violation."""
        return self.reach(opt) + self.rhs[1] - self.rhs[0]

    def sensitivity(self, opt: float) -> float:
        """How far the score of a column moves when a person's rows change: W min(k/s, 1), k rows a person.

        One row, added, removed or replaced: let the masses of the odd row be p and p', both in [0, 1/s],
        p >= p' say. The common rows then gain p - p' in all, each of them some (see `dense_projection`), so
        with entries in [0, W] the score changes by at most max(p W, p' W + (p - p') W) = p W <= W/s. k
        rows, one after the other: k W/s; and never more than W, as y is a distribution.
        """
        return self.reach(opt) * min(self.unit.rows_per_person / self.s, 1.0)

    def promise(self, opt: float, u: float, rounds: int, selection: float) -> float:
        """The bound on CVaR_s of a feasible program for eta = u / R_w: the least of two (`dense_weights`).

        A round's best response has mean violation at most `selection`. Any gains: the violation itself,
        selection + R_w (L/(uT) + u/8). One sign: violation - b_hi <= 0 for covering, violation + b_hi >= 0
        for packing, both of range R_w, whose mean under y_t is at most selection -+ b_hi.
        """
        spread, high = self.violation_range(opt), self.rhs[1]
        start = math.log(self.density) / (u * rounds)
        either = selection + spread * (start + u / 8.0)
        if self.sense == "covering":
            return min(either, high + -math.expm1(-u) / u * (selection - high) + spread * start)
        return min(either, math.expm1(u) / u * (selection + high) - high + spread * start)

    def best_step(self, opt: float, rounds: int, selection: float) -> float:
        """eta with the least promise; u = eta R_w stays below 2, where a promise still means something."""
        candidates = np.geomspace(1e-3, _LARGEST_STEP, 400)
        best = min(candidates, key=lambda u: self.promise(opt, float(u), rounds, selection))
        return float(best) / self.violation_range(opt)

    def trivial_alpha(self, opt: float) -> float:
        """What the uniform x, x_j = OPT/(d c_j), keeps to without looking at any row."""
        if self.sense == "covering":
            return self.rhs[1]
        return opt * float((self.upper / self.c).mean()) - self.rhs[0]


@dataclass(frozen=True)
class ConstraintPlan(LPPlan):
    """A constraint-private run before it starts: everything here is public.

    `alpha` bounds, with probability 1 - `beta` and if the program is feasible at `opt`, the mean of the s
    largest violations; fewer than s rows are then violated by more.
    """

    opt: float
    rounds: int
    eta: float
    eps0: float
    sensitivity: float
    probes: int
    certificates: int
    noise_multiplier: float
    alpha: float
    selection: float
    uniform_alpha: float
    beta: float
    schedule: str
    accountant: str

    @property
    def method(self) -> str:
        """The one method there is."""
        return "mw"

    @property
    def useful(self) -> bool:
        """Whether the promise is better than what uniform x keeps to."""
        return self.alpha < self.uniform_alpha

    @property
    def verdict(self) -> str:
        """One sentence for whoever decides whether to spend the budget."""
        if self.useful:
            return (
                f"mw: with probability {1 - self.beta:g} the mean of the largest violations is at most "
                f"{self.alpha:.3g} (uniform x: {self.uniform_alpha:.3g})."
            )
        return (
            f"the promise of {self.alpha:.3g} is no better than the {self.uniform_alpha:.3g} that uniform x "
            "keeps without looking: allow more violated rows, or spend a larger epsilon. The answer may be "
            "better than the promise."
        )

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        rounds = f"{self.rounds:,}" + (f" for each of {self.probes} values of OPT" if self.probes > 1 else "")
        return (
            ("OPT", f"{self.opt:.6g}"),
            ("rounds T", rounds),
            ("eps0 of a round", f"{self.eps0:.4g}"),
            ("step", f"{self.eta:.4g}"),
            ("a person moves a score by", f"{self.sensitivity:.4g}"),
            ("mean of the largest violations, promised", f"{self.alpha:.4g}"),
            ("uniform x keeps to", f"{self.uniform_alpha:.4g}"),
            ("each with probability", f"{1 - self.beta:g}"),
        )


def make_constraint_plan(
    public: PublicProgram,
    opt: float,
    budget: Budget,
    *,
    widest: float,
    rounds: int | str,
    schedule: str,
    target: float | None,
    probes: int,
    certificates: int,
    beta: float,
    tail: Tail,
    accountant: str,
) -> ConstraintPlan:
    """The plan for one value of OPT; T and eps0 are those of the `widest` value that will be tried."""
    paper = check_choice("schedule", schedule, SCHEDULES) == "paper"
    total = _rounds(public, widest, budget, rounds, paper, target, probes, beta)
    width = max(public.reach(opt) - public.rhs[0], public.rhs[1])
    sensitivity = public.sensitivity(opt)
    printed = None
    if paper:  # sensitivity 3 OPT/(c_min s), never below the true one
        sensitivity = max(sensitivity, 3.0 * opt / (float(public.c.min()) * public.s))
        printed = paper_epsilon(budget.epsilon, budget.delta, total * probes)
    eps0, noise_multiplier = calibrated(budget, total, probes, certificates, printed, tail, accountant)
    # Any of the probes may become the answer, so each keeps its promise with 1 - beta/probes.
    lost = selection_error(public.dim, 2.0 * sensitivity, eps0, total, beta / probes, tail.slip)
    if paper:  # losses (b - A x)/(2 rho)
        eta = math.sqrt(math.log(public.rows) / total) / (2.0 * width)
    else:
        eta = public.best_step(opt, total, lost)
    return ConstraintPlan(
        opt=opt,
        rounds=total,
        eta=eta,
        eps0=eps0,
        sensitivity=sensitivity,
        probes=probes,
        certificates=certificates,
        noise_multiplier=noise_multiplier,
        alpha=public.promise(opt, eta * public.violation_range(opt), total, lost),
        selection=lost,
        uniform_alpha=public.trivial_alpha(opt),
        beta=beta,
        schedule=schedule,
        accountant=accountant,
    )


def _rounds(
    public: PublicProgram,
    opt: float,
    budget: Budget,
    rounds: int | str,
    paper: bool,
    target: float | None,
    probes: int,
    beta: float,
) -> int:
    if rounds != "auto":
        return check_whole("rounds", rounds, fix="give a number of rounds or 'auto'")
    if paper:
        if target is None:
            raise InvalidArgument(
                "alpha must be given with schedule='paper': its T is 36 rho^2 ln(n)/alpha^2."
            )
        width = max(public.reach(opt) - public.rhs[0], public.rhs[1])
        return math.ceil(36.0 * width**2 * math.log(public.rows) / check_positive("alpha", target) ** 2)
    # T* of the bound for any gains, or what serves the tighter promise better, which is never more rounds:
    # too many only buy noise here, as the step cannot be tuned in sight of private losses.
    regret = public.violation_range(opt) * math.sqrt(math.log(public.density) / 2.0)
    noise = 2.0 * public.sensitivity(opt)
    each = kappa(budget) / math.sqrt(probes)
    most = min(max(1.0, best_rounds(regret, public.dim, noise, each)), _MOST_ROUNDS)

    def promised(total: int) -> float:
        lost = selection_error(public.dim, noise, each / math.sqrt(total), total, beta / probes)
        u = public.best_step(opt, total, lost) * public.violation_range(opt)
        return public.promise(opt, u, total, lost)

    totals = sorted({round(total) for total in np.geomspace(max(1.0, most / 10.0), most, 25)})
    promises = [promised(total) for total in totals]
    least = min(promises)
    return next(t for t, p in zip(totals, promises, strict=True) if p <= least + _NEARLY * abs(least))
