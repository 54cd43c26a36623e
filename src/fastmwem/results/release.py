"""What query release hands out: answers with error bounds, a model, synthetic rows, a privacy report."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fastmwem.data.domain import Domain
from fastmwem.errors import DataError, InvalidArgument
from fastmwem.privacy.randomness import Randomness
from fastmwem.queries.base import FloatArray, IntArray, Queries
from fastmwem.results.guarantee import PrivacyReport
from fastmwem.results.synthetic import sample_cells

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Evaluation", "Release"]

_FILES = ("answers.parquet", "privacy.json", "release.npz")  # what `load` reads


@dataclass(frozen=True)
class Evaluation:
    """Errors against the true table, as fractions of its rows: NOT private, do not publish."""

    max_error: float
    mean_error: float
    errors: FloatArray = field(repr=False)

    def __repr__(self) -> str:
        return f"Evaluation(NOT private: max_error={self.max_error:.6g}, mean_error={self.mean_error:.6g})"


@dataclass(frozen=True, repr=False)
class Release:
    """A private release of `workload`. Everything in it is public.

    `values` are the answers as fractions of the table, `counts` as numbers of rows; `bounds` a 95 % error
    bound for each of `values` (what it covers is in `bound_kind`). `distribution` is the model p over the
    cells, or over the public `records` where a support was given; `total` the rows that it stands for.
    `details` tells of the public course of the run (T, eps0, picks, ...).

    >>> from fastmwem import prefixes, query_release
    >>> release = query_release(prefixes(4), [400, 300, 200, 100], epsilon=1, delta=1e-6)
    >>> release.values.shape, release.answers.column_names
    ((4,), ['query', 'answer', 'count', 'error_bound'])
    >>> release.sample(3).shape, release.report.private
    ((3, 1), True)
    """

    workload: Queries | None
    values: FloatArray
    bounds: FloatArray
    bound_kind: str
    distribution: FloatArray
    total: float
    report: PrivacyReport
    method: str
    domain: Domain | None = None
    records: IntArray | None = None
    details: dict[str, Any] = field(default_factory=dict)
    names: tuple[str, ...] | None = None  # the queries in words, where they were loaded rather than asked

    @property
    def counts(self) -> FloatArray:
        """The answers as numbers of rows."""
        return self.values * self.total

    @cached_property
    def answers(self) -> pa.Table:
        """An Arrow table: query, answer (a fraction), count, error_bound (on the fraction)."""
        import pyarrow as pa

        columns = {
            "query": pa.array(self.describe(range(len(self.values)))),
            "answer": pa.array(self.values),
            "count": pa.array(self.counts),
            "error_bound": pa.array(self.bounds),
        }
        return pa.table(columns)

    @cached_property
    def histogram(self) -> pa.Table:
        """An Arrow table of the model's cells that have mass: a label per column, probability, count."""
        import pyarrow as pa

        cells = np.flatnonzero(self.distribution)
        columns: dict[str, Any] = {}
        if self.domain is None:
            columns["cell"] = pa.array(cells)
        else:
            for column, codes in zip(self.domain.columns, self.codes(cells).T, strict=True):
                indices = pa.array(codes.astype(np.int32))
                columns[column.name] = pa.DictionaryArray.from_arrays(indices, pa.array(column.labels))
        mass = self.distribution[cells]
        return pa.table({**columns, "probability": pa.array(mass), "count": pa.array(mass * self.total)})

    def describe(self, ids: Iterable[int]) -> list[str]:
        """The queries `ids` in words."""
        if self.names is not None:
            return [self.names[i] for i in ids]
        return [self._asked("describe").describe(i) for i in ids]

    def codes(self, cells: IntArray) -> IntArray:
        """The column codes of `cells`, shape (len(cells), columns); one column of cells without a domain."""
        if self.records is not None:
            return self.records[cells]
        if self.domain is None:
            return np.asarray(cells, np.int64)[:, None]
        return np.stack(np.unravel_index(cells, self.domain.shape), axis=1).astype(np.int64)

    def sample(self, rows: int | None = None, *, randomness: Randomness | None = None) -> IntArray:
        """Synthetic rows as column codes, shape (rows, columns); as many as the table has if not given.

        Drawn by stratified rounding of the model, then shuffled. Costs no privacy.
        """
        rows = max(1, round(self.total)) if rows is None else rows
        return self.codes(sample_cells(self.distribution, rows, randomness))

    def evaluate(self, data: Any) -> Evaluation:
        """Errors against the true table: NOT private. `data` is what the release was made from.

        A histogram, an array of column codes, or anything with `answers(queries)` and `rows()`.
        """
        workload = self._asked("evaluate")
        if hasattr(data, "answers") and hasattr(data, "rows"):
            truth = data.answers(self.details.get("asked", workload)) / data.rows()
        else:
            array = np.asarray(data, np.float64).ravel()
            if array.size != workload.dim:
                raise InvalidArgument(
                    f"data must be a histogram with {workload.dim:,} cells, got {array.size:,}."
                )
            truth = workload.answers(array) / array.sum()
        errors = np.abs(self.values - truth)
        return Evaluation(float(errors.max()), float(errors.mean()), errors)

    def save(self, path: str | Path) -> Path:
        """Write `answers.parquet`, `histogram.parquet`, `privacy.json` and `release.npz` into `path`."""
        import pyarrow.parquet as pq

        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(self.answers, folder / "answers.parquet")
        pq.write_table(self.histogram, folder / "histogram.parquet")
        (folder / "privacy.json").write_text(json.dumps(self.report.to_dict(), indent=2) + "\n")
        arrays: dict[str, Any] = {
            "distribution": self.distribution,
            "total": self.total,
            "method": self.method,
            "bound_kind": self.bound_kind,
        }
        if self.records is not None:
            arrays["records"] = self.records
        np.savez_compressed(folder / "release.npz", **arrays)
        return folder

    @classmethod
    def load(cls, path: str | Path, workload: Queries | None = None, domain: Domain | None = None) -> Release:
        """A release that `save` wrote. With its `workload` and `domain`, it can do all that it could."""
        import pyarrow.parquet as pq

        folder = Path(path)
        missing = [name for name in _FILES if not (folder / name).is_file()]
        if missing:
            raise DataError(f"{folder} holds no release: {missing[0]} is missing.")
        table = pq.read_table(folder / "answers.parquet")
        report = PrivacyReport.from_dict(json.loads((folder / "privacy.json").read_text()))
        with np.load(folder / "release.npz", allow_pickle=False) as arrays:
            stored = {name: arrays[name] for name in arrays.files}
        values = table["answer"].to_numpy()
        if workload is not None and workload.m != len(values):
            raise InvalidArgument(f"workload has {workload.m:,} queries, the release {len(values):,}.")
        return cls(
            workload=workload,
            values=values,
            bounds=table["error_bound"].to_numpy(),
            bound_kind=str(stored["bound_kind"]),
            distribution=stored["distribution"],
            total=float(stored["total"]),
            report=report,
            method=str(stored["method"]),
            domain=domain,
            records=stored.get("records"),
            names=tuple(table["query"].to_pylist()),
        )

    def _asked(self, what: str) -> Queries:
        if self.workload is None:
            raise InvalidArgument(f"{what} needs the workload: give it to Release.load.")
        return self.workload

    def __repr__(self) -> str:
        bound = float(np.max(self.bounds)) if self.bounds.size else math.nan
        return (
            f"Release({len(self.values):,} answers by {self.method}, error at most {bound:.3g} at 95 %, "
            f"{self.distribution.size:,} cells; {self.report.statement})"
        )

    def _repr_html_(self) -> str:
        from fastmwem.results.report import release_fragment

        return release_fragment(self)
