"""The domain files of the documentation's examples, on raw values such as those tables hold."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from fastmwem.cli.main import run
from fastmwem.data.domain import Domain

FOLDER = Path(__file__).parents[2] / "examples" / "tables"


def randhie(draw, n):
    """Made up, with the kinds of values that the table has: counts, logarithms, shares, an index, flags."""
    flag = lambda p: draw.choice([0, 1], n, p=[1 - p, p])  # noqa: E731
    return {
        "mdvis": draw.poisson(2.8, n),
        "lncoins": draw.choice([0, 3.258096, 3.931826, 4.564348, 4.61512], n),
        "idp": flag(0.26),
        "lpi": np.where(flag(0.3) == 1, 0, draw.normal(6, 1, n).round(6)),
        "fmde": np.where(flag(0.5) == 1, 0, draw.normal(7, 0.7, n).round(6)),
        "physlm": np.where(flag(0.02) == 1, 0.1442925, flag(0.12)),
        "disea": draw.gamma(2.5, 4.5, n).round(5),
        **{name: flag(p) for name, p in (("hlthg", 0.36), ("hlthf", 0.08), ("hlthp", 0.015))},
    }


def pums(draw, n):
    income = draw.lognormal(10, 1, n).round(-1)
    return {
        "age": draw.integers(18, 94, n),
        "sex": draw.integers(0, 2, n),
        "educ": draw.integers(1, 17, n),
        "race": draw.integers(1, 7, n),
        "income": pa.array(income, mask=draw.random(n) < 0.1),
        "married": draw.integers(0, 2, n),
    }


@pytest.mark.parametrize("table", [randhie, pums])
def test_raw_values_in_a_release_out(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = pa.table(table(np.random.default_rng(4), 1500))
    pyarrow.csv.write_csv(made, "raw.csv")
    domain = FOLDER / f"{table.__name__}.toml"
    options = ["--workload", "marginals:2", "--epsilon", "1", "--delta", "1e-6", "--out", "out"]
    assert run(["domain", "check", str(domain)]) == 0
    assert run(["release", "raw.csv", "--domain", str(domain), *options, "--method", "histogram", "-q"]) == 0
    synthetic = pyarrow.csv.read_csv("out/synthetic.csv")
    assert synthetic.column_names == made.column_names
    assert synthetic.num_rows == 1500
    for column in Domain.from_toml(domain).columns:  # integers as integers, and all of it as declared
        assert pa.types.is_integer(synthetic.schema.field(column.name).type) == (
            column.partition.type != "numeric"
        )
