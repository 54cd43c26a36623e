"""The formula as Fast-MWEM prints it, for comparison. It is NOT a proven bound.

The paper sets eps0 = epsilon / sqrt(T ln(1/delta)). Read backwards, T rounds of eps0 are said to cost
epsilon = sqrt(T ln(1/delta)) eps0. The advanced composition theorem that
it cites gives 1.7 times that epsilon; the rounds are private at the stated epsilon all the same only
because the exponential mechanism is bounded-range, which `zcdp` and `optimal` account for.
Where epsilon is several times ln(1/delta), it is below the truth even so. Hence no ledger rests on it: a run
with the paper's eps0 is charged, and reported, by an accountant whose bound is proven.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from fastmwem.errors import UnsupportedEvent
from fastmwem.privacy.accounting.base import Accountant, Spend

__all__ = ["PaperAccountant"]


@dataclass(frozen=True)
class _PaperProfile:
    """epsilon = size sqrt(ln(1/delta)), size^2 = sum of eps0^2."""

    size: float

    def delta(self, epsilon: float) -> float:
        if self.size == 0:
            return 0.0
        return math.exp(-((epsilon / self.size) ** 2))

    def epsilon(self, delta: float) -> float:
        if self.size == 0:
            return 0.0
        return self.size * math.sqrt(-math.log(min(delta, 1.0))) if delta > 0 else math.inf


class PaperAccountant(Accountant):
    """What the paper's formula claims for rounds of the exponential mechanism; knows nothing else."""

    name = "paper"
    proven = False

    def profile(self, spend: Spend) -> _PaperProfile:
        if spend.gaussian or spend.pure or spend.adaptive:
            raise UnsupportedEvent(
                "the paper's formula covers rounds of the exponential mechanism of fixed size only: "
                "choose the accountant 'optimal' or 'zcdp'."
            )
        return _PaperProfile(math.sqrt(math.fsum(count * eps * eps for eps, count in spend.ranged)))
