"""Whatever a domain file holds, checking it ends in a table or in one sentence."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.robustness.commands import USAGE, fuzz, outcome

GOOD = """
undeclared_columns = "ignore"

[age]
type = "integer"
low = 17
high = 90
width = 5

[income]
type = "numeric"
edges = [0, 10_000, 50_000.5, 250_000]
null = true

[rate]
type = "numeric"
low = -1.5
high = 2e3
bins = 7

["the sex"]
type = "categorical"
values = ["Female", "Male", 3, true]
other = "category"

[admitted]
type = "date"
low = 2020-01-01
high = 2024-12-31
unit = "month"

[seen]
type = "datetime"
low = 2020-01-01T00:00:00
high = 2020-01-31T08:00:00
unit = "hour"
"""
LINES = GOOD.splitlines()
VALUES = st.sampled_from(
    [
        *(
            "0",
            "1",
            "-1",
            "1.5",
            "nan",
            "inf",
            "-inf",
            "1e308",
            "1e400",
            "-0.0",
            "9223372036854775808",
            "9" * 30,
        ),
        *(
            "true",
            '""',
            '"x"',
            r'"\u0000"',
            "[]",
            "[1]",
            "[1,1]",
            "[2,1]",
            "[nan,1]",
            "[0,inf]",
            '["a","a"]',
            "{}",
        ),
        *('["a",1]', "[[1]]", "0001-01-01", "9999-12-31", "2020-01-01T00:00:00Z", "23:59:59", "2020-02-30"),
        *('"month"', '"categorical"', '"date"'),
    ]
)
KEYS = st.sampled_from(
    ["type", "low", "high", "width", "edges", "bins", "values", "other", "null", "unit", "x"]
)


@st.composite
def edited(draw):
    """A good file with some lines dropped, doubled, moved, given another value, or broken."""
    lines = list(LINES)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines) - 1))
        what = draw(st.sampled_from(["drop", "double", "value", "key", "text", "header"]))
        key, _, _ = lines[at].partition("=")
        match what:
            case "drop":
                del lines[at]
            case "double":
                lines.insert(draw(st.integers(0, len(lines))), lines[at])
            case "value":
                lines[at] = f"{key} = {draw(VALUES)}"
            case "key":
                lines.insert(at, f"{draw(KEYS)} = {draw(VALUES)}")
            case "text":
                cut = draw(st.integers(0, len(lines[at])))
                lines[at] = lines[at][:cut] + draw(st.text(max_size=4)) + lines[at][cut:]
            case "header":
                lines.insert(at, f"[{draw(st.text(string.printable, max_size=6))}]")
        if not lines:
            break
    return "\n".join(lines)


@pytest.fixture
def file(tmp_path):
    return tmp_path / "domain.toml"


@fuzz(100)
@given(edited())
def test_an_edited_file(file, text):
    file.write_text(text, encoding="utf-8", errors="replace", newline="")
    outcome("domain", "check", file)


@fuzz(100)
@given(st.binary(max_size=200))
def test_any_bytes(file, content):
    file.write_bytes(content)
    outcome("domain", "check", file)


@fuzz(100)
@given(
    st.sampled_from(["categorical", "numeric", "integer", "date", "datetime"]), st.dictionaries(KEYS, VALUES)
)
def test_any_column(file, kind, keys):
    text = "".join(f"{key} = {value}\n" for key, value in keys.items() if key != "type")
    file.write_text(f'[a]\ntype = "{kind}"\n{text}', encoding="utf-8")
    outcome("domain", "check", file, "--json")


def test_domains_too_large_to_count(file):
    columns = [f'[c{i}]\ntype = "integer"\nlow = 0\nhigh = 999_999_999\n' for i in range(40)]
    file.write_text("".join(columns))
    outcome("domain", "check", file)
    code, _ = outcome(
        "plan", "--domain", file, "--workload", "marginals:1", "--n", 10, "--epsilon", 1, "--delta", 1e-6
    )
    assert code == USAGE
