"""What the documentation takes from the code when it is built, and so cannot go stale.

In a page, these lines become

    <!-- commands -->                   the help of every command
    <!-- public names -->               the reference of every public name
    <!-- docstring MODULE:NAME -->      that docstring (or that of MODULE), as Markdown
    <!-- verbatim MODULE:NAME -->       the same as a block of code
    <!-- accountants -->                what each accountant allows
    <!-- growth -->                     how cost grows, as `benchmarks/growth.py` measured it
    <!-- experiment NAME -->            figure and finding of an experiment, from its record
    <!-- files -->                      what a release writes
    <!-- file PATH -->                  that file of the repository

and formulas ($...$ and $$...$$) become MathML, which browsers show without a script.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import os
import re
import sys
from html import unescape
from importlib import import_module
from pathlib import Path
from typing import Any

# What public calls return: its attributes belong to the reference, though no one imports it.
RETURNED = (
    "problems.query_release.Plan",
    "problems.method.Prediction",
    "problems.lp_plan.ScalarPlan",
    "problems.constraint_plan.ConstraintPlan",
    "results.guarantee.PrivacyReport",
    "results.release.Evaluation",
    "results.lp_result.LPResult",
    "results.lp_result.Certificate",
    "results.lp_result.Probe",
    "lp.violations.Violations",
    "privacy.account_file.Run",
)

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # mkdocs loads this file by its path, and `tools` and `benchmarks` lie there

from tools import docstrings  # noqa: E402


def on_page_markdown(markdown: str, **_: Any) -> str:
    """mkdocs calls this with each page's source."""
    makers = {
        "commands": commands,
        "public names": public_names,
        "docstring": docstring,
        "verbatim": verbatim,
        "accountants": accountants,
        "growth": growth,
        "experiment": experiment,
        "files": files,
        "file": file,
    }

    def made(marker: re.Match[str]) -> str:
        return makers[marker[1]](*marker[2].split())

    return re.sub(rf"<!-- ({'|'.join(makers)})((?: .*?)?) -->", made, markdown)


def on_page_content(html: str, **_: Any) -> str:
    """mkdocs calls this with each page's HTML, in which arithmatex has marked the formulas."""
    from latex2mathml.converter import convert

    def made(formula: re.Match[str]) -> str:
        return upright(convert(unescape(formula[2]), display="inline" if formula[1] == "(" else "block"))

    marked = r'<(?:span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</(?:span|div)>'
    return re.sub(r"<code>(tests/[^<]+)</code>", breakable, re.sub(marked, made, html, flags=re.DOTALL))


def upright(formula: str) -> str:
    """Primes beside their letter, not raised twice, and a space after ln, which browsers leave out."""
    prime = '<mo lspace="0" rspace="0">&#x02032;</mo>'
    letter, index = "<m[in]>[^<]*</m[in]>", "(?:<m[in]>[^<]*</m[in]>|<mrow>(?:(?!<mrow>).)*?</mrow>)"
    formula = re.sub(rf"<msup>({letter})<mi>&#x02032;</mi></msup>", rf"<mrow>\1{prime}</mrow>", formula)
    formula = re.sub(
        rf"<msubsup>({letter})({index})<mi>&#x02032;</mi></msubsup>",
        rf"<mrow><msub>\1\2</msub>{prime}</mrow>",
        formula,
    )
    return re.sub(r"<mi>ln</mi>(?!<mo)", '<mi>ln</mi><mspace width="0.17em" />', formula)


def breakable(reference: re.Match[str]) -> str:
    """The name of a test, which may break between its words."""
    name = re.sub(r"(/|::|_)", r"\1<wbr>", reference[1])
    return f'<code class="test">{name}</code>'


def docstring(where: str) -> str:
    """The docstring of `fastmwem.MODULE` or `fastmwem.MODULE:NAME`, less its examples."""
    return f'<div class="docstring" markdown>\n\n{docstrings.markdown(_docstring(where))}\n\n</div>'


def verbatim(where: str) -> str:
    """The same as a block of code, for what is laid out by hand."""
    return f"```text\n{_docstring(where)}\n```"


def _docstring(where: str) -> str:
    module, _, path = where.partition(":")
    thing: Any = import_module(f"fastmwem.{module}")
    for name in filter(None, path.split(".")):
        thing = getattr(thing, name)
    text = inspect.getdoc(thing)
    if not text:
        raise RuntimeError(f"fastmwem.{where} has no docstring to show")
    return docstrings.without_examples(text)


def commands() -> str:
    """The help of `fastmwem` and of each of its commands, as it is printed."""
    from fastmwem.cli.main import COMMANDS

    sections = [f"```text\n{help_of([])}\n```"]
    for name in COMMANDS:
        sections.append(f"## fastmwem {name}\n\n```text\n{help_of([name])}\n```")
        sections += [
            f"### fastmwem {name} {sub}\n\n```text\n{help_of([name, sub])}\n```" for sub in subs(name)
        ]
    return "\n\n".join(sections)


def help_of(command: list[str]) -> str:
    """What `fastmwem COMMAND --help` prints on a terminal of 80 columns."""
    from fastmwem.cli.main import run

    os.environ["COLUMNS"] = "80"
    with contextlib.redirect_stdout(io.StringIO()) as out:
        code = run([*command, "--help"])
    if code != 0:
        raise RuntimeError(f"fastmwem {' '.join(command)} --help failed with code {code}")
    return out.getvalue().strip()


def subs(name: str) -> list[str]:
    """The sub-commands of a command that is a group."""
    group = getattr(import_module(f"fastmwem.cli.{name}"), "group", None)
    if group is None:
        return []
    return [info.name or info.callback.__name__.replace("_", "-") for info in group.registered_commands]


# The reference's headings, in the order in which a reader meets them: package -> heading.
TOPICS = {
    "problems": "Releases and programs",
    "results": "What a release holds",
    "queries": "Workloads",
    "data": "Tables and domains",
    "lp": "Linear programs",
    "privacy": "Budgets and randomness",
    "index": "Indices",
}


def public_names() -> str:
    """A heading for each topic, and mkdocstrings' entry for each public name and for what calls return."""
    import fastmwem

    sections = []
    for package, heading in TOPICS.items():
        sections.append(f"## {heading}\n")
        for name, module in fastmwem._PUBLIC.items():
            if module.split(".")[0] == package:
                sections.append(f"::: fastmwem.{module}.{name}\n")
    return "\n".join([*sections, "## What calls return\n", *(f"::: fastmwem.{name}\n" for name in RETURNED)])


def files() -> str:
    """A table of the files of a release."""
    from fastmwem.results.write import FILES

    return "\n".join(
        ["| file | what is in it |", "|---|---|", *(f"| `{n}` | {what} |" for n, what in FILES.items())]
    )


def accountants() -> str:
    """A table of eps0 sqrt(T) at T = 1000."""
    from fastmwem.privacy.accounting import accountant
    from fastmwem.privacy.budget import Budget
    from fastmwem.privacy.calibrate import calibrate_rounds

    rounds, lines = (
        1000,
        ["| target | paper's formula | its true ε | zCDP | optimal |", "|---|---|---|---|---|"],
    )
    for epsilon, delta in ((1, 1e-3), (1, 1e-6), (0.1, 1e-6), (4, 1e-6)):
        bought = {
            name: calibrate_rounds(Budget(epsilon, delta), rounds, accountant=name)
            for name in ("paper", "zcdp", "optimal")
        }
        allowed = {name: f"{found.eps0 * rounds**0.5:.4f}" for name, found in bought.items()}
        true = accountant("optimal").epsilon(bought["paper"].event, delta)
        lines.append(
            f"| ε = {epsilon:g}, δ = {delta:g} | {allowed['paper']} | {true:.2f} | {allowed['zcdp']} "
            f"| {allowed['optimal']} |"
        )
    return "\n".join(lines)


def growth() -> str:
    """A table of docs/growth.json, with the exponent of each line."""
    from benchmarks.growth import exponent

    measured = json.loads((ROOT / "docs" / "growth.json").read_text())
    lines = ["| what | held | varied | time | scores a round | exponent |", "|---|---|---|---|---|---|"]
    for line in measured["lines"]:
        values, seconds, scores = line["values"], line["seconds"], line["scores"]
        seen = "" if scores[0] is None else f"{round(scores[0]):,} → {round(scores[-1]):,}"
        lines.append(
            f"| {line['name']} | {line['held']} | {line['varies']}: {values[0]:,} → {values[-1]:,} "
            f"| {short(seconds[0])} → {short(seconds[-1])} | {seen} | {exponent(values, seconds):.2f} |"
        )
    return "\n".join([*lines, "", f"*Measured on {measured['machine']}.*"])


def experiment(name: str) -> str:
    """The figure of an experiment of `fastmwem reproduce`, what its record says, and how it was made."""
    from fastmwem.lab import find, reproduce

    each = find(name)
    rows = reproduce.recorded(each, ROOT / "docs" / reproduce.SHOWN, "paper")
    if rows is None:
        raise RuntimeError(f"docs/{reproduce.SHOWN} has no record of {name}")
    config = each.configs["paper"]
    figure = f"![{each.title}]({reproduce.SHOWN}/{name}.svg)"
    return f"{figure}\n\n{each.finding(config, rows)}\n\n*{each.caption(config)}*"


def short(seconds: float) -> str:
    """A time to two digits.

    >>> short(0.0000142)
    '14 µs'
    """
    unit, size = next(
        (u, s) for u, s in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)) if seconds >= s or s == 1e-6
    )
    return f"{float(f'{seconds / size:.2g}'):g} {unit}"


def file(path: str) -> str:
    """A file, as a block of code."""
    kind = {"py": "python"}.get(path.rpartition(".")[2], path.rpartition(".")[2])
    return f"```{kind}\n{(ROOT / path).read_text().rstrip()}\n```"
