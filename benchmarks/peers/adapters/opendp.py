"""OpenDP's contingency tables: MST and AIM on mbi.

One row a person ("contributions = 1") is add-remove. Every column is declared by cut points between its
codes, so that the table has the workload's cells and no more (with `keys` each column would gain a null);
with all columns declared it spends rho-zCDP, the largest rho that implies (epsilon, delta).
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import mbi  # noqa: F401 (so that its import is not in the time)
import numpy as np
import opendp.prelude as dp
import polars as pl

from benchmarks.peers.protocol import Made, Task, serve, task_data, zcdp_of

dp.enable_features("contrib", "floating-point")


def _release(task: Task, algorithm) -> Made:
    if task.neighbours != "add-remove":
        raise ValueError("OpenDP's tables are add-remove.")
    asked = task_data(task)
    names = [f"c{i}" for i in range(len(asked.sizes))]
    frame = pl.LazyFrame({name: asked.rows[:, i].astype(np.int32) for i, name in enumerate(names)})
    # a hair less: MST refuses to spend shares whose sum, rounded up, passes what they are shares of
    rho = zcdp_of(task.epsilon, task.delta) * (1 - 1e-7)
    context = dp.Context.compositor(
        data=frame,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(rho=rho),
        split_evenly_over=1,
    )
    cuts = {name: list(range(size - 1)) for name, size in zip(names, asked.sizes, strict=True)}
    table = context.query().contingency_table(cuts=cuts, algorithm=algorithm).release()
    parts = [
        np.asarray(table.project([names[c] for c in columns]), float).ravel() for columns in asked.queries
    ]
    answers = np.concatenate([part / part.sum() for part in parts])
    return Made(answers, lambda: table.synthesize(task.people).select(names).to_numpy())


def mst(task: Task) -> Made:
    return _release(task, dp.mbi.MST())


def aim(task: Task) -> Made:
    names = [f"c{i}" for i in range(len(task_data(task).sizes))]
    queries = [dp.mbi.Count(tuple(names[c] for c in columns)) for columns in task_data(task).queries]
    return _release(task, dp.mbi.AIM(queries=queries))


if __name__ == "__main__":
    serve({"mst": mst, "aim": aim}, ["opendp", "mbi", "jax", "polars", "numpy"])
