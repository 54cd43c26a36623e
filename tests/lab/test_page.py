"""The page and its figures: every experiment, from its record alone."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from fastmwem.lab import EXPERIMENTS, find
from fastmwem.lab import reproduce as lab
from fastmwem.lab.store import Record, Rows


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """All experiments at size tiny."""
    out = tmp_path_factory.mktemp("tiny")
    lab.reproduce("all", "tiny", out)
    return out / "tiny"


def test_all_experiments_are_drawn_and_told(tiny):
    text = (tiny / "reproduction.md").read_text()
    for name in EXPERIMENTS:
        assert f"\n## {name}\n" in text
        figure = (tiny / "reproduction" / f"{name}.svg").read_text()
        ElementTree.fromstring(figure)
        assert f"(reproduction/{name}.svg)" in text
    assert "nan" not in text
    assert lab.page(tiny / "reproduction", "tiny") == text


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_figure_has_named_axes_and_a_legend(name, tiny):
    each = find(name)
    rows = lab.recorded(each, tiny / "reproduction", "tiny")
    figure = each.draw(each.configs["tiny"], rows)
    for panel in figure.axes:
        assert panel.get_xlabel()
        assert panel.get_ylabel()
    assert figure.legends


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_finding_is_computed_from_what_was_measured(name, tiny):
    """Other measurements, another finding; what the paper says and why it differs hold no figures of ours."""
    each = find(name)
    config = each.configs["tiny"]
    rows = lab.recorded(each, tiny / "reproduction", "tiny")
    fixed = {column for case in each.cases(config) for column in case} | {"t", "m"}
    random = np.random.default_rng(0)

    def changed(column, value):
        return value if column in fixed or isinstance(value, str) else value * random.uniform(1.2, 2)

    other = Rows({column: changed(column, value) for column, value in row.items()} for row in rows)
    assert each.finding(config, other) != each.finding(config, rows)
    assert not re.search(r"\d\.\d|\d%|\d %|\d times", each.paper + each.why)


def test_a_record_of_another_configuration_is_not_shown(tmp_path, tiny):
    assert Record.read(tiny / "reproduction" / "margin-B.parquet").rows
    assert lab.recorded(find("margin-B"), tiny / "reproduction", "paper") is None
    assert lab.page(tmp_path, "paper").count("\n|") == 2
