"""A command as a user meets it: whatever it is given, an exit code and at most one line about a failure.

`FUZZ=1000 make test TESTS=tests/robustness` tries a thousand random inputs a test; without it, a few that are
always the same.
"""

import contextlib
import io
import os

from hypothesis import HealthCheck, settings

from fastmwem.cli.main import run

FAILED, USAGE = 1, 2


def fuzz(examples):
    """How many inputs a test tries, unless FUZZ says."""
    wanted = os.environ.get("FUZZ")
    return settings(
        max_examples=int(wanted or examples),
        derandomize=not wanted,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


NUMBERS = {
    "0",
    "1",
    "-1",
    "0.5",
    "nan",
    "inf",
    "-inf",
    "1e-400",
    "1e308",
    "1e-6",
    "9" * 400,
    "",
    "x",
    "0x1",
    "１",
}


def outcome(*arguments):
    """The exit code, and what is on stderr, which must be one sentence of ours and no more."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run([str(argument) for argument in arguments])
    said = err.getvalue()
    assert code in (0, FAILED, USAGE), (code, said)
    assert "Traceback" not in said
    assert "this is a defect" not in said, (arguments, said)
    if code:
        assert said.startswith("fastmwem: "), said
        assert said.count("\n") == 1, said
    return code, said
