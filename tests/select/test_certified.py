"""Certified selection: the law on moving probes, and what happens to a bound that is false."""

import itertools

import numpy as np
import pytest
from scipy import stats

from fastmwem import errors
from fastmwem.errors import BoundViolated, InvalidArgument, TooLarge
from fastmwem.privacy.randomness import Randomness
from fastmwem.queries.base import Candidates, Queries
from fastmwem.queries.binary import Binary
from fastmwem.queries.dense import Dense
from fastmwem.select import ExponentialMechanism, bounds, make_selector
from fastmwem.select.certified import Certified, Costs

TOO_UNLIKELY = 1e-6
M, DIM, PERIOD, CYCLES = 90, 15, 60, 400
RNG = np.random.default_rng(31)
BITS = (RNG.random((M, DIM)) < 0.4).astype(np.int8)
OFFSETS = BITS @ RNG.dirichlet(np.ones(DIM))


def trajectory(step):
    """A closed walk of probes on the simplex, `step` long in log-weight per round."""
    log = np.zeros((PERIOD, DIM))
    for t in range(1, PERIOD):
        sign = 1 if t <= PERIOD // 2 else -1
        log[t] = log[t - 1] + sign * step * BITS[t % (PERIOD // 2) if sign > 0 else -t % (PERIOD // 2)]
    weights = np.exp(log)
    return weights / weights.sum(1, keepdims=True)


def statistic(selector, probes, scale, cycles=CYCLES):
    """Summed chi-square over the rounds of a closed walk: each has law softmax, whatever went before."""
    signed = selector.candidates.signed
    seen = np.zeros((len(probes), 2 * M))
    for _ in range(cycles):
        for t, v in enumerate(probes):
            pick = selector.pick(v)
            seen[t, pick.candidate + (M if pick.sign < 0 else 0)] += 1
    seen = seen if signed else seen[:, :M]
    x = scale * (probes @ BITS.T - OFFSETS)
    x = np.concatenate([x, -x], axis=1) if signed else x
    weights = np.exp(x - x.max(1, keepdims=True))
    total = freedom = 0.0
    for counts, law in zip(seen, weights / weights.sum(1, keepdims=True), strict=True):
        order = np.argsort(law)
        groups = np.minimum(np.cumsum(law[order]) * 24, 23).astype(int)  # classes of enough expected mass
        expected = np.bincount(groups, law[order], 24) * cycles
        counts = np.bincount(groups, counts[order], 24)
        keep = expected > 1
        total += ((counts - expected)[keep] ** 2 / expected[keep]).sum()
        freedom += keep.sum() - 1
    return stats.chi2.sf(total, freedom)


@pytest.mark.parametrize("signed", [True, False], ids=["signed", "unsigned"])
@pytest.mark.parametrize(("scale", "step"), [(3.0, 0.3), (60.0, 0.3), (60.0, 3.0), (2.0, 0.01), (2e4, 1.0)])
@pytest.mark.parametrize("name", ["auto", "certified"])
def test_law_is_softmax_at_every_round_of_a_walk(name, scale, step, signed):
    candidates = Candidates(Binary(BITS), OFFSETS, signed)
    selector = make_selector(name, candidates, ExponentialMechanism(2 * scale, 1.0), Randomness.seeded(1))
    assert statistic(selector, trajectory(step), scale) > TOO_UNLIKELY


class Implicit(Queries):
    """The same rows where compiled code cannot reach them."""

    def __init__(self):
        self.m, self.dim = M, DIM
        self._stored = Binary(BITS)
        self.half_range, self.centred_norm = self._stored.half_range, self._stored.centred_norm

    half_range = centred_norm = 0.0

    def answers(self, v):
        return self._stored.answers(v)

    def dot(self, ids, v):
        return self._stored.dot(ids, v)

    def row(self, i):
        return self._stored.row(i)


@pytest.mark.parametrize(("scale", "step"), [(3.0, 0.3), (60.0, 0.3)])
def test_law_is_softmax_where_draws_are_judged_in_batches(scale, step):
    candidates = Candidates(Implicit(), OFFSETS, True)
    selector = Certified(candidates, ExponentialMechanism(2 * scale, 1.0), Randomness.seeded(9))
    assert statistic(selector, trajectory(step), scale, cycles=150) > TOO_UNLIKELY


@pytest.mark.parametrize("name", ["exhaustive", "lazy"])
def test_walk_test_passes_for_samplers_without_memory(name):
    candidates = Candidates(Binary(BITS), OFFSETS, True)
    selector = make_selector(name, candidates, ExponentialMechanism(120.0, 1.0), Randomness.seeded(1))
    assert statistic(selector, trajectory(0.3), 60.0, cycles=60) > TOO_UNLIKELY


def test_few_evaluations_are_made_where_the_probe_hardly_moves():
    candidates = Candidates(Binary(BITS), OFFSETS, True)
    selector = Certified(candidates, ExponentialMechanism(4.0, 1.0), Randomness.seeded(2))
    statistic(selector, trajectory(0.01), 2.0, cycles=50)
    assert selector.diagnostics["trials"] < 2 * selector.diagnostics["rounds"]
    assert selector.diagnostics["passes"] == 1


@pytest.mark.parametrize("slots", [1, 2, 16])
def test_law_is_softmax_for_any_number_of_anchors(slots, monkeypatch):
    monkeypatch.setattr(Costs, "slots", lambda self, dim: slots)
    candidates = Candidates(Binary(BITS), OFFSETS, True)
    selector = Certified(candidates, ExponentialMechanism(120.0, 1.0), Randomness.seeded(8))
    assert statistic(selector, trajectory(0.5), 60.0, cycles=200) > TOO_UNLIKELY


@pytest.mark.parametrize("m", [30_000, 270_000])
def test_law_is_softmax_through_trees_of_several_levels(m, monkeypatch):
    """Two levels of sums, and three: where picks fall, far and near in the tree, on a walk among anchors."""
    monkeypatch.setattr(Costs, "slots", lambda self, dim: 3)  # fewer than probes: anchors give way, too
    generator = np.random.default_rng(61)
    rows, probes = generator.normal(size=(m, 3)), generator.dirichlet(np.full(3, 10.0), 12)
    rows[:, 0] += 3.0 * (np.arange(m) >= m - m // 50)  # the last part of every level weighs the most
    offsets, scale, draws = rows @ np.full(3, 1 / 3), 4.0, 2500
    selector = Certified(
        Candidates(Dense(rows), offsets, True), ExponentialMechanism(2 * scale, 1.0), Randomness.seeded(10)
    )
    selector._budget = 10**6  # never refresh
    assert selector._bounds.starts.size == (3 if m == 30_000 else 4)
    classes = [np.arange(m) * 40 // m, np.arange(m) % 64, np.arange(m) // 64 % 64]
    seen, expected, anchors = [np.zeros(64) for _ in classes], [np.zeros(64) for _ in classes], 0
    for v in probes:
        picks = np.bincount([selector.pick(v).candidate for _ in range(draws)], minlength=m)
        anchors = max(anchors, np.unique(selector._bounds.owners).size)
        weights = np.cosh(scale * (rows @ v - offsets))
        for k, of in enumerate(classes):
            seen[k] += np.bincount(of, picks, 64)
            expected[k] += np.bincount(of, weights / weights.sum() * draws, 64)
    for counts, law in zip(seen, expected, strict=True):
        kept = law > 0
        statistic = ((counts - law)[kept] ** 2 / law[kept]).sum()
        assert stats.chi2.sf(statistic, kept.sum() - 1) > TOO_UNLIKELY
    for v in np.tile(probes, (3, 1)):  # a pick each, so that anchors with members must give way
        selector.pick(v)
    b = selector._bounds
    assert anchors > 1
    assert np.unique(b.owners).size == 3
    for a in range(b.drifts.size):  # every level holds the sums of the one below
        below = np.where(b.owners == a, b.leaves, 0.0)
        for first, last in itertools.pairwise(b.starts):
            level = np.add.reduceat(below, np.arange(0, below.size, bounds.FAN))
            np.testing.assert_allclose(b.trees[a, first:last], level, rtol=1e-9)
            below = level


@pytest.mark.parametrize("slots", [2, 16])
def test_anchors_give_way_and_candidates_keep_valid_bounds(slots, monkeypatch):
    """Many more turns than slots, on a walk that comes back: every leaf stays above its true weight."""
    monkeypatch.setattr(Costs, "slots", lambda self, dim: slots)
    candidates = Candidates(Binary(BITS), OFFSETS, True)
    selector = Certified(candidates, ExponentialMechanism(120.0, 1.0), Randomness.seeded(3))
    selector._budget = 10**6  # never refresh
    turns, current = 0, 0
    for v in np.tile(trajectory(0.5), (20, 1)):
        selector.pick(v)
        b = selector._bounds
        turns += current != b.counts[bounds.CURRENT]
        current = b.counts[bounds.CURRENT]
        x = np.abs(selector.mechanism.scale * (BITS @ v - OFFSETS))
        truth = x + np.log1p(np.exp(-2 * x))
        drifts = np.array([bounds.drift_between(b.numbers, v, anchor) for anchor in b.anchors])
        upper = np.log(b.leaves) + b.numbers[bounds.REFERENCE] + drifts[b.owners]
        assert (truth <= upper).all()
        for a in range(b.drifts.size):  # and the trees hold the sums of their leaves
            assert bounds._mass(b, a) == pytest.approx(b.leaves[b.owners == a].sum(), rel=1e-9)
    assert turns > 3 * b.drifts.size
    assert selector.diagnostics["passes"] == 1


def test_an_anchor_whose_mass_underflows_keeps_its_members():
    """Beside an anchor that has drifted 745 further, a mass rounds to 0: no free slot for all that."""
    scale, there, back = 1000.0, np.array([1.0, -1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0, -1.0])
    rows = np.array([there, -there, *[back] * 20])
    offsets = np.array([0.0, -0.4, *[0.0] * 20])
    probes = [0.25 + t * there + u * back for t, u in ((0, 0), (0.2, 0), (-0.2, 0.01))]
    candidates, underflows = Candidates(Dense(rows), offsets, False), 0
    for seed in range(30):
        selector = Certified(candidates, ExponentialMechanism(2 * scale, 1.0), Randomness.seeded(seed))
        for v in probes:
            selector.pick(v)
        b = selector._bounds
        drifts = np.array([bounds.drift_between(b.numbers, v, anchor) for anchor in b.anchors])
        upper = np.log(b.leaves) + b.numbers[bounds.REFERENCE] + drifts[b.owners]
        assert (selector.mechanism.scale * (rows @ v - offsets) <= upper).all()
        underflows += any(b.masses[a] == 0 and bounds._mass(b, a) > 0 for a in range(b.drifts.size))
    assert underflows > 10


def test_scores_that_rounding_swamps_are_refused():
    candidates = Candidates(Binary(BITS), OFFSETS, True)
    selector = Certified(candidates, ExponentialMechanism(1e9, 2e-10), Randomness.seeded(7))
    with pytest.raises(InvalidArgument, match="sensitivity is too small"):
        selector.pick(np.full(DIM, 1 / DIM))


class NoDrift(Binary):
    """A lie: rows that claim to have no range, so that bounds never widen."""

    half_range = 0.0
    centred_norm = 0.0


def test_a_bound_without_drift_is_caught():
    candidates = Candidates(NoDrift(BITS), OFFSETS, True)
    selector = Certified(candidates, ExponentialMechanism(120.0, 1.0), Randomness.seeded(4))
    with pytest.raises(BoundViolated):
        statistic(selector, trajectory(0.3), 60.0)


def test_a_bound_without_drift_would_falsify_the_law():
    """Negative control: what the walk test would see if a false bound were clipped instead of caught."""
    candidates = Candidates(NoDrift(BITS), OFFSETS, True)
    selector = Certified(candidates, ExponentialMechanism(120.0, 1.0), Randomness.seeded(4))
    probes = trajectory(0.3)
    frozen = np.tile(probes[0], (PERIOD, 1))
    assert statistic(selector, frozen, 60.0) > TOO_UNLIKELY  # true while the probe stands still

    class Stale(Certified):
        def pick(self, v):
            return super().pick(probes[0])

    stale = Stale(candidates, ExponentialMechanism(120.0, 1.0), Randomness.seeded(5))
    assert statistic(stale, probes, 60.0) < TOO_UNLIKELY


def test_probes_of_different_sums_widen_the_bounds():
    generator = np.random.default_rng(6)
    candidates = Candidates(Dense(BITS + 5.0), OFFSETS, True)
    selector = Certified(candidates, ExponentialMechanism(2.0, 1.0), Randomness.seeded(6))
    for _ in range(300):
        selector.pick(generator.random(DIM))  # a violated bound would raise


def test_violations_and_infinite_probes_are_told_apart():
    candidates = Candidates(Binary(BITS), OFFSETS, True)
    selector = Certified(candidates, ExponentialMechanism(2.0, 1.0), Randomness.seeded(7))
    v = np.full(DIM, 1 / DIM)
    selector.pick(v)
    with pytest.raises(InvalidArgument, match="v must be finite"):
        selector.pick(np.full(DIM, np.nan))
    assert selector.pick(v.astype(np.float32)).candidate < M  # other types are converted
    assert selector.pick(np.repeat(v, 2)[::2]).candidate < M


def test_memory_is_refused_before_it_is_taken(monkeypatch):
    monkeypatch.setattr(errors, "_free_memory", lambda: 1000.0)
    with pytest.raises(TooLarge, match="exhaustive"):
        Certified(
            Candidates(Binary(BITS), OFFSETS, True), ExponentialMechanism(2.0, 1.0), Randomness.seeded(7)
        )


def test_state_takes_few_bytes_a_candidate():
    m = 100_000
    state = bounds.make_bounds(m, 10, 16)
    assert sum(array.nbytes for array in state) + 8 * m <= 48 * m
    assert sum(array.nbytes for array in state) + 8 * m == pytest.approx(
        bounds.bytes_needed(m, 10, 16), rel=0.01
    )
