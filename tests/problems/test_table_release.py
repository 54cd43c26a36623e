"""Release from a table: the same mechanism as on arrays, with the table's promises in front."""

import numpy as np
import pyarrow as pa
import pytest

import fastmwem as fm
from fastmwem.data.domain import Domain
from fastmwem.errors import BudgetExceeded, DataError, DomainError, InvalidArgument, TooLarge
from fastmwem.privacy.account_file import Account
from fastmwem.privacy.budget import Budget, Neighbours
from fastmwem.problems.table_release import prepare

OVER = Domain.of_sizes({"a": 3, "b": 4})
BUDGET = {"epsilon": 1.0, "delta": 1e-6}


@pytest.fixture(scope="module")
def people():
    random = np.random.default_rng(1)
    return pa.table({"a": random.integers(0, 3, 3000), "b": random.integers(0, 4, 3000)})


@pytest.fixture
def account(tmp_path):
    return Account.create(tmp_path / "budget.jsonl", Budget(1.2, 1e-6), "zcdp")


def release(table, **options):
    return fm.release(
        table, "marginals:1", domain=OVER, **{**BUDGET, "method": "mwem", "rounds": 20, **options}
    )


def test_answers_are_those_of_the_table(people):
    made = fm.release(people, fm.marginals(OVER, k=1), epsilon=50, delta=1e-2, rounds=300)
    assert made.report.public_inputs["n"] == 3000
    assert made.evaluate(prepare(people, "marginals:1", domain=OVER).data).max_error < 0.05


@pytest.mark.parametrize("method", ["direct", "measured", "mwem"])
def test_a_domain_too_large_to_hold_is_released_on_a_public_support(method):
    """1e9 cells: the table is asked for marginals only, and answers them as if it had been held."""
    random = np.random.default_rng(2)
    over = Domain.of_sizes({f"c{j}": 1000 for j in range(3)})
    codes = np.repeat(random.integers(0, 1000, 3000)[:, None], 3, axis=1)
    table = pa.table({f"c{j}": codes[:, j] for j in range(3)})
    support = np.repeat(np.arange(1000)[:, None], 3, axis=1)
    asked = fm.marginals(over, subsets=[["c0"], ["c1"]]) + 2 * fm.marginals(over, subsets=[["c2"]])
    data = prepare(table, asked).data
    np.testing.assert_array_equal(data.answers(asked).reshape(3, -1).sum(axis=1), 3000)
    np.testing.assert_array_equal(data.marginal((2, 0)).nonzero()[0] % 1001, 0)
    other = fm.prefixes(over, "c1") + fm.predicates(over, [{"c0": slice("0", "99"), "c2": ["7", "8"]}, {}])
    answers = data.answers(2 * other)
    np.testing.assert_array_equal(answers[:1000], np.cumsum(np.bincount(codes[:, 1], minlength=1000)))
    np.testing.assert_array_equal(answers[1000:], [np.isin(codes[:, 0], [7, 8]).sum(), 3000])
    made = fm.release(table, asked, support=support, method=method, epsilon=1, delta=1e-6)
    assert made.evaluate(data).max_error < 0.02
    with pytest.raises(TooLarge, match="support"):
        fm.release(table, asked, epsilon=1, delta=1e-6)


def test_seeded_runs_repeat_and_are_stamped(people):
    first, second = (release(people, randomness=fm.Randomness.seeded(3)) for _ in range(2))
    np.testing.assert_array_equal(first.values, second.values)
    assert not first.report.private


def test_people_are_protected_by_add_remove_with_their_rows(people):
    table = people.append_column("who", pa.array(np.arange(3000) // 10))
    made = release(table, person="who", max_rows_per_person=2, n=600)
    assert made.report.neighbours == "add-remove"
    assert made.report.rows_per_person == 2
    assert any("'who'" in said and "at most 2 rows" in said for said in made.report.assumptions)
    assert prepare(table, "marginals:1", domain=OVER, person="who", max_rows_per_person=2).data.rows() == 600
    with pytest.raises(InvalidArgument, match="add-remove"):
        release(table, person="who", max_rows_per_person=2, neighbours="replace-one")


def test_n_is_public_under_replace_one_only(people):
    assert prepare(people, "marginals:1", domain=OVER).n == 3000
    private = prepare(people, "marginals:1", domain=OVER, neighbours=Neighbours.ADD_REMOVE)
    assert private.n is None
    assert "3000" not in repr(private)


def test_an_account_is_charged_exactly_what_the_report_says(people, account):
    made = release(people, account=account.path)
    assert len(account.runs()) == 1
    assert account.spent() >= made.report.epsilon
    before = account.path.read_bytes()
    with pytest.raises(BudgetExceeded, match="is spent"):
        release(people, account=account)
    with pytest.raises(InvalidArgument, match="private runs only"):
        release(people, account=account, randomness=fm.Randomness.seeded(1))
    assert account.path.read_bytes() == before


def test_an_exhausted_account_is_refused_before_the_mechanism_runs(people, account, monkeypatch):
    release(people, account=account)
    drawn = []
    monkeypatch.setattr("fastmwem.problems.mwem.play", lambda *args: drawn.append(1))
    with pytest.raises(BudgetExceeded):
        release(people, account=account)
    assert not drawn


def test_mistakes(people):
    with pytest.raises(InvalidArgument, match="domain is missing"):
        fm.release(people, "marginals:1", **BUDGET)
    with pytest.raises(DomainError, match="differs"):
        fm.release(people, fm.marginals(OVER, k=1), domain=Domain.of_sizes({"a": 3, "b": 5}), **BUDGET)
    with pytest.raises(DomainError, match="no domain"):
        fm.release(people, fm.linear(np.eye(12)), **BUDGET)
    with pytest.raises(DataError, match="no rows"):
        release(people.slice(0, 0))
    empty = release(people.slice(0, 0), neighbours="add-remove", n=100)  # here that it is empty is private
    assert empty.report.private
