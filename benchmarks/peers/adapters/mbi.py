"""private-pgm's own estimation on marginals that are fixed beforehand.

Gaussian noise on every marginal of the workload (L2 sensitivity sqrt(sets) under add-remove), of the
least deviation that is (epsilon, delta)-private; then mirror descent, with the number of iterations that
is its default.
"""
# pyright: reportMissingImports=false, reportCallIssue=false

from __future__ import annotations

import math

import numpy as np
from mbi import Domain, LinearMeasurement
from mbi.estimation import MirrorDescent

from benchmarks.peers.protocol import Made, Task, below, gaussian_sigma, marginal, serve, task_data


def fixed(task: Task) -> Made:
    asked, rng = task_data(task), np.random.default_rng(task.seed)
    names = [f"c{i}" for i in range(len(asked.sizes))]
    sets = below(asked.queries) if task.options["lower"] else list(asked.queries)
    moves = 2 if task.neighbours == "replace-one" else 1
    sigma = gaussian_sigma(task.epsilon, task.delta) * math.sqrt(len(sets) * moves)
    table = asked.histogram().reshape(asked.sizes)
    measured = []
    for columns in sets:
        exact = marginal(table, columns).ravel()
        noisy = exact + rng.normal(0, sigma, exact.size)
        measured.append(LinearMeasurement(noisy, tuple(names[c] for c in columns), sigma))
    domain = Domain(names, asked.sizes)
    model = MirrorDescent().estimate(domain, measured)
    answers = [
        np.asarray(model.project([names[c] for c in columns]).values).ravel() for columns in asked.queries
    ]
    total = float(model.total)
    return Made(np.concatenate(answers) / total, lambda: _rows(model, names, task.people))


def _rows(model, names: list[str], people: int) -> np.ndarray:
    made = model.synthetic_data(people).to_dict()
    return np.stack([np.asarray(made[name]) for name in names], axis=1)


if __name__ == "__main__":
    serve({"fixed": fixed}, ["mbi", "jax", "numpy"])
