"""A made-up survey of a made-up country: what `fastmwem demo` releases. Nobody in it exists.

Its people are drawn from a fixed seed by a chain of conditional distributions (age, then education, work,
income, ...), so that the columns hang together as they do in real surveys.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fastmwem.data.domain import Column, Domain
from fastmwem.privacy.randomness import Randomness

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["survey", "survey_domain"]

_REGIONS = ("North", "East", "South", "West", "Capital")
_SCHOOL = ("none", "school", "vocational", "degree")
_WORK = ("employed", "self-employed", "unemployed", "retired", "at home")
_INCOME = (0.0, 10_000.0, 20_000.0, 35_000.0, 55_000.0, 90_000.0, 250_000.0)
_HEALTH = ("very good", "good", "fair", "poor")


def survey_domain() -> Domain:
    """What the survey's columns may hold: 235,200 cells."""
    return Domain(
        (
            Column.integer("age", 15, 84, width=10),
            Column.categorical("sex", ("female", "male")),
            Column.categorical("region", _REGIONS),
            Column.categorical("education", _SCHOOL),
            Column.categorical("work", _WORK),
            Column.numeric("income", _INCOME, null=True),
            Column.integer("household", 1, 6),
            Column.categorical("health", _HEALTH),
        )
    )


def survey(people: int = 50_000, seed: int = 2024) -> pa.Table:
    """`people` rows: age, sex, region, education, work, income (with nulls), household size, health."""
    import pyarrow as pa

    draw = _Draw(Randomness.seeded(seed).generator, people)
    age = np.clip(draw.generator.gamma(5.5, 8.2, people) + 10, 15, 84).astype(np.int64)
    female = draw.chance(0.5 + 0.002 * (age - 45))
    region = draw.choice(np.tile([0.22, 0.18, 0.25, 0.2, 0.15], (people, 1)))
    capital, young = region == 4, age < 24
    school = draw.choice(
        np.stack(
            [
                0.08 + 0.003 * np.maximum(age - 50, 0) + 0.3 * (age < 18),
                0.34 + 0.3 * young - 0.06 * capital,
                0.33 - 0.1 * capital - 0.2 * young,
                0.25 + 0.2 * capital - 0.003 * np.maximum(age - 55, 0) - 0.18 * young,
            ],
            axis=1,
        )
    )
    old = np.clip((age - 60) / 6.0, 0, 1)
    work = draw.choice(
        np.stack(
            [
                (0.62 + 0.08 * (school == 3) - 0.05 * female - 0.25 * (age < 20)) * (1 - old),
                (0.09 + 0.05 * (age > 40)) * (1 - old) + 0.02,
                (0.09 - 0.05 * (school == 3) + 0.06 * young) * (1 - old),
                0.92 * old,
                0.12 + 0.06 * female + 0.25 * (age < 20),
            ],
            axis=1,
        )
    )
    earns = np.array([1.0, 0.9, 0.38, 0.55, 0.2])[work] * np.array([0.7, 0.85, 1.0, 1.5])[school]
    middle = 31_000 * earns * (1 + 0.18 * capital) * (1 - 0.12 * female) * (0.75 + 0.01 * np.minimum(age, 50))
    income = np.minimum(middle * np.exp(0.45 * draw.generator.standard_normal(people)), 250_000).round(-2)
    silent = draw.chance(0.06 + 0.04 * (work == 1))
    household = 1 + np.minimum(
        draw.generator.poisson(np.where(age > 65, 0.7, np.where(age > 28, 1.7, 2.1))), 5
    )
    frail = 0.012 * (age - 15) - 0.35 * (school == 3) + 0.3 * (work == 2) + 0.6
    health = np.minimum(draw.generator.poisson(np.maximum(frail, 0.1)), 3)
    return pa.table(
        {
            "age": pa.array(age),
            "sex": _named(("male", "female"), female.astype(np.int64)),
            "region": _named(_REGIONS, region),
            "education": _named(_SCHOOL, school),
            "work": _named(_WORK, work),
            "income": pa.array(income, mask=silent),
            "household": pa.array(household),
            "health": _named(_HEALTH, health),
        }
    )


class _Draw:
    """Draws for all people at once."""

    def __init__(self, generator: np.random.Generator, people: int) -> None:
        self.generator, self.people = generator, people

    def chance(self, probability: Any) -> np.ndarray:
        return self.generator.random(self.people) < probability

    def choice(self, weights: np.ndarray) -> np.ndarray:
        """One category each, by the rows of `weights` (not normalised)."""
        ends = np.cumsum(np.maximum(weights, 0.005), axis=1)
        return (self.generator.random(self.people)[:, None] * ends[:, -1:] > ends).sum(axis=1)


def _named(names: tuple[str, ...], codes: np.ndarray) -> Any:
    import pyarrow as pa

    return pa.array(names).take(pa.array(codes))
