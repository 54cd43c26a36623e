"""useful-regime: error and work from near-uniform picks to concentrated ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fastmwem.lab.experiment import Experiment
from fastmwem.lab.figures import axes, curve, legend, ticks
from fastmwem.lab.lp_setting import LpConfig, LpSetting
from fastmwem.lab.store import Case, Row, Rows
from fastmwem.lab.trace import Setting, select_with
from fastmwem.lab.workloads import paper_histogram, paper_queries
from fastmwem.privacy.budget import Budget

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

ACCOUNTANTS = {
    "paper": ("#D55E00", "eps0 by the paper's formula"),
    "optimal": ("#000000", "eps0 by optimal accounting (ours)"),
}


@dataclass(frozen=True)
class Config:
    n: tuple[int, ...] = (500, 2_000, 10_000, 50_000, 200_000)
    m: int = 10_000
    cells: int = 3_000
    rounds: int = 2_000
    sensitivities: tuple[float, ...] = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001)
    constraints: int = 20_000
    seeds: int = 3
    epsilon: float = 1.0
    delta: float = 1e-3


def cases(config: Config) -> list[Case]:
    varied = [("release", n) for n in config.n] + [("lp", value) for value in config.sensitivities]
    return [
        {"part": part, "value": float(value), "accountant": name, "seed": seed}
        for part, value in varied
        for name in ACCOUNTANTS
        for seed in range(config.seeds)
    ]


def measure(config: Config, case: Case) -> list[Row]:
    return release(config, case) if case["part"] == "release" else program(config, case)


def release(config: Config, case: Case) -> list[Row]:
    """The last error, that of the uniform distribution, and the scores evaluated per round."""
    queries = paper_queries(config.m, config.cells, case["seed"])
    counts = paper_histogram(int(case["value"]), config.cells, case["seed"])
    budget = Budget(config.epsilon, config.delta)
    setting = Setting(queries, counts, config.rounds, budget, case["accountant"])
    selector = select_with(setting, "certified", case["seed"])
    found: list[float] = []

    def watch(t, player):
        if t == config.rounds:
            found.append(setting.error(queries.answers(player.output("average"))))

    setting.run(selector, watch)
    uniform = setting.error(queries.answers(np.full(config.cells, 1 / config.cells)))
    work = selector.diagnostics["evaluations"] / config.rounds
    return [{"error": found[0], "uniform": uniform, "evaluations": work}]


def program(config: Config, case: Case) -> list[Row]:
    """The largest violation of the average x and of the uniform one, and the scores evaluated per round."""
    lp = LpConfig(
        (config.constraints,),
        rounds=config.rounds,
        sensitivity=case["value"],
        epsilon=config.epsilon,
        delta=config.delta,
    )
    setting = replace(LpSetting(lp, config.constraints, case["seed"]), accountant=case["accountant"])
    selector = setting.selector("certified")
    found: list[float] = []

    def watch(t, player):
        if t == config.rounds:
            found.append(float(setting.violations(player.average).max()))

    setting.run(selector, watch)
    uniform = float(setting.violations(np.full(lp.dim, 1 / lp.dim)).max())
    work = selector.diagnostics["evaluations"] / config.rounds
    return [{"error": found[0], "uniform": uniform, "evaluations": work}]


def draw(config: Config, rows: Rows) -> Figure:
    figure, panels = axes(3)
    for name, (colour, label) in ACCOUNTANTS.items():
        for panel, part in ((panels[0], "release"), (panels[2], "lp")):
            some = rows.where(part=part, accountant=name)
            curve(panel, some, "value", "error", color=colour, label=label, marker="o", markersize=4)
        some = rows.where(part="release", accountant=name)
        curve(panels[1], some, "value", "evaluations", color=colour, label=label, marker="o", markersize=4)
    for panel, part in ((panels[0], "release"), (panels[2], "lp")):
        curve(
            panel,
            rows.where(part=part),
            "value",
            "uniform",
            color="#555555",
            linestyle="--",
            label="uniform, without data",
        )
    panels[0].set(yscale="log", xlabel="number of rows n", ylabel="largest error (fraction of n)")
    panels[1].set(yscale="log", xlabel="number of rows n", ylabel="scores evaluated per round")
    panels[2].set(xlabel="Delta, by which b may move", ylabel="largest violation of a constraint")
    for panel, values in zip(panels, (config.n, config.n, config.sensitivities), strict=True):
        ticks(panel, values)
    legend(figure)
    return figure


def finding(config: Config, rows: Rows) -> str:
    ours = rows.where(part="release", accountant="optimal")
    small, large = (ours.where(value=float(n)) for n in (min(config.n), max(config.n)))
    lp = rows.where(part="lp", accountant="optimal")
    better = [
        value
        for value in config.sensitivities
        if lp.where(value=value).mean("error") < lp.where(value=value).mean("uniform")
    ]
    where = f"from Delta = {max(better):g} down" if better else "at no Delta shown"
    if better and better != [value for value in config.sensitivities if value <= max(better)]:
        where = f"at Delta = {', '.join(f'{value:g}' for value in better)}"
    return (
        f"From n = {min(config.n):,} to {max(config.n):,} the error falls from {small.mean('error'):.4f} to "
        f"{large.mean('error'):.4f} and the work rises from {small.mean('evaluations'):.1f} to "
        f"{large.mean('evaluations'):,.1f} evaluations a round; the private LP beats the uniform x {where}."
    )


def caption(config: Config) -> str:
    return (
        f"Left and middle: m = {config.m:,} queries over {config.cells:,} cells, T = {config.rounds:,}. "
        f"Right: A ~ N(0, I) with {config.constraints:,} rows and 20 columns, b = A x*. "
        f"epsilon = {config.epsilon:g}, delta = {config.delta:g}, certified selection; {config.seeds} seeds, "
        "bands of one deviation."
    )


EXPERIMENT = Experiment(
    name="useful-regime",
    title="From near-uniform picks to concentrated ones",
    paper="",
    why="The paper's parameters lie where picks are nearly uniform: fast, but little is learnt.",
    configs={
        "tiny": Config(
            n=(100, 1_000, 10_000),
            m=200,
            cells=200,
            rounds=300,
            sensitivities=(0.1, 0.01, 0.001),
            constraints=500,
            seeds=2,
        ),
        "paper": Config(),
    },
    cases=cases,
    measure=measure,
    draw=draw,
    finding=finding,
    caption=caption,
)
