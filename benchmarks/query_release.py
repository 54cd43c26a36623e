"""Query release against its own baselines: error over n and T, time against the exhaustive run, all ranges.

    python -m benchmarks.query_release [--data DIR] [--runs 5] [error] [speed] [ranges] [slopes] [bounds]

`DIR` holds one-dimensional histograms as *.npy (any will do; `ranges` needs it). Errors are fractions of n.
Every run is seeded, so its release is not private.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np
from scipy import stats

import fastmwem as fm
from fastmwem.privacy.randomness import Randomness
from fastmwem.queries.binary import Binary

CELLS = 3000
SECTIONS = ("error", "speed", "ranges", "slopes", "bounds")


def paper_queries(m: int, cells: int = CELLS, seed: int = 0) -> Binary:
    """m sets of U/4 distinct cells drawn from N(U/2, U/5): without replacement, by exponential keys."""
    rng = np.random.default_rng([seed, m])
    edges = np.arange(cells + 1) - 0.5
    chance = np.diff(stats.norm.cdf(edges, cells / 2, cells / 5))
    rows = np.zeros((m, cells), np.int8)
    for row in rows:
        row[np.argpartition(rng.exponential(size=cells) / chance, cells // 4)[: cells // 4]] = 1
    return Binary(rows)


def paper_histogram(n: int, cells: int = CELLS, seed: int = 0) -> np.ndarray:
    """n samples from N(U/3, U/15)."""
    samples = np.random.default_rng([seed, n]).normal(cells / 3, cells / 15, n)
    return np.bincount(np.clip(np.rint(samples), 0, cells - 1).astype(int), minlength=cells).astype(float)


def run(workload, h, seed, **options):
    """(release, max error, mean error, seconds)"""
    began = time.perf_counter()
    release = fm.query_release(workload, h, randomness=Randomness.seeded(seed), **options)
    seconds = time.perf_counter() - began
    found = release.evaluate(h)
    return release, found.max_error, found.mean_error, seconds


def error(runs: int) -> None:
    """mwem on the paper's workload at T = 5,000."""
    queries = paper_queries(5000)
    for n in (100_000, 10_000):
        options = {"epsilon": 1, "delta": 1e-3, "method": "mwem"}
        for rounds in (5000, "auto"):
            found = [run(queries, paper_histogram(n), s, rounds=rounds, **options) for s in range(runs)]
            worst, mean, seconds = (np.median([f[k] for f in found]) for k in (1, 2, 3))
            used = found[0][0].details["rounds"]
            print(f"paper m=5000 n={n:>7,} T={used:>6,}: max {worst:.4f} mean {mean:.4f} in {seconds:.1f} s")


def speed(runs: int) -> None:
    """The whole run at m = 1e5 against the exhaustive one, extrapolated from 200 rounds."""
    queries, h, rounds = paper_queries(100_000), paper_histogram(500), 20_000
    options = {"epsilon": 1, "delta": 1e-3, "method": "mwem"}
    run(queries, h, 0, rounds=200, **options)
    run(queries, h, 0, rounds=200, selection="exhaustive", **options)
    fast = np.median([run(queries, h, s, rounds=rounds, **options)[3] for s in range(runs)])
    slow = []
    for seed in range(runs):
        first = run(queries, h, seed, rounds=20, selection="exhaustive", **options)[3]
        second = run(queries, h, seed, rounds=220, selection="exhaustive", **options)[3]
        slow.append((second - first) * rounds / 200)
    whole = float(np.median(slow))
    print(f"paper m=1e5 n=500 T=20,000: {fast:.2f} s, exhaustive {whole:.0f} s, {whole / fast:.0f} times")


def ranges(runs: int, folder: Path) -> None:
    """All ranges of each histogram in `folder`, whole and subsampled: every method, and what auto took."""
    for path in sorted(folder.glob("*.npy")):
        whole = np.load(path).astype(float)
        workload = fm.ranges(whole.size)
        for size in (None, 10_000, 1_000):
            rng = np.random.default_rng(0)
            h = whole if size is None else rng.multinomial(size, whole / whole.sum()).astype(float)
            n = int(h.sum())
            options = {"epsilon": 0.1, "delta": 1e-6, "neighbours": "add-remove", "n": n}
            plan = fm.plan(workload, **options)
            planned = [prediction.method for prediction in plan.predictions]
            errors, shown = {}, []
            for method in ("mwem", "measured", "direct", "histogram"):
                if method not in planned:
                    continue
                extra = {"rounds": 1000} if method == "mwem" else {}
                found = [run(workload, h, s, method=method, **options, **extra) for s in range(runs)]
                errors[method] = np.median([f[1] for f in found])
                shown.append(f"{method} {errors[method]:.5f} ({np.median([f[3] for f in found]):.1f} s)")
            ratio = errors[plan.chosen] / min(errors.values())
            print(f"{path.stem:<14} n={n:>10,}: {', '.join(shown)}; auto: {plan.chosen}, {ratio:.2f} of best")


def slopes(runs: int) -> None:
    """d ln(error) / d ln(n) and / d ln(T), up to the planned T."""
    queries, options = paper_queries(1000), {"epsilon": 1, "delta": 1e-3, "method": "mwem"}
    sizes = (1_000, 10_000, 100_000, 1_000_000)
    by_n = [
        np.median([run(queries, paper_histogram(n), s, **options)[1] for s in range(runs)]) for n in sizes
    ]
    steps = (100, 400, 1_600, 6_400)
    h = paper_histogram(1_000_000)
    by_t = [np.median([run(queries, h, s, rounds=t, **options)[1] for s in range(runs)]) for t in steps]
    print(f"slope in n {_slope(sizes, by_n):.2f}: " + ", ".join(f"{e:.4f}" for e in by_n))
    print(f"slope in T {_slope(steps, by_t):.2f}: " + ", ".join(f"{e:.4f}" for e in by_t))


def bounds(runs: int) -> None:
    """How often a stated 95 % bound fails: of all answers at once for mwem, of each answer for the others."""
    h, workload = paper_histogram(2_000, 64), fm.ranges(64)
    for method in ("mwem", "direct", "histogram"):
        missed = np.zeros(workload.m)
        for seed in range(max(runs, 100)):
            release = run(workload, h, seed, epsilon=1, delta=1e-6, method=method)[0]
            missed += release.evaluate(h).errors > release.bounds
        allowed = stats.binom.ppf(1 - 1e-6, max(runs, 100), 0.05)
        print(
            f"bounds of {method}: worst answer missed {int(missed.max())} times of {max(runs, 100)}, "
            f"chance allows {int(allowed)}"
        )


def _slope(x, y) -> float:
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", choices=SECTIONS, default=[])
    parser.add_argument("--data", type=Path, help="a folder of one-dimensional histograms, *.npy")
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    for section in given.sections or SECTIONS:
        if section == "ranges":
            if given.data is not None:
                ranges(given.runs, given.data)
        else:
            globals()[section](given.runs)


if __name__ == "__main__":
    main()
