"""Multiplicative weights: the incremental state equals the textbook's, the average equals the plain mean."""

from __future__ import annotations

import numpy as np
import pytest

from fastmwem.errors import InvalidArgument
from fastmwem.mw.schedule import AdaptiveStep, FixedStep, make_step, paper_epsilon
from fastmwem.mw.update import MultiplicativeWeights
from fastmwem.queries.base import Queries
from fastmwem.select.base import Pick


class Rows(Queries):
    """The plainest representation: a matrix."""

    def __init__(self, matrix):
        self.matrix = np.asarray(matrix, float)
        self.m, self.dim = self.matrix.shape

    half_range = property(lambda self: float(np.ptp(self.matrix, axis=1).max() / 2))
    centred_norm = property(lambda self: float(self.matrix.std(axis=1).max() * self.dim**0.5))

    def answers(self, v):
        return self.matrix @ v

    def dot(self, ids, v):
        return self.matrix[ids] @ v

    def row(self, i):
        cells = np.flatnonzero(self.matrix[i])
        return cells, self.matrix[i, cells]


def textbook(matrix, picks, step, prior=None):
    """Algorithm 1's update, written densely; returns the iterates p_1 .. p_T, p_(T+1)."""
    log_w = np.zeros(matrix.shape[1]) if prior is None else np.log(prior)
    iterates = []
    for t in range(len(picks) + 1):
        p = np.exp(log_w - log_w.max())
        iterates.append(p / p.sum())
        if t < len(picks):
            loss = picks[t].sign * matrix[picks[t].candidate]
            variance = iterates[-1] @ loss**2 - (iterates[-1] @ loss) ** 2
            log_w -= step.next(variance) * loss
    return np.array(iterates)


@pytest.mark.parametrize("name", ["adaptive", "fixed"])
@pytest.mark.parametrize("binary", [True, False])
def test_the_state_is_the_textbooks(name, binary):
    rng = np.random.default_rng(1)
    matrix = rng.random((40, 30)) < 0.3 if binary else rng.random((40, 30)) * (rng.random((40, 30)) < 0.5)
    matrix = matrix.astype(float)
    picks = [
        Pick(int(i), int(s))
        for i, s in zip(rng.integers(0, 40, 3000), rng.choice([-1, 1], 3000), strict=True)
    ]
    player = MultiplicativeWeights(Rows(matrix), make_step(name, 30, 3000))
    expected = textbook(matrix, picks, make_step(name, 30, 3000))
    for t, pick in enumerate(picks):
        np.testing.assert_allclose(player.probe(), expected[t], rtol=1e-8, atol=1e-14)
        player.respond(pick)
    losses = np.array([pick.sign * matrix[pick.candidate] for pick in picks])
    regret = ((expected[:-1] * losses).sum() - losses.sum(axis=0).min()) / 3000
    np.testing.assert_allclose(player.regret, regret, rtol=1e-9)
    np.testing.assert_allclose(player.output("average"), expected[:-1].mean(axis=0), rtol=1e-9)
    np.testing.assert_allclose(player.output("last"), expected[-1], rtol=1e-8)


def test_one_direction_for_long_keeps_every_weight_finite():
    matrix = np.eye(5)
    player = MultiplicativeWeights(Rows(matrix), FixedStep(1.0))
    for _ in range(5000):
        player.respond(Pick(0, -1))  # cell 0 grows by e each round: e^5000 overflows if nothing is rescaled
    np.testing.assert_allclose(player.output("last"), matrix[0], atol=1e-300)
    for _ in range(5000):
        player.respond(Pick(0, 1))
    np.testing.assert_allclose(player.output("last"), np.full(5, 0.2), rtol=1e-9)
    np.testing.assert_allclose(player.output("average").sum(), 1.0)


def test_width_divides_the_loss_and_a_prior_starts_elsewhere():
    matrix, prior = np.array([[1.0, 0.0, 4.0]]), np.array([0.2, 0.3, 0.5])
    player = MultiplicativeWeights(Rows(matrix), FixedStep(0.7), width=4.0, prior=prior)
    np.testing.assert_allclose(player.probe(), prior)
    player.respond(Pick(0, 1))
    expected = prior * np.exp(-0.7 * matrix[0] / 4)
    np.testing.assert_allclose(player.output("last"), expected / expected.sum())
    with pytest.raises(InvalidArgument, match="prior must be 3"):
        MultiplicativeWeights(Rows(matrix), FixedStep(0.7), prior=np.array([0.5, 0.5, 0.0]))


def test_the_printed_sign_diverges_where_the_signed_update_converges():
    """Printed: w *= exp(+eta * q_i) at the query with the largest |score|, whatever its sign.

    With |score| the direction is lost: the printed rule pushes p up on q_i although p already has too much
    there. The signed pair (i, s) carries the direction; the printed form is the negative control.
    """
    rng = np.random.default_rng(3)
    matrix = (rng.random((60, 50)) < 0.4).astype(float)
    h = rng.dirichlet(np.full(50, 0.2))

    def worst(printed):
        player = MultiplicativeWeights(Rows(matrix), FixedStep.paper(50, 2000))
        for _ in range(2000):
            scores = matrix @ (player.probe() - h)
            i = int(np.abs(scores).argmax())
            player.respond(Pick(i, -1 if printed else int(np.sign(scores[i]))))
        return np.abs(matrix @ (player.output("average") - h)).max()

    start = np.abs(matrix @ (np.full(50, 1 / 50) - h)).max()
    assert worst(printed=False) < 0.15 * start
    assert worst(printed=True) > start


def test_adaptive_step_follows_the_mean_variance():
    step = AdaptiveStep(100, 10_000)
    for _ in range(10_000):
        eta = step.next(0.01)
    np.testing.assert_allclose(eta, 0.5 * np.sqrt(2 * np.log(100) / (10_000 * 0.01)), rtol=2e-3)
    assert AdaptiveStep(100, 2).next(0.0) == 1.0


def test_paper_figures():
    assert FixedStep.paper(3000, 20_000).eta == pytest.approx(np.sqrt(np.log(3000) / 20_000))
    assert paper_epsilon(0.1, 1e-6, 1000) * 1000**0.5 == pytest.approx(0.0269, abs=5e-5)
    with pytest.raises(InvalidArgument, match="did you mean 'adaptive'"):
        make_step("adaptve", 10, 10)
