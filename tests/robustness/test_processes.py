"""The command in processes of its own: two at once, after a fork, and where memory is short."""

import json
import os
import resource
import subprocess
import sys

import pytest

SURVEY = "a,b\n" + "0,1\n1,1\n2,0\n" * 200
DOMAIN = '[a]\ntype = "integer"\nlow = 0\nhigh = %d\n[b]\ntype = "integer"\nlow = 0\nhigh = %d\n'
LIMIT = 4_000_000_000  # bytes of address space, as `ulimit -v 4000000` sets
BUDGET = ("--epsilon", "1", "--delta", "1e-6")
RELEASE = (
    "release",
    "people.csv",
    "--domain",
    "domain.toml",
    "--workload",
    "marginals:2",
    *BUDGET,
    "--rows",
    "5",
)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "people.csv").write_text(SURVEY)
    (tmp_path / "domain.toml").write_text(DOMAIN % (2, 1))
    return tmp_path


def start(folder, *arguments, limit=None):
    def confine():
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    return subprocess.Popen(
        [sys.executable, "-m", "fastmwem", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=None if limit is None else confine,
    )


def ended(process):
    """Exit code, stdout, and stderr without the note that kernels are compiled."""
    out, err = process.communicate(timeout=240)
    lines = [line for line in err.splitlines(keepends=True) if "compiling for this machine" not in line]
    return process.returncode, out, "".join(lines)


def test_of_two_releases_at_once_the_account_pays_for_one(folder):
    """Each fits the account alone; both may have checked it before either was charged."""
    assert (
        ended(start(folder, "ledger", "account.jsonl", "--create", "--epsilon", "1.2", "--delta", "1e-5"))[0]
        == 0
    )
    outs = [str(folder / f"out{i}") for i in range(3)]
    ends = [
        ended(run)
        for run in [start(folder, *RELEASE, "--ledger", "account.jsonl", "--out", out, "-q") for out in outs]
    ]
    assert sorted(code for code, _, _ in ends) == [0, 3, 3]
    assert sum(os.path.exists(out) for out in outs) == 1
    for code, _, err in ends:
        assert (err.count("\n"), err.startswith("fastmwem: budget account")) == (
            (1, True) if code else (0, False)
        )
    code, out, _ = ended(start(folder, "ledger", "account.jsonl", "--json"))
    assert code == 0
    assert len(json.loads(out)["runs"]) == 1


FORKED = """
import os, warnings
warnings.simplefilter("ignore")  # that a process with threads forks: it is what is tried here
import numpy as np
import fastmwem as fm
def values():
    made = fm.query_release(fm.prefixes(64), np.full(64, 50), epsilon=1, delta=1e-6, method="mwem", rounds=50)
    assert made.report.private
    return made.values
if WARM:
    values()
read, write = os.pipe()
children = []
for _ in range(2):
    child = os.fork()
    if child == 0:
        os.write(write, values().tobytes())
        os._exit(0)
    children.append(child)
for child in children:
    assert os.waitpid(child, 0)[1] == 0
seen = {os.read(read, 64 * 8) for _ in children} | {values().tobytes()}
print(len(seen))
"""


@pytest.mark.parametrize("warm", [False, True], ids=["after import", "after a run"])
def test_forked_processes_draw_noise_of_their_own(folder, warm):
    out = subprocess.run(
        [sys.executable, "-c", FORKED.replace("WARM", str(warm))],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert (out.returncode, out.stdout.strip()) == (0, "3"), out.stderr


@pytest.mark.parametrize(
    ("highs", "workload"),
    [((19_999, 1), "ranges:a"), ((999_999, 99), "ranges:a + marginals:2")],
    ids=["queries", "cells"],
)
def test_what_does_not_fit_in_four_gigabytes_is_refused_in_one_sentence(folder, highs, workload):
    (folder / "domain.toml").write_text(DOMAIN % highs)
    options = ("--domain", "domain.toml", "--workload", workload, *BUDGET, "--out", "out", "-q")
    code, out, err = ended(start(folder, "release", "people.csv", *options, limit=LIMIT))
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert "GB" in err
    assert not (folder / "out").exists()


def test_a_release_of_ordinary_size_fits_in_four_gigabytes(folder):
    code, _, err = ended(start(folder, *RELEASE, "--out", "out", "-q", limit=LIMIT))
    assert (code, err) == (0, "")
    assert (folder / "out" / "report.html").exists()


@pytest.mark.parametrize(
    ("file", "content", "arguments"),
    [
        ("domain.toml", b"\xff\xfe[a", ("domain", "check", "domain.toml")),
        ("people.csv", b'a,b\n"', (*RELEASE, "-q", "--out", "out", "--method", "nonsense")),
        (
            "model.mps",
            b"ROWS\n Z",
            ("lp", "model.mps", "--private", "rhs", "--sensitivity", "1", *BUDGET, "--plan"),
        ),
        ("account.jsonl", b"{}\n", ("ledger", "account.jsonl")),
    ],
    ids=["domain", "table", "model", "account"],
)
def test_no_traceback_from_the_installed_command(folder, file, content, arguments):
    (folder / file).write_bytes(content)
    code, out, err = ended(start(folder, *arguments))
    assert code in (1, 2, 3)
    assert out == ""
    assert err.startswith("fastmwem: ")
    assert err.count("\n") == 1
