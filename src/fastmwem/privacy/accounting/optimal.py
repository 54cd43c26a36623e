"""The sharpest bound we can prove: the least of four, each valid for every order and every adversary.

1. Rounds of one eps0, the *row*, at most `BLOCK` of them, by their exact recursion, with all else as a
   Gaussian that comes first (`bounded_range.BoundedRangeProfile`).
2. Everything as one Gaussian: that of the row (`bounded_range.gaussian_mu`) and of all else; mu^2 adds up.
3. zCDP, so that `optimal` never allows less than `zcdp`.
4. The plain sum of epsilons, at which delta is 0.

All but the third take sizes as fixed in advance: with `adaptive_sizes()` among the events, it alone counts.

What else there is. Gaussian noise has mu = 1/sigma. A Gaussian may be moved before any round without
lowering the cost (`BoundedRangeProfile`), so noise between the rounds of the row does not break the row.
Rounds of another eps0 between them would: nothing says that two sizes are worst one row after the other.
So a larger round is replaced, where it stands, by the Gaussian that dominates it alone
(`bounded_range.single_mu`); a smaller one too, or else it joins the row as if it were as large, whichever is
the cheaper. Which size is the row's decides tightness alone, not validity: the least total is taken.

An epsilon-DP mechanism has its log-ratio in [-epsilon, epsilon]: it is 2 epsilon-bounded-range in 1 and 2,
and counts by its own epsilon in 3 and 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from fastmwem.privacy.accounting.base import Accountant, Spend
from fastmwem.privacy.accounting.bounded_range import (
    BLOCK,
    LARGEST,
    BoundedRangeProfile,
    gaussian_mu,
    single_mu,
)
from fastmwem.privacy.accounting.profiles import GaussianProfile, LeastProfile, Profile, PureProfile
from fastmwem.privacy.accounting.zcdp import ZCdpAccountant

__all__ = ["OptimalAccountant"]

_ADDED_UP = 1 + 2.0**-48
_ALONE = math.pi / 2  # mu^2 of one round that stands alone, over that of one in a long row (for small eps0)


class OptimalAccountant(Accountant):
    """Adaptive composition of bounded-range rounds as it is, not as a moment bounds it."""

    name = "optimal"

    def profile(self, spend: Spend) -> Profile:
        return _profile(spend)


@dataclass(frozen=True)
class _Row:
    """Rounds charged as a row of `count` of size `eps0`, and what stands `alone`, (eps0, count) each."""

    eps0: float
    count: int
    alone: tuple[tuple[float, int], ...]

    @property
    def weight(self) -> float:
        """About four times the mu^2 of it all, to choose by."""
        return self.eps0 * self.eps0 * self.count + _ALONE * math.fsum(e * e * n for e, n in self.alone)


@lru_cache(maxsize=256)
def _profile(spend: Spend) -> Profile:
    concentrated = ZCdpAccountant().profile(spend)
    if spend.adaptive:
        return concentrated
    curves: list[Profile] = [concentrated, PureProfile(spend.pure_epsilon * _ADDED_UP)]
    rounds = _rounds(spend)
    if not rounds:
        return LeastProfile((*curves, GaussianProfile(math.sqrt(spend.noise) * _ADDED_UP)))
    row = min((_row(size, rounds) for size, _ in rounds), key=lambda row: row.weight)
    rest = math.fsum([spend.noise, *(count * single_mu(eps0) ** 2 for eps0, count in row.alone)])
    if row.count <= BLOCK and row.eps0 <= LARGEST and math.isfinite(rest):
        curves.append(BoundedRangeProfile(row.eps0, row.count, math.sqrt(rest) * _ADDED_UP))
    else:
        curves.append(
            GaussianProfile(math.hypot(math.sqrt(rest), gaussian_mu(row.eps0, row.count)) * _ADDED_UP)
        )
    return LeastProfile(tuple(curves))


def _rounds(spend: Spend) -> list[tuple[float, int]]:
    """(eps0, count) of all that is bounded-range, pure mechanisms among them."""
    counts = dict(spend.ranged)
    for epsilon, count in spend.pure:
        counts[2 * epsilon] = counts.get(2 * epsilon, 0) + count
    return sorted(counts.items())


def _row(size: float, rounds: list[tuple[float, int]]) -> _Row:
    """The row of rounds of `size`, joined by the smaller ones that would cost more alone."""
    joins = [size * size <= _ALONE * eps0 * eps0 and eps0 <= size for eps0, _ in rounds]
    count = sum(n for (_, n), joined in zip(rounds, joins, strict=True) if joined)
    return _Row(size, count, tuple(r for r, joined in zip(rounds, joins, strict=True) if not joined))
