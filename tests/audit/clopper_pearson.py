"""What epsilon an attacker can prove: a lower bound from counting, valid with a stated confidence.

(epsilon, delta) privacy bounds every event S: P(S) <= e^epsilon Q(S) + delta. So if S is seen often under one
table and seldom under its neighbour, epsilon >= ln((P(S) - delta) / Q(S)). Exact binomial (Clopper-Pearson)
limits on both probabilities make that a bound that errs with probability at most `risk`.
"""

import math

import numpy as np
from scipy import stats

RISK = 1e-6


def limits(hits, runs, risk):
    """(low, high): the probability lies between them, but for `risk`."""
    low = stats.beta.ppf(risk / 2, hits, runs - hits + 1) if hits else 0.0
    high = stats.beta.isf(risk / 2, hits + 1, runs - hits) if hits < runs else 1.0
    return low, high


def epsilon_lower_bound(hits_p, hits_q, runs, delta, risk=RISK):
    """The epsilon that S proves: seen hits_p and hits_q times, in `runs` runs on each of two neighbours."""
    low_p, _ = limits(hits_p, runs, risk)
    _, high_q = limits(hits_q, runs, risk)
    return max(0.0, math.log((low_p - delta) / high_q)) if low_p > delta else 0.0


def attack(outcomes_p, outcomes_q, delta, risk=RISK):
    """The largest epsilon that events {outcome >= c} and {outcome <= c} prove, c chosen on half of the runs.

    The other half is fresh, so choosing c among many costs no confidence.
    """
    outcomes_p, outcomes_q = np.asarray(outcomes_p, float), np.asarray(outcomes_q, float)
    half = len(outcomes_p) // 2
    best, found = None, -math.inf
    for c in np.unique(np.quantile(outcomes_p[:half], np.linspace(0, 1, 101), method="nearest")):
        for sign in (1, -1):
            hits = [int(np.sum(sign * x[:half] >= sign * c)) for x in (outcomes_p, outcomes_q)]
            proven = epsilon_lower_bound(*hits, half, delta, risk)
            if proven > found:
                found, best = proven, (sign, c)
    sign, c = best
    hits = [int(np.sum(sign * x[half:] >= sign * c)) for x in (outcomes_p, outcomes_q)]
    return epsilon_lower_bound(*hits, len(outcomes_p) - half, delta, risk)
