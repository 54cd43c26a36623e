"""Adaptive composition of bounded-range mechanisms: a proven upper bound on its privacy curve.

The exact curve. Let D_k(y) be the largest delta at epsilon = ln y that k adaptively chosen
eps0-bounded-range mechanisms can have, D_0(y) = max(0, 1 - y). If the first of them has likelihood ratio
r = dP/dQ, the most that can follow is E_Q r D_{k-1}(y/r). The ratio lies in some [z/E, z], E = e^eps0, with
E_Q r = 1, and r D(y/r) is convex in r when D is convex: the expectation is largest with all mass at the ends
z = e^t and z/E, with probability p(z) = (E - z)/(E - 1) of z under P. So (Dong, Durfee and Rogers 2020)

    D_k(y) = sup_{1 <= z <= E}  p(z) D_{k-1}(y/z) + (1 - p(z)) D_{k-1}(y E/z).                          (1)

Shape. D_k(y) is a supremum of terms E_Q max(0, dP/dQ - y), each convex and nonincreasing in y; so is D_k. It
is 0 for y >= E^k. Exchanging P and Q maps the family of adversaries onto itself (t to eps0 - t), so

    D_k(1/y) = 1 - 1/y + D_k(y)/y,                                                                       (2)

and y >= 1 is all that need be stored.

The bound. Nodes y_i = e^(i g), g = eps0/r, i = 0 .. k r. Let V_{k-1} be at least D_{k-1} at every node. The
chords of V_{k-1} lie on or above those of D_{k-1}, hence, D being convex, on or above D_{k-1} everywhere. So
(1), with the chords in place of D_{k-1}, gives V_k(y_i) >= D_k(y_i): an upper bound, by induction. ((2) maps
chords to chords, so it may be used on V.) For y = y_i the kinks of the chords, at y/z and at y E/z, fall on
the same z_j = e^(j g), j = 0 .. r. Between two of them, in x = z/z_j, the right side of (1) is A + B x + C/x,
and C <= 0 where the lower chord is the steeper: concave, with its maximum at an end or at x = sqrt(C/B).
So the supremum over the continuum of t is taken exactly, not over a grid of t.

Rounding. The step g is rounded up, so that r g >= eps0; a wider range only raises the curve. Only ratios of
nodes enter, so the nodes are exact by definition, and any floats on them bound D if they are large enough.
Every V is formed from non-negative terms (probabilities, weights of the chord, (2) by expm1), so a step
commits a relative error of at most some 20 units u = 2^-53, and of two exponentials that are off by as many
units as their arguments are large, at most `LARGEST`; it is raised by `_UP`, 256 u. B and C suffer from
cancellation. So an end is taken for the maximum only where its slope, less all that rounding may have added
(`_DOUBT` for each unit that was summed), points outward. Otherwise a point inside is looked at: any x gives
a value of (1), and by concavity the maximum exceeds it by at most |slope| times the width of the piece,
which is added, with the error of the slope. Where products underflow, `_TINY` is added.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx

from fastmwem.kernels import kernel
from fastmwem.privacy.accounting.profiles import gaussian_delta, smallest_that_fits

__all__ = ["BLOCK", "LARGEST", "BoundedRangeProfile", "gaussian_mu", "single_mu"]

BLOCK = 128  # rounds composed by (1); more go by blocks of so many, each below a Gaussian
LARGEST = 30.0  # eps0 above which (1) is not run: a mechanism that loses so much is charged as pure
LARGEST_MU = 6.0  # of one block; above it 1 - V_k drowns in rounding, and epsilon is beyond 18 anyway
_NODES = 2048  # about so many nodes in a profile
_U = 2.0**-53
_UP = 1 + 256 * _U
_DOUBT = 256 * _U
_TINY = 1e-300


@kernel
def _inside(a0, a1, b0, b1, p0, p1, b, c, width):
    """At least the largest value inside one piece, from a point at or near x = sqrt(c/b).

    a0 to a1 is the chord on y/z, b0 to b1 that on yE/z, p0 to p1 the probability, as z runs from z_j to
    z_j e^g; `width` is e^g - 1.
    """
    ratio = 1.0 + width
    share = (math.sqrt(c / b) - 1.0) / width if b < 0.0 and c < 0.0 else 0.5  # where x lies in [1, e^g]
    share = min(max(share, 0.0), 1.0)
    x = 1.0 + share * width
    p = p0 + (p1 - p0) * share if share < 0.5 else p1 + (p0 - p1) * (1.0 - share)
    q = 1.0 - p
    along = share * ratio / x  # where 1/x lies: the weight of the chord's far end
    a = a0 * (1.0 - along) + a1 * along
    b = b0 * (1.0 - along) + b1 * along
    slope = (p1 - p0) * (a - b) + (p * (a1 - a0) + q * (b1 - b0)) * ratio / (x * x)
    return p * a + q * b + abs(slope) + 128 * _U * ratio * (a1 + b1)


@kernel
def _compose(g, k, r):
    """V_k at y_0 .. y_{k r}, for rounds of range r g."""
    top, width = math.exp(r * g), math.expm1(g)
    square = math.exp(2 * g)
    z, p, q = np.empty(r + 1), np.empty(r + 1), np.empty(r + 1)
    for j in range(r + 1):
        z[j] = math.exp(j * g)
        p[j] = math.expm1(-(r - j) * g) / math.expm1(-r * g)
        q[j] = math.expm1(j * g) / math.expm1(r * g)
    v = np.zeros((k + 2) * r + 1)  # v[r + i] is node i; below r, nodes under 1, by (2); zeros on top
    new = np.zeros(v.size)
    steep, height = np.zeros(v.size), np.zeros(v.size)  # the chord from node i down to i - 1 is
    for done in range(k):  # height_i - steep_i / x at z = z_j x, where x = 1 is node i
        for i in range(1, r + 1):
            v[r - i] = (-math.expm1(-i * g) + math.exp(-i * g) * v[r + i]) * (1.0 + 8 * _U)
        for i in range(1, (done + 3) * r):
            steep[i] = (v[i - 1] - v[i]) * (1.0 + width) / width
            height[i] = v[i] + steep[i]
        for i in range(r, (done + 2) * r):
            best = v[i]  # z = 1, and z = E
            for j in range(r):
                one, two = i - j, i - j + r
                best = max(best, p[j] * v[one] + q[j] * v[two])
                b, c = z[j] * (height[two] - height[one]), steep[two] - top * steep[one]
                doubt = _DOUBT * (z[j] * (height[two] + height[one]) + steep[two] + top * steep[one])
                if c < doubt and c - b < 2 * doubt and square * b - c < 2 * square * doubt:
                    inside = _inside(v[one], v[one - 1], v[two], v[two - 1], p[j], p[j + 1], b, c, width)
                    best = max(best, inside)
            new[i] = min(1.0, best * _UP + _TINY)
        v, new = new, v
    return v[r : r + k * r + 1].copy()


def _resolution(k: int) -> int:
    """r, the nodes in a stretch of eps0: even, so that halves of eps0 are nodes, and at least 8."""
    return max(8, 2 * (_NODES // (2 * k)))


@lru_cache(maxsize=64)
def _nodes(eps0: float, k: int, r: int) -> tuple[float, NDArray[np.float64]]:
    """(g, V_k at the nodes e^(i g)), r g being at least eps0."""
    g = eps0 / r * (1 + 4 * _U)
    return g, _compose(g, k, r)


@lru_cache(maxsize=256)
def _block_mu(eps0: float, k: int) -> float:
    """The mu of a Gaussian whose curve lies on or above V_k everywhere; infinite if none was found.

    On a cell between two nodes V_k is its chord, and the Gaussian curve, convex in y, lies above its tangent
    at the cell's middle, y = e^m: two linear functions of y, so comparing them at both ends decides.
    With x = m/mu - mu/2 and Phi(-x) = exp(-x^2/2) erfcx(x/sqrt 2)/2, that tangent is, at y = e^(m + s),
        Phi(-x) - y Phi(-x - mu) = exp(-x^2/2)/2 (erfcx(x/sqrt 2) - e^s erfcx((x + mu)/sqrt 2)).
    Past the last node V_k is 0; below y = 1 both curves follow from those above by the same (2).
    """
    if eps0 > LARGEST:
        return math.inf
    g, v = _nodes(eps0, k, min(_resolution(k), 256))
    middle = g * (np.arange(len(v) - 1) + 0.5)

    def dominates(mu: float) -> bool:
        x = middle / mu - mu / 2
        scale = 0.5 * np.exp(-0.5 * x * x)
        noise = 2.0**-45 * (1 + x * x + mu * mu)
        here = erfcx(x / math.sqrt(2)) * (1 - noise)
        there = erfcx((x + mu) / math.sqrt(2)) * (1 + noise)
        left, right = here - math.exp(-g / 2) * there, here - math.exp(g / 2) * there
        return bool(np.all(scale * left >= v[:-1]) and np.all(scale * right >= v[1:]))

    limit = 0.5 * eps0 * math.sqrt(k)  # what Gaussian composition tends to
    if limit > LARGEST_MU or not dominates(2 * limit):
        return math.inf
    return smallest_that_fits(dominates, 0.9 * limit, 1.02 * limit, steps=20)


def gaussian_mu(eps0: float, count: int) -> float:
    """The mu of a Gaussian that dominates `count` adaptively chosen eps0-bounded-range mechanisms in a row.

    Blocks of at most `BLOCK` rounds are dominated by a Gaussian each, whatever came before, and dominating
    pairs compose adaptively (Zhu, Dong and Wang 2022, theorem 10): together they are dominated by
    the Gaussian with the sum of the mu^2. For large eps0 nothing is claimed: infinity.
    """
    whole, rest = divmod(count, BLOCK)
    total = whole * _block_mu(eps0, BLOCK) ** 2 if whole else 0.0
    total += _block_mu(eps0, rest) ** 2 if rest else 0.0
    return math.sqrt(total) * (1 + 2.0**-48)


def single_mu(eps0: float) -> float:
    """The mu of a Gaussian that dominates one eps0-bounded-range mechanism, wherever it stands."""
    return _block_mu(eps0, 1)


class BoundedRangeProfile:
    """The curve of k <= `BLOCK` adaptively chosen eps0-bounded-range mechanisms and a Gaussian of `mu`.

    Whatever the order of the rounds and the Gaussian noise, it costs no more than with the Gaussian
    first and the rounds in a row: for a Gaussian loss L, sup_z E (p(z) D(y e^-L/z) + ..) is at most
    E sup_z (p(z) D(y e^-L/z) + ..), so moving the noise to before a round cannot lower delta.
    So delta(eps) <= E V_k(e^(eps - L)), L ~ N(mu^2/2, mu^2).

    V_k is a sum of hinges w_i (1 - y/y_i)_+ over the nodes, and the expectation of a hinge is the Gaussian's
    own curve: delta(eps) <= sum_i w_i delta_mu(eps - i g). By (2), w_-i = w_i e^(-i g). The w_i are second
    differences; an error of one relative unit in each slope is at most one in a sum over the 2 k r nodes,
    because slopes are sums of the hinges above them and delta_mu grows with i: covered by `_SUM_UP`.
    """

    _SUM_UP = 1 + 2.0**-36

    def __init__(self, eps0: float, k: int, mu: float = 0.0) -> None:
        if not 1 <= k <= BLOCK or eps0 > LARGEST:
            raise ValueError(f"k must be in 1..{BLOCK} and eps0 at most {LARGEST}")
        g, v = _nodes(eps0, k, _resolution(k))
        self.mu = mu
        nodes = g * np.arange(len(v), dtype=np.float64) * (1 + 4 * _U)  # rounded up, as the curve falls
        self._top = float(nodes[-1])
        width = math.expm1(g)
        fall = -np.diff(v, append=0.0) / width  # minus the slope after node i, times y_i
        below = -math.expm1(-g) * (1 - v[1])  # V at node -1 minus V at node 1, by (2): plus v[1] - v[0]
        first = (below + v[1] - v[0]) / -math.expm1(-g)  # minus the slope before node 0
        before = np.concatenate([[first], fall[:-1] * math.exp(g)])
        weights = before - fall
        self._weights = np.concatenate([(weights[1:] * np.exp(-nodes[1:]))[::-1], weights])
        self._nodes: NDArray[np.float64] = np.concatenate([-nodes[:0:-1], nodes])

    def delta(self, epsilon: float) -> float:
        if self.mu == 0 and epsilon >= self._top:
            return 0.0
        total = float(np.dot(self._weights, gaussian_delta(epsilon - self._nodes, self.mu)))
        return min(1.0, max(total, 0.0) * self._SUM_UP + _TINY)

    def epsilon(self, delta: float) -> float:
        if delta <= 0:
            return self._top if self.mu == 0 else math.inf
        return smallest_that_fits(lambda eps: self.delta(eps) <= delta, 0.0, self._top / 8)
