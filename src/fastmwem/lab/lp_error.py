"""lp-error: the fraction of violated constraints over rounds, by index."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fastmwem.lab.experiment import Experiment
from fastmwem.lab.figures import axes, curve, legend
from fastmwem.lab.lp_setting import LpConfig, LpSetting
from fastmwem.lab.store import Case, Row, Rows
from fastmwem.lab.trace import checkpoints

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT", "Config", "beside_uniform", "caption", "cases", "measure"]

METHODS = ("exhaustive", "flat", "ivf", "hnsw", "lsh", "certified")


@dataclass(frozen=True)
class Config(LpConfig):
    m: tuple[int, ...] = (20_000,)
    seeds: int = 8
    points: int = 40


def cases(config: Config) -> list[Case]:
    return [{"method": method, "seed": seed} for method in METHODS for seed in range(config.seeds)]


def measure(config: Config, case: Case) -> list[Row]:
    """The average x at checkpoints, and the uniform x, which needs no data, beside it."""
    setting = LpSetting(config, config.m[0], case["seed"])
    looked = checkpoints(config.rounds, config.points)
    uniform = setting.violations(np.full(config.dim, 1 / config.dim))
    rows: list[Row] = []

    def watch(t, player):
        if t in looked:
            seen = setting.violations(player.average)
            rows.append(
                {
                    "t": t,
                    "violated": float((seen > config.alpha).mean()),
                    "largest": float(seen.max()),
                    "mean": float(np.maximum(seen, 0).mean()),
                    "uniform_violated": float((uniform > config.alpha).mean()),
                    "uniform_largest": float(uniform.max()),
                    "uniform_mean": float(np.maximum(uniform, 0).mean()),
                }
            )

    setting.run(setting.selector(case["method"]), watch)
    return rows


def beside_uniform(rows: Rows, column: str) -> Rows:
    """`column` less what the uniform x has of it on the same data, which differ more than methods do."""
    return Rows(row | {column: row[column] - row[f"uniform_{column}"]} for row in rows)


def draw(config: Config, rows: Rows) -> Figure:
    figure, (left, right) = axes(2)
    compared = beside_uniform(rows, "violated")
    for method in METHODS:
        curve(left, rows.where(method=method), "t", "violated", method, band=False)
        curve(right, compared.where(method=method), "t", "violated", method)
    uniform = {"color": "#D55E00", "linestyle": "--", "label": "uniform x, without data"}
    curve(left, rows, "t", "uniform_violated", band=False, **uniform)
    right.axhline(0, color=uniform["color"], linestyle="--")
    left.set(xlabel="round t", ylabel=f"fraction violated by > {config.alpha:g}, mean", ylim=(0, None))
    right.set(xlabel="round t", ylabel="the same less that of uniform x")
    legend(figure)
    return figure


def finding(config: Config, rows: Rows) -> str:
    last = rows.where(t=config.rounds)
    parts = [f"{last.where(method=method).mean('violated'):.4f} ({method})" for method in METHODS]
    return (
        f"After {config.rounds:,} rounds the fraction of constraints violated by more than "
        f"{config.alpha:g} is {', '.join(parts)}; the uniform x, which looks at no data, has "
        f"{last.mean('uniform_violated'):.4f}."
    )


def caption(config: Config) -> str:
    return (
        f"A ~ N(0, I) with {config.m[0]:,} rows and {config.dim} columns, b = A x* for x* uniform on the "
        f"simplex, Delta = {config.sensitivity:g}, T = {config.rounds:,}, epsilon = {config.epsilon:g}, "
        f"delta = {config.delta:g}, optimal accounting, certified tails; {config.seeds} seeds, each "
        "with data of its own, bands of one deviation."
    )


EXPERIMENT = Experiment(
    name="lp-error",
    title="Violated constraints of a scalar-private LP, by index",
    paper="The fraction falls over the rounds, alike for all indices.",
    why=(
        "All indices agree, as the law is one. At this Delta the picks are nearly uniform, and theory "
        "promises no more than the uniform x does."
    ),
    configs={"tiny": Config(m=(500,), rounds=200, seeds=2, points=10), "paper": Config()},
    cases=cases,
    measure=measure,
    draw=draw,
    finding=finding,
    caption=caption,
)
