"""Implicit workloads: the same numbers as the matrix they stand for, and exact sensitivities."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from fastmwem.data.domain import Column, Domain
from fastmwem.errors import DomainError, InvalidArgument
from fastmwem.privacy.randomness import Randomness
from fastmwem.queries.base import Candidates
from fastmwem.queries.predicates import predicates
from fastmwem.queries.ranges import prefixes, ranges
from fastmwem.queries.union import union, weighted
from fastmwem.select import make_selector
from fastmwem.select.base import ExponentialMechanism
from fastmwem.select.structured import Structured

DOMAIN = Domain.of_sizes({"age": 5, "sex": 2, "income": 4})
RECORDS = np.array([[0, 1, 3], [4, 0, 0], [2, 1, 1], [2, 0, 3], [1, 1, 2], [3, 0, 1]])
CONDITIONS = [
    {"age": slice("1", "3"), "sex": "0"},
    {"income": ["0", "3"]},
    {"sex": "1", "income": slice(None, "2"), "age": ["0", "4"]},
    {"sex": "1", "age": "2"},
    {},
]

WORKLOADS = {
    "line": lambda records: ranges(7),
    "ranges": lambda records: ranges(DOMAIN, "age", records=records),
    "ranges of the last": lambda records: ranges(DOMAIN, "income", records=records),
    "prefixes": lambda records: prefixes(DOMAIN, "income", records=records),
    "predicates": lambda records: predicates(DOMAIN, CONDITIONS, records=records),
    "union": lambda records: union(
        ranges(DOMAIN, "age", records=records), predicates(DOMAIN, CONDITIONS, records=records)
    ),
    "weighted": lambda records: 2.5 * prefixes(DOMAIN, "age", records=records),
    "scored": lambda records: weighted(
        predicates(DOMAIN, CONDITIONS, records=records), np.arange(5) / 2
    ).scored(),
}


def matrix(queries):
    out = np.zeros((queries.m, queries.dim))
    for i in range(queries.m):
        cells, values = queries.row(i)
        assert len(np.unique(cells)) == len(cells)
        out[i, cells] = values
    return out


@pytest.mark.parametrize("records", [None, RECORDS], ids=["full", "records"])
@pytest.mark.parametrize("name", WORKLOADS)
def test_every_way_in_sees_the_same_matrix(name, records):
    queries = WORKLOADS[name](records)
    dense = matrix(queries)
    rng = np.random.default_rng(0)
    v, w = rng.normal(size=queries.dim), rng.normal(size=queries.m)
    ids = rng.integers(0, queries.m, 13)
    np.testing.assert_allclose(queries.answers(v), dense @ v, atol=1e-12)
    np.testing.assert_allclose(queries.dot(ids, v), dense[ids] @ v, atol=1e-12)
    np.testing.assert_allclose(queries.adjoint(w), dense.T @ w, atol=1e-12)
    assert queries.half_range >= np.ptp(dense, axis=1).max() / 2 - 1e-12
    assert (
        queries.centred_norm
        >= np.linalg.norm(dense - dense.mean(axis=1, keepdims=True), axis=1).max() - 1e-12
    )
    assert len({queries.describe(i) for i in range(queries.m)} - {""}) > 1


@pytest.mark.parametrize("name", ["ranges", "prefixes", "predicates", "union", "weighted"])
def test_moving_to_a_support_takes_the_columns_of_its_records(name):
    full = WORKLOADS[name](None)
    cells = np.ravel_multi_index(tuple(RECORDS.T), DOMAIN.shape)
    np.testing.assert_array_equal(matrix(full.on(RECORDS)), matrix(full)[:, cells])


@pytest.mark.parametrize("name", ["ranges", "prefixes", "predicates", "union"])
def test_a_row_moves_every_query_by_at_most_one(name):
    """Brute force over all neighbours: add-remove in counts (one cell), replace-one (a pair of cells)."""
    queries = WORKLOADS[name](None)
    eye = np.eye(queries.dim)
    add = np.array([queries.answers(cell) for cell in eye])
    assert np.abs(add).max() == 1.0
    pairs = itertools.combinations(range(queries.dim), 2)
    assert max(np.abs(add[a] - add[b]).max() for a, b in pairs) == 1.0


def test_weights_multiply_the_move_of_the_score():
    weights = np.array([0.5, 3.0, 1.0, 2.0, 0.0])
    queries = weighted(predicates(DOMAIN, CONDITIONS), weights)
    moves = np.array([queries.scored().answers(cell) for cell in np.eye(queries.dim)])
    assert np.ptp(moves, axis=0).max() == queries.importance.max() == 3.0
    np.testing.assert_allclose(
        queries.answers(np.ones(40)), predicates(DOMAIN, CONDITIONS).answers(np.ones(40))
    )


def test_all_ranges_of_a_long_line_need_no_matrix():
    queries = ranges(4096)
    assert queries.m == 8_390_656
    ids = np.array([0, 4095, 4096, queries.m - 1])
    low, high = queries.ends(ids)
    np.testing.assert_array_equal(low, [0, 0, 1, 4095])
    np.testing.assert_array_equal(high, [1, 4096, 2, 4096])


def law(queries, offsets, v, scale):
    x = scale * (queries.answers(v) - offsets)
    signed = np.concatenate([x, -x])
    p = np.exp(signed - signed.max())
    return p / p.sum()


def draws(queries, offsets, v, scale, seed, count=10_000):
    candidates = Candidates(queries, offsets, signed=True)
    mechanism = ExponentialMechanism(max(2 * scale, 1e-12), 1.0)
    selector = make_selector("auto", candidates, mechanism, Randomness.seeded(seed))
    assert isinstance(selector, Structured)
    picks = [selector.pick(v) for _ in range(count)]
    return np.bincount([p.candidate + queries.m * (p.sign < 0) for p in picks], minlength=2 * queries.m)


def p_value(counts, p):
    """Chi-square of counts against p, rare outcomes pooled; an outcome that cannot be makes it 0."""
    expected = p * counts.sum()
    if counts[expected < 1e-9].sum() > 0:
        return 0.0
    common = expected >= 5
    observed = np.append(counts[common], counts[~common].sum())
    expected = np.append(expected[common], expected[~common].sum())
    if expected[-1] < 5:  # the pool itself is rare: join it to the last outcome
        observed, expected = (
            np.append(observed[:-2], observed[-2:].sum()),
            np.append(expected[:-2], expected[-2:].sum()),
        )
    return 1.0 if expected.size == 1 else stats.chisquare(observed, expected).pvalue


@pytest.mark.parametrize("scale", [0.0, 3.0, 40.0, 2000.0])
@pytest.mark.parametrize("shift", [0.0, 0.05])
@pytest.mark.parametrize("name", ["line", "ranges", "union", "weighted union"])
def test_a_structured_draw_has_the_law_of_the_exponential_mechanism(name, scale, shift):
    queries = 1.5 * (2 * WORKLOADS["union"](None)) if name == "weighted union" else WORKLOADS[name](None)
    queries = queries.scored() if name == "weighted union" else queries
    rng = np.random.default_rng(7)
    h, v = rng.dirichlet(np.ones(queries.dim), 2)
    factor = 3.0 if name == "weighted union" else 1.0
    offsets = queries.answers(h) + shift * factor
    counts = draws(queries, offsets, v, max(scale, 1e-12), seed=11)
    assert p_value(counts, law(queries, offsets, v, scale)) > 1e-6
    if scale == 3.0:  # the same draws do not pass for those of another scale
        assert p_value(counts, law(queries, offsets, v, 2 * scale)) < 1e-6


def test_offsets_that_are_no_tables_answers_have_no_structure():
    queries = ranges(6)
    offsets = queries.answers(np.full(6, 1 / 6))
    assert queries.structured_draw(offsets) is not None
    offsets[9] += 1e-3
    assert queries.structured_draw(offsets) is None


def test_errors_name_the_argument_and_the_fix():
    unordered = Domain((Column("region", ("north", "south")),))
    with pytest.raises(InvalidArgument, match="'region' has no order"):
        ranges(unordered, "region")
    with pytest.raises(DomainError, match="'wage' is not in the domain"):
        ranges(DOMAIN, "wage")
    with pytest.raises(DomainError, match="'age' has no label '9'"):
        predicates(DOMAIN, [{"age": "9"}])
    with pytest.raises(InvalidArgument, match="at least one label"):
        predicates(DOMAIN, [{"age": []}])
    with pytest.raises(InvalidArgument, match="ends before it begins"):
        predicates(DOMAIN, [{"age": slice("3", "1")}])
    with pytest.raises(InvalidArgument, match="share one domain, got 40, 7 cells"):
        ranges(DOMAIN, "age") + ranges(7)
    for bad in (-1.0, np.nan, 0.0, np.ones(3)):
        with pytest.raises(InvalidArgument, match="weights must be"):
            weighted(prefixes(5), bad)
