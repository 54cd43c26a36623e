"""The runner of the regression benchmarks: what it reports, and that it can fail."""

import pytest

from benchmarks import run


@pytest.fixture
def register(monkeypatch):
    """An empty table of ratios."""
    monkeypatch.setattr(run, "_RATIOS", [])
    monkeypatch.setattr(run, "import_module", lambda name: None)
    return lambda name, bar, *values: run.ratio(name, bar)(iter(values).__next__)


def test_a_ratio_above_its_bar_twice_fails(register, capsys):
    register("steady", 1.0, 0.5)
    register("slower now", 1.0, 2.0, 1.75)
    assert run.main([]) == 1
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["steady", "0.5", "1"] in lines
    assert ["slower", "now", "1.75", "1", "ABOVE"] in lines


def test_one_bad_moment_is_forgiven(register):
    register("unlucky once", 1.0, 2.0, 0.9)
    assert run.main([]) == 0


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
