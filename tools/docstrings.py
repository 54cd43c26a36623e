"""Docstrings as Markdown, for the reference and for pages that quote them."""

from __future__ import annotations

import re


def markdown(text: str) -> str:
    r"""The same text, with what Markdown would take for something else kept as it is.

    Examples become code (a bare `>>>` is a quotation), `<` stays a sign, a product's `*` no emphasis.

    >>> markdown("2*a < 3*b\n\n>>> 1 + 1\n2")
    '2\\*a &lt; 3\\*b\n\n```pycon\n>>> 1 + 1\n2\n```'
    """
    return "\n\n".join(map(_paragraph, text.split("\n\n")))


def without_examples(text: str) -> str:
    """Without the paragraphs that are doctests."""
    return "\n\n".join(part for part in text.split("\n\n") if not part.lstrip().startswith(">>>"))


def _paragraph(text: str) -> str:
    if text.lstrip().startswith(">>>"):
        return f"```pycon\n{text}\n```"
    return "\n".join(line if line.startswith("    ") else _line(line) for line in text.split("\n"))


def _line(line: str) -> str:
    """Outside of `code`: escaped."""
    pieces = line.split("`")
    for i in range(0, len(pieces), 2):
        pieces[i] = re.sub(r"(?<=\w)\*(?=\w)", r"\\*", pieces[i].replace("<", "&lt;"))
    return "`".join(pieces)
