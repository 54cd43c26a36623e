"""Docstrings as Markdown, for the reference and for pages that quote them."""

from __future__ import annotations

import re


def markdown(text: str) -> str:
    r"""The same text, with what Markdown would take for something else kept as it is.

    Examples become code (a bare `>>>` is a quotation), `<` stays a sign, a product's `*` no emphasis.

    >>> markdown("*If* 2*a < p* < 3*b*c\n\n>>> 1 + 1\n2")
    '*If* 2\\*a &lt; p\\* &lt; 3\\*b\\*c\n\n```pycon\n>>> 1 + 1\n2\n```'
    """
    return "\n\n".join(map(_paragraph, text.split("\n\n")))


def without_examples(text: str) -> str:
    """Without the paragraphs that are doctests."""
    return "\n\n".join(part for part in text.split("\n\n") if not part.lstrip().startswith(">>>"))


def _paragraph(text: str) -> str:
    if text.lstrip().startswith(">>>"):
        return f"```pycon\n{text}\n```"
    return "\n".join(line if line.startswith("    ") else _line(line) for line in text.split("\n"))


# What is meant as emphasis: *words* or **words**, with nothing of a formula at either end.
_EMPHASIS = re.compile(r"(?<![\w*)\]])(\*\*?)(?=\w)([^*]*[\w.,:;?!)])\1(?![\w*])")


def _line(line: str) -> str:
    """Outside of `code`: escaped. A line that begins with `* ` is an item of a list."""
    if line.lstrip().startswith("* "):
        head, item, rest = line.partition("* ")
        return head + item + _line(rest)
    pieces = line.split("`")
    for i in range(0, len(pieces), 2):
        kept = _EMPHASIS.sub(lambda found: found[0].replace("*", "\0"), pieces[i])
        pieces[i] = kept.replace("<", "&lt;").replace("*", r"\*").replace("\0", "*")
    return "`".join(pieces)
