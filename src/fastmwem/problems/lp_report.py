"""The privacy statement of a linear-program run, as plain data for `privacy.json` and the report."""

from __future__ import annotations

import platform
from typing import Any

from fastmwem.privacy.ledger import Ledger
from fastmwem.privacy.randomness import Randomness

__all__ = ["privacy_statement"]


def privacy_statement(
    ledger: Ledger,
    randomness: Randomness,
    *,
    mechanism: str,
    neighbours: str,
    public: dict[str, Any],
    assumptions: tuple[str, ...] = (),
) -> dict[str, Any]:
    """Mechanism, events, epsilon and delta, who is protected, and what had to be public."""
    import numpy
    import scipy

    import fastmwem

    return {
        "private": randomness.is_private,
        "epsilon": ledger.epsilon(),
        "delta": ledger.budget.delta,
        "accountant": ledger.accountant.name,
        "mechanism": mechanism,
        "neighbours": neighbours,
        "events": [{"event": repr(event), "count": count} for event, count in ledger.entries],
        "public": public,
        "assumptions": list(assumptions),
        "never_released": "weights, slacks, losses, duals, the number of private rows, running diagnostics",
        "versions": {
            "fastmwem": fastmwem.__version__,
            "numpy": numpy.__version__,
            "scipy": scipy.__version__,
            "python": platform.python_version(),
        },
    }
