"""The constraint-private LP: a person's influence, the guarantee on the worst rows, clipping, errors."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array
from scipy.stats import gamma

from fastmwem.errors import BoundLooksPrivate, InvalidArgument, TooLarge
from fastmwem.index.tail import Assumed, Certified, PerfectExcept
from fastmwem.lp.people import clipped_rows
from fastmwem.lp.violations import violations
from fastmwem.mw.dense_weights import DenseWeights
from fastmwem.mw.projection import dense_projection
from fastmwem.privacy.budget import Budget, Unit
from fastmwem.privacy.randomness import Randomness
from fastmwem.problems.constraint_lp import _Game, plan_constraint, solve_constraint_private
from fastmwem.problems.constraint_plan import PublicProgram
from fastmwem.problems.lp_bounds import selection_error
from fastmwem.select.base import Pick

NEARLY_OPEN = {"epsilon": 1e6, "delta": 1e-6}
OPTIONS = {
    "widest": 3.0, "rounds": 12, "schedule": "calibrated", "target": None, "probes": 1, "certificates": 0,
    "beta": 0.05, "tail": Certified(), "accountant": "zcdp",
}  # fmt: skip


def _seeded(seed, A, b, **options):
    return solve_constraint_private(A, b, randomness=Randomness.seeded(seed), **options)


def _scores(public, A, b, picks, opt):
    """The scores of all columns after `picks`, as the exponential mechanism sees them."""
    people = clipped_rows(A, b, public.upper, public.rhs, public.sense)
    game = _Game(
        public, people, Budget(1, 1e-6), OPTIONS, Randomness.seeded(0), ("exhaustive", None, None), None
    )
    plan = game.plan(opt)
    player = DenseWeights(game.columns, game._gains(opt), public.s, 5 * plan.eta, opt)
    for pick in picks:
        player.respond(pick)
    return opt * game._candidates.scores(player.probe()), plan.sensitivity


@pytest.mark.parametrize("sense", ["packing", "covering"])
@pytest.mark.parametrize("people", [1, 2])
def test_no_neighbour_moves_a_score_by_more_than_the_sensitivity(sense, people):
    rng = np.random.default_rng(1)
    opt, worst = 3.0, 0.0
    for trial in range(400):
        d, s = 4, float(rng.uniform(2, 6))
        m = int(rng.integers(1, 14))  # also fewer rows than s, where empty ones are added
        public = PublicProgram.checked(
            rng.uniform(0.5, 2, d), rng.uniform(0.2, 1.5, d).round(3), (0.5, 1.5), sense, s, 20,
            Unit("add-remove", people),
        )  # fmt: skip
        A, b = rng.uniform(-0.3, 1.8, (m + people, d)), rng.uniform(0, 2, m + people)
        A[rng.random(A.shape) < 0.4] = 1.8
        picks = [Pick(int(j), 1) for j in rng.integers(0, d, trial % 12)]
        here, sensitivity = _scores(public, A, b, picks, opt)
        if trial % 2:
            there, _ = _scores(public, A[people:], b[people:], picks, opt)
        else:
            other_A, other_b = A.copy(), b.copy()
            other_A[:people], other_b[:people] = 1.8 - A[:people], 2 - b[:people]
            there, _ = _scores(public, other_A, other_b, picks, opt)
        worst = max(worst, np.abs(here - there).max() / sensitivity)
    assert worst <= 1 + 1e-9
    assert worst > 0.6  # and the bound is not idle


class _ProjectedState(DenseWeights):
    """The paper's: the projection is stored. The negative control."""

    def respond(self, pick):
        with np.errstate(divide="ignore"):
            self._log_weights = np.log(dense_projection(self._log_weights, self._s))
        super().respond(pick)


def test_a_projected_state_breaks_the_sensitivity():
    rng = np.random.default_rng(2)
    worst = {DenseWeights: 0.0, _ProjectedState: 0.0}
    public = PublicProgram.checked(np.ones(4), np.ones(4), (0, 1), "covering", 5, 40, Unit("add-remove"))
    for _ in range(200):
        A = (rng.random((40, 4)) < 0.4).astype(float)
        picks = [Pick(int(j), 1) for j in rng.integers(0, 4, 30)]
        for state in worst:
            seen = []
            for rows in (A, A[1:]):
                people = clipped_rows(rows, np.ones(len(rows)), public.upper, public.rhs, "covering")
                game = _Game(
                    public, people, Budget(1, 1e-6), OPTIONS, Randomness.seeded(0), ("auto", None, None), None
                )
                player = state(game.columns, game._gains(1.0), 5, 1.0)
                for pick in picks:
                    player.respond(pick)
                seen.append(player.probe())
            worst[state] = max(worst[state], 5 * np.abs(seen[0][1:] - seen[1]).sum())
    assert worst[DenseWeights] <= 1 + 1e-9
    assert worst[_ProjectedState] > 1.2


def _planted(seed, m=10_000, d=100, good=10, decoys=0.002, overlap=0.08):
    """Rows that need a set; each is in one of the good sets, in others by chance, and in few decoys."""
    rng = np.random.default_rng(seed)
    A = (rng.random((m, d)) < decoys).astype(float)
    A[:, :good] = rng.random((m, good)) < overlap
    A[np.arange(m), rng.integers(0, good, m)] = 1
    return A


@pytest.mark.parametrize("sparse", [False, True])
def test_planted_covering(sparse):
    A = _planted(0)
    rows = csr_array(A) if sparse else A
    public = {
        "c": np.ones(100), "opt": 10, "sense": "covering", "coef_bounds": 1, "rhs_bounds": (1, 1),
        "max_violated": 500, "n_rows_public": 10_000, "epsilon": 1, "delta": 1e-3,
    }  # fmt: skip
    answer = _seeded(1, rows, np.ones(10_000), **public)
    seen = violations(A, np.ones(10_000), answer.x, sense="covering")
    assert seen.count(0.3) == 0
    assert seen.cvar(500) <= answer.alpha
    assert not answer.report.private  # seeded
    assert answer.fun == pytest.approx(10)
    assert violations(A, np.ones(10_000), np.full(100, 0.1), sense="covering").count(0.3) == 10_000
    printed = _seeded(1, rows, np.ones(10_000), **public, schedule="paper", alpha=0.3, rounds=300)
    assert violations(A, np.ones(10_000), printed.x, sense="covering").count(0.3) > 5_000


@pytest.mark.parametrize(
    ("selection", "index"),
    [("exhaustive", None), ("certified", None), *(("lazy", name) for name in ("flat", "ivf", "hnsw", "lsh"))],
)
def test_every_selection_covers(selection, index):
    A = _planted(4, m=2_000, d=40, good=5)
    answer = _seeded(
        1, A, np.ones(2_000), c=np.ones(40), opt=5, sense="covering", coef_bounds=1, rhs_bounds=(1, 1),
        max_violated=200, n_rows_public=2_000, epsilon=8, delta=1e-6, selection=selection, index=index,
    )  # fmt: skip
    assert violations(A, np.ones(2_000), answer.x, sense="covering").cvar(200) <= min(answer.alpha, 0.5)


@pytest.mark.parametrize("tail", [Assumed(0.001, "charge"), Assumed(0.5), PerfectExcept(1e-9)])
@pytest.mark.parametrize("searched", [False, True])
def test_an_assumed_tail_is_paid_for_from_the_same_budget(tail, searched):
    A = _planted(4, m=300, d=20, good=5)
    public = {
        "c": np.ones(20), "sense": "covering", "coef_bounds": 1, "rhs_bounds": (1, 1), "max_violated": 100,
        "n_rows_public": 300, "epsilon": 1, "delta": 1e-6, "rounds": 5, "tail": tail, "alpha": 0.5,
        **({"opt_grid": [4, 5, 6]} if searched else {"opt": 5}),
    }  # fmt: skip
    answer = solve_constraint_private(A, np.ones(300), **public, selection="lazy", index="ivf")
    assert 0.99 < answer.report.epsilon <= 1
    assert tail.assumption in answer.report.assumptions
    certified = plan_constraint(**{**public, "tail": None})
    assert answer.plan.eps0 <= certified.eps0
    costs, costs_at_least = answer.plan.selection / answer.plan.opt, certified.selection / certified.opt
    assert costs >= costs_at_least * (1 - 1e-12)


@pytest.mark.parametrize("s", [1, 10, 40, 200, 1_000, 4_000])
def test_without_privacy_fewer_than_s_rows_exceed_alpha(s):
    groups, m = 8, 4_800
    A = np.zeros((m, groups))
    A[np.arange(m), np.arange(m) % groups] = 1.0  # each row coverable by its own set only
    answer = _seeded(
        2, A, np.ones(m), c=np.ones(groups), opt=groups, sense="covering", coef_bounds=1, rhs_bounds=(1, 1),
        max_violated=s, n_rows_public=m, **NEARLY_OPEN, rounds=400,
    )  # fmt: skip
    seen = violations(A, np.ones(m), answer.x, sense="covering")
    assert seen.count(answer.alpha) <= s - 1
    assert seen.cvar(s) <= answer.alpha


@pytest.mark.parametrize("sense", ["packing", "covering"])
def test_without_privacy_highs_optimum_is_met_to_alpha(sense):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        A, b, c = rng.random((60, 5)), rng.uniform(0.5, 1, 60), rng.uniform(0.5, 1.5, 5)
        sign = 1 if sense == "packing" else -1
        opt = abs(linprog(-sign * c, A_ub=sign * A, b_ub=sign * b).fun)
        answer = _seeded(
            seed, A, b, c=c, opt=opt, sense=sense, coef_bounds=1, rhs_bounds=(0.5, 1), max_violated=1,
            n_rows_public=60, **NEARLY_OPEN, rounds=3_000,
        )  # fmt: skip
        assert violations(A, b, answer.x, sense=sense).max <= answer.alpha < 0.6
        assert answer.fun == pytest.approx(opt)


def test_opt_search_charges_every_probe():
    A = _planted(3, m=4_000, d=30, good=5, overlap=0)
    answer = solve_constraint_private(
        A, np.ones(4_000), c=np.ones(30), opt_grid=[3, 4, 5, 6, 7], sense="covering", coef_bounds=1,
        rhs_bounds=(1, 1), max_violated=400, n_rows_public=4_000, epsilon=20, delta=1e-6, alpha=0.25,
    )  # fmt: skip
    assert len(answer.probes) == 3
    assert answer.opt in (4, 5)
    assert 19.9 < answer.report.epsilon <= 20
    kinds = [event.split()[0] for event, _ in answer.report.events]
    assert kinds == ["exponential", "Gaussian"] * 3
    assert "the best value of OPT that was accepted (a value is accepted if the count" in answer.message
    assert "is at most 200)" in answer.message


def test_a_search_that_accepts_nothing_answers_for_the_easiest_value():
    answer = solve_constraint_private(
        np.zeros((900, 3)), 1.0, c=np.ones(3), opt_grid=[1, 2, 3], sense="covering", coef_bounds=1, alpha=0.5,
        rhs_bounds=(1, 1), max_violated=9, n_rows_public=1_000, epsilon=1, delta=1e-6, rounds=3,
    )  # fmt: skip
    assert answer.opt is None
    assert answer.fun == pytest.approx(3)
    assert answer.message.startswith(
        "No value on opt_grid was accepted, and this is the answer for its easiest"
    )


def test_private_rows_never_raise_and_are_clipped_one_by_one():
    wild = np.array([[np.nan, np.inf, -np.inf], [1e300, -5.0, 0.5], [0.2, 0.3, 0.4]])
    rhs = np.array([np.nan, np.inf, -np.inf])
    upper = np.array([1.0, 2.0, 3.0])
    rows = clipped_rows(wild, rhs, upper, (0.5, 1.5), "packing")
    np.testing.assert_array_equal(rows.A, [[0, 2, 0], [1, 0, 0.5], [0.2, 0.3, 0.4]])
    np.testing.assert_array_equal(rows.b, [1.5, 1.5, 0.5])
    np.testing.assert_array_equal(clipped_rows(wild, rhs, upper, (0.5, 1.5), "covering").b, [0.5, 1.5, 0.5])
    sparse = clipped_rows(csr_array(wild), rhs, upper, (0.5, 1.5), "packing")
    np.testing.assert_array_equal(sparse.A.toarray(), rows.A)
    twice = csr_array(([0.8, 0.8, 5.0, -4.0], [0, 0, 1, 1], [0, 2, 4]), shape=(2, 3))
    summed = clipped_rows(twice, 1.0, upper, (0.5, 1.5), "packing").A
    np.testing.assert_array_equal(summed.toarray(), [[1.0, 0, 0], [0, 1.0, 0]])  # clipped once, as sums
    mixed = [[None, "7", float("-inf")], [1e300, "many", 0.5], [0.2, 0.3], [10**400, 1j, "0.4"]]
    odd = clipped_rows(mixed, [None, "x", 0.1, 10**400], upper, (0.5, 1.5), "covering")
    np.testing.assert_array_equal(odd.A, [[0, 2, 0], [1, 0, 0.5], [0, 0, 0], [0, 0, 0.4]])
    np.testing.assert_array_equal(odd.b, [0.5] * 4)
    assert clipped_rows([], [], upper, (0.5, 1.5), "covering").A.shape == (0, 3)
    # However many rows of a list are of the wrong length: none of them, all but one, all.
    for bad in ([], [1.0, 2.0], [1.0] * 4, [[1.0]] * 3, {"a": 1, "b": 2, "c": 3}, 5.0, "abc"):
        for rows_given in ([bad, [1.0] * 3], [bad], [bad, bad]):
            lone = clipped_rows(rows_given, [[1.0]] * len(rows_given), upper, (0.5, 1.5), "covering")
            np.testing.assert_array_equal(lone.A[0], [0, 0, 0])
            np.testing.assert_array_equal(lone.b, 0.5)
    public = {
        "c": np.ones(3), "opt": 1, "coef_bounds": upper, "rhs_bounds": (0.5, 1.5), "max_violated": 2,
        "n_rows_public": 3, "epsilon": 1, "delta": 1e-6, "rounds": 5,
    }  # fmt: skip
    for A, b in (
        (wild, rhs),
        (csr_array(wild), rhs),
        (wild[:0], rhs[:0]),
        (np.tile(wild, (9, 1)), np.tile(rhs, 9)),
    ):
        for sense in ("packing", "covering"):
            answer = solve_constraint_private(A, b, sense=sense, **public)
            assert np.isfinite(answer.x).all()
            assert answer.fun == pytest.approx(1)
            assert "clipped" in answer.message


def test_nothing_released_or_shown_tells_the_number_of_rows():
    public = {
        "c": np.ones(3), "opt": 1, "coef_bounds": 1, "rhs_bounds": (0, 1), "max_violated": 4,
        "n_rows_public": 1_000, "epsilon": 1, "delta": 1e-6, "rounds": 5,
    }  # fmt: skip
    answers = [_seeded(1, np.ones((m, 3)), np.ones(m), **public) for m in (3, 400, 1_700)]
    assert len({repr(answer.plan) + answer.message + repr(answer.report) for answer in answers}) == 1
    for m in (3, 400, 1_700):
        assert str(m) not in repr(clipped_rows(np.ones((m, 3)), 1.0, np.ones(3), (0, 1), "packing"))


@pytest.mark.parametrize("make", [np.array, csr_array])
def test_too_little_memory_is_said_without_a_number_of_rows(make, monkeypatch):
    public = {
        "c": np.ones(3), "opt": 1, "coef_bounds": 1, "rhs_bounds": (0, 1), "n_rows_public": 10**13,
        "epsilon": 1, "delta": 1e-6, "rounds": 5,
    }  # fmt: skip
    said = set()
    for m in (0, 7, 1_234):
        with pytest.raises(TooLarge, match=r"max_violated = 1e\+12 rows needs about") as error:
            solve_constraint_private(make(np.ones((m, 3))), 1.0, max_violated=1e12, **public)
        said.add(str(error.value).split(" GB of memory")[0])  # then follows what is free just now
    assert len(said) == 1

    def refuse(*_, **__):
        raise TooLarge("1234 rows")

    monkeypatch.setattr("fastmwem.problems.constraint_lp.make_selector", refuse)
    with pytest.raises(TooLarge, match="A_ub needs more memory than is free") as error:
        solve_constraint_private(make(np.ones((1_234, 3))), 1.0, max_violated=9, **public)
    assert "1234" not in str(error.value)
    assert error.value.__suppress_context__


def test_public_bounds_that_look_read_off_the_rows_draw_a_warning():
    public = {
        "c": np.ones(3), "opt": 1, "coef_bounds": 1, "rhs_bounds": (0, 1), "max_violated": 4,
        "n_rows_public": 1_000, "epsilon": 1, "delta": 1e-6,
    }  # fmt: skip
    plan_constraint(**public)  # warnings are errors: none here
    for change in (
        {"coef_bounds": [1, 2, 17.382941]},
        {"rhs_bounds": (0, 0.98714235)},
        {"n_rows_public": 9_835},
    ):
        with pytest.warns(BoundLooksPrivate, match=next(iter(change))):
            plan_constraint(**{**public, **change})
    plan_constraint(**{**public, "n_rows_public": 9_835, "neighbours": "replace-one"})


@pytest.mark.parametrize("sense", ["packing", "covering"])
def test_what_is_promised_is_what_dense_weights_keep_and_little_more(sense):
    """Best responses to the dense weights, without privacy: never above the promise, near it somewhere."""
    rng = np.random.default_rng(7)
    share = 0.0
    for rounds in (1, 3, 30):
        for u in (0.05, 0.3, 1.0, 2.0):
            m, d, s = 60, 4, 5
            A = np.zeros((m, d))
            A[np.arange(m), rng.integers(0, d, m)] = 1.0
            opt, b = (4.0, np.ones(m)) if sense == "covering" else (1.0, np.full(m, 0.25))
            public = PublicProgram.checked(
                np.ones(d), 1, (b[0], b[0]), sense, s, m, Unit("add-remove")
            )  # feasible at x = OPT/4 for all
            people = clipped_rows(A, b, public.upper, public.rhs, sense)
            game = _Game(
                public, people, Budget(1, 1e-6), OPTIONS, Randomness.seeded(0), ("auto", None, None), None
            )
            eta = u / public.violation_range(opt)
            player = DenseWeights(game.columns, game._gains(opt), s, eta, opt)
            for _ in range(rounds):
                player.respond(Pick(int(game._candidates.scores(player.probe()).argmax()), 1))
            seen = violations(A, b, opt * player.counts / rounds, sense=sense).cvar(s)
            promised = public.promise(opt, u, rounds, 0.0)
            assert seen <= promised + 1e-9
            share = max(share, seen / promised)
    assert share > 0.2


@pytest.mark.parametrize("sense", ["packing", "covering"])
@pytest.mark.parametrize("u", [0.01, 0.5, 2.0])
def test_the_promise_is_the_least_of_the_two_that_are_proven(sense, u):
    low, high, opt, rounds, lost = 0.25, 1.5, 3.0, 40, 0.2
    public = PublicProgram.checked([1.0, 0.5], [1, 2], (low, high), sense, 8, 100, Unit())
    reach = opt * 2 / 0.5
    spread = reach + high - low
    start = spread * math.log(100 / 8) / (u * rounds)
    any_sign = lost + start + spread * u / 8
    if sense == "covering":  # violation - b_hi <= 0
        one_sign = (1 - math.exp(-u)) / u * (lost - high) + start + high
    else:  # violation + b_hi >= 0
        one_sign = (math.exp(u) - 1) / u * (lost + high) + start - high
    assert public.reach(opt) == reach
    assert public.violation_range(opt) == spread
    assert public.promise(opt, u, rounds, lost) == pytest.approx(min(any_sign, one_sign))
    assert selection_error(7, 3.0, 0.1, 40, 0.05) == pytest.approx(
        30 * (math.log(7) + gamma(40).isf(0.05) / 40)
    )


def test_a_search_promises_as_much_of_each_probe_as_it_says_of_the_answer():
    public = {
        "c": np.ones(9), "sense": "covering", "coef_bounds": 1, "rhs_bounds": (1, 1), "max_violated": 100,
        "n_rows_public": 1_000, "epsilon": 1, "delta": 1e-6, "rounds": 30, "alpha": 0.3,
    }  # fmt: skip
    plan = plan_constraint(**public, opt_grid=[1.0, 2.0, 3.0], beta=0.06)
    assert plan.probes == 2
    assert plan.selection == pytest.approx(selection_error(9, 2 * plan.sensitivity, plan.eps0, 30, 0.03))


def test_progress_counts_all_probes_as_one_run():
    A, told = _planted(3, m=500, d=10, good=5), []
    solve_constraint_private(
        A, np.ones(500), c=np.ones(10), opt_grid=[3, 4, 5], sense="covering", coef_bounds=1,
        rhs_bounds=(1, 1), max_violated=50, n_rows_public=500, epsilon=1, delta=1e-6, rounds=7,
        progress=lambda t, total: told.append((t, total)),
    )  # fmt: skip
    assert told == [(t, 14) for t in range(1, 15)]


def test_a_person_with_more_rows_costs_more():
    common = {
        "c": np.ones(9), "opt": 2, "sense": "covering", "coef_bounds": 1, "rhs_bounds": (1, 1),
        "max_violated": 100, "n_rows_public": 1_000, "epsilon": 1, "delta": 1e-6,
    }  # fmt: skip
    one, five = plan_constraint(**common), plan_constraint(**common, rows_per_person=5)
    assert five.sensitivity == pytest.approx(5 * one.sensitivity)
    assert five.alpha > one.alpha
    assert plan_constraint(**common, rows_per_person=500).sensitivity == pytest.approx(2)  # never above W
    answer = solve_constraint_private(np.ones((9, 9)), 1.0, **common, rounds=3, rows_per_person=5)
    assert "one person with at most 5 rows are added or removed" in answer.report.statement


def test_paper_schedule_takes_the_printed_constants():
    plan = plan_constraint(
        c=[1.0, 2.0], opt=3, sense="covering", coef_bounds=1, rhs_bounds=(1, 1), max_violated=10,
        n_rows_public=100, epsilon=1, delta=1e-3, schedule="paper", alpha=0.5,
    )  # fmt: skip
    assert plan.rounds == math.ceil(36 * 4 * math.log(100) / 0.25)
    assert plan.sensitivity == pytest.approx(3 * 3 / 10)
    assert plan.eps0 == pytest.approx(1 / math.sqrt(plan.rounds * math.log(1e3)))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"c": [1.0, 0.0]}, "c must have at least two entries, all above 0"),
        ({"c": [1e-300, 1.0], "coef_bounds": 1e10, "opt": 1e-200}, "beyond float64"),
        ({"opt": 0}, "opt must be above 0"),
        ({"opt": None}, "opt must be given, or opt_grid"),
        ({"opt_grid": [1.0]}, "not both"),
        ({"opt": None, "opt_grid": [-1.0, 1.0]}, "above 0"),
        ({"max_violated": 0.5}, "max_violated must be at least 1"),
        ({"max_violated": 50}, "max_violated must be below n_rows_public"),
        ({"coef_bounds": ([-1.0, -1.0], [1.0, 1.0])}, "no signed coefficients"),
        ({"coef_bounds": -1}, "coef_bounds must be"),
        ({"rhs_bounds": (2, 1)}, "low <= high"),
        ({"rows_per_person": 0}, "rows_per_person must be at least 1"),
        ({"sense": "mixed"}, "sense must be one of"),
        ({"A_ub": np.ones((3, 5))}, "A_ub must have 2 columns"),
        ({"A_ub": csr_array(np.ones((3, 5)))}, "A_ub must have 2 columns"),
        ({"A_ub": np.ones(2)}, "A_ub must have 2 columns"),
        ({"b_ub": np.ones(4)}, "one entry for each row"),
        ({"A_ub": "rows"}, "A_ub must be a matrix"),
        ({"b_ub": "one"}, "b_ub must be a number"),
        ({"schedule": "paper"}, "alpha must be given"),
        ({"neighbours": "friends"}, "neighbours must be"),
    ],
)
def test_errors_name_the_argument(change, words):
    call = {
        "A_ub": np.ones((3, 2)), "b_ub": np.ones(3), "c": [1.0, 1.0], "opt": 1, "coef_bounds": 1,
        "rhs_bounds": (0, 1), "max_violated": 2, "n_rows_public": 50, "epsilon": 1, "delta": 1e-6,
    }  # fmt: skip
    with pytest.raises(InvalidArgument, match=words):
        solve_constraint_private(**{**call, **change})
