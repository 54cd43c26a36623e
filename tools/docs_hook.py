"""What the documentation takes from the code when it is built, and so cannot go stale.

In a page, `<!-- commands -->` becomes the help of every command, `<!-- public names -->` the reference of
every public name, and `<!-- docstring MODULE:NAME -->` (or `MODULE`) that docstring, word by word.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import re
from importlib import import_module
from itertools import groupby
from typing import Any


def on_page_markdown(markdown: str, **_: Any) -> str:
    """mkdocs calls this with each page's source."""
    makers = {"commands": commands, "public names": public_names, "docstring": docstring}

    def made(marker: re.Match[str]) -> str:
        return makers[marker[1]](*marker[2].split())

    return re.sub(r"<!-- (commands|public names|docstring)(.*?)-->", made, markdown)


def docstring(where: str) -> str:
    """The docstring of `fastmwem.MODULE` or `fastmwem.MODULE:NAME`, less its examples, as it stands there."""
    module, _, path = where.partition(":")
    thing: Any = import_module(f"fastmwem.{module}")
    for name in filter(None, path.split(".")):
        thing = getattr(thing, name)
    text = inspect.getdoc(thing)
    if not text:
        raise RuntimeError(f"fastmwem.{where} has no docstring to show")
    paragraphs = [part for part in text.split("\n\n") if not part.lstrip().startswith(">>>")]
    return "```text\n" + "\n\n".join(paragraphs) + "\n```"


def commands() -> str:
    """The help of `fastmwem` and of each of its commands, as it is printed."""
    from fastmwem.cli.main import COMMANDS

    sections = [f"```text\n{help_of([])}\n```"]
    for name in COMMANDS:
        sections.append(f"## fastmwem {name}\n\n```text\n{help_of([name])}\n```")
        sections += [
            f"### fastmwem {name} {sub}\n\n```text\n{help_of([name, sub])}\n```" for sub in subs(name)
        ]
    return "\n\n".join(sections)


def help_of(command: list[str]) -> str:
    """What `fastmwem COMMAND --help` prints on a terminal of 80 columns."""
    from fastmwem.cli.main import run

    os.environ["COLUMNS"] = "80"
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = run([*command, "--help"])
    if code != 0:
        raise RuntimeError(f"fastmwem {' '.join(command)} --help failed with code {code}")
    return out.getvalue().strip()


def subs(name: str) -> list[str]:
    """The sub-commands of a command that is a group."""
    group = getattr(import_module(f"fastmwem.cli.{name}"), "group", None)
    if group is None:
        return []
    return [info.name or info.callback.__name__.replace("_", "-") for info in group.registered_commands]


def public_names() -> str:
    """A heading for each module of the public names, and mkdocstrings' entry for each name."""
    import fastmwem

    def module(item: tuple[str, str]) -> str:
        return item[1].split(".")[0]

    sections = []
    for part, items in groupby(sorted(fastmwem._PUBLIC.items(), key=module), module):
        sections.append(f"## {part}\n")
        sections += [f"::: fastmwem.{where}.{name}\n" for name, where in items]
    return "\n".join(sections)
