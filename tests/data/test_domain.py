"""The declared domain: its cells, their labels, and where undeclared values go."""

from datetime import date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmwem.data.cells import UNITS, Calendar, Integer, Numeric, ordinal
from fastmwem.data.domain import Column, Domain
from fastmwem.errors import DomainError


def test_cells_are_numbered_in_the_declared_order():
    domain = Domain((Column.categorical("sex", ["F", "M"]), Column.integer("age", 0, 9, width=5)))
    assert domain.names == ("sex", "age")
    assert domain.shape == (2, 2)
    assert domain.size == 4
    assert domain["age"].labels == ("0..4", "5..9")


@pytest.mark.parametrize(
    ("policy", "other", "null", "extra"),
    [
        ({}, 0, 0, 0),
        ({"null": True}, 2, 2, 1),
        ({"other": "category"}, 2, 2, 1),
        ({"null": True, "other": "category"}, 2, 3, 2),
    ],
)
def test_every_value_has_a_cell_under_every_policy(policy, other, null, extra):
    column = Column.categorical("c", ["a", "b"], **policy)
    assert (column.other_cell, column.null_cell) == (other, null)
    assert column.size == 2 + extra
    assert column.declared == 2


def test_policy_is_said_in_words():
    assert "nearest cell" in Column.integer("a", 0, 3).policy()
    assert "'(null)'" in Column.categorical("a", ["x"], null=True).policy()
    both = Column.categorical("a", ["x"], null=True, other="category").policy()
    assert "'(other)'" in both
    assert "'(null)'" in both


@given(
    st.dates(date(1583, 1, 1), date(9990, 1, 1)),
    st.integers(0, 4000),
    st.sampled_from([unit for unit in UNITS if unit != "hour"]),
)
def test_calendar_cells_tile_the_range(low, days, unit):
    cells = Calendar(low, low + timedelta(days=days), unit)
    assert cells.start(0).date() <= low < cells.start(1).date()
    last = cells.size - 1
    assert cells.start(last).date() <= cells.high < cells.start(last + 1).date()
    assert ordinal(cells.start(last), unit) == cells.first + last
    assert len(set(cells.labels)) == cells.size


def test_hours():
    cells = Calendar(datetime(2024, 2, 28, 23), datetime(2024, 3, 1), "hour")
    assert cells.size == 26
    assert cells.labels[:2] == ("2024-02-28 23:00", "2024-02-29 00:00")
    assert cells.type == "datetime"


def test_weeks_begin_on_monday():
    assert Calendar(date(2024, 1, 7), date(2024, 1, 8), "week").labels == (
        "week of 2024-01-01",
        "week of 2024-01-08",
    )


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=30, unique=True).map(sorted))
def test_numeric_labels_tell_bins_apart(edges):
    cells = Numeric(tuple(edges))
    assert len(set(cells.labels)) == len(edges) - 1


def test_integer_spans_cover_low_to_high():
    cells = Integer(-3, 8, 5)
    assert [cells.span(k) for k in range(cells.size)] == [(-3, 1), (2, 6), (7, 8)]
    assert cells.labels == ("-3..1", "2..6", "7..8")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Column.categorical("c", []), "empty"),
        (lambda: Column.categorical("c", ["a", "a "]), "twice"),
        (lambda: Column.categorical("c", ["a", float("nan")]), "null = true"),
        (lambda: Column.categorical("c", ["(other)"], other="category"), "rename"),
        (lambda: Column.categorical("c", ["a"], other="drop"), "other must be one of"),
        (lambda: Column.numeric("c", [1]), "two numbers"),
        (lambda: Column.numeric("c", [1, 1]), "increase"),
        (lambda: Column.numeric("c", [0, float("inf")]), "finite"),
        (lambda: Column.equal_bins("c", 1, 0, 3), "below high"),
        (lambda: Column.equal_bins("c", 0, 1, 1 << 60), "more than"),
        (lambda: Column.integer("c", 0, 10**15), "width"),
        (lambda: Column.integer("c", 0, 2**60, width=2**50), r"2\*\*53"),
        (lambda: Column.calendar("c", date(2024, 1, 1), date(2023, 1, 1)), "after"),
        (lambda: Column.calendar("c", date(2024, 1, 1), date(2025, 1, 1), "hour"), "datetime"),
        (lambda: Column.calendar("c", date(2024, 1, 1), date(2025, 1, 1), "moon"), "unit"),
        (lambda: Domain(()), "no columns"),
        (lambda: Domain((Column("a", ("x",)), Column("a", ("x",)))), "twice"),
        (lambda: Domain.of_sizes({"a": 2}).axis("b"), "not in the domain"),
    ],
)
def test_mistakes_are_named(make, says):
    with pytest.raises(DomainError, match=says):
        make()
