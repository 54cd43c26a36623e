"""How figures look: one palette, one way to draw a curve with its band, and reproducible SVG."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastmwem.lab.store import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["axes", "curve", "legend", "save", "style", "ticks"]

# Method -> (colour, label): the legend says whose a line is. Colours tell apart without red against green.
STYLES = {
    "exhaustive": ("#555555", "exhaustive (the paper's MWEM)"),
    "flat": ("#0072B2", "lazy, flat (the paper's)"),
    "ivf": ("#E69F00", "lazy, IVF (the paper's, certified tail)"),
    "hnsw": ("#CC79A7", "lazy, HNSW (the paper's, certified tail)"),
    "lsh": ("#56B4E9", "lazy, LSH (the paper's, certified tail)"),
    "certified": ("#000000", "certified (ours)"),
}


def axes(columns: int = 1, rows: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure with `columns` panels side by side, in `rows` rows; the panels line by line."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.2 + 4.8 * columns, 3.9 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).ravel()
    for panel in panels:
        panel.grid(True, alpha=0.3, linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
    return figure, list(panels)


def style(method: str) -> dict[str, Any]:
    """Colour and label of a method's line."""
    return dict(zip(("color", "label"), STYLES[method], strict=True))


def curve(
    panel: Axes, rows: Rows, x: str, y: str, method: str | None = None, band: bool = True, **looks: Any
) -> None:
    """The mean of y along x, with a band of one standard deviation where there are several rows to an x."""
    looks = {"linewidth": 1.6} | (style(method) if method else {}) | looks
    xs, means, low, high = rows.along(x, y)
    (line,) = panel.plot(xs, means, **looks)
    if band and (high > low).any():
        panel.fill_between(xs, low, high, color=line.get_color(), alpha=0.12, linewidth=0)


def legend(figure: Figure) -> None:
    """One legend for all panels, below them, each label once; the figure grows by what it takes."""
    lines = [zip(*panel.get_legend_handles_labels(), strict=True) for panel in figure.axes]
    found = {label: line for panel in lines for line, label in panel}
    columns = int(figure.get_figwidth() // 2.9)
    figure.set_figheight(figure.get_figheight() + 0.2 * math.ceil(len(found) / columns))
    figure.legend(
        found.values(), found.keys(), loc="outside lower center", ncols=columns, frameon=False, fontsize=8
    )


def ticks(panel: Axes, values: Iterable[float]) -> None:
    """Written-out ticks at the values that were measured, on a logarithmic x axis."""
    panel.set_xscale("log")
    panel.set_xticks(list(values), [f"{value:,.0f}" if value >= 1 else f"{value:g}" for value in values])
    panel.minorticks_off()


def save(figure: Figure, path: Path) -> None:
    """SVG without dates or random ids: the same data give the same file."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "fastmwem", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
