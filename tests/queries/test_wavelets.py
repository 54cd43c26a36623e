"""Haar wavelets against their definition, for lengths that do and do not halve evenly."""

from __future__ import annotations

import numpy as np
import pytest

from fastmwem.data.domain import Domain
from fastmwem.queries.marginals import Marginals
from fastmwem.queries.wavelets import Haar, Wavelets


@pytest.mark.parametrize("size", [1, 2, 3, 5, 8, 13])
def test_an_orthonormal_basis_together_with_the_constant(size: int) -> None:
    haar = Haar(size)
    basis = np.vstack([np.full(size, size**-0.5), haar.matrix.toarray()])
    np.testing.assert_allclose(basis @ basis.T, np.eye(size), atol=1e-12)
    for level, largest in enumerate(haar.largest_square()):
        rows = haar.matrix.toarray()[haar.level == level]
        assert largest == pytest.approx((rows**2).max())
        assert (np.count_nonzero(rows, axis=0) <= 1).all()  # one wavelet a level sees a cell
    sums = np.concatenate([np.zeros((size - 1, 1)), np.cumsum(haar.matrix.toarray(), axis=1)], axis=1)
    np.testing.assert_allclose(haar.prefixes().toarray(), sums, atol=1e-12)


def test_the_map_and_its_adjoint() -> None:
    line = Marginals(Domain.of_sizes({"a": 3, "b": 5}), [["b"]])
    haar = Haar(5)
    wavelets = Wavelets(line, haar, 4)
    rng = np.random.default_rng(0)
    v, weights = rng.normal(size=15), rng.normal(size=4)
    np.testing.assert_allclose(wavelets.answers(v), haar.matrix @ line.answers(v))
    assert wavelets.answers(v) @ weights == pytest.approx(v @ wavelets.adjoint(weights))
    np.testing.assert_allclose(wavelets.mean_square(), 1 / 5)
