"""Private linear programs against their bars: `python -m benchmarks.private_lp [--data DIR] [--only 1,4]`.

Seeds are fixed, so every figure but a time is the same on each run. Groceries, the diet problem and netlib's
programs are read from DIR (groceries.csv, stigler_foods.csv, stigler_needs.csv, netlib/*.mps) and skipped
without it. Everything is seeded, hence not private.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_array

import fastmwem as fm
from fastmwem.lp.violations import Violations
from fastmwem.results.lp_result import LPResult

Line = tuple[str, str, bool | None]  # what, figure beside its bar, whether it holds (None: for information)


def _gaussian_rows(m: int, x: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, len(x)))
    return A, A @ x + rng.uniform(0, 0.1, m)


def scalar_useful(_: Path | None) -> Iterator[Line]:
    """1. m = 3e5, d = 20, eps = 1, delta = 1e-3, self-tuned step, T chosen from public numbers."""
    vertex = np.r_[0.97, np.full(19, 0.03 / 19)]
    for name, x, sensitivity, bar in (
        ("x* ~ Dirichlet", None, 1e-2, 0.40),
        ("x* ~ Dirichlet", None, 1e-3, 0.065),
        ("x* near a vertex", vertex, 1e-3, 0.065),
    ):
        seen, uniforms, rounds = [], [], 0
        for seed in range(5):
            planted = np.random.default_rng(seed).dirichlet(np.ones(20)) if x is None else x
            A, b = _gaussian_rows(300_000, planted, seed)
            uniforms.append(fm.violations(A, b, np.full(20, 0.05)).max)
            run = fm.Randomness.seeded(seed)
            answer = fm.solve_scalar_private(
                A, b, sensitivity=sensitivity, epsilon=1, delta=1e-3, method="mw", randomness=run
            )
            seen.append(fm.violations(A, b, answer.x))
            rounds = answer.nit
        worst, uniform = [s.max for s in seen], float(np.median(uniforms))
        what = f"1. {name}, Delta = {sensitivity:g}, T = {rounds}"
        figure = (
            f"max violation, median of 5: {np.median(worst):.3f} <= {bar} ({min(worst):.3f}-{max(worst):.3f}"
        )
        yield what, f"{figure}; uniform {uniform:.2f})", float(np.median(worst)) <= bar
        if name == "x* ~ Dirichlet" and sensitivity == 1e-3:
            share = float(np.median([s.fraction() for s in seen]))
            yield what, f"rows violated: {share:.3f} <= .06", share <= 0.06


def scalar_hopeless(_: Path | None) -> Iterator[Line]:
    """2. The paper's Delta = .1: the plan says so, without b."""
    A, _b = _gaussian_rows(300_000, np.full(20, 0.05))
    plan = fm.plan_scalar(A, sensitivity=0.1, epsilon=1, delta=1e-3)
    yield "2. Delta = .1", plan.verdict, not plan.useful


def scalar_time(_: Path | None) -> Iterator[Line]:
    """3. m = 1.5e6, T = 5,000, Delta = 1e-2: the whole solve in passes `A @ x`."""
    A, b = _gaussian_rows(1_500_000, np.random.default_rng(1).dirichlet(np.ones(20)))
    x = np.full(20, 0.05)
    passes = []
    for _pass in range(7):
        start = time.perf_counter()
        np.dot(A, x)
        passes.append(time.perf_counter() - start)
    options = {"sensitivity": 1e-2, "epsilon": 1, "delta": 1e-3, "method": "mw"}
    # At this size: so many candidates are scanned by kernels of their own, which would be compiled below.
    fm.solve_scalar_private(A, b, **options, rounds=50, randomness=fm.Randomness.seeded(0))
    start = time.perf_counter()
    fm.solve_scalar_private(A, b, **options, rounds=5_000, randomness=fm.Randomness.seeded(1))
    took = time.perf_counter() - start
    unit = float(np.median(passes))
    yield (
        "3. m = 1.5e6, T = 5,000",
        f"{took / unit:.0f} <= 60 passes ({took:.1f} s, a pass {unit:.4f} s)",
        (took <= 60 * unit),
    )


def _planted(
    seed: int, m: int, d: int, good: int, decoys: float = 0.002, overlap: float = 0.08
) -> np.ndarray:
    """Rows that need a set: each in one of the good sets, in others by chance, and in few decoys."""
    rng = np.random.default_rng(seed)
    A = (rng.random((m, d)) < decoys).astype(float)
    A[:, :good] = rng.random((m, good)) < overlap
    A[np.arange(m), rng.integers(0, good, m)] = 1
    return A


def _covering(A: Any, seed: int, most: int = 0, **options: Any) -> tuple[Violations, LPResult]:
    """`most` is the public bound on the number of rows; without one, it is their number."""
    m, d = A.shape
    answer = fm.solve_constraint_private(
        A,
        np.ones(m),
        c=np.ones(d),
        sense="covering",
        coef_bounds=1,
        rhs_bounds=(1, 1),
        n_rows_public=most or m,
        randomness=fm.Randomness.seeded(seed),
        **options,
    )
    return fm.violations(A, np.ones(m), answer.x, sense="covering"), answer


def planted_covering(_: Path | None) -> Iterator[Line]:
    """4. d = 100, 10 good sets, m = 1e4, s = 500, eps = 1, delta = 1e-3; and the printed constants."""
    A = _planted(0, 10_000, 100, 10)
    options = {"opt": 10, "max_violated": 500, "epsilon": 1, "delta": 1e-3}
    counts = [_covering(A, seed, **options)[0].count(0.3) for seed in range(5)]
    yield "4. planted covering", f"rows violated by > .3, 5 seeds: {counts}", not any(counts)
    uniform = fm.violations(A, np.ones(10_000), np.full(100, 0.1), sense="covering").count(0.3)
    yield "4. uniform x", f"{uniform} of 10000", None
    for rounds in (39, 1_000):
        seen, _a = _covering(A, 0, **options, schedule="paper", alpha=0.3, rounds=rounds)
        yield f"4. printed constants, T = {rounds}", f"{seen.count(0.3)} rows violated by > .3", None


def groups(_: Path | None) -> Iterator[Line]:
    """5. Groups each coverable only by their own set, without privacy: at most s - 1 rows above alpha."""
    A = np.zeros((12_000, 10))
    A[np.arange(12_000), np.arange(12_000) % 10] = 1
    for s in (1, 10, 40, 200, 1_000, 4_000):
        seen, answer = _covering(A, 1, opt=10, max_violated=s, epsilon=1e6, delta=1e-6, rounds=500)
        above = seen.count(answer.alpha)
        yield f"5. s = {s}", f"{above} <= {s - 1} rows above alpha = {answer.alpha:.3f}", above <= s - 1


def groceries(data: Path | None) -> Iterator[Line]:
    """6. At least one of 10 categories in each basket, s = 30 %, eps = 1, delta = 1e-5."""
    if data is None or not (data / "groceries.csv").exists():
        return
    with open(data / "groceries.csv", newline="") as lines:
        baskets = [[item.strip() for item in row if item.strip()] for row in csv.reader(lines) if row]
    names = sorted({item for basket in baskets for item in basket})
    at = {name: j for j, name in enumerate(names)}
    pairs = np.array([(i, at[item]) for i, basket in enumerate(baskets) for item in set(basket)])
    m, d = len(baskets), len(names)
    A = csr_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(m, d))
    s, cvar, covered, rounds = 0.3 * m, [], [], 0
    for seed in range(5):
        seen, answer = _covering(A, seed, 10_000, opt=10, max_violated=s, epsilon=1, delta=1e-5)
        cvar.append(seen.cvar(s))
        covered.append(1 - seen.fraction(1e-9))
        rounds = answer.nit
    what = f"6. groceries ({m} x {d}), T = {rounds}"
    spread = f"{min(cvar):.3f}-{max(cvar):.3f}"
    yield what, f"CVaR_s, worst of 5: {max(cvar):.3f} <= .82 ({spread})", max(cvar) <= 0.82
    spread = f"{min(covered):.3f}-{max(covered):.3f}"
    yield what, f"fully covered, worst of 5: {min(covered):.3f} >= .36 ({spread})", min(covered) >= 0.36


def opt_search(_: Path | None) -> Iterator[Line]:
    """7. Planted covering, m = 2e4, d = 60, s = 1,000, alpha = .25, eps = 1, delta = 1e-6 in total."""
    good, found, above = 0, [], []
    grid = [float(v) for v in np.arange(3, 10.5, 0.5)]
    for seed in range(10):
        A = _planted(100 + seed, 20_000, 60, 6)
        kinds = np.unique(A, axis=0)
        best = linprog(np.ones(60), A_ub=-kinds, b_ub=-np.ones(len(kinds))).fun
        seen, answer = _covering(
            A, seed, opt_grid=grid, max_violated=1_000, alpha=0.25, epsilon=1, delta=1e-6
        )
        found.append(answer.opt / best if answer.opt else np.nan)
        above.append(seen.count(0.25))
        good += bool(abs(found[-1] - 1) <= 0.1 and above[-1] == 0)
    figure = (
        f"{good} of 10 (OPT found / OPT: {min(found):.3f}-{max(found):.3f}; rows above alpha {max(above)})"
    )
    yield "7. OPT search", figure, good == 10


def without_privacy(data: Path | None) -> Iterator[Line]:
    """8. eps huge: HiGHS's optimum to the stated alpha; infeasible input gets an answer."""
    kept, alphas = 0, []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        A, c = rng.random((40, 6)), rng.uniform(0.5, 1.5, 6)
        b = rng.uniform(0.5, 1, 40)
        opt = -linprog(-c, A_ub=A, b_ub=b).fun
        answer = _open(A, b, c=c, opt=opt, rounds=2_000)
        alphas.append(answer.alpha)
        kept += fm.violations(A, b, answer.x).max <= answer.alpha and abs(answer.fun - opt) < 1e-9
    yield (
        "8. random programs",
        f"{kept} of 200 meet OPT to alpha (median alpha {np.median(alphas):.3f})",
        kept == 200,
    )
    if data is None:
        return
    yield from _netlib(data)
    yield _diet(data)


def _open(A, b=None, **options):
    common = {"sensitivity": 1e-6, "epsilon": 1e6, "delta": 1e-6, "method": "mw"}
    return fm.solve_scalar_private(A, b, **common, randomness=fm.Randomness.seeded(1), **options)


def _netlib(data: Path) -> Iterator[Line]:
    # OPT by HiGHS, and a public bound on sum x
    for name, opt, radius in (("afiro", -464.7531428571, 2_300.0), ("adlittle", 225494.9631623804, 2_200.0)):
        path = data / "netlib" / f"{name}.mps"
        if not path.exists():
            continue
        program = fm.LinearProgram.from_mps(path)
        answer = _open(program, opt=opt, radius=radius, row_weights="equilibrate", rounds=20_000)
        worst = _relative_violation(program, answer.x, radius, opt)
        figure = f"violation / half-range {worst:.4f} <= alpha {answer.alpha:.4f}"
        figure += f"; c.x {answer.fun:.1f} ({opt:.1f})"
        yield f"8. {name}", figure, worst <= answer.alpha
    path = data / "netlib" / "galenet.mps"
    if path.exists():
        answer = _open(fm.LinearProgram.from_mps(path), opt=0.0, radius=100, row_weights="equilibrate")
        spoken = answer.success and "infeasible" not in answer.message
        yield (
            "8. galenet (infeasible)",
            f"an answer, alpha {answer.alpha:.4f}: {answer.message[:60]}...",
            spoken,
        )


def _relative_violation(program, x, radius: float, opt: float) -> float:
    """The largest violation of a row (and of c.x <= opt), scaled to half-range 1 on sum x <= radius."""
    rows = np.vstack([part.toarray() for part in (program.A_ub, program.A_eq, -program.A_eq)])
    rhs = np.concatenate([program.b_ub, program.b_eq, -program.b_eq])
    rows, rhs = np.vstack([rows, program.c]), np.append(rhs, opt)
    half = radius * (np.maximum(rows.max(1), 0) - np.minimum(rows.min(1), 0)) / 2
    return float(((rows @ x - rhs) / half).max())


def _diet(data: Path) -> Line:
    with open(data / "stigler_foods.csv", newline="") as lines:
        foods = np.array([[float(v) for v in row[4:]] for row in list(csv.reader(lines))[1:]])
    with open(data / "stigler_needs.csv", newline="") as lines:
        needs = np.array([float(v) for v in list(csv.reader(lines))[1]])
    foods[:, 0] /= 1000 if foods[:, 0].max() > 1000 and needs[0] < 100 else 1
    A, cost = -foods.T, np.ones(len(foods))
    opt = linprog(cost, A_ub=A, b_ub=-needs).fun
    answer = _open(A, -needs, c=cost, opt=opt, sense="min", row_weights="equilibrate", rounds=20_000)
    half = opt * np.ptp(foods, axis=0) / 2
    worst = float(((needs - foods.T @ answer.x) / half).max())
    figure = f"shortfall / half-range {worst:.4f} <= alpha {answer.alpha:.4f} at HiGHS's cost {opt:.5f}"
    return "8. diet problem", figure, worst <= answer.alpha


def projection(_: Path | None) -> Iterator[Line]:
    """9. is tests/mw/test_projection.py and tests/problems/test_constraint_lp.py; here, its time."""
    from fastmwem.mw.projection import dense_projection

    for m in (10_000, 1_000_000):
        weights = np.random.default_rng(0).normal(0, 3, m)
        times, y = [], weights
        for _run in range(5):
            start = time.perf_counter()
            y = dense_projection(weights, m / 100)
            times.append(time.perf_counter() - start)
        dense = y.max() <= 100 / m + 1e-12 and abs(y.sum() - 1) < 1e-12
        yield f"9. projection, m = {m:g}", f"{1e3 * min(times):.2f} ms, 1/s-dense to 1e-12", dense


BARS: dict[str, Callable[[Path | None], Iterator[Line]]] = {
    "1": scalar_useful,
    "2": scalar_hopeless,
    "3": scalar_time,
    "4": planted_covering,
    "5": groups,
    "6": groceries,
    "7": opt_search,
    "8": without_privacy,
    "9": projection,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--only", default=",".join(BARS))
    arguments = parser.parse_args()
    missed = 0
    for number in arguments.only.split(","):
        for what, figure, holds in BARS[number](arguments.data):
            mark = {True: "ok  ", False: "MISS", None: "    "}[holds]
            print(f"{mark} {what}: {figure}", flush=True)
            missed += holds is False
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
