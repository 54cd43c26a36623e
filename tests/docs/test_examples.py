"""The scripts in examples/ run, at a small size, and do what they say."""

import runpy
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"
SMALL = {
    "publish_a_survey": {"people": 2_000},
    "a_million_queries": {"queries": 3_000, "cells": 100, "people": 2_000},
    "a_private_program": {"people": 50_000},
    "plug_in_an_index": {"queries": 1_000},
}


def test_each_example_is_tried():
    assert {path.stem for path in FOLDER.glob("*.py")} == set(SMALL)


@pytest.mark.parametrize("name", sorted(SMALL))
def test_it_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    script = runpy.run_path(str(FOLDER / f"{name}.py"))
    where = {"out": tmp_path / "published"} if name == "publish_a_survey" else {}
    said = script["main"](**SMALL[name], **where)
    match name:
        case "publish_a_survey":
            assert said.report.private
            assert (tmp_path / "published" / "release" / "privacy.json").exists()
        case "a_million_queries":
            assert said < 0.5
        case "a_private_program":
            assert said < 0.05
        case "plug_in_an_index":
            assert said <= 1
