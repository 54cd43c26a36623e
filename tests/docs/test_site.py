"""The built site: no warning, nothing fetched from elsewhere, every page looks like a page."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytest.importorskip("mkdocs", reason="the docs extra is not installed")
pytest.importorskip("latex2mathml", reason="the docs extra is not installed")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder],
        cwd=ROOT,
        env={"PATH": "", "NO_MKDOCS_2_WARNING": "1"},
        check=True,
        timeout=300,
    )
    return folder


def test_nothing_is_fetched_from_elsewhere(site):
    for page in site.glob("*.html"):
        loaded = re.findall(r'<(?:script|img|iframe|source)[^>]*\bsrc="([^"]+)', page.read_text())
        loaded += re.findall(
            r'<link[^>]*rel="(?:stylesheet|icon|preconnect)"[^>]*href="([^"]+)', page.read_text()
        )
        assert loaded
        assert not [address for address in loaded if address.startswith(("http", "//"))], page.name
    for style in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", style.read_text()), style


def test_formulas_are_mathml(site):
    page = (site / "mathematics.html").read_text()
    assert page.count("<math") > 100
    assert "arithmatex" not in page
    assert "$" not in re.sub(r"<(script|pre|code).*?</\1>", "", page, flags=re.DOTALL)


def test_every_command_and_public_name_is_on_its_page(site):
    import fastmwem
    from fastmwem.cli.main import COMMANDS

    reference, commands = (site / "api.html").read_text(), (site / "cli.html").read_text()
    for name, module in fastmwem._PUBLIC.items():
        assert f'id="fastmwem.{module}.{name}"' in reference
    for name in COMMANDS:
        assert f'id="fastmwem-{name}"' in commands
