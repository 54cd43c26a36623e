"""index-perf: the time of a round against m, with the time to build beside it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fastmwem.lab.experiment import Experiment
from fastmwem.lab.figures import axes, curve, legend, ticks
from fastmwem.lab.store import Case, Row, Rows
from fastmwem.lab.trace import Setting, select_with
from fastmwem.lab.workloads import paper_histogram, paper_queries
from fastmwem.privacy.budget import Budget

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT", "Config", "exponent", "measure"]

METHODS = ("exhaustive", "flat", "ivf", "hnsw", "certified")


@dataclass(frozen=True)
class Config:
    cells: int = 3_000
    n: int = 500
    m: tuple[int, ...] = (10_000, 20_000, 50_000, 100_000)
    rounds: int = 20_000
    timed: int = 200  # rounds that are timed
    warm: int = 20  # rounds before, which compile kernels and fill caches
    epsilon: float = 1.0
    delta: float = 1e-3
    accountant: str = "paper"


def cases(config: Config) -> list[Case]:
    return [{"m": m, "method": method} for m in config.m for method in METHODS]


def measure(config: Config, case: Case) -> list[Row]:
    queries = paper_queries(case["m"], config.cells, seed=0)
    counts = paper_histogram(config.n, config.cells, seed=0)
    budget = Budget(config.epsilon, config.delta)
    setting = Setting(queries, counts, config.rounds, budget, config.accountant)
    few = replace(setting, queries=paper_queries(50, config.cells, seed=1))
    select_with(few, case["method"], seed=0)  # loads the libraries: that is not building
    start = time.perf_counter()
    selector = select_with(setting, case["method"], seed=0)
    built = time.perf_counter() - start
    times = []
    setting.run(selector, lambda t, player: times.append(time.perf_counter()), config.warm + config.timed)
    return [{"build": built, "round": float(np.median(np.diff(times)[config.warm - 1 :]))}]


def exponent(rows: Rows, column: str) -> float:
    """The slope of log time over log m."""
    return float(np.polyfit(np.log(rows.column("m")), np.log(rows.column(column)), 1)[0])


def draw(config: Config, rows: Rows) -> Figure:
    figure, (left, right) = axes(2)
    for method in METHODS:
        some = rows.where(method=method)
        curve(left, some, "m", "round", method, marker="o", markersize=4)
        if method in ("ivf", "hnsw", "certified"):
            curve(right, some, "m", "build", method, marker="o", markersize=4)
    for panel, what in ((left, "median time of a round (s)"), (right, "time to build (s)")):
        panel.set(yscale="log", xlabel="number of queries m", ylabel=what)
        ticks(panel, config.m)
    legend(figure)
    return figure


def finding(config: Config, rows: Rows) -> str:
    slopes = [f"{exponent(rows.where(method=method), 'round'):.2f} ({method})" for method in METHODS]
    largest = rows.where(m=max(config.m))
    slow = largest.where(method="exhaustive").mean("round") / largest.where(method="certified").mean("round")
    return (
        f"Fitted exponents of m in the time of a round: {', '.join(slopes)}; at m = {max(config.m):,} a "
        f"certified round is {slow:,.0f} times faster than an exhaustive one, and HNSW takes "
        f"{largest.where(method='hnsw').mean('build'):,.3g} s to build."
    )


def caption(config: Config) -> str:
    return (
        f"{config.cells:,} cells, n = {config.n}, eps0 of T = {config.rounds:,} at "
        f"epsilon = {config.epsilon:g}, delta = {config.delta:g} by the paper's formula; "
        f"median of {config.timed} rounds of probe, pick, "
        "update and average on one machine, indices on one thread, certified tails."
    )


EXPERIMENT = Experiment(
    name="index-perf",
    title="Time of a round, by index",
    paper="IVF and HNSW take time that grows about like sqrt(m); building them is not counted.",
    why="Building is shown. Near-uniform scores need no index at all, which is what `certified` uses.",
    configs={"tiny": Config(cells=200, m=(200, 400, 800), rounds=1_000, timed=40), "paper": Config()},
    cases=cases,
    measure=measure,
    draw=draw,
    finding=finding,
    caption=caption,
)
