"""A private table, seen only through counts over the declared domain.

Binning and GROUP BY run on the engine that holds the rows; what reaches Python is the histogram or the
marginals, never a row. Replacing one row moves one unit from one cell to another, and adding one adds
one to a single cell: every row has exactly one cell, chosen by that row alone (`binning`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from fastmwem.data.binning import cells_of
from fastmwem.data.contributions import PERSON, bound_rows
from fastmwem.data.domain import Domain
from fastmwem.data.engines import Opened, open_source, quietly
from fastmwem.errors import DataError, DomainError, InvalidArgument, TooLarge, check_whole

if TYPE_CHECKING:
    import ibis.expr.types as ir
    from numpy.typing import NDArray

__all__ = ["LARGEST_HISTOGRAM", "Counts", "Table"]

_T = TypeVar("_T")

LARGEST_HISTOGRAM = 1 << 28  # cells held as float64: 2 GB

_UNREADABLE = (
    "the table could not be counted: check that the file is complete, that the database may be read, "
    "and that there is space for temporary files."
)


@dataclass(frozen=True)
class Table:
    """A table that no one has looked at: where it is, and nothing of what it holds.

    >>> import pyarrow as pa
    >>> Table.read(pa.table({"sex": ["F", "M"]}))
    Table(engine='duckdb')
    """

    _opened: Opened = field(repr=False)
    engine: str

    @classmethod
    def read(
        cls, source: Any, *, engine: str = "duckdb", table: str | None = None, query: str | None = None
    ) -> Table:
        """A table from a path (CSV, Parquet, JSON lines), a database URL, or a table in memory.

        `source` is a path; a `duckdb://`, `sqlite://` or `postgresql://` URL together with `table` or
        `query`; or a pandas, polars, pyarrow or ibis table. `engine` is "duckdb", "polars", "spark" (or
        a `spark://` URL); or the URL of a database in which `source` names a table. Opens it, reads no
        row. A table in a file must carry its column names. A field that does not fit its column goes where
        the domain says; of text that is not UTF-8, the rows concerned are left out.
        """
        if isinstance(source, Table):
            return source
        opened = open_source(source, engine=engine, table=table, query=query)
        return cls(opened, engine.split("://")[0])

    def counts(
        self, domain: Domain, *, person: str | None = None, max_rows_per_person: int | None = None
    ) -> Counts:
        """The table's rows as cells of `domain`; at most `max_rows_per_person` of each `person`.

        `person` is a column that names the person whom a row is about; it is never released.
        """
        if person is None and max_rows_per_person is not None:
            raise DomainError("max_rows_per_person needs person: name the column that says whose row it is.")
        if person is not None and person in domain.names:
            raise DomainError(f"person column {person!r} is declared in the domain: remove it from there.")
        if person is not None and max_rows_per_person is None:
            raise InvalidArgument(
                "max_rows_per_person is missing: say how many rows of one person may count, such as 5."
            )
        k = 0 if person is None else check_whole("max_rows_per_person", max_rows_per_person)
        rows = self._columns(domain, person)
        if person is None:
            return Counts(domain, cells_of(rows, domain.columns, {}))
        if self.engine == "polars":
            raise InvalidArgument("engine 'polars' cannot bound the rows of a person: use engine 'duckdb'.")
        codes = [f"c{axis}" for axis in range(len(domain.columns))]
        return Counts(domain, bound_rows(cells_of(rows, domain.columns, {PERSON: rows[person]}), codes, k))

    def _columns(self, domain: Domain, person: str | None) -> ir.Table:
        wanted = (*domain.names, *([] if person is None else [person]))
        rows = quietly(lambda: self._opened(wanted), _UNREADABLE)
        present = set(rows.columns)
        missing = [name for name in wanted if name not in present]
        if missing:
            raise DataError(
                f"the table has no column {missing[0]!r} ({len(missing)} of {len(wanted)} are missing): "
                "check the domain, the table's header, and that its fields are separated by commas."
            )
        extra = len(present) - len(set(wanted))
        if extra and not domain.ignore_undeclared:  # their names are not shown: a headless file's are values
            raise DataError(
                f"the table has {extra} column{'s' * (extra > 1)} that the domain does not declare: declare "
                'them, or put `undeclared_columns = "ignore"` at the top of the domain file.'
            )
        return rows.select(*wanted)


@dataclass(frozen=True)
class Counts:
    """How many rows each cell holds, asked of the engine. PRIVATE: nothing of it is shown."""

    domain: Domain
    _rows: Any = field(repr=False)  # one column c0, c1, .. per column of the domain, holding its cell

    def histogram(self) -> NDArray[np.float64]:
        """Counts over all cells, row-major, by one GROUP BY."""
        size = self.domain.size
        if size > LARGEST_HISTOGRAM:
            raise TooLarge(
                f"the domain has {size:.3g} cells, more than the {LARGEST_HISTOGRAM:.3g} of a histogram: "
                "use fewer columns or coarser bins, or ask for marginals on a public support."
            )
        return self._count(self._rows, range(len(self.domain.columns)))

    def marginals(self, groups: Sequence[tuple[int, ...]]) -> list[NDArray[np.float64]]:
        """Counts over the cells of each group of columns, given as axes; never the full domain.

        The rows are first grouped by all columns, inside the engine, so that they are read once.
        """
        return [self._count(self._grouped, group) for group in groups]

    def records(self) -> NDArray[np.int64]:
        """The cells that hold a row, as codes, a column each: for PUBLIC tables only."""
        found = self._grouped.order_by([f"c{axis}" for axis in range(len(self.domain.columns))])
        columns = _ask(found.to_pyarrow)
        return np.stack(
            [columns[f"c{axis}"].to_numpy().astype(np.int64) for axis in range(len(self.domain.columns))], 1
        )

    @cached_property
    def _grouped(self) -> Any:
        return _ask(lambda: self._rows.group_by(self._rows.columns).agg(n=self._rows.count()).cache())

    def _count(self, rows: Any, axes: Sequence[int]) -> NDArray[np.float64]:
        import ibis

        shape = [self.domain.shape[axis] for axis in axes]
        number = "int32" if math.prod(shape) < 1 << 31 else "int64"  # the narrower is the faster
        cell: Any = None
        for axis, size in zip(axes, shape, strict=True):
            code = rows[f"c{axis}"].cast(number)
            cell = code if cell is None else (cell * size + code).cast(number)
        cell = ibis.literal(0) if cell is None else cell
        rows = rows.mutate(cell=cell)
        query = rows.group_by("cell").agg(n=rows["n"].sum() if "n" in rows.columns else rows.count())
        found = _ask(query.to_pyarrow)
        counts = np.zeros(math.prod(shape))
        counts[found["cell"].to_numpy()] = found["n"].to_numpy()
        return counts


def _ask(action: Callable[[], _T]) -> _T:
    """What the engine answers to a query whose nested SELECTs are left apart, as `cells_of` made them."""
    import ibis

    fused = ibis.options.sql.fuse_selects
    ibis.options.sql.fuse_selects = False
    try:
        return quietly(action, _UNREADABLE)
    finally:
        ibis.options.sql.fuse_selects = fused
