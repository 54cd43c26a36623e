"""Whatever a table's file holds, a release or one sentence; and no row that does not fit makes a run fail."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.robustness.commands import fuzz, outcome
from tests.robustness.test_domain_files import GOOD

HEADER = "age,income,rate,the sex,admitted,seen,extra\n"
SMALL = GOOD.replace("bins = 7", "bins = 2").replace("width = 5", "width = 40")
SMALL = SMALL.replace("2024-12-31", "2020-02-01").replace("2020-01-31T08", "2020-01-01T02")
CELL = st.one_of(
    st.sampled_from(
        [
            *(
                "17",
                "-1",
                "1e308",
                "nan",
                "Female",
                "true",
                "3.0",
                "2020-02-30",
                "2024-01-01",
                "",
                '"',
                '""',
                "'",
            ),
            *(
                "\\",
                "2020-01-01T00:00:00",
                "10000-01-01",
                "0",
                "NULL",
                "\t",
                "\r",
                "\x00",
                "\ufeff",
                "é",
                ";",
            ),
        ]
    ),
    st.text(max_size=4),
)
VALUE = st.sampled_from(["1", '"x"', "null", "[1]", "{}", "true", "1e999", '"2020-01-01"', r'"\ud800"', "x"])


@pytest.fixture
def release(tmp_path_factory):
    """A release of the bytes of a CSV, in a folder of its own."""
    domain = tmp_path_factory.mktemp("domain") / "domain.toml"
    domain.write_text(SMALL)

    def run(content, name="people.csv", *more):
        folder = tmp_path_factory.mktemp("table")
        (folder / name).write_bytes(content)
        options = (
            "--workload=marginals:1",
            "--epsilon=1",
            "--delta=1e-6",
            "--method=direct",
            "--rows=1",
            "--quiet",
        )
        return outcome("release", folder / name, "--domain", domain, *options, "--out", folder / "out", *more)

    return run


@fuzz(10)
@given(st.lists(st.lists(CELL, max_size=8), max_size=6))
@example([['"']])
@example([["17"] * 7, ['"unclosed'] * 7, ["17"] * 7])
def test_rows_of_any_kind(release, rows):
    text = HEADER + "17,0,0,Male,2020-01-01,2020-01-01T00:00:00,\n" + "\n".join(map(",".join, rows))
    code, said = release(text.encode("utf-8", "surrogatepass"))
    assert code == 0, said


@fuzz(10)
@given(
    st.binary(max_size=300),
    st.sampled_from(["csv", "tsv", "jsonl", "parquet", "duckdb", "db", "xlsx", "csv.gz"]),
)
def test_any_bytes(release, content, kind):
    release(content, f"people.{kind}")


@fuzz(10)
@given(st.binary(max_size=100))
def test_any_bytes_below_a_header(release, content):
    code, said = release(HEADER.encode() + b"17,0,0,Male,2020-01-01,2020-01-01T00:00:00,\n" + content)
    assert code == 0, said


@fuzz(10)
@given(st.lists(st.dictionaries(st.sampled_from(HEADER.strip().split(",")), VALUE), max_size=5))
def test_json_lines_of_any_kind(release, rows):
    lines = ["{" + ",".join(f'"{key}":{value}' for key, value in row.items()) + "}" for row in rows]
    release("\n".join(lines).encode(), "people.jsonl")
