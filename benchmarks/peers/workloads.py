"""What is asked, of whom, at which guarantee.

Made-up data stand in every checkout. Tables and histograms that cannot be handed on are read from a folder
that the user names (NAME.csv with cell codes under a header and NAME-domain.json with cells per column; 1-D
histograms as *.npy); a workload whose file is not there is left out.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.peers.protocol import Asked, Program

__all__ = ["WORKLOADS", "Workload"]


@dataclass(frozen=True)
class Workload:
    """A named question. `make` takes the user's folder, and is None-valued where the file is not there."""

    name: str
    kind: str  # marginals, ranges, matrix, program
    said: str
    epsilon: float
    delta: float
    neighbours: str
    make: Callable[[Path | None], Asked | Program | None]
    skip: tuple[str, ...] = ()  # methods that are not worth the time here, for information only


def table(name: str, folder: Path | None, width: int = 3) -> Asked | None:
    """All `width`-way marginals of a table in the user's folder."""
    for stem in () if folder is None else (folder / name, folder / name / name):
        path, declared = stem.with_suffix(".csv"), stem.parent / f"{name}-domain.json"
        if path.exists() and declared.exists():
            with path.open() as lines:
                header, *rows = csv.reader(lines)
            sizes = json.loads(declared.read_text())
            return all_marginals(tuple(sizes[c] for c in header), np.array(rows, np.int32), width)
    return None


def all_marginals(sizes: tuple[int, ...], rows: np.ndarray, width: int) -> Asked:
    return Asked(sizes, rows, list(combinations(range(len(sizes)), width)))


def survey(_: Path | None, people: int = 50_000, width: int = 3) -> Asked:
    """The survey of `fastmwem demo`, seed and all."""
    import fastmwem as fm
    from fastmwem.data.survey import survey as made
    from fastmwem.data.survey import survey_domain

    domain = survey_domain()
    counts = fm.Table.read(made(people)).counts(domain).histogram().astype(int)
    cells = np.repeat(np.arange(domain.size), counts.ravel())
    rows = np.stack(np.unravel_index(cells, domain.shape), axis=1).astype(np.int32)
    return all_marginals(domain.shape, rows, width)


def line(counts: np.ndarray) -> Asked:
    """All ranges of a histogram on a line."""
    rows = np.repeat(np.arange(counts.size, dtype=np.int32), counts.astype(int))[:, None]
    return Asked((counts.size,), rows, "ranges")


def made_line(_: Path | None, cells: int = 1024, people: int = 20_000) -> Asked:
    """Incomes, say: two lognormal humps and many round numbers."""
    rng = np.random.default_rng(11)
    values = np.concatenate(
        [rng.lognormal(5.0, 0.4, people // 2), rng.lognormal(6.0, 0.3, people - people // 2)]
    )
    values = np.where(rng.random(people) < 0.3, np.round(values / 25) * 25, values)
    return line(np.bincount(np.clip(values, 0, cells - 1).astype(int), minlength=cells))


def read_line(name: str, folder: Path | None) -> Asked | None:
    path = None if folder is None else folder / "dpbench1d" / f"{name}.npy"
    return line(np.load(path)) if path is not None and path.exists() else None


def random_queries(m: int, people: int, _: Path | None, cells: int = 1_000) -> Asked:
    """Each asks for a random half of the cells, which are of very different size."""
    rng = np.random.default_rng(2)
    counts = rng.multinomial(people, rng.dirichlet(np.full(cells, 0.1)))
    rows = np.repeat(np.arange(cells, dtype=np.int32), counts)[:, None]
    return Asked((cells,), rows, rng.integers(0, 2, (m, cells), dtype=np.uint8))


def paper(people: int, _: Path | None, m: int = 10_000) -> Asked:
    """The paper's: 3,000 cells, queries that hold a quarter of them, people around the first third."""
    from benchmarks.query_release import paper_histogram, paper_queries

    counts = paper_histogram(people).astype(int)
    rows = np.repeat(np.arange(counts.size, dtype=np.int32), counts)[:, None]
    return Asked((counts.size,), rows, paper_queries(m).matrix.view(np.uint8))


def gaussian_rows(m: int, _: Path | None, d: int = 20) -> Program:
    """Rows of normal numbers, b with a little slack around a planted x; b moves by at most 1e-3."""
    rng = np.random.default_rng(0)
    A = rng.standard_normal((m, d))
    return Program(A, A @ rng.dirichlet(np.ones(d)) + rng.uniform(0, 0.1, m), 1e-3)


_ADD = "add-remove"
_ONE = "replace-one"
_WAY = "all 3-way marginals"


def _random(m: int, people: int = 2_000, name: str = "") -> Workload:
    made = partial(random_queries, m, people)
    name = name or f"random 1e{round(math.log10(m))}"
    return Workload(name, "matrix", "random queries to made-up people", 1, 1e-6, _ONE, made)


WORKLOADS = (
    Workload("survey", "marginals", f"the made-up survey, {_WAY}", 1, 1e-6, _ADD, survey),
    Workload("adultA", "marginals", f"Adult, 6 columns, {_WAY}", 1, 1e-6, _ADD, partial(table, "adultA")),
    Workload(
        "adultA eps .1", "marginals", f"Adult, 6 columns, {_WAY}", 0.1, 1e-6, _ADD, partial(table, "adultA")
    ),
    Workload("pums", "marginals", f"PUMS, 5 columns, {_WAY}", 1, 1e-6, _ADD, partial(table, "pums")),
    Workload("nltcs", "marginals", f"NLTCS, 16 columns, {_WAY}", 1, 1e-6, _ADD, partial(table, "nltcs")),
    Workload("line", "ranges", "made-up incomes, all ranges of 1,024 cells", 0.1, 1e-6, _ADD, made_line),
    Workload(
        "HEPTH",
        "ranges",
        "HEPTH, all ranges of 4,096 cells",
        0.1,
        1e-6,
        _ADD,
        partial(read_line, "HEPTH.n4096"),
    ),
    *(_random(m) for m in (10**3, 10**4, 10**5, 10**6)),
    _random(10**5, 20_000, "random 1e5, n=20,000"),
    Workload("paper n=500", "matrix", "the paper's queries, n = 500", 1, 1e-3, _ONE, partial(paper, 500)),
    Workload(
        "paper n=1e5", "matrix", "the paper's queries, n = 100,000", 1, 1e-3, _ONE, partial(paper, 100_000)
    ),
    Workload(
        "program 1e4", "program", "a program of 10,000 rows", 1, 1e-3, _ONE, partial(gaussian_rows, 10**4)
    ),
    Workload(
        "program 3e5", "program", "a program of 300,000 rows", 1, 1e-3, _ONE, partial(gaussian_rows, 300_000)
    ),
)
