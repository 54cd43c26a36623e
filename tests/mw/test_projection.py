"""Gamma_s against its definition, against SciPy, and the neighbour bound that privacy rests on."""

import numpy as np
import pytest
from scipy.optimize import minimize

from fastmwem.errors import InvalidArgument
from fastmwem.mw.projection import dense_projection


@pytest.mark.parametrize("s", [1, 1.5, 2, 3.7, 5, 6])
def test_is_the_nearest_dense_distribution(s):
    rng = np.random.default_rng(5)
    for _ in range(4):
        logw = rng.normal(0, 2, 6)
        w = np.exp(logw) / np.exp(logw).sum()
        y = dense_projection(logw, s)
        numeric = minimize(
            lambda z, w=w: np.sum(z * np.log(np.maximum(z, 1e-300) / w)),
            np.full(6, 1 / 6),
            jac=lambda z, w=w: np.log(np.maximum(z, 1e-300) / w) + 1,
            bounds=[(0, 1 / s)] * 6,
            constraints={"type": "eq", "fun": lambda z: z.sum() - 1},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        ours = np.sum(y[y > 0] * np.log(y[y > 0] / w[y > 0]))
        assert ours <= numeric.fun + 1e-7
        np.testing.assert_allclose(y, numeric.x, atol=2e-3)


@pytest.mark.parametrize("spread", [0.0, 1.0, 50.0, 2_000.0])
def test_is_a_dense_distribution_and_idempotent(spread):
    rng = np.random.default_rng(6)
    for _ in range(50):
        m = int(rng.integers(1, 400))
        s = rng.uniform(1, m)
        y = dense_projection(rng.normal(0, 1, m) * spread, s)
        assert abs(y.sum() - 1) < 1e-12
        assert y.max() <= 1 / s + 1e-12
        assert y.min() >= 0
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(dense_projection(np.log(y), s), y, atol=1e-12)


def test_keeps_the_order_and_the_ratios_below_the_cap():
    logw = np.random.default_rng(7).normal(0, 3, 100)
    y = dense_projection(logw, 20)
    free = y < 1 / 20 - 1e-12
    np.testing.assert_allclose(np.diff(np.log(y[free]) - logw[free]), 0, atol=1e-9)
    assert (np.diff(y[np.argsort(logw)]) >= -1e-15).all()


def _dense_weights(rows, picks, s, eta, project_state):
    """Multiplicative weights on `rows` over the given picks; the state is what the flag says."""
    logw = np.zeros(len(rows))
    for j in picks:
        if project_state:
            logw = np.log(dense_projection(logw, s))
        logw = logw + eta * rows[:, j]
    return dense_projection(logw, s)


def _worst_move_of_common_rows(project_state, pairs, seed):
    """s * |y - y'|_1 over common rows, the largest over random neighbours (add, remove, replace)."""
    rng = np.random.default_rng(seed)
    worst = 0.0
    for trial in range(pairs):
        m, d, s = int(rng.integers(8, 60)), 4, float(rng.uniform(1, 6))
        rows, picks = rng.random((m, d)) < 0.4, rng.integers(0, d, 30)
        other = rows.copy()
        if trial % 2:
            other[-1] = ~rows[-1]  # replace the last row
        else:
            other = rows[:-1]  # remove it
        y, y_other = (_dense_weights(r.astype(float), picks, s, 1.0, project_state) for r in (rows, other))
        worst = max(worst, s * np.abs(y[: m - 1] - y_other[: m - 1]).sum())
    return worst


def test_a_neighbour_moves_the_common_rows_by_at_most_one_over_s():
    assert _worst_move_of_common_rows(project_state=False, pairs=2_000, seed=8) <= 1 + 1e-9


def test_a_state_that_stores_the_projection_breaks_the_bound():
    assert _worst_move_of_common_rows(project_state=True, pairs=300, seed=8) > 1.5


@pytest.mark.parametrize("s", [0.5, 4.0, -1.0])
def test_s_outside_the_rows_is_refused(s):
    with pytest.raises(InvalidArgument, match="s must lie between 1"):
        dense_projection(np.zeros(3), s)
