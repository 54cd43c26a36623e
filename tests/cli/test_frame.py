"""The frame of the command line: what a user sees when a command works, fails, or is stopped."""

import json
import logging
import os
import subprocess
import sys
import time
import types

import pytest
import typer

from fastmwem.cli import console
from fastmwem.cli.main import COMMANDS, run
from fastmwem.errors import BudgetExceeded, DataError, InvalidArgument


@pytest.fixture
def probe(monkeypatch):
    """Put a command called `probe` into the table; it does what the test's function does."""
    monkeypatch.delenv("FASTMWEM_DEBUG", raising=False)

    def install(**contents):
        module = types.ModuleType("fastmwem.cli.probe")
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setitem(COMMANDS, "probe", "Probes the frame.")

    return install


def failing(error):
    def command():
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (InvalidArgument("epsilon must be above 0."), 2, "fastmwem: epsilon must be above 0."),
        (BudgetExceeded("too much."), 3, "fastmwem: too much."),
        (DataError("the table has no rows."), 1, "fastmwem: the table has no rows."),
        (FileNotFoundError(2, "No such file", "x.csv"), 1, "fastmwem: x.csv: No such file."),
        (KeyboardInterrupt(), 130, "fastmwem: stopped before it was done (Ctrl-C)."),
    ],
)
def test_an_error_is_one_line_and_an_exit_code(probe, capsys, error, code, line):
    probe(command=failing(error))
    assert run(["probe"]) == code
    out, err = capsys.readouterr()
    assert (out, err) == ("", line + "\n")


@pytest.mark.parametrize("error", [ValueError("salary 31337"), KeyError(31337), MemoryError("31337")])
def test_an_unexpected_error_shows_neither_a_traceback_nor_what_it_quotes(probe, capsys, error):
    probe(command=failing(error))
    assert run(["probe"]) == 1
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "31337" not in err
    assert "Traceback" not in err


def test_the_traceback_is_there_for_whoever_asks(probe, capsys, monkeypatch):
    probe(command=failing(ValueError("here")))
    monkeypatch.setenv("FASTMWEM_DEBUG", "1")
    assert run(["probe"]) == 1
    err = capsys.readouterr().err
    assert "Traceback" in err
    assert "ValueError: here" in err


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["prob"], "No such command 'prob'. Did you mean 'probe'?"),
        (["probe", "--round", "3"], "No such option: --round"),
        (["probe"], "Missing option '--rounds'."),
        (["probe", "--rounds", "many"], "Invalid value for '--rounds'"),
        (["probe", "--rounds"], "'--rounds' requires an argument."),
    ],
)
def test_a_usage_error_is_one_sentence_that_points_to_the_help(probe, capsys, arguments, says):
    def command(rounds: int = typer.Option(...)):
        print(rounds)

    probe(command=command)
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("fastmwem: ")
    assert err.count("\n") == 1
    assert says in err
    assert "--help'." in err


def test_a_group_of_commands(probe, capsys):
    group = typer.Typer()
    group.command("one")(lambda: print(1))
    group.command("two")(lambda: print(2))
    probe(group=group)
    assert run(["probe", "two"]) == 0
    assert capsys.readouterr().out == "2\n"


def test_the_help_lists_every_command_without_loading_any(capsys):
    assert run([]) == 0
    out = capsys.readouterr().out
    assert all(f"\n  {name} " in out for name in COMMANDS)


@pytest.mark.parametrize("name", list(COMMANDS))
def test_every_command_has_help_with_an_example(name, capsys):
    assert run([name, "--help"]) == 0
    assert f"fastmwem {name} " in capsys.readouterr().out.split("Usage:")[1].split("\n", 1)[1]


def test_a_table_keeps_its_numbers_whole_when_piped(capsys):
    console.print_table("Squares", ["n", "of a number with brackets [n]"], [["2", "4"], ["12", "144"]])
    out = capsys.readouterr().out
    assert "[n]" in out
    rows = [line.split() for line in out.splitlines() if "4" in line]
    assert rows == [["2", "4"], ["12", "144"]]


def test_json_is_strict(capsys):
    import numpy as np

    console.print_json({"a": np.float64(0.5), "b": [np.int64(2), float("inf")], "c": np.arange(2)})
    assert json.loads(capsys.readouterr().out) == {"a": 0.5, "b": [2, None], "c": [0, 1]}


def test_quiet_silences_notes(probe, caplog):
    def command(quiet: console.Quiet = False):
        console.note("written.")

    probe(command=command)
    with caplog.at_level(logging.INFO, "fastmwem"):
        assert run(["probe"]) == 0
        assert caplog.messages == ["written."]
        assert run(["probe", "-q"]) == 0
        assert caplog.messages == ["written."]


def test_progress_is_for_terminals_only():
    with console.progress("releasing") as report:
        assert report is None


def test_the_module_runs_like_the_script():
    out = subprocess.run([sys.executable, "-m", "fastmwem", "--version"], capture_output=True, text=True)
    assert out.returncode == 0
    assert out.stdout.startswith("fastmwem 0.")


def test_a_reader_that_closes_the_pipe_is_no_error():
    child = subprocess.Popen(
        [sys.executable, "-m", "fastmwem", "--help"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    child.stdout.close()
    assert child.stderr.read() == b""
    child.stderr.close()
    child.wait()


def test_the_help_is_quick():
    def seconds(*code):
        start = time.perf_counter()
        subprocess.run([sys.executable, *code], capture_output=True, check=True, env=os.environ)
        return time.perf_counter() - start

    bare = min(seconds("-c", "import numpy") for _ in range(3))
    assert min(seconds("-m", "fastmwem", "--help") for _ in range(3)) < bare + 0.5
