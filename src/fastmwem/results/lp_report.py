"""The files of a private linear program: x for other tools, the guarantee, and a page for readers."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fastmwem.results import charts
from fastmwem.results.files import settle
from fastmwem.results.html import (
    Drawing,
    facts,
    figure,
    fragment,
    number,
    page,
    paragraph,
    power,
    section,
    table,
)
from fastmwem.results.lp_result import LPResult

__all__ = ["FILES", "lp_fragment", "plan_cell", "render_lp_report", "write_lp"]

FILES = {
    "report.html": "x, what was picked on the way, and the guarantee, for readers",
    "x.csv": "the answer, a line for each variable",
    "privacy.json": "the guarantee, for machines",
}
_MOST = 14


def write_lp(
    draft: Path, answer: LPResult, names: Sequence[str], candidates: Sequence[str] = (), repeat: str = ""
) -> None:
    """Write the `FILES` of `answer` into the directory `draft`, down to the disk."""
    with open(draft / "x.csv", "w", newline="", encoding="utf-8") as out:
        lines = csv.writer(out)
        lines.writerow(["variable", "value"])
        lines.writerows((name, repr(float(value))) for name, value in zip(names, answer.x, strict=True))
    text = json.dumps(answer.report.to_dict(), indent=2, default=str) + "\n"
    (draft / "privacy.json").write_text(text, encoding="utf-8")
    html = render_lp_report(answer, names, candidates, repeat)
    (draft / "report.html").write_text(html, encoding="utf-8")
    settle(draft)


def render_lp_report(
    answer: LPResult, names: Sequence[str], candidates: Sequence[str] = (), repeat: str = ""
) -> str:
    """One page, from what is public alone. `candidates` names what the rounds pick (rows or columns)."""
    report = answer.report
    public = [(name, _plain(value)) for name, value in report.public_inputs.items()]
    return page(
        "Private linear program",
        f"A solution over {len(names):,} variables that keeps the private numbers of the program private.",
        "" if report.private else f'<p class="warning">{report.statement}</p>',
        _key_facts(answer),
        section("What the guarantee means", paragraph(report.statement), paragraph(answer.message)),
        section("The plan", paragraph(answer.plan.verdict), table(("", ""), answer.plan.facts)),
        section("The solution", _solution(answer, names, "x.csv")),
        section("What the rounds picked", _trajectory(answer, candidates)),
        section("What is known of the violations", _certificates(answer)),
        section(
            "What was spent",
            table(("times", "mechanism"), [(f"{n:,}", e) for e, n in report.events], numeric=[0]),
        ),
        section(
            "What is public, and what is assumed",
            table(("", ""), public),
            *(paragraph(said) for said in report.assumptions),
            paragraph("Never released: weights, slacks, losses, duals, or anything that depends on them."),
        ),
        section("How to repeat this", paragraph(repeat) if repeat else ""),
    )


def _plain(value: Any) -> str:
    """A public input without the noise of its last digits."""
    if isinstance(value, list):
        return ", ".join(_plain(part) for part in value)
    return (
        f"{value:.6g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
    )


def plan_cell(verdict: str, said: Sequence[tuple[str, str]]) -> str:
    """A plan in a notebook cell."""
    return fragment("Plan of a private linear program", paragraph(verdict), table(("", ""), said))


def lp_fragment(answer: LPResult) -> str:
    """The result in a notebook cell: the key figures, the guarantee, the largest entries of x."""
    return fragment(
        "Private linear program",
        _key_facts(answer),
        paragraph(answer.report.statement),
        paragraph(answer.message),
        _solution(answer, [f"x[{j}]" for j in range(len(answer.x))], ".x"),
        _trajectory(answer, ()),
    )


def _key_facts(answer: LPResult) -> str:
    report = answer.report
    return facts(
        [
            ("privacy loss ε", number(report.epsilon, 4)),
            ("with δ", power(report.delta)),
            ("objective c·x", number(answer.fun, 5)),
            ("violation promised", number(answer.alpha, 3)),
            *([("rounds", f"{answer.nit:,}")] if answer.nit else []),
        ]
    )


def _solution(answer: LPResult, names: Sequence[str], where: str) -> str:
    order = np.argsort(-np.abs(answer.x), kind="stable")[:_MOST]
    reach = max(float(np.abs(answer.x).max()), 1e-300)
    rows = [
        (
            str(names[j]),
            Drawing(charts.inline(abs(float(answer.x[j])), 0.0, reach)),
            number(float(answer.x[j]), 5),
        )
        for j in order.tolist()
    ]
    says = "x" if len(names) <= _MOST else f"The {_MOST} largest entries of x; all are in {where}"
    return figure(says, table(("variable", "", "value"), rows, numeric=[2]))


def _trajectory(answer: LPResult, candidates: Sequence[str]) -> str:
    """How the picks of the run (the last one, of a search) came to be what they are."""
    if answer.picks is None or len(answer.picks.candidate) < 2:
        return ""
    picked = answer.picks.candidate
    counts = np.bincount(picked)
    often = [j for j in np.argsort(-counts, kind="stable")[:5].tolist() if counts[j]]
    shown = np.unique(np.linspace(0, len(picked) - 1, 200).astype(int))
    series = [
        (
            str(candidates[j]) if j < len(candidates) else f"row {j}",
            (np.cumsum(picked == j) / len(picked))[shown],
        )
        for j in often
    ]
    caption = "How often each had been picked, as a share of all rounds"
    return figure(caption, charts.lines(shown + 1.0, series, "round"))


def _certificates(answer: LPResult) -> str:
    bought = [(p.opt, p.certificate, "accepted" if p.accepted else "refused") for p in answer.probes]
    if not bought and answer.certificate is not None:
        bought = [(answer.opt, answer.certificate, "")]
    rows = [
        (
            "" if opt is None else number(opt, 5),
            c.kind,
            number(c.value, 4),
            f"{c.low:.4g} to {c.high:.4g}",
            said,
        )
        for opt, c, said in bought
    ]
    return table(("OPT", "noisy", "value", "95 %", ""), rows, numeric=[2])
