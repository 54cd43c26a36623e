"""Results on disk: one Parquet file per case of an experiment, written whole or not at all.

A file is named after the experiment, the case and a digest of everything that the case depends on, so a run
that stopped goes on where it was, and a changed configuration is measured anew.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Case", "Row", "Rows", "Store"]

Case = dict[str, Any]  # what is varied within an experiment: names and numbers
Row = dict[str, Any]  # one measurement: the case's names, and what was measured


class Rows:
    """Measurements, as figures and findings read them."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self._rows = list(rows)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def where(self, **equal: Any) -> Rows:
        """Those rows whose columns hold these values."""
        return Rows(row for row in self._rows if all(row[name] == value for name, value in equal.items()))

    def column(self, name: str) -> NDArray[Any]:
        return np.array([row[name] for row in self._rows])

    def values(self, name: str) -> list[Any]:
        """The distinct values of a column, in the order in which they come."""
        return list(dict.fromkeys(row[name] for row in self._rows))

    def mean(self, name: str) -> float:
        return float(self.column(name).mean())

    def along(self, x: str, y: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
        """(x, mean of y, mean - deviation, mean + deviation), one entry for each value of x, rising."""
        xs = np.array(sorted(self.values(x)))
        parts = [self.where(**{x: value}).column(y) for value in xs.tolist()]
        means = np.array([part.mean() for part in parts])
        spread = np.array([part.std(ddof=1) if len(part) > 1 else 0.0 for part in parts])
        return xs, means, means - spread, means + spread


class Store:
    """The Parquet files of runs of one size under `root`."""

    def __init__(self, root: Path, size: str) -> None:
        self.root = root / size

    def has(self, experiment: str, config: Any, case: Case) -> bool:
        return self._path(experiment, config, case).exists()

    def write(self, experiment: str, config: Any, case: Case, rows: list[Row]) -> None:
        """The rows of one case, each with the case's own columns, and the configuration beside them."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.Table.from_pylist([case | row for row in rows])
        table = table.replace_schema_metadata({"fastmwem": _text(experiment, config, case)})
        path = self._path(experiment, config, case)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        pq.write_table(table, part)
        os.replace(part, path)

    def read(self, experiment: str, config: Any, cases: Iterable[Case]) -> Rows:
        """The rows of all of `cases` that have been measured, in their order."""
        import pyarrow.parquet as pq

        paths = (self._path(experiment, config, case) for case in cases)
        return Rows(row for path in paths if path.exists() for row in pq.read_table(path).to_pylist())

    def _path(self, experiment: str, config: Any, case: Case) -> Path:
        digest = sha256(_text(experiment, config, case).encode()).hexdigest()[:12]
        words = "-".join(str(value).replace(" ", "_") for value in case.values())
        return self.root / experiment / f"{words}-{digest}.parquet"


def _text(experiment: str, config: Any, case: Case) -> str:
    return json.dumps({"experiment": experiment, "config": asdict(config), "case": case}, sort_keys=True)
