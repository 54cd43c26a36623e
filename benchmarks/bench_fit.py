"""The maximum-entropy fit against the product that it is made of."""

from __future__ import annotations

import numpy as np

import fastmwem as fm
from benchmarks.run import ratio, seconds
from fastmwem.mw.maxent import Evidence
from fastmwem.mw.maxent_stages import staged_maximum_entropy
from fastmwem.queries.interactions import Interactions
from fastmwem.queries.marginals import downward_closure
from fastmwem.threads import one_blas_thread


@ratio("fit to all 3-way marginals of 22,400 cells, against one product with them", bar=2_000)
def fit_of_marginals() -> float:
    domain = fm.Domain.of_sizes({"a": 10, "b": 16, "c": 7, "d": 5, "e": 2, "f": 2})
    workload = fm.marginals(domain, k=3)
    closure = downward_closure(workload.subsets)[1:]
    rng = np.random.default_rng(0)
    truth = rng.dirichlet(np.full(domain.size, 0.01))
    sigma, stages = 4e-4, []
    for order in (1, 2, 3):
        interactions = Interactions(workload, tuple(s for s in closure if len(s) <= order))
        noise = sigma * np.random.default_rng(1).standard_normal(interactions.m)
        values = interactions.answers(truth) + noise
        std = np.full(interactions.m, sigma)
        stages.append([Evidence(interactions, values, std, interactions.mean_square())])
    with one_blas_thread():  # as a release does
        product = seconds(lambda: interactions.answers(truth), repeat=200)
        return seconds(lambda: staged_maximum_entropy(stages, shrinkage=(0.4, 5.0)), repeat=1) / product
