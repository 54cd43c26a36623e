"""The documentation says what is true: its code runs, its commands work, what it quotes exists."""

import doctest
import re
import shlex
from pathlib import Path

import pytest

from fastmwem.cli.main import COMMANDS, run
from tools import docs_hook, docstrings

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page, language):
    return [code for lang, code in BLOCK.findall(page.read_text()) if lang == language]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where a reader tries things out."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_code_of_a_page_runs_from_top_to_bottom(page, folder):
    """Every ```python block, one after the other in one session, then every `fastmwem` line of ```sh."""
    session = {"__name__": "__main__"}
    for code in blocks(page, "python"):
        exec(compile(code, page.name, "exec"), session)
    for line in "".join(blocks(page, "sh")).replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["fastmwem"]:
            assert run(words[1:]) == 0, line


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_takes_from_the_code_is_there(page):
    made = docs_hook.on_page_markdown(page.read_text())
    assert not re.search(r"<!-- [a-z]", made)


@pytest.mark.parametrize("module", [docs_hook, docstrings], ids=lambda module: module.__name__)
def test_the_examples_of_the_tools(module):
    assert doctest.testmod(module).failed == 0


def test_the_page_of_commands_has_them_all():
    made = docs_hook.commands()
    for name in COMMANDS:
        assert f"Usage: fastmwem {name} " in made


def test_every_test_that_a_page_names_exists():
    """Pages name tests as `tests/PATH.py::NAME`, which a reader can hand to pytest."""
    named = {
        reference
        for page in PAGES
        for reference in re.findall(r"`(tests/[\w/]+\.py(?:::\w+)*)`", page.read_text())
    }
    assert named
    for reference in named:
        path, *names = reference.split("::")
        source = (ROOT / path).read_text()
        for name in names:
            assert re.search(rf"^\s*(def|class) {name}\b", source, re.MULTILINE), reference


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_links_to_is_in_the_repository(page):
    for target in re.findall(r"\]\((?!https?:)([^)#\s]+)[^)]*\)", page.read_text()):
        assert (page.parent / target).exists(), target
