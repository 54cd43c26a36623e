"""The bound on contributions: k rows a person, chosen by looking at that person alone."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastmwem.data.domain import Domain
from fastmwem.data.table import Table
from fastmwem.errors import InvalidArgument

OVER = Domain.of_sizes({"a": 3, "b": 3})
ROW = st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, 2))


def histogram(rows, k, engine="duckdb"):
    who, a, b = zip(*rows, strict=True) if rows else ((), (), ())
    table = pa.table(
        {"who": pa.array(who, pa.int64()), "a": pa.array(a, pa.int64()), "b": pa.array(b, pa.int64())}
    )
    return Table.read(table, engine=engine).counts(OVER, person="who", max_rows_per_person=k).histogram()


@settings(max_examples=12, deadline=None)
@given(st.lists(ROW, max_size=25), st.integers(1, 3))
def test_a_person_moves_the_histogram_by_at_most_k(rows, k):
    """Take each person out: what is left must be a part of what was there, at most k rows smaller."""
    full = histogram(rows, k)
    assert full.sum() == sum(min(k, sum(row[0] == who for row in rows)) for who in range(5))
    for person in {row[0] for row in rows}:
        without = histogram([row for row in rows if row[0] != person], k)
        assert (without <= full).all()
        assert (full - without).sum() <= k


def test_a_bound_that_looks_at_others_would_be_caught():
    """The negative control: the first k rows of the table are no bound per person."""
    rows = [(0, 0, 0), (0, 1, 1), (1, 2, 2)]
    first = [row for row in rows if row[0] != 0][:2]
    assert not set(first) <= set(rows[:2])


@settings(max_examples=5, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=25), st.randoms())
def test_the_order_of_the_table_does_not_matter(rows, random):
    shuffled = rows[:]
    random.shuffle(shuffled)
    np.testing.assert_array_equal(histogram(rows, 2), histogram(shuffled, 2))


def test_rows_without_a_person_are_left_out():
    assert histogram([(None, 1, 1), (None, 1, 1), (3, 1, 1)], 5).sum() == 1


@pytest.mark.parametrize(
    "who", [["", " ", "\t", "p"], [np.nan, float("nan"), np.nan, 7.0]], ids=["text", "numbers"]
)
def test_people_without_a_name_are_not_taken_for_one_person(who):
    """Whichever of them left, others' rows would come up: the histogram would move by more than k."""
    table = pa.table({"who": who, "a": [0, 1, 2, 1], "b": [0, 1, 2, 1]})
    counts = Table.read(table).counts(OVER, person="who", max_rows_per_person=1).histogram()
    assert counts.sum() == 1


def test_how_many_rows_of_a_person_count_must_be_said():
    table = pa.table({"who": [1], "a": [0], "b": [0]})
    with pytest.raises(InvalidArgument, match="max_rows_per_person is missing"):
        Table.read(table).counts(OVER, person="who")


def test_the_choice_is_even_over_a_persons_rows():
    """4,000 people with one row in each of 9 cells keep 3: each cell is kept by a third of them.

    A second column makes the people differ; 6 standard errors of a binomial share.
    """
    people, cells = 4000, 9
    random = np.random.default_rng(3)
    table = pa.table(
        {
            "who": np.repeat(np.arange(people), cells),
            "cell": np.tile(np.arange(cells), people),
            "else": random.integers(0, 1000, people * cells),
        }
    )
    over = Domain.of_sizes({"cell": cells, "else": 1000})
    counts = Table.read(table).counts(over, person="who", max_rows_per_person=3)
    (kept,) = counts.marginals([(0,)])
    assert kept.sum() == 3 * people
    assert np.abs(kept / people - 1 / 3).max() < 6 * np.sqrt(2 / 9 / people)


def test_repeated_rows_weigh_as_often_as_they_occur():
    """9 rows in one cell and 1 in another, one kept: the rare one in a tenth of the people."""
    people = 4000
    random = np.random.default_rng(4)
    table = pa.table(
        {
            "who": np.repeat(np.arange(people), 10),
            "cell": np.tile([0] * 9 + [1], people),
            "else": np.repeat(random.integers(0, 1 << 16, people), 10),
        }
    )
    over = Domain.of_sizes({"cell": 2, "else": 1 << 16})
    counts = Table.read(table).counts(over, person="who", max_rows_per_person=1)
    (kept,) = counts.marginals([(0,)])
    assert abs(kept[1] / people - 0.1) < 6 * np.sqrt(0.09 / people)


def test_polars_says_that_it_cannot():
    with pytest.raises(InvalidArgument, match="duckdb"):
        histogram([(0, 1, 1)], 1, "polars")


@pytest.mark.spark
def test_spark_keeps_the_same_rows(spark):
    random = np.random.default_rng(7)
    rows = list(map(tuple, np.stack([random.integers(0, k, 400) for k in (40, 3, 3)], axis=1).tolist()))
    np.testing.assert_array_equal(histogram(rows, 4, spark), histogram(rows, 4))


def test_postgres_keeps_the_same_rows(postgres_url):
    import ibis

    random = np.random.default_rng(8)
    rows = np.stack([random.integers(0, k, 400) for k in (40, 3, 3)], axis=1)
    connection = ibis.connect(postgres_url)
    connection.create_table(
        "visits", pa.table(dict(zip(("who", "a", "b"), rows.T, strict=True))), overwrite=True
    )
    counts = Table.read(postgres_url, table="visits").counts(OVER, person="who", max_rows_per_person=4)
    np.testing.assert_array_equal(counts.histogram(), histogram(list(map(tuple, rows.tolist())), 4))
    connection.disconnect()
