"""Bisection makes the same number of probes whatever it finds; ln OPT moves as little as is claimed."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.optimize import linprog
from scipy.sparse import csr_array

from fastmwem.errors import InvalidArgument
from fastmwem.privacy.randomness import Randomness
from fastmwem.problems.opt_search import bisect, estimate_opt, log_opt_sensitivity, probes_needed, search
from fastmwem.results.lp_result import Certificate


@pytest.mark.parametrize("size", range(1, 12))
@pytest.mark.parametrize("maximise", [True, False])
def test_bisection_finds_the_best_value_in_always_as_many_probes(size, maximise):
    grid = np.arange(1.0, size + 1)
    for threshold in np.arange(0.5, size + 1):
        tried = []

        def probe(opt, tried=tried, threshold=threshold):
            tried.append(opt)
            return opt < threshold if maximise else opt > threshold

        found = bisect(grid, probe, maximise)
        good = [v for v in grid if (v < threshold if maximise else v > threshold)]
        assert found == ((max(good) if maximise else min(good)) if good else None)
        assert len(tried) == probes_needed(grid) == math.ceil(math.log2(size + 1))


@dataclass
class _Run:
    opt: float
    certificate: Certificate


def test_a_search_answers_with_a_run_that_was_accepted():
    values = iter([0.0, 9.0])  # the hardest of two values is tried twice: accepted, then refused
    found, probes, answer = search(
        np.array([1.0, 2.0]), lambda opt: _Run(opt, Certificate.around("", next(values), 1.0)), 5.0, True
    )
    assert found == 2.0
    assert [probe.accepted for probe in probes] == [True, False]
    assert answer.certificate.value == 0.0
    none, _, easiest = search(
        np.array([1.0, 2.0]), lambda opt: _Run(opt, Certificate.around("", 9.0, 1.0)), 5.0, False
    )
    assert none is None
    assert easiest.opt == 2.0


def test_the_estimate_does_not_depend_on_units():
    A, b, c = np.eye(2), np.array([2.0, 3.0]), np.ones(2)
    for unit in (1e-9, 1.0, 1e9):
        estimate = estimate_opt(
            A, unit * b, c=1e-6 * c, rhs_lower=unit, sensitivity=1e-9 * unit, epsilon=100,
            randomness=Randomness.seeded(3),
        )  # fmt: skip
        assert estimate.value == pytest.approx(5e-6 * unit, rel=1e-4)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("spread", [1e-12, 1e-6, 1e6, 1e12])
def test_the_estimate_does_not_depend_on_the_units_of_single_variables(spread, sparse):
    rng = np.random.default_rng(5)
    A, c, b = rng.uniform(0.1, 1, (5, 4)), np.ones(4), rng.uniform(1, 2, 5)
    opt = -linprog(-c, A_ub=A, b_ub=b).fun
    units = np.array([1.0, spread, 1.0, math.sqrt(spread)])
    for scale, cost in ((units, c * units), (np.full(4, spread), c)):  # columns apart; all of them alike
        rows = csr_array(A * scale) if sparse else A * scale
        wanted = opt * (cost / scale)[0]
        found = estimate_opt(
            rows, b, c=cost, rhs_lower=1, sensitivity=1e-9, epsilon=1e6, randomness=Randomness.seeded(3)
        )
        assert found.value == pytest.approx(wanted, rel=1e-6)
    cheap = np.array([1.0, spread, 1.0, 1.0])  # and where a variable matters little, or much
    found = estimate_opt(
        np.eye(4), b[:4], c=cheap, rhs_lower=1, sensitivity=1e-9, epsilon=1e6, randomness=Randomness.seeded(3)
    )
    assert found.value == pytest.approx(cheap @ b[:4], rel=1e-6)


def test_right_hand_sides_too_large_for_the_solver_move_the_estimate_no_farther():
    # HiGHS takes 1e20 for infinite: without a cut, the optimum would be lost between these two.
    seen = [
        estimate_opt(
            [[1.0, 1.0]], [b], c=[1.0, 1.0], rhs_lower=1, sensitivity=1e18, epsilon=1e9,
            randomness=Randomness.seeded(3),
        ).value
        for b in (0.995e20, 1.005e20)
    ]  # fmt: skip
    assert abs(math.log(seen[0] / seen[1])) <= math.log1p(1e18)
    assert min(seen) > 1e8


def test_no_neighbour_moves_ln_opt_by_more_than_claimed():
    rng = np.random.default_rng(1)
    sensitivity, least, worst = 0.1, 0.5, 0.0
    for _ in range(300):
        A, c = rng.uniform(-0.2, 1, (6, 4)), rng.normal(0.5, 1, 4)
        A[-1] = 1
        c[0] = abs(c[0]) + 0.1
        b = rng.uniform(0.3, 1, 6)
        other = b + sensitivity * rng.choice([-1, 1], 6) * rng.choice([1, rng.random()], 6)
        values = [-linprog(-c, A_ub=A, b_ub=np.maximum(rhs, least)).fun for rhs in (b, other)]
        worst = max(worst, abs(math.log(values[0] / values[1])))
    assert worst <= log_opt_sensitivity(sensitivity, least)
    assert worst > 0.5 * log_opt_sensitivity(sensitivity, least)


def test_the_estimate_is_laplace_about_ln_opt_and_its_interval_holds():
    source = Randomness.seeded(2)
    A, b, c = np.eye(2), np.array([2.0, 3.0]), np.ones(2)
    seen = [
        estimate_opt(A, b, c=c, rhs_lower=1, sensitivity=0.1, epsilon=0.5, randomness=source)
        for _ in range(300)
    ]
    errors = np.array([math.log(e.value / 5) for e in seen])
    scale = log_opt_sensitivity(0.1, 1) / 0.5
    assert np.abs(errors).mean() == pytest.approx(scale, rel=0.3)  # sd of the mean: 6 %
    assert np.mean([e.low <= 5 <= e.high for e in seen]) > 0.88
    assert math.isinf(seen[0].epsilon)
    assert estimate_opt(A, b, c=c, rhs_lower=1, sensitivity=0.1, epsilon=0.5).epsilon == 0.5


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"c": [-1.0, 0.0]}, "c must be above 0 somewhere"),
        ({"A_ub": [[-1.0, 1.0]]}, "unbounded"),
        ({"rhs_lower": 0}, "rhs_lower must be above 0"),
        ({"sensitivity": -1}, "sensitivity must be above 0"),
        ({"epsilon": 0}, "epsilon must be above 0"),
    ],
)
def test_errors_name_the_argument(change, words):
    call = {
        "A_ub": [[1.0, 1.0]],
        "b_ub": [1.0],
        "c": [1.0, 1.0],
        "rhs_lower": 0.5,
        "sensitivity": 0.1,
        "epsilon": 1,
    }
    with pytest.raises(InvalidArgument, match=words):
        estimate_opt(**{**call, **change})
