"""Docstrings as the reference shows them: an extension of Griffe, which reads them for mkdocstrings."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import griffe

sys.path.insert(0, str(Path(__file__).parents[1]))  # Griffe loads this file by its path

from tools.docstrings import markdown


class Docstrings(griffe.Extension):
    """Makes Markdown of each."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)
