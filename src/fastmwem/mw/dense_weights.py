r"""Dense multiplicative weights: the player whose every distribution is spread over at least s rows.

The state is the **unprojected** log-measure, 0 at the start; what is shown is y = Gamma_s(exp logw). Each
log-weight is a function of its own row and of the picks, and nothing else: this is what lets
`dense_projection` bound the influence of a row. (The paper projects the state.)

**Regret.** y_t is the maximiser of <sum of gains so far, y> - KL(y || uniform)/eta over the 1/s-dense
distributions: follow the regularised leader. KL is 1-strongly convex in the 1-norm and at most L = ln(m/s) on
them (y_i m <= m/s), and gains of range S can be shifted to |gain| <= S/2, so for every 1/s-dense y

    sum_t <gain_t, y>  <=  sum_t <gain_t, y_t> + L/eta + eta T S^2/8.                        (any gains)

What is between y_t and the next optimum is at most (1/eta) ln sum_i y_ti e^(eta gain_i), by the Pythagorean
inequality of Bregman projections. With u = eta S and e^z <= 1 + (e^u - 1) z/u on [0, u] that is a factor,
which is worth more where gains are seldom near S:

    gains in [0, S]:   sum_t <gain_t, y>  <=  (e^u - 1)/u sum_t <gain_t, y_t> + S L/u;
    gains in [-S, 0]:  sum_t <gain_t, y>  <=  (1 - e^-u)/u sum_t <gain_t, y_t> + S L/u.      (one sign)
"""

from __future__ import annotations

import numpy as np

from fastmwem.mw.projection import dense_projection
from fastmwem.queries.base import FloatArray, Queries
from fastmwem.select.base import Pick

__all__ = ["DenseWeights"]


class DenseWeights:
    """Rows that gain `gains` - `scale` * (their entry in the picked column): private state, public `counts`.

    A candidate of `columns` is one column of the program, its cells the rows; `gains` is each row's part
    that no pick changes. Only `counts`, how often each column was picked, may leave a run.
    """

    def __init__(self, columns: Queries, gains: FloatArray, s: float, eta: float, scale: float = 1.0) -> None:
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
