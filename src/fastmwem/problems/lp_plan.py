"""Plans: what a private linear program will cost and promise, said before the private numbers are touched."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field

from fastmwem.errors import InvalidArgument, check_choice, check_positive, check_whole
from fastmwem.index.tail import Tail
from fastmwem.mw.hedge import fixed_step, regret_bound
from fastmwem.privacy.budget import Budget
from fastmwem.problems.lp_bounds import best_rounds, gaussian_tail, kappa, selection_error
from fastmwem.problems.scalar_problem import ScalarProblem

__all__ = ["CERTIFICATE_SHARE", "SCHEDULES", "LPPlan", "Rehearsal", "ScalarPlan", "plan_scalar_problem"]

SCHEDULES = ("calibrated", "paper")
METHODS = ("auto", "mw", "gaussian")
CERTIFICATE_SHARE = 0.1  # of the budget, counted in zCDP, where certificates are bought
_MOST_ROUNDS = 100_000
# Rounds in units of T*, where the promise is (2 + 1/2)/2 = 1.25 times the least one: the violation that is
# seen falls by a tenth from T* to 10 T*, as the average iterate then leans less on single picks.
_ROUNDS = 4.0
# How many times looser the game's promise is than that of noise on b: where promises differ by so much, both
# violate rows as much (measured over dense and sparse rows, 10 to 2,560 of them, Delta = 1e-4 and 1e-2).
_LOOSER = 4.0


@dataclass(frozen=True)
class Rehearsal:
    """The largest violation on made-up right-hand sides (medians): of the plan's answer, and of uniform x."""

    violation: float
    uniform: float

    @property
    def useful(self) -> bool:
        return self.violation < 0.8 * self.uniform


class LPPlan:
    """How plans show themselves: the verdict, then what it stands on."""

    @property
    @abstractmethod
    def verdict(self) -> str: ...

    @property
    @abstractmethod
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What is planned, in words, a name and a value each."""

    def __str__(self) -> str:
        return "\n".join([self.verdict, *(f"  {name}: {value}" for name, value in self.facts)])

    def _repr_html_(self) -> str:
        from fastmwem.results.lp_report import plan_cell

        return plan_cell(self.verdict, self.facts)


@dataclass(frozen=True)
class ScalarPlan(LPPlan):
    """A scalar-private run before it starts: everything here is public.

    `alpha` is what `method` promises at 1 - beta if the program is feasible in `region`; `mw_alpha` and
    `gaussian_alpha` compare the two. `uniform_alpha` is what the uniform x keeps to without looking at b:
    a plan whose `alpha` is no better is `useful` only if its rehearsal is. `selection` is what the picks may
    cost of `alpha`, `objective_slack` what c.x may then miss OPT by, where c.x >= OPT (or <=) is a row.
    """

    method: str
    region: str
    rows: int
    dim: int
    half_range: float
    score_range: float
    rounds: int
    eta: float | None
    eps0: float
    probes: int
    certificates: int
    noise_multiplier: float
    beta: float
    selection: float
    mw_alpha: float
    gaussian_alpha: float
    uniform_alpha: float
    objective_slack: float | None
    schedule: str
    accountant: str
    rehearsal: Rehearsal | None = field(default=None, compare=False)

    @property
    def alpha(self) -> float:
        """The largest violation that is promised, with probability 1 - beta."""
        return self.gaussian_alpha if self.method == "gaussian" else self.mw_alpha

    @property
    def promising(self) -> bool:
        """Whether the promise is better than what uniform x keeps to."""
        return self.alpha < self.uniform_alpha

    @property
    def useful(self) -> bool:
        """Whether the answer can be expected to be better than uniform x."""
        return self.promising or (self.rehearsal is not None and self.rehearsal.useful)

    @property
    def verdict(self) -> str:
        """What to expect, for whoever decides whether to spend the budget."""
        kept = (
            f"with probability {1 - self.beta:g} no row of a feasible program is violated by more than "
            f"{self.alpha:.3g} (uniform x: {self.uniform_alpha:.3g})"
        )
        shown = ""
        if self.rehearsal is not None:
            seen, uniform = self.rehearsal.violation, self.rehearsal.uniform
            shown = f" On made-up right-hand sides it came to {seen:.3g} (uniform x: {uniform:.3g})."
        if self.promising:
            return f"{self.method}: {kept}.{shown}"
        if self.useful:
            return f"{self.method}: better than its promise, which is that {kept}.{shown}"
        return (
            "the answer will be no better than uniform x, which looks at no private number: "
            f"{self.method} promises that {kept}.{shown} Lower the sensitivity, or spend a larger epsilon."
        )

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        rounds = f"{self.rounds:,}" + (f" for each of {self.probes} values of OPT" if self.probes > 1 else "")
        game = (
            ("rounds T", rounds),
            ("eps0 of a round", f"{self.eps0:.4g}"),
            ("step", "self-tuned" if self.eta is None else f"{self.eta:.4g}"),
        )
        slack = self.objective_slack
        return (
            ("method", "the game" if self.method == "mw" else "Gaussian noise on b, then HiGHS"),
            ("where x is sought", self.region),
            ("rows and columns, reduced to that", f"{self.rows:,} and {self.dim:,}"),
            *(game if self.method == "mw" else ()),
            ("the game promises", f"{self.mw_alpha:.4g}"),
            ("noise on b promises", f"{self.gaussian_alpha:.4g}"),
            ("uniform x keeps to", f"{self.uniform_alpha:.4g}"),
            *(() if slack is None else (("c.x may miss OPT by", f"{slack:.4g}"),)),
            ("each with probability", f"{1 - self.beta:g}"),
        )


def plan_scalar_problem(
    problem: ScalarProblem,
    budget: Budget,
    *,
    method: str,
    rounds: int | str,
    step: str,
    schedule: str,
    target: float | None,
    probes: int,
    certificates: int,
    beta: float,
    tail: Tail,
    accountant: str,
) -> ScalarPlan:
    """The plan for `problem`, from its public part: rows, sensitivities, ranges."""
    check_choice("method", method, METHODS)
    check_choice("schedule", schedule, SCHEDULES)
    check_choice("step", step, ("adaptive", "fixed"))
    rows, dim, half = problem.queries.m, problem.queries.dim, problem.half_range
    if dim < 2:
        raise InvalidArgument("A_ub must have at least two columns: with one there is nothing to choose.")
    paper = schedule == "paper"
    width = problem.width
    total = _rounds(problem, budget, rounds, paper, target, width, probes)
    if half == 0:
        eta = None
    elif paper:
        eta = math.sqrt(math.log(dim) / total) / width
    else:
        eta = fixed_step(half, dim, total) if step == "fixed" else None
    printed = (
        budget.epsilon / math.sqrt(8.0 * total * probes * math.log(1.0 / budget.delta)) if paper else None
    )
    eps0, noise_multiplier = calibrated(budget, total, probes, certificates, printed, tail, accountant)
    # Any of the probes may become the answer, so each keeps its promise with 1 - beta/probes.
    selection = selection_error(rows, problem.score_range, eps0, total, beta / probes, tail.slip)
    mw_alpha = regret_bound(eta, half, dim, total) + selection
    gaussian_alpha = _gaussian_alpha(problem, budget, beta)
    if method == "auto":
        # A search is another matter: noise on b needs none.
        better = gaussian_alpha * (_LOOSER if probes == 1 else 1.0) < mw_alpha
        method = "gaussian" if better and not paper else "mw"
    alpha = gaussian_alpha if method == "gaussian" else mw_alpha
    return ScalarPlan(
        method=method,
        region=problem.region,
        rows=rows,
        dim=dim,
        half_range=half,
        score_range=problem.score_range,
        rounds=total,
        eta=eta,
        eps0=eps0,
        probes=probes,
        certificates=certificates,
        noise_multiplier=noise_multiplier,
        beta=beta,
        selection=selection,
        mw_alpha=mw_alpha,
        gaussian_alpha=gaussian_alpha,
        uniform_alpha=problem.uniform_violation,
        objective_slack=None if method == "gaussian" and probes > 1 else problem.objective_slack(alpha),
        schedule=schedule,
        accountant=accountant,
    )


def calibrated(
    budget: Budget,
    rounds: int,
    probes: int,
    certificates: int,
    printed: float | None,
    tail: Tail,
    accountant: str,
) -> tuple[float, float]:
    """eps0 and the certificates' noise multiplier (infinite without any) that fill the budget.

    `printed` is the eps0 of a formula in the paper, taken instead where the budget truly allows it. `tail`
    says what a pick, and each of the `probes`, costs beyond eps0.
    """
    from fastmwem.privacy.calibrate import calibrate_rounds

    for _ in range(probes):
        budget = tail.left(budget)
    share = 1.0 - CERTIFICATE_SHARE if certificates else None
    bought = calibrate_rounds(
        budget, rounds * probes, accountant=accountant, gaussians=certificates, share=share
    )
    eps0 = tail.eps0(bought.eps0)
    return eps0 if printed is None else min(printed, eps0), bought.noise_multiplier


def _rounds(
    problem: ScalarProblem,
    budget: Budget,
    rounds: int | str,
    paper: bool,
    target: float | None,
    width: float,
    probes: int,
) -> int:
    if rounds != "auto":
        return check_whole("rounds", rounds, fix="give a number of rounds or 'auto'")
    dim = problem.queries.dim
    if paper:
        if target is None:
            raise InvalidArgument(
                "alpha must be given with schedule='paper': its T is 9 rho^2 ln(d)/alpha^2."
            )
        return math.ceil(9.0 * width**2 * math.log(dim) / check_positive("alpha", target) ** 2)
    regret = problem.half_range * math.sqrt(2.0 * math.log(dim))
    best = best_rounds(regret, problem.queries.m, problem.score_range, kappa(budget) / math.sqrt(probes))
    return int(min(max(1.0, math.ceil(_ROUNDS * best)), _MOST_ROUNDS))


def _gaussian_alpha(problem: ScalarProblem, budget: Budget, beta: float) -> float:
    """Noise w on b, then the z of least violation t against b + w.

    t <= game value + max(-w) and row_i z - b_i <= w_i + t, so the violation is at most the game value plus
    twice the largest |w_i|. The noise is sized by |b - b'|_2 <= |moves|_2.
    """
    private = problem.moves[problem.moves > 0]
    deviation = float((private**2).sum() ** 0.5) * 2.0 / kappa(budget)
    return 2.0 * gaussian_tail(len(private), deviation, beta)
