"""What commands share: `--json`, `-q`, tables, and a progress bar that shows t/T and what is left."""

from __future__ import annotations

import json
import logging
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

__all__ = ["Json", "Quiet", "note", "print_json", "print_table", "progress"]


def _hush(quiet: bool) -> bool:
    if quiet:
        logging.getLogger("fastmwem").setLevel(logging.ERROR)
    return quiet


Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of a table.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", callback=_hush, help="No progress and no notes, only the result.")
]


def print_json(value: dict[str, Any]) -> None:
    """`value` on stdout, as strict JSON: NumPy numbers as numbers, what is not finite as null."""
    print(json.dumps(_plain(value), indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], text: bool = False
) -> None:
    """A table on stdout; every column but the first is aligned to the right, unless all are `text`."""
    from rich.box import SIMPLE
    from rich.console import Console
    from rich.table import Table

    table = Table(*columns, box=SIMPLE)
    for column in table.columns[1:]:
        column.justify = "left" if text else "right"
    for row in rows:
        table.add_row(*row)
    console = Console(markup=False, highlight=False, width=None if sys.stdout.isatty() else 120)
    console.print(title, style="bold")  # on its own: a table's title is as narrow as the table
    if table.row_count:
        console.print(table)


def note(sentence: str) -> None:
    """One line on stderr, which `-q` silences: where a file was written, what was chosen."""
    logging.getLogger("fastmwem").info(sentence)


@contextmanager
def progress(label: str, quiet: bool = False) -> Iterator[Callable[[int, int], None] | None]:
    """A `(t, T)` callback that draws a bar on stderr; None where no one would see it.

    Nothing but t, T and the time left is shown while a run lasts.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("left"), console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None)
        yield lambda t, rounds: bar.update(task, completed=t, total=rounds)
