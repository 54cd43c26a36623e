"""The domain file: what it reads, that it writes what it reads, and where its errors point."""

from datetime import date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastmwem.data.domain import Column, Domain
from fastmwem.data.domain_file import parse_domain, read_domain
from fastmwem.errors import DomainError

EVERY_KIND = """
undeclared_columns = "ignore"

[age]
type = "integer"
low = 17
high = 90
width = 5

[income]
type = "numeric"
edges = [0, 10_000, 50_000.5]
null = true

["hours per week"]
type = "numeric"
low = 0
high = 100
bins = 10
other = "category"

[sex]
type = "categorical"
values = ["Female", "Male"]

[flag]
type = "categorical"
values = [true, false, 3, 2.5]

[admitted]
type = "date"
low = 2020-01-01
high = 2020-12-31
unit = "month"

[seen]
type = "datetime"
low = 2020-01-01T00:00:00
high = 2020-01-02T00:00:00
unit = "hour"
"""


def test_every_kind_is_read():
    domain = parse_domain(EVERY_KIND)
    assert domain.shape == (15, 3, 11, 2, 4, 12, 25)
    assert domain.ignore_undeclared
    assert domain["flag"].labels == ("true", "false", "3", "2.5")


def test_what_is_written_is_read_back(tmp_path):
    domain = parse_domain(EVERY_KIND)
    domain.to_toml(tmp_path / "d.toml")
    assert Domain.from_toml(tmp_path / "d.toml") == domain


_text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)


@given(st.lists(_text, min_size=1, max_size=4, unique_by=str.strip), _text, st.booleans())
def test_any_text_survives_the_round_trip(values, name, null):
    domain = Domain((Column.categorical(name, values, null=null),), public_sample=name)
    assert parse_domain(domain.to_toml()) == domain


@given(
    st.lists(st.floats(-1e12, 1e12), min_size=2, max_size=6, unique=True).map(sorted),
    st.dates(date(1600, 1, 1), date(2400, 1, 1)),
    st.datetimes(datetime(1600, 1, 1), datetime(2400, 1, 1)),
)
def test_any_number_and_date_survives_the_round_trip(edges, day, moment):
    domain = Domain(
        (
            Column.numeric("x", edges),
            Column.calendar("d", day, day, "year"),
            Column.calendar("t", moment, moment, "hour"),
        )
    )
    assert parse_domain(domain.to_toml()) == domain


@pytest.mark.parametrize(
    ("text", "where", "says"),
    [
        ('[age]\ntype = "integer"\nlow = \n', "3:7", "not TOML"),
        ('[age]\ntype = "integer', "2:16", "not TOML"),
        ("", "1:1", "no column"),
        ('colour = "blue"', "1:1", "not an option"),
        ('undeclared_columns = "drop"', "1:1", "ignore"),
        ("drafted_from = 3", "1:1", "text"),
        ("[age]\nlow = 1", "1:1", "type must be"),
        ('[a]\ntype = "integer"\nlow = 1\nhigh = 2\n[b]\n  type = "whole"', "6:3", "type must be"),
        ('[age]\ntype = "integer"\nlow = 1', "1:1", "high is missing"),
        ('[age]\ntype = "integer"\nlow = 1.5\nhigh = 3', "3:1", "whole number"),
        ('[age]\ntype = "integer"\nlow = true\nhigh = 3', "3:1", "whole number"),
        ('[age]\ntype = "integer"\nlow = 4\nhigh = 3', "3:1", "above high"),
        ('[age]\ntype = "integer"\nlow = 0\nhigh = 9\nwidth = 0', "5:1", "width"),
        ('[age]\ntype = "integer"\nlow = 0\nhigh = 9\nbins = 3', "5:1", "does not belong"),
        ('[x]\ntype = "numeric"', "2:1", "give edges"),
        ('[x]\ntype = "numeric"\nedges = [1, 2]\nbins = 2', "4:1", "twice"),
        ('[x]\ntype = "numeric"\nedges = [1, "2"]', "3:1", "list of numbers"),
        ('[x]\ntype = "numeric"\nedges = [\n  2,\n  1,\n]', "3:1", "increase"),
        ('[x]\ntype = "numeric"\nlow = 0\nhigh = 1\nbins = 0', "5:1", "bins"),
        ('[s]\ntype = "categorical"\nvalues = "F"', "3:1", "list of the categories"),
        ('[s]\ntype = "categorical"\nvalues = []', "3:1", "empty"),
        ('[s]\ntype = "categorical"\nvalues = ["F"]\nnull = "yes"', "4:1", "null must be"),
        ('[s]\ntype = "categorical"\nvalues = ["F"]\nother = "drop"', "4:1", "other must be"),
        ('["odd name"]\ntype = "categorical"\nvalues = ["F"]\nother = 1', "4:1", "'odd name': other"),
        ('s.type = "categorical"\ns.values = ["F"]\ns.null = 3', "3:1", "null must be"),
        ('s = { type = "categorical", values = [] }', "1:1", "empty"),
        ('[d]\ntype = "date"\nlow = "2020-01-01"\nhigh = 2020-01-02\nunit = "day"', "3:1", "unquoted"),
        ('[d]\ntype = "date"\nlow = 2020-01-01\nhigh = 2020-01-02\nunit = "age"', "5:1", "unit must"),
        ('[d]\ntype = "date"\nlow = 2020-01-01\nhigh = 2020-01-02', "1:1", "unit is missing"),
    ],
)
def test_errors_point_at_the_line_and_column(text, where, says):
    with pytest.raises(DomainError, match=says) as caught:
        parse_domain(text, "d.toml")
    assert str(caught.value).startswith(f"d.toml:{where}: ")
    assert "\n" not in str(caught.value)


def test_missing_and_unreadable_files(tmp_path):
    with pytest.raises(DomainError, match="does not exist"):
        read_domain(tmp_path / "none.toml")
    with pytest.raises(DomainError, match="cannot be read"):
        read_domain(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b"[\xe9]")
    with pytest.raises(DomainError, match="UTF-8"):
        read_domain(tmp_path / "latin.toml")
