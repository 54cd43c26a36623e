"""The files of a release from a table: what other tools read, and what people read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fastmwem.data.decode import decode
from fastmwem.data.domain import Domain
from fastmwem.privacy.randomness import Randomness
from fastmwem.results.files import settle
from fastmwem.results.release import Release
from fastmwem.results.report import render_report

__all__ = ["FILES", "write_release"]

# What a release consists of, and what is in each file
FILES = {
    "report.html": "what was released and what is guaranteed, for readers",
    "answers.parquet": "every answer with its error bound",
    "histogram.parquet": "the model: a share and a count for every cell",
    "synthetic.csv": "rows drawn from the model, with the original labels and types",
    "privacy.json": "the guarantee, for machines (its schema is in the documentation)",
    "domain.toml": "the declared columns",
    "release.npz": "what fastmwem.Release.load needs",
}


def write_release(
    draft: Path,
    release: Release,
    domain: Domain,
    *,
    rows: int | None = None,
    title: str = "Private release",
    repeat: str = "",
    notes: Sequence[str] = (),
) -> None:
    """Write the `FILES` of `release` into the directory `draft`, down to the disk.

    Synthetic rows come from the public model with randomness of their own: they cost no privacy.
    """
    from pyarrow import csv

    release.save(draft)
    randomness = Randomness.private()
    codes = release.sample(rows, randomness=randomness)
    csv.write_csv(decode(domain, np.asarray(codes), randomness.generator), str(draft / "synthetic.csv"))
    domain.to_toml(draft / "domain.toml")
    text = render_report(release, title=title, repeat=repeat, notes=notes)
    (draft / "report.html").write_text(text, encoding="utf-8")
    settle(draft)
