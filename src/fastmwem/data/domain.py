"""The declared domain: columns, each with a public, finite list of cells."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fastmwem.errors import DomainError

__all__ = ["Column", "Domain"]


@dataclass(frozen=True)
class Column:
    """One column: `size` cells, in a public order; `labels` names them."""

    name: str
    labels: tuple[str, ...]
    ordered: bool = False

    @property
    def size(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class Domain:
    """Columns in order. A cell of the full domain is numbered row-major over `shape`."""

    columns: tuple[Column, ...]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def shape(self) -> tuple[int, ...]:
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

    @classmethod
    def of_sizes(cls, sizes: dict[str, int]) -> Domain:
        """A domain of integer-coded columns, 0 .. size-1 each.

        >>> Domain.of_sizes({"sex": 2, "age": 5}).size
        10
        """
        return cls(tuple(Column(n, tuple(map(str, range(k))), ordered=True) for n, k in sizes.items()))
