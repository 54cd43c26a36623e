"""The result of query release: tables, rows that follow the model, saving and loading."""

from __future__ import annotations

import json

import numpy as np
import pytest

import fastmwem as fm
from fastmwem.errors import DataError, InvalidArgument
from fastmwem.privacy.randomness import Randomness
from fastmwem.results.synthetic import sample_cells

DOMAIN = fm.Domain.of_sizes({"a": 5, "b": 3, "c": 4})


@pytest.fixture(scope="module")
def release():
    rng = np.random.default_rng(0)
    table = rng.integers(0, (5, 3, 4), (3000, 3))
    return fm.query_release(fm.prefixes(DOMAIN, "a"), table, epsilon=1, delta=1e-6, method="mwem", rounds=50)


def test_answers_and_histogram_are_arrow_tables(release):
    assert release.answers.column_names == ["query", "answer", "count", "error_bound"]
    assert release.answers["query"].to_pylist()[:2] == ["a=0", "a from 0 to 1"]
    np.testing.assert_allclose(release.answers["count"], release.values * 3000)
    table = release.histogram
    assert table.column_names == ["a", "b", "c", "probability", "count"]
    assert table["probability"].to_numpy().sum() == pytest.approx(1)
    first = table.slice(0, 1).to_pylist()[0]
    assert (first["a"], first["b"], first["c"]) == ("0", "0", "0")


def test_the_statement_never_says_less_than_was_spent():
    made = fm.query_release(fm.prefixes(4), [5, 6, 7, 8], epsilon=1.00049, delta=1.2345612e-6, method="mwem")
    assert made.report.epsilon > 1.0004
    assert made.report.statement.startswith("(1.001, 1.235e-06)-differentially private")
    assert "ε = 1.00049," in made._repr_html_() or "1.001" in made._repr_html_()


def test_rows_follow_the_model_on_marginals_nobody_asked_for():
    """Counts of any set of cells: the right mean, and no more variance than independent rows have."""
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.full(DOMAIN.size, 0.4))
    asked = fm.marginals(DOMAIN, k=2)
    rows, runs = 400, 300
    counts = np.array(
        [
            asked.answers(np.bincount(sample_cells(p, rows, Randomness.seeded(s)), minlength=DOMAIN.size))
            for s in range(runs)
        ]
    )
    expected = rows * asked.answers(p)
    spread = np.sqrt(expected * (1 - expected / rows) / runs)
    assert (np.abs(counts.mean(axis=0) - expected) < 6 * spread + 1e-9).all()
    assert (counts.var(axis=0) < 1.6 * runs * spread**2 + 0.05).all()
    cells = np.bincount(sample_cells(p, rows, Randomness.seeded(0)), minlength=DOMAIN.size)
    assert (np.abs(cells - rows * p) < 2).all()
    # independent rows, the negative control, miss single cells by more
    plain = np.bincount(rng.choice(DOMAIN.size, rows, p=p), minlength=DOMAIN.size)
    assert np.abs(plain - rows * p).max() > 2


def test_rows_come_shuffled_and_only_where_there_is_mass(release):
    p = np.array([0.0, 0.5, 0.0, 0.5, 0.0])
    cells = sample_cells(p, 1000, Randomness.seeded(2))
    assert set(cells) == {1, 3}
    assert np.bincount(cells)[1] in (499, 500, 501)
    assert 400 < np.abs(np.diff(cells)).sum() / 2 < 600  # in order there would be a single change
    rows = release.sample()
    assert rows.shape == (3000, 3)
    assert (rows.max(axis=0) < DOMAIN.shape).all()


def test_save_and_load(release, tmp_path):
    folder = release.save(tmp_path / "out")
    assert sorted(f.name for f in folder.iterdir()) == [
        "answers.parquet",
        "histogram.parquet",
        "privacy.json",
        "release.npz",
    ]
    assert json.loads((folder / "privacy.json").read_text())["private"] is True
    bare = fm.Release.load(folder)
    np.testing.assert_array_equal(bare.values, release.values)
    np.testing.assert_array_equal(bare.distribution, release.distribution)
    assert bare.report == release.report
    assert bare.answers.equals(release.answers)
    with pytest.raises(InvalidArgument, match="needs the workload"):
        bare.evaluate(np.ones(60))
    whole = fm.Release.load(folder, release.workload, DOMAIN)
    assert whole.histogram.equals(release.histogram)
    assert whole.evaluate(np.ones(60)).max_error < 0.2
    with pytest.raises(DataError, match=r"answers\.parquet is missing"):
        fm.Release.load(tmp_path)
    with pytest.raises(InvalidArgument, match="workload has 3 queries"):
        fm.Release.load(folder, fm.prefixes(DOMAIN, "b"))


def test_a_repr_holds_what_is_public(release):
    assert "5 answers by mwem" in repr(release)
    assert "(1, 1e-06)-differentially private" in repr(release).replace("0.9999", "1")
    text = str(release.report)
    assert "50 x exponential mechanism" in text
    assert "public: n = 3000" in text
