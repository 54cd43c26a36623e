"""smartnoise-synth's MWEM, as it comes, its widest marginals being those that are asked.

It is epsilon-private (no delta) under add-remove with the number of rows, and each column's least and
greatest value, taken from the data for nothing. It measures whole marginals, with Laplace noise.
"""
# pyright: reportMissingImports=false

from __future__ import annotations

import random

import numpy as np
from snsynth.mwem import MWEMSynthesizer
from snsynth.transform import NoTransformer

from benchmarks.peers.protocol import Made, Task, serve, task_data


def mwem(task: Task) -> Made:
    asked = task_data(task)
    random.seed(task.seed)
    options = (
        {"add_ranges": True} if isinstance(asked.queries, str) else {"marginal_width": len(asked.queries[0])}
    )
    model = MWEMSynthesizer(epsilon=task.epsilon, split_factor=len(asked.sizes), **options, **task.options)
    rows = asked.rows.astype(int)
    model.fit(rows, transformer=NoTransformer())
    ((found, _, _),) = model.synthetic_histograms
    least = rows.min(axis=0)
    cells = np.zeros(asked.sizes)
    cells[tuple(slice(low, low + size) for low, size in zip(least, found.shape, strict=True))] = found

    def sample() -> np.ndarray:  # its own draws row by row with a Python loop; the law is the same
        drawn = np.random.choice(asked.cells, task.people, p=cells.ravel() / cells.sum())  # noqa: NPY002
        return np.stack(np.unravel_index(drawn, asked.sizes), axis=1)

    return Made(asked.answers(cells.ravel()) / cells.sum(), sample)


if __name__ == "__main__":
    serve({"mwem": mwem}, ["smartnoise-synth", "opendp", "numpy", "pandas"])
