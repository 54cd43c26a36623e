"""The sharpest bound we can prove: the least of four, each valid for every order and every adversary.

1. Bounded-range rounds of one eps0, at most `BLOCK` of them, by their exact recursion, with all else as a
   Gaussian that comes first (`bounded_range.BoundedRangeProfile`).
2. Everything as one Gaussian: a dominating mu for each group of equal rounds (`bounded_range.gaussian_mu`),
   mu = 1/sigma for Gaussian noise; mu^2 adds up, since dominating pairs compose adaptively.
3. zCDP, so that `optimal` never allows less than `zcdp`.
4. The plain sum of epsilons, at which delta is 0.

An epsilon-DP mechanism has its log-ratio in [-epsilon, epsilon]: it is 2 epsilon-bounded-range in 1 and 2,
and counts by its own epsilon in 3 and 4.
"""

from __future__ import annotations

import math
from functools import lru_cache

from fastmwem.privacy.accounting.base import Accountant, Spend
from fastmwem.privacy.accounting.bounded_range import BLOCK, LARGEST, BoundedRangeProfile, gaussian_mu
from fastmwem.privacy.accounting.profiles import GaussianProfile, LeastProfile, Profile, PureProfile
from fastmwem.privacy.accounting.zcdp import ZCdpAccountant

__all__ = ["OptimalAccountant"]

_ADDED_UP = 1 + 2.0**-48


class OptimalAccountant(Accountant):
    """Adaptive composition of bounded-range rounds as it is, not as a moment bounds it."""

    name = "optimal"

    def profile(self, spend: Spend) -> Profile:
        return _profile(spend)


@lru_cache(maxsize=256)
def _profile(spend: Spend) -> Profile:
    groups = _merged(spend)
    noise = math.fsum(count / (sigma * sigma) for sigma, count in spend.gaussian)
    curves: list[Profile] = [ZCdpAccountant().profile(spend), PureProfile(spend.pure_epsilon * _ADDED_UP)]
    exact = max((g for g in groups if g[1] <= BLOCK and g[0] <= LARGEST), key=_weight, default=None)
    rest = _total_mu([group for group in groups if group != exact], noise)
    if exact is not None and math.isfinite(rest):
        curves.append(BoundedRangeProfile(*exact, rest))
    if exact is None or len(groups) > 1:
        curves.append(GaussianProfile(_total_mu(groups, noise)))
    return LeastProfile(tuple(curves))


def _merged(spend: Spend) -> list[tuple[float, int]]:
    """(eps0, count) of all that is bounded-range, pure mechanisms among them."""
    counts = dict(spend.ranged)
    for epsilon, count in spend.pure:
        counts[2 * epsilon] = counts.get(2 * epsilon, 0) + count
    return sorted(counts.items())


def _weight(group: tuple[float, int]) -> float:
    eps0, count = group
    return eps0 * eps0 * count


def _total_mu(groups: list[tuple[float, int]], noise: float) -> float:
    return math.sqrt(math.fsum([noise, *(gaussian_mu(*group) ** 2 for group in groups)])) * _ADDED_UP
