"""Looking at an answer with the private rows in hand: for whoever holds the data, never for release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastmwem.errors import check_at_least, check_choice
from fastmwem.lp.program import as_matrix, as_vector
from fastmwem.queries.base import FloatArray

__all__ = ["Violations", "violations"]


@dataclass(frozen=True, eq=False)
class Violations:
    """How far each row is violated (0 or less: not at all). NOT private; its repr shows no number."""

    each: FloatArray

    @property
    def max(self) -> float:
        """The largest."""
        return float(self.each.max())

    def count(self, alpha: float = 0.0) -> int:
        """Rows that are violated by more than `alpha`."""
        return int((self.each > alpha).sum())

    def fraction(self, alpha: float = 0.0) -> float:
        """The share of rows that are violated by more than `alpha`."""
        return self.count(alpha) / len(self.each)

    def cvar(self, s: float) -> float:
        """The mean of the `s` largest violations: what the constraint-private solver bounds.

        >>> violations([[1.0], [1.0], [1.0]], [0.0, 2.0, 1.0], [1.5]).cvar(2)
        1.0
        """
        s = min(check_at_least("s", s, 1.0), float(len(self.each)))
        worst = np.sort(self.each)[::-1]
        whole = int(s)
        part = worst[whole] * (s - whole) if s > whole else 0.0
        return float((worst[:whole].sum() + part) / s)

    def __repr__(self) -> str:
        return f"Violations({len(self.each)} rows, NOT private)"


def violations(A: Any, b: Any, x: Any, *, sense: str = "packing") -> Violations:
    """A x - b ("packing": rows ask for A x <= b), or b - A x ("covering"), of every row.

    **NOT private**: it is computed from the private rows themselves. Nothing of it may be published.

    >>> seen = violations([[1.0, 0.0], [0.0, 1.0]], [0.5, 0.5], [0.7, 0.3])
    >>> round(seen.max, 3), seen.count()
    (0.2, 1)
    """
    rows = as_matrix("A", A)
    point = as_vector("x", x, rows.shape[1])
    gap = rows @ point - as_vector("b", b, rows.shape[0], infinite=True)
    return Violations(gap if check_choice("sense", sense, ("packing", "covering")) == "packing" else -gap)
