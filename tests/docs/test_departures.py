"""Lines of the page on departures that nothing else shows: what is printed fails, what is here does not."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

import fastmwem as fm
from fastmwem.index import build_index
from fastmwem.index.hnsw import Hnsw
from fastmwem.mw.hedge import Hedge, fixed_step
from fastmwem.mw.schedule import FixedStep, paper_rounds
from fastmwem.mw.update import MultiplicativeWeights
from fastmwem.queries.base import Candidates
from fastmwem.queries.binary import Binary
from fastmwem.queries.dense import Dense
from fastmwem.select.base import Pick

PAGE = Path(__file__).parents[2] / "docs" / "departures.md"


def test_every_departure_names_a_test_that_shows_it():
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")][1:]
    assert len(lines) >= 17
    for line in lines:
        *_, shown_by, end = line.replace(r"\|", "").split("|")
        assert re.search(r"`tests/[\w/]+\.py::\w+`", shown_by), line
        assert end == ""


def test_rounds_by_the_number_of_queries_leave_a_larger_error_than_they_promise():
    """Two queries on many cells, everyone in one cell, no noise at all, and the best pick in every round."""
    cells, alpha = 300_000, 0.3
    rows = np.zeros((2, cells), np.uint8)
    rows[0, 0] = rows[1, : cells // 2] = 1
    queries = Binary(rows)

    def error(rounds):
        player = MultiplicativeWeights(queries, FixedStep.paper(cells, rounds))
        for _ in range(rounds):
            scores = queries.answers(player.probe()) - 1.0  # both queries hold the one cell
            worst = int(np.abs(scores).argmax())
            player.respond(Pick(worst, int(np.sign(scores[worst]))))
        return np.abs(queries.answers(player.output("average")) - 1.0).max()

    assert error(paper_rounds(2, alpha)) > alpha
    assert error(math.ceil(4 * math.log(cells) / alpha**2)) < alpha


@pytest.fixture(scope="module")
def sparse():
    """Queries of few cells: far from their complements."""
    return (np.random.default_rng(0).random((2_000, 64)) < 0.1).astype(np.uint8)


def test_a_graph_over_queries_and_complements_is_searched_in_vain(sparse):
    import faiss

    rng = np.random.default_rng(1)
    h, k = rng.dirichlet(np.ones(64)), 20
    answers = sparse @ h
    stored = faiss.IndexHNSWFlat(64, 16, faiss.METRIC_INNER_PRODUCT)
    stored.hnsw.efSearch = 64
    stored.add(np.vstack([sparse, 1 - sparse]).astype(np.float32))
    signed = build_index(Candidates(Binary(sparse), answers, signed=True), Hnsw())
    hits = {"stored": 0, "signed": 0}
    for _ in range(25):
        p = rng.dirichlet(np.ones(64))
        score = sparse @ p - answers
        best = np.argsort(-np.concatenate([score, -score]))[:k]
        found = signed.search(p, k)
        hits["stored"] += len(np.intersect1d(best, stored.search((p - h)[None].astype(np.float32), k)[1]))
        hits["signed"] += len(
            np.intersect1d(best, np.where(found.signs > 0, found.ids, len(sparse) + found.ids))
        )
    assert hits["stored"] < 0.3 * 25 * k
    assert hits["signed"] > 0.8 * 25 * k


def test_by_absolute_scores_a_slack_row_hides_the_violated_one():
    """Row 0 asks for x_0 >= 0.5; row 1 is kept by a margin of 10, which |A x - b| takes for the worst."""
    A, b = np.array([[-1.0, 0.0], [0.0, 1.0]]), np.array([-0.5, 10.0])

    def violation(absolute):
        player = Hedge(Dense(A), fixed_step(0.5, 2, 500))
        for _ in range(500):
            scores = A @ player.probe() - b
            player.respond(Pick(int((np.abs(scores) if absolute else scores).argmax()), 1))
        return float((A @ player.average - b).max())

    assert violation(absolute=False) < 0.05
    x = np.array([0.25, 0.75])
    assert np.abs(A @ x - b).argmax() == 1
    assert (A @ x - b).argmax() == 0


def test_a_constant_added_to_a_row_changes_the_papers_width_and_nothing_else():
    A = np.random.default_rng(4).uniform(-1, 1, (1_000, 20))
    budget = {"sensitivity": 1e-3, "epsilon": 1, "delta": 1e-6}
    plain, moved = (fm.plan_scalar(matrix, **budget, method="mw") for matrix in (A, A + 50.0))
    assert moved.rounds == plain.rounds
    assert moved.alpha == pytest.approx(plain.alpha)
    printed = {**budget, "schedule": "paper", "alpha": 1.0, "method": "mw"}
    assert fm.plan_scalar(A + 50.0, **printed).rounds > 1000 * fm.plan_scalar(A, **printed).rounds
