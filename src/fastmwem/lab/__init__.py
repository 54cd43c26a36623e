"""The paper's experiments, and what it does not show: frozen configurations, Parquet, figures and a page.

Only the command `fastmwem reproduce` imports this package. A new experiment is one file that holds an
`EXPERIMENT`, and one line below.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastmwem.lab.experiment import Experiment

__all__ = ["EXPERIMENTS", "find"]

# Name -> module, in the order of the page.
EXPERIMENTS = {
    "speed-up": "speed_up",
    "error-diff": "error_diff",
    "error-indices": "error_indices",
    "index-perf": "index_perf",
    "lp-error": "lp_error",
    "lp-runtime": "lp_runtime",
    "lp-index-comparison": "lp_index_comparison",
    "lp-max-violation": "lp_max_violation",
    "margin-B": "margin_b",
    "n-ablation": "n_ablation",
    "recall": "recall",
    "useful-regime": "useful_regime",
    "composition": "composition",
    "constraint-private": "constraint_private",
    "crossover": "crossover",
}


def find(name: str) -> Experiment:
    """The experiment called `name`."""
    return import_module(f"{__name__}.{EXPERIMENTS[name]}").EXPERIMENT
