"""The scalar-private LP in units of one pass over its rows."""

from __future__ import annotations

import numpy as np

import fastmwem as fm
from benchmarks.run import ratio, seconds


@ratio("scalar LP, m = 1.5e6, T = 5,000, whole solve, against one pass A @ x", bar=60)
def scalar_lp() -> float:
    rng = np.random.default_rng(0)
    A, x = rng.standard_normal((1_500_000, 20)), rng.dirichlet(np.ones(20))
    b = A @ x + rng.uniform(0, 0.1, len(A))

    def solve(rows: int, rounds: int) -> None:
        options = {"sensitivity": 1e-2, "epsilon": 1, "delta": 1e-3, "method": "mw", "rounds": rounds}
        fm.solve_scalar_private(A[:rows], b[:rows], **options)

    solve(300_000, 50)  # compile
    return seconds(lambda: solve(len(A), 5_000), repeat=1) / seconds(lambda: np.dot(A, x), repeat=5)
