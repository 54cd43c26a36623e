"""The maximum-entropy fit: optimal, by its own certificate and by SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from fastmwem.data.domain import Domain
from fastmwem.errors import InvalidArgument
from fastmwem.mw.maxent import Evidence, maximum_entropy
from fastmwem.queries.interactions import Interactions
from fastmwem.queries.marginals import Marginals, downward_closure, marginals

DOMAIN = Domain.of_sizes({"a": 3, "b": 2, "c": 2})


def problem(seed: int, noise: float = 0.03) -> tuple[Marginals, Evidence]:
    rng = np.random.default_rng(seed)
    queries = marginals(DOMAIN, 2)
    truth = queries.answers(rng.dirichlet(np.full(queries.dim, 0.3)))
    std = noise * rng.uniform(0.5, 2, queries.m)
    return queries, Evidence(queries, truth + std * rng.normal(size=queries.m), std)


def objective(p: np.ndarray, evidence: Evidence, prior: np.ndarray, tau: float) -> float:
    residual = (evidence.map.answers(p) - evidence.values) / evidence.std
    held = p > 0
    return 0.5 * residual @ residual + tau * float(p[held] @ np.log(p[held] / prior[held]))


@pytest.mark.parametrize(("seed", "tau"), [(0, 1.0), (1, 30.0), (2, 0.1)])
def test_optimum_is_the_one_that_scipy_finds(seed: int, tau: float) -> None:
    queries, evidence = problem(seed)
    prior = np.random.default_rng(seed).dirichlet(np.ones(queries.dim))
    fit = maximum_entropy([evidence], prior=prior, tau=tau, gap=1e-9)
    found = minimize(
        lambda p: objective(np.maximum(p, 0), evidence, prior, tau),
        np.full(queries.dim, 1 / queries.dim),
        bounds=[(1e-12, 1)] * queries.dim,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    assert fit.converged
    assert fit.gap <= 1e-9
    assert objective(fit.p, evidence, prior, tau) <= found.fun + 1e-9
    assert objective(fit.p, evidence, prior, tau) == pytest.approx(found.fun, abs=1e-4)
    np.testing.assert_allclose(fit.p, found.x, atol=2e-3)


def test_gap_bounds_the_distance_from_the_optimum() -> None:
    """At every loose stop, objective, answers and divergence are within the reported gap of the optimum."""
    queries, evidence = problem(3)
    uniform = np.full(queries.dim, 1 / queries.dim)
    best = maximum_entropy([evidence], gap=1e-12)
    for loose in (1e4, 1e1, 1.0, 0.1, 1e-3):
        fit = maximum_entropy([evidence], gap=loose)
        assert fit.gap <= loose
        over = objective(fit.p, evidence, uniform, 1.0) - objective(best.p, evidence, uniform, 1.0)
        moved = queries.answers(fit.p - best.p) / evidence.std
        divergence = float(fit.p @ np.log(fit.p / best.p))
        assert -1e-9 <= over <= fit.gap + 1e-9
        assert 0.5 * moved @ moved + divergence <= fit.gap + 1e-9


def test_consistent_evidence_is_met_and_the_rest_is_as_even_as_can_be() -> None:
    """Two one-way marginals, no noise to speak of: the answer is their product."""
    queries = Marginals(DOMAIN, [["a"], ["b"]])
    a, b = np.array([0.2, 0.3, 0.5]), np.array([0.9, 0.1])
    fit = maximum_entropy([Evidence(queries, np.concatenate([a, b]), np.full(5, 1e-5))], gap=1e-8)
    expected = (a[:, None, None] * b[:, None] * np.full(2, 0.5)).reshape(-1)
    np.testing.assert_allclose(fit.p, expected, atol=1e-6)


def test_pieces_of_evidence_add_up_and_start_warm() -> None:
    queries, evidence = problem(4)
    one, two = queries.select([queries.subsets[0]]), queries.select(queries.subsets[1:])
    cut = one.m
    pieces = [
        Evidence(one, evidence.values[:cut], evidence.std[:cut]),
        Evidence(two, evidence.values[cut:], evidence.std[cut:]),
    ]
    whole, split = maximum_entropy([evidence], gap=1e-10), maximum_entropy(pieces, gap=1e-10)
    np.testing.assert_allclose(whole.p, split.p, atol=1e-6)
    again = maximum_entropy(pieces, gap=1e-8, start=split.multipliers)
    assert again.iterations == 0
    first = maximum_entropy(pieces[:1], gap=1e-8)
    warm = maximum_entropy(pieces, gap=1e-8, start=[*first.multipliers, np.zeros(two.m)])
    np.testing.assert_allclose(warm.p, whole.p, atol=1e-5)


def test_interactions_carry_what_marginals_carry() -> None:
    """The same noisy marginals, as cells or as interactions: one likelihood, up to a constant."""
    rng = np.random.default_rng(5)
    queries = Marginals(DOMAIN, [["a", "b"]])
    interactions = Interactions(queries, downward_closure(queries.subsets))
    noisy = queries.answers(rng.dirichlet(np.ones(queries.dim))) + 0.02 * rng.normal(size=queries.m)
    scale = np.repeat([np.sqrt(6), np.sqrt(2), np.sqrt(3), 1], [1, 2, 1, 2])  # sqrt(prod n_j, j not in A)
    carried = Interactions(queries.on(np.argwhere(np.ones(DOMAIN.shape))), interactions.subsets)
    spread = queries.adjoint(noisy) / 2  # any vector with these marginals: two cells of c each
    as_cells = maximum_entropy([Evidence(queries, noisy, np.full(6, 0.02))], gap=1e-10)
    as_interactions = maximum_entropy(
        [Evidence(interactions, carried.answers(spread), 0.02 * scale, interactions.mean_square())], gap=1e-10
    )
    np.testing.assert_allclose(as_cells.p, as_interactions.p, atol=1e-6)


def test_hard_evidence_converges() -> None:
    """Sharp noise, empty cells, contradictions: the certificate is still reached."""
    domain = Domain.of_sizes({f"x{i}": 2 for i in range(8)})
    queries = marginals(domain, 3)
    rng = np.random.default_rng(6)
    truth = rng.multinomial(5_000, rng.dirichlet(np.full(domain.size, 0.02))) / 5_000
    std = np.full(queries.m, 1e-3)
    values = queries.answers(truth) + std * rng.normal(size=queries.m)
    fit = maximum_entropy([Evidence(queries, values, std)], tau=100.0)
    assert fit.converged
    error = np.abs(queries.answers(fit.p) - queries.answers(truth))
    assert error.max() < 4e-3


@pytest.mark.parametrize(
    ("message", "call"),
    [
        ("evidence is empty", lambda q, e: maximum_entropy([])),
        ("tau must be above 0", lambda q, e: maximum_entropy([e], tau=0)),
        ("prior must hold", lambda q, e: maximum_entropy([e], prior=np.zeros(q.dim))),
        ("one number per row", lambda q, e: Evidence(q, np.zeros(1), np.ones(1))),
        ("std finite and above 0", lambda q, e: Evidence(q, np.zeros(q.m), np.zeros(q.m))),
        (
            "different lengths",
            lambda q, e: maximum_entropy(
                [e, Evidence(Marginals(DOMAIN, [["a"]], np.zeros((2, 3), int)), np.ones(3), np.ones(3))]
            ),
        ),
    ],
)
def test_mistakes_are_named(message: str, call) -> None:
    queries, evidence = problem(7)
    with pytest.raises(InvalidArgument, match=message):
        call(queries, evidence)
