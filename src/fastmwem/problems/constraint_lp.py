r"""Constraint-private linear programs: every row (A_i, b_i) is a person; c, bounds, s and T are public.

Neighbours: one person's rows are added, removed or replaced. **Privacy.** Given the picks so far, each
log-weight is a function of its own row, so two neighbours hold measures that agree on common rows, and the
score of column j, -<y, A_:j> OPT/c_j (packing; covering: +), moves by at most W/s
(`PublicProgram.sensitivity`). A pick is a column: x_t = (OPT/c_j) e_j is a function of it. Where there are
fewer than s rows, public rows that no x violates fill up to ceil(s); a neighbour then replaces one of
them, which the same bound covers.

**Guarantee.** Let CVaR_s(x) be the largest mean violation over 1/s-dense distributions of rows (the mean of
the s largest violations). With probability 1 - beta,

    CVaR_s(xbar) <= min over {c.x = OPT, x >= 0} of CVaR_s(x) + R_w (ln(n_bar/s)/(uT) + u/8) + selection,

with eta = u/R_w and selection = (2W/(s eps0)) (ln d + Q/T): for every 1/s-dense y,
<y, viol(xbar)> = (1/T) sum_t <y, viol(x_t)> <= (1/T) sum_t <y_t, viol(x_t)> + regret (`dense_weights`),
and x_t is the best response to y_t up to the selection error (`lp_bounds`). `PublicProgram.promise` holds
a second bound for feasible programs. If some x with c.x = OPT violates nothing, fewer than s rows are
violated by more than the right-hand side: s of them would have a larger mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastmwem.errors import InvalidArgument, TooLarge, check_memory, check_positive, check_probability
from fastmwem.index.tail import parse_tail
from fastmwem.lp.people import PeopleRows, clipped_rows
from fastmwem.lp.program import Matrix
from fastmwem.mw.dense_weights import DenseWeights
from fastmwem.mw.loop import Picks, Progress, play
from fastmwem.privacy.budget import Budget, Neighbours, Unit
from fastmwem.privacy.events import gaussian
from fastmwem.privacy.ledger import Ledger
from fastmwem.privacy.noise import add_gaussian
from fastmwem.privacy.randomness import Randomness
from fastmwem.problems.constraint_plan import ConstraintPlan, PublicProgram, make_constraint_plan
from fastmwem.problems.lp_bounds import gaussian_tail
from fastmwem.problems.opt_search import check_grid, probes_needed, search, stage
from fastmwem.problems.scalar_problem import as_queries
from fastmwem.queries.base import Candidates, FloatArray, Queries
from fastmwem.results.guarantee import PrivacyReport
from fastmwem.results.lp_result import Certificate, LPResult, Probe
from fastmwem.select import make_selector
from fastmwem.select.base import ExponentialMechanism

__all__ = ["plan_constraint", "solve_constraint_private"]

# Part of `max_violated` that a noisy count may reach: clear of its noise, and of what the bound allows.
_ACCEPTED = 0.5


def plan_constraint(
    *,
    c: Any,
    opt: float | None = None,
    sense: str = "packing",
    coef_bounds: Any,
    rhs_bounds: Any,
    max_violated: float,
    n_rows_public: int,
    epsilon: float,
    delta: float,
    rows_per_person: int = 1,
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    opt_grid: Any = None,
    rounds: int | str = "auto",
    schedule: str = "calibrated",
    alpha: float | None = None,
    certificate: bool = False,
    beta: float = 0.05,
    tail: Any = None,
    accountant: str = "optimal",
) -> ConstraintPlan:
    """What `solve_constraint_private` will do and promise with the same options, without any row.

    With `opt_grid` the plan is that of its largest value.

    >>> plan = plan_constraint(c=[1.0] * 50, opt=2, sense="covering", coef_bounds=1, rhs_bounds=(1, 1),
    ...                        max_violated=5_000, n_rows_public=100_000, epsilon=1, delta=1e-6)
    >>> plan.useful
    True
    """
    unit = Unit(Neighbours.parse(neighbours), rows_per_person)
    public = PublicProgram.checked(c, coef_bounds, rhs_bounds, sense, max_violated, n_rows_public, unit)
    grid = _grid(opt, opt_grid)
    probes = probes_needed(grid) if opt is None else 1
    return make_constraint_plan(
        public,
        float(grid[-1]),
        Budget(epsilon, delta),
        widest=float(grid[-1]),
        rounds=rounds,
        schedule=schedule,
        target=alpha,
        probes=probes,
        certificates=probes if opt is None or certificate else 0,
        beta=check_probability("beta", beta),
        tail=parse_tail(tail),
        accountant=accountant,
    )


def solve_constraint_private(
    A_ub: Any,
    b_ub: Any,
    *,
    c: Any,
    opt: float | None = None,
    sense: str = "packing",
    coef_bounds: Any,
    rhs_bounds: Any,
    max_violated: float,
    n_rows_public: int,
    epsilon: float,
    delta: float,
    rows_per_person: int = 1,
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    opt_grid: Any = None,
    rounds: int | str = "auto",
    schedule: str = "calibrated",
    alpha: float | None = None,
    certificate: bool = False,
    beta: float = 0.05,
    selection: str = "auto",
    index: Any = None,
    tail: Any = None,
    accountant: str = "optimal",
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> LPResult:
    """x >= 0 with c.x = `opt` that breaks few people's rows: (epsilon, delta)-DP in whole rows of (A, b).

    `sense` "packing" asks for A x <= b (and a large c.x), "covering" for A x >= b (and a small one). Public:
    `c` > 0, `opt`, `coef_bounds` (U: one number or one a column, coefficients lie in [0, U_j]), `rhs_bounds`
    (b_lo, b_hi), `max_violated` (s), `n_rows_public` (n_bar, at least the number of rows; it sets T and the
    step, privacy does not rest on it), and `rows_per_person`, which the caller vouches for.

    Rows outside the bounds are clipped to them one by one, NaN asks for nothing (`clipped_rows`), and no
    private value raises. Choose the bounds without looking at the rows: a bound read off them is a release
    of its own, and no check here could warn of it without telling what it saw.

    Without `opt`, it is searched for over the public `opt_grid`: every probe is a run with a noisy count
    (of the rows violated by more than `alpha`) bought from the same budget, and is accepted if fewer than
    half of `max_violated` rows are. `alpha` is by default what the plan promises. `certificate` buys that
    count for a given `opt` too.
    `schedule="paper"`: the constants as printed (T = 36 rho^2 ln(n)/alpha^2, sensitivity 3 OPT/(c_min s),
    ...).

    Sparse rows (SciPy) are never densified. Only picks, every x, their average and T are released.

    >>> rows = np.repeat(np.eye(4)[[0, 1]], 3_000, axis=0)  # half need item 0, half item 1
    >>> answer = solve_constraint_private(
    ...     rows, np.ones(6_000), c=np.ones(4), opt=2, sense="covering", coef_bounds=1, rhs_bounds=(1, 1),
    ...     max_violated=600, n_rows_public=6_000, epsilon=2, delta=1e-6)
    >>> bool(answer.x[:2].sum() > 1.2), round(answer.fun, 6)
    (True, 2.0)
    """
    unit = Unit(Neighbours.parse(neighbours), rows_per_person)
    public = PublicProgram.checked(c, coef_bounds, rhs_bounds, sense, max_violated, n_rows_public, unit)
    grid = _grid(opt, opt_grid)
    probes = probes_needed(grid) if opt is None else 1
    budget = Budget(epsilon, delta)
    if alpha is not None:
        check_positive("alpha", alpha)
    options = {
        "widest": float(grid[-1]),
        "rounds": rounds,
        "schedule": schedule,
        "target": alpha,
        "probes": probes,
        "certificates": probes if opt is None or certificate else 0,
        "beta": check_probability("beta", beta),
        "tail": parse_tail(tail),
        "accountant": accountant,
    }
    # What any number of rows needs, there being at least s of them once they are filled up: public.
    width = 1 if hasattr(A_ub, "tocsr") else public.dim
    check_memory(f"max_violated = {public.s:g} rows", 8.0 * public.s * (width + 4), "declare fewer")
    randomness = Randomness.private() if randomness is None else randomness
    try:
        people = clipped_rows(A_ub, b_ub, public.upper, public.rhs, public.sense)
        game = _Game(public, people, budget, options, randomness, (selection, index, tail), progress)
        if opt is not None:
            return _result(game, game.solve(float(opt)), float(opt), ())
        found, tried, answer = search(grid, game.solve, public.s * _ACCEPTED, public.sense == "packing")
        return _result(game, answer, found, tried)
    except (MemoryError, TooLarge):  # their messages tell sizes, and so how many rows there are
        raise TooLarge(
            "A_ub needs more memory than is free: use a larger machine, sparse rows or exhaustive selection."
        ) from None


@dataclass(frozen=True, eq=False)
class _Answer:
    """One run: x, its plan, the picks, and the certificate if one was bought."""

    x: FloatArray
    plan: ConstraintPlan
    picks: Picks
    certificate: Certificate | None


def _grid(opt: float | None, opt_grid: Any) -> FloatArray:
    """The values of OPT that will be tried: `opt` alone, or the public grid."""
    if (opt is None) == (opt_grid is None):
        raise InvalidArgument("opt must be given, or opt_grid, a public grid to search it on; not both.")
    if opt is not None:
        return np.array([check_positive("opt", opt)])
    grid = check_grid(opt_grid)
    if not grid[0] > 0:
        raise InvalidArgument("opt_grid must hold values above 0.")
    return grid


def _columns(public: PublicProgram, people: PeopleRows) -> Queries:
    """Column j as A_:j / c_j (packing: with a minus) over the rows, with empty rows up to ceil(s)."""
    scale = (1.0 if public.sense == "covering" else -1.0) / public.c
    count = max(math.ceil(public.s), len(people.b))
    if hasattr(people.A, "tocsr"):
        from scipy import sparse

        rows = people.A.copy()
        rows.resize((count, public.dim))
        columns: Matrix = rows @ sparse.diags_array(scale)
        return as_queries(columns.T.tocsr())
    dense = np.zeros((public.dim, count))
    np.multiply(people.A.T, scale[:, None], out=dense[:, : len(people.b)])
    return as_queries(dense)


class _Game:
    """Dense weights over the private rows against the exponential mechanism over columns."""

    def __init__(
        self,
        public: PublicProgram,
        people: PeopleRows,
        budget: Budget,
        options: dict[str, Any],
        randomness: Randomness,
        selection: tuple[str, Any, Any],
        progress: Progress | None,
    ) -> None:
        from fastmwem.privacy.accounting import accountant

        self.public, self.people, self.budget, self.options = public, people, budget, options
        self.randomness, self.selection, self.progress = randomness, selection, progress
        self.ledger = Ledger.for_run(budget, accountant(options["accountant"]), randomness)
        self.columns = _columns(public, people)
        self._candidates = Candidates(self.columns, np.zeros(public.dim), signed=False)
        self._runs = 0

    def plan(self, opt: float) -> ConstraintPlan:
        return make_constraint_plan(self.public, opt, self.budget, **self.options)

    def solve(self, opt: float) -> _Answer:
        """x = (OPT/c) z with z the shares of the picks."""
        public, plan = self.public, self.plan(opt)
        name, index, tail = self.selection
        # Scores are of columns before they are multiplied by OPT, so their sensitivity is too.
        mechanism = ExponentialMechanism(plan.eps0, plan.sensitivity / opt)
        selector = make_selector(name, self._candidates, mechanism, self.randomness, index=index, tail=tail)
        player = DenseWeights(self.columns, self._gains(opt), public.s, plan.eta, opt)
        progress = stage(self.progress, self._runs, plan.probes)
        picks = play(player, selector, plan.rounds, self.ledger, progress)
        self._runs += 1
        x = opt / public.c * player.counts / plan.rounds
        return _Answer(x, plan, picks, self._count(x, plan) if plan.certificates else None)

    def _gains(self, opt: float) -> FloatArray:
        """Each row's violation but for A_i x; empty rows have the least violation there is."""
        public, b = self.public, self.people.b
        missing = self.columns.dim - len(b)
        if public.sense == "covering":
            return np.concatenate([b, np.full(missing, public.rhs[0] - public.reach(opt))])
        return np.concatenate([-b, np.full(missing, -public.rhs[1])])

    def _count(self, x: FloatArray, plan: ConstraintPlan) -> Certificate:
        """How many rows are violated by more than alpha; a person moves it by at most rows_per_person."""
        event = gaussian(plan.noise_multiplier)
        self.ledger.authorise(event)
        self.ledger.record(event)
        alpha = plan.alpha if self.options["target"] is None else float(self.options["target"])
        gap = self.people.A @ x - self.people.b
        count = int(((gap if self.public.sense == "packing" else -gap) > alpha).sum())
        deviation = plan.noise_multiplier * self.public.unit.rows_per_person
        value = float(add_gaussian(count, deviation, self.randomness))
        kind = f"rows violated by more than {alpha:.4g}"
        return Certificate.around(kind, value, gaussian_tail(1, deviation, 0.05))


def _result(game: _Game, answer: _Answer, found: float | None, probes: tuple[Probe, ...]) -> LPResult:
    public, plan = game.public, answer.plan
    return LPResult(
        x=answer.x,
        fun=float(public.c @ answer.x),
        nit=plan.rounds * max(1, len(probes)),
        message=_message(public, plan, answer.certificate, found, bool(probes)),
        alpha=plan.alpha,
        beta=plan.beta,
        regret=None,
        selection_error=plan.selection,
        plan=plan,
        picks=answer.picks,
        report=PrivacyReport.of(
            game.ledger,
            public.unit,
            "dense multiplicative weights and the exponential mechanism over columns",
            private=game.randomness.is_private,
            public_inputs={
                "columns": public.dim,
                "n_rows_public": public.rows,
                "max_violated": public.s,
                "rhs_bounds": list(public.rhs),
                "largest coefficient bound": float(public.upper.max()),
                "rounds": plan.rounds,
                "eps0": plan.eps0,
                "sensitivity of a score": plan.sensitivity,
                "schedule": plan.schedule,
            },
            assumptions=(
                "rows are clipped to coef_bounds and rhs_bounds, and NaN asks for nothing",
                "the public bounds were chosen without looking at the rows",
            ),
        ),
        event=game.ledger.event,
        opt=found,
        certificate=answer.certificate,
        probes=probes,
    )


def _message(
    public: PublicProgram,
    plan: ConstraintPlan,
    bought: Certificate | None,
    found: float | None,
    searched: bool,
) -> str:
    """What is promised of the answer, and what was bought, in words."""
    said = [
        f"With probability {1 - plan.beta:g}, fewer than {public.s:g} rows are violated by more than "
        f"{plan.alpha:.4g} if some x with c.x = {plan.opt:.6g} violates none; rows were clipped to the "
        "public bounds."
    ]
    if searched:
        rule = f"a value is accepted if the count that is bought is at most {public.s * _ACCEPTED:g}"
        if found is None:
            said.insert(
                0, f"No value on opt_grid was accepted, and this is the answer for its easiest ({rule})."
            )
        else:
            said.insert(0, f"{found:.6g} is the best value of OPT that was accepted ({rule}).")
    if bought is not None:
        said.append(f"Bought: {bought}.")
    return " ".join(said)
