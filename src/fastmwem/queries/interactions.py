"""Interactions: the orthonormal coordinates in which marginals are independent pieces.

Each axis i has an orthonormal basis of R^n_i: the constant 1/sqrt(n_i) and n_i - 1 contrasts U_i (a cosine
basis; plus and minus one for two cells). The interaction of the columns A of a vector x is
c_A = (tensor product of U_i^T, i in A) M_A x, with M_A x the marginal over A. Then, for the columns B,

    M_B x = sum over A within B of (tensor product of U_i over A and of constants 1/n_j over B - A) c_A,

so a marginal is nothing but the interactions below it, and what several overlapping marginals say of one
interaction is averaged instead of being kept several times. This is the residual basis of ResidualPlanner
(Xiao, He, Zhang, Kifer 2023) in orthonormal form.

One row of a table contributes a vector of squared norm prod((n_i - 1)/n_i, i in A) to c_A, whichever cell it
is in: the squared norm of row x of U_i is 1 - 1/n_i, since U_i and the constant make an orthonormal matrix.
"""

from __future__ import annotations

import math

import numpy as np

from fastmwem.queries.base import FloatArray, IntArray
from fastmwem.queries.marginals import Marginals, Subset

__all__ = ["Interactions", "block", "contrasts", "interactions_to_marginal", "marginal_to_interactions"]

_GROUP = 32  # axes are multiplied together up to this size: fewer, larger matrix products


def contrasts(size: int) -> FloatArray:
    """An orthonormal basis of R^size as columns, the constant first.

    >>> contrasts(2).round(3).tolist()
    [[0.707, 0.707], [0.707, -0.707]]
    """
    cells = np.arange(size)
    basis = np.cos(np.pi * (cells[:, None] + 0.5) * cells[None, :] / size) * math.sqrt(2.0 / size)
    basis[:, 0] = 1.0 / math.sqrt(size)
    return basis


class Interactions:
    """The linear map x -> (c_A for A in `subsets`), and its adjoint, on the vectors of `space`.

    `space` is any `Marginals` object: it says what the entries of a vector are (the cells of its domain, or
    its records). Rows are ordered subset after subset, row-major over the contrasts within each.
    """

    def __init__(self, space: Marginals, subsets: tuple[Subset, ...]) -> None:
        self.space, self.subsets = space, subsets
        self.dim = space.dim
        shape = space.domain.shape
        self.sizes = [math.prod(shape[i] - 1 for i in subset) for subset in subsets]
        self.bounds: IntArray = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        self.m = int(self.bounds[-1])
        full = space.records is None
        self._map = _OnGrid(shape, subsets) if full else _OnRecords(space, subsets)

    def slice(self, index: int) -> slice:
        """Where the interaction of subset number `index` is among the rows."""
        return slice(int(self.bounds[index]), int(self.bounds[index + 1]))

    def answers(self, v: FloatArray) -> FloatArray:
        """All interactions of `v`."""
        return self._map.forward(np.asarray(v, float))

    def adjoint(self, weights: FloatArray) -> FloatArray:
        """sum_i weights_i (row i)."""
        return self._map.backward(weights)

    def mean_square(self) -> FloatArray:
        """For each row, the mean of its squared entries over the full domain: prod(1/n_i, i in A)."""
        shape = self.space.domain.shape
        return np.repeat([1.0 / math.prod(shape[i] for i in s) for s in self.subsets], self.sizes)


def marginal_to_interactions(table: FloatArray, sizes: tuple[int, ...]) -> FloatArray:
    """All interactions of one marginal: the orthonormal transform of its table.

    Entry (a_1 .. a_k) belongs to the interaction of {i: a_i > 0}, times prod(n_j^(-1/2), j with a_j = 0).
    Orthonormal, so independent noise of one variance stays so.
    """
    out = np.asarray(table, float).reshape(sizes)
    for axis, size in enumerate(sizes):
        out = np.moveaxis(np.tensordot(contrasts(size), out, axes=(0, axis)), 0, axis)
    return out


def interactions_to_marginal(coefficients: FloatArray, sizes: tuple[int, ...]) -> FloatArray:
    """The inverse of `marginal_to_interactions`."""
    out = np.asarray(coefficients, float).reshape(sizes)
    for axis, size in enumerate(sizes):
        out = np.moveaxis(np.tensordot(contrasts(size), out, axes=(1, axis)), 0, axis)
    return out


def block(subset: Subset, within: Subset) -> tuple[slice | int, ...]:
    """Where the interaction of `subset` is in the transform of the marginal over `within`."""
    return tuple(slice(1, None) if axis in subset else 0 for axis in within)


class _OnGrid:
    """On the full domain: transform the whole tensor, then pick the entries that are wanted."""

    def __init__(self, shape: tuple[int, ...], subsets: tuple[Subset, ...]) -> None:
        self.factors = _grouped(shape)
        whole = tuple(range(len(shape)))
        grid = np.arange(math.prod(shape)).reshape(shape)
        self.where = np.concatenate([grid[block(s, whole)].reshape(-1) for s in subsets])
        rest = [math.sqrt(math.prod(shape[i] for i in whole if i not in s)) for s in subsets]
        self.scale = np.repeat(rest, [math.prod(shape[i] - 1 for i in s) for s in subsets])

    def forward(self, v: FloatArray) -> FloatArray:
        return _transform(v, self.factors)[self.where] * self.scale

    def backward(self, weights: FloatArray) -> FloatArray:
        full = np.zeros(math.prod(len(f) for f in self.factors))
        full[self.where] = weights * self.scale
        return _transform(full, [f.T for f in self.factors])


class _OnRecords:
    """On a list of records: sum them into the largest marginals, and transform those."""

    def __init__(self, space: Marginals, subsets: tuple[Subset, ...]) -> None:
        self.space = space
        shape = space.domain.shape
        sizes = [math.prod(shape[i] - 1 for i in s) for s in subsets]
        bounds = np.concatenate([[0], np.cumsum(sizes)])
        self.m = int(bounds[-1])
        tops = [s for s in subsets if not any(set(s) < set(other) for other in subsets)]
        self.tables: list[tuple[Subset, list[FloatArray], list[tuple[slice, IntArray, float]]]] = []
        placed: set[Subset] = set()
        for top in tops:
            cells = tuple(shape[i] for i in top)
            grid = np.arange(math.prod(cells)).reshape(cells)
            inside = []
            for index, s in enumerate(subsets):
                if set(s) <= set(top) and s not in placed:
                    placed.add(s)
                    rest = math.sqrt(math.prod(shape[i] for i in top if i not in s))
                    rows = slice(int(bounds[index]), int(bounds[index + 1]))
                    inside.append((rows, np.reshape(grid[block(s, top)], -1), rest))
            self.tables.append((top, [contrasts(n) for n in cells], inside))

    def forward(self, v: FloatArray) -> FloatArray:
        out = np.empty(self.m)
        for top, factors, inside in self.tables:
            table = np.bincount(self.space.codes(top), v, math.prod(len(f) for f in factors))
            transformed = _transform(table.astype(np.float64), factors)
            for rows, where, scale in inside:
                out[rows] = transformed[where] * scale
        return out

    def backward(self, weights: FloatArray) -> FloatArray:
        total = np.zeros(self.space.dim)
        for top, factors, inside in self.tables:
            coefficients: FloatArray = np.zeros(math.prod(len(f) for f in factors))
            for rows, where, scale in inside:
                np.put(coefficients, where, weights[rows] * scale)
            table = _transform(coefficients, [f.T for f in factors])
            total += table[self.space.codes(top)]
        return total


def _grouped(shape: tuple[int, ...]) -> list[FloatArray]:
    """One basis per axis, neighbours merged by Kronecker product while small."""
    groups: list[FloatArray] = []
    for size in shape:
        basis = contrasts(size)
        if groups and len(groups[-1]) * size <= _GROUP:
            groups[-1] = np.asarray(np.kron(groups[-1], basis), np.float64)
        else:
            groups.append(basis)
    return groups


def _transform(v: FloatArray, factors: list[FloatArray]) -> FloatArray:
    """Multiply each (grouped) axis of `v` by the transpose of its factor.

    Each step takes the first axis away and puts its transform last; after all of them the order is as before.
    """
    out = v
    for factor in factors:
        out = out.reshape(len(factor), -1).T @ factor
    return np.ascontiguousarray(out).reshape(-1)
