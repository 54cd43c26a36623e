"""Runs of other software: what is handed over and back, what is cut off, what is not measured twice."""

import sys
from functools import partial

import numpy as np
import pytest

from benchmarks.peers import run, venvs
from benchmarks.peers.adapters.ours import workload
from benchmarks.peers.adapters.plain import Scan
from benchmarks.peers.peers import METHODS, PEERS, Method, Peer
from benchmarks.peers.protocol import Asked, Program, Task
from benchmarks.peers.workloads import Workload, all_marginals

FAKE = """
from pathlib import Path
from benchmarks.peers.protocol import Made, serve, task_data

def off_by_a_tenth(task):
    with Path(task.options["log"]).open("a") as log:
        log.write("x")
    asked = task_data(task)
    return Made(asked.answers(asked.histogram()) / len(asked.rows) + 0.1, lambda: asked.rows, note="chose")

def endless(task):
    while True:
        pass

def endless_rows(task):
    return Made(off_by_a_tenth(task).answers, lambda: endless(task))

def broken(task):
    raise ValueError("no such column in /home/someone/table.csv")

def solve(task):
    return Made(x=[0.0, 1.0])

serve({f.__name__: f for f in (off_by_a_tenth, endless, endless_rows, broken, solve)}, ["numpy"])
"""


def asked(kind):
    rng = np.random.default_rng(0)
    if kind == "marginals":
        return all_marginals((3, 2, 4), rng.integers(0, 2, (50, 3), dtype=np.int32), 2)
    rows = rng.integers(0, 6, (50, 1), dtype=np.int32)
    return Asked((6,), rows, "ranges" if kind == "ranges" else rng.integers(0, 2, (9, 6), dtype=np.uint8))


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """case(function): a case of a peer that is one small file."""
    (tmp_path / "fake_peer.py").write_text(FAKE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))

    def case(function, made=asked, kind="marginals", seed=0):
        peer = Peer("numpy")
        options = {"log": str(tmp_path / "log")}
        method = Method(f"fake {function}", peer, "fake_peer", function, "peer", (kind,), options)
        named = Workload("tiny", kind, "a tiny one", 1, 1e-6, "add-remove", partial(_made, made, kind))
        return run.Case(named, method, seed)

    return case


def _made(made, kind, folder):
    return made(kind)


@pytest.fixture
def data(tmp_path):
    return run.Data(None, tmp_path)


def test_a_run_comes_back_with_its_errors_and_costs(fake, data):
    row = run.measure(fake("off_by_a_tenth"), data, 60)
    assert row["status"] == "ok"
    assert row["max_error"] == pytest.approx(0.1)
    assert row["mean_error"] == pytest.approx(0.1)
    assert row["rows_max_error"] == pytest.approx(0)
    assert 0 <= row["cpu"] < 5
    assert 1 < row["peak"] < 10_000
    assert row["import"] > 0
    assert (row["queries"], row["cells"], row["people"]) == (6 + 12 + 8, 24, 50)
    assert row["version"] == np.__version__
    assert row["note"] == "chose"
    assert set(row) == set(run.COLUMNS)


def test_a_program_is_judged_by_how_far_its_rows_are_violated(fake, data):
    program = Program(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.5, 0.25]), 1e-3)
    row = run.measure(fake("solve", lambda kind: program, "program"), data, 60)
    assert (row["max_error"], row["mean_error"]) == (0.75, 0.375)


def test_what_takes_too_long_is_cut_off(fake, data):
    row = run.measure(fake("endless"), data, 1)
    assert (row["status"], row["cpu"], row["limit"]) == ("cut off", None, 1)


def test_answers_count_although_rows_are_cut_off(fake, data):
    row = run.measure(fake("endless_rows"), data, 1)
    assert row["status"] == "ok"
    assert row["max_error"] == pytest.approx(0.1)
    assert row["rows_max_error"] is None
    assert "no rows" in row["note"]


def test_a_failure_is_told_without_places(fake, data):
    row = run.measure(fake("broken"), data, 60)
    assert row["status"] == "failed"
    assert row["note"] == "ValueError: no such column in ..."


def test_a_peer_that_is_not_installed_is_said_to_be_so(data, monkeypatch, tmp_path):
    monkeypatch.setattr("benchmarks.peers.peers.VENVS", tmp_path)
    method = next(m for m in METHODS if m.peer is PEERS["dpmm"])
    named = Workload(
        "tiny", "marginals", "a tiny one", 1, 1e-6, "add-remove", partial(_made, asked, "marginals")
    )
    row = run.measure(run.Case(named, method, 0), data, 60)
    assert row["status"] == "not installed"
    assert row["note"]


def test_a_stopped_campaign_goes_on_where_it_was(fake, data, tmp_path):
    out, log = tmp_path / "results.parquet", tmp_path / "log"
    cases = [fake("off_by_a_tenth", seed=seed) for seed in range(3)]
    run.campaign(cases[:2], [], data, 60, out)
    before = run.read(out)
    run.campaign(cases, run.read(out), data, 60, out)
    assert len(log.read_text()) == 3
    assert run.read(out)[:2] == before
    assert [row["seed"] for row in run.read(out)] == [0, 1, 2]


def test_what_took_long_or_failed_is_run_once(fake, data, tmp_path):
    out = tmp_path / "results.parquet"
    cases = [fake(name, seed=seed) for name in ("off_by_a_tenth", "broken") for seed in range(2)]
    run.campaign(cases, [], data, 60, out, long=0.0)
    assert [(row["method"], row["seed"]) for row in run.read(out)] == [
        ("fake off_by_a_tenth", 0),
        ("fake broken", 0),
    ]


@pytest.mark.parametrize("kind", ["marginals", "ranges", "matrix"])
def test_all_answer_the_same_queries_in_the_same_order(kind, tmp_path):
    made = asked(kind)
    made.write(tmp_path / "data.npz")
    read = Asked.read(tmp_path / "data.npz")
    counts = read.histogram()
    truth = made.answers(counts)
    assert len(truth) == read.m
    assert np.allclose(workload(read).answers(counts), truth)
    scan = Scan(read)
    assert np.allclose([counts[scan.cells(i)].sum() for i in range(read.m)], truth)


def test_a_task_is_read_as_it_was_written(tmp_path):
    task = Task("w", "m", 1, 1e-6, "add-remove", 3, 50, "data.npz", {"rounds": 4})
    task.write(tmp_path)
    assert Task.read(tmp_path) == task


def test_every_case_is_told_apart_and_runs_where_it_can():
    cases = list(run.cases())
    keys = [tuple(case.key.values()) for case in cases]
    assert len(set(keys)) == len(keys)
    assert all(case.workload.kind in case.method.applies for case in cases)
    assert all(case.workload.neighbours == "add-remove" for case in cases if case.method.kind == "peer")


def test_unknown_words_are_told(capsys):
    assert run.main(["no such"]) == 2
    assert venvs.main(["no such"]) == 2
    assert "no such" in capsys.readouterr().err


def test_an_installation_that_fails_is_recorded_and_no_failure(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr("benchmarks.peers.peers.VENVS", tmp_path)
    peer = Peer("nobody", (("--no-index", "nobody-makes-this"),))
    monkeypatch.setitem(venvs.PEERS, "nobody", peer)
    monkeypatch.setattr(venvs, "ROOT", tmp_path)
    monkeypatch.setattr(venvs.venv, "create", lambda folder, **_: _interpreter(folder))
    assert venvs.main(["nobody"]) == 0
    assert "No matching distribution" in venvs.failure(peer)
    assert not venvs.current(peer)


def _interpreter(folder):
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
