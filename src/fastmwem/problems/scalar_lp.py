r"""Scalar-private linear programs: max c.x subject to A x <= b with b private, A and c public.

Neighbours: |b - b'|_inf <= Delta. **Privacy.** The scores u_i = A_i x - b_i of one round differ between
neighbours by b'_i - b_i in [-Delta, Delta] for the same public x, so the exponential mechanism with
R = 2 Delta is eps0-bounded-range (R = Delta if all entries of b move the same way). A pick is answered
with the public row A_i; x, the average and the regret are functions of the picks and of A, hence
post-processing. A certificate is max_i (A_i x - b_i) over the private rows, which moves by at most Delta,
with Gaussian noise.

**Guarantee.** With probability 1 - beta,

    max_i (A_i xbar - b_i) <= v + regret + (R/eps0)(ln m + Q/T),      v = min_x max_i (A_i x - b_i):

for every t, u_(p_t)(x_t) is at least max_i u_i(x_t) less the selection error (see `lp_bounds`), so by
convexity max_i u_i(xbar) <= (1/T) sum_t max_i u_i(x_t) <= (1/T) sum_t u_(p_t)(x_t) + selection, and the
sum is at most min_x (1/T) sum_t u_(p_t)(x) + regret <= v + regret. v <= 0 if the program is feasible. The
regret is a function of what is released, so the run reports its exact value: a certificate that costs
nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fastmwem.errors import InvalidArgument, check_positive, check_probability
from fastmwem.index.tail import parse_tail
from fastmwem.lp.program import LinearProgram
from fastmwem.mw.loop import Progress
from fastmwem.privacy.budget import Budget, Neighbours, Unit
from fastmwem.privacy.ledger import Ledger
from fastmwem.privacy.randomness import Randomness
from fastmwem.problems.lp_plan import ScalarPlan, plan_scalar_problem
from fastmwem.problems.opt_search import check_grid, probes_needed, search
from fastmwem.problems.rehearsal import rehearse
from fastmwem.problems.scalar_problem import ScalarProblem, scalar_problem
from fastmwem.problems.scalar_solvers import Answer, Game, NoisyRhs
from fastmwem.queries.base import FloatArray
from fastmwem.results.guarantee import PrivacyReport
from fastmwem.results.lp_result import LPResult, Probe

__all__ = ["plan_scalar", "solve_scalar_private"]


def plan_scalar(A_ub: Any, *, sensitivity: Any, epsilon: float, delta: float, **options: Any) -> ScalarPlan:
    """What `solve_scalar_private` will do and promise with the same options, without b.

    Compares the game with Gaussian noise on b (better for few rows), rehearses the game on made-up right-hand
    sides, and says whether the answer can be better than uniform x at all.

    >>> plan = plan_scalar(np.eye(4), sensitivity=0.1, epsilon=1, delta=1e-6)
    >>> plan.method, plan.useful
    ('mw', False)
    """
    program, sense = A_ub, options.pop("sense", "max")
    if not isinstance(program, LinearProgram):
        blank = {"b_ub": np.zeros(np.shape(A_ub)[0])}
        if options.get("A_eq") is not None:
            blank["b_eq"] = np.zeros(np.shape(options["A_eq"])[0])
        program = _program(A_ub, sense, **{**_split(options), **blank})
    rest = {name: value for name, value in options.items() if name not in _ARRAYS + _SILENT}
    budget = Budget(epsilon, delta)
    problem, plan, _ = _prepare(program, sensitivity, budget, **rest)
    return plan if plan.method == "gaussian" else replace(plan, rehearsal=rehearse(problem, plan, budget))


def solve_scalar_private(
    A_ub: Any,
    b_ub: Any = None,
    *,
    sensitivity: Any,
    epsilon: float,
    delta: float,
    c: Any = None,
    opt: float | None = None,
    sense: str = "max",
    A_eq: Any = None,
    b_eq: Any = None,
    bounds: Any = (0, None),
    radius: float | None = None,
    one_sided: bool = False,
    neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
    row_weights: Any = None,
    opt_grid: Any = None,
    method: str = "auto",
    rounds: int | str = "auto",
    step: str = "adaptive",
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
    """A x <= b approximately, with `b` private: (epsilon, delta)-DP for |b - b'|_inf <= `sensitivity`.

    The rows are `A_ub` x <= `b_ub` and `A_eq` x = `b_eq` with linprog's `bounds`, or a `LinearProgram` in the
    place of `A_ub`. x is sought in one of

    * {x >= 0, c.x = opt} if `c` > 0 and `opt` are given (the paper's; either sense);
    * {x >= 0, sum x <= radius} if `radius` is given, with c.x against `opt` as one more, public row;
    * the simplex {x >= 0, sum x = 1} otherwise (`c`, if given, again as a row).

    With `c` and no `opt`, OPT is searched for over `opt_grid` (public; by default 31 values that span what
    c.x can be), every probe charged; a value is accepted if the noisy max violation is at most `alpha`.
    Method "gaussian" needs no grid: HiGHS takes the best c.x that the noisy rows leave possible.

    `sensitivity` is Delta, or one for each row of b_ub and then of b_eq, with 0 for a public entry. It is
    about b as given: `row_weights` (public, a vector; or "equilibrate": each row divided by half its range)
    multiply violation and sensitivity of a row alike, so rows in different units meet on one scale. `alpha`,
    `regret` and certificates of the result are then in units of weighted rows.
    `one_sided`: every neighbour moves all entries of `b_ub` the same way, which halves the noise. It is
    refused where rows move opposite ways: with a private b_eq, or a model that has <= and >= rows.
    `neighbours` says which change of the data behind b the sensitivity bounds; the report repeats it.
    `method`: "mw" (the game), "gaussian" (noise on b, then HiGHS; better for few rows), or the one that is
    likely to violate less. The plan has the promises of both.
    `certificate`: buy a noisy max violation with a tenth of the budget.
    `schedule="paper"`: T = 9 rho^2 ln(d)/alpha^2, eta = sqrt(ln(d)/T)/rho, eps0 = epsilon/sqrt(8 T
    ln(1/delta)).

    Infinite entries of b, and its shape, are public; everything else about b is protected. No slack, dual
    or verdict of infeasibility is returned, since each would be a function of b.

    >>> answer = solve_scalar_private(
    ...     [[1.0, 0.0], [0.0, 1.0]], [0.3, 0.8], sensitivity=1e-6, epsilon=1, delta=1e-6)
    >>> bool(answer.x[0] < 0.4)
    True
    """
    if isinstance(A_ub, LinearProgram):
        if any(part is not None for part in (b_ub, c, A_eq, b_eq)):
            raise InvalidArgument("b_ub, c, A_eq and b_eq must be left out when A_ub is a LinearProgram.")
        program = A_ub
    else:
        program = _program(A_ub, sense, b_ub=b_ub, c=c, A_eq=A_eq, b_eq=b_eq, bounds=bounds)
    relation = Neighbours.parse(neighbours)
    budget = Budget(epsilon, delta)
    from fastmwem.privacy.accounting import accountant as make_accountant

    problem, plan, grid = _prepare(
        program,
        sensitivity,
        budget,
        opt=opt,
        radius=radius,
        one_sided=one_sided,
        row_weights=row_weights,
        opt_grid=opt_grid,
        method=method,
        rounds=rounds,
        step=step,
        schedule=schedule,
        alpha=alpha,
        certificate=certificate,
        beta=beta,
        tail=tail,
        accountant=accountant,
    )
    randomness = Randomness.private() if randomness is None else randomness
    ledger = Ledger.for_run(budget, make_accountant(plan.accountant), randomness)
    found, probes = opt, ()
    if plan.method == "gaussian":
        noisy = NoisyRhs(problem, plan, ledger, randomness)
        answer = noisy.solve(opt) if grid is None else noisy.optimise()
    else:
        game = Game(problem, plan, ledger, randomness, (selection, index, tail), progress)
        if grid is None:
            answer = game.solve(opt)
        else:
            tolerance = plan.alpha if alpha is None else float(alpha)
            found, probes, answer = search(grid, game.solve, tolerance, program.sense == "max")
    return _result(problem, plan, sensitivity, ledger, randomness, relation, answer, found, probes)


_ARRAYS = ("c", "A_eq", "b_eq", "bounds")
_SILENT = ("neighbours", "selection", "index", "randomness", "progress")  # change nothing that a plan says


def _split(options: dict[str, Any]) -> dict[str, Any]:
    defaults = {"c": None, "A_eq": None, "b_eq": None, "bounds": (0, None)}
    return {name: options.get(name, default) for name, default in defaults.items()}


def _program(A_ub: Any, sense: str, *, b_ub: Any, c: Any, A_eq: Any, b_eq: Any, bounds: Any) -> LinearProgram:
    return LinearProgram.from_linprog(c, A_ub, b_ub, A_eq, b_eq, bounds, sense=sense)


def _prepare(
    program: LinearProgram,
    sensitivity: Any,
    budget: Budget,
    *,
    opt: float | None = None,
    radius: float | None = None,
    one_sided: bool = False,
    row_weights: Any = None,
    opt_grid: Any = None,
    method: str = "auto",
    rounds: int | str = "auto",
    step: str = "adaptive",
    schedule: str = "calibrated",
    alpha: float | None = None,
    certificate: bool = False,
    beta: float = 0.05,
    tail: Any = None,
    accountant: str = "optimal",
) -> tuple[ScalarProblem, ScalarPlan, FloatArray | None]:
    """Check everything, reduce to the simplex, plan; nothing is spent."""
    search = program.c is not None and bool(program.c.any()) and opt is None
    if opt_grid is not None and not search:
        raise InvalidArgument("opt_grid needs c, and no opt: it is where opt is searched for.")
    problem = scalar_problem(
        program,
        sensitivity,
        one_sided=bool(one_sided),
        opt=None if opt is None else float(opt),
        search=search,
        radius=radius,
        row_weights=row_weights,
    )
    grid = None
    if search:
        grid = _default_grid(problem) if opt_grid is None else check_grid(opt_grid)
    elif opt is not None:
        problem = problem.at(float(opt))
    if alpha is not None:
        check_positive("alpha", alpha)
    probes = probes_needed(grid) if grid is not None else 1
    plan = plan_scalar_problem(
        problem,
        budget,
        method=method,
        rounds=rounds,
        step=step,
        schedule=schedule,
        target=alpha,
        probes=probes,
        certificates=probes if search or certificate else 0,
        beta=check_probability("beta", beta),
        tail=parse_tail(tail),
        accountant=accountant,
    )
    return problem, plan, grid


def _default_grid(problem: ScalarProblem) -> FloatArray:
    """31 values from the least to the greatest c.x of the region, ends left out: public."""
    cost = problem.simplex.rows(problem.form.c[None, :])[0]  # pyright: ignore[reportOptionalSubscript]
    constant = problem.program.value(problem.form.offset)
    return constant + np.linspace(cost.min(), cost.max(), 33)[1:-1]


def _result(
    problem: ScalarProblem,
    plan: ScalarPlan,
    sensitivity: Any,
    ledger: Ledger,
    randomness: Randomness,
    relation: Neighbours,
    answer: Answer,
    found: float | None,
    probes: tuple[Probe, ...],
) -> LPResult:
    x = problem.x(answer.z)
    if answer.optimised:
        found = problem.program.value(x)
    game = {
        "rounds": plan.rounds,
        "eps0": plan.eps0,
        "half range": plan.half_range,
        "schedule": plan.schedule,
    }
    return LPResult(
        x=x,
        fun=problem.program.value(x),
        nit=0 if answer.picks is None else plan.rounds * max(1, len(probes)),
        message=_message(problem, plan, answer, found, probes),
        alpha=answer.alpha,
        beta=plan.beta,
        regret=answer.regret,
        selection_error=answer.selection,
        plan=plan,
        picks=answer.picks,
        report=PrivacyReport.of(
            ledger,
            Unit(relation),
            "multiplicative weights and the exponential mechanism over rows"
            if plan.method == "mw"
            else "Gaussian noise on b, then HiGHS",
            private=randomness.is_private,
            assumptions=(
                "such a change moves no entry of b by more than its sensitivity"
                + (", and all of them the same way" if problem.one_sided else ""),
            ),
            public_inputs={
                "rows": plan.rows,
                "columns": plan.dim,
                "sensitivity": _declared(sensitivity),
                **({"sensitivity of a weighted row": problem.sensitivity} if problem.weighted else {}),
                **(game if plan.method == "mw" else {}),
            },
        ),
        event=ledger.event,
        opt=found,
        certificate=answer.certificate,
        probes=probes,
    )


def _declared(sensitivity: Any) -> float | str:
    """Delta as the caller gave it, about b as given."""
    least, most = float(np.min(sensitivity)), float(np.max(sensitivity))
    return most if least == most else f"{least:g} to {most:g}, by entry of b"


def _message(
    problem: ScalarProblem, plan: ScalarPlan, answer: Answer, found: float | None, probes: tuple[Probe, ...]
) -> str:
    """What is promised of the answer, in words."""
    unit = " (in units of weighted rows)" if problem.weighted else ""
    said = [
        f"With probability {1 - plan.beta:g}, no row is violated by more than {answer.alpha:.4g}{unit} "
        f"beyond what the best x of the region ({plan.region}) must violate it by, which is 0 if the "
        "program is feasible there."
    ]
    best, sign = ("most", ">=") if problem.program.sense == "max" else ("least", "<=")
    slack = problem.objective_slack(answer.alpha)
    if answer.optimised:
        said.append(f"c.x is the {best} that the noise leaves possible: c.x {sign} OPT, if it is feasible.")
    elif slack is not None and found is not None:
        said.append(f"c.x {sign} {found:.6g} is one of these rows, and may be missed by {slack:.4g}.")
    elif probes:
        said.insert(0, "No value on opt_grid was accepted; this is the answer for its easiest.")
    if answer.certificate is not None:
        how = "Bought" if plan.method == "mw" else "Seen through the noise"
        said.append(f"{how}: {answer.certificate}.")
    return " ".join(said)
