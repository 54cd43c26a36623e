"""k-MIPS indices by name. A new one is one file, and one line in the table below."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from fastmwem.errors import check_choice
from fastmwem.index.base import Found, Index, Spec, check_index
from fastmwem.index.flat import Flat, FlatIndex
from fastmwem.index.points import SpecIndex
from fastmwem.index.tail import Assumed, Certified, Exact, PerfectExcept, Tail, parse_tail
from fastmwem.queries.base import Candidates

__all__ = [
    "INDICES",
    "Assumed",
    "Certified",
    "Exact",
    "Flat",
    "Found",
    "Index",
    "PerfectExcept",
    "Spec",
    "Tail",
    "build_index",
    "check_index",
    "index_spec",
    "parse_tail",
]

# Name -> "module:class" of its spec; loaded on first use.
INDICES = {
    "flat": "flat:Flat",
    "faiss-flat": "flat:FaissFlat",
    "ivf": "ivf:Ivf",
    "hnsw": "hnsw:Hnsw",
    "lsh": "lsh:Lsh",
}


def index_spec(index: Flat | Spec | str) -> Flat | Spec:
    """The spec that `index` names, with the paper's settings; a spec is returned as it is.

    >>> index_spec("hnsw").ef_search
    64
    """
    if not isinstance(index, str):
        return index
    module, name = INDICES[check_choice("index", index, tuple(INDICES))].split(":")
    return getattr(import_module(f"{__name__}.{module}"), name)()


def build_index(candidates: Candidates, index: Flat | Spec | str = "flat", mass: float = 1.0) -> Index:
    """Build `index` (a name or a spec) over `candidates`, for probes that sum to `mass`.

    `mass` is 1 for a probability vector and 0 for the difference of two; `flat` takes any probe. A spec
    that is not one of ours is tried out first (`check_index`). Only `flat` ever vouches `Exact`.

    >>> import numpy as np
    >>> from fastmwem.queries.dense import Dense
    >>> candidates = Candidates(Dense(np.eye(4)), np.zeros(4), signed=False)
    >>> build_index(candidates).search(np.array([0.1, 0.4, 0.3, 0.2]), 2).ids.tolist()
    [1, 2]
    """
    spec: Any = index_spec(index)
    if type(spec) is Flat:
        return FlatIndex(candidates)
    if not type(spec).__module__.startswith(f"{__name__}."):
        check_index(spec)
    return SpecIndex(candidates, spec, mass)
