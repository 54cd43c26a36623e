"""The page on the reproduction: made from the records beside its figures, and no number from elsewhere."""

import re
import shutil
from pathlib import Path

import pytest

from fastmwem.lab import EXPERIMENTS, find
from fastmwem.lab import reproduce as lab

DOCS = Path(__file__).parents[2] / "docs"
RECORDS = DOCS / lab.SHOWN


def test_the_page_is_what_the_records_make():
    page = (DOCS / lab.PAGE).read_text(encoding="utf-8")
    assert page == lab.page(RECORDS, "paper")
    assert all(f"\n## {name}\n" in page for name in EXPERIMENTS)
    assert "nan" not in page


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_figure_is_what_its_record_makes(name, tmp_path):
    """The same words and numbers; where strokes lie may differ between versions of matplotlib."""
    each = find(name)
    shutil.copy(RECORDS / f"{each.key}.parquet", tmp_path)
    drawn = lab.draw(each, tmp_path, "paper").read_text()
    assert words(drawn) == words((RECORDS / f"{name}.svg").read_text())


def words(figure):
    """What is written in a figure: labels, legends, the numbers on axes."""
    return re.findall(r"<text[^>]*>([^<]*)</text>", figure)
