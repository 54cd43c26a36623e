"""A release end to end: a table is read and counted, measured, fitted, and rows are drawn and written."""

from __future__ import annotations

import tempfile
from pathlib import Path

import fastmwem as fm
from benchmarks.run import ratio, scan, seconds
from fastmwem.data.survey import survey, survey_domain


@ratio("release of all 3-way marginals of 50,000 people, written, in scans of 20,000 x 3,000 floats", bar=400)
def release_of_a_survey() -> float:
    domain, people = survey_domain(), survey()
    workload = fm.marginals(domain, k=3)

    def released() -> None:
        with tempfile.TemporaryDirectory() as home:
            made = fm.release(people, workload, epsilon=1, delta=1e-6)
            made.save(Path(home) / "out")
            made.sample(50_000)

    return seconds(released, best_of=3) / scan(m=20_000, cells=3_000)
