"""This library, through its public calls."""

from __future__ import annotations

from importlib import import_module
from itertools import chain

import numpy as np

import fastmwem as fm
from benchmarks.peers.protocol import Asked, Made, Program, Task, serve, task_data
from fastmwem.problems.query_release import METHODS
from fastmwem.queries.binary import Binary


def load() -> None:
    """Import what calls import when they are made, as the clock of others starts after theirs."""
    for name in fm.__all__:
        getattr(fm, name)
    for module, _ in chain.from_iterable(METHODS.values()):
        import_module(f"fastmwem.problems.{module}")
    for module in ("mwem", "scalar_lp"):
        import_module(f"fastmwem.problems.{module}")
    import numba  # noqa: F401
    import scipy.optimize
    import scipy.sparse  # noqa: F401


def workload(asked: Asked) -> fm.Workload:
    if isinstance(asked.queries, np.ndarray):
        return Binary(asked.queries)
    if isinstance(asked.queries, str):
        return fm.ranges(asked.cells)
    domain = fm.Domain.of_sizes({f"c{i}": size for i, size in enumerate(asked.sizes)})
    return fm.Marginals(domain, [list(columns) for columns in asked.queries])


def release(task: Task) -> Made:
    asked = task_data(task)
    made = fm.query_release(
        workload(asked),
        asked.histogram(),
        epsilon=task.epsilon,
        delta=task.delta,
        neighbours=task.neighbours,
        n=task.people if task.neighbours == "add-remove" else None,
        randomness=fm.Randomness.seeded(task.seed),
        **task.options,
    )
    drawn = fm.Randomness.seeded(task.seed + 1000)
    return Made(made.values, lambda: _rows(made, task, asked, drawn), note=made.method)


def _rows(made: fm.Release, task: Task, asked: Asked, drawn: fm.Randomness) -> np.ndarray:
    rows = made.sample(task.people, randomness=drawn)
    return (
        rows if rows.shape[1] == len(asked.sizes) else np.stack(np.unravel_index(rows[:, 0], asked.sizes), 1)
    )


def solve(task: Task) -> Made:
    program: Program = task_data(task)
    answer = fm.solve_scalar_private(
        program.A,
        program.b,
        sensitivity=program.sensitivity,
        epsilon=task.epsilon,
        delta=task.delta,
        randomness=fm.Randomness.seeded(task.seed),
        **task.options,
    )
    return Made(x=answer.x, note=f"T = {answer.nit:,}" if answer.nit else "Gaussian noise on b")


if __name__ == "__main__":
    load()
    serve({"release": release, "solve": solve}, ["fastmwem", "numpy", "scipy", "numba"])
