"""Makes the picture of the README, docs/cost.svg, from what a run here measured: `python -m tools.figure`.

What it measured is kept in docs/cost.json, which is all that the picture is drawn from.

The paper's workload at 10,000 cells: 5,000 made-up people, queries that hold a quarter of the cells,
epsilon = 1, delta = 1e-6. Left: the largest error over all m queries, of `query_release(method="mwem")` at
T = 20,000 rounds, as in the paper, and of what else one would do: Gaussian noise on each answer, and Laplace
noise on each cell (`method="histogram"`). Right: what the release costs with certified selection, and with a
scan of all m queries in every round, whose rounds all cost the same: timed over 200 to 10,000, scaled to T.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("svg")

import numpy as np
from matplotlib import pyplot as plt

import fastmwem as fm
from fastmwem.lab.workloads import paper_histogram, paper_queries
from fastmwem.privacy.calibrate import calibrate_gaussian
from fastmwem.queries.binary import Binary

PEOPLE, CELLS, ROUNDS = 5_000, 10_000, 20_000
SIZES = (100, 1_000, 10_000, 100_000)
BUDGET = fm.Budget(1, 1e-6)
DOCS = Path(__file__).parents[1] / "docs"
MEASURED, PICTURE = DOCS / "cost.json", DOCS / "cost.svg"


def release(queries: Binary, counts: np.ndarray, **options: Any) -> tuple[fm.Release, float]:
    """A release, and the CPU seconds that it took."""
    start = time.process_time()
    made = fm.query_release(queries, counts, epsilon=BUDGET.epsilon, delta=BUDGET.delta, **options)
    return made, time.process_time() - start


def measure() -> dict[str, list[float]]:
    counts = paper_histogram(PEOPLE, CELLS, seed=0)
    rng = np.random.default_rng(2)
    lines: dict[str, list[float]] = {
        name: [] for name in ("mwem", "gaussian", "laplace", "certified", "scan")
    }
    for m in SIZES:
        queries = paper_queries(m, CELLS, seed=1)
        truth = queries.answers(counts) / PEOPLE

        def played(selection: str, rounds: int, queries: Binary = queries) -> tuple[fm.Release, float]:
            return release(queries, counts, method="mwem", selection=selection, rounds=rounds)

        played("certified", 100)  # what must be compiled is
        made, seconds = played("certified", ROUNDS)
        lines["certified"].append(seconds)
        scanned = min(ROUNDS // 2, 20_000_000 // m)
        few, more = (played("exhaustive", rounds)[1] for rounds in (scanned, 2 * scanned))
        lines["scan"].append((more - few) * ROUNDS / scanned)
        lines["mwem"].append(float(np.abs(made.values - truth).max()))
        cells = release(queries, counts, method="histogram")[0]
        lines["laplace"].append(float(np.abs(cells.values - truth).max()))
        std = calibrate_gaussian(BUDGET, m).noise_multiplier / PEOPLE
        lines["gaussian"].append(float(np.abs(rng.normal(0, std, m)).max()))
        print(m, {name: line[-1] for name, line in lines.items()}, flush=True)
    return lines


def draw(lines: dict[str, list[float]], out: Path) -> None:
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "fastmwem", "font.size": 10})
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.1), layout="constrained")
    left.loglog(SIZES, lines["gaussian"], "o--", color="0.55", label="Gaussian noise on each answer")
    left.loglog(SIZES, lines["laplace"], "s:", color="0.35", label="Laplace noise on each cell")
    left.loglog(SIZES, lines["mwem"], "o-", color="#3f51b5", label="fastmwem")
    left.set(title="Largest error over all queries", xlabel="number of queries")
    right.loglog(SIZES, lines["scan"], "o--", color="0.55", label="scan of all queries each round")
    right.loglog(SIZES, lines["certified"], "o-", color="#3f51b5", label="fastmwem, same distribution")
    right.set(title=f"CPU seconds for {ROUNDS:,} rounds", xlabel="number of queries")
    for axes in (left, right):
        axes.grid(color="0.9")
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_ylim(top=axes.get_ylim()[1] * 4)  # room for the legend
        axes.legend(frameon=False, fontsize=9, loc="upper left")
    figure.savefig(out, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    MEASURED.write_text(json.dumps(measure(), indent=1) + "\n")
    draw(json.loads(MEASURED.read_text()), PICTURE)
