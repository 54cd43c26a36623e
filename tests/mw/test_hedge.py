"""Hedge's regret: measured exactly, never above the proven bound, whatever the losses."""

import math

import numpy as np
import pytest

from fastmwem.errors import InvalidArgument
from fastmwem.mw.hedge import Hedge, fixed_step, regret_bound
from fastmwem.queries.base import Queries
from fastmwem.select.base import Pick


class Losses(Queries):
    """Rows of a matrix, nothing else."""

    def __init__(self, matrix):
        self.matrix = matrix
        self.m, self.dim = matrix.shape

    half_range = centred_norm = math.inf

    def answers(self, v):
        return self.matrix @ v

    def dot(self, ids, v):
        return self.matrix[ids] @ v

    def row(self, i):
        cells = np.flatnonzero(self.matrix[i])
        return cells, self.matrix[i, cells]


def _play(matrix, step, choose):
    half_range = float(np.ptp(matrix, axis=1).max() / 2)
    rounds = 400
    eta = None if step == "adaptive" else fixed_step(half_range, matrix.shape[1], rounds)
    player = Hedge(Losses(matrix), eta)
    xs, losses = [], []
    for t in range(rounds):
        x = player.probe().copy()
        pick = choose(t, x)
        xs.append(x)
        losses.append(pick.sign * matrix[pick.candidate])
        player.respond(pick)
    xs, losses = np.array(xs), np.array(losses)
    regret = ((xs * losses).sum() - losses.sum(0).min()) / rounds
    return player, xs, regret, regret_bound(eta, half_range, matrix.shape[1], rounds)


@pytest.mark.parametrize("step", ["adaptive", "fixed"])
@pytest.mark.parametrize("kind", ["greedy", "random", "constant", "alternating", "outlier"])
def test_regret_is_exact_and_within_the_bound(step, kind):
    rng = np.random.default_rng(3)
    matrix = rng.normal(0, 1, (50, 12)) * (1000.0 if kind == "outlier" else 1.0)
    if kind == "outlier":
        matrix[1:] /= 1e5
    choose = {
        "greedy": lambda t, x: Pick(int((matrix @ x).argmax()), 1),
        "random": lambda t, x: Pick(int(rng.integers(50)), int(rng.choice([-1, 1]))),
        "constant": lambda t, x: Pick(4, -1),
        "alternating": lambda t, x: Pick(7, 1 if t % 2 else -1),
        "outlier": lambda t, x: Pick(0 if t == 200 else 1, 1),
    }[kind]
    player, xs, regret, bound = _play(matrix, step, choose)
    assert player.regret == pytest.approx(max(regret, 0), abs=1e-9)
    np.testing.assert_allclose(player.average, xs.mean(0), atol=1e-12)
    assert regret <= bound + 1e-12


def test_the_adaptive_step_does_not_see_the_scale_of_losses():
    matrix = np.random.default_rng(4).normal(0, 1, (20, 6))
    averages = []
    for factor in (1.0, 1e6):
        scaled = matrix * factor
        player, *_ = _play(scaled, "adaptive", lambda t, x, a=scaled: Pick(int((a @ x).argmax()), 1))
        averages.append(player.average)
    np.testing.assert_allclose(*averages, atol=1e-6)


def test_equal_losses_leave_x_uniform():
    player, *_ = _play(np.ones((3, 5)), "adaptive", lambda t, x: Pick(0, 1))
    np.testing.assert_allclose(player.average, 0.2)
    assert player.regret == 0


def test_a_step_that_is_no_step_is_refused():
    with pytest.raises(InvalidArgument, match="eta must be above 0"):
        Hedge(Losses(np.ones((1, 2))), 0.0)
