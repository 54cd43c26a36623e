"""n-ablation: error against n with T = n^2 rounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastmwem.lab.experiment import Experiment
from fastmwem.lab.figures import axes, curve, legend
from fastmwem.lab.store import Case, Row, Rows
from fastmwem.lab.trace import Setting, select_with
from fastmwem.lab.workloads import paper_histogram, paper_queries
from fastmwem.privacy.budget import Budget

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

METHODS = ("exhaustive", "flat")


@dataclass(frozen=True)
class Config:
    n: tuple[int, ...] = (50, 100, 200, 300)
    m: int = 100
    cells: int = 3_000
    seeds: int = 5
    epsilon: float = 1.0
    delta: float = 1e-3
    accountant: str = "paper"


def cases(config: Config) -> list[Case]:
    seeds = range(config.seeds)
    return [
        {"n": n, "method": method, "seed": seed} for n in config.n for method in METHODS for seed in seeds
    ]


def measure(config: Config, case: Case) -> list[Row]:
    rounds = case["n"] ** 2
    queries = paper_queries(config.m, config.cells, case["seed"])
    counts = paper_histogram(case["n"], config.cells, case["seed"])
    setting = Setting(queries, counts, rounds, Budget(config.epsilon, config.delta), config.accountant)
    rows: list[Row] = []

    def watch(t, player):
        if t == rounds:
            rows.append({"error": setting.error(queries.answers(player.output("average")))})

    setting.run(select_with(setting, case["method"], case["seed"]), watch)
    return rows


def draw(config: Config, rows: Rows) -> Figure:
    figure, (panel,) = axes()
    for method in METHODS:
        curve(panel, rows.where(method=method), "n", "error", method, marker="o", markersize=4)
    panel.set(xlabel="number of rows n (T = n²)", ylabel="largest error (fraction of n)")
    legend(figure)
    return figure


def finding(config: Config, rows: Rows) -> str:
    parts = []
    for n in config.n:
        mwem, fast = (rows.where(n=n, method=method).mean("error") for method in METHODS)
        parts.append(f"{mwem:.4f} and {fast:.4f} at n = {n}")
    return f"Mean errors of MWEM and of Fast-MWEM are {', '.join(parts)}."


def caption(config: Config) -> str:
    return (
        f"m = {config.m} queries over {config.cells:,} cells, T = n², epsilon = {config.epsilon:g}, "
        f"delta = {config.delta:g}, eps0 by the paper's formula, flat index; {config.seeds} seeds, bands of "
        "one deviation."
    )


EXPERIMENT = Experiment(
    name="n-ablation",
    title="Error against n",
    paper="The error falls with n, alike for MWEM and Fast-MWEM.",
    why=(
        "MWEM and Fast-MWEM draw from one law. With T = n² the noise on a score, R/eps0 = "
        "2 sqrt(ln(1/delta))/epsilon, does not depend on n; what falls is the regret."
    ),
    configs={"tiny": Config(n=(10, 20, 30), m=50, cells=200, seeds=2), "paper": Config()},
    cases=cases,
    measure=measure,
    draw=draw,
    finding=finding,
    caption=caption,
)
