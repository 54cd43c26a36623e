"""Building blocks of pages and notebook cells: escaped text, tables, figures, and one style sheet.

Everything a page needs is inside it: no script, no font, no image from elsewhere, so it opens offline,
prints, and follows the reader's light or dark setting. A notebook shows the same blocks as a fragment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from importlib.resources import files

__all__ = [
    "Drawing",
    "facts",
    "figure",
    "fragment",
    "number",
    "page",
    "paragraph",
    "power",
    "section",
    "small_bytes",
    "table",
]


def paragraph(text: str) -> str:
    """A paragraph of plain text."""
    return f"<p>{escape(text)}</p>"


def section(title: str, *blocks: str) -> str:
    """A titled section; empty blocks fall away, and an empty section with them."""
    inside = "\n".join(block for block in blocks if block)
    return f"<section><h2>{escape(title)}</h2>\n{inside}\n</section>" if inside else ""


def facts(items: Iterable[tuple[str, str]]) -> str:
    """A row of key figures: a large value over what it is."""
    cells = "".join(f"<div><dd>{escape(value)}</dd><dt>{escape(name)}</dt></div>" for name, value in items)
    return f'<dl class="facts">{cells}</dl>'


class Drawing(str):
    """Markup that goes into a table as it is: every other cell is text."""


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], numeric: Iterable[int] = ()) -> str:
    """A table of text; the columns whose positions are in `numeric` are set flush right."""
    right = set(numeric)

    def line(tag: str, cells: Sequence[str]) -> str:
        marks = (' class="n"' if k in right else "" for k in range(len(cells)))
        texts = (cell if isinstance(cell, Drawing) else escape(cell) for cell in cells)
        return "<tr>" + "".join(f"<{tag}{m}>{c}</{tag}>" for m, c in zip(marks, texts, strict=True)) + "</tr>"

    body = "".join(line("td", row) for row in rows)
    head = f"<thead>{line('th', columns)}</thead>" if any(columns) else ""
    return f'<div class="wide"><table>{head}<tbody>{body}</tbody></table></div>' if body else ""


def figure(caption: str, drawing: str) -> str:
    """A drawing with its caption."""
    return f"<figure><figcaption>{escape(caption)}</figcaption>{drawing}</figure>"


def number(value: float, digits: int = 3) -> str:
    """A number as people write it: thousands apart, `digits` that say something, no exponent near 1.

    >>> number(48842.0), number(0.00123456), number(1e-6)
    ('48,842', '0.00123', '1e-06')
    """
    if value != value or value in (float("inf"), float("-inf")):
        return "unbounded" if value > 0 else "–"
    if abs(value) >= 1000 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def power(value: float) -> str:
    """A small probability as people write it.

    >>> power(1e-6), power(2.5e-7), power(0.01)
    ('10⁻⁶', '2.5 · 10⁻⁷', '0.01')
    """
    if not 0 < value < 1e-3:
        return f"{value:g}"
    digits, exponent = f"{value:e}".split("e")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if float(digits) == 1 else f"{float(digits):g} · 10{raised}"


def small_bytes(size: float) -> str:
    """A memory size in a unit that suits it."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} TB"


def page(title: str, subtitle: str, *blocks: str) -> str:
    """A whole page."""
    body = "\n".join(block for block in blocks if block)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<link rel="icon" href="data:,">\n'  # without it, browsers ask the server for one
        f"<title>{escape(title)}</title>\n<style>{_style('blocks')}{_style('page')}</style></head>\n"
        f'<body class="fastmwem"><main><header><h1>{escape(title)}</h1>'
        f'<p class="lead">{escape(subtitle)}</p></header>\n{body}\n</main></body></html>\n'
    )


def fragment(title: str, *blocks: str) -> str:
    """The same blocks for a notebook cell."""
    body = "\n".join(block for block in blocks if block)
    return f'<div class="fastmwem cell"><style>{_style("blocks")}</style><h3>{escape(title)}</h3>{body}</div>'


@cache
def _style(name: str) -> str:
    return (files("fastmwem.results") / f"{name}.css").read_text("utf-8")
