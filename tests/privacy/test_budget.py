"""Budgets and units of privacy: what they accept, and that what they refuse is named."""

import math
from dataclasses import FrozenInstanceError

import pytest

from fastmwem.errors import InvalidArgument
from fastmwem.privacy.budget import Budget, Neighbours, Unit, rounded_up


def test_a_budget_is_a_value():
    assert Budget(1, 1e-6) == Budget(1.0, 1e-6)
    with pytest.raises(FrozenInstanceError):
        Budget(1, 1e-6).epsilon = 2  # type: ignore[misc]


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "1", None, True])
def test_a_budget_needs_a_positive_epsilon(epsilon):
    with pytest.raises(InvalidArgument, match="epsilon"):
        Budget(epsilon, 1e-6)


@pytest.mark.parametrize("delta", [0, 1, -0.1, 2, math.nan, "0.1", None])
def test_a_budget_needs_a_delta_between_0_and_1(delta):
    with pytest.raises(InvalidArgument, match="delta"):
        Budget(1, delta)


def test_what_was_spent_is_never_rounded_down():
    for spent in (1.00049, 0.1234400001, 7.0, 1e-300, 0.99999995):
        assert spent <= rounded_up(spent) <= spent * 1.001
    assert rounded_up(math.inf) == math.inf
    assert rounded_up(0.0) == 0


def test_neighbours_are_named():
    assert Neighbours.parse("add-remove") is Neighbours.ADD_REMOVE
    assert Neighbours.parse(Neighbours.REPLACE_ONE) is Neighbours.REPLACE_ONE
    with pytest.raises(InvalidArgument, match="'replace-one' or 'add-remove'"):
        Neighbours.parse("zero-out")


def test_a_unit_is_a_person_with_at_most_so_many_rows():
    assert Unit() == Unit(Neighbours.REPLACE_ONE, 1)
    assert Unit("add-remove", 3).neighbours is Neighbours.ADD_REMOVE  # type: ignore[arg-type]
    for rows in (0, 1.5, -2, math.nan):
        with pytest.raises(InvalidArgument, match="rows_per_person"):
            Unit(rows_per_person=rows)
