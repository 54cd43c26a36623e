r"""Dense multiplicative weights: the player whose every distribution is spread over at least s rows.

The state is the **unprojected** log-measure, 0 at the start; what is shown is y = Gamma_s(exp logw). Each
log-weight is a function of its own row and of the picks, and nothing else: this is what lets
`dense_projection` bound the influence of a row. (The paper projects the state.)

**Regret.** y_t is the maximiser of <sum of gains so far, y> - KL(y || uniform)/eta over the 1/s-dense
distributions: follow the regularised leader. KL is 1-strongly convex in the 1-norm and at most ln(m/s) on them
(y_i m <= m/s), and gains of range S can be shifted to |gain| <= S/2, so for every 1/s-dense y

    sum_t <gain_t, y> - <gain_t, y_t>  <=  ln(m/s)/eta + eta T S^2/8,

at best S sqrt(T ln(m/s)/2), with eta = sqrt(8 ln(m/s)/T)/S.
"""

from __future__ import annotations

import math

import numpy as np

from fastmwem.mw.projection import dense_projection
from fastmwem.queries.base import FloatArray, Queries
from fastmwem.select.base import Pick

__all__ = ["DenseWeights", "dense_regret_bound", "dense_step"]


def dense_step(gain_range: float, density: float, rounds: int) -> float:
    """The eta with the least regret bound; `density` is m/s."""
    return math.sqrt(8.0 * math.log(density) / rounds) / gain_range


def dense_regret_bound(eta: float, gain_range: float, density: float, rounds: int) -> float:
    """ln(m/s)/(eta T) + eta S^2/8: what the average regret cannot exceed.

    >>> round(dense_regret_bound(dense_step(1.0, 10.0, 100), 1.0, 10.0, 100), 6)
    0.107298
    """
    return math.log(density) / (eta * rounds) + eta * gain_range**2 / 8.0


class DenseWeights:
    """Rows that gain `gains` - `scale` * (their entry in the picked column): private state, public `counts`.

    A candidate of `columns` is one column of the program, its cells the rows; `gains` is each row's part
    that no pick changes. Only `counts`, how often each column was picked, may leave a run.
    """

    def __init__(
        self, columns: Queries, gains: FloatArray, s: float, eta: float, scale: float = 1.0
    ) -> None:
        self._columns = columns
        self._gains = eta * gains
        self._s = s
        self._factor = eta * scale
        self._log_weights = np.zeros(columns.dim)
        self.counts = np.zeros(columns.m)

    def probe(self) -> FloatArray:
        """y_t = Gamma_s(exp logw): private."""
        return dense_projection(self._log_weights, self._s)

    def respond(self, pick: Pick) -> None:
        """logw += eta * gain of each row."""
        rows, values = self._columns.row(pick.candidate)
        self._log_weights += self._gains
        self._log_weights[rows] -= self._factor * values
        self.counts[pick.candidate] += 1

    def __repr__(self) -> str:
        return "DenseWeights(private)"
