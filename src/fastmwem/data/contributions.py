"""At most k rows of one person: the bound that turns "one row" into "one person" in the guarantee.

Which k rows stay depends on the rows of that person alone. So if a person joins or leaves, no other
person's rows come or go, and the histogram moves by at most k in the L1 norm: every sensitivity is k
times that of a row. Rows without a person are left out (null, NaN, blank text): taken together as one
person, they would be many people who decide on one another's rows.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

__all__ = ["PERSON", "bound_rows"]

PERSON = "person"
_PRIME = (1 << 31) - 1  # products of two residues fit an int64 of any engine
_FACTOR = 1_640_531_527  # no small fraction of _PRIME, so that neighbours land far apart


def bound_rows(rows: Any, codes: Sequence[str], k: int) -> Any:
    """At most `k` rows for each value of `rows[PERSON]`; `codes` are the columns that hold cells.

    `rows` and the result are ibis tables. Rows are taken in the order of a hash of (the row's cells, its
    rank among the person's equal rows, all of the person's cells), in integer arithmetic that is the same on
    every engine. Rows with equal cells are interchangeable, so the result is determined although a table
    has no order. The hash makes the choice even over the person's rows, rather than in favour of low cells.
    """
    import ibis

    rows = rows.filter(_named(rows[PERSON]))
    # A sum, as an engine copies an expression wherever it is used: nested, it would double with each column.
    factors = (pow(_FACTOR, j, _PRIME) for j in range(1, len(codes) + 1))
    terms = [rows[code].cast("int64") * factor % _PRIME for code, factor in zip(codes, factors, strict=True)]
    rows = rows.mutate(mixed=functools.reduce(operator.add, terms) % _PRIME)
    same_row = ibis.window(group_by=[PERSON, *codes], order_by=rows.mixed)
    rank = ibis.row_number().over(same_row) % _PRIME
    rows = rows.mutate(
        rank=rank.cast("int32").cast("int64"),  # Spark counts in 32 bits, and ibis drops a single cast
        whole=_scatter(rows.mixed).sum().over(ibis.window(group_by=[PERSON])).cast("int64") % _PRIME,
    )
    key = _scatter(_scatter(rows.mixed + _scatter(rows["rank"])) + _scatter(rows.whole))
    rows = rows.mutate(key=key)
    in_order = ibis.window(
        group_by=[PERSON], order_by=[rows.key, *(rows[code] for code in codes), rows["rank"]]
    )
    rows = rows.mutate(place=ibis.row_number().over(in_order))
    return rows.filter(rows.place < k).select(*codes)


def _named(person: Any) -> Any:
    kind = person.type()
    if kind.is_string():
        return person.notnull() & (person.strip() != "")
    return person.notnull() & ~person.isnan() if kind.is_floating() else person.notnull()


def _scatter(x: Any) -> Any:
    """A number below _PRIME that looks random, from one that is at least 0 and below 2**32 or so.

    Squaring is what makes it differ from a shift, under which neighbouring rows would stay neighbours.
    """
    x = (x % _PRIME * _FACTOR + 1_013_904_223) % _PRIME
    return x * x % _PRIME
