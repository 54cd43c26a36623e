"""Publish a survey: a CSV and its domain file in; tables, synthetic rows and a report out.

    python examples/publish_a_survey.py [--people 50000] [--out published]

The people are made up. With your own table, the steps are the same: declare what may be in it, ask a plan
what to expect, open an account, release.
"""

import argparse
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

import fastmwem as fm

DOMAIN = """
[age]
type = "integer"
low = 18
high = 97
width = 10

[region]
type = "categorical"
values = ["north", "south", "east", "west"]

[income]
type = "numeric"
edges = [0, 15_000, 30_000, 50_000, 80_000, 250_000]
null = true                 # "prefer not to say" is an answer, too
"""


def make_up(people: int, path: Path) -> None:
    """A survey of people who do not exist."""
    rng = np.random.default_rng()
    age = rng.integers(18, 98, people)
    income = np.round(rng.lognormal(10 + 0.006 * age, 0.5))
    said = rng.random(people) < 0.9
    region = rng.choice(["north", "south", "east", "west"], people, p=[0.4, 0.3, 0.2, 0.1])
    table = pa.table({"age": age, "region": region, "income": pa.array(income, mask=~said)})
    csv.write_csv(table, path)


def main(people: int, out: Path) -> fm.Release:
    out.mkdir(parents=True)
    make_up(people, out / "survey.csv")
    (out / "domain.toml").write_text(DOMAIN)

    domain = fm.Domain.from_toml(out / "domain.toml")
    workload = fm.marginals(domain, k=2) + fm.ranges(domain, "age")
    print(fm.plan(workload, n=people, epsilon=1, delta=1e-6))  # looks at no data

    # All that is ever published about these people shares one account.
    account = fm.Account.create(out / "account.jsonl", fm.Budget(epsilon=2, delta=1e-6))
    release = fm.release(out / "survey.csv", workload, epsilon=1, delta=1e-6, account=account)
    print(release.report)
    print(f"{account.spent():.3f} of epsilon {account.budget.epsilon:g} is spent")

    print(release.answers.slice(0, 4).to_pydict())
    release.save(out / "release")
    return release


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=int, default=50_000)
    parser.add_argument("--out", type=Path, default=Path("published"))
    arguments = parser.parse_args()
    main(arguments.people, arguments.out)
