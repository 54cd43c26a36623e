"""fastmwem: private answers to millions of linear queries, and private linear programs."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# Public name -> module that holds it; loaded on first use, so that `import fastmwem` stays cheap.
_PUBLIC = {
    "Budget": "privacy.budget",
    "Neighbours": "privacy.budget",
    "Unit": "privacy.budget",
    "Randomness": "privacy.randomness",
    "Domain": "data.domain",
    "Column": "data.domain",
    "Release": "results.release",
    "Workload": "queries.base",
    "linear": "queries.linear",
    "marginals": "queries.marginals",
    "plan": "problems.query_release",
    "predicates": "queries.predicates",
    "prefixes": "queries.ranges",
    "query_release": "problems.query_release",
    "release": "problems.table_release",
    "Account": "privacy.account_file",
    "Table": "data.table",
    "ranges": "queries.ranges",
    "Marginals": "queries.marginals",
    "Hnsw": "index.hnsw",
    "Ivf": "index.ivf",
    "Lsh": "index.lsh",
    "Assumed": "index.tail",
    "PerfectExcept": "index.tail",
    "check_index": "index.base",
    "LinearProgram": "lp.program",
    "violations": "lp.violations",
    "solve_scalar_private": "problems.scalar_lp",
    "plan_scalar": "problems.scalar_lp",
    "solve_constraint_private": "problems.constraint_lp",
    "plan_constraint": "problems.constraint_lp",
    "estimate_opt": "problems.opt_search",
}

__all__ = ["__version__", *_PUBLIC]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(f"{__name__}.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
