"""lp-index-comparison: from how many rounds on building an index has paid for itself."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fastmwem.lab import lp_runtime
from fastmwem.lab.experiment import Experiment
from fastmwem.lab.figures import axes, legend, style
from fastmwem.lab.lp_runtime import METHODS, Config
from fastmwem.lab.store import Row, Rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT", "pays_after"]

BUILT = ("ivf", "hnsw")


def pays_after(built: Row, other: Row, rounds: int) -> float:
    """The rounds after which building has paid: build + r * round = other's build + r * its round."""
    saved = (other["run"] - built["run"]) / rounds
    return (built["build"] - other["build"]) / saved if saved > 0 else math.inf


def largest(config: Config, rows: Rows) -> dict[str, Row]:
    return {row["method"]: row for row in rows.where(m=max(config.m))}


def draw(config: Config, rows: Rows) -> Figure:
    figure, (panel,) = axes()
    at = np.geomspace(1, 100 * config.rounds, 200)
    for method, row in largest(config, rows).items():
        panel.plot(at, row["build"] + at * row["run"] / config.rounds, linewidth=1.6, **style(method))
    panel.axvline(config.rounds, color="#555555", linewidth=0.8)
    panel.annotate(
        f" T = {config.rounds:,}", (config.rounds, 0.01), xycoords=("data", "axes fraction"), fontsize=8
    )
    panel.set(xscale="log", yscale="log", xlabel="rounds", ylabel="time to build and to run so many (s)")
    legend(figure)
    return figure


def finding(config: Config, rows: Rows) -> str:
    found = largest(config, rows)
    parts = []
    for method in BUILT:
        after = pays_after(found[method], found["exhaustive"], config.rounds)
        when = "never pays" if math.isinf(after) else f"pays after {max(after, 0):,.0f} rounds"
        parts.append(f"building {method} ({found[method]['build']:,.3g} s) {when}")
    fast = [name for name in METHODS if found[name]["total"] <= found["certified"]["total"]]
    best = "no method is faster in total" if fast == ["certified"] else f"{fast[0]} is faster in total"
    return (
        f"At m = {max(config.m):,}, against exhaustive search, {' and '.join(parts)}; than certified "
        f"selection, {best} at T = {config.rounds:,}."
    )


EXPERIMENT = Experiment(
    name="lp-index-comparison",
    title="When an index has paid for itself",
    paper="Of the indices, the approximate ones take least time; building is left out.",
    why="A run of T rounds needs the index built first, once for every private b or A that changes it.",
    measured_as="lp-runtime",
    configs=lp_runtime.EXPERIMENT.configs,
    cases=lp_runtime.cases,
    measure=lp_runtime.measure,
    draw=draw,
    finding=finding,
    caption=lp_runtime.caption,
)
