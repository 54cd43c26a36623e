"""The scalar-private LP: its sensitivity, its guarantee, its regions, its errors."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

from fastmwem.errors import InvalidArgument
from fastmwem.index.tail import Assumed, PerfectExcept
from fastmwem.lp.program import LinearProgram
from fastmwem.lp.violations import violations
from fastmwem.privacy.budget import Budget
from fastmwem.privacy.randomness import Randomness
from fastmwem.problems.lp_bounds import kappa, selection_error
from fastmwem.problems.scalar_lp import plan_scalar, solve_scalar_private
from fastmwem.problems.scalar_problem import scalar_problem

NEARLY_OPEN = {"epsilon": 1e6, "delta": 1e-6}  # the limit without privacy


def _feasible(seed, m=40, d=6):
    rng = np.random.default_rng(seed)
    A = rng.normal(0, 1, (m, d))
    z = rng.dirichlet(np.ones(d))
    return A, A @ z + rng.uniform(0, 0.1, m), z


def _seeded(seed, *arrays, **options):
    return solve_scalar_private(*arrays, randomness=Randomness.seeded(seed), **options)


def _reduced(A, b, sensitivity, **options):
    defaults = {"one_sided": False, "opt": None, "search": False, "radius": None, "row_weights": None}
    program = LinearProgram.from_linprog(None, A, b)
    return scalar_problem(program, sensitivity, **{**defaults, **options})


@pytest.mark.parametrize("weights", [None, "equilibrate", "vector"])
def test_no_neighbour_moves_a_score_by_more_than_the_sensitivity(weights):
    A, b, _ = _feasible(1)
    rng = np.random.default_rng(2)
    given = rng.uniform(0.1, 3, len(b)) if weights == "vector" else weights
    each = rng.uniform(0, 0.2, len(b)) * (rng.random(len(b)) < 0.7)
    problem = _reduced(A, b, each, row_weights=given)
    x, worst = rng.dirichlet(np.ones(6)), 0.0
    for _ in range(500):
        moved = b + each * rng.choice([-1.0, 0.0, 1.0], len(b))
        other = _reduced(A, moved, each, row_weights=given)
        shift = other.candidates().scores(x) - problem.candidates().scores(x)
        worst = max(worst, np.abs(shift).max())
    assert worst <= problem.sensitivity * (1 + 1e-9)
    assert worst >= problem.sensitivity * (1 - 1e-9)  # and it is not larger than it need be
    assert problem.score_range == 2 * problem.sensitivity


def test_one_sided_neighbours_spread_scores_by_half_as_much():
    A, b, _ = _feasible(1)
    problem = _reduced(A, b, 0.1, one_sided=True)
    rng, x = np.random.default_rng(3), np.full(6, 1 / 6)
    for _ in range(200):
        up = b + 0.1 * rng.random(len(b))
        shift = _reduced(A, up, 0.1).candidates().scores(x) - problem.candidates().scores(x)
        assert np.ptp(shift) <= problem.score_range
    assert problem.score_range == pytest.approx(0.1)


def _written(tmp_path, first, second, b):
    """A model with two rows, `first` and `second` being L (<=) or G (>=), and the same b on both."""
    path = tmp_path / f"{first}{second}{b}.mps"
    path.write_text(
        f"NAME TWO\nROWS\n N COST\n {first} ONE\n {second} TWO\nCOLUMNS\n X ONE 1.0\n Y TWO 2.0\n"
        f"RHS\n RHS ONE {b} TWO {b}\nENDATA\n"
    )
    return LinearProgram.from_mps(path)


@pytest.mark.parametrize(("first", "second"), ["LL", "GG", "LG", "GL"])
def test_one_sided_is_refused_where_raising_b_spreads_the_scores(first, second, tmp_path):
    options = {"one_sided": False, "opt": None, "search": False, "radius": None, "row_weights": None}
    low, high = (scalar_problem(_written(tmp_path, first, second, b), 0.1, **options) for b in (0.5, 0.6))
    x = np.array([0.3, 0.7])
    spread = np.ptp(high.candidates().scores(x) - low.candidates().scores(x))
    call = {"sensitivity": 0.1, "epsilon": 1, "delta": 1e-6, "one_sided": True}
    if first == second:
        assert spread == pytest.approx(0)
        assert plan_scalar(_written(tmp_path, first, second, 1), **call).score_range == 0.1
    else:
        assert spread == pytest.approx(0.2)  # 2 Delta, not Delta
        with pytest.raises(InvalidArgument, match="one_sided must be False with a model"):
            plan_scalar(_written(tmp_path, first, second, 1), **call)


@pytest.mark.parametrize("step", ["adaptive", "fixed"])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_guarantee_holds(step, sparse):
    options = {"sensitivity": 0.01, "epsilon": 1, "delta": 1e-3, "step": step, "method": "mw"}
    for seed in range(10):
        A, b, _ = _feasible(seed, m=300)
        answer = _seeded(seed, csr_array(A) if sparse else A, b, **options)
        assert violations(A, b, answer.x).max <= answer.alpha
        assert answer.alpha <= answer.plan.alpha + 1e-9  # the plan's is the worst case of the run's
        assert answer.x.min() >= 0
        assert answer.x.sum() == pytest.approx(1)


@pytest.mark.parametrize("sparse", [False, True])
def test_what_uniform_x_keeps_to_is_exact_over_the_rows(sparse):
    rng = np.random.default_rng(3)
    A = rng.normal(0, 1, (50, 6)) * (rng.random((50, 6)) < 0.6)
    A[0] = 0
    problem = _reduced(csr_array(A) if sparse else A, np.ones(50), 0.1)
    assert problem.uniform_violation == pytest.approx((A.mean(1) - A.min(1)).max())


@pytest.mark.parametrize(
    ("selection", "index"),
    [
        ("exhaustive", None),
        ("certified", None),
        ("lazy", "flat"),
        ("lazy", "ivf"),
        ("lazy", "hnsw"),
        ("lazy", "lsh"),
    ],
)
def test_every_selection_keeps_the_guarantee(selection, index):
    A, b, _ = _feasible(14, m=600)
    options = {"sensitivity": 1e-3, "epsilon": 1, "delta": 1e-3, "method": "mw", "rounds": 60}
    answer = _seeded(5, A, b, selection=selection, index=index, **options)
    assert violations(A, b, answer.x).max <= answer.alpha
    assert answer.plan == plan_scalar(A, selection=selection, index=index, **options)


@pytest.mark.parametrize("tail", [Assumed(0.001, "charge"), PerfectExcept(1e-9)])
def test_an_assumed_tail_is_paid_for_from_the_same_budget(tail):
    A, b, _ = _feasible(14, m=600)
    options = {"sensitivity": 1e-3, "epsilon": 1, "delta": 1e-3, "method": "mw", "rounds": 9, "tail": tail}
    answer = solve_scalar_private(A, b, selection="lazy", index="ivf", certificate=True, **options)
    assert 0.99 < answer.report.epsilon <= 1
    assert tail.assumption in answer.report.assumptions
    assert answer.plan == plan_scalar(A, neighbours="add-remove", certificate=True, **options)


def test_selection_error_bounds_the_mean_gap_of_softmax_picks():
    rng = np.random.default_rng(4)
    m, rounds, eps0 = 50, 20, 0.3
    bound = selection_error(m, 1.0, eps0, rounds, beta=0.05)
    scores = np.zeros(m)
    scores[0] = math.log(m) / eps0  # where the gap is hardest
    picks = (eps0 * scores + rng.gumbel(size=(2_000, rounds, m))).argmax(2)
    gaps = (scores[0] - scores[picks]).mean(1)
    assert (gaps > bound).mean() < 0.05
    assert gaps.mean() > 0.2 * bound


@pytest.mark.parametrize(
    ("epsilon", "delta", "expected"),
    [(1, 1e-3, 0.7768), (1, 1e-6, 0.4734), (0.1, 1e-6, 0.0551), (4, 1e-6, 1.6757)],
)
def test_kappa_is_the_gaussian_limit(epsilon, delta, expected):
    assert kappa(Budget(epsilon, delta)) == pytest.approx(expected, abs=6e-5)


def test_less_sensitivity_gives_less_violation_and_beats_uniform():
    A, b, _ = _feasible(5, m=2_000, d=10)
    worst = [
        violations(A, b, _seeded(1, A, b, sensitivity=s, epsilon=1, delta=1e-3, method="mw").x).max
        for s in (1e-1, 1e-2, 1e-3)
    ]
    assert worst[2] < worst[1] < worst[0]
    assert worst[2] < 0.1 < violations(A, b, np.full(10, 0.1)).max


def test_the_plan_needs_no_b_and_says_when_the_answer_is_no_better_than_uniform():
    A, b, _ = _feasible(6, m=20_000, d=20)
    hopeless = plan_scalar(A, sensitivity=0.1, epsilon=1, delta=1e-3)
    assert not hopeless.useful
    assert "no better than uniform" in hopeless.verdict
    good = plan_scalar(A, sensitivity=1e-3, epsilon=1, delta=1e-3)
    assert good.useful
    assert good.method == "mw"
    assert violations(A, b, np.full(20, 0.05)).max <= good.uniform_alpha
    assert _seeded(1, A, b, sensitivity=1e-3, epsilon=1, delta=1e-3).plan == good


def test_a_rehearsal_tells_which_runs_beat_uniform_x():
    A, b, _ = _feasible(6, m=20_000, d=20)
    uniform = violations(A, b, np.full(20, 0.05)).max
    options = {"epsilon": 1, "delta": 1e-3, "method": "mw"}
    plans = {s: plan_scalar(A, sensitivity=s, **options) for s in (0.1, 0.01, 0.001)}
    assert [plan.rehearsal.useful for plan in plans.values()] == [False, True, True]
    assert plans[0.01].useful
    assert not plans[0.01].promising
    assert "better than its promise" in plans[0.01].verdict
    for sensitivity in (0.01, 0.001):
        seen = violations(A, b, _seeded(1, A, b, sensitivity=sensitivity, **options).x).max
        assert seen < 2 * plans[sensitivity].rehearsal.violation
        assert seen < 0.8 * uniform
    assert plan_scalar(A, sensitivity=0.01, **options).rehearsal == plans[0.01].rehearsal


def test_a_plan_shows_itself():
    A, b, _ = _feasible(6)
    public = {"sensitivity": 0.1, "epsilon": 1, "delta": 1e-3, "method": "mw"}
    plan = plan_scalar(A, c=np.arange(6.0), radius=2, **public)
    for text in (str(plan), plan._repr_html_()):
        for words in (
            plan.verdict[:30],
            "sum x &lt;= 2" if "<p>" in text else "sum x <= 2",
            "c.x may miss OPT",
        ):
            assert words in text
    answer = _seeded(1, A, b, sensitivity=0.1, epsilon=1, delta=1e-3)
    assert "message" in repr(answer)
    assert "NOT private" in repr(answer)


@pytest.mark.parametrize("kind", ["vector", "equilibrate", None])
def test_the_message_names_region_and_units(kind):
    A, b, _ = _feasible(2)
    weights = np.full(40, 2.0) if kind == "vector" else kind
    options = {"sensitivity": 1e-3, "epsilon": 1, "delta": 1e-6, "method": "mw", "rounds": 5}
    answer = _seeded(1, A, b, row_weights=weights, **options)
    assert ("weighted rows" in answer.message) == (kind is not None)
    assert "x >= 0 with sum x = 1" in answer.message
    public = answer.report.public_inputs  # what the caller vouches for is about b as given
    assert public["sensitivity"] == 1e-3
    assert public.get("sensitivity of a weighted row") == (
        None if kind is None else answer.plan.score_range / 2
    )
    each = _seeded(1, A, b, **{**options, "sensitivity": np.linspace(0, 1e-3, 40)})
    assert each.report.public_inputs["sensitivity"] == "0 to 0.001, by entry of b"
    shifted = _seeded(1, A, b, bounds=(-1, None), radius=3, **options)
    assert "sum x <= 3, x counted from its bounds" in shifted.message
    assert "x >= 0 with c.x = 0.5" in _seeded(1, A, b, c=np.ones(6), opt=0.5, **options).message


def test_what_is_promised_of_the_objective_holds_without_privacy():
    rng = np.random.default_rng(8)
    A, c = rng.random((30, 5)), rng.uniform(0.5, 1.5, 5)
    b = A @ rng.dirichlet(np.ones(5)) * 3 + 0.05
    opt = -linprog(-c, A_ub=A, b_ub=b).fun
    options = {"sensitivity": 1e-3, **NEARLY_OPEN, "method": "mw", "rounds": 2_000, "c": c, "radius": 10}
    program = LinearProgram.from_linprog(c, A, b, sense="max", constant=7.0)
    del options["c"]
    answer = _seeded(1, program, opt=opt + 7, **options)
    assert answer.fun == pytest.approx(c @ answer.x + 7)
    missed = float(answer.message.rsplit(" ", 1)[1].rstrip("."))
    assert opt + 7 - answer.fun <= missed < 1


def test_a_search_promises_as_much_of_each_probe_as_it_says_of_the_answer():
    A, b, _ = _feasible(10)
    options = {"sensitivity": 1e-3, "epsilon": 1, "delta": 1e-6, "method": "mw", "rounds": 5, "beta": 0.1}
    told = []
    answer = _seeded(1, A, b, c=np.arange(1.0, 7.0), progress=lambda t, of: told.append((t, of)), **options)
    plan = answer.plan
    assert plan.selection == pytest.approx(selection_error(41, plan.score_range, plan.eps0, 5, 0.1 / 5))
    assert told == [(t, 25) for t in range(1, 26)]


def test_few_rows_are_better_served_by_noise_on_b():
    A, b, _ = _feasible(7, m=5)
    answer = _seeded(2, A, b, sensitivity=1e-3, epsilon=1, delta=1e-6)
    assert answer.plan.method == "gaussian"
    assert answer.plan.gaussian_alpha < answer.plan.mw_alpha
    assert answer.alpha == pytest.approx(answer.plan.alpha, rel=1e-3)  # a run keeps to its plan
    assert violations(A, b, answer.x).max <= answer.alpha
    assert plan_scalar(np.tile(A, (2_000, 1)), sensitivity=1e-3, epsilon=1, delta=1e-6).method == "mw"


def test_noise_on_b_reaches_opt_without_a_search():
    rng = np.random.default_rng(8)
    for seed in range(10):
        A, c = rng.random((8, 5)), rng.uniform(0.5, 1.5, 5)
        b = A @ rng.dirichlet(np.ones(5)) * 3 + 0.05
        opt = -linprog(-c, A_ub=A, b_ub=b).fun
        answer = _seeded(seed, A, b, c=c, radius=10, sensitivity=1e-3, epsilon=1, delta=1e-6)
        assert answer.plan.method == "gaussian"
        assert answer.probes == ()
        assert opt - 1e-9 <= answer.fun == answer.opt
        assert violations(A, b, answer.x).max <= answer.alpha < 0.2
        assert violations(A, b, answer.x).max <= answer.certificate.high
    nothing = _seeded(1, -np.eye(2), [-5, -5], c=[1, 1.5], radius=2, sensitivity=1e-3, epsilon=1, delta=1e-6)
    assert violations(-np.eye(2), [-5, -5], nothing.x).max <= 4 + nothing.alpha  # 4 is the least there is


@pytest.mark.parametrize("method", ["mw", "gaussian"])
def test_without_privacy_the_least_violation_is_found(method):
    for seed in range(8):
        A, b, _ = _feasible(seed)
        b = b - 0.3  # infeasible, by an amount that HiGHS can tell
        extended = np.c_[A, -np.ones(len(b))]
        simplex = {
            "A_eq": np.r_[np.ones(6), 0][None],
            "b_eq": [1],
            "bounds": [(0, None)] * 6 + [(None, None)],
        }
        least = linprog(np.r_[np.zeros(6), 1], A_ub=extended, b_ub=b, **simplex).fun
        answer = _seeded(seed, A, b, sensitivity=1e-3, **NEARLY_OPEN, method=method, rounds=3_000)
        assert violations(A, b, answer.x).max <= least + answer.alpha + 1e-9
        assert answer.alpha < 0.12


def test_regions_reach_the_optimum_of_highs():
    rng = np.random.default_rng(8)
    A, c = rng.random((30, 5)), rng.uniform(0.5, 1.5, 5)
    b = A @ rng.dirichlet(np.ones(5)) * 3 + 0.05
    opt = -linprog(-c, A_ub=A, b_ub=b).fun
    options = {"sensitivity": 1e-3, **NEARLY_OPEN, "method": "mw", "rounds": 4_000, "c": c, "opt": opt}
    scaled = _seeded(1, A, b, **options)
    assert scaled.fun == pytest.approx(opt)
    assert violations(A, b, scaled.x).max <= scaled.alpha < 0.2
    ball = _seeded(1, A, b, radius=10, **options)
    assert ball.x.sum() <= 10 + 1e-9
    assert violations(A, b, ball.x).max <= ball.alpha
    assert ball.fun >= opt - ball.alpha * c.max() / A.max()  # the objective row is as wide as the widest


def test_equalities_bounds_and_free_variables():
    # 1 <= x0 <= 2, x1 <= 3 without lower bound, x2 free: x0 + x1 + x2 = 2.5, x2 <= -0.5
    equal = {
        "A_eq": [[1.0, 1.0, 1.0]],
        "b_eq": [2.5],
        "bounds": [(1, 2), (None, 3), (None, None)],
        "radius": 4,
    }
    options = {"sensitivity": 1e-4, **NEARLY_OPEN, "rounds": 4_000, "method": "mw"}
    answer = _seeded(3, [[0.0, 0.0, 1.0]], [-0.5], **equal, **options)
    x = answer.x
    assert answer.alpha < 0.5
    assert abs(x.sum() - 2.5) <= answer.alpha
    assert 1 <= x[0] <= 2 + answer.alpha
    assert x[1] <= 3
    assert x[2] <= -0.5 + answer.alpha


@pytest.mark.parametrize("sense", ["max", "min"])
def test_opt_search_always_makes_as_many_probes_and_finds_the_value(sense):
    rng = np.random.default_rng(9)
    A, c = rng.random((60, 5)), rng.uniform(0.5, 1.5, 5)
    sign = 1 if sense == "max" else -1
    A, b = sign * A, sign * (A @ np.full(5, 0.2)) * (1 + sign * 0.05)
    best = sign * -linprog(-sign * c, A_ub=A, b_ub=b, A_eq=np.ones((1, 5)), b_eq=[1]).fun
    options = {"sensitivity": 1e-4, **NEARLY_OPEN, "method": "mw", "rounds": 2_000, "alpha": 0.02}
    answer = _seeded(4, A, b, c=c, sense=sense, **options)
    assert len(answer.probes) == 5  # 31 values
    assert answer.opt == pytest.approx(best, abs=0.1)
    assert answer.nit == 5 * 2_000


def test_a_search_spends_no_more_than_the_budget():
    A, b, _ = _feasible(10)
    options = {"sensitivity": 1e-3, "epsilon": 1, "delta": 1e-6, "method": "mw", "rounds": 5}
    answer = solve_scalar_private(A, b, c=np.arange(1.0, 7.0), **options)
    assert answer.report.private
    assert 0.99 < answer.report.epsilon <= 1
    kinds = [event.split()[0] for event, _ in answer.report.events]
    assert kinds == ["exponential", "Gaussian"] * 5


def test_the_bought_certificate_holds_the_truth():
    held = 0
    options = {"sensitivity": 1e-2, "epsilon": 1, "delta": 1e-3, "method": "mw", "rounds": 20}
    for seed in range(40):
        A, b, _ = _feasible(seed)
        answer = _seeded(seed, A, b, certificate=True, **options)
        seen = answer.certificate
        held += seen.low <= violations(A, b, answer.x).max <= seen.high
    assert held >= 31  # P(Bin(40, .95) < 31) < 1e-5


def test_result_reads_like_scipys_and_holds_no_slack():
    A, b, _ = _feasible(11)
    answer = solve_scalar_private(A, b, sensitivity=0.01, epsilon=1, delta=1e-6, rounds=5, method="mw")
    assert answer["x"] is answer.x
    assert answer.success
    assert answer.status == 0
    assert {"fun", "nit", "message", "alpha", "beta", "report"} <= set(answer.keys())
    assert not {"slack", "ineqlin", "con"} & set(answer.keys())
    with pytest.raises(KeyError):
        answer["slack"]


def test_an_infeasible_program_gets_an_answer_not_a_verdict():
    options = {"sensitivity": 0.01, "epsilon": 1, "delta": 1e-6, "method": "mw"}
    answer = solve_scalar_private([[1.0, 1.0], [-1.0, -1.0]], [0.2, -3.0], **options)
    assert answer.success
    assert "infeasible" not in answer.message


def test_paper_schedule_takes_the_printed_constants():
    A, _, _ = _feasible(12)
    rho = np.abs(A).max()
    plan = plan_scalar(A, sensitivity=0.01, epsilon=1, delta=1e-3, schedule="paper", alpha=1.0)
    assert plan.rounds == math.ceil(9 * rho**2 * math.log(6))
    assert plan.eta == pytest.approx(math.sqrt(math.log(6) / plan.rounds) / rho)
    assert plan.eps0 == pytest.approx(1 / math.sqrt(8 * plan.rounds * math.log(1e3)))


def test_a_seeded_run_is_not_private():
    A, b, _ = _feasible(13)
    seeded = _seeded(1, A, b, sensitivity=0.01, epsilon=1, delta=1e-6, rounds=3, method="mw")
    assert not seeded.report.private
    assert math.isinf(seeded.report.epsilon)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"A_ub": [[1.0, 2.0]], "b_ub": [1.0, 2.0]}, "b_ub must have 1 entries"),
        ({"A_ub": [[np.nan, 2.0]], "b_ub": [1.0]}, "A_ub must be finite"),
        ({"b_ub": [np.nan] * 3}, "b_ub must be without NaN"),
        ({"sensitivity": 0}, "sensitivity must be above 0"),
        ({"sensitivity": [0, 0, 0]}, "sensitivity must not be negative"),
        ({"sensitivity": np.ones((3, 2))}, "A is public here"),
        ({"c": [1.0, -1.0], "opt": 1}, "c must be above 0 in every entry"),
        ({"c": [1.0, 1.0], "opt": -1}, "opt must be above 0"),
        ({"c": [1.0, 1.0, 1.0]}, "c must have 2 entries"),
        ({"bounds": (None, None)}, "radius must be given where a variable is free"),
        ({"radius": -1}, "radius must be above 0"),
        ({"rounds": 0}, "rounds must be at least 1"),
        ({"method": "magic"}, "method must be one of"),
        ({"row_weights": "even"}, "row_weights must be None"),
        ({"row_weights": [1, 0, 1]}, "row_weights must be above 0"),
        ({"opt_grid": [1.0]}, "opt_grid needs c"),
        ({"c": [1.0, 2.0], "opt_grid": [2.0, 1.0]}, "rising order"),
        ({"A_eq": [[1.0, 1.0]], "b_eq": [1.0], "one_sided": True}, "one_sided must be False"),
        ({"schedule": "paper", "method": "mw"}, "alpha must be given"),
        ({"epsilon": 0}, "epsilon must be above 0"),
        ({"beta": 2}, "beta must lie strictly"),
    ],
)
def test_errors_name_the_argument(change, words):
    good = {"sensitivity": 0.1, "epsilon": 1, "delta": 1e-6}
    call = {"A_ub": [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], "b_ub": [0.6, 0.6, 1.0], **good, **change}
    with pytest.raises(InvalidArgument, match=words):
        solve_scalar_private(**call)
