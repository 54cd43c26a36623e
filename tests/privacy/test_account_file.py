"""The budget account on disk: exact, shared, and never behind what was released."""

import fcntl
import json
import multiprocessing
import subprocess
import sys
import textwrap

import pytest
from dp_accounting import dp_event
from hypothesis import given
from hypothesis import strategies as st

from fastmwem.errors import BudgetExceeded, InvalidArgument, LedgerError
from fastmwem.privacy import account_file
from fastmwem.privacy.account_file import Account
from fastmwem.privacy.accounting import accountant
from fastmwem.privacy.budget import Budget
from fastmwem.privacy.event_record import event_from_record, event_to_record
from fastmwem.privacy.events import (
    AssumedFailureDpEvent,
    adaptive_sizes,
    composed,
    exponential_mechanism,
    gaussian,
    laplace,
    non_private,
    repeated,
)

TOTAL = Budget(1, 1e-6)
EVENT = repeated(exponential_mechanism(0.005), 1000)


@pytest.fixture
def account(tmp_path):
    return Account.create(tmp_path / "budget.jsonl", TOTAL, "zcdp")


def charge(account, event=EVENT):
    with account.charge(event, "a run") as run:
        return run


_positive = st.floats(1e-300, 1e300)
_simple = st.one_of(
    st.builds(exponential_mechanism, _positive, st.text(st.characters(exclude_categories=["Cs"]))),
    st.builds(gaussian, _positive),
    st.builds(laplace, _positive),
    st.builds(AssumedFailureDpEvent, st.floats(0, 1), st.just("the index is right")),
    st.builds(non_private),
    st.builds(adaptive_sizes),
)
_events = st.recursive(
    _simple,
    lambda inner: st.one_of(
        st.builds(repeated, inner, st.integers(1, 10**6)),
        st.lists(inner, min_size=1, max_size=3).map(composed),
    ),
    max_leaves=6,
)


@given(_events)
def test_events_survive_the_file_exactly(event):
    assert event_from_record(json.loads(json.dumps(event_to_record(event)))) == event


def test_unknown_events_are_refused(account):
    with pytest.raises(LedgerError, match="no form on disk"):
        charge(account, dp_event.PoissonSampledDpEvent(0.1, gaussian(1)))
    for record in (
        {"event": "nope"},
        {"event": "gaussian"},
        {"event": "gaussian", "noise_multiplier": "3"},
        {"event": "gaussian", "noise_multiplier": -1},
        {"event": "gaussian", "noise_multiplier": 1, "more": 1},
        {"event": "repeated", "count": 0, "of_event": {"event": "gaussian", "noise_multiplier": 1}},
    ):
        with pytest.raises(ValueError, match=r"event|range"):
            event_from_record(record)


def test_runs_compose_with_the_accountant(account):
    assert account.spent() == 0
    charge(account)
    charge(account, gaussian(20))
    assert account.spent() == accountant("zcdp").epsilon(composed([EVENT, gaussian(20)]), TOTAL.delta)
    assert [run.event for run in Account(account.path).runs()] == [EVENT, gaussian(20)]


def test_overspending_is_refused_and_not_recorded(account):
    charge(account)
    before = account.path.read_bytes()
    with pytest.raises(BudgetExceeded, match=r"of which 0\.\d+ is spent") as caught:
        charge(account, repeated(EVENT, 9))
    assert caught.value.exit_code == 3
    with pytest.raises(BudgetExceeded):
        account.check(repeated(EVENT, 9))
    with pytest.raises(BudgetExceeded, match="would be inf"):
        charge(account, non_private())
    assert account.path.read_bytes() == before


def test_a_run_that_fails_before_its_release_is_voided(account):
    charge(account)
    spent = account.spent()
    for stop in (KeyboardInterrupt, OSError):
        with pytest.raises(stop):  # noqa: PT012, SIM117
            with account.charge(EVENT, "fails"):
                assert account.spent() > spent
                raise stop
    assert account.spent() == spent
    assert len(account.path.read_text().splitlines()) == 6  # append-only: charges and voids are all there


def test_an_account_is_never_replaced(account, tmp_path):
    with pytest.raises(LedgerError, match="never replaced"):
        Account.create(account.path, TOTAL)
    with pytest.raises(LedgerError, match="cannot be created"):
        Account.create(tmp_path / "no" / "such" / "place", TOTAL)
    with pytest.raises(LedgerError, match="--create"):
        Account(tmp_path / "none.jsonl")
    with pytest.raises(LedgerError, match="cannot be opened"):
        Account(tmp_path)
    with pytest.raises(InvalidArgument, match="accountant"):
        Account.create(tmp_path / "b.jsonl", TOTAL, "magic")
    with pytest.raises(InvalidArgument, match="proven"):
        Account.create(tmp_path / "b.jsonl", TOTAL, "paper")
    assert [p.name for p in tmp_path.iterdir()] == ["budget.jsonl"]


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda lines: [b"", *lines], 1),
        (lambda lines: [b"{}", *lines[1:]], 1),
        (lambda lines: [lines[0].replace(b'"epsilon": 1.0', b'"epsilon": -1'), *lines[1:]], 1),
        (lambda lines: [lines[0].replace(b'"zcdp"', b'"paper"'), *lines[1:]], 1),
        (lambda lines: [lines[0], b"\x00\xff", lines[2]], 2),
        (lambda lines: [lines[0], lines[1], lines[1]], 3),
        (lambda lines: [lines[0], lines[1].replace(b"0.005", b"-0.005"), lines[2]], 2),
        (lambda lines: [*lines, b'{"void": "unknown", "time": ""}'], 4),
        (lambda lines: [*lines, b'{"run": "torn", '], 4),
        (lambda lines: [*lines, b"[]"], 4),
        (lambda lines: [lines[0], lines[1].replace(b"0.005", b"1" + b"0" * 400), lines[2]], 2),
        (lambda lines: [lines[0], b"[" * 100_000, lines[2]], 2),
    ],
)
def test_a_corrupt_line_is_named(account, damage, line):
    charge(account)
    charge(account)
    account.path.write_bytes(b"\n".join(damage(account.path.read_bytes().splitlines())) + b"\n")
    with pytest.raises(LedgerError, match=f"corrupt at line {line}:"):
        account.spent()


def test_a_torn_last_line_is_corrupt(account):
    charge(account)
    account.path.write_bytes(account.path.read_bytes()[:-1])
    with pytest.raises(LedgerError, match="corrupt at line 2"):
        charge(account)


def test_a_full_disk_leaves_the_account_as_it_was(account, monkeypatch):
    charge(account)
    before = account.path.read_bytes()
    import os

    real = os.write

    def half(descriptor, data):
        if len(data) > 40:
            return real(descriptor, data[:40])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(LedgerError, match="No space left"):
        charge(account)
    assert account.path.read_bytes() == before


def test_a_charge_holds_the_lock_from_its_reading_to_its_writing(account, monkeypatch):
    """Else two processes could both find room for one more run."""
    seen = []

    def guarded(name):
        real = getattr(account_file, name)

        def call(*arguments):
            with open(account.path) as other, pytest.raises(BlockingIOError):
                fcntl.flock(other, fcntl.LOCK_SH | fcntl.LOCK_NB)
            seen.append(name)
            return real(*arguments)

        monkeypatch.setattr(account_file, name, call)

    for name in ("_read_all", "_check", "_write_line"):
        guarded(name)
    charge(account)
    assert seen == ["_read_all", "_check", "_write_line"]


def test_a_charge_is_on_the_disk_before_the_run_goes_on(account, monkeypatch):
    import os

    done, write, sync = [], os.write, os.fsync
    monkeypatch.setattr(os, "write", lambda *arguments: done.append("write") or write(*arguments))
    monkeypatch.setattr(os, "fsync", lambda *arguments: done.append("sync") or sync(*arguments))
    with account.charge(EVENT, "a run"):
        assert done == ["write", "sync"]


def _spend(path, event):
    account = Account(path)
    for _ in range(40):
        try:
            charge(account, event)
        except BudgetExceeded:
            return


def test_processes_cannot_overspend_together(account):
    """Four processes spend as fast as they can: in the end the total holds, and not one more charge fits."""
    event = repeated(exponential_mechanism(0.01), 100)
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_spend, args=(account.path, event)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
        assert worker.exitcode == 0
    assert 0 < account.spent() <= TOTAL.epsilon
    with pytest.raises(BudgetExceeded):
        account.check(event)
    assert len({run.id for run in account.runs()}) == len(account.runs())


# The child counts the calls that change the disk, and kills itself before or after the one it is told.
_CHILD = textwrap.dedent(
    """
    import os, signal, sys
    from fastmwem.privacy.account_file import Account
    from fastmwem.privacy.events import exponential_mechanism
    from fastmwem.results.files import output_directory, settle

    point, calls = float(sys.argv[3]), 0

    def dying(real):
        def call(*args, **kwargs):
            global calls
            calls += 1
            if calls == point:
                os.kill(os.getpid(), signal.SIGKILL)
            this = calls
            try:
                return real(*args, **kwargs)
            finally:
                if this + 0.5 == point:
                    os.kill(os.getpid(), signal.SIGKILL)
        return call

    account = Account(sys.argv[1])
    for name in ("write", "fsync", "rename", "mkdir"):
        setattr(os, name, dying(getattr(os, name)))
    with output_directory(sys.argv[2]) as draft:
        with account.charge(exponential_mechanism(0.1), "a run"):
            (draft / "answers").write_text("released")
            (draft / "privacy.json").write_text("{}")
            settle(draft)
    """
)


def test_killed_at_any_moment_there_is_no_release_or_a_recorded_one(tmp_path):
    died = finished = 0
    for step in range(2, 40):
        point = step / 2
        home = tmp_path / str(step)
        home.mkdir()
        account = Account.create(home / "budget.jsonl", TOTAL, "zcdp")
        command = [sys.executable, "-c", _CHILD, str(account.path), str(home / "out"), str(point)]
        code = subprocess.run(command, capture_output=True, timeout=60).returncode
        released = (home / "out").exists()
        if released:
            assert sorted(p.name for p in (home / "out").iterdir()) == ["answers", "privacy.json"]
            assert len(account.runs()) == 1
        assert len(account.runs()) in (0, 1)
        died += code == -9
        finished += code == 0
        if code == 0:
            assert released
            break
        assert code == -9
    assert finished == 1
    assert died >= 12
