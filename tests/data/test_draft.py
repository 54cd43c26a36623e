"""Drafts of domain files: of a private table its names and types only, of a public one what it holds."""

import json
from datetime import date, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fastmwem.cli.main import run
from fastmwem.data.domain_file import parse_domain
from fastmwem.data.draft import draft_from_public, draft_from_schema
from fastmwem.errors import DataError, DomainError

PEOPLE = pa.table(
    {
        "age": pa.array([31337, 31338, None], pa.int32()),
        "odd name": pa.array([1.5, float("nan"), 4.5]),
        "word": pa.array(["Zq7x", "red", "red"]),
        "member": pa.array([True, False, True]),
        "day": pa.array([date(2020, 1, 1), date(2020, 1, 20), None]),
        "at": pa.array([datetime(2019, 1, 1, 5), datetime(2021, 1, 1), datetime(2020, 1, 1)]),
    }
)


@pytest.fixture
def parquet(tmp_path):
    pq.write_table(PEOPLE, tmp_path / "people.parquet")
    return str(tmp_path / "people.parquet")


def test_a_schema_gives_names_and_types_and_no_value(parquet, tmp_path):
    text = draft_from_schema(parquet)
    types = [line.split('"')[1] for line in text.splitlines() if line.startswith("type")]
    assert types == ["integer", "numeric", "categorical", "categorical", "date", "datetime"]
    assert "[age]" in text
    assert '["odd name"]' in text
    for value in ("3133", "1.5", "Zq7x", "2019", "2021"):
        assert value not in text
    with pytest.raises(DomainError, match=r"low is missing|values is missing"):  # to be completed by hand
        parse_domain(text)
    (tmp_path / "t.csv").write_text("age,sex\n31337,Zq7x\n")
    text = draft_from_schema(str(tmp_path / "t.csv"))
    assert text.count('type = "categorical"') == 2
    assert "31337" not in text


def test_a_public_table_gives_ranges_and_says_so(parquet):
    text = draft_from_public(parquet)
    assert text.startswith('drafted_from = "people.parquet"')
    drafted = parse_domain(text)
    assert drafted.public_sample == "people.parquet"
    assert (drafted["age"].partition.low, drafted["age"].partition.high) == (31337, 31338)
    assert drafted["age"].null
    assert (drafted["odd name"].partition.edges[0], drafted["odd name"].partition.edges[-1]) == (1.5, 4.5)
    assert drafted["odd name"].null  # NaN is missing
    assert drafted["word"].labels == ("Zq7x", "red", "(other)")
    assert drafted["member"].partition.values == (False, True)
    assert [drafted[name].partition.unit for name in ("day", "at")] == ["day", "month"]


def test_a_public_text_table_has_its_types_guessed(tmp_path):
    (tmp_path / "t.csv").write_text(
        "age,sex,seen\n" + "\n".join(f"{i},f,2020-01-{i:02d}" for i in range(1, 30))
    )
    drafted = parse_domain(draft_from_public(str(tmp_path / "t.csv")))
    assert [column.partition.type for column in drafted.columns] == ["integer", "categorical", "date"]


@pytest.mark.parametrize(
    ("table", "says"),
    [
        (PEOPLE.slice(0, 0), "no rows"),
        (pa.table({"a": pa.array([None, None], pa.int32())}), "column 'a' of the public table is empty"),
        (pa.table({"a": [str(i) for i in range(300)]}), "more than 200 values"),
    ],
)
def test_public_tables_that_say_too_little_or_too_much(table, says, tmp_path):
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(DataError, match=says):
        draft_from_public(str(tmp_path / "t.parquet"))


def test_the_command_writes_a_draft_once_and_checks_it(parquet, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["domain", "new", "--from-public", parquet]) == 0
    before = (tmp_path / "domain.toml").read_text()
    assert run(["domain", "new", "--from-schema", parquet]) == 2
    assert "'domain.toml' exists" in capsys.readouterr().err
    assert (tmp_path / "domain.toml").read_text() == before
    assert run(["domain", "new"]) == 2
    capsys.readouterr()
    assert run(["domain", "new", "--from-schema", parquet, "--out", "j.toml", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"out": "j.toml", "complete": False}
    assert run(["domain", "check", "domain.toml", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["columns"]["word"] == {"cells": 3, "labels": ["Zq7x", "red", "(other)"]}
    assert run(["domain", "new", "--from-public", "none.csv", "--out", "x.toml"]) == 1
    assert run(["domain", "new", "--from-schema", parquet, "--out", "no/such/x.toml"]) != 0
    assert capsys.readouterr().err.count("\n") == 2
