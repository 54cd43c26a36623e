"""The maximum-entropy fit in stages: coarse evidence first, its fit the prior of the finer.

One fit to everything shrinks all multipliers alike. But what is measured coarsely (one column, two columns;
long intervals) is large and well known, and what is measured finely is small and lost in noise. So stage j
fits the evidence up to its level with the fit of stage j-1 as prior q: fine detail is shrunk towards what the
coarse detail implies, not towards the uniform distribution.

`tau` follows the noise: (P) moves an answer by tau * |multiplier| * sigma^2, which against the noise sigma is
tau * sigma * |multiplier|, and the size of a multiplier depends on the kind of evidence alone. So
tau = c / sigma: a pair of constants c per kind, for the first stage, whose prior is only uniform, and for
those after it. They are public and post-processing: a wrong one costs error, never privacy.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fastmwem.mw.maxent import Evidence, Fit, maximum_entropy
from fastmwem.queries.base import FloatArray

__all__ = ["staged_maximum_entropy"]


def staged_maximum_entropy(
    stages: Sequence[Sequence[Evidence]],
    *,
    shrinkage: tuple[float, float],
    prior: FloatArray | None = None,
    gap: float = 1e-2,
) -> Fit:
    """The fit of the last of `stages`; each holds all of its evidence, coarser stages' included.

    `shrinkage` is tau * (median sigma) in the first stage, and in those after it. Every stage ends at a
    duality gap of `gap` nats, reached by way of a larger tau (an easier problem).
    """
    fit: Fit | None = None
    for number, evidence in enumerate(stages):
        sigma = float(np.median(np.concatenate([piece.std for piece in evidence])))
        tau = shrinkage[min(number, 1)] / sigma
        start = None
        for factor in (8.0, 1.0):
            fit = maximum_entropy(evidence, prior=prior, tau=factor * tau, start=start, gap=gap)
            start = fit.multipliers
        assert fit is not None
        prior = np.maximum(fit.p, 1e-300)  # a prior is positive; cells that were ruled out stay so
    assert fit is not None
    return fit
