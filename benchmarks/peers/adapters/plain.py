"""Plain baselines: what a page of numpy does.

Sensitivities, of counts: one person more or less moves one cell by 1 (add-remove); one person replaced
moves two (replace-one), so L1 is 2 and L2 is sqrt(2), and a query moves by at most 1 either way. Under
add-remove the number of people is private, so each method buys it with a share of its budget.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.optimize
import scipy.sparse

from benchmarks.peers.protocol import (
    Asked,
    Made,
    Program,
    Task,
    gaussian_sigma,
    serve,
    task_data,
    zcdp_of,
)


def _moves(task: Task) -> int:
    """How many cells of the histogram a neighbour moves by 1."""
    return 2 if task.neighbours == "replace-one" else 1


SHARE = 1 / 50  # of the budget, for n where it is private


def _total(task: Task, asked: Asked, noise: float) -> float:
    """n where it is public, else with `noise`."""
    people = float(len(asked.rows))
    return people if task.neighbours == "replace-one" else max(1.0, people + noise)


def _of_cells(task: Task, asked: Asked, cells: np.ndarray, total: float) -> Made:
    if task.options.get("clip"):  # better where most cells are empty, worse where few are
        cells = np.maximum(cells, 0)
        total = float(cells.sum())
    return Made(asked.answers(cells) / total, lambda: _sample(task, asked, cells))


def _gaussian(task: Task, rng: np.random.Generator, reach: float) -> tuple[float, float]:
    """The deviation of noise on values of L2 sensitivity `reach`, and noise for n, both from one budget.

    Gaussian mechanisms compose exactly: 1/sigma^2 adds up.
    """
    sigma = gaussian_sigma(task.epsilon, task.delta)
    if task.neighbours == "replace-one":
        return sigma * reach, 0.0
    return sigma * reach / math.sqrt(1 - SHARE), rng.normal(0, sigma / math.sqrt(SHARE))


def _sample(task: Task, asked: Asked, cells: np.ndarray) -> np.ndarray:
    weights = np.maximum(cells, 0)
    drawn = np.random.default_rng(task.seed).choice(asked.cells, task.people, p=weights / weights.sum())
    return np.stack(np.unravel_index(drawn, asked.sizes), axis=1)


def gaussian_cells(task: Task) -> Made:
    asked, rng = task_data(task), np.random.default_rng(task.seed)
    sigma, noise = _gaussian(task, rng, math.sqrt(_moves(task)))
    cells = asked.histogram() + rng.normal(0, sigma, asked.cells)
    return _of_cells(task, asked, cells, _total(task, asked, noise))


def laplace_cells(task: Task) -> Made:
    asked, rng = task_data(task), np.random.default_rng(task.seed)
    share = SHARE if task.neighbours == "add-remove" else 0.0
    noise = rng.laplace(0, 1 / (share * task.epsilon)) if share else 0.0
    cells = asked.histogram() + rng.laplace(0, _moves(task) / ((1 - share) * task.epsilon), asked.cells)
    return _of_cells(task, asked, cells, _total(task, asked, noise))


def gaussian_answers(task: Task) -> Made:
    """Noise on what is asked, as it is: nothing makes the answers agree, and there are no rows."""
    asked, rng = task_data(task), np.random.default_rng(task.seed)
    if isinstance(asked.queries, np.ndarray):
        reach = math.sqrt(_farthest(asked.queries, task.neighbours))
    else:
        reach = math.sqrt(len(asked.queries) * _moves(task))
    sigma, noise = _gaussian(task, rng, reach)
    truth = asked.answers(asked.histogram())
    return Made((truth + rng.normal(0, sigma, len(truth))) / _total(task, asked, noise))


def _farthest(matrix: np.ndarray, neighbours: str) -> float:
    """max |q(x) - q(x')|^2 over cells, or max |q(x)|^2: how far a person can move all answers."""
    if neighbours != "replace-one":
        raise ValueError("answers to a matrix are shares of a public n: use replace-one.")
    gram = np.zeros((matrix.shape[1], matrix.shape[1]))
    for start in range(0, len(matrix), 1 << 15):
        block = matrix[start : start + (1 << 15)].astype(np.float32)
        gram += block.T @ block
    size = np.diag(gram)
    return float((size[:, None] + size[None, :] - 2 * gram).max())


def textbook_mwem(task: Task) -> Made:
    """Hardt, Ligett, McSherry, made (epsilon, delta) by zCDP: a scan of all queries in each of T rounds.

    A round spends half of rho/T on the pick (exponential mechanism, scores of sensitivity 1), half on its
    answer with Gaussian noise; then all measurements so far are replayed.
    """
    asked, rng = task_data(task), np.random.default_rng(task.seed)
    rho, rounds = zcdp_of(task.epsilon, task.delta), task.options["rounds"]
    people = float(len(asked.rows))
    if task.neighbours == "add-remove":
        people = _total(task, asked, rng.normal(0, math.sqrt(1 / (2 * rho * SHARE))))
        rho *= 1 - SHARE
    eps0, sigma = math.sqrt(8 * rho / (2 * rounds)), math.sqrt(rounds / rho)
    truth = asked.answers(asked.histogram())
    model = np.full(asked.cells, people / asked.cells)
    measured: list[tuple[np.ndarray, float]] = []
    scan = Scan(asked)
    for _ in range(rounds):
        scores = np.abs(truth - scan.answers(model)) * (eps0 / 2)
        pick = int(np.argmax(scores + rng.gumbel(size=len(scores))))
        measured.append((scan.cells(pick), truth[pick] + rng.normal(0, sigma)))
        for _ in range(10):
            for cells, value in measured:
                model[cells] *= math.exp((value - model[cells].sum()) / (2 * people))
                model *= people / model.sum()
    return Made(asked.answers(model) / people, lambda: _sample(task, asked, model))


class Scan:
    """All answers to a model, as fast as numpy will: a matrix is kept as float32."""

    def __init__(self, asked: Asked) -> None:
        self.asked, queries = asked, asked.queries
        self.matrix = queries.astype(np.float32) if isinstance(queries, np.ndarray) else None

    def answers(self, model: np.ndarray) -> np.ndarray:
        if self.matrix is None:
            return self.asked.answers(model)
        return self.matrix @ model.astype(np.float32)

    def cells(self, pick: int) -> np.ndarray:
        """The cells that query `pick` sums."""
        asked = self.asked
        if self.matrix is not None:
            return np.flatnonzero(self.matrix[pick])
        if isinstance(asked.queries, str):
            first = np.cumsum(np.arange(asked.cells, 0, -1))
            start = int(np.searchsorted(first, pick, side="right"))
            before = 0 if start == 0 else int(first[start - 1])
            return np.arange(start, start + pick - before + 1)
        for columns in asked.queries:
            shape = [asked.sizes[c] for c in columns]
            if pick < math.prod(shape):
                where: list[int | slice] = [slice(None)] * len(asked.sizes)
                for column, code in zip(columns, np.unravel_index(pick, shape), strict=True):
                    where[column] = int(code)
                return np.arange(asked.cells).reshape(asked.sizes)[tuple(where)].ravel()
            pick -= math.prod(shape)
        raise IndexError("there are fewer queries.")


def uniform(task: Task) -> Made:
    asked = task_data(task)
    cells = np.ones(asked.cells)
    return Made(asked.answers(cells) / asked.cells, lambda: _sample(task, asked, cells))


def gaussian_rhs(task: Task) -> Made:
    """Noise on b (L2 sensitivity Delta sqrt(m)); HiGHS finds the x that violates the noisy rows least."""
    program: Program = task_data(task)
    m, d = program.A.shape
    sigma = gaussian_sigma(task.epsilon, task.delta) * program.sensitivity * math.sqrt(m)
    noisy = program.b + np.random.default_rng(task.seed).normal(0, sigma, m)
    found = scipy.optimize.linprog(
        np.r_[np.zeros(d), 1.0],
        A_ub=np.hstack([program.A, -np.ones((m, 1))]),
        b_ub=noisy,
        A_eq=np.r_[np.ones(d), 0.0][None, :],
        b_eq=[1.0],
        bounds=[(0, None)] * d + [(None, None)],
        method="highs",
    )
    return Made(x=found.x[:d])


def uniform_x(task: Task) -> Made:
    d = task_data(task).A.shape[1]
    return Made(x=np.full(d, 1 / d))


if __name__ == "__main__":
    functions = (
        gaussian_cells,
        laplace_cells,
        gaussian_answers,
        textbook_mwem,
        uniform,
        gaussian_rhs,
        uniform_x,
    )
    serve({function.__name__: function for function in functions}, ["numpy", "scipy"])
