"""Selection: one exact draw of the exponential mechanism over m stored queries."""

from __future__ import annotations

import numpy as np

from benchmarks.run import ratio, scan, seconds
from fastmwem import Randomness
from fastmwem.queries.base import Candidates
from fastmwem.queries.binary import Binary
from fastmwem.select import make_selector
from fastmwem.select.base import ExponentialMechanism

M, CELLS = 20_000, 3_000


def selector(name: str):
    """A sampler over random 0/1 queries at the paper's noise (n = 500, eps0 of T = 20,000 at (1, 1e-3))."""
    rng = np.random.default_rng(1)
    queries = Binary(rng.integers(0, 2, (M, CELLS), dtype=np.uint8))
    candidates = Candidates(queries, rng.random(M), signed=True)
    return make_selector(name, candidates, ExponentialMechanism(0.0055, 1 / 500), Randomness.seeded(1))


@ratio("exhaustive pick, against one float32 scan of the same queries", bar=1.5)
def exhaustive_pick() -> float:
    probe = np.full(CELLS, 1 / CELLS)
    sampler = selector("exhaustive")
    return seconds(lambda: sampler.pick(probe)) / scan(M, CELLS)
