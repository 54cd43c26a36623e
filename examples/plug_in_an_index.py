"""An index of your own for lazy selection: buckets by the cell in which a query differs most from its mean.

    python examples/plug_in_an_index.py [--queries 20000]

An index is a hint about where large scores are. Whatever it returns is scored again, and what it leaves out
is bounded without its help, so a bad index costs time and never privacy: the release is exact with it, too.
"""

import argparse
from dataclasses import dataclass

import numpy as np

import fastmwem as fm


class Buckets:
    """The built structure: points by their largest coordinate."""

    def __init__(self, points) -> None:
        rows = points.block(np.arange(points.m))
        self.bucket = rows.argmax(axis=1)

    def nearest(self, probe: np.ndarray, k: int) -> np.ndarray:
        """Points of the buckets in which the probe is largest, about k of them."""
        best = np.argsort(-probe)[:8]
        return np.flatnonzero(np.isin(self.bucket, best))[:k]


@dataclass(frozen=True)
class BucketIndex:
    """The description: its settings, what memory it takes, and how it is built."""

    metric: str = "inner-product"

    def memory(self, m: int, columns: int) -> float:
        return 8.0 * m

    def build(self, points) -> Buckets:
        return Buckets(points)


def main(queries: int) -> float:
    fm.check_index(BucketIndex())  # tries it out on a few public points

    rng = np.random.default_rng()
    cells, people = 200, 1_000
    workload = fm.linear(rng.integers(0, 2, (queries, cells), dtype=np.uint8))
    histogram = rng.multinomial(people, rng.dirichlet(np.full(cells, 0.1)))
    options = {"epsilon": 1, "delta": 1e-6, "method": "mwem", "rounds": 300}
    ours = fm.query_release(workload, histogram, selection="lazy", index=BucketIndex(), **options)
    certified = fm.query_release(workload, histogram, selection="certified", **options)
    for name, release in (("buckets", ours), ("certified bounds", certified)):
        print(
            f"{name}: {release.report.statement}\n  largest error {release.evaluate(histogram).max_error:.3f}"
        )
    return ours.report.epsilon


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--queries", type=int, default=20_000)
    main(parser.parse_args().queries)
