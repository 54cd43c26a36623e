"""Tables: every value goes where the domain says, on every engine and from every source alike."""

import csv
import json

import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from awkward import POLICIES, TEXT, TYPED, cell, domain, rows

from fastmwem.data.domain import Column, Domain
from fastmwem.data.table import Table
from fastmwem.errors import DataError, DomainError, InvalidArgument, MissingDependency, TooLarge

TYPES = {
    "word": pa.string(),
    "code": pa.float64(),
    "flag": pa.bool_(),
    "count": pa.int64(),
    "size": pa.float64(),
    "day": pa.date32(),
    "week": pa.timestamp("us"),
    "month": pa.date32(),
    "hour": pa.timestamp("us"),
}


def arrow(columns):
    return pa.table({name: pa.array(values, TYPES[name]) for name, values in columns.items()})


def expected(columns, over):
    """One-way counts by the reference in `awkward`."""
    return [
        np.bincount([cell(column, value) for value in columns[column.name]], minlength=column.size)
        for column in over.columns
    ]


def check(table, columns, over):
    counts = table.counts(over)
    found = counts.marginals([(axis,) for axis in range(len(over.columns))])
    for column, got, want in zip(over.columns, found, expected(columns, over), strict=True):
        np.testing.assert_array_equal(got, want, err_msg=column.name)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    home = tmp_path_factory.mktemp("tables")
    text = rows(TEXT)
    with open(home / "text.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(text)
        writer.writerows(
            ["" if value is None else value for value in row] for row in zip(*text.values(), strict=True)
        )
    with open(home / "text.jsonl", "w", encoding="utf-8") as file:
        for row in zip(*text.values(), strict=True):
            file.write(json.dumps(dict(zip(text, row, strict=True))) + "\n")
    pq.write_table(arrow(rows(TYPED)), home / "typed.parquet")
    return home


@pytest.mark.parametrize("policy", POLICIES, ids=("clip", "null", "other", "null+other"))
@pytest.mark.parametrize("engine", ["duckdb", "polars"])
@pytest.mark.parametrize("file", ["text.csv", "text.jsonl", "typed.parquet"])
def test_files(files, file, engine, policy):
    columns = rows(TYPED if file == "typed.parquet" else TEXT)
    check(Table.read(files / file, engine=engine), columns, domain(policy))


@pytest.mark.parametrize(
    "make", [arrow, lambda c: polars.from_arrow(arrow(c)), lambda c: arrow(c).to_pandas()]
)
@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_tables_in_memory(make, engine):
    columns = rows(TYPED)
    check(Table.read(make(columns), engine=engine), columns, domain(POLICIES[3]))


def test_pandas_columns_of_mixed_objects():
    mixed = ["red", 3, None, float("nan"), ("green",), "green"]
    frame = pandas.DataFrame({"word": pandas.Series(mixed, dtype=object)})
    over = Domain((Column.categorical("word", ["red", "green"], null=True, other="category"),))
    assert Table.read(frame).counts(over).histogram().tolist() == [1, 1, 2, 2]


def test_databases(files, tmp_path):
    import duckdb

    columns, over = rows(TYPED), domain(POLICIES[1])
    with duckdb.connect(tmp_path / "d.duckdb") as connection:
        connection.execute(f"create table people as from '{files / 'typed.parquet'}'")
    check(Table.read(f"duckdb://{tmp_path / 'd.duckdb'}", table="people"), columns, over)
    check(Table.read(tmp_path / "d.duckdb", query="select * from people"), columns, over)


def test_sqlite(tmp_path):
    import sqlite3

    with sqlite3.connect(tmp_path / "d.sqlite") as connection:
        connection.execute("create table people (word text, count integer)")
        connection.executemany("insert into people values (?, ?)", [("red", 3), ("?", None), (None, 99)])
    connection.close()
    over = Domain(
        (Column.categorical("word", ["red"], null=True, other="category"), Column.integer("count", 0, 9))
    )
    counts = Table.read(f"sqlite://{tmp_path / 'd.sqlite'}", table="people").counts(over)
    assert counts.marginals([(0,)])[0].tolist() == [1, 1, 1]
    assert counts.marginals([(1,)])[0].tolist() == [1, 0, 0, 1, 0, 0, 0, 0, 0, 1]


def postgres_table(url, name, columns, types):
    import ibis

    connection = ibis.connect(url)
    table = pa.table({key: pa.array(values, types[key]) for key, values in rows(columns).items()})
    connection.create_table(name, table, overwrite=True)
    del table
    connection.disconnect()
    return Table.read(url, table=name)


def test_postgres(postgres_url):
    for name, columns, types in (("typed", TYPED, TYPES), ("text", TEXT, dict.fromkeys(TYPES, pa.string()))):
        table = postgres_table(postgres_url, name, columns, types)
        for policy in POLICIES[::3]:
            check(table, rows(columns), domain(policy))
        check(Table.read(name, engine=postgres_url), rows(columns), domain({}))


@pytest.mark.parametrize("engine", ["polars", "postgres", pytest.param("spark", marks=pytest.mark.spark)])
def test_every_engine_puts_every_row_into_the_same_cell(files, engine, request):
    """All columns of a row together, as on DuckDB: joint counts, so that rows count and not only columns."""
    over, groups = domain(POLICIES[3]), [(0, 1, 2, 3, 4), (4, 5, 6, 7), (7, 8)]
    for file, columns, types in (
        ("typed.parquet", TYPED, TYPES),
        ("text.csv", TEXT, dict.fromkeys(TYPES, pa.string())),
        ("text.jsonl", TEXT, dict.fromkeys(TYPES, pa.string())),
    ):
        if engine == "postgres":
            url = request.getfixturevalue("postgres_url")
            table = postgres_table(url, file.split(".")[1], columns, types)
        else:
            table = Table.read(
                files / file, engine=request.getfixturevalue("spark") if engine == "spark" else engine
            )
        found = table.counts(over).marginals(groups)
        for got, want in zip(found, Table.read(files / file).counts(over).marginals(groups), strict=True):
            np.testing.assert_array_equal(got, want)
            assert want.sum() == 2 * max(map(len, columns.values()))


def test_ibis_tables(files):
    """An ibis table is counted on its own backend, whichever that is."""
    import ibis

    columns = rows(TYPED)
    check(Table.read(ibis.duckdb.connect().read_parquet(files / "typed.parquet")), columns, domain({}))
    check(Table.read(ibis.memtable(arrow(columns))), columns, domain({}))
    check(Table.read(ibis.polars.connect().create_table("t", arrow(columns))), columns, domain({}))


def test_spark_without_java_says_how_to_get_it(files, monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(MissingDependency, match=r"Java 17.*install"):
        Table.read(files / "text.csv", engine="spark").counts(domain({}))


def test_histogram_is_row_major_over_the_domain():
    over = Domain((Column.categorical("a", ["x", "y"]), Column.integer("b", 0, 2)))
    table = Table.read(pa.table({"a": ["x", "y", "y", "x"], "b": [0, 2, 2, 1]}))
    counts = table.counts(over)
    assert counts.histogram().tolist() == [1, 1, 0, 0, 0, 2]
    both, flipped = counts.marginals([(0, 1), (1, 0)])
    assert both.tolist() == [1, 1, 0, 0, 0, 2]
    assert flipped.reshape(3, 2).T.ravel().tolist() == both.tolist()


def test_changing_one_row_moves_one_unit(tmp_path):
    """A row that no declaration foresaw moves its own cell and no other, and raises nothing."""
    over = domain(POLICIES[0])
    base = rows(TEXT)
    name = tmp_path / "t.csv"

    def histogram(lines):
        name.write_bytes(b"\n".join([",".join(base).encode(), *lines]) + b"\n")
        return Table.read(name).counts(over).marginals([(0, 3)])[0]

    line = ",".join(["red", "1", "true", "3", "0", *["2020-02-28"] * 4]).encode()
    usual = histogram([line] * 5)
    for odd in (
        b"red",
        b",,,,,,,,",
        line + b",more,fields",
        b'"quoted ""text""",1',
        b"a;b;c;d",
    ):
        moved = histogram([line] * 4 + [odd])
        assert np.abs(moved - usual).sum() in (0, 2), odd
    assert histogram([line, b"\xff\xfe,1"]).sum() == 1  # not UTF-8: left out


def test_large_domains_give_marginals_but_no_histogram():
    over = Domain.of_sizes({f"c{j}": 1000 for j in range(6)})
    table = pa.table({f"c{j}": np.arange(50) % (j + 2) for j in range(6)})
    counts = Table.read(table).counts(over)
    with pytest.raises(TooLarge, match="1e\\+18 cells"):
        counts.histogram()
    assert counts.marginals([(2, 0)])[0].sum() == 50


class TestRefusals:
    """Before any row is read, in one sentence, and without a word from the table."""

    over = Domain.of_sizes({"a": 2, "b": 3})

    def refuse(self, error, says, *args, **kwargs):
        with pytest.raises(error, match=says) as caught:
            Table.read(*args, **kwargs).counts(self.over).histogram()
        assert "\n" not in str(caught.value)
        assert caught.value.__context__ is None or caught.value.__suppress_context__
        return str(caught.value)

    def test_files(self, tmp_path):
        self.refuse(DataError, "does not exist", tmp_path / "none.csv")
        for name, text, says in [
            ("empty.csv", "", "is empty"),
            ("kind.xyz", "a", "no known kind"),
            ("twice.csv", "a,a\n1,2", "distinct column names"),
            ("broken.parquet", "PAR1 no", "cannot be read as parquet"),
            ("semicolons.csv", "a;b\n1;2", "no column 'a'.*commas"),
            ("lacks.csv", "a\n1", "no column 'b'"),
        ]:
            (tmp_path / name).write_text(text)
            self.refuse(DataError, says, tmp_path / name)

    def test_undeclared_columns_are_counted_not_named(self):
        table = pa.table({"a": [1], "b": [1], "secret": [1]})
        assert "secret" not in self.refuse(DataError, "1 column that", table)
        relaxed = Domain(self.over.columns, ignore_undeclared=True)
        assert Table.read(table).counts(relaxed).histogram().sum() == 1

    def test_arguments(self, tmp_path):
        self.refuse(InvalidArgument, "not list", [1, 2])
        (tmp_path / "t.csv").write_text("a,b\n1,1")
        self.refuse(InvalidArgument, "engine must be", tmp_path / "t.csv", engine="sparc")
        self.refuse(InvalidArgument, "either table or query", "postgresql://u:password@host/db")
        self.refuse(DataError, "does not exist", "duckdb:///none.duckdb", table="t")

    def test_databases(self, tmp_path):
        import duckdb

        with duckdb.connect(tmp_path / "d.duckdb") as connection:
            connection.execute("create table t as select 1 as a")
        url = f"duckdb://{tmp_path / 'd.duckdb'}"
        self.refuse(DataError, "no table 'x'", url, table="x")
        self.refuse(DataError, "query is not one", url, query="selec")

    def test_person(self):
        table = Table.read(pa.table({"a": [1], "b": [1]}))
        with pytest.raises(DomainError, match="declared in the domain"):
            table.counts(self.over, person="a", max_rows_per_person=1)
        with pytest.raises(DomainError, match="needs person"):
            table.counts(self.over, max_rows_per_person=1)
        with pytest.raises(DataError, match="no column 'who'"):
            table.counts(self.over, person="who", max_rows_per_person=1)
        with pytest.raises(InvalidArgument, match="max_rows_per_person"):
            table.counts(self.over, person="who", max_rows_per_person=0)

    def test_repr_shows_no_row(self):
        table = Table.read(pa.table({"a": [987654], "b": [1]}))
        assert "987654" not in repr(table)
        assert "987654" not in repr(table.counts(self.over))
