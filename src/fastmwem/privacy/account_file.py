"""A budget account on disk: what all releases of one data set may spend together, shared by processes.

A text file of JSON lines. The first declares the total; each further one records a run with its events, or
voids a run that ended without a release. Under a lock, a charge reads all lines, composes their
events with the new ones, refuses if the total would be passed, appends and fsyncs: all before the release is
written. A process that is killed at any moment therefore leaves no release, or a recorded one.

**Why it counts in zCDP.** Whoever asks for a run has seen the earlier releases and may choose its size by
them. A total of rho fixed in advance covers that (a privacy filter: Feldman and Zrnic 2021; Whitehouse et al.
2023); the sharper curves of `optimal` take all sizes as fixed before the first run. So `zcdp` is the
default, and `optimal` is for accounts whose runs were all planned beforehand.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fastmwem.errors import BudgetExceeded, FastmwemError, InvalidArgument, LedgerError
from fastmwem.privacy.accounting import accountant
from fastmwem.privacy.budget import Budget
from fastmwem.privacy.event_record import event_from_record, event_to_record
from fastmwem.privacy.events import DpEvent, composed

__all__ = ["Account", "Run"]

_FORMAT = 1


@dataclass(frozen=True)
class Run:
    """One recorded run: when, what it was, and the events that it spent."""

    id: str
    time: str
    what: str
    event: DpEvent


@dataclass(frozen=True)
class _State:
    budget: Budget
    accountant: str
    runs: tuple[Run, ...]


class Account:
    """The account in the file at `path`; every call reads the file afresh, under its lock.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     account = Account.create(f"{folder}/survey.jsonl", Budget(3, 1e-6))
    ...     account.spent(), len(account.runs())
    (0.0, 0)
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        state = self._read()
        self.budget, self.accountant = state.budget, state.accountant

    @classmethod
    def create(cls, path: str | os.PathLike[str], budget: Budget, accountant_name: str = "zcdp") -> Account:
        """A new account with `budget` in all. Appears whole or not at all; never replaces a file."""
        path = Path(path)
        _proven(accountant_name)
        head = {
            "account": _FORMAT,
            "epsilon": budget.epsilon,
            "delta": budget.delta,
            "accountant": accountant_name,
            "created": _now(),
        }
        draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        try:
            descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            try:
                _write_line(descriptor, head)
            finally:
                os.close(descriptor)
            os.link(draft, path)  # unlike a rename, fails if the name is taken
            _sync_directory(path.parent)
        except FileExistsError:
            raise LedgerError(
                f"{str(path)!r} exists: an account is never replaced; choose another name."
            ) from None
        except OSError as error:
            raise LedgerError(f"{str(path)!r} cannot be created: {error.strerror}.") from None
        finally:
            draft.unlink(missing_ok=True)
        return cls(path)

    def runs(self) -> tuple[Run, ...]:
        """What was charged and not voided, in order."""
        return self._read().runs

    def spent(self) -> float:
        """The epsilon of all runs together, at the account's delta."""
        return _epsilon(self._read(), None)

    def check(self, event: DpEvent) -> None:
        """Refuse unless `event`, on top of all runs so far, stays within the total."""
        _check(self._read(), event, self.path)

    @contextmanager
    def charge(self, event: DpEvent, what: str) -> Iterator[str]:
        """Charge `event` for the body, which prepares what will be released; yields the id of the run.

        If the body raises, nothing can have been released, and the run is voided. The release itself (the
        rename that publishes it) comes after the body. If the process is killed, the charge stays.
        """
        run = uuid.uuid4().hex
        line = {"run": run, "time": _now(), "what": what, "event": event_to_record(event)}
        with self._locked() as descriptor:
            _check(_parse(_read_all(descriptor), self.path), event, self.path)
            self._append(descriptor, line)
        try:
            yield run
        except BaseException:
            with self._locked() as descriptor:
                self._append(descriptor, {"void": run, "time": _now()})
            raise

    def _read(self) -> _State:
        with self._locked() as descriptor:
            return _parse(_read_all(descriptor), self.path)

    def _append(self, descriptor: int, line: dict[str, Any]) -> None:
        size = os.fstat(descriptor).st_size
        try:
            _write_line(descriptor, line)
        except OSError as error:
            os.ftruncate(descriptor, size)  # a full disk may have taken half of the line
            raise LedgerError(f"{str(self.path)!r} cannot be written: {error.strerror}.") from None

    @contextmanager
    def _locked(self) -> Iterator[int]:
        import fcntl

        try:
            descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND)
        except FileNotFoundError:
            raise LedgerError(
                f"budget account {str(self.path)!r} does not exist: create it with "
                f"`fastmwem ledger {self.path} --create --epsilon E --delta D`."
            ) from None
        except OSError as error:
            raise LedgerError(
                f"budget account {str(self.path)!r} cannot be opened: {error.strerror}."
            ) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)  # releases the lock

    def __repr__(self) -> str:
        return f"Account({str(self.path)!r}, {self.budget})"


def _proven(name: str) -> None:
    if not accountant(name).proven:
        raise InvalidArgument(
            f"accountant must be 'zcdp' or 'optimal', whose bounds are proven, not {name!r}."
        )


def _check(state: _State, event: DpEvent, path: Path) -> None:
    would_be = _epsilon(state, event)
    if would_be <= state.budget.epsilon:
        return
    spent = _epsilon(state, None)
    raise BudgetExceeded(
        f"budget account {str(path)!r} holds epsilon {state.budget.epsilon:.6g} at delta "
        f"{state.budget.delta:g}, of which {spent:.6g} is spent; with this run it would be {would_be:.6g}: "
        "lower the run's epsilon."
    )


def _epsilon(state: _State, event: DpEvent | None) -> float:
    events = [run.event for run in state.runs] + ([] if event is None else [event])
    return accountant(state.accountant).epsilon(composed(events), state.budget.delta) if events else 0.0


def _parse(content: bytes, path: Path) -> _State:
    """What the lines say; LedgerError names the first that is not what an account holds."""
    lines = content.split(b"\n")
    number = 1  # of the line that is being read, for the error
    runs: dict[str, Run] = {}
    try:
        head = json.loads(lines[0])
        if (
            set(head) != {"account", "epsilon", "delta", "accountant", "created"}
            or head["account"] != _FORMAT
        ):
            raise ValueError("not a head")
        budget = Budget(head["epsilon"], head["delta"])
        _proven(head["accountant"])
        for text in lines[1:-1]:
            number += 1
            line = json.loads(text)
            if set(line) == {"void", "time"}:
                del runs[line["void"]]
                continue
            if set(line) != {"run", "time", "what", "event"} or line["run"] in runs:
                raise ValueError("not a run")
            runs[line["run"]] = Run(line["run"], line["time"], line["what"], event_from_record(line["event"]))
        number += 1
        if lines[-1]:
            raise ValueError("the last line has no end")
    except (
        ArithmeticError,
        AttributeError,
        FastmwemError,
        LookupError,
        RecursionError,
        TypeError,
        ValueError,
    ):
        raise LedgerError(
            f"budget account {str(path)!r} is corrupt at line {number}: restore it from a copy, or have "
            "whoever keeps the account repair that line; nothing is released on it until then."
        ) from None
    return _State(budget, head["accountant"], tuple(runs.values()))


def _read_all(descriptor: int) -> bytes:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0)


def _write_line(descriptor: int, line: dict[str, Any]) -> None:
    left = json.dumps(line, allow_nan=False).encode() + b"\n"
    while left:
        left = left[os.write(descriptor, left) :]
    os.fsync(descriptor)


def _sync_directory(path: Path) -> None:
    """Make a new name in the directory survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
