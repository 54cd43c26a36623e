"""Where a table lives: from what the user names to an ibis table, on the engine that holds the rows.

Text files are read as text throughout: no type is guessed from private rows, and `binning` decides cell by
cell. Whatever an engine raises may quote a cell, so it never leaves `quietly`.
"""

from __future__ import annotations

import csv
import logging
import os
import re
import shutil
import sys
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fastmwem.errors import DataError, FastmwemError, InvalidArgument, MissingDependency

if TYPE_CHECKING:
    import ibis.expr.types as ir

__all__ = ["ENGINES", "Opened", "open_source", "quietly"]

ENGINES = ("duckdb", "polars", "spark")
Opened = Callable[[Sequence[str]], "ir.Table"]  # columns wanted -> a table that has them if the source does
_T = TypeVar("_T")
_FORMATS = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
}
_FILE_DATABASES = {
    ".duckdb": "duckdb",
    ".ddb": "duckdb",
    ".db": "sqlite",
    ".sqlite": "sqlite",
    ".sqlite3": "sqlite",
}


def quietly(action: Callable[[], _T], sentence: str) -> _T:
    """`action()`; if an engine raises, `DataError(sentence)` with no trace of what it said.

    The new error is raised after the handler has ended, so it has no `__context__` either. Warnings are
    dropped: they are the engines' among themselves (deprecations), and could quote as well.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return action()
    except FastmwemError:
        raise
    except Exception:
        pass
    raise DataError(sentence)


def open_source(
    source: Any, *, engine: str = "duckdb", table: str | None = None, query: str | None = None
) -> Opened:
    """How to get at the columns of `source`; reads no rows."""
    if isinstance(source, (str, PathLike)):
        text = str(source)
        if "://" in engine and not engine.startswith("spark://"):
            return _database(engine, text if query is None else None, query)
        if "://" in text:
            return _database(text, table, query)
        path = Path(text)
        if not path.exists():
            raise DataError(f"{text!r} does not exist: give the path of a table, or a database URL.")
        if path.suffix.lower() in _FILE_DATABASES:
            return _database(f"{_FILE_DATABASES[path.suffix.lower()]}://{path}", table, query)
        return _file(path, engine)
    if type(source).__module__.split(".")[0] == "ibis":
        return lambda names: _keep(source, names)
    return _in_memory(source, engine)


def _keep(table: ir.Table, names: Sequence[str]) -> ir.Table:
    present = set(table.columns)
    return table.select(*(name for name in names if name in present)) if present.issuperset(names) else table


def _file(path: Path, engine: str) -> Opened:
    kind = "parquet" if path.is_dir() else _FORMATS.get(path.suffix.lower())
    if kind is None:
        raise DataError(
            f"{str(path)!r} is of no known kind: name it {', '.join(sorted(_FORMATS))} or a database."
        )
    if path.is_file() and path.stat().st_size == 0:
        raise DataError(f"{str(path)!r} is empty: give a table with a header and rows.")
    if engine not in ENGINES and not engine.startswith("spark://"):
        raise InvalidArgument(f"engine must be one of {', '.join(ENGINES)} or a URL, got {engine!r}.")
    reader = {"duckdb": _duckdb_file, "polars": _polars_file}.get(engine, _spark_file)
    unreadable = f"{str(path)!r} cannot be read as {kind}: check its format and that it is complete."
    return lambda names: quietly(lambda: reader(engine, path, kind, names), unreadable)


def _header(path: Path) -> list[str]:
    """The column names of a text table, which must come first."""
    with open(path, newline="", encoding="utf-8-sig", errors="replace") as file:
        header = next(csv.reader(file, delimiter=_delimiter(path)), [])
    names = [name.strip() for name in header]
    if not names or len(set(names)) < len(names) or not all(names):
        raise DataError(f"{str(path)!r} must begin with a line of distinct column names.")
    return names


def _delimiter(path: Path) -> str:
    return "\t" if path.suffix.lower() == ".tsv" else ","


def _duckdb_file(engine: str, path: Path, kind: str, names: Sequence[str]) -> ir.Table:
    connection = _duckdb()
    if kind == "parquet":
        return connection.read_parquet(path / "**/*.parquet" if path.is_dir() else path)
    if kind == "json":
        text = dict.fromkeys(names, "VARCHAR")
        return connection.read_json(path, columns=text, format="newline_delimited", ignore_errors=True)
    # Nothing is sniffed. A short row ends in nulls, a long one is cut: no row can make the reader fail.
    return connection.read_csv(
        path,
        columns=dict.fromkeys(_header(path), "VARCHAR"),
        auto_detect=False,
        header=True,
        delim=_delimiter(path),
        quote='"',
        escape='"',
        strict_mode=False,
        null_padding=True,
        ignore_errors=True,
        parallel=False,
    )


def _duckdb(database: str = ":memory:", **options: Any) -> Any:
    import ibis

    connection = ibis.duckdb.connect(database, **options)
    connection.raw_sql("SET TimeZone = 'UTC'")
    connection.raw_sql("SET preserve_insertion_order = false")
    connection.raw_sql("SET enable_progress_bar = false")
    return connection


def _polars_file(engine: str, path: Path, kind: str, names: Sequence[str]) -> ir.Table:
    ibis = _import("ibis", "polars")
    _import("polars", "polars")
    connection = ibis.polars.connect()
    if kind == "parquet":
        return connection.read_parquet(path / "**/*.parquet" if path.is_dir() else path)
    import polars

    if kind == "json":
        frame = polars.scan_ndjson(path, schema=dict.fromkeys(names, polars.String), ignore_errors=True)
    else:
        frame = polars.scan_csv(
            path,
            separator=_delimiter(path),
            schema=dict.fromkeys(_header(path), polars.String),
            truncate_ragged_lines=True,
            encoding="utf8-lossy",
        )
    return connection.create_table("rows", frame, temp=None)


def _spark_file(engine: str, path: Path, kind: str, names: Sequence[str]) -> ir.Table:
    session, connection = _spark(engine)
    if kind == "parquet":
        frame = session.read.parquet(str(path))
    elif kind == "json":
        frame = session.read.schema(", ".join(f"`{name}` STRING" for name in names)).json(str(path))
    else:
        schema = ", ".join(f"`{name}` STRING" for name in _header(path))
        frame = session.read.csv(
            str(path),
            schema=schema,
            header=True,
            sep=_delimiter(path),
            quote='"',
            escape='"',
            enforceSchema=True,
        )
    frame.createOrReplaceTempView("fastmwem_rows")
    return connection.table("fastmwem_rows")


def _spark(engine: str) -> tuple[Any, Any]:
    """A Spark session (the active one, else a local one or that of a spark:// URL) and ibis over it."""
    ibis = _import("ibis", "spark")
    if not shutil.which("java"):
        raise MissingDependency(
            "engine 'spark' needs Java 17, which is not on the PATH: install it "
            "(`apt-get install openjdk-17-jre-headless`, `brew install openjdk@17`) or use engine 'duckdb'."
        )
    _import("pyspark", "spark")
    from pyspark.sql import SparkSession  # pyright: ignore[reportMissingImports] - an extra

    def start() -> Any:
        builder = SparkSession.builder.appName("fastmwem")  # pyright: ignore[reportAttributeAccessIssue]
        master = engine if engine.startswith("spark://") else "local[*]"
        builder = builder.master(master).config("spark.ui.enabled", "false")
        if master == "local[*]":  # the default of 200 is for a cluster
            builder = builder.config("spark.sql.shuffle.partitions", 2 * (os.cpu_count() or 1))
        return builder.getOrCreate()

    def connect() -> tuple[Any, Any]:
        session = SparkSession.getActiveSession()
        if session is None:
            with _deaf():
                session = start()
        session.conf.set("spark.sql.session.timeZone", "UTC")
        return session, ibis.pyspark.connect(session)

    logging.getLogger("SQLQueryContextLogger").disabled = True  # PySpark's: prints what went wrong in a row
    return quietly(connect, "Spark did not start: it needs Java 17 or newer; else use engine 'duckdb'.")


@contextmanager
def _deaf() -> Iterator[None]:
    """What is started in here has no stderr: Spark's log quotes the rows that it stumbles over."""
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def _database(url: str, table: str | None, query: str | None) -> Opened:
    if (table is None) == (query is None):
        raise InvalidArgument("a database needs either table or query: name the table, or give a SELECT.")
    import ibis

    scheme, _, rest = url.partition("://")
    shown = f"{scheme}://{re.sub(r'^[^@/]*@', '', rest)}"  # never the password
    if scheme in ("duckdb", "sqlite") and not Path(rest).exists():
        raise DataError(f"{rest!r} does not exist: give the path of a {scheme} file.")

    def connect() -> Any:
        connection: Any = _duckdb(rest, read_only=True) if scheme == "duckdb" else ibis.connect(url)
        # Closed with the last table that comes from it, whichever way that ends.
        weakref.finalize(connection, connection.con.close)
        return connection

    def read(names: Sequence[str]) -> ir.Table:
        connection = quietly(
            connect, f"{shown!r} cannot be opened: check the address and that it may be read."
        )
        if table is not None:
            return quietly(
                lambda: connection.table(table), f"{shown!r} has no table {table!r} that may be read."
            )
        return quietly(
            lambda: connection.sql(query), "the query is not one that the database runs: check it there."
        )

    if scheme.startswith("postgres"):
        _import("psycopg", "postgres")
    return read


def _in_memory(source: Any, engine: str) -> Opened:
    """pandas, polars and pyarrow tables, by way of Arrow."""
    library = type(source).__module__.split(".")[0]
    if library not in ("pandas", "polars", "pyarrow"):
        raise InvalidArgument(
            "the table must be a path, a database URL, or a pandas, polars, pyarrow or ibis table, "
            f"not {type(source).__name__}."
        )

    def read(names: Sequence[str]) -> ir.Table:
        import ibis

        arrow = quietly(
            lambda: _to_arrow(source, library, names),
            "the table in memory cannot be read column by column: convert it to a pyarrow table.",
        )
        if engine == "duckdb":
            return _duckdb().create_table("rows", ibis.memtable(arrow), temp=True)
        if engine == "polars":
            return ibis.polars.connect().create_table("rows", arrow)
        session, connection = _spark(engine)
        session.createDataFrame(arrow).createOrReplaceTempView("fastmwem_rows")
        return connection.table("fastmwem_rows")

    return read


def _to_arrow(source: Any, library: str, names: Sequence[str]) -> Any:
    import pyarrow as pa

    if library == "polars":
        frame = source.collect() if hasattr(source, "collect") else source
        return frame.to_arrow()
    if library == "pyarrow":
        return source if isinstance(source, pa.Table) else pa.table(source)
    columns = {}
    for name in source.columns:
        values = source[name]
        if values.dtype == object:  # may mix types, which Arrow refuses with an error that quotes one
            values = values.map(str, na_action="ignore")
            columns[str(name)] = pa.array(values, pa.string(), from_pandas=True)
        else:
            columns[str(name)] = pa.array(values, from_pandas=True)
    return pa.table(columns)


def _import(module: str, extra: str) -> Any:
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError:
        raise MissingDependency(
            f"this table needs {module}, which is not installed: pip install 'fastmwem[{extra}]'."
        ) from None
