"""Dense, binary and sparse rows: one behaviour, checked against NumPy."""

import numpy as np
import pytest
from scipy import sparse

from fastmwem import errors
from fastmwem.errors import InvalidArgument, TooLarge
from fastmwem.queries.binary import Binary
from fastmwem.queries.dense import Dense
from fastmwem.queries.sparse import Sparse

M, DIM = 57, 23
RNG = np.random.default_rng(5)
BITS = (RNG.random((M, DIM)) < 0.3).astype(np.int8)
BITS[0], BITS[1] = 0, 1  # a row of zeros and a row of ones
REALS = RNG.normal(size=(M, DIM)) * BITS

CASES = {
    "float64": (lambda: Dense(REALS), REALS),
    "float32": (lambda: Dense(REALS, dtype="float32"), REALS.astype(np.float32).astype(float)),
    "integers": (lambda: Dense(BITS.astype(np.int64) * 3), BITS * 3.0),
    "fortran": (lambda: Dense(np.asfortranarray(REALS)), REALS),
    "binary": (lambda: Binary(BITS), BITS.astype(float)),
    "bool": (lambda: Binary(BITS.astype(bool)), BITS.astype(float)),
    "binary-float": (lambda: Binary(BITS.astype(float)), BITS.astype(float)),
    "sparse": (lambda: Sparse(sparse.csr_array(REALS)), REALS),
    "sparse-coo": (lambda: Sparse(sparse.coo_array(REALS)), REALS),
}


@pytest.fixture(params=CASES, ids=list(CASES))
def case(request):
    make, matrix = CASES[request.param]
    return make(), matrix


def test_products_are_numpys(case):
    queries, matrix = case
    v = RNG.normal(size=DIM)
    np.testing.assert_allclose(queries.answers(v), matrix @ v, rtol=0, atol=1e-13)
    ids = np.array([3, 3, M - 1, 0])
    np.testing.assert_allclose(queries.dot(ids, v), (matrix @ v)[ids], rtol=0, atol=1e-13)
    assert queries.dot(np.array([], dtype=int), v).shape == (0,)
    weights = RNG.normal(size=M)
    np.testing.assert_allclose(queries.adjoint(weights), weights @ matrix, rtol=0, atol=1e-12)
    for i in (0, 1, M - 1):
        cells, values = queries.row(i)
        np.testing.assert_array_equal(np.bincount(cells, values, DIM), matrix[i])
        assert cells.dtype == np.int64
        assert values.dtype == np.float64


def test_constants_are_tight_upper_bounds(case):
    queries, matrix = case
    half = (matrix.max(1) - matrix.min(1)).max() / 2
    norm = np.linalg.norm(matrix - matrix.mean(1, keepdims=True), axis=1).max()
    assert half <= queries.half_range <= half * (1 + 1e-9)
    assert norm * (1 - 1e-14) <= queries.centred_norm <= norm * (1 + 1e-9)
    for _ in range(50):  # what they promise
        d = RNG.normal(size=DIM)
        d -= d.mean()
        moves = np.abs(matrix @ d).max()
        assert moves <= queries.half_range * np.abs(d).sum() + 1e-12
        assert moves <= queries.centred_norm * np.linalg.norm(d) + 1e-12


def test_threaded_pass_equals_serial():
    matrix = (RNG.random((10_000, 1700)) < 0.2).astype(np.int8)
    queries = Binary(matrix)  # above the threshold of threads
    v = RNG.random(1700)
    np.testing.assert_allclose(queries.answers(v), matrix @ v, rtol=0, atol=1e-11)
    np.testing.assert_array_equal(queries.answers(v), queries.answers(v))


def test_binary_takes_a_quarter_of_float32():
    assert Binary(BITS).nbytes * 4 <= Dense(BITS, dtype="float32").nbytes


def test_contiguous_input_is_not_copied():
    assert np.shares_memory(Dense(REALS).matrix, REALS)
    assert np.shares_memory(Binary(BITS).matrix, BITS)


def test_from_cells_and_from_arrays():
    queries = Binary.from_cells([[0, 2], [1, 1]], dim=3)
    np.testing.assert_array_equal(queries.matrix, [[1, 0, 1], [0, 1, 0]])
    duplicated = Sparse.from_arrays([0, 2], [1, 1], [1.0, 2.0], dim=3)
    np.testing.assert_array_equal(duplicated.answers(np.array([5.0, 1.0, 5.0])), [3.0])


BAD = {
    "vector": lambda: Dense([1.0, 2.0]),
    "no candidates": lambda: Dense(np.empty((0, 3))),
    "no cells": lambda: Binary(np.empty((3, 0), np.int8)),
    "ragged": lambda: Dense([[1.0], [1.0, 2.0]]),
    "complex": lambda: Dense([[1j]]),
    "text": lambda: Dense([["a"]]),
    "nan": lambda: Dense([[np.nan]]),
    "infinite": lambda: Dense([[np.inf]]),
    "beyond float32": lambda: Dense([[1e300]], dtype="float32"),
    "dtype": lambda: Dense([[1.0]], dtype="float16"),
    "not binary": lambda: Binary([[0, 2]]),
    "binary nan": lambda: Binary([[np.nan]]),
    "negative bit": lambda: Binary(np.array([[-1]], np.int8)),
    "cells": lambda: Binary.from_cells([[3]], dim=3),
    "sparse of array": lambda: Sparse(REALS),
    "sparse complex": lambda: Sparse(sparse.csr_array([[1j]])),
    "sparse nan": lambda: Sparse(sparse.csr_array([[np.nan]])),
    "sparse empty": lambda: Sparse(sparse.csr_array((0, 3))),
    "indptr": lambda: Sparse.from_arrays([0, 3], [1], [1.0], dim=3),
    "sparse cells": lambda: Sparse.from_arrays([0, 1], [3], [1.0], dim=3),
    "probe shape": lambda: Dense(REALS).answers(np.ones(DIM + 1)),
    "probe nan": lambda: Dense(REALS).answers(np.full(DIM, np.nan)),
    "probe dtype": lambda: Dense(REALS).answers(np.full(DIM, "a")),
    "ids": lambda: Dense(REALS).dot(np.array([M]), np.ones(DIM)),
    "ids dtype": lambda: Dense(REALS).dot(np.array([0.5]), np.ones(DIM)),
    "row": lambda: Dense(REALS).row(M),
}


@pytest.mark.parametrize("make", BAD.values(), ids=list(BAD))
def test_bad_input_is_named(make):
    with pytest.raises(InvalidArgument, match=r"matrix|cells|indptr|ids|dtype|^v |^i "):
        make()


def test_memory_is_refused_before_it_is_taken(monkeypatch):
    monkeypatch.setattr(errors, "_free_memory", lambda: 1000.0)
    with pytest.raises(TooLarge, match="Sparse"):
        Dense(np.asfortranarray(REALS))
    with pytest.raises(TooLarge, match="GB"):
        Binary.from_cells(np.zeros((100, 1), int), dim=100)
    with pytest.raises(TooLarge):
        Sparse(sparse.csr_array(REALS))
