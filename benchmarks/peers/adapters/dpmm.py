"""dpmm's pipelines without its binning, which coded columns do not need.

Its noise is for counts that one person moves by 1: add-remove. PrivBayes scores pairs by mutual
information with a sensitivity stated for replaced rows, and normalises it; its guarantee is taken at its
word. Only picks follow the seed; noise comes from OpenDP, which takes none. `n_jobs=1`: one core for
everybody.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import numpy as np
import pandas as pd
from dpmm.pipelines import AIMPipeline, MSTPipeline, PrivBayesPipeline

from benchmarks.peers.protocol import Made, Task, serve, task_data


def _fit(task: Task, pipeline, **options) -> Made:
    if task.neighbours != "add-remove":
        raise ValueError("dpmm's noise is for add-remove.")
    asked = task_data(task)
    names = [f"c{i}" for i in range(len(asked.sizes))]
    model = pipeline(
        epsilon=task.epsilon,
        delta=task.delta,
        disable_processing=True,
        n_jobs=1,
        compress=False,
        gen_kwargs=options,
    )
    frame = pd.DataFrame(asked.rows, columns=names)
    model.fit(frame, domain=dict(zip(names, map(int, asked.sizes), strict=True)), random_state=task.seed)
    found = model.gen.generator.model
    parts = [found.project(tuple(names[c] for c in columns)).datavector() for columns in asked.queries]
    answers = np.concatenate([part / part.sum() for part in parts])

    def rows() -> np.ndarray:
        made = model.generate(n_records=task.people, random_state=task.seed)
        return made[names].to_numpy().astype(int)

    return Made(answers, rows)


def mst(task: Task) -> Made:
    return _fit(task, MSTPipeline)


def aim(task: Task) -> Made:
    """Its workload is the marginals of one width, and by default leaves out large ones: here, none."""
    queries = task_data(task).queries
    return _fit(task, AIMPipeline, degree=len(queries[0]), max_cells=10**9)


def privbayes(task: Task) -> Made:
    """Cliques as wide as what is asked."""
    return _fit(task, PrivBayesPipeline, degree=len(task_data(task).queries[0]))


if __name__ == "__main__":
    methods = {"mst": mst, "aim": aim, "privbayes": privbayes}
    serve(methods, ["dpmm", "opendp", "numpy", "pandas"])
