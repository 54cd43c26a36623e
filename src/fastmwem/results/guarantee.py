"""The privacy report: what was spent, on what, under which assumptions."""

from __future__ import annotations

import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from dp_accounting import dp_event

from fastmwem.privacy.budget import Unit, rounded_up
from fastmwem.privacy.events import (
    AdaptiveSizesDpEvent,
    AssumedFailureDpEvent,
    BoundedRangeDpEvent,
    DpEvent,
)
from fastmwem.privacy.ledger import Ledger

__all__ = ["PrivacyReport", "describe_event"]

_PACKAGES = ("fastmwem", "numpy", "numba", "randomgen", "dp-accounting")


@dataclass(frozen=True)
class PrivacyReport:
    """The guarantee of one release. All of it is public.

    `epsilon` is what the accountant certifies for the events at `delta`; infinite for a seeded run.
    """

    mechanism: str
    epsilon: float
    delta: float
    budget_epsilon: float
    accountant: str
    neighbours: str
    rows_per_person: int
    private: bool
    events: tuple[tuple[str, int], ...]
    public_inputs: dict[str, Any] = field(default_factory=dict)
    assumptions: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        ledger: Ledger,
        unit: Unit,
        mechanism: str,
        *,
        private: bool,
        public_inputs: dict[str, Any],
        assumptions: tuple[str, ...] = (),
    ) -> PrivacyReport:
        """The report of everything on `ledger`."""
        said = tuple(dict.fromkeys(a for event, _ in ledger.entries if (a := _assumption(event))))
        return cls(
            mechanism=mechanism,
            epsilon=ledger.epsilon(),
            delta=ledger.budget.delta,
            budget_epsilon=ledger.budget.epsilon,
            accountant=ledger.accountant.name,
            neighbours=str(unit.neighbours),
            rows_per_person=unit.rows_per_person,
            private=private,
            events=tuple((describe_event(event), count) for event, count in ledger.entries),
            public_inputs=public_inputs,
            assumptions=tuple(assumptions) + said,
            versions=_versions(),
        )

    @property
    def statement(self) -> str:
        """The guarantee in one sentence."""
        if not self.private:
            return "This release is NOT private: seeded (its randomness can be repeated by anyone)."
        who = (
            "one row" if self.rows_per_person == 1 else f"one person with at most {self.rows_per_person} rows"
        )
        change = "changed" if self.neighbours == "replace-one" else "added or removed"
        spent = f"({rounded_up(self.epsilon):g}, {rounded_up(self.delta):g})"
        return (
            f"{spent}-differentially private when the data of {who} are {change}, "
            f"by the {self.accountant} accountant."
        )

    def to_dict(self) -> dict[str, Any]:
        """For `privacy.json`; an infinite epsilon becomes None."""
        out = asdict(self) | {"statement": self.statement}
        out["events"] = [{"event": event, "count": count} for event, count in self.events]
        out["epsilon"] = None if self.epsilon == float("inf") else self.epsilon
        out["assumptions"] = list(self.assumptions)
        return out

    @classmethod
    def from_dict(cls, said: dict[str, Any]) -> PrivacyReport:
        """The inverse of `to_dict`."""
        fields = {name: value for name, value in said.items() if name in cls.__dataclass_fields__}
        fields["events"] = tuple((e["event"], int(e["count"])) for e in said["events"])
        fields["assumptions"] = tuple(said["assumptions"])
        fields["epsilon"] = float("inf") if said["epsilon"] is None else said["epsilon"]
        return cls(**fields)

    def __str__(self) -> str:
        lines = [self.statement, f"mechanism: {self.mechanism}"]
        lines += [f"  {count:,} x {event}" for event, count in self.events]
        lines += [f"public: {name} = {value}" for name, value in self.public_inputs.items()]
        lines += [f"assumes: {assumption}" for assumption in self.assumptions]
        return "\n".join(lines)


def describe_event(event: DpEvent) -> str:
    """One event in words."""
    match event:
        case BoundedRangeDpEvent():
            return f"exponential mechanism, eps0 = {event.epsilon:.6g}"
        case dp_event.GaussianDpEvent():
            return f"Gaussian noise, {event.noise_multiplier:.6g} times the L2 sensitivity"
        case dp_event.LaplaceDpEvent():
            return f"Laplace noise, {event.noise_multiplier:.6g} times the L1 sensitivity"
        case AssumedFailureDpEvent():
            return f"failure probability {event.delta:.6g}"
        case AdaptiveSizesDpEvent():
            return "sizes chosen as the run went, within a total fixed in advance: counted in zCDP"
        case dp_event.NonPrivateDpEvent():
            return "no privacy (seeded randomness)"
    return str(event)


def _assumption(event: DpEvent) -> str:
    return getattr(event, "assumption", "")


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:  # run from a source tree
            continue
    return found
