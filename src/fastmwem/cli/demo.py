"""`fastmwem demo`: a made-up survey, released; what came out beside what went in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fastmwem.cli.console import Json, Quiet, note, print_json, print_table, progress

if TYPE_CHECKING:
    import numpy as np

_PEOPLE, _WORKLOAD = 50_000, "marginals:3"
_EPSILON, _DELTA = 1.0, 1e-6
_SHOWN = (("sex", "work"), ("education", "health"))


def command(
    out: Annotated[str, typer.Option(help="The directory to write.")] = "fastmwem-demo",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier demo.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Release a made-up survey of 50,000 people, and compare what came out with what went in.

    The people are invented (always the same ones), so the truth may be shown beside the release. The release
    itself is a private one: it differs from run to run.

    \b
    Example:
      fastmwem demo --out survey
    """
    from fastmwem.data.survey import survey, survey_domain
    from fastmwem.privacy.budget import Budget
    from fastmwem.problems.table_release import prepare
    from fastmwem.results.files import check_output, output_directory
    from fastmwem.results.write import write_release

    path = check_output(out, overwrite)
    domain = survey_domain()
    prepared = prepare(survey(_PEOPLE), _WORKLOAD, domain=domain)
    note(
        f"{_PEOPLE:,} invented people, {prepared.workload.m:,} queries; "
        f"epsilon {_EPSILON:g}, delta {_DELTA:g}."
    )
    with progress("releasing", quiet or json) as tick:
        made, _ = prepared.run(Budget(_EPSILON, _DELTA), progress=tick)
    evaluation = made.evaluate(prepared.data)
    with output_directory(path, overwrite) as draft:
        write_release(
            draft,
            made,
            domain,
            title="A made-up survey, released",
            repeat="fastmwem demo",
            notes=("the people of this survey are invented: nobody needs protecting here",),
        )
        _write_survey(draft / "survey.csv")
    report = (path / "report.html").absolute()
    if json:
        print_json(
            {
                "report": str(report),
                "max_error": evaluation.max_error,
                "mean_error": evaluation.mean_error,
                "privacy": made.report.to_dict(),
            }
        )
        return
    truth = prepared.data.histogram() / _PEOPLE
    for pair in _SHOWN:
        _compare(domain, pair, truth, made.distribution)
    note(
        f"the largest error of all {len(made.values):,} answers is {100 * evaluation.max_error:.2g}% of the "
        f"rows, the average {100 * evaluation.mean_error:.2g}% (shown only because the people are invented)."
    )
    note(f"all files are in {path}/; open {report}")


def _compare(domain, pair: tuple[str, str], truth: np.ndarray, released: np.ndarray) -> None:
    axes = tuple(domain.axis(name) for name in pair)
    rest = tuple(axis for axis in range(len(domain.shape)) if axis not in axes)
    true, model = (p.reshape(domain.shape).sum(axis=rest) for p in (truth, released))
    rows, columns = (domain[name].labels for name in pair)
    lines = [
        (row, *(f"{100 * t:.2f} → {100 * p:.2f}" for t, p in zip(true[i], model[i], strict=True)))
        for i, row in enumerate(rows)
    ]
    print_table(f"{pair[0]} by {pair[1]}: percent of the people, true → released", ("", *columns), lines)


def _write_survey(path: Path) -> None:
    from pyarrow import csv

    from fastmwem.data.survey import survey

    csv.write_csv(survey(_PEOPLE), str(path))
