"""What a private linear program gives back: shaped like SciPy's `OptimizeResult`, and all of it public."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from fastmwem.mw.loop import Picks
from fastmwem.privacy.events import DpEvent
from fastmwem.queries.base import FloatArray
from fastmwem.results.guarantee import PrivacyReport

__all__ = ["Certificate", "LPResult", "Probe"]


@dataclass(frozen=True)
class Certificate:
    """A bought look at the private rows: `value` is noisy, `low` to `high` holds the truth at 95 %."""

    kind: str
    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.kind}: about {self.value:.4g} ({self.low:.4g} to {self.high:.4g} at 95 %)"

    @classmethod
    def around(cls, kind: str, value: float, reach: float) -> Certificate:
        """`value` and what lies within `reach` of it."""
        return cls(kind, value, value - reach, value + reach)


@dataclass(frozen=True)
class Probe:
    """One step of a search for OPT: the value tried, what the bought certificate said, and the verdict."""

    opt: float
    certificate: Certificate
    accepted: bool


@dataclass(frozen=True, eq=False)
class LPResult:
    """x and what may be said of it. Attributes as in SciPy: x, fun, nit, status, message, success.

    `success` says that the run ended, not that the program is feasible: whether it is depends on private
    rows. For the same reason there are no slacks and no duals. `alpha` is the guarantee that `message`
    spells out, with probability 1 - `beta`; `selection_error` is what the exponential mechanism may cost
    of it, and `regret` the rest, exactly (None where it depends on private rows). `event` is what an
    `Account` is charged.
    """

    x: FloatArray
    fun: float
    nit: int
    message: str
    alpha: float
    beta: float
    regret: float | None
    selection_error: float
    plan: Any
    picks: Picks | None
    report: PrivacyReport
    event: DpEvent | None
    opt: float | None = None
    certificate: Certificate | None = None
    probes: tuple[Probe, ...] = field(default=())
    status: int = 0
    success: bool = True

    def __getitem__(self, name: str) -> Any:
        if name not in self.keys():
            raise KeyError(name)
        return getattr(self, name)

    def keys(self) -> list[str]:
        """The names of the fields, as `OptimizeResult` has them."""
        return [f.name for f in fields(self)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __repr__(self) -> str:
        lines = {name: self[name] for name in ("message", "success", "status", "fun", "x", "nit")}
        lines |= {
            name: self[name] for name in ("alpha", "beta", "opt", "certificate") if self[name] is not None
        }
        lines["privacy"] = self.report.statement
        return "\n".join(f"{name:>11}: {value}" for name, value in lines.items())

    def _repr_html_(self) -> str:
        from fastmwem.results.lp_report import lp_fragment

        return lp_fragment(self)
