"""speed-up: how many times faster than exhaustive search, by m."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastmwem.lab import index_perf
from fastmwem.lab.experiment import Experiment
from fastmwem.lab.figures import axes, curve, legend, ticks
from fastmwem.lab.index_perf import Config
from fastmwem.lab.store import Case, Rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT"]

FAST = ("ivf", "hnsw", "certified")


def cases(config: Config) -> list[Case]:
    return [{"m": m, "method": method} for m in config.m for method in ("exhaustive", *FAST)]


def factors(rows: Rows) -> Rows:
    """Time of an exhaustive round over that of each method."""
    exhaustive = {row["m"]: row["round"] for row in rows.where(method="exhaustive")}
    fast = (row for row in rows if row["method"] != "exhaustive")
    return Rows(row | {"factor": exhaustive[row["m"]] / row["round"]} for row in fast)


def draw(config: Config, rows: Rows) -> Figure:
    figure, (panel,) = axes()
    compared = factors(rows)
    for method in FAST:
        curve(panel, compared.where(method=method), "m", "factor", method, marker="o", markersize=4)
    panel.axhline(1, color="#555555", linewidth=0.8)
    panel.set(yscale="log", xlabel="number of queries m", ylabel="times faster than exhaustive")
    ticks(panel, config.m)
    legend(figure)
    return figure


def finding(config: Config, rows: Rows) -> str:
    largest = factors(rows).where(m=max(config.m))
    parts = [f"{largest.where(method=method).mean('factor'):,.1f} ({method})" for method in FAST]
    return (
        f"At m = {max(config.m):,} a round is faster than the exhaustive one by factors {', '.join(parts)}."
    )


EXPERIMENT = Experiment(
    name="speed-up",
    title="Speed-up over exhaustive search",
    paper="The factor of Fast-MWEM over exhaustive search grows with m, for IVF and for HNSW.",
    why="Our exhaustive search is an int8 scan with fused noise, a harder yardstick than a float product.",
    measured_as="index-perf",
    configs=index_perf.EXPERIMENT.configs,
    cases=cases,
    measure=index_perf.measure,
    draw=draw,
    finding=finding,
    caption=index_perf.caption,
)
