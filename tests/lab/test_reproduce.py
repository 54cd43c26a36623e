"""Experiments: resumable, honest about their configuration, shown from what is stored and nothing else."""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest

from fastmwem.cli.main import run
from fastmwem.errors import InvalidArgument
from fastmwem.lab import EXPERIMENTS, find
from fastmwem.lab import reproduce as lab
from fastmwem.lab.composition import theorem
from fastmwem.lab.error_diff import differences
from fastmwem.lab.index_perf import exponent
from fastmwem.lab.recall import quality
from fastmwem.lab.store import Record, Rows, Store
from fastmwem.lab.workloads import paper_histogram, paper_queries


@dataclasses.dataclass(frozen=True)
class Config:
    factor: int = 2


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_is_frozen_and_complete(name):
    each = find(name)
    assert each.name == name
    assert set(each.configs) == set(lab.SIZES)
    for config in each.configs.values():
        with pytest.raises(dataclasses.FrozenInstanceError):
            config.epsilon = 2
        cases = each.cases(config)
        keys = [json.dumps(case) for case in cases]
        assert cases
        assert len(set(keys)) == len(keys)
        assert each.caption(config)


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if find(name).measured_as])
def test_shared_measurements_are_the_same_measurements(name):
    each, source = find(name), find(find(name).measured_as)
    assert each.configs == source.configs
    assert each.measure is source.measure
    for config in each.configs.values():
        assert all(case in source.cases(config) for case in each.cases(config))


def test_the_store_keeps_cases_apart_and_whole(tmp_path):
    store, case = Store(tmp_path), {"m": 3}
    assert not store.has("x", Config(), case)
    store.write("x", Config(), case, [{"t": 1, "error": 0.5}, {"t": 2, "error": 0.25}], 1.5)
    assert store.has("x", Config(), case)
    for other in ((Config(3), case), (Config(), {"m": 4})):
        assert not store.has("x", *other)
    assert not store.has("y", Config(), case)
    assert not list(tmp_path.rglob("*.part"))


def test_a_record_knows_what_it_holds(tmp_path):
    store, path, cases = Store(tmp_path / "cases"), tmp_path / "x.parquet", [{"m": 3}, {"m": 4}]
    store.gather("x", Config(), cases, path)
    assert not Record.read(path).holds("x", Config(), [])
    for seconds, case in enumerate(cases, 1):
        store.write("x", Config(), case, [{"t": 1, "error": case["m"] / 8}], seconds)
        store.gather("x", Config(), cases, path)
        assert Record.read(path).holds("x", Config(), cases) == (case == cases[-1])
    record = Record.read(path)
    assert list(record.rows) == [{"m": 3, "t": 1, "error": 0.375}, {"m": 4, "t": 1, "error": 0.5}]
    assert list(record.rows.among(cases[1:])) == list(record.rows)[1:]
    assert record.seconds == 3.0
    assert not record.holds("x", Config(3), cases)
    assert not record.holds("y", Config(), cases)


def test_a_run_that_stopped_goes_on_where_it_was(tmp_path, monkeypatch):
    margin = find("margin-B")
    measured = []

    def stops(config, case):
        measured.append(case["m"])
        if len(measured) == 2:
            raise KeyboardInterrupt
        return margin.measure(config, case)

    monkeypatch.setattr(lab, "find", lambda name: dataclasses.replace(margin, measure=stops))
    monkeypatch.setattr(lab, "EXPERIMENTS", {"margin-B": "margin_b"})
    with pytest.raises(KeyboardInterrupt):
        lab.reproduce("margin-B", "tiny", tmp_path)
    assert not list(tmp_path.rglob("*.svg"))
    progress = []
    lab.reproduce("margin-B", "tiny", tmp_path, lambda t, of: progress.append((t, of)))
    assert measured == [100, 400, 400, 1600]
    assert progress == [(1, 3), (2, 3), (3, 3)]


def test_the_command_writes_figures_and_a_page_from_what_is_stored(tmp_path, monkeypatch, capsys):
    assert run(["reproduce", "composition", "--out", str(tmp_path), "--json"]) == 0
    files = [Path(path) for path in json.loads(capsys.readouterr().out)["files"]]
    assert [path.name for path in files] == ["composition.svg", "reproduction.md"]
    texts = [path.read_text() for path in files]
    assert "rounds T" in texts[0]
    assert "2.03 times the paper's eps0" in texts[1]
    assert "index-perf" not in texts[1]

    def never(*_):
        raise AssertionError("what is stored is not measured again")

    composition = dataclasses.replace(find("composition"), measure=never)
    monkeypatch.setattr(lab, "find", lambda name: composition)
    monkeypatch.setattr(lab, "EXPERIMENTS", {"composition": "composition"})
    again = lab.reproduce("composition", "tiny", tmp_path)
    assert [path.read_text() for path in again] == texts


def test_unknown_names_are_refused(tmp_path):
    with pytest.raises(InvalidArgument, match="did you mean 'recall'"):
        lab.reproduce("recal", "tiny", tmp_path)
    with pytest.raises(InvalidArgument, match="size must be"):
        lab.reproduce("recall", "huge", tmp_path)


def test_the_papers_data():
    counts = paper_histogram(500, 300, seed=3)
    assert counts.sum() == 500
    assert abs(counts @ np.arange(300) / 500 - 100) < 5
    queries = paper_queries(40, 300, seed=3)
    sizes = queries.answers(np.ones(300))
    assert sizes.max() <= 75
    assert sizes.min() > 40
    assert np.array_equal(paper_queries(40, 300, seed=3).matrix, queries.matrix)
    assert not np.array_equal(paper_queries(40, 300, seed=4).matrix, queries.matrix)


def test_rows():
    rows = Rows([{"x": 2, "y": 1.0}, {"x": 1, "y": 3.0}, {"x": 2, "y": 3.0}])
    xs, means, low, high = rows.along("x", "y")
    assert xs.tolist() == [1, 2]
    assert means.tolist() == [3.0, 2.0]
    assert (high - low).tolist() == pytest.approx([0.0, 2 * math.sqrt(2)])
    assert rows.where(x=2).mean("y") == 2.0


def test_figures_of_merit():
    assert theorem(1, 1e-3, 1000) * math.sqrt(1000) == pytest.approx(0.2384, abs=1e-4)
    assert exponent(Rows({"m": m, "round": m**0.5} for m in (10, 100, 1000)), "round") == pytest.approx(0.5)
    pairs = [
        {"m": 1, "seed": 0, "t": 5, "method": m, "error": e} for m, e in (("exhaustive", 0.2), ("flat", 0.3))
    ]
    assert differences(Rows(pairs)).column("difference").tolist() == pytest.approx([0.1])
    x = np.array([0.0, 1.0, 3.0, 2.0])
    assert quality(x, np.array([2, 3]), 2) == {"recall": 1.0, "gap": 0.0, "bias": pytest.approx(0.0)}
    missed = quality(x, np.array([2, 0]), 2)
    assert missed["recall"] == 0.5
    assert missed["gap"] == 2.0
    assert missed["bias"] == pytest.approx(math.log(np.exp(x).sum() / (3 + np.exp(3))))
