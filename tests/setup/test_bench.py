"""The runner of the regression benchmarks: what it reports, and that it can fail."""

import json
import runpy

import pytest

from benchmarks import run


@pytest.fixture
def register(monkeypatch, tmp_path):
    """An empty table of ratios, and no baseline."""
    monkeypatch.setattr(run, "BASELINE", tmp_path / "baseline.json")
    monkeypatch.setattr(run, "_RATIOS", [])
    monkeypatch.setattr(run, "import_module", lambda name: None)
    return lambda name, bar, *values: run.ratio(name, bar)(iter(values).__next__)


def test_a_ratio_above_its_bar_twice_fails(register, capsys):
    register("steady", 1.0, 0.5)
    register("slower now", 1.0, 2.0, 1.75)
    assert run.main([]) == 1
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["steady", "0.5", "nan", "1"] in lines
    assert ["slower", "now", "1.75", "nan", "1", "ABOVE"] in lines


def test_one_bad_moment_is_forgiven(register):
    register("unlucky once", 1.0, 2.0, 0.9)
    assert run.main([]) == 0


def test_what_gets_half_as_slow_again_fails_below_its_bar_too(register):
    register("fit", 9.0, 0.8, 1.0, 0.9, 1.4, 1.6, 1.7)
    assert run.main(["--store"]) == 0
    assert run.main([]) == 0
    assert run.main([]) == 1


def test_the_baseline_is_of_todays_ratios(monkeypatch):
    """Each ratio has one, within its bar, and nothing else does."""
    monkeypatch.setattr(run, "_RATIOS", [])
    for path in sorted(run.BASELINE.parent.glob("bench_*.py")):
        runpy.run_path(str(path))
    held = json.loads(run.BASELINE.read_text())
    assert {r.name for r in run._RATIOS} == set(held)
    assert all(held[r.name] <= r.bar for r in run._RATIOS)


def test_words_choose(register, capsys):
    register("pick", 1.0, 0.5)
    register("fit", 1.0)  # would raise StopIteration if it were measured
    assert run.main(["pick"]) == 0
    assert run.main(["no such"]) == 2
    assert "no such" in capsys.readouterr().err


def test_seconds_is_the_best_of_several():
    import time

    waits = iter([0.0, 0.02, 0.001, 0.02])
    assert 0.001 <= run.seconds(lambda: time.sleep(next(waits)), best_of=3) < 0.02
