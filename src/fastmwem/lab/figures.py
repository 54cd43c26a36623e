"""How figures look: one palette, one way to draw a curve with its band, and reproducible SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastmwem.lab.store import Rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["axes", "curve", "legend", "save"]

# Method -> (colour, label): the legend says whose a line is. Colours tell apart without red against green.
STYLES = {
    "exhaustive": ("#555555", "exhaustive (the paper's MWEM)"),
    "flat": ("#0072B2", "lazy, flat (the paper's)"),
    "ivf": ("#E69F00", "lazy, IVF (the paper's, certified tail)"),
    "hnsw": ("#CC79A7", "lazy, HNSW (the paper's, certified tail)"),
    "lsh": ("#56B4E9", "lazy, LSH (the paper's, certified tail)"),
    "certified": ("#000000", "certified (ours)"),
}


def axes(columns: int = 1) -> tuple[Figure, list[Axes]]:
    """A figure with `columns` panels side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.2 + 4.8 * columns, 3.9), layout="constrained")
    panels = figure.subplots(1, columns, squeeze=False)[0]
    for panel in panels:
        panel.grid(True, alpha=0.3, linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
    return figure, list(panels)


def curve(panel: Axes, rows: Rows, x: str, y: str, method: str | None = None, **style: Any) -> None:
    """The mean of y along x, with a band of one standard deviation where there are several rows to an x."""
    if method is not None:
        colour, label = STYLES[method]
        style = {"color": colour, "label": label} | style
    style.setdefault("linewidth", 1.6)
    xs, means, low, high = rows.along(x, y)
    (line,) = panel.plot(xs, means, **style)
    if (high > low).any():
        panel.fill_between(xs, low, high, color=line.get_color(), alpha=0.18, linewidth=0)


def legend(panel: Axes, **options: Any) -> None:
    panel.legend(frameon=False, fontsize=8, **options)


def save(figure: Figure, path: Path) -> None:
    """SVG without dates or random ids: the same data give the same file."""
    import matplotlib as mpl

    with mpl.rc_context({"svg.hashsalt": "fastmwem", "svg.fonttype": "none", "font.family": "sans-serif"}):
        figure.savefig(path, format="svg", metadata={"Date": None, "Creator": None})
