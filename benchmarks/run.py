"""`make bench`: the regression set. Every `bench_*.py` here registers ratios.

A ratio divides our time by that of a yardstick measured in the same run: a calibration kernel below, or a
rival. So it can be held against what another run measured. It fails above its bar, which says what was
promised, and above 1.5 times what baseline.json holds, which says what was reached: the worst of three, as
machines are noisy, while a check counts the better of two. To add one, write `benchmarks/bench_NAME.py`, and
run it with `--store`:

    from benchmarks.run import ratio, scan, seconds

    @ratio("certified pick, m = 1e5, against one scan", bar=0.2)
    def certified_pick() -> float:
        ...                                     # set up and warm up, outside of the timing
        return seconds(lambda: selector.pick(p), repeat=200) / scan(m=10**5, cells=3000)

`python -m benchmarks.run [--store] [WORD ...]` runs those whose name holds one of the words, and with
`--store` makes what it measures the baseline.
"""

from __future__ import annotations

import json
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
BASELINE = Path(__file__).with_name("baseline.json")
STORED = 3
SLOWER = 1.5  # times the baseline, from which on a ratio has got worse by more than chance


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
    return seconds(lambda: matrix @ vector, best_of=15)


def limit(item: Ratio, baseline: dict[str, float]) -> float:
    """What the ratio must stay below."""
    return min(item.bar, SLOWER * baseline.get(item.name, float("inf")))


def measure(ratios: list[Ratio], baseline: dict[str, float]) -> list[tuple[Ratio, float]]:
    """Each ratio; one above its limit gets a second chance, for what else the machine was doing."""
    out = []
    for item in ratios:
        value = item.measure()
        if value > limit(item, baseline):
            value = min(value, item.measure())
        out.append((item, value))
    return out


def main(words: list[str]) -> int:
    """Run, print, and return 1 if any ratio is above its limit."""
    store = "--store" in words
    words = [word for word in words if word != "--store"]
    for path in sorted(Path(__file__).parent.glob("bench_*.py")):
        import_module(f"benchmarks.{path.stem}")
    chosen = [r for r in _RATIOS if not words or any(word in r.name for word in words)]
    if not chosen:
        print(f"bench: nothing is named like {' or '.join(words)}.", file=sys.stderr)
        return 2
    baseline = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    if store:
        results = [(r, max(r.measure() for _ in range(STORED))) for r in chosen]
        baseline |= {r.name: float(f"{value:.3g}") for r, value in results}
        BASELINE.write_text(
            json.dumps({r.name: baseline[r.name] for r in _RATIOS if r.name in baseline}, indent=1) + "\n"
        )
    else:
        results = measure(chosen, baseline)
    from fastmwem.cli.console import print_table

    above = [value > limit(r, baseline) for r, value in results]
    rows = [
        [
            r.name,
            f"{value:.3g}",
            f"{baseline.get(r.name, float('nan')):.3g}",
            f"{r.bar:.3g}",
            "ABOVE" if bad else "",
        ]
        for (r, value), bad in zip(results, above, strict=True)
    ]
    title = f"Multiples of a yardstick in the same run; at most {SLOWER:g} times the baseline, and the bar"
    print_table(title, ["what", "ratio", "baseline", "bar", ""], rows)
    return int(any(above))


if __name__ == "__main__":
    from benchmarks.run import main as run  # this file as the module that the benchmarks register with

    sys.exit(run(sys.argv[1:]))
