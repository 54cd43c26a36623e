"""Counting a table over a declared domain, in units of the GROUP BY that one would write by hand in SQL."""

from __future__ import annotations

import tempfile
from datetime import date
from pathlib import Path

import duckdb

from benchmarks.run import ratio, seconds
from fastmwem.data.domain import Column, Domain
from fastmwem.data.table import Table

ROWS = 10_000_000
REGIONS = ("North", "East", "South", "West", "Capital")
DOMAIN = Domain(
    (
        Column.integer("age", 20, 89, width=10),
        Column.categorical("sex", ("female", "male")),
        Column.categorical("region", REGIONS),
        Column.integer("school", 0, 3),
        Column.equal_bins("income", 0, 90_000, 6),
        Column.calendar("seen", date(2020, 1, 1), date(2020, 12, 31), "quarter"),
        Column.integer("household", 1, 7),
        Column.categorical("blood", ("a", "b", "c", "d")),
        Column.numeric("score", (0, 0.25, 0.75, 1.25, 1.75, 2.25)),
    )
)
MAKE = """
select
  cast(20 + (h % 7) * 10 + i % 10 as integer) as age,
  ['female', 'male'][1 + (h // 7) % 2] as sex,
  ['North', 'East', 'South', 'West', 'Capital'][1 + (h // 14) % 5] as region,
  cast((h // 70) % 4 as integer) as school,
  cast((h // 280) % 6 * 15000 + random() * 15000 as double) as income,
  date '2020-01-01' + cast((h // 1680) % 4 * 91 + random() * 85 as integer) as seen,
  1 + (h // 6720) % 7 as household,
  ['a', 'b', 'c', 'd'][1 + (h * 2654435761 % 1000003) % 4] as blood,
  cast(h * 40503 % 65537 % 5 as double) / 2 as score
from (select i, cast(94000 * pow(random(), 2) as bigint) as h from range({rows}) t(i))
"""
BY_HAND = """
select (age - 20) // 10, case sex when 'female' then 0 when 'male' then 1 end,
  case region when 'North' then 0 when 'East' then 1 when 'South' then 2 when 'West' then 3
    when 'Capital' then 4 end,
  school,
  case when income < 15000 then 0 when income < 30000 then 1 when income < 45000 then 2
    when income < 60000 then 3 when income < 75000 then 4 else 5 end,
  quarter(seen) - 1, household - 1,
  case blood when 'a' then 0 when 'b' then 1 when 'c' then 2 when 'd' then 3 end,
  case when score < 0.25 then 0 when score < 0.75 then 1 when score < 1.25 then 2
    when score < 1.75 then 3 else 4 end,
  count(*)
from '{path}' group by all
"""


@ratio("histogram of 1e7 rows of Parquet, 1e5 cells not empty, against its GROUP BY by hand", bar=1.5)
def histogram_of_a_table() -> float:
    with tempfile.TemporaryDirectory() as home:
        path = Path(home) / "table.parquet"
        duckdb.sql(f"copy ({MAKE.format(rows=ROWS)}) to '{path}' (format parquet)")

        def by_hand() -> int:
            with duckdb.connect() as connection:
                return connection.execute(BY_HAND.format(path=path)).to_arrow_table().num_rows

        def ours() -> int:
            return int((Table.read(path).counts(DOMAIN).histogram() > 0).sum())

        assert ours() == by_hand()
        return seconds(ours, best_of=3) / seconds(by_hand, best_of=3)
