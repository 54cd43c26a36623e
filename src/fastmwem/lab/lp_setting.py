"""The paper's scalar-private linear program, watched round by round. Nothing of it is private."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fastmwem.lab.trace import METHODS, watched
from fastmwem.mw.hedge import Hedge, fixed_step
from fastmwem.mw.loop import play
from fastmwem.privacy.accounting import accountant
from fastmwem.privacy.budget import Budget
from fastmwem.privacy.calibrate import calibrate_rounds
from fastmwem.privacy.ledger import Ledger
from fastmwem.privacy.randomness import Randomness
from fastmwem.queries.base import Candidates, FloatArray
from fastmwem.queries.dense import Dense
from fastmwem.select import ExponentialMechanism, Selector, make_selector

__all__ = ["LpConfig", "LpSetting"]


@dataclass(frozen=True)
class LpConfig:
    """A ~ N(0, I) with m rows and d columns, b = A x* for an x* uniform on the simplex; b moves by Delta."""

    m: tuple[int, ...]
    dim: int = 20
    rounds: int = 5_000
    sensitivity: float = 0.1
    alpha: float = 0.5
    epsilon: float = 1.0
    delta: float = 1e-3


@dataclass(frozen=True)
class LpSetting:
    """max_i (A_i x - b_i) made small over the simplex by Hedge against the exponential mechanism."""

    config: LpConfig
    m: int
    seed: int
    accountant: str = "optimal"

    @cached_property
    def candidates(self) -> Candidates:
        generator = np.random.default_rng([self.seed, self.m])
        rows = Dense(generator.standard_normal((self.m, self.config.dim)))
        return Candidates(rows, rows.answers(generator.dirichlet(np.ones(self.config.dim))), signed=False)

    @property
    def budget(self) -> Budget:
        return Budget(self.config.epsilon, self.config.delta)

    @cached_property
    def mechanism(self) -> ExponentialMechanism:
        return ExponentialMechanism(
            calibrate_rounds(self.budget, self.config.rounds, accountant=self.accountant).eps0,
            self.config.sensitivity,
        )

    def violations(self, x: FloatArray) -> FloatArray:
        """A_i x - b_i for all i."""
        return self.candidates.scores(x)

    def selector(self, method: str) -> Selector:
        name, index = METHODS[method]
        randomness = Randomness.seeded(self.seed)
        return make_selector(name, self.candidates, self.mechanism, randomness, index=index)

    def run(
        self, selector: Selector, watch: Callable[[int, Hedge], None], rounds: int | None = None
    ) -> float:
        """Play, calling `watch(t, player)` after every round; returns the seconds that all of it took.

        `rounds` stops early (for timings); step and eps0 remain those of the whole run.
        """
        queries = self.candidates.queries
        eta = fixed_step(queries.half_range, queries.dim, self.config.rounds)
        ledger = Ledger(self.budget, accountant("optimal"))
        player = watched(Hedge(queries, eta), watch)
        start = time.perf_counter()
        play(player, selector, rounds or self.config.rounds, ledger)
        return time.perf_counter() - start
