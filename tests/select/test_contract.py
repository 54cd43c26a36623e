"""One contract, every selector: the law of a pick is softmax(scale * score), whatever the sampler does."""

import itertools

import numpy as np
import pytest
from scipy import sparse, stats

from fastmwem.errors import InvalidArgument
from fastmwem.privacy.events import exponential_mechanism
from fastmwem.privacy.randomness import Randomness
from fastmwem.queries.base import Candidates, Queries
from fastmwem.queries.binary import Binary
from fastmwem.queries.dense import Dense
from fastmwem.queries.sparse import Sparse
from fastmwem.select import SELECTORS, ExponentialMechanism, make_selector

TOO_UNLIKELY = 1e-6
M, DIM = 70, 12
MECHANISM = ExponentialMechanism(1.0, 0.5)  # scale 1
RNG = np.random.default_rng(11)
BITS = (RNG.random((M, DIM)) < 0.4).astype(np.int8)


class Implicit(Queries):
    """Rows that are not stored: what a structured workload looks like to a selector."""

    half_range = 0.5
    centred_norm = float(np.linalg.norm(BITS - BITS.mean(1, keepdims=True), axis=1).max())

    def __init__(self):
        self.m, self.dim = M, DIM

    def answers(self, v):
        return BITS @ v

    def dot(self, ids, v):
        return BITS[ids] @ v

    def row(self, i):
        cells = np.flatnonzero(BITS[i])
        return cells, np.ones(cells.size)


REPRESENTATIONS = {
    "dense": lambda: Dense(BITS),
    "float32": lambda: Dense(BITS, dtype="float32"),
    "binary": lambda: Binary(BITS),
    "sparse": lambda: Sparse(sparse.csr_array(BITS)),
    "implicit": Implicit,
}


def simplex(generator, concentration=1.0):
    return generator.dirichlet(np.full(DIM, concentration))


# scaled scores at V
V = simplex(np.random.default_rng(12))
SCORES = {
    "random": RNG.normal(size=M),
    "constant": np.full(M, 0.25),
    "dominant": np.where(np.arange(M) == 17, 12.0, 0.0),
    "nearly equal": 1e-9 * np.arange(M),
    "spread over 700": np.linspace(-700, 700, M),
}


def softmax(x, signed):
    x = np.concatenate([x, -x]) if signed else x
    weights = np.exp(x - x.max())
    return weights / weights.sum()


def p_value(picks, law):
    """Chi-square of counts against a law, classes that are too rare to test taken together."""
    expected = law * picks.sum()
    rare = expected < 5
    seen = np.append(picks[~rare], picks[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 1e-3:
        if seen[-1] > 0:
            return 0.0
        seen, expected = seen[:-1], expected[:-1]
    if expected.size == 1:
        return 1.0
    statistic = ((seen - expected) ** 2 / expected).sum()
    return float(stats.chi2.sf(statistic, expected.size - 1))


def tally(selector, v, draws):
    counts = np.zeros(2 * M)
    for _ in range(draws):
        pick = selector.pick(v)
        counts[pick.candidate + (M if pick.sign < 0 else 0)] += 1
    return counts if selector.candidates.signed else counts[:M]


@pytest.fixture(params=sorted(SELECTORS))
def name(request):
    return request.param


@pytest.mark.parametrize("signed", [True, False], ids=["signed", "unsigned"])
@pytest.mark.parametrize("scores", SCORES)
def test_law_is_softmax_at_a_fixed_probe(name, scores, signed):
    x = SCORES[scores]
    candidates = Candidates(Binary(BITS), BITS @ V - x, signed)
    selector = make_selector(name, candidates, MECHANISM, Randomness.seeded(21))
    picks = tally(selector, V, 6000)
    assert p_value(picks, softmax(x, signed)) > TOO_UNLIKELY


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_law_is_softmax_for_every_representation(name, representation):
    x = SCORES["random"]
    candidates = Candidates(REPRESENTATIONS[representation](), BITS @ V - x, True)
    selector = make_selector(name, candidates, MECHANISM, Randomness.seeded(22))
    assert p_value(tally(selector, V, 6000), softmax(x, True)) > TOO_UNLIKELY


def test_test_of_the_law_has_power(name):
    """Negative controls: the wrong sign, and scores that are a little off, are rejected."""
    x = SCORES["random"]
    candidates = Candidates(Binary(BITS), BITS @ V - x, True)
    picks = tally(make_selector(name, candidates, MECHANISM, Randomness.seeded(23)), V, 6000)
    assert p_value(picks, softmax(-x, True)) < TOO_UNLIKELY
    assert p_value(picks, softmax(0.8 * x, True)) < TOO_UNLIKELY


def test_repeatable_only_when_seeded(name):
    candidates = Candidates(Binary(BITS), BITS @ V - SCORES["random"], True)

    def run(randomness):
        selector = make_selector(name, candidates, MECHANISM, randomness)
        return [selector.pick(V) for _ in range(30)]

    assert run(Randomness.seeded(1)) == run(Randomness.seeded(1))
    assert run(None) != run(None)


def test_one_pick_costs_one_event(name):
    candidates = Candidates(Binary(BITS), np.zeros(M), True)
    selector = make_selector(name, candidates, ExponentialMechanism(0.25, 1e-2), Randomness.seeded(1))
    assert selector.event == exponential_mechanism(0.25)


@pytest.mark.parametrize("one_sided", [False, True])
def test_neighbours_change_log_probabilities_by_an_interval_of_eps0(one_sided):
    """All extreme moves of three scores: an interval of eps0, and of more with half of R."""
    eps0, sensitivity = 0.7, 0.25
    mechanism = ExponentialMechanism(eps0, sensitivity, one_sided)
    steps = [0.0, sensitivity] if one_sided else [-sensitivity, sensitivity]

    def widest(scale):
        x = np.array([0.3, -1.0, 2.0])
        moves = itertools.product(steps, repeat=3)
        return max(
            np.ptp(np.log(softmax(scale * (x + move), False) / softmax(scale * x, False))) for move in moves
        )

    assert widest(mechanism.scale) == pytest.approx(eps0)
    assert widest(2 * mechanism.scale) > 1.9 * eps0


@pytest.mark.parametrize("m", [1, 2])
def test_few_candidates(name, m):
    candidates = Candidates(Dense(np.eye(3)[:m]), np.zeros(m), True)
    selector = make_selector(name, candidates, MECHANISM, Randomness.seeded(3))
    picks = {selector.pick(np.array([0.5, 0.25, 0.25])) for _ in range(200)}
    assert picks == {(i, s) for i in range(m) for s in (-1, 1)}


@pytest.mark.parametrize(
    "bad",
    [np.full(DIM, np.nan), np.full(DIM, np.inf), np.ones(DIM + 1), np.ones((1, DIM)), np.full(DIM, 1j)],
    ids=["nan", "infinite", "shape", "axes", "complex"],
)
def test_bad_probe_is_refused(name, bad):
    selector = make_selector(name, Candidates(Binary(BITS), np.zeros(M), True), MECHANISM)
    with pytest.raises(InvalidArgument, match="v must"):
        selector.pick(bad)


@pytest.mark.parametrize(
    "offsets",
    [np.full(M, np.nan), np.zeros(M - 1), np.zeros(M, np.float32)],
    ids=["nan", "shape", "dtype"],
)
def test_bad_offsets_are_refused(name, offsets):
    with pytest.raises(InvalidArgument, match="offsets"):
        make_selector(name, Candidates(Binary(BITS), offsets, True), MECHANISM)


def test_scores_beyond_float64_are_refused(name):
    candidates = Candidates(Dense(np.full((2, 2), 1e200)), np.zeros(2), False)
    with pytest.raises(InvalidArgument, match="beyond float64"):
        make_selector(name, candidates, ExponentialMechanism(1e305, 1e190)).pick(np.ones(2))


@pytest.mark.parametrize("sensitivity", [2e-10, 0.01])
def test_what_rounding_adds_to_a_difference_of_scores_is_paid_for(name, sensitivity):
    """Scores of neighbours as computed: further apart than the sensitivity, within what is allowed."""
    rows, v = Dense(np.eye(3)), np.array([0.1, 0.2, 0.7])
    offsets = np.random.default_rng(1).random((3000, 3))
    moved = offsets + sensitivity
    plain = np.abs((v - offsets) - (v - moved)).max()
    selector = make_selector(
        name, Candidates(rows, offsets[0], False), ExponentialMechanism(1.0, sensitivity)
    )
    assert sensitivity < plain <= selector.mechanism.sensitivity


def test_a_sensitivity_below_the_rounding_of_scores_is_refused(name):
    # 0.3 and 0.3 + 1e-18 are one float, but 0.3 and the next are 5.6e-17 apart: 56 times the sensitivity.
    for rows, offset in ((np.eye(3), 0.3), (np.eye(3), 1e6), (1e6 * np.eye(3), 0.0)):
        candidates = Candidates(Dense(rows), np.full(3, offset), False)
        with pytest.raises(InvalidArgument, match="sensitivity must be at least"):
            make_selector(name, candidates, ExponentialMechanism(1.0, 1e-18))


def test_unknown_selector_and_stray_options_are_refused():
    candidates = Candidates(Binary(BITS), np.zeros(M), True)
    with pytest.raises(InvalidArgument, match="exhaustive"):
        make_selector("exhaustiv", candidates, MECHANISM)
    with pytest.raises(InvalidArgument, match="lazy"):
        make_selector("exhaustive", candidates, MECHANISM, tail="certified")
    with pytest.raises(InvalidArgument, match="eps0"):
        make_selector("exhaustive", candidates, ExponentialMechanism(0.0, 1.0))
