"""Charts as SVG text: bars, heat maps, lines. Colours are the page's CSS variables, so dark mode is free.

Drawn by hand rather than by matplotlib: the files are a tenth of the size, text stays text (for search,
zoom and screen readers), and one drawing serves light, dark and print.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from fastmwem.results.html import number

__all__ = ["bars", "columns", "distribution", "heat_map", "inline", "lines"]

_WIDTH = 340  # of every drawing, in its own units: about the pixels of a card, so that text keeps its size
Floats = NDArray[np.float64]


def distribution(labels: Sequence[str], shares: Floats, bounds: Floats | None = None) -> str:
    """The shares of one column's cells: labelled bars if they are few, a profile if they are many."""
    return bars(labels, shares, bounds) if len(labels) <= 14 else columns(labels, shares, bounds)


def bars(labels: Sequence[str], shares: Floats, bounds: Floats | None = None) -> str:
    """One labelled horizontal bar per cell, its share in percent, and a whisker of +- its bound."""
    left, right, step = _room(labels, 18), 46, 19
    reach = _reach(shares, bounds)
    scale = (_WIDTH - left - right) / reach
    drawn = []
    for k, (label, share) in enumerate(zip(labels, shares, strict=True)):
        y = k * step
        drawn.append(_text(left - 6, y + 13, _short(label), "end"))
        drawn.append(_bar(left, y + 3, max(0.0, share) * scale, 13))
        if bounds is not None:
            low, high = (left + np.clip(share + d, 0, reach) * scale for d in (-bounds[k], bounds[k]))
            drawn.append(_whisker(f"M{low:.1f} {y + 9.5}H{high:.1f}"))
        drawn.append(_text(_WIDTH, y + 13, _percent(share), "end", "soft"))
    spoken = ", ".join(f"{label} {_percent(share)}" for label, share in zip(labels, shares, strict=True))
    return _svg(len(labels) * step + 2, spoken, drawn)


def columns(labels: Sequence[str], shares: Floats, bounds: Floats | None = None) -> str:
    """One thin column per cell, in order, with the first, middle and last cell named."""
    left, top, height = 38, 6, 130
    reach = _reach(shares, bounds)
    width = (_WIDTH - left) / len(shares)
    drawn = _scale(left, _WIDTH, top, height, reach)
    for k, share in enumerate(shares):
        tall = max(0.0, share) / reach * height
        x = left + k * width
        says = f"{labels[k]}: {_percent(share)}"
        drawn.append(_bar(x + width * 0.08, top + height - tall, width * 0.84, tall, says))
        if bounds is not None and len(shares) <= 60:
            ends = np.clip([share - bounds[k], share + bounds[k]], 0, reach) / reach
            low, high = top + height * (1 - ends)
            drawn.append(_whisker(f"M{x + width / 2:.1f} {low:.1f}V{high:.1f}"))
    y = top + height + 14
    middle = len(labels) // 2
    drawn.append(_text(left, y, _short(labels[0], 15), "start", "soft"))
    drawn.append(_text(left + (middle + 0.5) * width, y, _short(labels[middle], 15), "middle", "soft"))
    drawn.append(_text(_WIDTH, y, _short(labels[-1], 15), "end", "soft"))
    peak = int(np.argmax(shares))
    spoken = f"{len(shares)} cells, the largest {labels[peak]} with {_percent(shares[peak])}"
    return _svg(top + height + 20, spoken, drawn)


def heat_map(row_labels: Sequence[str], column_labels: Sequence[str], shares: Floats) -> str:
    """A cell per pair, in more colour the larger its share (which is darker on light, lighter on dark)."""
    rows, cols = shares.shape
    left, below = _room(row_labels, 16), 8 + 0.66 * _room(column_labels, 16)
    width = (_WIDTH - left) / cols
    height = float(np.clip(width, 9 if rows <= 24 else 4, 24))
    peak = max(float(shares.max()), 1e-12)
    drawn = []
    for i in range(rows):
        for j in range(cols):
            share = max(0.0, float(shares[i, j]))
            says = f"{row_labels[i]}, {column_labels[j]}: {_percent(share)}"
            strong = (share / peak) ** 0.6  # so that small shares stay apart from none
            drawn.append(_bar(left + j * width, i * height, width, height, says, strong))
    drawn.append(
        f'<rect class="rule" x="{left}" y="0.5" width="{_WIDTH - left - 0.5}" height="{rows * height:.1f}"/>'
    )
    for i in range(0, rows, int(12 / height + 0.999)):
        drawn.append(_text(left - 5, (i + 0.5) * height + 4, _short(row_labels[i], 16), "end"))
    for j in range(0, cols, int(13 / width + 0.999)):
        x, y = left + (j + 0.5) * width + 3, rows * height + 10
        slanted = _text(0, 0, _short(column_labels[j], 16), "end")
        drawn.append(f'<g transform="translate({x:.1f} {y:.1f}) rotate(-40)">{slanted}</g>')
    i, j = (int(k) for k in np.unravel_index(int(np.argmax(shares)), shares.shape))
    most = _percent(float(shares[i, j]))
    drawn.append(_text(0, rows * height + below + 8, f"fullest colour: {most}", kind="soft"))
    return _svg(
        rows * height + below + 12, f"largest: {row_labels[i]} with {column_labels[j]}, {most}", drawn
    )


def lines(x: Floats, series: Sequence[tuple[str, Floats]], x_name: str) -> str:
    """Shares over rounds, one line per series, named at its right end; twice as wide as other drawings."""
    whole = 2 * _WIDTH
    left, right, top, height = 38, whole - _room([name for name, _ in series], 40), 8, 170
    reach = _reach(np.concatenate([values for _, values in series]), None)
    across = left + (x - x[0]) / max(float(x[-1] - x[0]), 1e-12) * (right - left)
    drawn = _scale(left, right, top, height, reach)
    ends = []
    for name, values in series:
        down = top + height * (1 - np.maximum(values, 0) / reach)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down, strict=True))
        drawn.append(f'<polyline class="line" points="{points}"/>')
        ends.append((float(down[-1]), name))
    free = 0.0
    for y, name in sorted(ends):  # names that would lie on one another move down
        free = max(y + 4, free + 13)
        drawn.append(_text(right + 6, free, _short(name, 40)))
    bottom = max(top + height + 17, free)
    drawn.append(_text(left, top + height + 17, f"{x_name} {number(x[0])} to {number(x[-1])}", kind="soft"))
    return _svg(bottom + 6, f"{len(series)} lines over {x_name}", drawn, whole)


def inline(share: float, bound: float, reach: float) -> str:
    """A bar with its whisker, to stand in a line of a table; `reach` is the end of the scale."""
    width, height = 150, 14
    low, high = (float(np.clip(share + d, 0, reach)) / reach * width for d in (-bound, bound))
    drawn = [_bar(0, 2, max(0.0, share) / reach * width, height - 4)]
    if bound:
        drawn.append(_whisker(f"M{low:.1f} {height / 2}H{high:.1f}"))
    return f'<svg class="inline" viewBox="0 0 {width} {height}" aria-hidden="true">{"".join(drawn)}</svg>'


def _reach(shares: Floats, bounds: Floats | None) -> float:
    """The end of the axis: a little beyond the largest share, and its bound where that is no wider."""
    peak = float(np.max(shares, initial=0.0))
    if bounds is not None:
        peak = min(float(np.max(shares + bounds)), 1.6 * peak)
    return max(peak * 1.04, 1e-12)


def _scale(left: float, right: float, top: float, height: float, reach: float) -> list[str]:
    """Three rules with their values."""
    drawn = []
    for part in (0.0, 0.5, 1.0):
        y = top + height * (1 - part / 1.04)
        drawn.append(f'<path class="rule" d="M{left} {y:.1f}H{right}"/>')
        drawn.append(_text(left - 4, y + 4, _percent(reach * part / 1.04), "end", "soft"))
    return drawn


def _text(x: float, y: float, text: str, anchor: str = "start", kind: str = "") -> str:
    marks = f' class="{kind}"' if kind else ""
    place = f' text-anchor="{anchor}"' if anchor != "start" else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{place}{marks}>{escape(text)}</text>'


def _bar(x: float, y: float, width: float, height: float, says: str = "", strong: float | None = None) -> str:
    opacity = "" if strong is None else f' fill-opacity="{strong:.3f}"'
    inside = f"<title>{escape(says)}</title>" if says else ""
    box = f'x="{x:.2f}" y="{y:.2f}" width="{width:.2f}" height="{height:.2f}"'
    return f'<rect class="bar" {box}{opacity}>{inside}</rect>'


def _whisker(path: str) -> str:
    """A line that also shows on a bar: with a light edge."""
    return f'<path class="halo" d="{path}"/><path class="whisker" d="{path}"/>'


def _percent(share: float) -> str:
    percent = 100 * share
    if 0 < percent < 0.05:
        return "< 0.1%"
    return f"{percent:.0f}%" if percent >= 99.95 or percent <= 0 else f"{percent:.1f}%"


def _room(labels: Sequence[str], longest: int) -> float:
    """What the longest of the labels needs beside a drawing."""
    return 12 + 6.4 * max(len(_short(label, longest)) for label in labels)


def _short(text: str, longest: int = 18) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _svg(height: float, spoken: str, drawn: Iterable[str], width: float = _WIDTH) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height:.0f}" role="img" aria-label="{escape(spoken)}" '
        f'xmlns="http://www.w3.org/2000/svg">{"".join(drawn)}</svg>'
    )
