"""Results on disk: a Parquet file for each case while a run goes on, then one for each experiment.

Files are written whole or not at all. That of a case is named after the experiment, the case and a digest of
everything that the case depends on, so a run that stopped goes on where it was, and a changed configuration
is measured anew. The one of an experiment, its `Record`, is all that figures and the page read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Case", "Record", "Row", "Rows", "Store"]

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

    def among(self, cases: Iterable[Case]) -> Rows:
        """Those rows that were measured in one of `cases`."""
        return Rows(row for case in cases for row in self.where(**case))

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
    """The Parquet files of the cases that were measured, under `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def has(self, experiment: str, config: Any, case: Case) -> bool:
        return self._path(experiment, config, case).exists()

    def write(self, experiment: str, config: Any, case: Case, rows: list[Row], seconds: float) -> None:
        """The rows of one case, each with the case's own columns; beside them its configuration and cost."""
        made = {"fastmwem": _text(experiment, config, case), "seconds": f"{seconds:.3f}", **machine()}
        _write(self._path(experiment, config, case), [case | row for row in rows], made)

    def gather(self, experiment: str, config: Any, cases: Iterable[Case], path: Path) -> None:
        """All of `cases` that have been measured, in their order, as one `Record` at `path`."""
        import pyarrow.parquet as pq

        paths = (self._path(experiment, config, case) for case in cases)
        tables = [pq.read_table(each) for each in paths if each.exists()]
        made = [_metadata(table) for table in tables]
        if not tables:
            return
        seconds = sum(float(each["seconds"]) for each in made)
        told = made[-1] | {"fastmwem": _text(experiment, config), "seconds": f"{seconds:.3f}"}
        _write(path, [row for table in tables for row in table.to_pylist()], told)

    def _path(self, experiment: str, config: Any, case: Case) -> Path:
        digest = sha256(_text(experiment, config, case).encode()).hexdigest()[:12]
        words = "-".join(str(value).replace(" ", "_") for value in case.values())
        return self.root / experiment / f"{words}-{digest}.parquet"


@dataclass(frozen=True)
class Record:
    """What was measured of one experiment, for which configuration, in how many seconds and on what."""

    rows: Rows
    made: dict[str, str]

    @classmethod
    def read(cls, path: Path) -> Record:
        """From `path`; empty if there is no such file."""
        import pyarrow.parquet as pq

        if not path.exists():
            return cls(Rows([]), {})
        table = pq.read_table(path)
        return cls(Rows(table.to_pylist()), _metadata(table))

    def holds(self, experiment: str, config: Any, cases: Iterable[Case]) -> bool:
        """Whether each of `cases` was measured with this very configuration."""
        same = self.made.get("fastmwem") == _text(experiment, config)
        return same and all(len(self.rows.where(**case)) for case in cases)

    @property
    def seconds(self) -> float:
        """Processor time of all cases."""
        return float(self.made["seconds"])


def machine() -> dict[str, str]:
    """Where a measurement was made, as far as it matters for times."""
    packages = {name: version(name) for name in ("numpy", "numba", "faiss-cpu")}
    return {"cores": str(os.cpu_count()), "Python": python_version(), **packages}


def _write(path: Path, rows: list[Row], metadata: dict[str, str]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    pq.write_table(pa.Table.from_pylist(rows).replace_schema_metadata(metadata), part)
    os.replace(part, path)


def _metadata(table: Any) -> dict[str, str]:
    return {key.decode(): value.decode() for key, value in table.schema.metadata.items()}


def _text(experiment: str, config: Any, case: Case | None = None) -> str:
    what = {"experiment": experiment, "config": asdict(config)}
    return json.dumps(what if case is None else what | {"case": case}, sort_keys=True)
