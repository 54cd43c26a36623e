"""The page of benchmarks: it is what its record says, and its verdicts are computed."""

from xml.etree import ElementTree

import pytest

from benchmarks.peers import page
from benchmarks.peers.run import COLUMNS, RESULTS, read

ROWS = read(RESULTS)


def row(method, group, error, cpu, status="ok", **other):
    base = dict.fromkeys(COLUMNS) | {
        "workload": "w",
        "said": "people",
        "kind": "marginals",
        "package": "numpy",
    }
    base |= {"epsilon": 1.0, "delta": 1e-6, "neighbours": "add-remove", "guarantee": "epsilon, delta"}
    base |= {
        "seed": 0,
        "people": 10,
        "cells": 4,
        "queries": 4,
        "limit": 200.0,
        "note": "",
        "version": "1",
        "with": "",
    }
    costs = {"cpu": cpu, "wall": cpu, "import": 0.1, "peak": 9.0}
    measured = {"max_error": error, "mean_error": error, **costs} if status == "ok" else {}
    return base | {"method": method, "group": group, "status": status} | measured | other


OURS = row("fastmwem auto", "ours", 0.1, 1.0)


def judged(*rows):
    return page.verdict(page.groups([OURS, *rows])["w"])


def test_the_committed_page_is_what_its_record_makes():
    assert (page.DOCS / "benchmarks.md").read_text() == page.page(ROWS)


def test_every_missed_bar_is_explained():
    for name, methods in page.groups(ROWS).items():
        found = page.verdict(methods)
        assert found is None or found.met or page.WHY.get(name), name


def test_the_pictures_hold_every_method_that_came_through():
    drawn = page.charts(ROWS)
    assert drawn
    for name, figure in drawn.items():
        text = "".join(ElementTree.parse(page.DOCS / name).getroot().itertext())
        for panel in figure.axes:
            assert panel.get_xlabel()
            for label in panel.get_legend_handles_labels()[1]:
                assert label in text


@pytest.mark.parametrize(
    ("peer", "met"),
    [
        (row("p", "peer", 0.1, 10.0), True),
        (row("p", "peer", 0.09, 10.0), False),  # better by more than 5 %
        (row("p", "peer", 0.19, 9.0), False),  # comparable, and less than 10 times slower
        (row("p", "peer", 0.21, 2.0), True),  # not comparable
        (row("p", "plain", 0.19, 0.1), True),  # not a peer
        (row("p", "ours", 0.01, 0.1), None),  # ours do not count: nobody is left
        (row("p", "peer", 0.0, 0.0, "cut off"), None),
    ],
)
def test_a_verdict_follows_from_errors_and_times(peer, met):
    found = judged(peer)
    assert (found and found.met) == met


def test_a_method_without_a_model_is_judged_by_its_rows():
    found = judged(row("p", "peer", None, 10.0, rows_max_error=0.05, rows_mean_error=0.2))
    assert (round(found.max_ratio, 6), round(found.mean_ratio, 6)) == (2.0, 0.5)


def test_cut_offs_and_absences_are_shown():
    rows = [OURS, row("p", "peer", 0, 0, "cut off"), row("q", "peer", 0, 0, "not installed", note="no wheel")]
    text = page.page(rows)
    assert "| > 200 s |" in text
    assert "| not installed: no wheel |" in text
    assert "nan" not in text
    assert "None" not in text
