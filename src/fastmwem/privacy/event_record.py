"""Events as JSON and back, exactly: what a budget account on disk is made of.

JSON writes a float64 with the digits that bring back the same float64, so composing what was read gives
the same epsilon as composing what was recorded. Unknown events are refused in both directions.
"""

from __future__ import annotations

import math
from typing import Any

from dp_accounting import dp_event

from fastmwem.errors import LedgerError
from fastmwem.privacy.events import (
    AdaptiveSizesDpEvent,
    AssumedFailureDpEvent,
    BoundedRangeDpEvent,
    DpEvent,
)

__all__ = ["event_from_record", "event_to_record"]

# Name in the file -> (class, its numbers and texts, the fields that hold events)
_KINDS: dict[str, tuple[type[DpEvent], tuple[str, ...], tuple[str, ...]]] = {
    "bounded-range": (BoundedRangeDpEvent, ("epsilon", "assumption"), ()),
    "gaussian": (dp_event.GaussianDpEvent, ("noise_multiplier",), ()),
    "laplace": (dp_event.LaplaceDpEvent, ("noise_multiplier",), ()),
    "assumed-failure": (AssumedFailureDpEvent, ("delta", "assumption"), ()),
    "adaptive-sizes": (AdaptiveSizesDpEvent, (), ()),
    "nothing": (dp_event.NoOpDpEvent, (), ()),
    "repeated": (dp_event.SelfComposedDpEvent, ("count",), ("event",)),
    "composed": (dp_event.ComposedDpEvent, (), ("events",)),
    "non-private": (dp_event.NonPrivateDpEvent, (), ()),
}
_NAMES = {cls: name for name, (cls, _, _) in _KINDS.items()}


def event_to_record(event: DpEvent) -> dict[str, Any]:
    """`event` as what JSON can hold.

    >>> from fastmwem.privacy.events import gaussian
    >>> event_to_record(gaussian(2))
    {'event': 'gaussian', 'noise_multiplier': 2.0}
    """
    name = _NAMES.get(type(event))
    if name is None:
        raise LedgerError(
            f"an event of type {type(event).__name__} has no form on disk: it cannot be charged."
        )
    _, fields, nested = _KINDS[name]
    record: dict[str, Any] = {"event": name, **{field: getattr(event, field) for field in fields}}
    for field in nested:
        inner = getattr(event, field)
        record[f"of_{field}"] = (
            [event_to_record(e) for e in inner] if isinstance(inner, list | tuple) else event_to_record(inner)
        )
    return record


def event_from_record(record: Any) -> DpEvent:
    """The event that `record` describes; ValueError if it describes none."""
    if not isinstance(record, dict) or record.get("event") not in _KINDS:
        raise ValueError("not an event")
    cls, fields, nested = _KINDS[record["event"]]
    if set(record) != {"event", *fields, *(f"of_{field}" for field in nested)}:
        raise ValueError("an event with other fields than it has")
    for field in fields:
        _check(field, record[field])
    values = {field: record[field] for field in fields}
    for field in nested:
        inner = record[f"of_{field}"]
        values[field] = (
            [event_from_record(r) for r in inner] if isinstance(inner, list) else event_from_record(inner)
        )
    return cls(**values)


def _check(field: str, value: Any) -> None:
    """A number that was tampered with must not become a smaller spend."""
    if field == "assumption":
        sound = isinstance(value, str)
    elif field == "count":
        sound = type(value) is int and value >= 1
    else:
        sound = type(value) in (int, float) and math.isfinite(value) and value >= 0
    if not sound:
        raise ValueError(f"{field} out of range")
