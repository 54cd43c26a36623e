"""The exponential mechanism, sampled exactly: exhaustive, lazy, certified, or whichever costs least."""

from fastmwem.select.base import ExponentialMechanism, Pick, Selector
from fastmwem.select.make import SELECTORS, make_selector

__all__ = ["SELECTORS", "ExponentialMechanism", "Pick", "Selector", "make_selector"]
