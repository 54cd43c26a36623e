r"""Upper bounds on all scores, kept against a few anchor vectors, and draws from softmax by means of them.

Notation. x_i = scale * (<k_i, v> - a_i) is candidate i's scaled score at the probe v, and L_i its log-weight:
x_i, or log(2 cosh x_i) for a signed pair (i, +), (i, -), which is one leaf of the trees below. An anchor A is
a past probe v_A. Every candidate belongs to one anchor, with a weight w_i >= exp(L_i(v_A) - reference).

*Drift.* If sum(v) = sum(v_A), then |<k_i, v> - <k_i, v_A>| <= min(half_range |v - v_A|_1,
centred_norm |v - v_A|_2) for every i (see `Queries`). log(2 cosh) is 1-Lipschitz, so
|L_i(v) - L_i(v_A)| <= drift_A, scale times that, and u_i = w_i exp(drift_A) is an upper bound on
r_i = exp(L_i(v) - reference). Sums that differ by s add scale |s| max|k_ij|, and rounding adds `SLACK`.

*Exactness.* Draw i with probability u_i / sum(u), accept it with probability r_i / u_i, else draw again.
Given everything that happened before, the bounds are fixed numbers, so a trial accepts i with probability
r_i / sum(u), and the accepted i has law r / sum(r) = softmax(L), however loose the bounds are and however
they came about, if only they are bounds. A weight found above its bound is reported, never clipped.

*Time.* All members of an anchor share its drift, so their relative weights stand still while v moves: one
tree of sums per anchor, 64 children a node, serves all rounds. A draw chooses an anchor and scans 64 sums a
level; an evaluated candidate moves to the current anchor, and the sums above it are recomputed from scratch
in both trees, so that no rounding error piles up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import prange
from numpy.typing import NDArray

from fastmwem.kernels import kernel
from fastmwem.privacy.stream import uniform
from fastmwem.queries.base import FloatArray, IntArray
from fastmwem.queries.kernels import REASSOCIATE, dot_row_twice
from fastmwem.select.softmax import draw_sign

FAN = 64  # children a node of a tree has
FAR = 50.0  # an anchor is not folded into one that lies further off
FLOOR = -600.0  # log-weights lie at most this far below the reference: looser bounds, never an underflow
CHUNK = 16 * FAN  # leaves that one step of a refresh handles

# What a kernel says where it has no candidate.
REFRESH, VIOLATED, NOT_FINITE = -1, -2, -3

# Places in `Bounds.numbers` and `Bounds.counts`.
REFERENCE, SCALE, HALF_RANGE, CENTRED_NORM, LARGEST, SLACK, TURN, PEAK = range(8)
CURRENT, SIGNED, EVALUATIONS, TRIALS = range(4)


class Bounds(NamedTuple):
    """The state that the kernels share. Weights are relative to exp(numbers[REFERENCE])."""

    leaves: FloatArray  # (m,) w_i
    owners: NDArray[np.uint8]  # (m,) the anchor that candidate i belongs to
    trees: FloatArray  # (slots, nodes) sums of w over the members of each anchor, level after level
    starts: IntArray  # where each level starts: sums of 64 leaves first, at most 64 sums last
    anchors: FloatArray  # (slots, dim) v_A
    drifts: FloatArray  # (slots,) at the probe of the round
    masses: FloatArray  # (slots,) sum of u, relative to exp(numbers[REFERENCE] + numbers[PEAK])
    numbers: FloatArray
    counts: IntArray


def make_bounds(m: int, dim: int, slots: int) -> Bounds:
    """Room for m candidates over `dim` cells and at most `slots` anchors."""
    starts, width = [0], m
    while width > FAN or len(starts) == 1:
        width = -(-width // FAN)
        starts.append(starts[-1] + width)
    return Bounds(
        leaves=np.empty(m),
        owners=np.zeros(m, np.uint8),
        trees=np.zeros((slots, starts[-1])),
        starts=np.array(starts, np.int64),
        anchors=np.zeros((slots, dim)),
        drifts=np.zeros(slots),
        masses=np.zeros(slots),
        numbers=np.zeros(8),
        counts=np.zeros(4, np.int64),
    )


def bytes_needed(m: int, dim: int, slots: int) -> float:
    """What `make_bounds` and one refresh allocate."""
    return m * (8 + 1 + 8 + slots * 8 / (FAN - 1)) + 8.0 * slots * (dim + 2)


@kernel
def log_weight(x, signed):
    """L: x, or log(exp(x) + exp(-x)) for a signed pair."""
    if signed:
        return abs(x) + np.log1p(np.exp(-2.0 * abs(x)))
    return x


# ---- drift -----------------------------------------------------------------------------------------------


@kernel(fastmath=REASSOCIATE)
def _norms(v, w):
    """|v - w|_1, |v - w|_2 and sum(v - w)."""
    one, square, total = 0.0, 0.0, 0.0
    for j in range(v.size):
        d = v[j] - w[j]
        one += abs(d)
        square += d * d
        total += d
    return one, np.sqrt(square), total


@kernel
def drift_between(numbers, v, w):
    """How far any log-weight may differ between v and w."""
    one, two, total = _norms(v, w)
    moved = min(numbers[HALF_RANGE] * one, numbers[CENTRED_NORM] * two)
    return numbers[SCALE] * (moved + numbers[LARGEST] * abs(total)) + numbers[SLACK]


# ---- trees -----------------------------------------------------------------------------------------------


@kernel(fastmath=REASSOCIATE)
def _sum(values, first, last):
    total = 0.0
    for k in range(first, last):
        total += values[k]
    return total


@kernel(fastmath=REASSOCIATE)
def _sum_members(b, node, anchor):
    total = 0.0
    for i in range(node * FAN, min((node + 1) * FAN, b.leaves.size)):
        total += b.leaves[i] if b.owners[i] == anchor else 0.0
    return total


@kernel
def _mass(b, anchor):
    """The sum of w over the members of `anchor`."""
    return _sum(b.trees[anchor], b.starts[-2], b.starts[-1])


@kernel
def _weigh(b, anchor):
    """The sum of u over the members of `anchor`, to `masses`."""
    mass = _mass(b, anchor)
    b.masses[anchor] = mass * np.exp(b.drifts[anchor] - b.numbers[PEAK]) if mass > 0.0 else 0.0


@kernel
def _resum(b, i, anchor):
    """Recompute the sums above leaf i in the tree of `anchor`."""
    tree, node = b.trees[anchor], i // FAN
    tree[node] = _sum_members(b, node, anchor)
    for level in range(1, b.starts.size - 1):
        node //= FAN
        first = b.starts[level - 1] + node * FAN
        tree[b.starts[level] + node] = _sum(tree, first, min(first + FAN, b.starts[level]))
    _weigh(b, anchor)


@kernel
def _scan(sums, first, last, rest):
    """Which of sums[first:last] lies at `rest` of their running total.

    A sum of 0 is never chosen, not even where rounding leaves `rest` beyond the last.
    """
    chosen = -1
    for k in range(first, last):
        if sums[k] > 0.0:
            chosen = k
            if rest < sums[k]:
                break
            rest -= sums[k]
    return chosen


@kernel
def _descend(b, stream, anchor):
    """A member of `anchor`, with probability in proportion to its weight.

    Every level draws a number of its own: of one for all, the last choice would get the last few digits.
    """
    tree, starts, mass = b.trees[anchor], b.starts, _mass(b, anchor)
    first, last = starts[-2], starts[-1]
    for level in range(starts.size - 2, 0, -1):
        node = _scan(tree, first, last, uniform(stream) * mass)
        mass = tree[node]
        first = starts[level - 1] + (node - starts[level]) * FAN
        last = min(first + FAN, starts[level])
    node = _scan(tree, first, last, uniform(stream) * mass)
    rest, chosen = uniform(stream) * tree[node], -1
    for i in range(node * FAN, min((node + 1) * FAN, b.leaves.size)):
        if b.owners[i] == anchor:
            chosen = i
            if rest < b.leaves[i]:
                break
            rest -= b.leaves[i]
    return chosen


# ---- anchors ---------------------------------------------------------------------------------------------


@kernel
def _fold(b, victim, target, factor):
    """Give the members of `victim` to `target`, their weights times `factor`."""
    for node in range(b.starts[1]):
        if b.trees[victim, node] > 0.0:
            for i in range(node * FAN, min((node + 1) * FAN, b.leaves.size)):
                if b.owners[i] == victim:
                    b.owners[i] = target
                    b.leaves[i] *= factor
    for k in range(b.starts[-1]):
        b.trees[target, k] += factor * b.trees[victim, k]
        b.trees[victim, k] = 0.0
    _weigh(b, target)


@kernel
def _slot(b):
    """Where an anchor may be made: a slot without members, or else that of the least mass, and whether free.

    `masses` alone will not do: beside a drift that is larger by 745, the mass of an anchor with members is 0.
    """
    for a in range(b.drifts.size):
        if _mass(b, a) == 0.0:
            return a, True
    return np.argmin(b.masses), False


@kernel
def _turn(b, v):
    """Make v the current anchor, in a free slot or else in that of the anchor with the least mass.

    The members of an anchor that gives way join the anchor nearest to it, their weights times
    exp(drift between the two): bounds still, by the triangle inequality. False if all are too far.
    """
    slot, free = _slot(b)
    if not free:
        nearest, distance = -1, FAR
        for a in range(b.drifts.size):
            if a != slot:
                apart = drift_between(b.numbers, b.anchors[slot], b.anchors[a])
                if apart < distance:
                    nearest, distance = a, apart
        if nearest < 0:
            return False
        _fold(b, slot, nearest, np.exp(distance))
    b.anchors[slot] = v
    b.masses[slot] = 0.0
    b.drifts[slot] = b.numbers[SLACK]
    b.counts[CURRENT] = slot
    return True


@kernel
def begin(b, v):
    """Start a round at v: drifts, masses, a new anchor if the current one is far. 0, or why not."""
    peak = b.numbers[SLACK]
    for a in range(b.drifts.size):
        if a == b.counts[CURRENT] or _mass(b, a) > 0.0:
            b.drifts[a] = drift_between(b.numbers, v, b.anchors[a])
            if not np.isfinite(b.drifts[a]):
                return NOT_FINITE
            peak = max(peak, b.drifts[a])
    b.numbers[PEAK] = peak
    b.counts[TRIALS] = 0
    for a in range(b.drifts.size):
        _weigh(b, a)
    if b.drifts[b.counts[CURRENT]] > b.numbers[TURN] and not _turn(b, v):
        return REFRESH
    return 0


# ---- trials ----------------------------------------------------------------------------------------------


@kernel
def draw(b, stream):
    """(candidate, log of its bound) with probability u_i / sum(u); (-1, 0) if that is no law in floats."""
    total = _sum(b.masses, 0, b.masses.size)
    if not 0.0 < total < np.inf:
        return -1, 0.0
    anchor = _scan(b.masses, 0, b.masses.size, uniform(stream) * total)
    i = _descend(b, stream, anchor)
    return i, np.log(b.leaves[i]) + b.drifts[anchor] + b.numbers[REFERENCE]


@kernel
def judge(b, stream, i, bound, x, home):
    """Accept (1) or reject (0) candidate i: its scaled score is x at v and `home` at the current anchor.

    Either way the candidate then belongs to the current anchor, with its exact weight there.
    """
    signed, current, before = b.counts[SIGNED] != 0, b.counts[CURRENT], b.owners[i]
    excess = log_weight(x, signed) - bound
    if not excess <= 0.0:
        return VIOLATED if np.isfinite(x) else NOT_FINITE
    b.counts[EVALUATIONS] += 1
    b.counts[TRIALS] += 1
    b.leaves[i] = np.exp(max(log_weight(home, signed) - b.numbers[REFERENCE], FLOOR))
    b.owners[i] = current
    _resum(b, i, current)
    if before != current:
        _resum(b, i, before)
    return 1 if uniform(stream) < np.exp(excess) else 0


@kernel
def pick(b, stream, data, offsets, v, budget):
    """One draw from softmax over stored rows: (candidate, sign), or (a reason, 0) after `budget` trials."""
    verdict = begin(b, v)
    if verdict < 0:
        return verdict, 0
    scale, anchor = b.numbers[SCALE], b.anchors[b.counts[CURRENT]]
    for _ in range(budget):
        i, bound = draw(b, stream)
        if i < 0:
            return REFRESH, 0
        here, there = dot_row_twice(data, i, v, anchor)
        x = scale * (here - offsets[i])
        verdict = judge(b, stream, i, bound, x, scale * (there - offsets[i]))
        if verdict < 0:
            return verdict, 0
        if verdict > 0:
            return i, draw_sign(x, uniform(stream)) if b.counts[SIGNED] else 1
    return REFRESH, 0


@kernel
def propose(b, stream, ids, bounds):
    """Fill `ids` with independent draws, for rows that compiled code cannot reach; 0, or why not."""
    for k in range(ids.size):
        ids[k], bounds[k] = draw(b, stream)
        if ids[k] < 0:
            return REFRESH
    return 0


@kernel
def settle(b, stream, ids, bounds, here, there):
    """Judge the draws of `propose` in order: (candidate, sign) of the first accepted, or (a reason, 0).

    The draws are independent of each other and each is judged by the bound it was drawn with, so this is
    the same rejection sampler; those after the accepted one are thrown away, evaluated for nothing.
    """
    scale = b.numbers[SCALE]
    for k in range(ids.size):
        x = scale * here[k]
        verdict = judge(b, stream, ids[k], bounds[k], x, scale * there[k])
        if verdict < 0:
            return verdict, 0
        if verdict > 0:
            return ids[k], draw_sign(x, uniform(stream)) if b.counts[SIGNED] else 1
    return REFRESH, 0


# ---- refresh ---------------------------------------------------------------------------------------------


@kernel
def _raise_chunk(b, x, offsets, chunk):
    """<k_i, v> -> L_i over one chunk; the largest, or NaN if one is not finite."""
    signed, scale, top = b.counts[SIGNED] != 0, b.numbers[SCALE], -np.inf
    for i in range(chunk * CHUNK, min((chunk + 1) * CHUNK, x.size)):
        x[i] = log_weight(scale * (x[i] - offsets[i]), signed)
        if not np.isfinite(x[i]):
            return np.nan
        top = max(top, x[i])
    return top


@kernel
def _fill_chunk(b, x, top, chunk):
    """Weights and their first sums over one chunk, all of them to the first anchor."""
    for node in range(chunk * CHUNK // FAN, min((chunk + 1) * CHUNK // FAN, b.starts[1])):
        total = 0.0
        for i in range(node * FAN, min((node + 1) * FAN, x.size)):
            b.leaves[i] = np.exp(max(x[i] - top, FLOOR))
            total += b.leaves[i]
        b.trees[0, node] = total


@kernel
def _finish_refresh(b, v, top):
    """All candidates to one anchor at v, given their weights and first sums."""
    b.owners[:] = 0
    b.trees[1:] = 0.0
    for level in range(1, b.starts.size - 1):
        for k in range(b.starts[level], b.starts[level + 1]):
            first = b.starts[level - 1] + (k - b.starts[level]) * FAN
            b.trees[0, k] = _sum(b.trees[0], first, min(first + FAN, b.starts[level]))
    b.anchors[0] = v
    b.counts[CURRENT] = 0
    b.numbers[REFERENCE] = top


@kernel
def refresh(b, v, x, offsets, tops):
    """Bounds from x_i = <k_i, v> for all i; one of `tops` per chunk. False if a score is not finite."""
    for chunk in range(tops.size):
        tops[chunk] = _raise_chunk(b, x, offsets, chunk)
    top = tops.max()
    if not np.isfinite(top):
        return False
    for chunk in range(tops.size):
        _fill_chunk(b, x, top, chunk)
    _finish_refresh(b, v, top)
    return True


@kernel(parallel=True)
def refresh_threaded(b, v, x, offsets, tops):
    """`refresh` on all threads; the same numbers."""
    for chunk in prange(tops.size):
        tops[chunk] = _raise_chunk(b, x, offsets, chunk)
    top = tops.max()
    if not np.isfinite(top):
        return False
    for chunk in prange(tops.size):
        _fill_chunk(b, x, top, chunk)
    _finish_refresh(b, v, top)
    return True
