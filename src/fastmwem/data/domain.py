"""The declared domain: columns, each with a public, finite list of cells.

It is declared, never read off private rows. Every row of every table has exactly one cell: what a column
does not list is mapped by a policy that looks at that one value alone (`Column.null`, `Column.other`), so
that a row moves its own cell and no other, and no row can raise an error.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from os import PathLike
from typing import Any

from fastmwem.data.cells import Calendar, Categorical, Cells, Integer, Numeric, Scalar
from fastmwem.errors import DomainError

__all__ = ["NULL", "OTHER", "Column", "Domain"]

OTHER, NULL = "(other)", "(null)"  # labels of the two cells that a policy can add
_POLICIES = ("clip", "category")


@dataclass(frozen=True)
class Column:
    """One column: `size` cells, in a public order; `labels` names them.

    The first cells are those of `cells` (how raw values fall into them); `other = "category"` adds a
    cell for everything undeclared, `null = True` one for missing values, in this order. Without them:

    - a number or date outside the declared range goes to the nearest cell (`other = "clip"`);
    - what has no nearest cell (an undeclared category, text where a number belongs) goes to the null
      cell if there is one, else to the first cell;
    - a null (also NaN, and empty text that is no declared category) goes to the other cell if there is
      one, else to the first cell.

    >>> Column.categorical("sex", ["F", "M"], other="category").policy()
    "undeclared and missing values count as '(other)'"
    """

    name: str
    labels: tuple[str, ...]
    ordered: bool = False
    cells: Cells | None = None
    null: bool = False
    other: str = "clip"

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise DomainError("a column needs a name.")
        if self.other not in _POLICIES:
            raise DomainError(f"column {self.name!r}: other must be one of {', '.join(_POLICIES)}.")
        try:
            declared = Categorical(tuple(self.labels)) if self.cells is None else self.cells
        except DomainError as error:
            raise DomainError(f"column {self.name!r}: {error}") from None
        object.__setattr__(self, "cells", declared)
        extra = ((OTHER,) if self.other == "category" else ()) + ((NULL,) if self.null else ())
        object.__setattr__(self, "labels", (*declared.labels, *extra))
        if len(set(self.labels)) < len(self.labels):
            raise DomainError(
                f"column {self.name!r}: {OTHER} and {NULL} are names of added cells: rename yours."
            )

    @classmethod
    def of(cls, name: str, cells: Cells, *, null: bool = False, other: str = "clip") -> Column:
        """A column over any kind of cells."""
        return cls(name, cells.labels, cells.ordered, cells, null, other)

    @classmethod
    def categorical(cls, name: str, values: Iterable[Scalar], **policy: Any) -> Column:
        """One cell per value.

        >>> Column.categorical("sex", ["F", "M"], null=True).labels
        ('F', 'M', '(null)')
        """
        return cls.of(name, Categorical(tuple(values)), **policy)

    @classmethod
    def numeric(cls, name: str, edges: Iterable[float], **policy: Any) -> Column:
        """Bins between `edges`.

        >>> Column.numeric("income", [0, 1e4, 1e5]).labels
        ('[0, 10000)', '[10000, 100000]')
        """
        return cls.of(name, Numeric(tuple(map(float, edges))), **policy)

    @classmethod
    def equal_bins(cls, name: str, low: float, high: float, bins: int, **policy: Any) -> Column:
        """`bins` bins of equal width."""
        return cls.of(name, Numeric.equal(low, high, bins), **policy)

    @classmethod
    def integer(cls, name: str, low: int, high: int, width: int = 1, **policy: Any) -> Column:
        """Whole numbers, `width` of them to a cell.

        >>> Column.integer("age", 0, 99, width=50).labels
        ('0..49', '50..99')
        """
        return cls.of(name, Integer(low, high, width), **policy)

    @classmethod
    def calendar(
        cls, name: str, low: date | datetime, high: date | datetime, unit: str = "month", **policy: Any
    ) -> Column:
        """Calendar units (hour, day, week, month, quarter, year) from `low` to `high`."""
        return cls.of(name, Calendar(low, high, unit), **policy)

    @property
    def size(self) -> int:
        """The number of cells, those of the policy included."""
        return len(self.labels)

    @property
    def partition(self) -> Cells:
        """The declared cells, without the two that a policy can add."""
        assert self.cells is not None
        return self.cells

    @property
    def declared(self) -> int:
        """How many cells the declaration lists; the policy's cells come after them."""
        return len(self.partition.labels)

    @property
    def other_cell(self) -> int:
        """Where a value without a nearest cell goes."""
        if self.other == "category":
            return self.declared
        return self.size - 1 if self.null else 0

    @property
    def null_cell(self) -> int:
        """Where a missing value goes."""
        if self.null:
            return self.size - 1
        return self.declared if self.other == "category" else 0

    def policy(self) -> str:
        """Where undeclared and missing values count, in a sentence for the report."""

        def name(cell: int) -> str:
            return repr(self.labels[cell])

        if self.other_cell == self.null_cell:
            where = f"undeclared and missing values count as {name(self.null_cell)}"
        else:
            where = (
                f"undeclared values count as {name(self.other_cell)}, missing ones as {name(self.null_cell)}"
            )
        if self.partition.ordered and self.other == "clip":
            return f"values out of range count in the nearest cell; {where}"
        return where


@dataclass(frozen=True)
class Domain:
    """Columns in order. A cell of the full domain is numbered row-major over `shape`.

    `ignore_undeclared` lets a table have columns that are not declared; they are never read.
    `public_sample` names the public table that the declaration was drafted from, if any.

    >>> domain = Domain((Column.categorical("sex", ["F", "M"]), Column.integer("age", 0, 99, width=10)))
    >>> domain.shape, domain.size, domain["age"].labels[1]
    ((2, 10), 20, '10..19')
    """

    columns: tuple[Column, ...]
    ignore_undeclared: bool = False
    public_sample: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if not self.columns:
            raise DomainError("the domain has no columns: declare at least one.")
        if len(set(self.names)) < len(self.names):
            raise DomainError("the domain declares one column twice: remove one.")

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(column.name for column in self.columns)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """The columns' sizes, in order."""
        return tuple(column.size for column in self.columns)

    @property
    def size(self) -> int:
        """|X|, the number of cells, as an exact integer."""
        return math.prod(self.shape)

    def axis(self, name: str) -> int:
        """The position of column `name`."""
        if name not in self.names:
            raise DomainError(f"column {name!r} is not in the domain: it has {', '.join(self.names)}.")
        return self.names.index(name)

    def __getitem__(self, name: str) -> Column:
        return self.columns[self.axis(name)]

    @classmethod
    def of_sizes(cls, sizes: dict[str, int]) -> Domain:
        """A domain of integer-coded columns, 0 .. size-1 each.

        >>> Domain.of_sizes({"sex": 2, "age": 5}).size
        10
        """
        return cls(tuple(Column.integer(name, 0, size - 1) for name, size in sizes.items()))

    @classmethod
    def from_toml(cls, path: str | PathLike[str]) -> Domain:
        """The domain that a file declares; errors name the line and column of the file."""
        from fastmwem.data.domain_file import read_domain

        return read_domain(path)

    def to_toml(self, path: str | PathLike[str] | None = None) -> str:
        """The domain as the text of a domain file, written to `path` if there is one."""
        from fastmwem.data.domain_file import write_domain

        return write_domain(self, path)
