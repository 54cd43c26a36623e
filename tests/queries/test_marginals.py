"""Marginals and interactions against matrices written out, on small domains."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fastmwem.data.domain import Domain
from fastmwem.errors import DomainError, InvalidArgument
from fastmwem.queries.interactions import (
    Interactions,
    block,
    contrasts,
    interactions_to_marginal,
    marginal_to_interactions,
)
from fastmwem.queries.marginals import Marginals, downward_closure, marginals

DOMAIN = Domain.of_sizes({"a": 3, "b": 2, "c": 4, "d": 1})
RECORDS = np.array([[0, 1, 3, 0], [2, 0, 0, 0], [2, 1, 1, 0], [0, 1, 3, 0], [1, 0, 2, 0]])
SUBSETS = [[], ["b"], ["c", "a"], ["a", "b", "c"], ["d"], ["b", "c"]]


def cells(records: np.ndarray | None) -> np.ndarray:
    if records is not None:
        return records
    return np.array(list(itertools.product(*(range(n) for n in DOMAIN.shape))))


def matrix(subsets, records: np.ndarray | None) -> np.ndarray:
    """Every query as a row, from the definition."""
    rows = []
    for subset in subsets:
        for values in itertools.product(*(range(DOMAIN.shape[i]) for i in subset)):
            holds = [
                all(cell[i] == x for i, x in zip(subset, values, strict=True)) for cell in cells(records)
            ]
            rows.append(np.array(holds, float))
    return np.array(rows)


@pytest.fixture(params=[None, RECORDS], ids=["grid", "records"])
def records(request):
    return request.param


def test_answers_rows_and_adjoint_are_those_of_the_matrix(records) -> None:
    queries = Marginals(DOMAIN, SUBSETS, records)
    written = matrix(queries.subsets, records)
    rng = np.random.default_rng(1)
    v, weights = rng.normal(size=queries.dim), rng.normal(size=queries.m)
    assert written.shape == (queries.m, queries.dim)
    np.testing.assert_allclose(queries.answers(v), written @ v, atol=1e-12)
    np.testing.assert_allclose(queries.adjoint(weights), written.T @ weights, atol=1e-12)
    for ids in (np.arange(queries.m), rng.integers(queries.m, size=5), np.array([], np.int64)):
        np.testing.assert_allclose(queries.dot(ids, v), (written @ v)[ids], atol=1e-12)
    for i in range(queries.m):
        where, values = queries.row(i)
        row = np.zeros(queries.dim)
        row[where] = values
        np.testing.assert_array_equal(row, written[i])


def test_the_constants_bound_what_drift_they_promise(records) -> None:
    queries = Marginals(DOMAIN, SUBSETS, records)
    written = matrix(queries.subsets, records)
    assert queries.half_range >= np.ptp(written, axis=1).max() / 2
    norms = np.linalg.norm(written - written.mean(axis=1, keepdims=True), axis=1)
    assert queries.centred_norm == pytest.approx(norms.max())


def test_on_records_is_the_grid_at_their_cells() -> None:
    at = np.ravel_multi_index(tuple(RECORDS.T), DOMAIN.shape)
    v = np.arange(1.0, 6.0)
    full = np.bincount(at, v, DOMAIN.size)
    whole = Marginals(DOMAIN, SUBSETS)
    np.testing.assert_allclose(whole.on(RECORDS).answers(v), whole.answers(full))
    np.testing.assert_array_equal(whole.codes((0, 2))[at], whole.on(RECORDS).codes((0, 2)))


def test_sensitivity_over_all_neighbours() -> None:
    """One row, k marginals: sqrt(k) in L2 if added or removed, sqrt(2k) if replaced; both are met."""
    queries = marginals(Domain.of_sizes({"a": 3, "b": 2, "c": 4}), 2)
    answers = [queries.answers(row) for row in np.eye(queries.dim)]  # what each possible row contributes
    count = len(queries.subsets)
    added = [np.linalg.norm(a) for a in answers]
    assert min(added) == pytest.approx(np.sqrt(count))
    assert max(added) == pytest.approx(np.sqrt(count))
    replaced = [np.linalg.norm(a - b) for a, b in itertools.combinations(answers, 2)]
    assert max(replaced) == pytest.approx(np.sqrt(2 * count))
    assert max(np.abs(a).sum() for a in answers) == count


def test_descriptions_and_factories() -> None:
    queries = marginals(DOMAIN, 2)
    assert len(queries.subsets) == 6
    assert queries.describe(0) == "a=0, b=0"
    assert Marginals(DOMAIN, [[]]).describe(0) == "everyone"
    assert marginals(DOMAIN, subsets=[["c", "b"]]).subsets == ((1, 2),)
    assert queries.select([["a"]]).subsets == ((0,),)
    assert len(downward_closure([(0, 1, 2), (1, 3)])) == 10


@pytest.mark.parametrize(
    ("error", "message", "call"),
    [
        (InvalidArgument, "between 1 and 4", lambda: marginals(DOMAIN, 5)),
        (InvalidArgument, "either k or subsets", lambda: marginals(DOMAIN)),
        (InvalidArgument, "either k or subsets", lambda: marginals(DOMAIN, 1, subsets=[["a"]])),
        (InvalidArgument, "twice", lambda: Marginals(DOMAIN, [["a", "a"]])),
        (InvalidArgument, "same set of columns twice", lambda: Marginals(DOMAIN, [["a", "b"], ["b", "a"]])),
        (InvalidArgument, "empty", lambda: Marginals(DOMAIN, [])),
        (DomainError, "not in the domain", lambda: Marginals(DOMAIN, [["z"]])),
        (DomainError, "cell codes", lambda: Marginals(DOMAIN, [["a"]], RECORDS + 4)),
        (DomainError, "non-empty table", lambda: Marginals(DOMAIN, [["a"]], RECORDS[:, :2])),
    ],
)
def test_mistakes_are_named(error, message, call) -> None:
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("size", [1, 2, 5, 16])
def test_contrasts_are_orthonormal_with_the_constant_first(size: int) -> None:
    basis = contrasts(size)
    np.testing.assert_allclose(basis.T @ basis, np.eye(size), atol=1e-12)
    np.testing.assert_allclose(basis[:, 0], size**-0.5)
    np.testing.assert_allclose((basis[:, 1:] ** 2).sum(axis=1), 1 - 1 / size, atol=1e-12)


def test_interactions_are_the_contrasts_of_marginals(records) -> None:
    closure = downward_closure([(0, 1, 2), (1, 2, 3), (0, 3)])
    space = Marginals(DOMAIN, [[]], records)
    interactions = Interactions(space, closure)
    rng = np.random.default_rng(2)
    v, weights = rng.normal(size=space.dim), rng.normal(size=interactions.m)
    found = interactions.answers(v)
    assert found @ weights == pytest.approx(v @ interactions.adjoint(weights))
    for index, subset in enumerate(closure):
        sizes = tuple(DOMAIN.shape[i] for i in subset)
        table = marginal_to_interactions(space.select([subset]).answers(v), sizes)
        np.testing.assert_allclose(
            found[interactions.slice(index)], np.reshape(table[block(subset, subset)], -1), atol=1e-12
        )
        np.testing.assert_allclose(
            interactions_to_marginal(table, sizes).reshape(-1), space.select([subset]).answers(v), atol=1e-12
        )
    if records is None:
        rows = np.array([interactions.answers(cell) for cell in np.eye(space.dim)]).T
        np.testing.assert_allclose((rows**2).mean(axis=1), interactions.mean_square())
        for index, subset in enumerate(closure):  # one row adds the same norm to c_A, whichever cell it is in
            norm = np.prod([1 - 1 / DOMAIN.shape[i] for i in subset])
            np.testing.assert_allclose((rows[interactions.slice(index)] ** 2).sum(axis=0), norm, atol=1e-12)
