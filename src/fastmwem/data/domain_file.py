"""The domain file: TOML, one table per column; errors say `file:line:column`.

drafted_from = "public sample.csv"     # optional: the PUBLIC table that this was drafted from
undeclared_columns = "ignore"          # optional: the table may have columns that are not declared

[age]
type = "integer"                       # low, high, optional width
low = 17
high = 90

[income]
type = "numeric"                       # edges, or low, high and bins
edges = [0, 10_000, 50_000, 250_000]
null = true                            # a cell for missing values

[sex]
type = "categorical"
values = ["Female", "Male"]
other = "category"                     # a cell for undeclared values; else "clip"

[admitted]
type = "date"                          # or "datetime"; low, high, unit = hour .. year
low = 2020-01-01
high = 2024-12-31
unit = "month"
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from datetime import date, datetime
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

from fastmwem.data.cells import UNITS, Calendar, Categorical, Cells, Integer, Numeric
from fastmwem.data.domain import Column, Domain
from fastmwem.errors import DomainError

__all__ = ["key_text", "parse_domain", "read_domain", "write_domain"]

_POLICY_KEYS = ("null", "other")
_OPTIONS = ("drafted_from", "undeclared_columns")


def read_domain(path: str | PathLike[str]) -> Domain:
    """The domain that the file at `path` declares."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise DomainError(
            f"domain file {str(path)!r} does not exist: write one, or draft it with `fastmwem domain new`."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise DomainError(f"domain file {str(path)!r} cannot be read: {reason}.") from None
    return parse_domain(text, str(path))


def parse_domain(text: str, source: str = "domain.toml") -> Domain:
    """The domain that `text` declares; `source` is what errors call it.

    >>> parse_domain('[sex]\\ntype = "categorical"\\nvalues = ["F", "M"]').shape
    (2,)
    """
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"^(.*) \(at line (\d+), column (\d+)\)$", str(error))
        last = text.rpartition("\n")[2]
        where = f"{found[2]}:{found[3]}" if found else f"{text.count(chr(10)) + 1}:{len(last) + 1}"
        what = found[1] if found else str(error).removesuffix(" (at end of document)")
        raise DomainError(f"{source}:{where}: this is not TOML: {what[:1].lower()}{what[1:]}.") from None
    return _Reader(text, source).domain(document)


class _Reader:
    """Turns the parsed document into a Domain; knows where each key stands, for the errors."""

    def __init__(self, text: str, source: str) -> None:
        self.places = _places(text)
        self.source = source

    def fail(self, path: tuple[str, ...], message: str) -> NoReturn:
        while path not in self.places and path:
            path = path[:-1]
        line, column = self.places.get(path, (1, 1))
        raise DomainError(f"{self.source}:{line}:{column}: {message}")

    def domain(self, document: dict[str, Any]) -> Domain:
        options = {key: value for key, value in document.items() if not isinstance(value, dict)}
        for key, value in options.items():
            if key not in _OPTIONS:
                self.fail(
                    (key,), f"{key!r} is not an option: it may be {_or(_OPTIONS)}, or a column as [{key}]."
                )
            if not isinstance(value, str):
                self.fail((key,), f"{key} must be text.")
        undeclared = options.get("undeclared_columns", "refuse")
        if undeclared not in ("ignore", "refuse"):
            self.fail(("undeclared_columns",), 'undeclared_columns must be "ignore" or "refuse".')
        columns = [self.column(name, spec) for name, spec in document.items() if isinstance(spec, dict)]
        if not columns:
            self.fail((), "no column is declared: add a table per column, such as [age].")
        return Domain(tuple(columns), undeclared == "ignore", options.get("drafted_from", ""))

    def column(self, name: str, spec: dict[str, Any]) -> Column:
        kind = spec.get("type")
        if not isinstance(kind, str) or kind not in _KINDS:
            place = (name, "type") if kind is not None else (name,)
            self.fail(place, f"column {name!r}: type must be {_or(tuple(_KINDS))}.")
        keys, build = _KINDS[kind]
        for key in spec:
            if key not in ("type", *keys, *_POLICY_KEYS):
                allowed = _or((*keys, *_POLICY_KEYS))
                self.fail(
                    (name, key),
                    f"column {name!r}: {key!r} does not belong to type {kind!r}: it takes {allowed}.",
                )
        null, other = spec.get("null", False), spec.get("other", "clip")
        if not isinstance(null, bool):
            self.fail((name, "null"), f"column {name!r}: null must be true or false.")
        if other not in ("clip", "category"):
            self.fail((name, "other"), f'column {name!r}: other must be "clip" or "category".')
        try:
            return Column.of(name, build(spec), null=null, other=other)
        except _At as error:
            self.fail((name, error.key), f"column {name!r}: {error}")
        except DomainError as error:
            key = next((k for k in keys if k in str(error).split(":")[0] and k in spec), "type")
            message = str(error)
            self.fail(
                (name, key), message if message.startswith("column ") else f"column {name!r}: {message}"
            )


class _At(Exception):
    """A wrong or missing value of one key."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


def _take(spec: dict[str, Any], key: str, types: tuple[type, ...], what: str) -> Any:
    if key not in spec:
        raise _At(key, f"{key} is missing: give {what}.")
    value = spec[key]
    if type(value) not in types:  # bool is an int, and datetime a date, to isinstance
        raise _At(key, f"{key} must be {what}.")
    return value


def _categorical(spec: dict[str, Any]) -> Cells:
    return Categorical(tuple(_take(spec, "values", (list,), "a list of the categories")))


def _numeric(spec: dict[str, Any]) -> Cells:
    number, what = (int, float), "a number"
    if "edges" in spec:
        for key in ("low", "high", "bins"):
            if key in spec:
                raise _At(key, f"{key} and edges say the same twice: keep one of them.")
        edges = _take(spec, "edges", (list,), "a list of numbers")
        if any(type(edge) not in number for edge in edges):
            raise _At("edges", "edges must be a list of numbers.")
        return Numeric(tuple(map(float, edges)))
    if not any(key in spec for key in ("low", "high", "bins")):
        raise _At("type", "give edges, or low, high and bins.")
    low, high = (_take(spec, key, number, what) for key in ("low", "high"))
    return Numeric.equal(low, high, _take(spec, "bins", (int,), "a whole number"))


def _integer(spec: dict[str, Any]) -> Cells:
    low, high = (_take(spec, key, (int,), "a whole number") for key in ("low", "high"))
    return Integer(low, high, _take({"width": 1, **spec}, "width", (int,), "a whole number"))


def _calendar(kind: type[date]) -> Callable[[dict[str, Any]], Cells]:
    example = "2024-01-31T08:00:00" if kind is datetime else "2024-01-31"

    def build(spec: dict[str, Any]) -> Cells:
        low, high = (
            _take(spec, k, (kind,), f"an unquoted {kind.__name__} such as {example}") for k in ("low", "high")
        )
        return Calendar(low, high, _take(spec, "unit", (str,), f"one of {', '.join(UNITS)}"))

    return build


_KINDS: dict[str, tuple[tuple[str, ...], Callable[[dict[str, Any]], Cells]]] = {
    "categorical": (("values",), _categorical),
    "numeric": (("edges", "low", "high", "bins"), _numeric),
    "integer": (("low", "high", "width"), _integer),
    "date": (("low", "high", "unit"), _calendar(date)),
    "datetime": (("low", "high", "unit"), _calendar(datetime)),
}


def _or(names: tuple[str, ...]) -> str:
    return ", ".join(names[:-1]) + f" or {names[-1]}"


def _places(text: str) -> dict[tuple[str, ...], tuple[int, int]]:
    """Key path -> (line, column) of where it is written, for headers `[a]` and lines `key = ...`.

    Each candidate is itself parsed as TOML, so quoted and dotted keys come out as the parser reads them.
    """
    places: dict[tuple[str, ...], tuple[int, int]] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        code = line.strip()
        column = len(line) - len(line.lstrip()) + 1
        if code.startswith("["):
            path = _path(code)
            if path is None:
                continue
            table = path
        elif "=" in code and not code.startswith("#"):
            path = next((p for cut in _cuts(code) if (p := _path(f"{code[:cut]} = 0")) is not None), None)
            if path is None:
                continue
            path = (*table, *path)
        else:
            continue
        for length in range(1, len(path) + 1):
            places.setdefault(path[:length], (number, column))
    return places


def _cuts(code: str) -> list[int]:
    return [i for i, character in enumerate(code) if character == "="]


def _path(code: str) -> tuple[str, ...] | None:
    """The one key path in a line of TOML, or None if it is none (the inside of a list, say)."""
    try:
        node: Any = tomllib.loads(code)
    except tomllib.TOMLDecodeError:
        return None
    path: list[str] = []
    while isinstance(node, dict) and len(node) == 1:
        ((key, node),) = node.items()
        path.append(key)
    return tuple(path) or None


def _table_of(column: Column) -> dict[str, Any]:
    """A column as a table of the domain file."""
    cells = column.partition
    spec: dict[str, Any] = {"type": cells.type}
    match cells:
        case Categorical():
            spec["values"] = list(cells.values)
        case Numeric():
            spec["edges"] = list(cells.edges)
        case Integer():
            spec |= {"low": cells.low, "high": cells.high}
            spec |= {"width": cells.width} if cells.width > 1 else {}
        case Calendar():
            spec |= {"low": cells.low, "high": cells.high, "unit": cells.unit}
    spec |= {"null": True} if column.null else {}
    return spec | ({"other": column.other} if column.other != "clip" else {})


def write_domain(domain: Domain, path: str | PathLike[str] | None = None) -> str:
    """The text of a domain file that `read_domain` reads back as the same domain."""
    lines: list[str] = []
    if domain.public_sample:
        lines.append(f"drafted_from = {_toml(domain.public_sample)}")
    if domain.ignore_undeclared:
        lines.append('undeclared_columns = "ignore"')
    for column in domain.columns:
        lines += ["", f"[{key_text(column.name)}]"] if lines else [f"[{key_text(column.name)}]"]
        lines += [f"{key} = {_toml(value)}" for key, value in _table_of(column).items()]
    text = "\n".join(lines) + "\n"
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def key_text(name: str) -> str:
    """A column name as a key of TOML."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)


def _toml(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str():  # JSON's escapes are TOML's, except for DEL, which TOML wants escaped
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case list():
            return f"[{', '.join(map(_toml, value))}]"
        case date():
            return value.isoformat()
        case float():
            return repr(value)
        case _:
            return str(value)
