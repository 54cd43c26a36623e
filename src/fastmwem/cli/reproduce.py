"""`fastmwem reproduce`: the paper's experiments, measured again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fastmwem.cli.console import Json, Quiet, note, print_json, progress


def command(
    name: Annotated[str, typer.Argument(help="An experiment, or all of them.")] = "all",
    size: Annotated[str, typer.Option(help="tiny (minutes) or paper (the paper's sizes).")] = "tiny",
    out: Annotated[Path, typer.Option(help="Directory for results, figures and the page.")] = Path(
        "reproduction"
    ),
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Measure the paper's experiments again, draw their figures and write a page about them.

    A run that was stopped goes on where it was. Nothing here is private: data are made up, seeds fixed.

    \b
    Example:
      fastmwem reproduce all --size tiny --out reproduction
      fastmwem reproduce recall --size paper --out reproduction
    """
    from fastmwem.lab.reproduce import reproduce

    with progress("cases", quiet or json) as report:
        written = reproduce(name, size, out, report)
    if json:
        print_json({"files": [str(path) for path in written]})
    else:
        note(f"wrote {written[-1]}, with figures and results beside it.")
