"""How cost grows, for the documentation's page on performance: `python -m benchmarks.growth [WORD ...]`.

Each line varies one number and holds the others; what it measures goes into docs/growth.json, which the page
is made from. A word measures only the lines whose name holds it, and leaves the others as they were.
Made-up data, epsilon = 1, delta = 1e-6 throughout.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fastmwem as fm
from benchmarks.bench_selection import timed
from fastmwem.mw.schedule import make_step
from fastmwem.mw.update import MultiplicativeWeights
from fastmwem.privacy.calibrate import calibrate_rounds
from fastmwem.queries.base import Candidates
from fastmwem.queries.binary import Binary
from fastmwem.select import ExponentialMechanism

OUT = Path(__file__).parents[1] / "docs" / "growth.json"
BUDGET = fm.Budget(1, 1e-6)


@dataclass(frozen=True)
class Line:
    """`cost(value)` for each of `values` of the number that is called `varies`."""

    name: str
    varies: str
    held: str
    values: tuple[int, ...]
    cost: Callable[[int], Cost]


class Cost(NamedTuple):
    """Seconds, and the scores that a round looked at, where that is what is asked."""

    seconds: float
    scores: float | None = None


def exponent(values: Sequence[float], seconds: Sequence[float]) -> float:
    """b of the least-squares fit seconds = a * values^b.

    >>> round(exponent([1, 10, 100], [2, 20, 200]), 6)
    1.0
    """
    return float(np.polyfit(np.log(values), np.log(seconds), 1)[0])


@cache
def queries(m: int, cells: int) -> Binary:
    """Random ones: each asks for the share of people in a random half of the cells."""
    return Binary(np.random.default_rng(1).integers(0, 2, (m, cells), dtype=np.uint8))


def mwem_round(m: int, cells: int, n: int, selection: str = "certified", rounds: int = 2_000) -> Cost:
    """One round (probe, pick, update, average) of a run of `rounds`, the first pass left out."""
    rng = np.random.default_rng(2)
    histogram = rng.multinomial(n, rng.dirichlet(np.full(cells, 0.1))) / n
    asked = queries(m, cells)
    candidates = Candidates(asked, asked.answers(histogram), signed=True)
    player = MultiplicativeWeights(asked, make_step("adaptive", cells, rounds), width=1.0)
    mechanism = ExponentialMechanism(calibrate_rounds(BUDGET, rounds).eps0, 1 / n)
    played = 200 if selection == "exhaustive" else rounds
    run = timed(player, selection, candidates, mechanism, played, time.perf_counter())
    return Cost(run.round, m if selection == "exhaustive" else run.evaluations)


def cpu(work: Callable[[], object], best_of: int = 2) -> Cost:
    """CPU seconds of `work`."""
    taken = []
    for _ in range(best_of):
        start = time.process_time()
        work()
        taken.append(time.process_time() - start)
    return Cost(min(taken))


def whole_release(rounds: int) -> Cost:
    counts = np.random.default_rng(2).multinomial(10_000, np.full(1_000, 1e-3))
    asked = queries(10_000, 1_000)
    options = {"epsilon": 1, "delta": 1e-6, "method": "mwem", "rounds": rounds}
    return cpu(lambda: fm.query_release(asked, counts, **options))


def direct_marginals(columns: int) -> Cost:
    domain = fm.Domain.of_sizes({f"c{i}": 2 for i in range(columns)})
    counts = np.random.default_rng(2).multinomial(100_000, np.full(domain.size, 1 / domain.size))
    workload = fm.marginals(domain, k=3)
    return cpu(lambda: fm.query_release(workload, counts, epsilon=1, delta=1e-6, method="direct"))


def scalar_program(m: int) -> Cost:
    rng = np.random.default_rng(2)
    A = rng.uniform(-1, 1, (m, 20))
    b = A @ rng.dirichlet(np.ones(20)) + rng.uniform(0, 1, m)
    options = {"sensitivity": 1e-3, "epsilon": 1, "delta": 1e-6, "method": "mw", "rounds": 1_000}
    return cpu(lambda: fm.solve_scalar_private(A, b, **options))


def constraint_program(m: int) -> Cost:
    likes = np.random.default_rng(2).random((m, 50)) < 0.2
    bounds = {"coef_bounds": 1, "rhs_bounds": (1, 1), "max_violated": m // 20, "n_rows_public": m}
    options = {"opt": 8, "sense": "covering", "epsilon": 1, "delta": 1e-6, "rounds": 50}
    return cpu(
        lambda: fm.solve_constraint_private(
            likes.astype(float), np.ones(m), c=np.ones(50), **bounds, **options
        )
    )


M = (1_000, 10_000, 100_000, 1_000_000)
LINES = (
    Line("mwem, a round", "m", "256 cells, n = 1,000", M, lambda m: mwem_round(m, 256, 1_000)),
    Line("mwem, a round", "m", "256 cells, n = 100,000", M[:3], lambda m: mwem_round(m, 256, 100_000)),
    Line("the same by a scan", "m", "256 cells", M, lambda m: mwem_round(m, 256, 1_000, "exhaustive")),
    Line(
        "mwem, a round",
        "cells",
        "m = 10,000, n = 1,000",
        (250, 1_000, 4_000, 16_000),
        lambda cells: mwem_round(10_000, cells, 1_000),
    ),
    Line(
        "mwem, a round",
        "n",
        "m = 10,000, 1,000 cells",
        (1_000, 10_000, 100_000, 1_000_000),
        lambda n: mwem_round(10_000, 1_000, n),
    ),
    Line(
        "mwem, a release",
        "T",
        "m = 10,000, 1,000 cells, n = 10,000",
        (2_000, 8_000, 32_000, 128_000),
        whole_release,
    ),
    Line(
        "direct, all 3-way marginals of binary columns",
        "cells",
        "n = 100,000",
        (1 << 8, 1 << 11, 1 << 14, 1 << 17),
        lambda cells: direct_marginals(cells.bit_length() - 1),
    ),
    Line("scalar-private program", "m", "20 variables, T = 1,000", M, scalar_program),
    Line("constraint-private program", "m", "50 variables, T = 50", M[1:], constraint_program),
)


def main(words: list[str]) -> None:
    """Measure, and write what was measured into the file of the page."""
    found = json.loads(OUT.read_text())["lines"] if OUT.exists() else []
    kept = {(line["name"], line["varies"], line["held"]): line for line in found}
    for line in LINES:
        key = (line.name, line.varies, line.held)
        if not all(word in " ".join(key) for word in words):
            continue
        line.cost(line.values[0])  # compiles
        costs = [line.cost(value) for value in line.values]
        seconds = [float(f"{cost.seconds:.4g}") for cost in costs]
        scores = [None if cost.scores is None else round(cost.scores, 1) for cost in costs]
        print(*key, seconds, scores, f"exponent {exponent(line.values, seconds):.2f}", flush=True)
        measured = {"name": line.name, "varies": line.varies, "held": line.held, "values": line.values}
        kept[key] = {**measured, "seconds": seconds, "scores": scores}
        queries.cache_clear()
        _write([kept[key] for line in LINES if (key := (line.name, line.varies, line.held)) in kept])


def _write(lines: list[dict[str, Any]]) -> None:
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    OUT.write_text(json.dumps({"machine": machine, "lines": lines}, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
