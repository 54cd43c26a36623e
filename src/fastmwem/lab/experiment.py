"""An experiment: frozen configurations, cases to measure, a figure, and one sentence that the data bear out.

Measuring and showing are apart: `measure` makes rows for the store; `draw` and `finding` see nothing but
rows that were read back from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastmwem.lab.store import Case, Row, Rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Experiment"]


@dataclass(frozen=True)
class Experiment:
    """One figure of the page and what is behind it.

    `configs` maps a size ("tiny", "paper") to a frozen dataclass. `paper` is what the paper says, empty where
    it is silent, and `why` the reason for a difference. `measured_as` names the experiment whose
    stored measurements it shares: same configurations, same cases.
    """

    name: str
    title: str
    paper: str
    why: str
    configs: Mapping[str, Any]
    cases: Callable[[Any], list[Case]]
    measure: Callable[[Any, Case], list[Row]]
    draw: Callable[[Any, Rows], Figure]
    finding: Callable[[Any, Rows], str]
    caption: Callable[[Any], str]
    measured_as: str = ""

    @property
    def key(self) -> str:
        """The name that its measurements are stored under."""
        return self.measured_as or self.name
