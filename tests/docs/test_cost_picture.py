"""The picture of the README shows what was measured, and what its caption and the README say of it is so."""

import json
import re

from tools import figure

LINES = json.loads(figure.MEASURED.read_text())


def test_the_picture_is_drawn_from_the_measurements(tmp_path):
    figure.draw(LINES, tmp_path / "cost.svg")
    assert points(tmp_path / "cost.svg") == points(figure.PICTURE)


def test_many_queries_are_answered_better_than_by_noise_and_faster_than_by_scans():
    assert all(len(line) == len(figure.SIZES) for line in LINES.values())
    assert LINES["mwem"][-1] < min(LINES["gaussian"][-1], LINES["laplace"][-1])
    assert LINES["certified"][-1] < LINES["scan"][-1] / 100


def points(picture):
    """The curves, rounded to whole points of the page."""
    paths = re.findall(r' d="(M [^"]*)"', picture.read_text())
    return [[round(float(number)) for number in re.findall(r"-?\d+\.?\d*", path)] for path in paths]
