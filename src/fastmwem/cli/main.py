"""The `fastmwem` command: a table of commands, and what happens when one of them fails.

To add a command NAME, write `cli/NAME.py` and add one line to `COMMANDS`. The module is imported only when
its command is called, and holds either of

    def command(...) -> None        a Typer function: annotated parameters, the docstring is the help
    group = typer.Typer(...)        where the command has sub-commands of its own

Its docstring says what it does in one sentence, then shows an example in a paragraph that starts with a
line holding only `\\b` (the help then keeps its line breaks). Keep it thin: read arguments, call the
library, print. Import the library inside the function, so that `--help` stays quick. `cli/console.py` has
`--json`, `-q`, tables and progress. Raise `FastmwemError`s and let them pass: here they become one line on
stderr and the exit code that the error carries (1 failed, 2 usage, 3 budget); Ctrl-C becomes 130.
"""

from __future__ import annotations

import logging
import os
import sys
import traceback
import warnings
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

import fastmwem
from fastmwem.errors import FastmwemError

__all__ = ["COMMANDS", "main", "run"]

# Command -> what `fastmwem --help` says of it. The order is that of the help.
COMMANDS = {
    "demo": "A made-up survey of 50,000 people, released: the quickest way to see what comes out.",
    "plan": "What each method is expected to do, from public numbers; spends nothing.",
    "release": "A private table in; answers, a histogram, synthetic rows and a report out.",
    "lp": "A linear program with a private right-hand side or private rows in; a solution out.",
    "domain": "Draft and check the file that declares a table's columns.",
    "ledger": "The budget account that all releases of one data set share.",
    "account": "What T rounds may cost: eps0 and noise, as each accountant counts.",
    "reproduce": "The paper's experiments, measured again: results, figures and a page.",
}


def main() -> None:
    """The entry point of the script."""
    _speak_on_stderr()
    if not _debugging():  # A library's warning may quote a value of the table.
        warnings.simplefilter("ignore")
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command line; return its exit code. Nothing that a command raises passes through."""
    try:
        _invoke(arguments or ["--help"])
        sys.stdout.flush()
        return 0
    except typer.Exit as stop:
        return stop.exit_code
    except BrokenPipeError:  # `fastmwem ... | head`: the reader has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (KeyboardInterrupt, typer.Abort):
        return _stopped()
    except Exception as error:
        if _interrupted(error):
            return _stopped()
        if _debugging():
            traceback.print_exc()
        return _complain(*_sentence(error))


def _invoke(arguments: list[str]) -> None:
    command = typer.main.get_command(_application(arguments))
    with command.make_context("fastmwem", list(arguments)) as context:
        command.invoke(context)


def _application(arguments: list[str]) -> typer.Typer:
    """All commands by name; the one that `arguments` call for real, the others only for the help."""
    wanted = next((a for a in arguments if not a.startswith("-")), None)
    app = typer.Typer(add_completion=False, rich_markup_mode=None, help=fastmwem.__doc__)
    app.callback()(_root)
    for name, summary in COMMANDS.items():
        module = vars(import_module(f"fastmwem.cli.{name}")) if name == wanted else {}
        if "group" in module:
            app.add_typer(module["group"], name=name, short_help=summary)
        else:
            app.command(name, short_help=summary)(module.get("command", _not_called))
    return app


def _not_called() -> None:
    """Stands in the help for a command whose module is not loaded."""


def _version(wanted: bool) -> None:
    if wanted:
        print(f"fastmwem {fastmwem.__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Private answers to millions of linear queries, and private linear programs."""


def _interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C is at the root of it: Python and libraries may wrap it in an error of their own."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _sentence(error: Exception) -> tuple[str, int]:
    """One sentence and an exit code; of an error that is not ours, nothing that could hold a value."""
    if isinstance(error, FastmwemError):
        return str(error), error.exit_code
    if isinstance(error, typer.TyperException):
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "fastmwem"
        return f"{_one_line(error.format_message())} See '{path} --help'.", error.exit_code
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}.", 1
    if isinstance(error, MemoryError):
        return "out of memory: use a smaller domain or workload, or a larger machine.", 1
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(fastmwem.__file__).parent in Path(frame.filename).parents]
    place = f"{Path(ours[-1].filename).name}, line {ours[-1].lineno}" if ours else "start-up"
    return (
        f"unexpected {type(error).__name__} at {place}: this is a defect; "
        "FASTMWEM_DEBUG=1 shows the traceback, which may quote private values.",
        1,
    )


def _one_line(message: str) -> str:
    text = " ".join(message.split())
    return text if text.endswith((".", "?", ")")) else f"{text}."


def _stopped() -> int:
    return _complain("stopped before it was done (Ctrl-C).", 130)


def _complain(sentence: str, code: int) -> int:
    print(f"fastmwem: {sentence}", file=sys.stderr)
    return code


def _debugging() -> bool:
    return os.environ.get("FASTMWEM_DEBUG", "") not in ("", "0")


def _speak_on_stderr() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("fastmwem: %(message)s"))
    logger = logging.getLogger("fastmwem")
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.INFO)
