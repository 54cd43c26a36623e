"""Indices: what they find, what they may vouch for, what they refuse."""

import pickle
from dataclasses import dataclass, replace

import numpy as np
import pytest

from fastmwem.errors import InvalidArgument, TooLarge
from fastmwem.index import INDICES, Certified, Exact, build_index, check_index, index_spec
from fastmwem.index.hnsw import Hnsw
from fastmwem.index.ivf import Ivf
from fastmwem.index.points import CandidatePoints
from fastmwem.queries.base import Candidates
from fastmwem.queries.binary import Binary
from fastmwem.queries.dense import Dense

M, DIM = 400, 30
RNG = np.random.default_rng(1)
BITS = (RNG.random((M, DIM)) < 0.3).astype(np.int8)
ANSWERS = BITS @ RNG.dirichlet(np.ones(DIM))
V = RNG.dirichlet(np.ones(DIM))


def candidates(signed=True, queries=None):
    return Candidates(Binary(BITS) if queries is None else queries, ANSWERS, signed)


def true_scores(signed, v=V):
    x = BITS @ v - ANSWERS
    return np.concatenate([x, -x]) if signed else x


def codes(found):
    return np.where(found.signs > 0, found.ids, M + found.ids)


@pytest.fixture(params=sorted(INDICES))
def name(request):
    return request.param


@pytest.mark.parametrize("signed", [True, False], ids=["signed", "unsigned"])
def test_what_is_found_is_distinct_sorted_and_scored_in_float64(name, signed):
    found = build_index(candidates(signed), name).search(V, 20)
    assert 0 < len(found.ids) <= 20
    assert len(set(codes(found).tolist())) == len(found.ids)
    assert np.all(np.diff(found.scores) <= 0)
    np.testing.assert_allclose(found.scores, true_scores(signed)[codes(found)], rtol=0, atol=1e-15)
    assert signed or set(found.signs.tolist()) == {1}


@pytest.mark.parametrize("signed", [True, False], ids=["signed", "unsigned"])
@pytest.mark.parametrize(
    ("spec", "least"),
    [
        ("flat", 1.0),
        ("faiss-flat", 1.0),
        (replace(index_spec("faiss-flat"), metric="nearest-neighbour"), 1.0),
        (Ivf(nlist=10, nprobe=10), 1.0),
        ("hnsw", 0.9),
        (Hnsw(metric="nearest-neighbour"), 0.9),
        ("ivf", 0.3),
        ("lsh", 0.2),
    ],
    ids=str,
)
def test_recall(spec, least, signed):
    """Either metric, signs and the offset coordinate lead to the true best, as far as the kind can."""
    index = build_index(candidates(signed), spec)
    k, hits, probes = 20, 0, 25
    for v in np.random.default_rng(2).dirichlet(np.ones(DIM), probes):
        best = np.argsort(-true_scores(signed, v))[:k]
        hits += len(np.intersect1d(best, codes(index.search(v, k))))
    assert hits >= least * k * probes


def test_probes_of_another_mass():
    zero = Candidates(Binary(BITS), np.zeros(M), signed=True)
    step = V - RNG.dirichlet(np.ones(DIM))
    best = set(codes(build_index(zero, "flat").search(step, 10)).tolist())
    assert set(codes(build_index(zero, "faiss-flat", mass=0.0).search(step, 10)).tolist()) == best
    with pytest.raises(InvalidArgument, match="v must sum to 1"):
        build_index(zero, "hnsw").search(step, 10)


def test_points_reproduce_scores_and_distances():
    """point . probe is the score; after the reduction all norms agree and the nearest point is the best."""
    for queries in (Binary(BITS), Dense(BITS.astype(float))):
        points = CandidatePoints(candidates(queries=queries), "nearest-neighbour", 1.0)
        rows = points.block(np.arange(M)).astype(float)
        np.testing.assert_allclose(rows @ points.probe(V).astype(float), true_scores(False), atol=1e-6)
        norms = np.linalg.norm(rows, axis=1)
        np.testing.assert_allclose(norms, norms[0], rtol=1e-5)
        distances = np.linalg.norm(rows - points.probe(V), axis=1)
        assert np.argmin(distances) == np.argmax(true_scores(False))


@pytest.mark.parametrize("signed", [True, False], ids=["signed", "unsigned"])
def test_only_flat_vouches_exact(name, signed):
    index = build_index(candidates(signed), name)
    for v in np.random.default_rng(3).dirichlet(np.ones(DIM), 20):
        tail = index.search(v, 5).tail
        assert isinstance(tail, Exact if name == "flat" else Certified)
        if isinstance(tail, Certified):
            assert tail.bound >= true_scores(signed, v).max()


def test_the_bound_holds_for_a_sum_that_is_a_little_off():
    """Rows of a large mean, and a probe of float32 that sums to 1 up to 1e-7."""
    rows = np.array([[100.0, 101.0], [101.0, 100.0]])
    index = build_index(Candidates(Dense(rows), np.array([100.0, 100.0]), False), "faiss-flat")
    for v in (np.array([0.0, 1 + 1e-6]), np.array([0.0, 1 - 1e-6])):
        assert index.search(v, 1).tail.bound >= (rows @ v - 100.0).max() * (1 - 1e-12)
    with pytest.raises(InvalidArgument, match="v must sum to 1"):
        index.search(np.array([0.0, 1 + 1e-5]), 1)


def test_what_is_found_does_not_show_itself():
    assert repr(build_index(candidates(), "flat").search(V, 3)) == "Found(3 candidates)"


@dataclass(frozen=True)
class Plugged:
    """Somebody's own index, whose backend returns what it is told to."""

    answer: object
    metric: str = "inner-product"

    def memory(self, m, columns):
        return 0.0

    def build(self, points):
        answer = self.answer

        class Backend:
            def nearest(self, probe, k):
                return answer(points.m, k) if callable(answer) else answer

        return Backend()


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ([], []),
        ([-1, -1], []),
        ([3, 3, -1, 5, 3], [3, 5]),
        (np.array([9, 2], np.int32), [2, 9]),
    ],
)
def test_short_repeated_and_missing_answers_are_handled(answer, expected):
    check_index(Plugged(answer))
    found = build_index(candidates(signed=False), Plugged(answer)).search(V, 8)
    assert sorted(found.ids.tolist()) == expected
    assert isinstance(found.tail, Certified)


@pytest.mark.parametrize(
    "spec",
    [
        Plugged([M]),
        Plugged([-2]),
        Plugged([0.5]),
        Plugged([[1, 2]]),
        Plugged([1], metric="cosine"),
        object(),
    ],
)
def test_an_index_that_breaks_the_contract_is_refused(spec):
    with pytest.raises(InvalidArgument):
        build_index(candidates(), spec)


def test_an_answer_that_goes_wrong_later_is_refused():
    index = build_index(candidates(), Plugged(lambda m, k: np.full(k, m if m == M else 0)))
    with pytest.raises(InvalidArgument, match="ids between 0 and 399"):
        index.search(V, 3)


def test_bad_arguments_are_refused(name):
    index = build_index(candidates(), name)
    for k in (0, -1, M + 1, 2.5, float("nan")):
        with pytest.raises(InvalidArgument, match="k must"):
            index.search(V, k)
    for v in (V[:-1], V[None, :], np.full(DIM, np.nan), V.astype(complex)):
        with pytest.raises(InvalidArgument, match="v must"):
            index.search(v, 3)
    with pytest.raises(InvalidArgument, match="did you mean 'hnsw'"):
        build_index(candidates(), "hsnw")


def test_settings_out_of_range_are_refused():
    for spec in (
        lambda: Hnsw(links=1),
        lambda: Hnsw(ef_search=0),
        lambda: Ivf(nlist=0),
        lambda: index_spec("lsh").__class__(bits=0),
    ):
        with pytest.raises(InvalidArgument):
            spec()


def test_the_papers_settings_are_the_defaults():
    hnsw = index_spec("hnsw")
    assert (hnsw.links, hnsw.ef_construction, hnsw.ef_search) == (32, 100, 64)
    assert [(Ivf().cells(m), Ivf().probes(m)) for m in (30, 10_000, 100_000)] == [
        (20, 5),
        (200, 10),
        (632, 10),
    ]


@pytest.mark.parametrize("m", [1, 2])
def test_few_candidates(name, m):
    few = Candidates(Dense(np.eye(3)[:m]), np.zeros(m), signed=True)
    found = build_index(few, name).search(np.array([0.5, 0.25, 0.25]), 1)
    assert (found.ids.tolist(), found.signs.tolist()) == ([0], [1])


def test_no_candidates():
    class Empty(Dense):
        def __init__(self):
            self.m, self.dim = 0, 3

    with pytest.raises(InvalidArgument, match="number of candidates must be at least 1"):
        build_index(Candidates(Empty(), np.zeros(0), signed=False), "flat")


def test_float32_range_is_checked():
    for size in (1e30, 1e200):
        big = Candidates(Dense(np.array([[size, 0.0], [0.0, 1.0]])), np.zeros(2), signed=False)
        with pytest.raises(InvalidArgument, match="float32"):
            build_index(big, "hnsw")
        assert build_index(big, "flat").search(np.array([0.5, 0.5]), 1).ids.tolist() == [0]


def test_memory_is_refused_before_it_is_taken(name, monkeypatch):
    if name == "flat":
        return
    monkeypatch.setattr("fastmwem.errors._free_memory", lambda: 1000.0)
    with pytest.raises(TooLarge, match="use index='flat'"):
        build_index(candidates(), name)


def test_an_index_stays_in_memory(name):
    index = build_index(candidates(), name)
    with pytest.raises(TypeError, match="never pickled"):
        pickle.dumps(index)
    assert repr(index) in ("FlatIndex(m=400, dim=30)", "SpecIndex(m=400, dim=30)")


def test_threads_are_put_back():
    import faiss

    before = faiss.omp_get_max_threads()
    build_index(candidates(), replace(Hnsw(), threads=before + 1)).search(V, 3)
    assert faiss.omp_get_max_threads() == before
