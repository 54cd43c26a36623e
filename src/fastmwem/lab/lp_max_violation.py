"""lp-max-violation: the largest violation over rounds, by index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastmwem.lab import lp_error
from fastmwem.lab.experiment import Experiment
from fastmwem.lab.figures import axes, curve, legend
from fastmwem.lab.lp_error import METHODS, Config
from fastmwem.lab.store import Rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]


SHOWN = (("mean", "mean excess"), ("largest", "largest violation"))


def draw(config: Config, rows: Rows) -> Figure:
    figure, panels = axes(2)
    for panel, (column, what) in zip(panels, SHOWN, strict=True):
        compared = lp_error.beside_uniform(rows, column)
        for method in METHODS:
            curve(panel, compared.where(method=method), "t", column, method)
        panel.axhline(0, color="#D55E00", linestyle="--", label="uniform x, without data")
        panel.set(xlabel="round t", ylabel=f"{what}, less that of uniform x")
    legend(figure)
    return figure


def finding(config: Config, rows: Rows) -> str:
    last = rows.where(t=config.rounds)

    def found(column: str) -> str:
        return ", ".join(f"{last.where(method=method).mean(column):.3f} ({method})" for method in METHODS)

    return (
        f"After {config.rounds:,} rounds the largest violation is {found('largest')}, against "
        f"{last.mean('uniform_largest'):.3f} for the uniform x; the mean excess is {found('mean')}, against "
        f"{last.mean('uniform_mean'):.3f}."
    )


EXPERIMENT = Experiment(
    name="lp-max-violation",
    title="Error and largest violation of a scalar-private LP, by index",
    paper="Error and largest violation are alike for all indices.",
    why="The same runs as in lp-error; the tails are certified, so the indices differ by chance only.",
    measured_as="lp-error",
    configs=lp_error.EXPERIMENT.configs,
    cases=lp_error.cases,
    measure=lp_error.measure,
    draw=draw,
    finding=finding,
    caption=lp_error.caption,
)
