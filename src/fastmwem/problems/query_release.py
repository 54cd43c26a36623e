"""Private linear query release on arrays: `query_release` runs a method, `plan` compares them first."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any, Literal

import numpy as np

from fastmwem.data.domain import Domain
from fastmwem.errors import InvalidArgument, check_choice, check_memory, check_whole
from fastmwem.mw.loop import Progress
from fastmwem.privacy.accounting import accountant as make_accountant
from fastmwem.privacy.budget import Budget, Neighbours, Unit
from fastmwem.privacy.events import non_private
from fastmwem.privacy.ledger import Ledger
from fastmwem.privacy.randomness import Randomness
from fastmwem.problems.method import (
    Histogram,
    Method,
    Outcome,
    Prediction,
    PrivateData,
    Problem,
    Records,
    check_cells,
)
from fastmwem.queries.base import IntArray, Queries
from fastmwem.queries.linear import check_unit_values, linear
from fastmwem.queries.marginals import check_records
from fastmwem.queries.union import place
from fastmwem.results.guarantee import PrivacyReport
from fastmwem.results.release import Release
from fastmwem.threads import one_blas_thread

__all__ = ["METHODS", "Plan", "plan", "query_release", "workload_domain"]

# name -> (module, class) of those that do it, each for the workloads that it applies to (`predict` is not
# None), the first that applies being taken: a new method is a new file and one line here
METHODS = {
    "mwem": (("mwem", "Mwem"),),
    "direct": (("direct_ranges", "DirectRanges"), ("direct", "Direct")),
    "measured": (("measured_marginals", "MeasuredMarginals"), ("measured", "Measured")),
    "histogram": (("histogram", "HistogramNoise"),),
}


@dataclass(frozen=True)
class Plan:
    """Predicted errors (fractions of n), rounds, time and memory of each method, best first.

    `chosen` is what `method="auto"` will run. Made from public numbers alone, so it may be made, looked
    at and discarded as often as one likes.
    """

    predictions: tuple[Prediction, ...]
    problem: Problem

    @property
    def chosen(self) -> str:
        """The method with the smallest predicted error."""
        return self.predictions[0].method

    def __getitem__(self, method: str) -> Prediction:
        for prediction in self.predictions:
            if prediction.method == method:
                return prediction
        raise KeyError(method)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        budget, unit = self.problem.budget, self.problem.unit
        return {
            "chosen": self.chosen,
            "queries": self.problem.workload.m,
            "cells": self.problem.cells,
            "n": self.problem.n,
            "epsilon": budget.epsilon,
            "delta": budget.delta,
            "neighbours": str(unit.neighbours),
            "rows_per_person": unit.rows_per_person,
            "methods": [asdict(prediction) for prediction in self.predictions],
        }

    def __repr__(self) -> str:
        budget = self.problem.budget
        head = (
            f"{self.problem.workload.m:,} queries on {self.problem.cells:,} cells, n = {self.problem.n:,}, "
            f"epsilon = {budget.epsilon:g}, delta = {budget.delta:g}"
        )
        rows = [f"{'method':<12}{'max error':>11}{'mean error':>12}{'rounds':>9}{'time':>10}{'memory':>10}"]
        for p in self.predictions:
            mark = "*" if p.method == self.chosen else " "
            rows.append(
                f"{mark}{p.method:<11}{p.max_error:>11.3g}{p.mean_error:>12.3g}{p.rounds:>9,}"
                f"{_seconds(p.seconds):>10}{_bytes(p.bytes):>10}  {p.note}".rstrip()
            )
        return "\n".join([head, *rows, "* what method='auto' runs"])

    def _repr_html_(self) -> str:
        from fastmwem.results.plan_fragment import plan_fragment

        return plan_fragment(self.to_dict())


def plan(
    workload: Queries | Any,
    *,
    n: int,
    epsilon: float,
    delta: float,
    neighbours: str | Neighbours = Neighbours.REPLACE_ONE,
    rows_per_person: int = 1,
    accountant: str = "optimal",
    support: IntArray | None = None,
    **options: Any,
) -> Plan:
    """What each method is expected to do on `workload`, from public numbers only; no data, no budget.

    `n` is the number of rows, or a public guess of it. `options` are those of `query_release` that
    belong to `mwem` (rounds, schedule, ...).

    >>> from fastmwem.queries.ranges import prefixes
    >>> plan(prefixes(16), n=10_000, epsilon=1, delta=1e-6).chosen in METHODS
    True
    """
    unit = Unit(Neighbours.parse(neighbours), rows_per_person)
    problem = _problem(workload, Budget(epsilon, delta), unit, check_whole("n", n), accountant, support)
    return _plan(problem, {**options, "support": support is not None})[0]


def query_release(
    workload: Queries | Any,
    data: Any,
    *,
    epsilon: float,
    delta: float,
    method: str = "auto",
    neighbours: str | Neighbours = Neighbours.REPLACE_ONE,
    rows_per_person: int = 1,
    n: int | None = None,
    accountant: str = "optimal",
    support: IntArray | None = None,
    rounds: int | Literal["auto"] = "auto",
    schedule: str = "calibrated",
    selection: str = "auto",
    index: Any = None,
    tail: Any = None,
    iterate: Literal["average", "last"] = "average",
    step: str | None = None,
    randomness: Randomness | None = None,
    ledger: Ledger | None = None,
    progress: Progress | None = None,
) -> Release:
    """Answers to every query of `workload` on private `data`, (epsilon, delta)-differentially private.

    `workload`: marginals, ranges, predicates, `linear(Q)`, unions of them, or a matrix Q with values in
    [0, 1]. `data`: a histogram (a count per cell), a 2-D array of cell codes (a row per record, for
    workloads with a domain), or a `PrivateData` object.
    `neighbours`: "replace-one" (n public) or "add-remove" (n private; then `n` is a public guess that only
    the choice of method and of T looks at). A person has at most `rows_per_person` rows.
    `method`: "auto" takes the smallest error that `plan` predicts.
    `support`: a public table of records to put the model on instead of the full domain; what lies outside
    it cannot be represented.

    For `mwem`: `rounds` (T); `schedule` "calibrated", or "paper" (eps0 and eta as printed); `selection`
    "auto", "certified", "exhaustive" (Algorithm 1) or "lazy" (Algorithm 2, with `index` and `tail`): time
    differs, the law and the privacy do not; `iterate` "average" or "last"; `step` "adaptive" or "fixed"
    (None: what the schedule takes). None of these may be chosen by looking at private data.

    `randomness`: None draws from the operating system. A seeded one makes a release that is NOT private,
    and says so. `ledger`: where the events go, if the caller keeps them; a fresh one otherwise.
    `progress(t, T)` is called as rounds go by.

    >>> from fastmwem.queries.ranges import prefixes
    >>> release = query_release(prefixes(4), [400, 300, 200, 100], epsilon=1, delta=1e-6)
    >>> release.values.shape, release.report.private
    ((4,), True)
    """
    budget = Budget(epsilon, delta)
    unit = Unit(Neighbours.parse(neighbours), rows_per_person)
    asked = _workload(workload)
    private_data = _private_data(data, asked)
    if unit.neighbours is Neighbours.REPLACE_ONE:
        size = int(private_data.rows())  # public here
        if size < 1:
            raise InvalidArgument("data must hold at least one row: its cells are all 0.")
        if n is not None and check_whole("n", n) != size:
            raise InvalidArgument("n must be the number of rows of the data under replace-one: leave it out.")
        n = size
    elif n is not None:
        n = check_whole("n", n)
    problem = _problem(asked, budget, unit, n, accountant, support)
    options = {
        "rounds": rounds,
        "schedule": schedule,
        "selection": selection,
        "index": index,
        "tail": tail,
        "iterate": iterate,
        "step": step,
    }
    check_choice("method", method, ("auto", *METHODS))
    planned, methods = _plan(problem, {**options, "support": support is not None})
    chosen = planned.chosen if method == "auto" else method
    if chosen not in methods:
        others = ", ".join(methods)
        raise InvalidArgument(f"method {chosen!r} does not apply to this workload: choose one of {others}.")
    randomness = Randomness.private() if randomness is None else randomness
    ledger = Ledger(budget, make_accountant(accountant)) if ledger is None else ledger
    with one_blas_thread():
        outcome = methods[chosen].run(problem, private_data, ledger, randomness, progress)
        if not randomness.is_private:
            ledger.record(non_private())
        return _release(problem, chosen, outcome, ledger, randomness, support)


def _release(
    problem: Problem,
    method: str,
    outcome: Outcome,
    ledger: Ledger,
    randomness: Randomness,
    support: IntArray | None,
) -> Release:
    assumptions = outcome.assumptions
    if support is not None:
        assumptions += ("rows outside the support are not represented by the model",)
    public_inputs = {
        "queries": problem.workload.m,
        "cells": problem.cells,
        "n": problem.n if not problem.counts else "private",
        "largest weight": problem.largest_weight,
        "rounds": outcome.details.get("rounds", 0),
    }
    report = PrivacyReport.of(
        ledger,
        problem.unit,
        method,
        private=randomness.is_private,
        public_inputs=public_inputs,
        assumptions=assumptions,
    )
    return Release(
        workload=problem.workload,
        values=problem.workload.answers(outcome.distribution),
        bounds=outcome.bounds,
        bound_kind=outcome.bound_kind,
        distribution=outcome.distribution,
        total=outcome.total,
        report=report,
        method=method,
        domain=workload_domain(problem.workload),
        records=support,
        details={**outcome.details, "asked": problem.asked},
    )


def _problem(
    workload: Any, budget: Budget, unit: Unit, n: int | None, accountant: str, support: IntArray | None
) -> Problem:
    asked = _workload(workload)
    check_choice("accountant", accountant, ("optimal", "zcdp"))
    placed = asked
    if support is not None:
        domain = workload_domain(asked)
        if domain is None:
            raise InvalidArgument(
                "support needs a workload on a domain: give a matrix's values on the records."
            )
        placed = place(asked, check_records(domain, support))
    check_cells(placed.dim)
    check_memory("the answers", 40.0 * placed.m, "ask fewer queries")
    return Problem(placed, budget, unit, n, accountant, asked)


def _workload(workload: Any) -> Queries:
    if not isinstance(workload, Queries):
        return linear(workload)
    check_unit_values(workload)
    return workload


def _private_data(data: Any, workload: Queries) -> PrivateData:
    if isinstance(data, PrivateData):
        return data
    domain = workload_domain(workload)
    try:
        array = np.asarray(data)
    except ValueError:
        raise InvalidArgument("data must be a histogram, or a 2-D array of cell codes.") from None
    shape = None if domain is None else domain.shape
    if array.ndim == 2 and array.shape != shape:
        if domain is None:
            raise InvalidArgument(
                "data must be a histogram: rows of cell codes need a workload with a domain."
            )
        return Records(array, domain)
    histogram = Histogram(array, shape)
    if array.size != workload.dim:
        raise InvalidArgument(
            f"data must have one count for each of the workload's {workload.dim:,} cells, got {array.size:,}."
        )
    return histogram


def workload_domain(workload: Queries) -> Domain | None:
    """The domain that a workload is declared on, if it is."""
    found = getattr(workload, "domain", None)
    inner = getattr(workload, "inner", None)
    if found is None and inner is not None:
        return workload_domain(inner)
    for part in getattr(workload, "parts", ()):
        found = found or workload_domain(part)
    return found


def _plan(problem: Problem, options: dict[str, Any]) -> tuple[Plan, dict[str, Method]]:
    """The predictions, best first, and for each name the implementation that applies to the workload."""
    found: dict[str, tuple[Prediction, Method]] = {}
    for name, kinds in METHODS.items():
        for module, kind in kinds:
            build: Callable[..., Method] = getattr(import_module(f"fastmwem.problems.{module}"), kind)
            method = build(**options) if name == "mwem" else build()
            prediction = method.predict(problem)
            if prediction is not None:
                found[name] = (prediction, method)
                break
    ordered = sorted((prediction for prediction, _ in found.values()), key=lambda p: p.max_error)
    return Plan(tuple(ordered), problem), {name: method for name, (_, method) in found.items()}


def _seconds(seconds: float) -> str:
    return "< 1 s" if seconds < 1 else f"{seconds:,.0f} s"


def _bytes(size: float) -> str:
    units = ("B", "kB", "MB", "GB", "TB")
    power = 0 if size < 1 else min(int(math.log(size, 1000)), len(units) - 1)
    return f"{size / 1000**power:.3g} {units[power]}"
