"""All 3-way marginals by `auto`, against bars: `python -m benchmarks.query_release_marginals --data DIR`.

DIR holds NAME.csv (cell codes under a header) and NAME-domain.json (cells per column) for adultA, pums and
nltcs (or nltcs/nltcs); what is not there is skipped. epsilon and delta as printed, add-remove neighbours,
errors as fractions of the true n, median of `--runs` seeded runs, hence not private. `--method` runs
another one.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import fastmwem as fm

# name, epsilon, bars: max error, mean error, seconds of a whole run
BARS = (
    ("adultA", 1.0, 0.0010, 0.00011, 2.0),
    ("pums", 1.0, 0.033, 0.00050, 10.0),
    ("adultA", 0.1, 0.0085, 0.0006, 2.0),
    ("nltcs", 1.0, 0.009, 0.0015, 10.0),
)


def read(folder: Path, name: str) -> tuple[fm.Domain, np.ndarray] | None:
    """The domain and the histogram of a table, if it is there."""
    for stem in (folder / name, folder / name / name):
        table, declared = stem.with_suffix(".csv"), stem.parent / f"{name}-domain.json"
        if table.exists() and declared.exists():
            with table.open() as lines:
                header, *rows = csv.reader(lines)
            sizes = json.loads(declared.read_text())
            domain = fm.Domain.of_sizes({column: sizes[column] for column in header})
            cells = np.ravel_multi_index(tuple(np.array(rows, int).T), domain.shape)
            return domain, np.bincount(cells, minlength=domain.size).astype(float)
    return None


def lines(folder: Path, runs: int, method: str) -> Iterator[tuple[str, bool]]:
    """One line per bar, and whether it is met."""
    for name, epsilon, *bars in BARS:
        found = read(folder, name)
        if found is None:
            yield f"{name}: not in the folder, skipped", True
            continue
        domain, histogram = found
        workload, n = fm.marginals(domain, k=3), int(histogram.sum())
        truth = workload.answers(histogram) / n
        figures, gaps, used = [], [], method
        for seed in range(runs):
            begin = time.perf_counter()
            release = fm.query_release(
                workload,
                histogram.reshape(domain.shape),
                epsilon=epsilon,
                delta=1e-6,
                neighbours="add-remove",
                n=n,
                method=method,
                randomness=fm.Randomness.seeded(seed),
            )
            spent = time.perf_counter() - begin
            used, error = release.method, np.abs(release.values - truth)
            figures.append((error.max(), error.mean(), spent))
            gaps.append(release.details.get("gap", float("nan")))
        median = np.median(figures, axis=0)
        met = bool((median <= bars).all())
        said = ", ".join(
            f"{what} {value:.3g} <= {bar:g}"
            for what, value, bar in zip(("max", "mean", "seconds"), median, bars, strict=True)
        )
        yield (
            f"{name}, {workload.m:,} queries, epsilon {epsilon:g}, {used}: {said}, "
            f"duality gap at most {max(gaps):.1e} nats",
            met,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--method", default="auto")
    asked = parser.parse_args()
    missed = 0
    for line, met in lines(asked.data, asked.runs, asked.method):
        print("ok  " if met else "MISS", line, flush=True)
        missed += not met
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
