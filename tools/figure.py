"""Makes the picture of the README, docs/cost.svg, from a run on this machine: `python -m tools.figure`.

A made-up table of 20,000 people over 2,000 cells, random linear queries (each asks for the share of people in
a random half of the cells), epsilon = 1, delta = 1e-6. Left: the largest error over all m queries, of
`query_release(method="mwem")` and of Gaussian noise on each answer. Right: what
the release costs, with certified selection and with the scan of all m that a round usually takes.
"""

from __future__ import annotations

import time
from pathlib import Path

import matplotlib

matplotlib.use("svg")

import numpy as np
from matplotlib import pyplot as plt

import fastmwem as fm
from fastmwem.privacy.calibrate import calibrate_gaussian
from fastmwem.queries.binary import Binary

PEOPLE, CELLS = 20_000, 2_000
SIZES = (100, 1_000, 10_000, 100_000)
BUDGET = fm.Budget(1, 1e-6)
OUT = Path(__file__).parents[1] / "docs" / "cost.svg"


def table(rng: np.random.Generator) -> np.ndarray:
    """Counts over the cells, the cells being of very different size."""
    return rng.multinomial(PEOPLE, rng.dirichlet(np.full(CELLS, 0.1))).astype(float)


def release(queries: Binary, counts: np.ndarray, selection: str) -> tuple[fm.Release, float]:
    """A release, and the CPU seconds that it took."""
    start = time.process_time()
    made = fm.query_release(
        queries,
        counts,
        epsilon=BUDGET.epsilon,
        delta=BUDGET.delta,
        method="mwem",
        selection=selection,
    )
    return made, time.process_time() - start


def measure() -> dict[str, list[float]]:
    rng = np.random.default_rng(2)
    counts = table(rng)
    lines: dict[str, list[float]] = {"mwem": [], "gaussian": [], "certified": [], "scan": []}
    for m in SIZES:
        queries = Binary(rng.integers(0, 2, (m, CELLS), dtype=np.uint8))
        truth = queries.answers(counts) / PEOPLE
        for line, selection in (("certified", "certified"), ("scan", "exhaustive")):
            release(queries, counts, selection)  # what must be compiled is
            made, seconds = release(queries, counts, selection)
            lines[line].append(seconds)
        lines["mwem"].append(float(np.abs(made.values - truth).max()))
        std = calibrate_gaussian(BUDGET, m).noise_multiplier / PEOPLE
        lines["gaussian"].append(float(np.abs(rng.normal(0, std, m)).max()))
        print(m, made.details["rounds"], {name: line[-1] for name, line in lines.items()})
    return lines


def draw(lines: dict[str, list[float]]) -> None:
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "fastmwem", "font.size": 10})
    figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3.1), layout="constrained")
    left.loglog(SIZES, lines["gaussian"], "o--", color="0.55", label="Gaussian noise on each answer")
    left.loglog(SIZES, lines["mwem"], "o-", color="#3f51b5", label="fastmwem")
    left.set(title="Largest error over all queries", xlabel="number of queries")
    right.loglog(SIZES, lines["scan"], "o--", color="0.55", label="scan of all queries")
    right.loglog(SIZES, lines["certified"], "o-", color="#3f51b5", label="fastmwem, same distribution")
    right.set(title="CPU seconds for the release", xlabel="number of queries")
    for axes in (left, right):
        axes.grid(color="0.9")
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_ylim(top=axes.get_ylim()[1] * 4)  # room for the legend
        axes.legend(frameon=False, fontsize=9, loc="upper left")
    figure.savefig(OUT, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    draw(measure())
