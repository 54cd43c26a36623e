"""An attacker who knows everything but one row proves less than the epsilon that is claimed.

Each audit has a control that is deliberately wrong (too little noise, the sensitivity halved, a neighbour
several rows away): there the same attacker must prove more than what is claimed.
"""

import math

import numpy as np
import pytest
from clopper_pearson import attack, epsilon_lower_bound, limits
from scipy import stats

from fastmwem.privacy.budget import Budget
from fastmwem.privacy.calibrate import calibrate_gaussian, calibrate_rounds
from fastmwem.privacy.noise import add_gaussian
from fastmwem.privacy.randomness import Randomness
from fastmwem.problems.query_release import query_release
from fastmwem.queries.base import Candidates
from fastmwem.queries.dense import Dense
from fastmwem.select import SELECTORS, ExponentialMechanism, make_selector


@pytest.mark.parametrize("probability", [0.001, 0.2, 0.9])
def test_the_limits_hold_as_often_as_they_say(probability):
    draws = Randomness.seeded(1).generator.binomial(300, probability, 2000)
    held = [low <= probability <= high for low, high in (limits(int(hits), 300, 0.1) for hits in draws)]
    assert stats.binomtest(sum(held), 2000, 0.9, "less").pvalue > 1e-6
    assert epsilon_lower_bound(300, 0, 300, 1e-3) > 2
    assert epsilon_lower_bound(150, 150, 300, 1e-3) == 0


def test_gaussian_noise_as_calibrated():
    budget = Budget(1, 1e-2)
    sigma = calibrate_gaussian(budget).noise_multiplier

    def proven(std):
        source = Randomness.seeded(2)
        return attack(
            add_gaussian(np.ones(200_000), std, source),
            add_gaussian(np.zeros(200_000), std, source),
            budget.delta,
        )

    assert 0.6 < proven(sigma) <= budget.epsilon  # the attack is near the best there is
    assert proven(0.6 * sigma) > budget.epsilon


def picks(name, answers, sensitivity, seed, runs):
    candidates = Candidates(Dense(np.eye(2)), np.array(answers), signed=False)
    mechanism = ExponentialMechanism(1.0, sensitivity)
    selector = make_selector(name, candidates, mechanism, Randomness.seeded(seed))
    probe = np.array([0.5, 0.5])
    return [selector.pick(probe).candidate for _ in range(runs)]


@pytest.mark.parametrize("name", SELECTORS)
def test_one_pick_of_every_selector(name):
    # Two counts that a neighbour moves by 1 in opposite directions: the true epsilon is eps0/2 at eps0 = 1.
    def proven(sensitivity):
        first = picks(name, [0.0, 1.0], sensitivity, 3, 4000)
        second = picks(name, [1.0, 0.0], sensitivity, 4, 4000)
        return attack(first, second, delta=0.0)

    assert 0.2 < proven(1.0) <= 1.0
    assert proven(0.25) > 1.0


def test_adaptive_rounds_as_calibrated():
    # T rounds of two candidates whose scores a neighbour moves oppositely: log-ratio +-eps0/2 each round
    budget, rounds = Budget(1, 1e-2), 40
    eps0 = calibrate_rounds(budget, rounds).eps0

    def proven(size):
        generator = Randomness.seeded(5).generator
        high = 1 / (1 + math.exp(-size / 2))
        return attack(
            generator.binomial(rounds, high, 200_000),
            generator.binomial(rounds, 1 - high, 200_000),
            budget.delta,
        )

    assert 0.6 < proven(eps0) <= budget.epsilon
    assert proven(1.6 * eps0) > budget.epsilon


def test_a_release_of_a_whole_table():
    budget, queries = Budget(0.5, 1e-3), np.eye(2)

    def answers(histogram, offset):
        return [
            query_release(
                queries,
                histogram,
                epsilon=budget.epsilon,
                delta=budget.delta,
                method="mwem",
                rounds=3,
                randomness=Randomness.seeded(offset + seed),
            )
            .values[0]
            .round(9)
            for seed in range(120)
        ]

    here = answers([40, 0], 0)
    assert attack(here, answers([39, 1], 1000), budget.delta) <= budget.epsilon
    assert attack(here, answers([0, 40], 2000), budget.delta) > budget.epsilon  # forty rows away
