"""Workloads as text."""

import pytest

from fastmwem.data.domain import Domain
from fastmwem.errors import FastmwemError
from fastmwem.queries.grammar import parse_workload

OVER = Domain.of_sizes({"age": 5, "sex": 2, "region": 3})


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("marginals:1", 10),
        ("marginals:3", 30),
        ("marginals:age,sex", 10),
        ("marginals: sex , region", 6),
        ("ranges:age", 15),
        ("prefixes:age", 5),
        ("marginals:1 + prefixes:age+marginals:age,sex", 25),
    ],
)
def test_what_is_asked(text, queries):
    assert parse_workload(text, OVER).m == queries


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("marginals:99", "from 1 to 3"),
        ("marginals:0", "from 1 to 3"),
        ("marginals:-1", "from 1 to 3"),
        ("marginals:age,salary", "'salary' is not in the domain"),
        ("ranges:salary", "'salary' is not in the domain"),
        ("ranges:", "is not understood"),
        ("sums:age", "write marginals:3"),
        ("marginals:1++ranges:age", "is not understood"),
        ("", "is not understood"),
    ],
)
def test_mistakes_name_the_fix(text, says):
    with pytest.raises(FastmwemError, match=says) as caught:
        parse_workload(text, OVER)
    assert caught.value.exit_code == 2
