"""Zero-concentrated differential privacy: one number per mechanism, added up.

An epsilon-bounded-range mechanism is epsilon^2/8-zCDP (Cesar and Rogers 2021, lemma 3.4: its log-ratio
lies in an interval of length epsilon, so Hoeffding's lemma bounds every Renyi divergence); Gaussian
noise is 1/(2 sigma^2)-zCDP and epsilon-DP is epsilon^2/2-zCDP (Bun and Steinke 2016). zCDP adds up under
adaptive composition in any order.
"""

from __future__ import annotations

import math

from fastmwem.privacy.accounting.base import Accountant, Spend
from fastmwem.privacy.accounting.profiles import ConcentratedProfile

__all__ = ["ZCdpAccountant"]


class ZCdpAccountant(Accountant):
    """Adds rho and converts with the tight formula; simple, and somewhat loose for bounded-range rounds."""

    name = "zcdp"

    def profile(self, spend: Spend) -> ConcentratedProfile:
        return ConcentratedProfile(spend.rho * (1 + 2.0**-48) if math.isfinite(spend.rho) else math.inf)
