"""Lazy selection through the façade: what an assumed tail costs comes out of the budget, and is reported."""

import numpy as np
import pytest

from fastmwem import Assumed, Hnsw, PerfectExcept
from fastmwem.errors import InvalidArgument
from fastmwem.problems.query_release import query_release
from fastmwem.queries.linear import linear

GENERATOR = np.random.default_rng(3)
WORKLOAD = linear((GENERATOR.random((60, 20)) < 0.4).astype(np.int8))
DATA = GENERATOR.integers(0, 200, 20)


def released(**options):
    if options.get("neighbours") == "add-remove":
        options["n"] = 2000  # a public guess
    return query_release(
        WORKLOAD, DATA, epsilon=1, delta=1e-4, method="mwem", rounds=50, selection="lazy", **options
    )


def eps0_of(release):
    return release.details["eps0"]


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
def test_assumed_tails_fit_the_budget_and_are_reported(neighbours):
    certified = released(neighbours=neighbours, index=Hnsw())
    assert certified.report.assumptions == ()
    charged = released(neighbours=neighbours, tail=Assumed(0.005, "charge"))
    assert eps0_of(charged) == pytest.approx(eps0_of(certified) - 0.02)
    perfect = released(neighbours=neighbours, tail=PerfectExcept(1e-5))
    assert 0.8 * eps0_of(certified) < eps0_of(perfect) < eps0_of(certified)
    margin = released(neighbours=neighbours, tail=Assumed(0.5, "margin"))
    assert eps0_of(margin) == eps0_of(certified)
    for release in (charged, perfect, margin):
        assert release.report.epsilon <= 1
        assert release.report.private
        assert any("index" in assumption for assumption in release.report.assumptions)


def test_tails_that_the_budget_does_not_cover_are_refused():
    with pytest.raises(InvalidArgument, match="c of the tail must be below"):
        released(tail=Assumed(0.5, "charge"))
    with pytest.raises(InvalidArgument, match="gamma of the tail must be below delta / "):
        released(tail=PerfectExcept(3e-5))
