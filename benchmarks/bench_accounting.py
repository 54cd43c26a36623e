"""Accounting: how near `optimal` comes to the Gaussian limit, and what finding it costs.

`python -m benchmarks.bench_accounting` prints the table over rounds and targets.
"""

from __future__ import annotations

import math
import time

from benchmarks.run import ratio, scan, seconds
from fastmwem.privacy.accounting import accountant
from fastmwem.privacy.budget import Budget
from fastmwem.privacy.calibrate import calibrate_gaussian, calibrate_rounds
from fastmwem.privacy.events import exponential_mechanism
from fastmwem.privacy.ledger import Ledger

TARGETS = (Budget(1, 1e-3), Budget(1, 1e-6), Budget(0.1, 1e-6), Budget(4, 1e-6))
ROUNDS = (100, 200, 500, 1000, 10_000, 100_000)


def limit(budget: Budget) -> float:
    """eps0 sqrt(T) as T grows: rounds that lose +-eps0/2 become a Gaussian of mu = eps0 sqrt(T)/2."""
    return 2 / calibrate_gaussian(budget).noise_multiplier


def fraction(budget: Budget, rounds: int) -> float:
    """The part of the Gaussian limit that `optimal` allows."""
    return calibrate_rounds(budget, rounds).eps0 * math.sqrt(rounds) / limit(budget)


@ratio("Gaussian limit over what optimal allows, worst of T = 100 .. 100,000", bar=1 / 0.97)
def worst_fraction() -> float:
    return 1 / min(fraction(budget, rounds) for budget in TARGETS for rounds in ROUNDS)


@ratio("one calibration of 100,000 rounds, in scans of 20,000 x 3,000 floats", bar=100)
def calibration() -> float:
    sizes = iter(range(100_000, 200_000))  # a new T each time: nothing is found in a cache
    return seconds(lambda: calibrate_rounds(Budget(1, 1e-6), next(sizes)), repeat=1) / scan(20_000, 3_000)


@ratio("a thousand rounds put on the ledger, in scans of 20,000 x 3,000 floats", bar=0.1)
def recording() -> float:
    ledger, event = Ledger(Budget(1, 1e-6), accountant("zcdp")), exponential_mechanism(1e-3)

    def thousand() -> None:
        for _ in range(1000):
            ledger.record(event)

    return seconds(thousand, repeat=50) / scan(20_000, 3_000)


def main() -> None:
    calibrate_rounds(Budget(2, 1e-5), 3)  # compile
    print("epsilon  delta   limit       T  eps0 sqrt T  of limit  of zcdp  seconds")
    for budget in TARGETS:
        top = limit(budget)
        for rounds in ROUNDS:
            start = time.perf_counter()
            size = calibrate_rounds(budget, rounds).eps0 * math.sqrt(rounds)
            took = time.perf_counter() - start
            zcdp = calibrate_rounds(budget, rounds, accountant="zcdp").eps0 * math.sqrt(rounds)
            print(
                f"{budget.epsilon:7g} {budget.delta:6g} {top:7.4f} {rounds:7d}"
                f" {size:12.5f} {size / top:9.4f} {size / zcdp:8.4f} {took:8.2f}"
            )


if __name__ == "__main__":
    main()
