"""error-diff: does lazy sampling change the error? It must not: the law of every pick is the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastmwem.lab.experiment import Experiment
from fastmwem.lab.figures import axes, curve, legend
from fastmwem.lab.store import Case, Row, Rows
from fastmwem.lab.trace import Setting, checkpoints, select_with
from fastmwem.lab.workloads import paper_histogram, paper_queries
from fastmwem.privacy.budget import Budget

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]


@dataclass(frozen=True)
class Config:
    cells: int = 3_000
    n: int = 500
    m: tuple[int, ...] = (200, 500, 1_000)
    rounds: int = 20_000
    seeds: int = 5
    points: int = 40
    epsilon: float = 1.0
    delta: float = 1e-3
    accountant: str = "paper"


def cases(config: Config) -> list[Case]:
    methods = ("exhaustive", "flat")
    seeds = range(config.seeds)
    return [
        {"m": m, "method": method, "seed": seed} for m in config.m for method in methods for seed in seeds
    ]


def measure(config: Config, case: Case) -> list[Row]:
    queries = paper_queries(case["m"], config.cells, case["seed"])
    counts = paper_histogram(config.n, config.cells, case["seed"])
    budget = Budget(config.epsilon, config.delta)
    setting = Setting(queries, counts, config.rounds, budget, config.accountant)
    looked = checkpoints(config.rounds, config.points)
    rows: list[Row] = []

    def watch(t, player):
        if t in looked:
            rows.append({"t": t, "error": setting.error(queries.answers(player.output("average")))})

    setting.run(select_with(setting, case["method"], case["seed"]), watch)
    return rows


def differences(rows: Rows) -> Rows:
    """Error of Fast-MWEM minus that of MWEM, with the same data and queries."""
    exhaustive = {(row["m"], row["seed"], row["t"]): row["error"] for row in rows.where(method="exhaustive")}
    return Rows(
        row | {"difference": row["error"] - exhaustive[row["m"], row["seed"], row["t"]]}
        for row in rows.where(method="flat")
    )


def draw(config: Config, rows: Rows) -> Figure:
    figure, (left, right) = axes(2)
    compared = differences(rows)
    for m, colour in zip(config.m, ("#0072B2", "#E69F00", "#000000"), strict=True):
        curve(left, compared.where(m=m), "t", "difference", label=f"m = {m:,}", color=colour)
        for method, style in (("exhaustive", "--"), ("flat", "-")):
            some = rows.where(m=m, method=method)
            label = f"{'MWEM' if method == 'exhaustive' else 'Fast-MWEM'} (the paper's), m = {m:,}"
            curve(right, some, "t", "error", label=label, color=colour, linestyle=style)
    left.axhline(0, color="#555555", linewidth=0.8)
    left.set(xlabel="round t", ylabel="Fast-MWEM minus MWEM (fraction of n)")
    right.set(xlabel="round t", ylabel="largest error (fraction of n)")
    legend(figure)
    return figure


def finding(config: Config, rows: Rows) -> str:
    last = differences(rows).where(t=config.rounds)
    parts = []
    for m in config.m:
        some = last.where(m=m).column("difference")
        parts.append(f"{some.mean():+.4f} ± {some.std(ddof=1):.4f} at m = {m:,}")
    return (
        "Fast-MWEM and MWEM draw from the same law; at the last round their errors differ by "
        + ", ".join(parts)
        + f" (mean and deviation over {config.seeds} seeds)."
    )


def caption(config: Config) -> str:
    return (
        f"{config.cells:,} cells, n = {config.n}, T = {config.rounds:,}, epsilon = {config.epsilon:g}, "
        f"delta = {config.delta:g}, eps0 by the paper's formula; flat index, k = sqrt(2m), exact tail; "
        f"{config.seeds} seeds, bands of one standard deviation."
    )


EXPERIMENT = Experiment(
    name="error-diff",
    title="Error of Fast-MWEM against MWEM",
    paper="The difference in error is close to 0 throughout.",
    why="None expected: lazy sampling with an exact index has the law of the exhaustive mechanism.",
    configs={
        "tiny": Config(cells=200, n=200, m=(50, 100, 200), rounds=300, seeds=2, points=10),
        "paper": Config(),
    },
    cases=cases,
    measure=measure,
    draw=draw,
    finding=finding,
    caption=caption,
)
