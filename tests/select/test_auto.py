"""The choice between bounds and scans: it saves time where bounds pay, and costs little where they do not."""

import numpy as np

from fastmwem import errors
from fastmwem.privacy.randomness import Randomness
from fastmwem.queries.base import Candidates
from fastmwem.queries.dense import Dense
from fastmwem.select import ExponentialMechanism, make_selector

M, DIM, ROUNDS = 4000, 10, 300
RNG = np.random.default_rng(41)
ROWS = RNG.normal(size=(M, DIM))


def run(scale, probes):
    """What the selector that chooses spent on `probes`."""
    candidates = Candidates(Dense(ROWS), np.zeros(M), False)
    selector = make_selector("auto", candidates, ExponentialMechanism(2 * scale, 1.0), Randomness.seeded(1))
    for v in probes:
        selector.pick(v)
    assert selector.diagnostics["rounds"] == len(probes)
    return selector.diagnostics


def test_bounds_are_used_where_the_probe_moves_little():
    spent = run(1.0, RNG.dirichlet(np.full(DIM, 1e5), ROUNDS))
    assert spent["passes"] == 1
    assert spent["trials"] < 3 * ROUNDS


def test_scans_are_used_where_bounds_do_not_pay():
    spent = run(500.0, RNG.dirichlet(np.full(DIM, 0.5), ROUNDS))
    assert spent["passes"] < 1.1 * ROUNDS


def test_bounds_come_back_when_they_pay_again():
    wild, calm = RNG.dirichlet(np.full(DIM, 0.5), 40), RNG.dirichlet(np.full(DIM, 1e9), ROUNDS)
    spent = run(200.0, np.concatenate([wild, calm]))
    assert spent["passes"] < 0.5 * (ROUNDS + 40)


def test_scans_serve_where_memory_is_short(monkeypatch):
    monkeypatch.setattr(errors, "_free_memory", lambda: 17.0 * M)
    spent = run(1.0, RNG.dirichlet(np.full(DIM, 1e5), 5))
    assert spent["passes"] == 5
    assert spent["evaluations"] == 5 * M
