"""`make bench`: the regression set. Every `bench_*.py` here registers ratios; a ratio above its bar fails.

A ratio divides our time by that of a yardstick measured in the same run: a calibration kernel below, or a
rival. So the bars hold on any machine. To add one, write `benchmarks/bench_NAME.py`:

    from benchmarks.run import ratio, scan, seconds

    @ratio("certified pick, m = 1e5, against one scan", bar=0.2)
    def certified_pick() -> float:
        ...                                     # set up and warm up, outside of the timing
        return seconds(lambda: selector.pick(p), repeat=200) / scan(m=10**5, cells=3000)

`python -m benchmarks.run [WORD ...]` runs those whose name holds one of the words.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np

__all__ = ["Ratio", "main", "measure", "ratio", "scan", "seconds"]


@dataclass(frozen=True)
class Ratio:
    """A named figure that must not grow above `bar`."""

    name: str
    bar: float
    measure: Callable[[], float]


_RATIOS: list[Ratio] = []


def ratio(name: str, bar: float) -> Callable[[Callable[[], float]], Callable[[], float]]:
    """Register a function that measures one ratio."""

    def register(function: Callable[[], float]) -> Callable[[], float]:
        _RATIOS.append(Ratio(name, bar, function))
        return function

    return register


def seconds(work: Callable[[], object], repeat: int = 1, best_of: int = 5) -> float:
    """Seconds that one call of `work` takes: the best of several timings of `repeat` calls, once warm."""
    work()
    timings = []
    for _ in range(best_of):
        start = time.perf_counter()
        for _ in range(repeat):
            work()
        timings.append((time.perf_counter() - start) / repeat)
    return min(timings)


@cache
def scan(m: int, cells: int) -> float:
    """The yardstick of memory speed: NumPy's product of an m x cells float32 matrix with a vector."""
    matrix = np.ones((m, cells), np.float32)
    vector = np.ones(cells, np.float32)
    return seconds(lambda: matrix @ vector)


def measure(ratios: list[Ratio]) -> list[tuple[Ratio, float]]:
    """Each ratio; one that is above its bar gets a second chance, for what else the machine was doing."""
    out = []
    for item in ratios:
        value = item.measure()
        if value > item.bar:
            value = min(value, item.measure())
        out.append((item, value))
    return out


def main(words: list[str]) -> int:
    """Run, print, and return 1 if any ratio is above its bar."""
    for path in sorted(Path(__file__).parent.glob("bench_*.py")):
        import_module(f"benchmarks.{path.stem}")
    chosen = [r for r in _RATIOS if not words or any(word in r.name for word in words)]
    if not chosen:
        print(f"bench: nothing is named like {' or '.join(words)}.", file=sys.stderr)
        return 2
    results = measure(chosen)
    from fastmwem.cli.console import print_table

    rows = [[r.name, f"{value:.3g}", f"{r.bar:g}", "" if value <= r.bar else "ABOVE"] for r, value in results]
    print_table("Time, as a multiple of a yardstick in the same run", ["what", "ratio", "bar", ""], rows)
    return int(any(value > r.bar for r, value in results))


if __name__ == "__main__":
    from benchmarks.run import main as run  # this file as the module that the benchmarks register with

    sys.exit(run(sys.argv[1:]))
