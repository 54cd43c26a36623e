"""Private linear query release: sensitivities, spending, errors, bounds, supports, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

import fastmwem as fm
from fastmwem.errors import DomainError, InvalidArgument, TooLarge
from fastmwem.privacy.accounting import accountant
from fastmwem.privacy.budget import Budget, Neighbours, Unit
from fastmwem.privacy.ledger import Ledger
from fastmwem.privacy.randomness import Randomness
from fastmwem.problems.histogram import firm_to_total, laplace_tail
from fastmwem.problems.method import Histogram, Problem, Records
from fastmwem.problems.mwem import Mwem
from fastmwem.queries.union import weighted

BUDGET = {"epsilon": 1.0, "delta": 1e-6}
DOMAIN = fm.Domain.of_sizes({"a": 4, "b": 3, "c": 2})


def seeded(seed):
    return Randomness.seeded(seed)


@pytest.fixture(scope="module")
def records():
    rng = np.random.default_rng(5)
    a = rng.choice(4, 5000, p=[0.5, 0.3, 0.15, 0.05])
    return np.stack([a, (a + rng.integers(0, 2, 5000)) % 3, rng.random(5000) < 0.2], axis=1).astype(np.int64)


@pytest.fixture(scope="module")
def workload():
    return fm.ranges(DOMAIN, "a") + fm.predicates(DOMAIN, [{"a": "0", "b": ["0", "1"]}, {"b": "2", "c": "1"}])


class Spy(Histogram):
    """Keeps what a selector was given, to compute the scores of neighbours."""


def scores(queries, histogram, p, unit, total):
    """The scaled-down scores of `Mwem.run`, written out: w s (<q, p> - a), signed candidates."""
    centre = (histogram.sum() - total) / 2 if unit.neighbours is Neighbours.ADD_REMOVE else 0.0
    a = (queries.answers(histogram) - centre) / total
    weights = 1.0 if queries.importance is None else queries.importance
    plain = weights * (queries.answers(p) - a)
    return np.concatenate([plain, -plain])


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("k", [1, 2])
def test_the_sensitivity_claimed_is_the_largest_move_over_all_neighbours(
    neighbours, k, workload, monkeypatch
):
    """Brute force over every change of k rows; and it is attained, so half of it would be false."""
    queries = weighted(workload, np.linspace(0.5, 2.0, workload.m))
    h = np.full(DOMAIN.size, 10.0)
    unit = Unit(Neighbours.parse(neighbours), k)
    seen = {}

    class Stop(Exception):
        pass

    def stop(name, candidates, mechanism, randomness, **options):
        seen.update(mechanism=mechanism, candidates=candidates)
        raise Stop

    monkeypatch.setattr("fastmwem.problems.mwem.make_selector", stop)
    problem = Problem(queries, Budget(1, 1e-6), unit, int(h.sum()), "zcdp")
    ledger = Ledger(problem.budget, accountant("zcdp"))
    with pytest.raises(Stop):
        Mwem(rounds=5).run(problem, Histogram(h), ledger, seeded(0))
    mechanism = seen["mechanism"]
    p = np.random.default_rng(0).dirichlet(np.ones(DOMAIN.size))
    count = queries.importance.max() * k / mechanism.sensitivity / (2 if problem.counts else 1)  # n or n~
    here = scores(queries, h, p, unit, count)
    given = seen["candidates"]
    np.testing.assert_allclose(np.concatenate([given.scores(p), -given.scores(p)]), here, atol=1e-12)

    eye = np.eye(DOMAIN.size)
    if neighbours == "replace-one":
        changes = [k * (eye[x] - eye[y]) for x, y in itertools.permutations(range(DOMAIN.size), 2)]
    else:
        changes = [sign * k * eye[x] for x in range(DOMAIN.size) for sign in (-1, 1)]
    moves = np.array([scores(queries, h + change, p, unit, count) - here for change in changes])
    assert np.abs(moves).max() == pytest.approx(mechanism.sensitivity)
    assert np.ptp(moves, axis=1).max() <= 2 * mechanism.sensitivity + 1e-12


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("method", ["mwem", "histogram"])
def test_the_ledger_fits_the_budget_and_the_answers_the_data(method, neighbours, workload, records):
    release = fm.query_release(
        workload, records, **BUDGET, method=method, neighbours=neighbours, n=5000, randomness=seeded(1)
    )
    assert not release.report.private
    assert release.report.epsilon == np.inf
    assert "NOT private" in release.report.statement
    private = fm.query_release(workload, records, **BUDGET, method=method, neighbours=neighbours, n=5000)
    assert private.report.private
    assert 0.98 < private.report.epsilon <= 1.0
    counts = dict(private.report.events)
    if method == "mwem":
        rounds = private.report.public_inputs["rounds"]
        assert sorted(counts.values()) == ([rounds] if neighbours == "replace-one" else [1, rounds])
    else:
        assert list(counts.values()) == [1]
    for found in (release, private):
        error = found.evaluate(Records(records, DOMAIN))
        assert error.max_error < 0.06
        assert (error.errors <= found.bounds).all()
        assert "NOT private" in repr(error)


def test_classic_and_fast_mwem_differ_in_time_alone():
    """Algorithm 1 (exhaustive) and Algorithm 2 (lazy): same law, so the same error up to chance."""
    rng = np.random.default_rng(2)
    matrix = (rng.random((300, 40)) < 0.3).astype(np.int8)
    h = np.rint(1000 * rng.dirichlet(np.full(40, 0.3)))
    found = {}
    for selection in ("exhaustive", "lazy", "auto"):
        options = {"method": "mwem", "rounds": 400, "selection": selection}
        runs = [fm.query_release(matrix, h, **BUDGET, **options, randomness=seeded(s)) for s in range(4)]
        found[selection] = [r.evaluate(h).max_error for r in runs]
        assert all((r.evaluate(h).errors <= r.bounds).all() for r in runs)
    means = {name: np.mean(errors) for name, errors in found.items()}
    assert max(means.values()) < 1.6 * min(means.values())


def test_error_falls_with_n_and_with_rounds_up_to_the_plan():
    rng = np.random.default_rng(3)
    matrix = (rng.random((200, 60)) < 0.3).astype(np.int8)
    p = rng.dirichlet(np.full(60, 0.2))

    def error(n, rounds):
        h = np.rint(n * p)
        runs = [
            fm.query_release(matrix, h, **BUDGET, method="mwem", rounds=rounds, randomness=seeded(s))
            for s in range(3)
        ]
        return np.mean([run.evaluate(h).max_error for run in runs])

    by_n = [error(n, 500) for n in (300, 3_000, 300_000)]
    assert by_n[0] > 1.5 * by_n[1] > 1.5 * 1.2 * by_n[2]
    by_rounds = [error(300_000, rounds) for rounds in (10, 100, 1000)]
    assert by_rounds[0] > 1.5 * by_rounds[1] > 1.5 * 1.5 * by_rounds[2]


@pytest.mark.parametrize(
    ("method", "neighbours"), [("mwem", "replace-one"), ("mwem", "add-remove"), ("histogram", "add-remove")]
)
def test_the_error_bounds_hold_as_often_as_they_say(method, neighbours):
    h = np.array([30.0, 5, 0, 0, 60, 100, 3, 2])
    workload = fm.ranges(8)
    failures, simultaneous = np.zeros(workload.m), 0
    for seed in range(100):
        release = fm.query_release(
            workload,
            h,
            **BUDGET,
            method=method,
            neighbours=neighbours,
            n=200,
            accountant="zcdp",
            randomness=seeded(seed),
            **({"rounds": 30} if method == "mwem" else {}),
        )
        wrong = release.evaluate(h).errors * h.sum() / release.total > release.bounds
        failures += np.abs(release.counts - workload.answers(h)) / release.total > release.bounds
        simultaneous += wrong.any()
    allowed = stats.binom.ppf(1 - 1e-6, 100, 0.05)
    assert failures.max() <= allowed
    if method == "mwem":
        assert simultaneous <= allowed


def test_the_papers_schedule_is_the_printed_one_and_the_report_adds_the_true_epsilon():
    h = np.full(16, 25.0)
    release = fm.query_release(
        fm.prefixes(16), h, epsilon=1, delta=1e-3, method="mwem", rounds=100, schedule="paper"
    )
    assert release.details["eps0"] == pytest.approx(0.3805 / 10, rel=1e-3)
    assert release.report.epsilon < 0.6  # spent, by optimal accounting, of the epsilon = 1 asked for
    with pytest.raises(InvalidArgument, match="rounds must be given"):
        fm.query_release(fm.prefixes(16), h, epsilon=1, delta=1e-3, method="mwem", schedule="paper")


def test_a_support_carries_the_model_and_says_what_it_misses(workload, records):
    support = np.unique(records, axis=0)
    assert len(support) < DOMAIN.size
    release = fm.query_release(
        workload, records, **BUDGET, method="mwem", support=support, randomness=seeded(2)
    )
    assert release.distribution.shape == (len(support),)
    assert any("outside the support" in a for a in release.report.assumptions)
    truth = Records(records, DOMAIN).answers(workload) / 5000
    assert np.abs(release.values - truth).max() < 0.05
    rows = {tuple(row) for row in release.sample(500, randomness=seeded(0))}
    assert rows <= {tuple(row) for row in support}
    # the domain may be astronomically large: only the support is ever held
    wide = fm.Domain.of_sizes({f"x{i}": 10 for i in range(17)})
    table = np.random.default_rng(0).integers(0, 10, (200, 17))
    found = fm.query_release(
        fm.marginals(wide, k=1),
        table,
        **BUDGET,
        method="mwem",
        rounds=20,
        support=table,
        randomness=seeded(1),
    )
    assert found.values.size == 170


def test_what_needs_the_full_domain_is_not_planned_on_a_support(workload, records):
    """Noise on every cell is best where there are few, but a support is not the table's cells."""
    support = np.unique(records, axis=0)[:2]
    plan = fm.plan(workload, n=5000, **BUDGET, support=support)
    assert "histogram" not in [prediction.method for prediction in plan.predictions]
    release = fm.query_release(workload, records, **BUDGET, support=support)
    assert release.distribution.shape == (2,)
    with pytest.raises(InvalidArgument, match="'histogram' does not apply"):
        fm.query_release(workload, records, **BUDGET, support=support, method="histogram")


@pytest.mark.parametrize("method", ["auto", "mwem", "measured", "direct"])
def test_queries_on_a_domain_that_no_vector_fits(method):
    wide = fm.Domain.of_sizes({f"x{i}": 10 for i in range(17)})
    table = np.random.default_rng(0).integers(0, 10, (400, 17))
    asked = fm.predicates(wide, [{"x0": ["1", "2", "3"]}, {"x3": "5", "x16": slice("0", "8")}])
    release = fm.query_release(asked, table, **BUDGET, support=table[:100], method=method)
    truth = [np.isin(table[:, 0], [1, 2, 3]).mean(), ((table[:, 3] == 5) & (table[:, 16] < 9)).mean()]
    assert (np.abs(release.values - truth) <= 0.3).all()


@pytest.mark.parametrize("method", ["auto", "mwem", "measured", "direct", "histogram"])
@pytest.mark.parametrize("empty", [np.zeros(24), np.zeros((0, 3), int)], ids=["histogram", "records"])
def test_an_empty_table_is_released_like_any_other_where_n_is_private(method, empty, workload):
    """An error would tell it from its neighbour with one row."""
    release = fm.query_release(workload, empty, **BUDGET, method=method, neighbours="add-remove", n=100)
    assert np.isfinite(release.values).all()
    with pytest.raises(InvalidArgument, match="at least one row"):
        fm.query_release(workload, empty, **BUDGET, method=method)


def test_weights_buy_accuracy_where_they_are():
    h = np.rint(2000 * np.random.default_rng(1).dirichlet(np.full(32, 0.2)))
    first, second = fm.prefixes(32), fm.predicates(fm.Domain.of_sizes({"cell": 32}), [{"cell": ["3", "30"]}])
    assert (first + 0.25 * second).importance[-1] == 0.25
    release = fm.query_release(first + 0.25 * second, h, **BUDGET, method="mwem", randomness=seeded(1))
    assert release.bounds[-1] == pytest.approx(min(1.0, 4 * release.bounds[0]))


def test_nothing_leaves_an_interrupted_run():
    def interrupt(t, rounds):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fm.query_release(
            fm.prefixes(8), np.full(8, 9.0), **BUDGET, method="mwem", rounds=10, progress=interrupt
        )


def test_progress_shows_rounds_alone():
    seen = []
    fm.query_release(
        fm.prefixes(8),
        np.full(8, 9.0),
        **BUDGET,
        method="mwem",
        rounds=10,
        progress=lambda t, rounds: seen.append((t, rounds)),
    )
    assert seen == [(t, 10) for t in range(1, 11)]


def test_a_plan_sees_no_data_and_auto_runs_its_choice():
    plan = fm.plan(fm.prefixes(64), n=10_000, **BUDGET)
    assert plan.chosen == plan.predictions[0].method
    assert plan["mwem"].rounds >= 10
    assert "mwem" in repr(plan)
    assert plan.to_dict()["methods"][0]["method"] == plan.chosen
    h = np.full(64, 156.0)
    assert fm.query_release(fm.prefixes(64), h, **BUDGET).method == plan.chosen
    # few people: uniform-like answers are all one can promise, and the plan says so
    assert fm.plan(fm.ranges(512), n=10, epsilon=0.1, delta=1e-6).predictions[0].max_error > 0.2


def test_errors_come_before_any_spending():
    h, q = np.full(8, 5.0), fm.prefixes(8)
    cases = [
        (lambda: fm.query_release([[0.5, 1.5]], [1, 2], **BUDGET), r"must lie in \[0, 1\]"),
        (lambda: fm.query_release([[0.5, np.nan]], [1, 2], **BUDGET), "finite"),
        (lambda: fm.query_release(q, -h, **BUDGET), "histogram must not be negative"),
        (lambda: fm.query_release(q, [], **BUDGET), "at least one cell"),
        (lambda: fm.query_release(q, 0 * h, **BUDGET), "at least one row"),
        (lambda: fm.query_release(q, h / h.sum(), **BUDGET), "whole numbers, the count of rows"),
        (lambda: fm.query_release(q, h[:-1], **BUDGET), "8 cells, got 7"),
        (lambda: fm.query_release(q, h * np.inf, **BUDGET), "histogram must be finite"),
        (lambda: fm.query_release(q, h, epsilon=0, delta=1e-6), "epsilon must be above 0"),
        (lambda: fm.query_release(q, h, epsilon=1, delta=2), "delta must lie"),
        (lambda: fm.query_release(q, h, **BUDGET, method="mwem", rounds=0), "rounds must be at least 1"),
        (lambda: fm.query_release(q, h, **BUDGET, method="mvem"), "did you mean 'mwem'"),
        (lambda: fm.query_release(q, h, **BUDGET, n=41), "leave it out"),
        (lambda: fm.query_release(q, h, **BUDGET, support=[[0, 1]]), "records must be"),
        (
            lambda: fm.query_release(np.eye(8), h, **BUDGET, support=[[0]]),
            "support needs a workload on a domain",
        ),
        (lambda: fm.query_release(q, h, **BUDGET, neighbours="swap"), "neighbours must be"),
    ]
    for call, message in cases:
        with pytest.raises((InvalidArgument, DomainError), match=message):
            call()
    big = fm.Domain.of_sizes({f"x{i}": 10 for i in range(17)})
    with pytest.raises(TooLarge, match="100,000,000,000,000,000 cells"):
        fm.query_release(fm.marginals(big, k=2), np.zeros((3, 17), int), **BUDGET)


def test_no_private_value_in_any_message_or_repr(records):
    marked = Histogram(np.array([123456.0, 1, 2]))
    for shown in (repr(marked), repr(Records(records, DOMAIN))):
        assert "123456" not in shown
        assert "private" in shown
    with pytest.raises(InvalidArgument) as caught:
        fm.query_release(fm.prefixes(3), [-123456.0, 1, 2], **BUDGET)
    assert "123456" not in str(caught.value)


def test_the_histogram_baselines_tail():
    rng = np.random.default_rng(0)
    for size in (1, 5, 200):
        sums = rng.laplace(scale=3.0, size=(40_000 // size + 2000, size)).sum(axis=1)
        bound = laplace_tail(3.0, np.array([float(size)]), 0.05)[0]
        assert (np.abs(sums) > bound).mean() < 0.05
        assert bound < 3 * np.quantile(np.abs(sums), 0.95)


def test_what_the_histogram_baseline_makes_of_noisy_counts():
    """Possible, in the order of the noisy counts, and regions that hold nearly all keep what they hold."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        noisy, total = rng.normal(size=9) * 5, rng.random() * 20 + 0.1
        made = firm_to_total(noisy, total)
        assert made.sum() == pytest.approx(total)
        assert (made >= 0).all()
        assert (np.diff(made[np.argsort(noisy)]) >= -1e-12).all()
    counts = np.r_[np.full(50, 100.0), np.zeros(450)]
    kept = []
    for seed in range(20):
        noisy = counts + np.random.default_rng(seed).laplace(scale=2.0, size=500)
        kept.append(firm_to_total(noisy, 5_000.0)[:50].sum())
    assert 4_980 < np.mean(kept) < 5_020
