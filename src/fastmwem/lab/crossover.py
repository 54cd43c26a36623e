"""crossover: which method has the smallest error where, what it costs in time, and what `auto` takes."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fastmwem.lab.experiment import Experiment
from fastmwem.lab.figures import axes, curve, legend, ticks
from fastmwem.lab.store import Case, Row, Rows
from fastmwem.lab.workloads import paper_histogram, paper_queries
from fastmwem.queries.base import FloatArray, Queries

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT", "compared"]

METHODS = {
    "mwem": ("#0072B2", "mwem (the paper's algorithm, our constants)"),
    "measured": ("#E69F00", "measured (ours)"),
    "direct": ("#CC79A7", "direct (ours)"),
    "histogram": ("#999999", "histogram, Laplace noise on every cell (baseline)"),
}
WORKLOADS = ("random", "marginals")
CLOSE = 1.2  # within 20 % of the best


@dataclass(frozen=True)
class Config:
    cells: int = 3_000
    m: tuple[int, ...] = (10, 100, 1_000, 5_000)  # random queries, the paper's
    columns: int = 6
    values: int = 4  # of each column
    k: tuple[int, ...] = (1, 2, 3, 4)  # all marginals of k columns
    n: tuple[int, ...] = (300, 3_000, 30_000, 300_000)
    seeds: int = 2
    epsilon: float = 1.0
    delta: float = 1e-3


def cases(config: Config) -> list[Case]:
    """For each workload (`size` is m or k) and n: what `auto` takes, and every method with every seed."""
    settings = [
        {"workload": workload, "size": size, "n": n}
        for workload, sizes in zip(WORKLOADS, (config.m, config.k), strict=True)
        for size in sizes
        for n in config.n
    ]
    runs = [("auto", 0), *((method, seed) for method in METHODS for seed in range(config.seeds))]
    return [{**setting, "method": method, "seed": seed} for setting in settings for method, seed in runs]


def made(config: Config, case: Case) -> tuple[Queries, FloatArray]:
    """The queries and the histogram of counts."""
    from fastmwem import Domain, marginals

    if case["workload"] == "random":
        queries = paper_queries(case["size"], config.cells, case["seed"])
        return queries, paper_histogram(case["n"], config.cells, case["seed"])
    domain = Domain.of_sizes({f"column {i}": config.values for i in range(config.columns)})
    return marginals(domain, case["size"]), mixture(case["n"], config.columns, config.values, case["seed"])


def mixture(n: int, columns: int, values: int, seed: int) -> FloatArray:
    """n rows of a few types, each with its own distribution of every column: columns are correlated."""
    generator = np.random.default_rng([seed, 2])
    types = 5
    chances = generator.dirichlet(np.full(values, 0.5), (types, columns))
    joint = np.zeros(values**columns)
    for share, type_ in zip(generator.dirichlet(np.ones(types)), chances, strict=True):
        product = np.ones(1)
        for column in type_:
            product = np.outer(product, column).ravel()
        joint += share * product
    return generator.multinomial(n, joint / joint.sum()).astype(float)


def measure(config: Config, case: Case) -> list[Row]:
    """The largest error, and the seconds; of `auto` the method that it takes, before it sees the data."""
    from fastmwem import Randomness, plan, query_release

    queries, counts = made(config, case)
    budget: dict[str, Any] = {"epsilon": config.epsilon, "delta": config.delta}
    if case["method"] == "auto":
        start = time.perf_counter()
        chosen = plan(queries, n=case["n"], **budget).chosen
        return [{"chosen": chosen, "error": np.nan, "seconds": time.perf_counter() - start, "m": queries.m}]
    start = time.perf_counter()
    release = query_release(
        queries, counts, method=case["method"], randomness=Randomness.seeded(case["seed"]), **budget
    )
    seconds = time.perf_counter() - start
    error = release.evaluate(counts).max_error
    return [{"chosen": case["method"], "error": error, "seconds": seconds, "m": queries.m}]


def compared(rows: Rows) -> list[Row]:
    """For each setting: its best method, what `auto` takes, and how many times the best error that has."""
    settings = dict.fromkeys((row["workload"], row["m"], row["n"]) for row in rows)
    found: list[Row] = []
    for workload, m, n in settings:
        some = rows.where(workload=workload, m=m, n=n)
        errors = {method: some.where(method=method).mean("error") for method in METHODS}
        best = min(errors, key=errors.__getitem__)
        chosen = some.where(method="auto").values("chosen")[0]
        ratio = errors[chosen] / errors[best]
        found.append({"workload": workload, "m": m, "n": n, "best": best, "chosen": chosen, "ratio": ratio})
    return found


def draw(config: Config, rows: Rows) -> Figure:
    figure, panels = axes(3, 2)
    for row, workload in enumerate(WORKLOADS):
        part = rows.where(workload=workload)
        errors, times, chart = panels[3 * row : 3 * row + 3]
        m = max(part.values("m"))
        for method, (colour, label) in METHODS.items():
            some = part.where(m=m, method=method)
            for panel, column in ((errors, "error"), (times, "seconds")):
                curve(panel, some, "n", column, color=colour, label=label, marker="o", markersize=4)
        for panel, what in ((errors, "largest error (fraction of n)"), (times, "time of a release (s)")):
            panel.set(yscale="log", xlabel="number of rows n", ylabel=what)
            ticks(panel, config.n)
            panel.set_title(f"{workload}, m = {m:,}", fontsize=10)
        _chart(chart, [each for each in compared(part) if each["workload"] == workload], workload)
    legend(figure)
    return figure


def _chart(panel: Axes, settings: list[Row], workload: str) -> None:
    """A square for each (n, m) in the colour of the best method, and in it what `auto` takes."""
    sizes = list(dict.fromkeys(each["m"] for each in settings))
    rows = list(dict.fromkeys(each["n"] for each in settings))
    for each in settings:
        at = rows.index(each["n"]), sizes.index(each["m"])
        panel.add_patch(_square(at, METHODS[each["best"]][0]))
        panel.annotate(f"{each['chosen']}\n{each['ratio']:.2f}", at, ha="center", va="center", fontsize=8)
    panel.set_xticks(range(len(rows)), [f"{n:,}" for n in rows])
    panel.set_yticks(range(len(sizes)), [f"{m:,}" for m in sizes])
    panel.set(xlim=(-0.5, len(rows) - 0.5), ylim=(-0.5, len(sizes) - 0.5))
    panel.set(xlabel="number of rows n", ylabel="number of queries m")
    panel.grid(False)
    panel.set_title(f"{workload}: colour, the best; text, what auto takes", fontsize=10)


def _square(centre: tuple[int, int], colour: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle(
        (centre[0] - 0.5, centre[1] - 0.5), 1, 1, facecolor=colour, alpha=0.45, edgecolor="white"
    )


def finding(config: Config, rows: Rows) -> str:
    settings = compared(rows)
    close = sum(each["ratio"] <= CLOSE for each in settings)
    worst = max(settings, key=lambda each: each["ratio"])
    wins = [(sum(each["best"] == method for each in settings), method) for method in METHODS]
    best = ", ".join(f"{method} in {count}" for count, method in sorted(wins, reverse=True) if count)
    return (
        f"Of {len(settings)} settings the smallest error has {best}. What auto takes is within "
        f"{round(100 * (CLOSE - 1))} % of the best in {close} of them; at worst it has {worst['ratio']:.2f} "
        f"times the best error ({worst['chosen']} instead of {worst['best']}: {worst['workload']}, "
        f"m = {worst['m']:,}, n = {worst['n']:,})."
    )


def caption(config: Config) -> str:
    return (
        f"Random: the paper's queries over {config.cells:,} cells. Marginals: all of k = 1 to "
        f"{max(config.k)} columns out of {config.columns} with {config.values} values each, "
        f"{config.values**config.columns:,} cells, correlated rows. epsilon = {config.epsilon:g}, "
        f"delta = {config.delta:g}, replace-one, mean of {config.seeds} seeds, bands of one deviation. In "
        "the charts, the number is the error of what auto takes over the best error."
    )


EXPERIMENT = Experiment(
    name="crossover",
    title="Which method when",
    paper="",
    why="The paper has one method; where queries are few, or cells few against n, others are better.",
    configs={
        "tiny": Config(cells=64, m=(10, 200), columns=3, values=3, k=(1, 2), n=(300, 3_000), seeds=1),
        "paper": Config(),
    },
    cases=cases,
    measure=measure,
    draw=draw,
    finding=finding,
    caption=caption,
)
