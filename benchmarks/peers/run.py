"""Measures what is missing.

    python -m benchmarks.peers.run [--data DIR] [--limit 200] [--long 20] [--again WORD] [WORD ...]

A word measures only cases in whose name (workload, method) it occurs; `--again` drops such cases first.
Each run is a process of its own with one thread and a limit on its processor time; what it says goes at
once into results.parquet, so a run that was stopped goes on where it was. Every run is seeded, hence not
private.
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from json import loads
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.peers.peers import METHODS, ROOT, VENVS, Method
from benchmarks.peers.protocol import Asked, Program, Task
from benchmarks.peers.venvs import current, failure, without_places
from benchmarks.peers.workloads import WORKLOADS, Workload

__all__ = ["RESULTS", "Case", "Data", "campaign", "cases", "main", "measure", "read", "write"]

RESULTS = Path(__file__).parent / "results.parquet"
LONG = 20.0  # processor seconds: what takes longer is run once
WAIT = 40  # limits, by the clock on the wall: for processes that sleep
ENVIRONMENT = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "POLARS_MAX_THREADS",
        "VECLIB_MAXIMUM_THREADS",
    ),
    "1",
) | {
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
    "JAX_ENABLE_X64": "1",  # as mbi advises
    "JAX_ENABLE_COMPILATION_CACHE": "0",
    "PYTHONWARNINGS": "ignore",
}

Row = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """One run: a workload, a method and a seed."""

    workload: Workload
    method: Method
    seed: int

    @property
    def key(self) -> Row:
        """What tells its row from others."""
        return {
            "workload": self.workload.name,
            "method": self.method.name,
            "epsilon": float(self.workload.epsilon),
            "delta": float(self.workload.delta),
            "neighbours": self.workload.neighbours,
            "seed": self.seed,
        }

    @property
    def words(self) -> str:
        """What a user names it by."""
        return words(self.key | {"package": self.method.peer.package})


def words(row: Row) -> str:
    return f"{row['workload']}, {row['method']}, {row['package']}"


def cases(workloads: Iterable[Workload] = WORKLOADS, methods: Iterable[Method] = METHODS) -> Iterator[Case]:
    """All of them, seed by seed, so that what was measured is soon of everything."""
    methods = tuple(methods)
    for workload in workloads:
        for seed in range(max(method.runs for method in methods)):
            for method in methods:
                if (
                    workload.kind in method.applies
                    and seed < method.runs
                    and method.name not in workload.skip
                ):
                    yield Case(workload, method, seed)


def read(path: Path = RESULTS) -> list[Row]:
    import pyarrow.parquet as pq

    return pq.read_table(path).to_pylist() if path.exists() else []


def write(rows: list[Row], path: Path = RESULTS) -> None:
    """All rows, whole or not at all."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    part = path.with_suffix(".part")
    schema = pa.schema([(name, _arrow(kind)) for name, kind in COLUMNS.items()])
    pq.write_table(pa.Table.from_pylist(rows, schema), part)
    os.replace(part, path)


COLUMNS = {
    **dict.fromkeys(("workload", "said", "kind", "method", "group", "package", "version", "with"), str),
    **dict.fromkeys(("epsilon", "delta"), float),
    **dict.fromkeys(("neighbours", "guarantee"), str),
    **dict.fromkeys(("seed", "people", "cells", "queries"), int),
    **dict.fromkeys(("cpu", "wall", "import", "peak"), float),
    **dict.fromkeys(("max_error", "mean_error", "rows_max_error", "rows_mean_error", "limit"), float),
    **dict.fromkeys(("status", "note"), str),
}


def _arrow(kind: type) -> Any:
    import pyarrow as pa

    return {str: pa.string(), float: pa.float64(), int: pa.int64()}[kind]


class Data:
    """The arrays of a workload, on disk for the runs and in hand for the truth; one workload at a time."""

    def __init__(self, folder: Path | None, scratch: Path) -> None:
        self.folder, self.scratch = folder, scratch
        self.path, self._name = scratch / "data.npz", ""
        self.asked: Asked | Program | None = None
        self.truth = np.zeros(0)

    def of(self, workload: Workload) -> Asked | Program | None:
        if workload.name != self._name:
            self._name, self.asked = workload.name, workload.make(self.folder)
            if self.asked is not None:
                self.asked.write(self.path)
            if isinstance(self.asked, Asked):
                self.truth = self.asked.answers(self.asked.histogram()) / len(self.asked.rows)
        return self.asked


def measure(case: Case, data: Data, limit: float) -> Row:
    """The row of one run."""
    method, workload, asked = case.method, case.workload, data.of(case.workload)
    assert asked is not None
    row: Row = dict.fromkeys(COLUMNS) | case.key
    row |= {"said": workload.said, "kind": workload.kind, "group": method.kind, "limit": limit}
    row |= {"package": method.peer.package, "guarantee": "epsilon" if method.pure else "epsilon, delta"}
    if isinstance(asked, Asked):
        row |= {"people": len(asked.rows), "cells": asked.cells, "queries": asked.m}
    else:
        row |= {"people": 0, "cells": asked.A.shape[1], "queries": asked.A.shape[0]}
    if method.peer.install and not current(method.peer):
        why = failure(method.peer) or "its environment was not made"
        return row | {"status": "not installed", "note": why}
    with tempfile.TemporaryDirectory(dir=data.scratch) as name:
        folder = Path(name)
        task = Task(
            workload.name,
            method.function,
            workload.epsilon,
            workload.delta,
            workload.neighbours,
            case.seed,
            row["people"],
            str(data.path),
            method.options,
        )
        task.write(folder)
        status, note = run(method, folder, limit)
        row |= {"status": status, "note": note}
        if (told := folder / "fit.json").exists():  # it was fitted, even if its rows were not drawn in time
            row |= _told(loads(told.read_text()), method) | _errors(folder, asked, data.truth)
            row["status"] = "ok"
            row["note"] = ", ".join(filter(None, [row["note"], note and f"no rows: {note}"]))
    return row


def run(method: Method, folder: Path, limit: float) -> tuple[str, str]:
    """The outcome of the process, and why if it is not well."""
    command = [str(method.peer.python), "-m", method.module, str(folder)]

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (int(limit), int(limit) + 5))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = os.environ | ENVIRONMENT | {"PYTHONPATH": path}
    try:
        done = subprocess.run(
            command,
            cwd=ROOT,
            env=environment,
            preexec_fn=bounded,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            timeout=WAIT * limit,
        )
    except subprocess.TimeoutExpired:
        return "failed", f"stood still: {limit:g} s of processor time were not used in {WAIT} times that"
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return "cut off", f"{limit:g} s of processor time"
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if re.search(r"\w{4}", line)]
        return "failed", without_places((said or ["no message"])[-1])
    return "ok", ""


def _told(told: Row, method: Method) -> Row:
    versions = told["versions"]
    others = ", ".join(f"{k} {v}" for k, v in versions.items() if k != method.peer.package)
    row = {name: float(told[name]) for name in ("cpu", "wall", "import", "peak")}
    return row | {"version": versions[method.peer.package], "with": others, "note": told["note"]}


def _errors(folder: Path, asked: Asked | Program, truth: np.ndarray) -> Row:
    if isinstance(asked, Program):
        violated = np.maximum(asked.A @ np.load(folder / "x.npy") - asked.b, 0)
        return {"max_error": float(violated.max()), "mean_error": float(violated.mean())}
    row: Row = {}
    if (path := folder / "answers.npy").exists():
        row |= _compared(np.load(path), truth, "")
    if (path := folder / "rows.npy").exists():
        rows = np.load(path)
        row |= _compared(asked.answers(asked.histogram(rows)) / len(rows), truth, "rows_")
    return row


def _compared(answers: np.ndarray, truth: np.ndarray, prefix: str) -> Row:
    error = np.abs(answers - truth)
    return {f"{prefix}max_error": float(error.max()), f"{prefix}mean_error": float(error.mean())}


def superfluous(case: Case, rows: list[Row], long: float) -> bool:
    """Whether it was measured, or a run of the same with another seed took long, or did not come through."""
    same = [r for r in rows if all(r[k] == v for k, v in case.key.items() if k != "seed")]
    once = any(r["status"] != "ok" or (r["cpu"] or 0) > long for r in same)
    return once or any(r["seed"] == case.seed for r in same)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("words", nargs="*")
    parser.add_argument("--data", type=Path, help="a folder with tables that are not handed on")
    parser.add_argument("--limit", type=float, default=200.0, help="processor seconds of a run")
    parser.add_argument("--long", type=float, default=LONG, help="what takes longer is run once")
    parser.add_argument("--again", action="append", default=[], metavar="WORD", help="forget these first")
    parser.add_argument("--out", type=Path, default=RESULTS)
    asked = parser.parse_args(arguments)
    chosen = [c for c in cases() if not asked.words or any(word in c.words for word in asked.words)]
    if not chosen:
        print(f"bench-peers: nothing is named like {' or '.join(asked.words)}.", file=sys.stderr)
        return 2
    rows = [
        row
        for row in read(asked.out)
        if not any(word in words(row) for word in asked.again) and row["status"] != "not installed"
    ]
    VENVS.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=VENVS) as scratch:
        campaign(chosen, rows, Data(asked.data, Path(scratch)), asked.limit, asked.out, asked.long)
    return 0


def campaign(
    chosen: Iterable[Case], rows: list[Row], data: Data, limit: float, out: Path, long: float = LONG
) -> None:
    """Measure those of `chosen` that `rows` lack, and write after each."""
    for case in chosen:
        if superfluous(case, rows, long) or data.of(case.workload) is None:
            continue
        if case.method.kind == "ours" and case.seed == 0:
            measure(case, data, limit)  # leaves compiled code on disk, as anybody's first use does
        row = measure(case, data, limit)
        rows.append(row)
        write(sorted(rows, key=_order), out)
        print(_line(row), flush=True)


def _order(row: Row) -> tuple[int, int, int]:
    """The order of the page; what has left it comes last."""
    workloads, methods = [w.name for w in WORKLOADS], [m.name for m in METHODS]
    places = [
        names.index(row[column]) if row[column] in names else len(names)
        for column, names in (("workload", workloads), ("method", methods))
    ]
    return places[0], places[1], row["seed"]


def _line(row: Row) -> str:
    figures = [
        f"{name} {row[name]:.3g}"
        for name in ("max_error", "mean_error", "rows_max_error", "cpu", "peak")
        if row[name] is not None
    ]
    what = f"{row['workload']}, {row['method']}, seed {row['seed']}"
    return f"{what}: {row['status']} {' '.join(figures)} {row['note']}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
