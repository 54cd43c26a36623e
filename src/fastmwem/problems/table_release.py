"""Query release from a table: the domain binned on the engine that holds it, contributions bounded.

`release` is `query_release` with the private table in front of it. Sensitivities are those of `Unit`: a row
lies in one cell (`data.binning`), so a person with at most k rows moves the histogram by k in L1.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from fastmwem.data.domain import Domain
from fastmwem.data.table import LARGEST_HISTOGRAM, Counts, Table
from fastmwem.errors import DataError, DomainError, InvalidArgument
from fastmwem.privacy.account_file import Account
from fastmwem.privacy.accounting import accountant as make_accountant
from fastmwem.privacy.budget import Budget, Neighbours
from fastmwem.privacy.events import DpEvent, composed
from fastmwem.privacy.ledger import Ledger
from fastmwem.privacy.randomness import Randomness
from fastmwem.problems.method import PrivateData
from fastmwem.problems.query_release import query_release, workload_domain
from fastmwem.queries.base import FloatArray, IntArray, Queries
from fastmwem.queries.grammar import parse_workload
from fastmwem.results.release import Release

__all__ = ["Prepared", "TableData", "prepare", "public_support", "release"]


class TableData(PrivateData):
    """A table's counts as mechanisms may ask for them; each is computed on the engine, once.

    Where the domain is too large for a histogram, marginals are counted one by one instead.
    """

    def __init__(self, counts: Counts) -> None:
        self._counts = counts
        self._large = counts.domain.size > LARGEST_HISTOGRAM

    @cached_property
    def _histogram(self) -> FloatArray:
        return self._counts.histogram()

    def rows(self) -> float:
        return float(self.marginal(()).sum())

    def answers(self, queries: Queries) -> FloatArray:
        found = queries.from_marginals(self.marginal) if self._large else None
        return queries.answers(self._histogram) if found is None else found

    def histogram(self) -> FloatArray:
        return self._histogram

    def marginal(self, columns: tuple[int, ...]) -> FloatArray:
        if self._large:
            return self._counts.marginals([columns])[0]
        shape = self._counts.domain.shape
        rest = tuple(axis for axis in range(len(shape)) if axis not in columns)
        summed = self._histogram.reshape(shape).sum(axis=rest)
        return np.ascontiguousarray(summed.transpose(np.argsort(np.argsort(columns)))).ravel()


class _AccountedLedger(Ledger):
    """A ledger that also asks a shared account, before the data are touched."""

    def __init__(self, budget: Budget, accountant: Any, account: Account | None) -> None:
        super().__init__(budget, accountant)
        self._account = account

    def authorise(self, event: DpEvent) -> None:
        super().authorise(event)
        if self._account is not None:
            self._account.check(event if self.event is None else composed([self.event, event]))


def release(
    source: Any,
    workload: Queries | str,
    *,
    epsilon: float,
    delta: float,
    domain: Domain | str | os.PathLike[str] | None = None,
    person: str | None = None,
    max_rows_per_person: int | None = None,
    neighbours: str | Neighbours | None = None,
    account: Account | str | os.PathLike[str] | None = None,
    engine: str = "duckdb",
    table: str | None = None,
    query: str | None = None,
    **options: Any,
) -> Release:
    """Answers to every query of `workload` on a private table, (epsilon, delta)-differentially private.

    `source`: a path (CSV, Parquet, JSON lines), a database URL (with `table` or `query`), or a pandas,
    polars, pyarrow or ibis table.
    `workload`: queries on a declared domain, such as `fm.marginals(domain, k=3)`, or their text
    ("marginals:3") together with `domain`, which may be the path of a domain file.
    `person`: the column that says whose row it is; with it, at most `max_rows_per_person` rows of a person
    count, and the guarantee is for people.
    `neighbours`: "replace-one" (n public; the default) or "add-remove" (n private; the default, and needed,
    with `person`, as people have different numbers of rows).
    `account`: the budget account that the run is charged to. `engine`: where it runs, see `Table.read`.
    `support`: where the domain is too large to hold, a PUBLIC table, such as an earlier census, in whose
    cells the model may put rows: cell codes, or anything that `source` may be.
    Further `options` are those of `query_release` (method, rounds, randomness, progress, ...).

    Nothing is spent if this raises.

    >>> import pyarrow as pa
    >>> from fastmwem import Domain, marginals
    >>> people = pa.table({"sex": [0, 1, 1], "age": [3, 0, 1]})
    >>> workload = marginals(Domain.of_sizes({"sex": 2, "age": 4}), k=1)
    >>> len(release(people, workload, epsilon=1, delta=1e-6).answers)
    6
    """
    shared = Account(account) if isinstance(account, str | os.PathLike) else account
    prepared = prepare(
        source,
        workload,
        domain=domain,
        person=person,
        max_rows_per_person=max_rows_per_person,
        neighbours=neighbours,
        engine=engine,
        table=table,
        query=query,
    )
    made, event = prepared.run(Budget(epsilon, delta), shared, **options)
    if shared is not None:
        with shared.charge(event, f"{len(made.values):,} answers by {made.method}"):
            pass
    return made


@dataclass(frozen=True)
class Prepared:
    """A workload and a private table that fit each other; nothing is spent yet."""

    workload: Queries
    domain: Domain
    neighbours: Neighbours
    person: str | None
    rows_per_person: int
    data: TableData = field(repr=False)  # PRIVATE

    @property
    def n(self) -> int | None:
        """The number of rows where it is public."""
        return int(self.data.rows()) if self.neighbours is Neighbours.REPLACE_ONE else None

    def run(
        self,
        budget: Budget,
        account: Account | None = None,
        *,
        accountant: str | None = None,
        randomness: Randomness | None = None,
        **options: Any,
    ) -> tuple[Release, DpEvent]:
        """The release with what it cost, checked against `account`, but for the caller to charge.

        The accountant is that of the account, "optimal" without one, unless it is given.

        The release must not leave the process before it is charged.
        """
        if account is not None and randomness is not None and not randomness.is_private:
            raise InvalidArgument("account takes private runs only: leave randomness out.")
        accountant = accountant or ("optimal" if account is None else account.accountant)
        ledger = _AccountedLedger(budget, make_accountant(accountant), account)
        support = options.pop("support", None)
        if support is not None:
            codes = isinstance(support, np.ndarray | list | tuple)
            support = np.asarray(support) if codes else public_support(support, self.domain)
        made = query_release(
            self.workload,
            self.data,
            epsilon=budget.epsilon,
            delta=budget.delta,
            neighbours=self.neighbours,
            rows_per_person=self.rows_per_person,
            accountant=accountant,
            randomness=randomness,
            ledger=ledger,
            support=support,
            **options,
        )
        report = replace(made.report, assumptions=(*made.report.assumptions, *self._bounded()))
        assert ledger.event is not None
        return replace(made, report=report), ledger.event

    def _bounded(self) -> tuple[str, ...]:
        if self.person is None:
            return ()
        rows = f"at most {self.rows_per_person} row{'s' * (self.rows_per_person > 1)} of each were counted"
        return (f"column {self.person!r} tells people apart; {rows}",)


def prepare(
    source: Any,
    workload: Queries | str,
    *,
    domain: Domain | str | os.PathLike[str] | None = None,
    person: str | None = None,
    max_rows_per_person: int | None = None,
    neighbours: str | Neighbours | None = None,
    engine: str = "duckdb",
    table: str | None = None,
    query: str | None = None,
) -> Prepared:
    """Check all that `release` is given but the budget, and open the table."""
    kind = _neighbours(neighbours, person)
    asked = workload if isinstance(workload, Queries) else parse_workload(workload, _declared(domain))
    over = workload_domain(asked)
    if over is None:
        raise DomainError("workload has no domain: make it with fm.marginals, fm.ranges or fm.predicates.")
    if isinstance(workload, Queries) and domain is not None and _declared(domain) != over:
        raise DomainError("domain differs from the one that the workload was made on: leave it out.")
    opened = Table.read(source, engine=engine, table=table, query=query)
    data = TableData(opened.counts(over, person=person, max_rows_per_person=max_rows_per_person))
    if kind is Neighbours.REPLACE_ONE and data.rows() == 0:  # n is public here
        raise DataError("the table has no rows: give a table with a header and rows.")
    return Prepared(asked, over, kind, person, max_rows_per_person or 1, data)


def public_support(source: Any, domain: Domain) -> IntArray:
    """The cells of `domain` that a PUBLIC table has rows in, as codes; its further columns are not read."""
    declared = replace(domain, ignore_undeclared=True)
    records = Table.read(source).counts(declared).records()
    if not len(records):
        raise DataError("the public table for support has no rows: give one with a header and rows.")
    return records


def _neighbours(given: str | Neighbours | None, person: str | None) -> Neighbours:
    if given is None:
        return Neighbours.REPLACE_ONE if person is None else Neighbours.ADD_REMOVE
    kind = Neighbours.parse(given)
    if person is not None and kind is Neighbours.REPLACE_ONE:
        raise InvalidArgument(
            "neighbours must be 'add-remove' with a person column: people have different numbers of rows, "
            "so the number of rows cannot be public."
        )
    return kind


def _declared(domain: Domain | str | os.PathLike[str] | None) -> Domain:
    if domain is None:
        raise InvalidArgument("domain is missing: give the path of a domain file, or a Domain.")
    return domain if isinstance(domain, Domain) else Domain.from_toml(domain)
