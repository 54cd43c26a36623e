"""Synthetic values: of the original types, and back in the cell that they were drawn from."""

from datetime import date, datetime

import numpy as np
import pyarrow as pa
import pytest

from fastmwem.data.decode import decode
from fastmwem.data.domain import Column, Domain
from fastmwem.data.table import Table

POLICY = {"null": True, "other": "category"}
OVER = Domain(
    (
        Column.categorical("word", ["red", "green"], **POLICY),
        Column.categorical("code", [1, 2], **POLICY),
        Column.categorical("flag", [True, False], null=True),
        Column.categorical("mixed", ["a", 1, True]),
        Column.integer("count", -2, 7, width=4, **POLICY),
        Column.numeric("size", [-1.5, 0, 0.1, 2500], **POLICY),
        Column.calendar("day", date(2020, 2, 27), date(2020, 3, 3), "day", null=True),
        Column.calendar("month", date(2019, 11, 5), date(2020, 3, 3), "month"),
        Column.calendar("hour", datetime(2020, 2, 28, 22, 30), datetime(2020, 3, 1, 2), "hour"),
    )
)


@pytest.fixture(scope="module")
def drawn():
    random = np.random.default_rng(5)
    codes = np.stack([random.integers(0, size, 400) for size in OVER.shape], axis=1)
    return codes, decode(OVER, codes, random)


def test_types_are_those_of_the_declaration(drawn):
    types = {field.name: field.type for field in drawn[1].schema}
    assert types == {
        "word": pa.string(),
        "code": pa.int64(),
        "flag": pa.bool_(),
        "mixed": pa.string(),
        "count": pa.int64(),
        "size": pa.float64(),
        "day": pa.date32(),
        "month": pa.date32(),
        "hour": pa.timestamp("s"),
    }


def test_every_value_lies_in_the_cell_it_was_drawn_from(drawn):
    """Binning the rows gives the codes back, except "(other)" where the type has no value for it: null."""
    codes, rows = drawn
    found = Table.read(rows).counts(OVER).marginals([(axis,) for axis in range(len(OVER.columns))])
    for axis, (column, counts) in enumerate(zip(OVER.columns, found, strict=True)):
        expected = np.bincount(codes[:, axis], minlength=column.size)
        if column.other == "category" and column.name != "word":
            expected[column.null_cell] += expected[column.other_cell]
            expected[column.other_cell] = 0
        np.testing.assert_array_equal(counts, expected, err_msg=column.name)


def test_nulls_are_nulls_and_ends_are_kept(drawn):
    codes, rows = drawn
    day = OVER["day"]
    assert rows["day"].null_count == np.sum(codes[:, OVER.axis("day")] == day.null_cell)
    months = rows["month"].to_pylist()
    assert min(months) >= date(2019, 11, 5)
    assert max(months) <= date(2020, 3, 3)
    assert "(other)" in rows["word"].to_pylist()
    assert max(len(str(x)) for x in rows["size"].to_pylist()) < 10
