"""What a run is told, and what it hands back: files, since every method runs in a process of its own.

A folder holds `task.json` and names a file of arrays (`data.npz`, shared by the runs of a workload). An
adapter, `python -m MODULE FOLDER`, calls `serve`, which writes `fit.json` (seconds, memory, versions),
`answers.npy` (shares of the people, one for each query) and, after the clock has stopped, `rows.npy`
(synthetic rows as codes) or `x.npy` (what a linear program was answered with).

This file runs in every environment, so it needs nothing but numpy.
"""

from __future__ import annotations

import json
import math
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Asked", "Made", "Program", "Task", "gaussian_sigma", "serve", "zcdp_of"]


@dataclass(frozen=True)
class Task:
    """One run of one method on one workload."""

    workload: str
    method: str
    epsilon: float
    delta: float
    neighbours: str  # "add-remove" or "replace-one"
    seed: int
    people: int  # synthetic rows to make, and the public guess of n
    data: str  # the file of arrays
    options: dict[str, Any] = field(default_factory=dict)  # the method's

    def write(self, folder: Path) -> None:
        (folder / "task.json").write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, folder: Path) -> Task:
        return cls(**json.loads((folder / "task.json").read_text()))


@dataclass
class Asked:
    """People in the cells of a table, and linear queries on their counts.

    `queries` is one of: sets of columns (every cell of each of their marginals is a query), "ranges" (all
    intervals of a line of cells), or a matrix of zeros and ones, a row for each query.
    """

    sizes: tuple[int, ...]
    rows: np.ndarray  # codes, a row for each person
    queries: Sequence[tuple[int, ...]] | str | np.ndarray

    @classmethod
    def read(cls, path: str | Path) -> Asked:
        with np.load(path) as arrays:
            sizes = tuple(int(s) for s in arrays["sizes"])
            if "sets" in arrays:
                queries = [tuple(int(c) for c in row) for row in arrays["sets"]]
            elif "bits" in arrays:
                queries = np.unpackbits(arrays["bits"], axis=1, count=math.prod(sizes))
            else:
                queries = "ranges"
            return cls(sizes, arrays["rows"], queries)

    def write(self, path: Path) -> None:
        asked: dict[str, Any] = {}
        if isinstance(self.queries, np.ndarray):
            asked["bits"] = np.packbits(self.queries, axis=1)
        elif not isinstance(self.queries, str):
            asked["sets"] = np.array(self.queries)
        np.savez(path, sizes=np.array(self.sizes), rows=self.rows, **asked)

    @property
    def cells(self) -> int:
        return math.prod(self.sizes)

    @property
    def m(self) -> int:
        if isinstance(self.queries, np.ndarray):
            return len(self.queries)
        if isinstance(self.queries, str):
            return self.cells * (self.cells + 1) // 2
        return sum(math.prod(self.sizes[c] for c in columns) for columns in self.queries)

    def histogram(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Counts in the cells of `rows`, or of the people."""
        rows = self.rows if rows is None else rows
        cells = np.ravel_multi_index(tuple(rows.T.astype(np.int64)), self.sizes)
        return np.bincount(cells, minlength=self.cells).astype(float)

    def answers(self, counts: np.ndarray) -> np.ndarray:
        """What all queries say of `counts`, a number for each cell."""
        if isinstance(self.queries, np.ndarray):
            return product(self.queries, counts)
        if isinstance(self.queries, str):
            sums = np.concatenate([[0.0], np.cumsum(counts)])
            return np.concatenate([sums[a + 1 :] - sums[a] for a in range(self.cells)])
        table = counts.reshape(self.sizes)
        return np.concatenate([marginal(table, columns).ravel() for columns in self.queries])


def product(matrix: np.ndarray, vector: np.ndarray, block: int = 1 << 16) -> np.ndarray:
    """matrix @ vector for a matrix of bytes, some rows at a time."""
    parts = (matrix[i : i + block].astype(float) @ vector for i in range(0, len(matrix), block))
    return np.concatenate(list(parts))


def marginal(table: np.ndarray, columns: Sequence[int]) -> np.ndarray:
    return table.sum(axis=tuple(c for c in range(table.ndim) if c not in columns))


def below(sets: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """`sets`, and every smaller one within them, small ones first."""
    found = {
        part for columns in sets for k in range(1, len(columns) + 1) for part in combinations(columns, k)
    }
    return sorted(found, key=lambda part: (len(part), part))


@dataclass
class Program:
    """Rows A x <= b, x in the simplex; b is private, and moves by at most `sensitivity` in every entry."""

    A: np.ndarray
    b: np.ndarray
    sensitivity: float

    @classmethod
    def read(cls, path: str | Path) -> Program:
        with np.load(path) as arrays:
            return cls(arrays["A"], arrays["b"], float(arrays["sensitivity"]))

    def write(self, path: Path) -> None:
        np.savez(path, A=self.A, b=self.b, sensitivity=self.sensitivity)


@dataclass
class Made:
    """What a method hands back: answers as shares if it has a model, and a way to synthetic rows."""

    answers: np.ndarray | None = None
    rows: Callable[[], np.ndarray] | None = None
    x: np.ndarray | None = None
    note: str = ""  # what the method chose


def serve(methods: dict[str, Callable[[Task], Made]], packages: Sequence[str]) -> None:
    """Run the task in the folder that the command line names; what time passed before is that of imports."""
    imported = processor()
    folder = Path(sys.argv[1])
    task = Task.read(folder)
    method = methods[task.method]
    task_data(task)  # read outside of the clock
    np.random.seed(task.seed)  # noqa: NPY002
    wall, cpu = time.perf_counter(), processor()
    made = method(task)
    told = {
        "cpu": processor() - cpu,
        "wall": time.perf_counter() - wall,
        "import": imported,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "versions": {name: version(name) for name in packages},
        "note": made.note,
    }
    for name in ("answers", "x"):
        if (array := getattr(made, name)) is not None:
            np.save(folder / f"{name}.npy", np.asarray(array, float))
    (folder / "fit.json").write_text(json.dumps(told))
    if made.rows is not None:
        np.save(folder / "rows.npy", np.asarray(made.rows()))


_READ: dict[str, Asked | Program] = {}


def task_data(task: Task) -> Any:
    """The arrays of a task, read once."""
    if task.data not in _READ:
        with np.load(task.data) as arrays:
            kind = Program if "A" in arrays else Asked
        _READ[task.data] = kind.read(task.data)
    return _READ[task.data]


def processor() -> float:
    """Processor seconds so far, of this process and of those that it started."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def gaussian_sigma(epsilon: float, delta: float) -> float:
    """The least noise for L2 sensitivity 1 that is (epsilon, delta)-private: the exact formula, inverted.

    delta(sigma) = Phi(1/(2 sigma) - epsilon sigma) - e^epsilon Phi(-1/(2 sigma) - epsilon sigma).

    >>> round(gaussian_sigma(1, 1e-6), 3)
    4.224
    """

    def phi(x: float) -> float:
        return math.erfc(-x / math.sqrt(2)) / 2

    def spent(sigma: float) -> float:
        a, b = 1 / (2 * sigma), epsilon * sigma
        return phi(a - b) - math.exp(epsilon) * phi(-a - b)

    return _least(lambda sigma: spent(sigma) <= delta, 1e-3, 1e6)


def zcdp_of(epsilon: float, delta: float) -> float:
    """The largest rho such that rho-zCDP implies (epsilon, delta), by the tight formula.

    >>> round(zcdp_of(1, 1e-6), 5)
    0.02437
    """
    orders = 1 + np.logspace(-3, 5, 4001)

    def spent(rho: float) -> float:
        log = (orders - 1) * (orders * rho - epsilon) + orders * np.log1p(-1 / orders) - np.log(orders - 1)
        return float(log.min())

    return 1 / _least(lambda inverse: spent(1 / inverse) <= math.log(delta), 1e-3, 1e9)


def _least(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The least value that `holds`, which does from there on."""
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
