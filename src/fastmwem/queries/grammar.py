"""Workloads as text, for the command line: `marginals:3`, `marginals:age,sex`, `ranges:age`, with `+`."""

from __future__ import annotations

from collections.abc import Callable

from fastmwem.data.domain import Domain
from fastmwem.errors import InvalidArgument
from fastmwem.queries.base import Queries
from fastmwem.queries.marginals import marginals
from fastmwem.queries.ranges import prefixes, ranges
from fastmwem.queries.union import union

__all__ = ["parse_workload"]


def parse_workload(text: str, domain: Domain) -> Queries:
    """The workload that `text` names on `domain`.

    `marginals:K` are all marginals of K columns, `marginals:A,B` the one of these columns; `ranges:A` and
    `prefixes:A` all intervals, or all initial intervals, of an ordered column.

    >>> parse_workload("marginals:1 + prefixes:age", Domain.of_sizes({"age": 4, "sex": 2})).m
    10
    """
    parts = [_part(part.strip(), domain) for part in text.split("+")]
    return parts[0] if len(parts) == 1 else union(*parts)


def _part(text: str, domain: Domain) -> Queries:
    kind, colon, rest = (piece.strip() for piece in text.partition(":"))
    if kind not in _KINDS or not colon or not rest:
        raise InvalidArgument(
            f"workload {text!r} is not understood: write marginals:3, marginals:{_example(domain)}, "
            f"ranges:{domain.names[0]} or prefixes:{domain.names[0]}, joined by +."
        )
    return _KINDS[kind](rest, domain)


def _marginals(rest: str, domain: Domain) -> Queries:
    if rest.lstrip("-").isdigit() and rest not in domain.names:
        columns = len(domain.columns)
        if not 1 <= int(rest) <= columns:
            raise InvalidArgument(
                f"workload marginals:{rest} asks for {rest} columns at a time, but the domain has {columns}: "
                f"give a number from 1 to {columns}."
            )
        return marginals(domain, int(rest))
    return marginals(domain, subsets=[[_column(name, domain) for name in rest.split(",")]])


def _interval(make: Callable[[Domain, str], Queries]) -> Callable[[str, Domain], Queries]:
    return lambda rest, domain: make(domain, _column(rest, domain))


def _column(name: str, domain: Domain) -> str:
    domain.axis(name.strip())  # raises for a name that is not declared
    return name.strip()


def _example(domain: Domain) -> str:
    return ",".join(domain.names[:2])


_KINDS = {"marginals": _marginals, "ranges": _interval(ranges), "prefixes": _interval(prefixes)}
