"""`fastmwem domain`: draft and check the file that declares a table's columns."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fastmwem.cli.console import Json, Quiet, note, print_json, print_table
from fastmwem.errors import InvalidArgument

_HELP = """Draft and check the file that declares a table's columns.

\b
Example:
  fastmwem domain new --from-schema people.parquet
  fastmwem domain check domain.toml
"""

group = typer.Typer(help=_HELP, no_args_is_help=True)


@group.command()
def new(
    from_schema: Annotated[
        str | None, typer.Option(help="A table, of which only column names and types are read.")
    ] = None,
    from_public: Annotated[
        str | None, typer.Option(help="A table that is PUBLIC: its values are read, and the file says so.")
    ] = None,
    out: Annotated[str, typer.Option(help="The domain file to write.")] = "domain.toml",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Draft a domain file, to be completed by hand; never from private values.

    With --from-schema, what a column may hold is left open: decide it from the questionnaire or the code
    book, not from the table. With --from-public, it is read off a table that you declare to be public.

    \b
    Example:
      fastmwem domain new --from-schema people.parquet --out domain.toml
      fastmwem domain new --from-public census-2011-sample.csv --out domain.toml
    """
    from fastmwem.data.draft import draft_from_public, draft_from_schema

    if (from_schema is None) == (from_public is None):
        raise InvalidArgument(
            "give either --from-schema (names and types) or --from-public (a public table)."
        )
    text = draft_from_public(from_public) if from_public is not None else draft_from_schema(str(from_schema))
    path = Path(out)
    if path.exists():
        raise InvalidArgument(f"{out!r} exists: choose another name with --out.")
    path.write_text(text, encoding="utf-8")
    if json:
        print_json({"out": out, "complete": from_public is not None})
        return
    note(f"wrote {out}: complete it, then run `fastmwem domain check {out}`.")


@group.command()
def check(
    file: Annotated[str, typer.Argument(help="The domain file.")],
    json: Json = False,
) -> None:
    """Check a domain file, and show where every value will count.

    \b
    Example:
      fastmwem domain check domain.toml
    """
    from fastmwem.data.domain import Domain

    domain = Domain.from_toml(file)
    if json:
        print_json(
            {
                "cells": domain.size,
                "columns": {c.name: {"cells": c.size, "labels": list(c.labels)} for c in domain.columns},
            }
        )
        return
    rows = [(c.name, c.partition.type, f"{c.size:,}", c.policy()) for c in domain.columns]
    title = f"{len(rows)} columns, {domain.size:,} cells"
    print_table(title, ("column", "type", "cells", "what is not declared"), rows, text=True)
