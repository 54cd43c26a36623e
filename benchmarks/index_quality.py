"""What an index buys: build and search time, recall, gap, and the evaluations of lazy sampling with it.

The paper's query workload (3,000 cells, n = 500, epsilon = 1, delta = 1e-3, T = 20,000), every index at the
paper's settings. A run of query release gives the probes; each index is then asked at stretches of
consecutive rounds of that run.

    python -m benchmarks.index_quality [--m 10000] [--rounds 20000]

- recall: how many of the true k best signed queries are found, k = sqrt(2m).
- gap c: by how much the best score left out exceeds the worst found, in scaled scores; mean and largest. With
  the paper's "preserving runtime" variant a round costs eps0 + 2c (or + 4c in range) instead of eps0.
- evaluations: scores computed per round under the certified tail, passes that renew the anchor apart.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from fastmwem.index import INDICES, Index, build_index
from fastmwem.index.flat import largest
from fastmwem.lab.workloads import paper_histogram, paper_queries
from fastmwem.mw.schedule import FixedStep
from fastmwem.mw.update import MultiplicativeWeights
from fastmwem.privacy.budget import Budget
from fastmwem.privacy.calibrate import calibrate_rounds
from fastmwem.privacy.randomness import Randomness
from fastmwem.queries.base import Candidates, FloatArray
from fastmwem.select import ExponentialMechanism, make_selector
from fastmwem.select.lazy import Lazy

CELLS, N = 3_000, 500
STRETCHES, LENGTH = 5, 100  # stretches of the run, and rounds in each


def sampled_probes(candidates: Candidates, mechanism: ExponentialMechanism, rounds: int) -> list[FloatArray]:
    """Probes of a run of query release: `STRETCHES` blocks of `LENGTH` consecutive rounds."""
    player = MultiplicativeWeights(candidates.queries, FixedStep.paper(candidates.dim, rounds))
    selector = make_selector("auto", candidates, mechanism, Randomness.seeded(1))
    starts = np.linspace(0, rounds - LENGTH, STRETCHES).astype(int)
    wanted = {int(t) for start in starts for t in range(start, start + LENGTH)}
    probes = []
    for t in range(rounds):
        probe = player.probe()
        if t in wanted:
            probes.append(probe.copy())
        player.respond(selector.pick(probe))
    return probes


def gap_and_recall(
    index: Index, probes: list[FloatArray], scale: float, k: int
) -> tuple[list[float], list[float]]:
    """Per probe: c = scale * (max outside - min inside, at least 0), and recall@k."""
    candidates, m = index.candidates, index.candidates.m
    gaps, recalls = [], []
    for v in probes:
        scores = candidates.scores(v)
        both = np.concatenate([scores, -scores])
        found = index.search(v, k)
        codes = np.where(found.signs > 0, found.ids, m + found.ids)
        ids, signs = largest(scores, k, signed=True)
        recalls.append(len(np.intersect1d(codes, np.where(signs > 0, ids, m + ids))) / k)
        outside = np.delete(both, codes)
        gaps.append(max(0.0, scale * float(outside.max() - both[codes].min())) if len(codes) else np.inf)
    return gaps, recalls


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--m", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=20_000)
    arguments = parser.parse_args()
    queries = paper_queries(arguments.m, CELLS, seed=1)
    histogram = paper_histogram(N, CELLS, seed=1) / N
    candidates = Candidates(queries, queries.answers(histogram), signed=True)
    eps0 = calibrate_rounds(Budget(1, 1e-3), arguments.rounds).eps0
    mechanism = ExponentialMechanism(eps0, 1 / N)
    k = int(np.ceil(np.sqrt(2 * arguments.m)))
    probes = sampled_probes(candidates, mechanism, arguments.rounds)
    print(f"m = {arguments.m:,}, T = {arguments.rounds:,}, k = {k}, eps0 = {eps0:.5f}")
    print(f"{'index':<11}{'build s':>9}{'search us':>11}{'recall':>8}{'c mean':>9}{'c max':>9}", end="")
    print(f"{'evaluations':>13}{'passes':>8}{'pick us':>9}")
    for name in INDICES:
        start = time.perf_counter()
        index = build_index(candidates, name)
        built = time.perf_counter() - start
        index.search(probes[0], k)
        start = time.perf_counter()
        for v in probes:
            index.search(v, k)
        searched = (time.perf_counter() - start) / len(probes)
        gaps, recalls = gap_and_recall(index, probes[::10], mechanism.scale, k)
        lazy = Lazy(candidates, mechanism, Randomness.seeded(2), index=index)
        lazy.pick(probes[0])
        start = time.perf_counter()
        for v in probes:
            lazy.pick(v)
        picked = (time.perf_counter() - start) / len(probes)
        work = lazy.diagnostics
        evaluations = (work["evaluations"] - work["passes"] * arguments.m) / work["rounds"]
        if name == "flat":
            evaluations += arguments.m  # the index itself is a scan
        print(f"{name:<11}{built:>9.2f}{1e6 * searched:>11.0f}{np.mean(recalls):>8.3f}", end="")
        print(f"{np.mean(gaps):>9.4f}{np.max(gaps):>9.4f}{evaluations:>13.0f}", end="")
        print(f"{work['passes']:>8.0f}{1e6 * picked:>9.0f}")


if __name__ == "__main__":
    main()
