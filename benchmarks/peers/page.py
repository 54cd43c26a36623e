"""docs/benchmarks.md and its pictures, from results.parquet alone: `python -m benchmarks.peers.page`."""

from __future__ import annotations

import math
import re
import sys
import textwrap
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.peers.run import RESULTS, Row, read
from fastmwem.lab.figures import axes, legend, save

__all__ = ["Group", "Verdict", "charts", "groups", "main", "page", "verdict"]

DOCS = Path(__file__).parents[2] / "docs"
AUTO = "fastmwem auto"
SLACK, FASTER = 1.05, 10.0  # the bars: error at most 1.05 times the best, time at most a tenth


@dataclass(frozen=True)
class Group:
    """All runs of one method on one workload."""

    rows: tuple[Row, ...]

    def __getattr__(self, name: str) -> Any:
        return self.rows[0][name]

    @property
    def ok(self) -> list[Row]:
        return [row for row in self.rows if row["status"] == "ok"]

    def of(self, column: str) -> float | None:
        """The median of a column over the runs that came through."""
        values = [row[column] for row in self.ok if row[column] is not None]
        return median(values) if values else None

    def error(self, which: str) -> float | None:
        """Of its model or of its rows, whichever is smaller."""
        found = (self.of(f"{which}_error"), self.of(f"rows_{which}_error"))
        return min((error for error in found if error is not None), default=None)


def groups(rows: Iterable[Row]) -> dict[str, dict[str, Group]]:
    """workload -> method -> its runs, in the order of the file."""
    found: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        found.setdefault(row["workload"], {}).setdefault(row["method"], []).append(row)
    return {w: {m: Group(tuple(rows)) for m, rows in by.items()} for w, by in found.items()}


@dataclass(frozen=True)
class Verdict:
    """`auto` against the bars on one workload."""

    max_ratio: float
    max_best: Group
    mean_ratio: float
    mean_best: Group
    rival: Group | None  # the fastest peer within twice our errors
    speed: float | None  # how many times our time it took

    @property
    def met(self) -> bool:
        fast = self.speed is None or self.speed >= FASTER
        return self.max_ratio <= SLACK and self.mean_ratio <= SLACK and fast


def verdict(methods: dict[str, Group]) -> Verdict | None:
    """None if `auto`, or everyone else, has not come through."""
    ours = methods.get(AUTO)
    others = [g for g in methods.values() if g.group != "ours" and g.error("max") is not None]
    if ours is None or not ours.ok or not others:
        return None
    errors = {which: number(ours.error(which)) for which in ("max", "mean")}
    best = {which: min(others, key=lambda g: number(g.error(which))) for which in errors}
    ratio = {which: errors[which] / number(best[which].error(which)) for which in errors}
    peers = [
        g for g in others if g.group == "peer" and all(number(g.error(w)) <= 2 * errors[w] for w in errors)
    ]
    rival = min(peers, key=lambda g: number(g.of("cpu")), default=None)
    speed = None if rival is None else number(rival.of("cpu")) / number(ours.of("cpu"))
    return Verdict(ratio["max"], best["max"], ratio["mean"], best["mean"], rival, speed)


def number(value: float | None) -> float:
    return float("inf") if value is None else value


# ------------------------------------------------------------------ text

TEMPLATE = Path(__file__).with_suffix(".md")  # the prose, and where the tables go

# Why a bar is missed; a test asks for a line here for each workload that misses one.
_BIAS = (
    "Sums of noisy cells are unbiased, but come from no table. `histogram` hands out a model without "
    "negative cells, which takes cells of a few people for noise: queries over whole regions notice, on "
    "average though not at worst."
)
WHY = {"paper n=1e5": _BIAS}


def page(rows: list[Row]) -> str:
    """The prose with tables and verdicts in their places."""
    found = groups(rows)
    parts = {
        "limit": " or ".join(f"{limit:g}" for limit in sorted({row["limit"] for row in rows})),
        "slack": f"{SLACK:g}",
        "summary": summary(found),
        "versions": versions(rows),
    }
    for kind in ("marginals", "ranges", "matrix", "program"):
        chosen = {name: methods for name, methods in found.items() if first(methods).kind == kind}
        parts[kind] = "\n".join(section(name, methods) for name, methods in chosen.items())
    return re.sub(r"<!-- (\w+) -->", lambda place: parts[place[1]].strip(), TEMPLATE.read_text())


def first(methods: dict[str, Group]) -> Group:
    return next(iter(methods.values()))


def summary(found: dict[str, dict[str, Group]]) -> str:
    """A line for each workload: `auto` against the best others."""
    heads = ["workload", "largest error", "× best", "mean error", "× best", "time", "× peer", "bars"]
    lines = []
    for name, methods in found.items():
        ours, judged = methods.get(AUTO), verdict(methods)
        if ours is None or judged is None:
            continue
        lines.append(
            [
                name,
                figure(ours.error("max")),
                f"{judged.max_ratio:.2f}",
                figure(ours.error("mean")),
                f"{judged.mean_ratio:.2f}",
                seconds(ours.of("cpu")),
                times(judged.speed),
                "met" if judged.met else "**missed**",
            ]
        )
    return tabled(heads, lines) + (
        "\n*× best*: our error as a multiple of the best other's. *× peer*: the time of the fastest peer "
        "within twice our errors, as a multiple of ours; – where there is none.\n"
    )


CELLS: dict[str, Callable[[Group], str]] = {
    "method": lambda group: named(group),
    "runs": lambda group: str(len(group.ok) or ""),
    "largest error": lambda group: figure(group.of("max_error")),
    "mean error": lambda group: figure(group.of("mean_error")),
    "on rows": lambda group: both(group.of("rows_max_error"), group.of("rows_mean_error")),
    "time": lambda group: seconds(group.of("cpu")) if group.ok else outcome(group),
    "wall": lambda group: seconds(group.of("wall")),
    "import": lambda group: seconds(group.of("import")),
    "memory": lambda group: f"{group.of('peak'):,.0f} MB" if group.ok else "",
}


def section(name: str, methods: dict[str, Group]) -> str:
    """One workload: what is asked, its table, its verdict."""
    one = first(methods)
    size = f"{one.queries:,} queries, {one.cells:,} cells, {one.people:,} people"
    if one.kind == "program":
        size = f"{one.queries:,} rows, {one.cells:,} variables"
    asked = f"{one.said[0].upper()}{one.said[1:]}: {size}"
    guarantee = f"ε = {one.epsilon:g}, δ = {power(one.delta)}, {one.neighbours}"
    heads = [head for head in CELLS if one.kind != "program" or "rows" not in head]
    lines = [[CELLS[head](group) for head in heads] for group in methods.values()]
    return f"### {name}\n\n{asked}; {guarantee}.\n\n{tabled(heads, lines)}\n{judgement(name, methods)}\n"


def named(group: Group) -> str:
    """The method, and what it chose if it chose."""
    chosen = sorted({row["note"] for row in group.ok if row["note"]} - {group.method.split()[-1]})
    name = f"**{group.method}**" if group.method == AUTO else group.method
    pure = " (δ = 0)" if group.guarantee == "epsilon" and group.group != "ours" else ""
    return name + pure + (f": {'; '.join(chosen)}" if chosen else "")


def outcome(group: Group) -> str:
    row = group.rows[0]
    if row["status"] == "cut off":
        return f"> {row['limit']:g} s"
    return f"{row['status']}: {row['note']}"


def judgement(name: str, methods: dict[str, Group]) -> str:
    judged = verdict(methods)
    if judged is None:
        return ""
    said = (
        f"Largest error {judged.max_ratio:.2f} times that of the best other ({judged.max_best.method}), mean "
        f"error {judged.mean_ratio:.2f} times ({judged.mean_best.method}); "
    )
    if judged.rival is not None:
        said += f"the fastest peer within twice our errors, {judged.rival.method}, "
        said += f"takes {times(judged.speed)} our time. "
    elif any(group.group == "peer" for group in methods.values()):
        said += "no peer that was measured comes within twice our errors. "
    else:
        said += "no peer takes part. "
    return said + ("**All bars met.**" if judged.met else f"**A bar is missed.** {WHY.get(name, '')}") + "\n"


def versions(rows: list[Row]) -> str:
    """What was measured, and on what."""
    lines = []
    packages = dict.fromkeys(row["package"] for row in rows)
    for package in packages:
        of = [row for row in rows if row["package"] == package]
        made = [row for row in of if row["version"]]
        if made:
            told = sorted({(row["version"], row["with"]) for row in made})
            lines += [[package, version, others] for version, others in told]
        else:
            lines.append([package, "–", f"could not be run: {of[0]['note']}"])
    return tabled(["package", "version", "with"], lines)


def tabled(heads: list[str], lines: list[list[str]]) -> str:
    rows = [heads, ["---"] * len(heads), *lines]
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def times(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:,.1f} ×" if ratio < 10 else f"{ratio:,.0f} ×"


def both(largest: float | None, mean: float | None) -> str:
    return "" if largest is None else f"{figure(largest)}, {figure(mean)}"


def figure(value: float | None) -> str:
    """Three digits, as errors are compared.

    >>> figure(0.000242), figure(1.2345), figure(2.3e-05), figure(None)
    ('0.000242', '1.23', '2.30 · 10⁻⁵', '')
    """
    if value is None:
        return ""
    if value == 0 or value >= 1e-4:
        return f"{value:.3g}"
    digits, exponent = f"{value:.2e}".split("e")
    return f"{digits} · {power(10.0 ** int(exponent))}"


def seconds(value: float | None) -> str:
    """
    >>> seconds(0.0001), seconds(0.0123), seconds(3.21), seconds(123.4)
    ('< 0.01 s', '0.01 s', '3.2 s', '123 s')
    """
    if value is None:
        return ""
    if value < 0.005:
        return "< 0.01 s"
    return f"{value:.2f} s" if value < 1 else f"{value:.1f} s" if value < 20 else f"{value:.0f} s"


def power(value: float) -> str:
    """
    >>> power(1e-6)
    '10⁻⁶'
    """
    return "10" + str(round(math.log10(value))).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


# ------------------------------------------------------------------ pictures

# Colours tell packages apart without red against green; markers their methods.
LOOKS = {
    "fastmwem": "#000000",
    "mbi": "#0072B2",
    "opendp": "#E69F00",
    "dpmm": "#CC79A7",
    "smartnoise-synth": "#009E73",
    "numpy": "#888888",
}
MARKERS = "osD^vPX*<>"


def charts(rows: list[Row]) -> dict[str, Any]:
    """Name of the file -> figure."""
    found = groups(rows)
    marginals = {name: by for name, by in found.items() if first(by).kind == "marginals"}
    queries = {name: by for name, by in found.items() if re.fullmatch(r"random 1e\d", name)}
    drawn = {}
    if marginals:
        drawn["benchmarks-marginals.svg"] = error_against_time(marginals)
    if queries:
        drawn["benchmarks-queries.svg"] = against_queries(queries)
    return drawn


def error_against_time(found: dict[str, dict[str, Group]]) -> Any:
    """A panel for each workload: largest error and processor time of every method that came through."""
    figure, panels = axes(min(2, len(found)), math.ceil(len(found) / 2))
    looks = styles(found)
    for panel, (name, methods) in zip(panels, found.items(), strict=False):
        cut = [group.method for group in methods.values() if not group.ok]
        for method, group in methods.items():
            if group.ok:
                panel.loglog(group.of("cpu"), group.error("max"), linestyle="", **looks[method], label=method)
        title = f"{name}, ε = {first(methods).epsilon:g}"
        if cut:
            title += "\n" + textwrap.fill(f"cut off: {', '.join(cut)}", 70)
        panel.set_title(title, fontsize=8)
        panel.set(xlabel="processor seconds", ylabel="largest error")
        plain_ticks(panel)
    for panel in panels[len(found) :]:
        figure.delaxes(panel)
    legend(figure)
    return figure


def against_queries(found: dict[str, dict[str, Group]]) -> Any:
    """Largest error, and time, along the number of queries; a line for each method."""
    figure, (left, right) = axes(2, 1)
    looks = styles(found)
    methods = dict.fromkeys(method for by in found.values() for method in by)
    for method in methods:
        through = [by[method] for by in found.values() if method in by and by[method].ok]
        if through:
            sizes = [group.queries for group in through]
            left.loglog(sizes, [group.error("max") for group in through], **looks[method], label=method)
            right.loglog(sizes, [group.of("cpu") for group in through], **looks[method], label=method)
    left.set(xlabel="queries", ylabel="largest error")
    right.set(xlabel="queries", ylabel="processor seconds")
    legend(figure)
    return figure


def styles(found: dict[str, dict[str, Group]]) -> dict[str, dict[str, Any]]:
    """A colour for each package, a marker for each of its methods."""
    looks: dict[str, dict[str, Any]] = {}
    for methods in found.values():
        for method, group in methods.items():
            if method not in looks:
                nth = sum(look["color"] == LOOKS[group.package] for look in looks.values())
                looks[method] = {"color": LOOKS[group.package], "marker": MARKERS[nth], "markersize": 6}
                if method == AUTO:  # a ring around the method that it chose
                    looks[method] |= {"markersize": 12, "markerfacecolor": "none", "markeredgewidth": 2}
    return looks


def plain_ticks(panel: Any) -> None:
    """Labels at powers of ten only."""
    from matplotlib.ticker import NullFormatter

    for axis in (panel.xaxis, panel.yaxis):
        axis.set_minor_formatter(NullFormatter())


def main() -> int:
    rows = read(RESULTS)
    (DOCS / "benchmarks.md").write_text(page(rows))
    for name, figure in charts(rows).items():
        save(figure, DOCS / name)
    return 0


if __name__ == "__main__":
    sys.exit(main())
