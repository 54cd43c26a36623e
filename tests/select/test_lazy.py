"""Lazy sampling: its law is softmax for every index, and the assumed tails cost what they say."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from fastmwem.errors import BoundViolated, InvalidArgument
from fastmwem.index import INDICES, Assumed, Certified, PerfectExcept, build_index
from fastmwem.index.flat import FlatIndex
from fastmwem.mw.loop import play
from fastmwem.privacy.budget import Budget
from fastmwem.privacy.events import AssumedFailureDpEvent, BoundedRangeDpEvent, composed, repeated
from fastmwem.privacy.ledger import Ledger
from fastmwem.privacy.randomness import Randomness
from fastmwem.queries.base import Candidates
from fastmwem.queries.binary import Binary
from fastmwem.queries.dense import Dense
from fastmwem.select import lazy
from fastmwem.select.base import ExponentialMechanism
from fastmwem.select.lazy import Lazy, PrivateNoise, lazy_argmax

TOO_UNLIKELY = 1e-6
M, DIM = 40, 8
RNG = np.random.default_rng(5)
BITS = (RNG.random((M, DIM)) < 0.4).astype(np.int8)
V = RNG.dirichlet(np.ones(DIM))
UNIT = ExponentialMechanism(1.0, 0.5)  # scale 1: scores are scaled scores

SCORES = {
    "random": RNG.normal(size=M),
    "constant": np.full(M, 0.25),
    "dominant": np.where(np.arange(M) == 17, 6.0, 0.0),
    "nearly equal": 1e-9 * np.arange(M),
    "spread over 700": np.linspace(-700, 700, M),
}


@dataclass(frozen=True)
class Adversary:
    """A spec of somebody's own that knows every score and answers with the worst of them, or any, or none."""

    kind: str
    metric: str = "inner-product"

    def memory(self, m, columns):
        return 0.0

    def build(self, points):
        kind, rows = self.kind, points.block(np.arange(points.m)).astype(float)
        generator = np.random.default_rng(0)

        class Backend:
            def nearest(self, probe, k):
                order = np.argsort(rows @ probe)
                return {"worst": order[:k], "random": generator.permutation(order)[:k], "none": order[:0]}[
                    kind
                ]

        return Backend()


ADVERSARIES = {kind: Adversary(kind) for kind in ("worst", "random", "none")}
ALL_INDICES = {**{name: name for name in INDICES}, **ADVERSARIES}


def candidates_with(x, signed=True, queries=None):
    """Candidates whose scores at V are x."""
    return Candidates(queries or Binary(BITS), BITS @ V - x, signed)


def softmax(x, signed=True):
    x = np.concatenate([x, -x]) if signed else x
    weights = np.exp(x - x.max())
    return weights / weights.sum()


def p_value(counts, law):
    """Chi-square of counts against a law, classes too rare to test taken together."""
    expected = law * counts.sum()
    rare = expected < 5
    seen = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(expected[~rare], expected[rare].sum())
    if expected[-1] < 1e-3:
        if seen[-1] > 0:
            return 0.0
        seen, expected = seen[:-1], expected[:-1]
    if expected.size == 1:
        return 1.0
    return float(stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), expected.size - 1))


def tally(selector, draws=1500):
    m = selector.candidates.m
    counts = np.zeros(selector.codes)
    for _ in range(draws):
        pick = selector.pick(V)
        counts[pick.candidate + (m if pick.sign < 0 else 0)] += 1
    return counts


@pytest.mark.parametrize(
    ("index", "scores"),
    [*itertools.product(INDICES, ["random", "spread over 700"]), *itertools.product(ADVERSARIES, SCORES)],
)
def test_certified_law_is_softmax_whatever_the_index_finds(index, scores):
    x = SCORES[scores]
    selector = Lazy(candidates_with(x), UNIT, Randomness.seeded(1), index=ALL_INDICES[index], k=4)
    assert p_value(tally(selector), softmax(x)) > TOO_UNLIKELY


@pytest.mark.parametrize("index", ["hnsw", "worst", "none"])
@pytest.mark.parametrize("queries", [Dense(BITS), Dense(BITS, dtype="float32")], ids=["dense", "float32"])
def test_certified_law_unsigned_and_other_representations(index, queries):
    x = SCORES["random"]
    selector = Lazy(candidates_with(x, False, queries), UNIT, Randomness.seeded(2), index=ALL_INDICES[index])
    assert p_value(tally(selector), softmax(x, False)) > TOO_UNLIKELY


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize(
    "tail", ["exact", PerfectExcept(0.01), Assumed(0, "charge"), Assumed(0.7, "margin")], ids=str
)
def test_a_perfect_index_is_exact_under_every_tail(tail, scores):
    x = SCORES[scores]
    selector = Lazy(candidates_with(x), UNIT, Randomness.seeded(3), index="flat", tail=tail, k=4)
    assert p_value(tally(selector), softmax(x)) > TOO_UNLIKELY


def test_margin_is_exact_when_the_assumption_holds():
    x = SCORES["random"]
    gap = 2 * np.abs(x).max()  # no index can be worse than this
    for kind in ("worst", "random", "none"):
        tail = Assumed(gap, "margin")
        selector = Lazy(
            candidates_with(x), UNIT, Randomness.seeded(4), index=ADVERSARIES[kind], tail=tail, k=4
        )
        assert p_value(tally(selector), softmax(x)) > TOO_UNLIKELY


@pytest.mark.parametrize(
    "tail", [Assumed(0.5, "margin"), Assumed(0.5, "charge"), PerfectExcept(0.01)], ids=str
)
def test_a_false_assumption_that_is_seen_ends_the_run(tail):
    selector = Lazy(
        candidates_with(SCORES["random"]), UNIT, Randomness.seeded(4), index=ADVERSARIES["worst"], tail=tail
    )
    with pytest.raises(BoundViolated, match="assumption is false"):
        tally(selector)


def test_a_false_tail_is_rejected_by_the_test_of_the_law():
    """Negative control: the same sampler, the worst S, and tau = min over S as if it were the best."""
    x = SCORES["random"]
    order = np.argsort(x)
    inside, rest = order[:6], order[6:]
    counts, right = np.zeros(M), np.zeros(M)
    noise = PrivateNoise(np.random.default_rng(6))
    codes = np.concatenate([inside, rest])
    for _ in range(4000):
        for tau, tally_of in ((x[inside].min(), counts), (x.max(), right)):
            place, _ = lazy_argmax(x[inside], tau, len(rest), x[rest].__getitem__, noise)
            tally_of[codes[place]] += 1
    assert p_value(counts, softmax(x, False)) < TOO_UNLIKELY
    assert p_value(right, softmax(x, False)) > TOO_UNLIKELY


@dataclass
class FullNoise:
    """All m Gumbel variables, drawn beforehand: the noise of the full mechanism."""

    noise: np.ndarray
    inside_codes: np.ndarray
    outside_codes: np.ndarray

    def inside(self, count):
        return self.noise[self.inside_codes]

    def above(self, bound, count):
        places = np.flatnonzero(self.noise[self.outside_codes] > bound)
        return places, self.noise[self.outside_codes[places]]


def test_with_shared_noise_the_lazy_argmax_is_the_full_one():
    generator = np.random.default_rng(7)
    evaluated, false_tail_differs = 0, 0
    for _ in range(3000):
        x = generator.normal(scale=generator.choice([1e-9, 1.0, 300.0]), size=M)
        codes = generator.permutation(M)
        size = int(generator.integers(0, M))
        inside, rest = codes[:size], codes[size:]
        noise = generator.gumbel(size=M)
        best = int(np.argmax(x + noise))
        tau = x[rest].max() + generator.choice([0.0, 1.0])
        shared = FullNoise(noise, inside, rest)
        place, drawn = lazy_argmax(x[inside], tau, len(rest), x[rest].__getitem__, shared)
        assert codes[place] == best
        evaluated += drawn
        place, _ = lazy_argmax(x[inside], tau - 3.0, len(rest), x[rest].__getitem__, shared)
        false_tail_differs += codes[place] != best
    assert evaluated < 3000 * M / 2
    assert false_tail_differs > 30


def uniform_of(x, code, generator):
    """Uniform on [0, 1] if `code` has law softmax(x): where it falls when the best are laid out first."""
    law = softmax(x, False)
    return float(law[x > x[code]].sum()) + generator.random() * float(law[code])


def drifting_run(index, m=300, rounds=500, scale=40.0, eta=0.05):
    """Picks that drive the probe that scores the next: one uniform number a round, if the law is right."""
    generator = np.random.default_rng(10)
    rows = (generator.random((m, DIM)) < 0.4).astype(np.int8)
    answers = rows @ generator.dirichlet(np.full(DIM, 0.3))
    candidates = Candidates(Binary(rows), answers, True)
    mechanism = ExponentialMechanism(1.0, 0.5 / scale)
    selector = Lazy(candidates, mechanism, Randomness.seeded(9), index=index, k=5)
    log_weights, uniforms = np.zeros(DIM), np.empty(rounds)
    for t in range(rounds):
        p = np.exp(log_weights - log_weights.max())
        p /= p.sum()
        x = scale * (rows @ p - answers)
        candidate, sign = selector.pick(p)
        uniforms[t] = uniform_of(np.concatenate([x, -x]), candidate + (m if sign < 0 else 0), generator)
        log_weights -= eta * sign * rows[candidate]
    return uniforms, selector


@pytest.mark.parametrize("index", ["flat", "hnsw", "worst", "random", "none"])
def test_law_under_drift_given_the_history(index):
    uniforms, selector = drifting_run(ALL_INDICES[index])
    assert stats.kstest(uniforms, "uniform").pvalue > TOO_UNLIKELY
    pairs = np.histogram2d(uniforms[:-1:2], uniforms[1::2], bins=4, range=[[0, 1], [0, 1]])[0]
    assert stats.chisquare(pairs.ravel()).pvalue > TOO_UNLIKELY
    assert selector.diagnostics["evaluations"] < 500 * 300


def test_a_bound_without_drift_is_caught_and_biased(monkeypatch):
    """Negative control: an anchor that forgets the drift is found out; unchecked, its law is rejected."""
    start = np.full(DIM, 1 / DIM)  # all scores are equal here, and spread over +-3 at V
    x = BITS @ (V - start)
    scale = 3 / np.abs(x).max()

    def picks():
        candidates = Candidates(Binary(BITS), BITS @ start, True)
        mechanism = ExponentialMechanism(1.0, 0.5 / scale)
        selector = Lazy(candidates, mechanism, Randomness.seeded(9), index=ADVERSARIES["none"], k=10)
        selector.pick(start)
        return tally(selector)

    monkeypatch.setattr(lazy, "PASS", np.inf)  # one anchor for good
    assert p_value(picks(), softmax(scale * x)) > TOO_UNLIKELY
    monkeypatch.setattr(lazy._Anchor, "drift", lambda *_: 0.0)
    with pytest.raises(BoundViolated, match="please report"):
        picks()
    monkeypatch.setattr(Certified, "slip", np.inf)
    assert p_value(picks(), softmax(scale * x)) < TOO_UNLIKELY


@pytest.mark.parametrize("index", ["flat", "none"])
def test_scores_that_differ_by_rounding_alone_break_no_bound(index):
    """All scores are 0 up to the order in which a pass, or one product, sums them up."""
    generator = np.random.default_rng(13)
    queries, v = Binary(generator.random((400, 700)) < 0.5), generator.dirichlet(np.ones(700))
    candidates = Candidates(queries, queries.matrix @ v, True)
    selector = Lazy(candidates, UNIT, Randomness.seeded(14), index=ALL_INDICES[index])
    assert {selector.pick(v).candidate for _ in range(100)} <= set(range(400))


def test_a_sum_that_is_a_little_off_widens_the_drift():
    """Rows of mean 1,000: a probe that is longer by 9e-7 moves every scaled score by 9."""
    candidates = Candidates(Dense(BITS + 1000.0), BITS @ V + 1000.0, False)
    mechanism = ExponentialMechanism(1.0, 0.5e-4)
    selector = Lazy(candidates, mechanism, Randomness.seeded(15), index=ADVERSARIES["none"], k=5)
    for _ in range(30):
        selector.pick(V * (1 - 4.5e-7))
        selector.pick(V * (1 + 4.5e-7))
    assert selector.diagnostics["rounds"] == 60


def charged_law(x, inside, nodes=300):
    """The law of Algorithm 2 with tau = min over S: quadrature over the maximum M of S and the winner."""
    outside = [i for i in range(len(x)) if i not in inside]
    peak = np.logaddexp.reduce(x[list(inside)])
    tau = min(x[i] for i in inside)
    points, weights = np.polynomial.legendre.leggauss(nodes)
    u, w = (points + 1) / 2, weights / 2
    maximum = (peak - np.log(-np.log(u)))[:, None]
    law = np.zeros(len(x))
    for i in outside:
        least = np.maximum(maximum, x[i] + maximum - tau)  # drawn, and above M
        last = np.exp(-np.exp(-(least - x[i])))  # P(x_i + G_i <= least)
        value = x[i] - np.log(-np.log(last + (1 - last) * u[None, :]))
        others = [np.exp(-np.exp(-np.maximum(maximum - tau, value - x[j]))) for j in outside if j != i]
        law[i] = (w[:, None] * w[None, :] * (1 - last) * np.prod(others, axis=0)).sum()
    kept = 1 - law.sum()
    for i in inside:
        law[i] = kept * np.exp(x[i] - peak)
    return law


def test_the_quadrature_is_the_law_of_the_code():
    x = np.array([0.0, 1.0, 0.4, -0.5])
    candidates = Candidates(Dense(np.eye(4)), np.full(4, 0.25) - x, False)
    tail = Assumed(2.0, "charge")
    selector = Lazy(candidates, UNIT, Randomness.seeded(11), index=Adversary("worst"), tail=tail, k=1)
    counts = np.bincount([selector.pick(np.full(4, 0.25)).candidate for _ in range(6000)], minlength=4)
    assert p_value(counts, charged_law(x, (3,))) > TOO_UNLIKELY
    assert p_value(counts, softmax(x, False)) < TOO_UNLIKELY


def test_charge_costs_what_it_says():
    """All small score vectors, all extreme neighbours, and on either side all S that meet the assumption."""
    eps0, c = 0.3, 0.5
    grid = [0.0, c / 2, c, 1.5 * c]
    corners = np.array(list(itertools.product([-eps0 / 2, eps0 / 2], repeat=3)))
    sets = [s for size in (1, 2) for s in itertools.combinations(range(3), size)]

    def laws(x):
        for s in sets:
            outside = max(x[i] for i in range(3) if i not in s)
            if outside - min(x[i] for i in s) <= c + 1e-12:
                yield charged_law(x, s, nodes=60)

    largest, widest = 0.0, 0.0
    for a, b in itertools.product(grid, repeat=2):
        x = np.array([0.0, a, b])
        here = list(laws(x))
        for law in here:
            assert np.abs(np.log(law / softmax(x, False))).max() <= c + 1e-6
        for there in itertools.chain.from_iterable(laws(x + step) for step in corners):
            for law in here:
                ratio = np.log(law / there)
                largest, widest = max(largest, np.abs(ratio).max()), max(widest, np.ptp(ratio))
    assert eps0 + c / 2 < largest <= eps0 + 2 * c + 1e-6
    assert eps0 + c < widest <= eps0 + 4 * c + 1e-6


def test_events_of_the_tails():
    candidates = candidates_with(SCORES["random"])

    def made(tail):
        return Lazy(candidates, ExponentialMechanism(0.1, 0.5), Randomness.seeded(1), tail=tail)

    for tail in (None, "certified", "exact"):
        assert made(tail).event == BoundedRangeDpEvent(0.1)
        assert made(tail).standing == ()
    charge = made(Assumed(0.05, "charge"))
    assert charge.event.epsilon == pytest.approx(0.3)
    assert "0.05" in charge.event.assumption
    margin = made(Assumed(0.05, "margin"))
    assert margin.event.epsilon == 0.1
    assert margin.event.assumption == charge.event.assumption
    perfect = made(PerfectExcept(1e-3))
    assert perfect.event.epsilon == 0.1
    assert isinstance(perfect.standing[0], AssumedFailureDpEvent)
    assert perfect.standing[0].delta == 1e-3


def test_what_a_run_costs_once_is_on_its_ledger_once():
    asked = []

    class Seen:
        name, proven = "seen", True

        def epsilon(self, event, delta):
            asked.append(event)
            return 0.0

        def delta(self, event, epsilon):
            return 0.0

    class Still:
        def probe(self):
            return V

        def respond(self, pick):
            pass

    tail = PerfectExcept(1e-3)
    selector = Lazy(candidates_with(SCORES["random"]), UNIT, Randomness.seeded(1), tail=tail)
    ledger = Ledger(Budget(1, 1e-2), Seen())
    play(Still(), selector, 7, ledger)
    assert ledger.entries == ((tail.standing[0], 1), (selector.event, 7))
    assert asked[0] == composed([tail.standing[0], repeated(selector.event, 7)])


def test_evaluations_are_few():
    """m = 20,000 near-uniform scores: about 2 sqrt(m') evaluations a pick with flat, a few more certified."""
    generator = np.random.default_rng(12)
    queries = Dense(generator.normal(size=(20_000, 3)))
    candidates = Candidates(queries, queries.answers(np.array([0.3, 0.3, 0.4])), True)
    v = np.array([0.4, 0.3, 0.3])
    for index, most in (("flat", 3), (ADVERSARIES["none"], 6)):
        selector = Lazy(candidates, ExponentialMechanism(0.1, 0.5), Randomness.seeded(2), index=index)
        selector.pick(v)
        before = selector.diagnostics
        for _ in range(50):
            selector.pick(v)
        after = selector.diagnostics
        assert (after["evaluations"] - before["evaluations"]) / 50 < most * np.sqrt(40_000)
        assert after["passes"] <= 1


def test_no_other_index_may_vouch():
    """A subclass that claims to be exact, or to have a bound, is not taken at its word: it is not taken."""
    candidates = candidates_with(SCORES["random"])

    class Boastful(FlatIndex):
        def search(self, v, k):
            return super().search(v, k)._replace(tail=Certified(-1e9))

    for tail in (None, "exact", Assumed(1.0)):
        with pytest.raises(InvalidArgument, match="what build_index made"):
            Lazy(candidates, UNIT, Randomness.seeded(1), index=Boastful(candidates), tail=tail)


def test_bad_arguments_are_refused():
    candidates = candidates_with(SCORES["random"])
    for arguments, message in (
        ({"tail": "exact", "index": "hnsw"}, "tail='exact' needs index='flat'"),
        ({"tail": "certain"}, "tail must be"),
        ({"k": 0}, "k must"),
        ({"k": M + 1}, "k must"),
        ({"index": build_index(candidates_with(SCORES["constant"]))}, "same candidates"),
    ):
        with pytest.raises(InvalidArgument, match=message):
            Lazy(candidates, UNIT, Randomness.seeded(1), **arguments)
    for arguments in ({"c": -1.0}, {"c": float("inf")}, {"c": 1.0, "kind": "hope"}):
        with pytest.raises(InvalidArgument):
            Assumed(**arguments)
    with pytest.raises(InvalidArgument):
        PerfectExcept(0.0)
