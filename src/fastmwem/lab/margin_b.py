"""margin-B: how many candidates outside S lazy sampling looks at, round by round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fastmwem.lab.experiment import Experiment
from fastmwem.lab.figures import axes, legend
from fastmwem.lab.store import Case, Row, Rows
from fastmwem.lab.trace import Setting, select_with
from fastmwem.lab.workloads import paper_histogram, paper_queries
from fastmwem.privacy.budget import Budget

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]


@dataclass(frozen=True)
class Config:
    cells: int = 3_000
    n: int = 500
    m: tuple[int, ...] = (500, 2_000, 20_000)
    rounds: int = 500
    epsilon: float = 1.0
    delta: float = 1e-3
    accountant: str = "paper"


def cases(config: Config) -> list[Case]:
    return [{"m": m} for m in config.m]


def measure(config: Config, case: Case) -> list[Row]:
    queries = paper_queries(case["m"], config.cells, seed=0)
    counts = paper_histogram(config.n, config.cells, seed=0)
    budget = Budget(config.epsilon, config.delta)
    setting = Setting(queries, counts, config.rounds, budget, config.accountant)
    selector = select_with(setting, "flat", seed=0)
    rows: list[Row] = []
    setting.run(selector, lambda t, player: rows.append({"t": t, "C": int(selector.diagnostics["C"])}))
    return rows


def draw(config: Config, rows: Rows) -> Figure:
    figure, (left, right) = axes(2)
    for m, colour in zip(config.m, ("#0072B2", "#E69F00", "#000000"), strict=True):
        some = rows.where(m=m)
        t, c = some.column("t"), some.column("C")
        dots = {"color": colour, "markersize": 2.5, "linestyle": "none", "marker": "o"}
        left.plot(t, c + 1, label=f"m = {m:,}", **dots)
        left.axhline(np.sqrt(2 * m) + 1, color=colour, linewidth=1)
        right.plot(t, (c + 1) / (2 * m), label=f"m = {m:,}", **dots)
        right.axhline((np.sqrt(2 * m) + 1) / (2 * m), color=colour, linewidth=1)
    left.set(yscale="log", xlabel="round t", ylabel="1 + C (line: 1 + sqrt(2m))")
    right.set(yscale="log", xlabel="round t", ylabel="(1 + C) / 2m (line: (1 + sqrt(2m)) / 2m)")
    legend(figure)
    return figure


def finding(config: Config, rows: Rows) -> str:
    parts = []
    for m in config.m:
        c = rows.where(m=m).column("C")
        parts.append(f"{c.mean():.0f} at m = {m:,} (sqrt(2m) = {np.sqrt(2 * m):.0f})")
    return f"Over {config.rounds} rounds C is on average {', '.join(parts)}."


def caption(config: Config) -> str:
    return (
        "C, the number of signed queries outside the top k = sqrt(2m) whose noise exceeds the margin B, in "
        f"each of T = {config.rounds} rounds; {config.cells:,} cells, n = {config.n}, "
        f"epsilon = {config.epsilon:g}, delta = {config.delta:g}, eps0 by the paper's formula, flat index."
    )


EXPERIMENT = Experiment(
    name="margin-B",
    title="Candidates outside the top k",
    paper="C stays near sqrt(m) in every round.",
    why="We count signed queries, 2m of them; as S holds the best k, it is expected to be below 2m/k.",
    configs={"tiny": Config(cells=200, m=(100, 400, 1_600), rounds=100), "paper": Config()},
    cases=cases,
    measure=measure,
    draw=draw,
    finding=finding,
    caption=caption,
)
