"""The report of a release: one page for readers who were not there, from what is public alone.

It takes a `Release`, all of which the guarantee covers. It shows no time and no count of evaluations, since
those depend on private data.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fastmwem.data.domain import Domain
from fastmwem.privacy.budget import rounded_up
from fastmwem.queries.marginals import Marginals
from fastmwem.results import charts
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

if TYPE_CHECKING:
    from fastmwem.results.release import Release

__all__ = ["release_fragment", "render_report"]

Floats = NDArray[np.float64]

_MOST_COLUMNS, _MOST_PAIRS, _WIDEST_PAIR, _MOST_PICKED = 24, 6, 40, 12
_METHODS = {
    "mwem": "many rounds of multiplicative weights; each picks, by the exponential mechanism, a query that "
    "the model still answers badly, and moves the model towards it",
    "measured": "a few rounds, each of which picks what is badly answered by the exponential mechanism and "
    "measures it with Gaussian noise; then the distribution of largest entropy that fits",
    "direct": "all that the queries ask about is measured once with Gaussian noise; then the most even "
    "distribution that fits the measurements as well as their noise lets one tell",
    "histogram": "Laplace noise is added to the count of every cell; the result is made non-negative",
}


def render_report(
    release: Release, *, title: str = "Private release", repeat: str = "", notes: Sequence[str] = ()
) -> str:
    """The whole page. `repeat` says how to make such a release again; `notes` are further assumptions."""
    report = release.report
    return page(
        title,
        f"{len(release.values):,} answers about a table of "
        f"{'about ' if report.neighbours == 'add-remove' else ''}{number(round(release.total))} rows, "
        "published with a mathematical guarantee for everyone in it.",
        "" if report.private else f'<p class="warning">{escape(report.statement)}</p>',
        _key_facts(release),
        section("What the guarantee means", *_guarantee(release)),
        section("How the columns look", *_columns(release)),
        section("How columns go together", *_pairs(release)),
        section("Answers and their error bounds", *_answers(release)),
        section("What the rounds looked at", *_rounds(release)),
        section("What is public, and what is assumed", *_public(release, notes)),
        section("How to repeat this", *_repeat(repeat)),
        section("How to cite", *_cite(release)),
    )


def release_fragment(release: Release) -> str:
    """The release in a notebook cell: the key figures, the guarantee, and the first pictures."""
    columns = [block for block in _columns(release) if block]
    return fragment(
        f"{len(release.values):,} private answers",
        _key_facts(release),
        paragraph(release.report.statement),
        *columns,
    )


def _key_facts(release: Release) -> str:
    report = release.report
    largest = float(np.max(release.bounds, initial=0.0))
    return facts(
        [
            ("privacy loss ε", number(report.epsilon, 4)),
            ("with δ", power(report.delta)),
            ("answers", f"{len(release.values):,}"),
            ("method", release.method),
            ("largest error bound (95 %)", f"± {number(100 * largest)}%"),
        ]
    )


def _guarantee(release: Release) -> list[str]:
    report = release.report
    if not report.private:
        return [paragraph("None: the randomness of this run was seeded, so anyone can subtract the noise.")]
    person = "person" if report.rows_per_person > 1 else "row"
    change = (
        f"If any one {person}'s data had been different"
        if report.neighbours == "replace-one"
        else f"Had any one {person} been left out of the table, or added to it"
    )
    times = number(float(np.exp(min(report.epsilon, 700))), 3)
    delta = power(report.delta)
    plain = (
        f"{change}, everything on this page and in the files beside it would have come out almost as likely "
        f"as it did: every outcome would have been at most {times} times (e to the power of ε) as likely or "
        f"unlikely, except with a probability of at most about {delta}. This holds whatever an attacker "
        "knows already, and whatever is done with the release later on."
    )
    rows = [
        ("Guarantee", f"(ε, δ)-differential privacy with ε = {rounded_up(report.epsilon, 6):g}, δ = {delta}"),
        ("Neighbouring tables", _neighbours(report)),
        ("Accounting", f"{report.accountant} composition of the events below, rounded upwards"),
        ("Budget", f"ε = {report.budget_epsilon:g} at δ = {delta}"),
    ]
    events = [(f"{count:,}", event) for event, count in report.events]
    return [
        paragraph(plain),
        table(("", ""), rows),
        "<h3>What was spent</h3>",
        table(("times", "mechanism"), events, numeric=[0]),
    ]


def _neighbours(report: Any) -> str:
    rows = f"at most {report.rows_per_person} rows of one person" if report.rows_per_person > 1 else "one row"
    if report.neighbours == "replace-one":
        return f"{rows} changed; the number of rows is public"
    return f"{rows} added or removed; the number of rows is private too"


def _columns(release: Release) -> list[str]:
    domain = release.domain
    if domain is None:
        return []
    drawn = []
    for axis, column in enumerate(domain.columns[:_MOST_COLUMNS]):
        shares = _marginal(release, domain, (axis,))
        drawing = charts.distribution(column.labels, shares, _bounds(release, axis))
        drawn.append(figure(column.name, drawing))
    more = len(domain.columns) - _MOST_COLUMNS
    rest = paragraph(f"{more} further columns are in the files.") if more > 0 else ""
    asked = any(_bounds(release, axis) is not None for axis in range(len(domain.columns)))
    says = "Shares of all rows, according to the released model."
    says += " Whiskers show the 95 % error bound of each share." if asked else ""
    return [paragraph(says), _grid(drawn), rest]


def _pairs(release: Release) -> list[str]:
    """The pairs of columns that depend most on one another in the model, which is public."""
    domain = release.domain
    if domain is None or len(domain.columns) < 2:
        return []
    small = [axis for axis, size in enumerate(domain.shape[:_MOST_COLUMNS]) if 1 < size <= _WIDEST_PAIR]
    found = []
    for a, b in itertools.combinations(small, 2):
        joint = _marginal(release, domain, (a, b)).reshape(domain.shape[a], domain.shape[b])
        found.append((_information(joint), a, b, joint))
    found.sort(key=lambda pair: -pair[0])
    drawn = []
    for _, a, b, joint in found[:_MOST_PAIRS]:
        rows, cols = domain.columns[a], domain.columns[b]
        if cols.size < rows.size:
            rows, cols, joint = cols, rows, joint.T
        drawn.append(figure(f"{rows.name} by {cols.name}", charts.heat_map(rows.labels, cols.labels, joint)))
    if not drawn:
        return []
    return [
        paragraph(
            "The pairs that depend most on each other in the model; the more colour, the larger the share."
        ),
        _grid(drawn),
    ]


def _information(joint: Floats) -> float:
    """Mutual information of a joint distribution, in nats."""
    joint = np.maximum(joint, 0)
    apart = joint.sum(1, keepdims=True) * joint.sum(0, keepdims=True)
    seen = joint > 0
    return float(np.sum(joint[seen] * np.log(joint[seen] / apart[seen])))


def _marginal(release: Release, domain: Domain, axes: tuple[int, ...]) -> Floats:
    """The model's shares over the cells of `axes`, ascending; row-major and flat."""
    if release.records is None:
        rest = tuple(axis for axis in range(len(domain.shape)) if axis not in axes)
        return release.distribution.reshape(domain.shape).sum(axis=rest).ravel()
    shape = [domain.shape[axis] for axis in axes]
    cells = np.ravel_multi_index(tuple(release.records[:, axis] for axis in axes), shape)
    return np.bincount(cells, release.distribution, int(np.prod(shape))).astype(np.float64)


def _bounds(release: Release, axis: int) -> Floats | None:
    """The error bounds of a column's own shares, if they were asked for."""
    start = 0
    for part in getattr(release.workload, "parts", (release.workload,)):
        if isinstance(part, Marginals) and (axis,) in part.subsets:
            inside = part.slice(part.subsets.index((axis,)))
            return release.bounds[start + inside.start : start + inside.stop]
        start += 0 if part is None else part.m
    return None


def _answers(release: Release) -> list[str]:
    values, bounds = release.values, release.bounds
    spread = [
        (name, f"± {number(100 * float(v))}%", f"± {number(float(v) * release.total)}")
        for name, v in _spread(bounds)
    ]
    top = np.argsort(-values, kind="stable")[:12]
    reach = float(np.max(values[top] + bounds[top], initial=1e-12))
    asked = [
        (
            words,
            Drawing(charts.inline(float(values[i]), float(bounds[i]), reach)),
            f"{100 * values[i]:.2f}%",
            number(round(float(values[i]) * release.total)),
            f"± {100 * bounds[i]:.2g}%",
        )
        for i, words in zip(top, release.describe(top), strict=True)
    ]
    return [
        paragraph(f"What the bounds mean: {release.bound_kind}."),
        table(("error bound", "share of rows", "rows"), spread, numeric=[1, 2]),
        "<h3>The largest answers</h3>",
        table(("query", "", "share", "rows", "bound"), asked, numeric=[2, 3, 4]),
        paragraph("All answers are in answers.parquet, one line each."),
    ]


def _spread(bounds: Floats) -> list[tuple[str, float]]:
    found = [("median answer", np.median(bounds)), ("largest", np.max(bounds))] if bounds.size else []
    return [(name, float(value)) for name, value in found]


def _rounds(release: Release) -> list[str]:
    """How the public model moved, and what was picked; each pick is covered by its event."""
    blocks = []
    course = release.details.get("course")
    if course is not None and len(course[0]) > 2:
        rounds, moving = course
        drawing = charts.lines(np.asarray(rounds, float), moving, "round")
        blocks += [
            paragraph(
                f"How the model's answers moved from round to round: the {len(moving)} that moved the most, "
                "of some that are spread over the workload."
            ),
            _grid([figure("Answers over the rounds", drawing)], wide=True),
        ]
    picks = release.details.get("picks")
    if picks is not None:
        ids, times = np.unique(np.asarray(picks.candidate), return_counts=True)
        top = np.argsort(-times, kind="stable")[:_MOST_PICKED]
        often = dict(zip(release.describe(ids[top]), times[top].tolist(), strict=True))
        blocks.append(_picked(len(picks.candidate), len(ids), often))
    selected = release.details.get("selected")
    if selected:
        counted = Counter(selected)
        blocks.append(_picked(len(selected), len(counted), dict(counted.most_common(_MOST_PICKED))))
    return blocks


def _picked(rounds: int, different: int, often: dict[str, int]) -> str:
    says = f"In {rounds:,} rounds, {different:,} different choices were made"
    says += "; these most often:" if different > len(often) else ":"
    rows = [(words, f"{times:,}") for words, times in often.items()]
    return paragraph(says) + table(("picked", "rounds"), rows, numeric=[1])


def _public(release: Release, notes: Sequence[str]) -> list[str]:
    report, domain = release.report, release.domain
    rows = [
        (name, number(v) if isinstance(v, int | float) else str(v))
        for name, v in report.public_inputs.items()
    ]
    assumed = [*report.assumptions, *notes]
    method = _METHODS.get(release.method)
    blocks = [
        paragraph(f"Method {release.method}: {method}.") if method else "",
        table(("public input", ""), rows),
    ]
    if domain is not None:
        cells = [(c.name, c.partition.type, f"{c.size:,}", c.policy()) for c in domain.columns]
        blocks += [
            "<h3>The declared columns</h3>",
            table(("column", "type", "cells", "what was not declared"), cells, numeric=[2]),
        ]
        if domain.public_sample:
            blocks.append(
                paragraph(f"The declaration was drafted from the public table {domain.public_sample!r}.")
            )
    items = "".join(f"<li>{escape(item)}</li>" for item in assumed)
    blocks.append(f"<h3>Assumptions</h3><ul>{items}</ul>" if items else "")
    return blocks


def _repeat(repeat: str) -> list[str]:
    if not repeat:
        return []
    return [
        paragraph(
            "The same settings on the same table, with fresh randomness (and a fresh charge to the budget):"
        ),
        f"<pre>{escape(repeat)}</pre>",
    ]


def _cite(release: Release) -> list[str]:
    version = release.report.versions.get("fastmwem", "")
    return [
        paragraph(f"Made with fastmwem {version}, software for private data release.".replace("  ", " ")),
        paragraph(
            "The method is from Haris, Choi and Laksanawisit, “Fast-MWEM: Private Data Release in Sublinear "
            "Time”. Please cite both, with the ε and δ above: without them, a release is not described."
        ),
    ]


def _grid(figures: Sequence[str], wide: bool = False) -> str:
    return f'<div class="grid{" one" * wide}">{"".join(figures)}</div>' if figures else ""
