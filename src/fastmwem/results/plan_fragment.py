"""A plan as a notebook shows it: each method's predicted error as a bar, with its rounds, time and memory."""

from __future__ import annotations

from typing import Any

from fastmwem.results import charts
from fastmwem.results.html import Drawing, fragment, number, paragraph, power, small_bytes, table

__all__ = ["plan_fragment"]


def plan_fragment(plan: dict[str, Any]) -> str:
    """`plan` is what `Plan.to_dict` says; all of it is public."""
    methods = plan["methods"]
    reach = max(m["max_error"] for m in methods)
    rows = [
        (
            f"{m['method']} (auto)" if m["method"] == plan["chosen"] else m["method"],
            Drawing(charts.inline(m["max_error"], 0.0, reach)),
            f"{number(100 * m['max_error'])}%",
            f"{number(100 * m['mean_error'])}%",
            f"{m['rounds']:,}",
            f"{max(1, round(m['seconds'])):,} s",
            small_bytes(m["bytes"]),
        )
        for m in methods
    ]
    n = "private" if plan["n"] is None else f"{plan['n']:,}"
    return fragment(
        "What each method is expected to do",
        paragraph(
            f"{plan['queries']:,} queries on {plan['cells']:,} cells, n = {n}, ε = {plan['epsilon']:g}, "
            f"δ = {power(plan['delta'])}, {plan['neighbours']}. Nothing is spent by planning."
        ),
        table(("method", "", "max error", "mean error", "rounds", "time", "memory"), rows, [2, 3, 4, 5, 6]),
    )
