"""Whatever workload and numbers are asked for, a plan or one sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.robustness.commands import NUMBERS, fuzz, outcome

DOMAIN = """
[age]
type = "integer"
low = 0
high = 9
[sex]
type = "categorical"
values = ["F", "M"]
["a+b: c,d"]
type = "categorical"
values = [1, 2, 3]
["2"]
type = "numeric"
edges = [0, 1, 2]
"""
PIECES = st.sampled_from(
    [
        *(
            "marginals",
            "ranges",
            "prefixes",
            "predicates",
            ":",
            ":",
            "+",
            ",",
            " ",
            "age",
            "sex",
            "2",
            "a+b: c,d",
        ),
        *("1", "3", "-1", "99", "²", "1e9", "0", "9" * 5000, "Age", "\x00", "é", "\n"),
    ]
)
NUMBER = st.sampled_from(sorted(NUMBERS))


@pytest.fixture(scope="module")
def domain(tmp_path_factory):
    path = tmp_path_factory.mktemp("domain") / "domain.toml"
    path.write_text(DOMAIN)
    return path


def plan(domain, workload="marginals:1", n=1000, epsilon=1, delta=1e-6, *more):
    return outcome(
        "plan",
        f"--domain={domain}",
        f"--workload={workload}",
        f"--n={n}",
        f"--epsilon={epsilon}",
        f"--delta={delta}",
        *more,
    )


@fuzz(50)
@given(st.lists(PIECES, max_size=9).map("".join))
def test_words_in_any_order(domain, workload):
    plan(domain, workload)


@fuzz(50)
@given(st.text(max_size=30))
def test_any_text(domain, workload):
    plan(domain, workload)


@fuzz(50)
@given(NUMBER, NUMBER, NUMBER, NUMBER)
def test_any_numbers(domain, n, epsilon, delta, rows):
    plan(domain, "ranges:age", n, epsilon, delta, f"--rows-per-person={rows}")


@fuzz(50)
@given(NUMBER, NUMBER, NUMBER, NUMBER, NUMBER)
def test_any_numbers_for_an_account(rounds, epsilon, delta, gaussians, share):
    outcome(
        "account",
        f"--rounds={rounds}",
        f"--epsilon={epsilon}",
        f"--delta={delta}",
        f"--gaussians={gaussians}",
        f"--share={share}",
    )


@fuzz(15)
@given(st.floats(1e-12, 1e12), st.floats(1e-300, 0.999), st.integers(1, 10**12))
def test_any_budget(domain, epsilon, delta, n):
    code, said = plan(domain, "marginals:2 + ranges:age", n, epsilon, delta)
    assert code == 0, said
