"""What may be spent, and on whom: (epsilon, delta), neighbouring tables, and rows per person."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Context
from enum import StrEnum

from fastmwem.errors import InvalidArgument, check_positive, check_probability, check_whole

__all__ = ["Budget", "Neighbours", "Unit", "rounded_up"]


def rounded_up(spent: float, digits: int = 4) -> float:
    """`spent`, an epsilon or a delta, with few digits and never less than it is: what a sentence may say.

    >>> rounded_up(1.00049), rounded_up(0.99999995)
    (1.001, 1.0)
    """
    return float(Context(prec=digits, rounding=ROUND_CEILING).create_decimal_from_float(spent))


class Neighbours(StrEnum):
    """When two tables count as neighbours, that is, differ in one unit of privacy.

    - `REPLACE_ONE`: one row is changed; n is public. A query with values in [0, 1] answered as a fraction
      of n moves by at most 1/n.
    - `ADD_REMOVE`: one row is added or removed; n is private. Counts move by at most 1.

    >>> Neighbours.parse("add-remove")
    <Neighbours.ADD_REMOVE: 'add-remove'>
    """

    REPLACE_ONE = "replace-one"
    ADD_REMOVE = "add-remove"

    @classmethod
    def parse(cls, value: Neighbours | str) -> Neighbours:
        """The member that `value` names, or an error that lists the members."""
        try:
            return cls(value)
        except ValueError:
            names = " or ".join(repr(member.value) for member in cls)
            raise InvalidArgument(f"neighbours must be {names}, got {value!r}.") from None


@dataclass(frozen=True)
class Budget:
    """The total (epsilon, delta) that a run may spend.

    >>> Budget(1, 1e-6)
    Budget(epsilon=1.0, delta=1e-06)
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", check_positive("epsilon", self.epsilon))
        object.__setattr__(self, "delta", check_probability("delta", self.delta))


@dataclass(frozen=True)
class Unit:
    """Whom the guarantee protects: a person with at most `rows_per_person` rows, under `neighbours`.

    A person with k rows moves every linear query k times as far as one row does (the triangle
    inequality over the k rows), so every sensitivity is multiplied by `rows_per_person`.

    >>> Unit("add-remove", rows_per_person=5).rows_per_person
    5
    """

    neighbours: Neighbours = Neighbours.REPLACE_ONE
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "neighbours", Neighbours.parse(self.neighbours))
        object.__setattr__(self, "rows_per_person", check_whole("rows_per_person", self.rows_per_person))
