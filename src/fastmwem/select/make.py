"""The table of selectors."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fastmwem.errors import InvalidArgument, check_choice
from fastmwem.privacy.randomness import Randomness
from fastmwem.queries.base import Candidates
from fastmwem.select.base import ExponentialMechanism, Selector
from fastmwem.select.structured import Structured

__all__ = ["SELECTORS", "make_selector"]

# name -> (module, class); loaded when asked for, so that numba and FAISS load only where they are needed
SELECTORS = {
    "auto": ("auto", "Auto"),
    "certified": ("certified", "Certified"),
    "exhaustive": ("exhaustive", "Exhaustive"),
    "lazy": ("lazy", "Lazy"),
}


def make_selector(
    name: str,
    candidates: Candidates,
    mechanism: ExponentialMechanism,
    randomness: Randomness | None = None,
    *,
    index: Any = None,
    tail: Any = None,
) -> Selector:
    """The selector called `name` over `candidates`; without `randomness`, a private one.

    All names draw from the same law, softmax(scale * score), and cost the same privacy; they differ in
    time and memory. `index` and `tail` are for "lazy" alone, which charges for a tail that is only assumed.

    >>> import numpy as np
    >>> from fastmwem.queries.dense import Dense
    >>> candidates = Candidates(Dense(np.eye(3)), np.zeros(3), signed=True)
    >>> selector = make_selector("exhaustive", candidates, ExponentialMechanism(1.0, 1e-3))
    >>> selector.pick(np.array([1.0, 0.0, 0.0]))
    Pick(candidate=0, sign=1)
    """
    module, kind = SELECTORS[check_choice("selector", name, tuple(SELECTORS))]
    randomness = Randomness.private() if randomness is None else randomness
    if name == "auto" and index is None and tail is None:
        draw = candidates.queries.structured_draw(candidates.offsets)
        if draw is not None:
            return Structured(candidates, mechanism, randomness, draw)
    made = getattr(import_module(f"fastmwem.select.{module}"), kind)
    if name == "lazy":
        return made(candidates, mechanism, randomness, index=index, tail=tail)
    if index is not None or tail is not None:
        raise InvalidArgument(f"index and tail belong to the lazy selector: {name!r} takes neither.")
    return made(candidates, mechanism, randomness)
