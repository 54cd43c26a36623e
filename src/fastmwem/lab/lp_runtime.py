"""lp-runtime: the time of a whole run of a scalar-private LP against m, with and without building."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fastmwem.lab.experiment import Experiment
from fastmwem.lab.figures import axes, curve, legend, ticks
from fastmwem.lab.lp_setting import LpConfig, LpSetting
from fastmwem.lab.store import Case, Row, Rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

METHODS = ("exhaustive", "flat", "ivf", "hnsw", "certified")
SCANS = ("exhaustive", "flat")


@dataclass(frozen=True)
class Config(LpConfig):
    m: tuple[int, ...] = (300_000, 600_000, 1_500_000)
    scanned: int = 500  # rounds of the methods that look at every row: all cost the same


def cases(config: Config) -> list[Case]:
    return [{"m": m, "method": method} for m in config.m for method in METHODS]


def measure(config: Config, case: Case) -> list[Row]:
    warm = LpSetting(config, 100, 0)  # loads libraries and compiles kernels: that is not building
    warm.run(warm.selector(case["method"]), lambda t, player: None, rounds=3)
    setting = LpSetting(config, case["m"], 0)
    setting.violations(np.full(config.dim, 1 / config.dim))  # made, and in memory
    start = time.perf_counter()
    selector = setting.selector(case["method"])
    built = time.perf_counter() - start
    rounds = min(config.scanned, config.rounds) if case["method"] in SCANS else config.rounds
    run = setting.run(selector, lambda t, player: None, rounds) * config.rounds / rounds
    return [{"build": built, "run": run, "total": built + run}]


def draw(config: Config, rows: Rows) -> Figure:
    figure, panels = axes(2)
    shown = (("run", "run without building (s)"), ("total", "run with building (s)"))
    for panel, (column, what) in zip(panels, shown, strict=True):
        for method in METHODS:
            curve(panel, rows.where(method=method), "m", column, method, marker="o", markersize=4)
        panel.set(yscale="log", xlabel="number of constraints m", ylabel=what)
        ticks(panel, config.m)
    legend(figure)
    return figure


def finding(config: Config, rows: Rows) -> str:
    largest = rows.where(m=max(config.m))

    def times(column: str) -> str:
        return ", ".join(f"{largest.where(method=name).mean(column):,.3g} s ({name})" for name in METHODS)

    return (
        f"At m = {max(config.m):,} a run of {config.rounds:,} rounds takes {times('run')}, and with building "
        f"{times('total')}."
    )


def caption(config: Config) -> str:
    return (
        f"A ~ N(0, I) with {config.dim} columns, Delta = {config.sensitivity:g}, T = {config.rounds:,}, "
        f"epsilon = {config.epsilon:g}, delta = {config.delta:g}, optimal accounting, certified tails, one "
        f"thread. Exhaustive search and the flat index, whose rounds all cost the same, were timed over "
        f"{config.scanned:,} rounds and scaled to T."
    )


EXPERIMENT = Experiment(
    name="lp-runtime",
    title="Time of a scalar-private LP",
    paper="IVF and HNSW are faster than exhaustive search, the more so the larger m; building is left out.",
    why="Building is shown beside it; `certified` builds nothing.",
    configs={"tiny": Config(m=(500, 1_000, 2_000), rounds=100, scanned=50), "paper": Config()},
    cases=cases,
    measure=measure,
    draw=draw,
    finding=finding,
    caption=caption,
)
