"""What neighbours move in a whole run of a private linear program, against what its ledger charges.

A scripted selector takes the place of the real one and keeps the exponents that it would have drawn from;
noise is kept with what it was added to. For neighbours, the same picks and the same certificates: a round is
eps0-bounded-range if its exponents spread by at most eps0 more, and Gaussian noise is as charged if it is at
least its multiplier times what it hides; everything else that a run says must be equal. Nothing but
neighbours, public options and the ledger enters, so a sensitivity that is wrong anywhere on the way is seen.
The worst that occurs is close to what is charged.
"""

import numpy as np
import pytest
from dp_accounting.dp_event import ComposedDpEvent, GaussianDpEvent, SelfComposedDpEvent
from scipy.sparse import csr_array

from fastmwem.privacy.events import BoundedRangeDpEvent
from fastmwem.privacy.randomness import Randomness
from fastmwem.problems import constraint_lp, scalar_solvers
from fastmwem.problems.constraint_lp import solve_constraint_private
from fastmwem.problems.scalar_lp import solve_scalar_private
from fastmwem.select.base import Pick, Selector

BUDGET = {"epsilon": 1, "delta": 1e-6, "accountant": "zcdp"}


class _Scripted(Selector):
    """Picks at random from a source of its own, and keeps scale * score of every candidate in every round."""

    def __init__(self, kept, candidates, mechanism, randomness):
        super().__init__(candidates, mechanism, randomness)
        self._kept = kept

    def pick(self, v):
        self._kept.append(self.mechanism.scale * self.candidates.scores(v))
        return Pick(len(self._kept) * 7 % self.candidates.m, 1)


class _Seen:
    """One run: exponents of its rounds, (value, deviation) of its noise, and the answer."""

    def __init__(self, module, monkeypatch, solve, data, options):
        self.exponents, self.noisy = [], []
        monkeypatch.setattr(
            module,
            "make_selector",
            lambda name, candidates, mechanism, randomness, **_: _Scripted(
                self.exponents, candidates, mechanism, randomness
            ),
        )
        monkeypatch.setattr(module, "add_gaussian", self._keep)
        self.answer = solve(*data, **options, **BUDGET, randomness=Randomness.seeded(1))

    def _keep(self, value, deviation, randomness):
        self.noisy.append((np.array(value, float), deviation))
        return np.zeros_like(value)

    def charged(self, kind):
        """Every event of `kind` that the run was charged for, in order."""
        found = []

        def walk(event, times=1):
            if isinstance(event, ComposedDpEvent):
                for part in event.events:
                    walk(part, times)
            elif isinstance(event, SelfComposedDpEvent):
                walk(event.event, times * event.count)
            elif isinstance(event, kind):
                found.extend([event] * times)

        walk(self.answer.event)
        return found


def _share_of_what_is_charged(here, there):
    """How much of each kind of event two neighbouring runs use, the most there is: at most 1 each."""
    rounds, noises = here.charged(BoundedRangeDpEvent), here.charged(GaussianDpEvent)
    assert len(rounds) == len(here.exponents) == len(there.exponents)
    assert len(noises) == len(here.noisy) == len(there.noisy)
    np.testing.assert_array_equal(here.answer.x, there.answer.x)
    said = [
        (
            run.fun,
            run.alpha,
            run.regret,
            run.opt,
            run.certificate,
            run.probes,
            run.plan,
            run.report,
            repr(run),
        )
        for run in (here.answer, there.answer)
    ]
    assert said[0] == said[1]
    spread = [
        np.ptp(a - b) / event.epsilon
        for a, b, event in zip(here.exponents, there.exponents, rounds, strict=True)
    ]
    hidden = [
        float(np.sqrt(((a - b) ** 2).sum())) / std * event.noise_multiplier
        for (a, std), (b, _), event in zip(here.noisy, there.noisy, noises, strict=True)
    ]
    return max(spread, default=0.0), max(hidden, default=0.0)


def _worst(monkeypatch, module, solve, pairs, options):
    worst = np.zeros(2)
    for data, other in pairs:
        runs = [_Seen(module, monkeypatch, solve, given, options) for given in (data, other)]
        worst = np.maximum(worst, _share_of_what_is_charged(*runs))
    return worst


def _moved(rng, rows, each, equal, one_way):
    """Neighbouring right-hand sides (of inequalities, and of `equal` equalities), as far apart as may be."""
    b = rng.uniform(0.5, 1, rows + equal)
    signs = np.ones(rows + equal) if one_way else rng.choice([-1.0, 1.0], rows + equal)
    other = b + each * signs * (rng.random(rows + equal) < 0.5 if one_way else 1.0)
    return (b[:rows], b[rows:]), (other[:rows], other[rows:])


@pytest.mark.parametrize(
    ("options", "equal"),
    [
        ({}, 0),
        ({}, 3),
        ({"one_sided": True}, 0),
        ({"row_weights": "equilibrate"}, 3),
        ({"row_weights": np.linspace(0.2, 3, 15)}, 3),
        ({"certificate": True, "bounds": (-1, 1), "radius": 9}, 3),
        ({"c": np.arange(1.0, 6.0), "opt_grid": [2.0, 3.0, 4.0]}, 0),
        ({"c": np.arange(1.0, 6.0), "opt": 2.0}, 3),
        ({"schedule": "paper", "alpha": 1.0}, 0),
    ],
)
def test_a_right_hand_side_moves_a_run_by_no_more_than_it_is_charged(options, equal, monkeypatch):
    one_way = "one_sided" in options
    rng = np.random.default_rng(1)
    A, A_eq = rng.normal(0, 1, (12, 5)), rng.normal(0, 1, (equal, 5))
    each = rng.uniform(0.5, 1, 12 + equal) * 0.1
    each[0] = 0  # public

    def solve(b, b_eq, **options):
        pair = {"A_eq": A_eq, "b_eq": b_eq} if equal else {}
        return solve_scalar_private(A, b, sensitivity=each, method="mw", **pair, **options)

    pairs = [_moved(rng, 12, each, equal, one_way) for _ in range(8)]
    spread, hidden = _worst(monkeypatch, scalar_solvers, solve, pairs, {"rounds": 4, **options})
    assert 0.7 < spread <= 1 + 1e-9
    assert hidden <= 1 + 1e-9
    assert ("certificate" in options or "opt_grid" in options) == (hidden > 0.2)


@pytest.mark.parametrize("equal", [0, 3])
@pytest.mark.parametrize("options", [{}, {"row_weights": "equilibrate"}, {"c": np.arange(1.0, 6.0)}])
def test_noise_on_b_is_as_large_as_it_is_charged(options, equal, monkeypatch):
    rng = np.random.default_rng(2)
    A, A_eq = rng.normal(0, 1, (6, 5)), rng.normal(0, 1, (equal, 5))
    each = rng.uniform(0.5, 1, 6 + equal) * 0.1
    each[0] = 0

    def solve(b, b_eq, **options):
        pair = {"A_eq": A_eq, "b_eq": b_eq} if equal else {}
        return solve_scalar_private(A, b, sensitivity=each, method="gaussian", **pair, **options)

    pairs = [_moved(rng, 6, each, equal, False) for _ in range(3)]
    spread, hidden = _worst(monkeypatch, scalar_solvers, solve, pairs, options)
    assert spread == 0
    assert 1 - 1e-9 < hidden <= 1 + 1e-9


def _people(rng, sense, m, gone, replaced):
    """Rows, and the same without `gone` of them or with others, which differ from the rest."""
    A = np.tile([0.0, 1.0, 0.3], (m, 1)) * (rng.random((m, 3)) < 0.8)
    A[:gone] = [1.0, 0.0, 0.0]
    b = np.where(rng.random(m) < 0.5, 0.5, 1.0)
    b[:gone] = 1.0 if sense == "covering" else 0.5  # hard to keep, hence of large weight
    if not replaced:
        return (A, b), (A[gone:], b[gone:])
    other, other_b = A.copy(), b.copy()
    other[:gone], other_b[:gone] = [0.0, 1.0, 1.0], 1.5 - b[:gone]
    return (A, b), (other, other_b)


@pytest.mark.parametrize("sense", ["packing", "covering"])
@pytest.mark.parametrize("gone", [1, 2])
@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"opt": 2.0},
        {"opt_grid": [1.0, 2.0, 3.0], "alpha": 0.1},
        {"opt": 2.0, "schedule": "paper", "alpha": 1.0},
        {"opt": 2.0, "n_rows_public": 9},  # fewer than there are: privacy must not rest on it
    ],
)
def test_a_persons_rows_move_a_run_by_no_more_than_they_are_charged(
    options, sense, gone, replaced, monkeypatch
):
    rng = np.random.default_rng(3)
    public = {
        "c": np.array([1.0, 1.5, 0.7]), "coef_bounds": [1.0, 1.5, 0.7], "rhs_bounds": (0.5, 1),
        "sense": sense, "max_violated": 7.5, "n_rows_public": 40, "rows_per_person": gone, "rounds": 6,
        "certificate": True,
    }  # fmt: skip
    pairs = [_people(rng, sense, m, gone, replaced) for m in (2, 7, 8, 9, 14, 30)]
    spread, hidden = _worst(
        monkeypatch, constraint_lp, solve_constraint_private, pairs, {**public, **options}
    )
    assert spread <= 1 + 1e-9
    assert hidden <= 1 + 1e-9
    if "schedule" not in options:
        assert spread > 0.6
    sparse = [[(csr_array(A), b) for A, b in pair] for pair in pairs[:2]]
    assert max(
        _worst(monkeypatch, constraint_lp, solve_constraint_private, sparse, {**public, **options})
    ) <= (1 + 1e-9)


def test_a_sensitivity_that_is_half_of_what_it_should_be_is_seen(monkeypatch):
    """The negative control: the same neighbours, charged as if each moved half as far."""
    rng = np.random.default_rng(4)
    A = rng.normal(0, 1, (12, 5))

    def solve(b, **options):
        return solve_scalar_private(A, b, sensitivity=0.05, method="mw", **options)

    b = rng.uniform(0.5, 1, 12)
    pairs = [((b,), (b + 0.1 * rng.choice([-1.0, 1.0], 12),)) for _ in range(3)]
    options = {"rounds": 4, "certificate": True}
    assert _worst(monkeypatch, scalar_solvers, solve, pairs, options)[0] > 1.5
    people = [_people(rng, "covering", 14, 2, False)]
    public = {
        "c": np.ones(3), "opt": 2.0, "sense": "covering", "coef_bounds": 1, "rhs_bounds": (0.5, 1),
        "max_violated": 7, "n_rows_public": 40, "rounds": 6, "rows_per_person": 1, "certificate": True,
        "alpha": 0.1,
    }  # fmt: skip
    spread, hidden = _worst(monkeypatch, constraint_lp, solve_constraint_private, people, public)
    assert spread > 1
    assert hidden > 1
