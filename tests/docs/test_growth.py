"""The page on how cost grows: its table is of today's measurements, and they say what its sentences say."""

import json
from pathlib import Path

import pytest

from benchmarks.growth import LINES, exponent

MEASURED = json.loads((Path(__file__).parents[2] / "docs" / "growth.json").read_text())["lines"]


def test_every_line_is_measured_as_it_stands():
    described = [(line.name, line.varies, line.held, list(line.values)) for line in LINES]
    assert [(m["name"], m["varies"], m["held"], m["values"]) for m in MEASURED] == described


@pytest.mark.parametrize(
    ("name", "varies", "held", "least", "most"),
    [
        ("mwem, a round", "m", "n = 1,000", 0.0, 0.4),
        ("mwem, a round", "m", "n = 100,000", 0.8, 1.2),
        ("the same by a scan", "m", "", 0.8, 1.3),
        ("mwem, a release", "T", "", 0.0, 0.7),
        ("constraint-private program", "m", "", 0.8, 1.3),
    ],
)
def test_exponents_are_as_the_page_has_them(name, varies, held, least, most):
    (line,) = (m for m in MEASURED if (m["name"], m["varies"]) == (name, varies) and held in m["held"])
    assert least <= exponent(line["values"], line["seconds"]) <= most
