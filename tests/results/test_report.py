"""The report as readers meet it: what it says, what it must not say, and how it looks in a browser."""

import http.server
import re
import subprocess
import threading
from html.parser import HTMLParser

import matplotlib.image
import numpy as np
import pyarrow as pa
import pytest

import fastmwem as fm
from fastmwem.results.report import render_report
from fastmwem.results.write import write_release

METHODS = {
    "mwem": {"rounds": 300},
    "measured": {},
    "direct": {},
    "histogram": {},
}
DOMAIN = fm.Domain(
    (
        fm.Column.integer("age", 0, 99, width=10),
        fm.Column.categorical("work", ["employed", "self-employed", "<b>none</b> & none"], null=True),
        fm.Column.integer("hour", 0, 59),
    )
)


def make(method, **options):
    random = np.random.default_rng(5)
    work = np.array(["employed", "self-employed", "<b>none</b> & none", None], dtype=object)
    age = random.integers(0, 100, 4000)
    table = pa.table(
        {
            "age": age,
            "work": pa.array(work[np.minimum(age // 30, random.integers(0, 4, 4000))]),
            "hour": random.binomial(59, 0.4, 4000),
        }
    )
    workload = fm.marginals(DOMAIN, k=1) + fm.marginals(DOMAIN, k=2)
    return fm.release(table, workload, epsilon=1, delta=1e-6, method=method, **METHODS[method], **options)


@pytest.fixture(scope="module", params=METHODS)
def release(request):
    return make(request.param)


@pytest.fixture(scope="module")
def page(release):
    return render_report(release, title="People & <work>", repeat="fastmwem release x.csv", notes=["a note"])


class _Outline(HTMLParser):
    """Tags are closed in order; collects headings, addresses and the names of elements."""

    def __init__(self, text):
        super().__init__()
        self.open, self.headings, self.addresses, self.elements = [], [], [], set()
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.elements.add(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href", "action", "data")]
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if self.open and self.open[-1] == "h2":
            self.headings.append(text)


def test_a_page_is_sound_and_says_all_that_a_reader_needs(page, release):
    outline = _Outline(page)
    wanted = ["guarantee means", "columns look", "columns go together", "error bounds", "is public", "repeat"]
    assert all(any(part in heading for heading in outline.headings) for part in [*wanted, "cite"])
    assert outline.addresses == ["data:,"]
    assert not outline.elements & {"script", "img", "iframe", "object", "form"}
    assert "People &amp; &lt;work&gt;" in page
    assert "<b>none" not in page
    assert f"ε = {release.report.epsilon:.6g}" in page
    assert "10⁻⁶" in page
    assert "fastmwem release x.csv" in page
    assert "<li>a note</li>" in page


def test_rounds_show_how_the_public_answers_moved(page, release):
    assert ("What the rounds looked at" in page) == (release.method in ("mwem", "measured"))
    if release.method == "mwem":
        rounds, moves = release.details["course"]
        assert (rounds[0], rounds[-1]) == (0, 300)
        assert len(moves) == 6
        assert page.count("<polyline") == 6
        name, course = moves[0]
        assert course[0] == pytest.approx(
            1 / DOMAIN[name.split("=")[0]].size if "," not in name else course[0]
        )
        assert "In 300 rounds" in page
    if release.method == "measured":
        assert release.details["selected"]
        assert set(release.details["selected"]) <= set(release.describe(range(len(release.values))))


def test_nothing_that_depends_on_private_data_beyond_the_ledger_is_said(page):
    """Neither times nor counts of work done."""
    assert not re.search(r"second|minute|evaluat|\bms\b|recall", re.sub(r"<style>.*?</style>", "", page))


def test_a_seeded_release_says_first_that_it_is_not_private():
    page = render_report(make("direct", randomness=fm.Randomness.seeded(1)))
    assert '<p class="warning">This release is NOT private' in page
    assert "almost as likely" not in page


def test_notebooks_show_releases_plans_and_programs(release):
    plan = fm.plan(release.workload, n=4000, epsilon=1, delta=1e-6)
    random = np.random.default_rng(6)
    rows = random.random((50, 4))
    program = fm.solve_scalar_private(rows, rows.mean(axis=1) + 0.1, sensitivity=1e-3, epsilon=1, delta=1e-6)
    shown = [shows._repr_html_() for shows in (release, plan, program)]
    for text, says in zip(shown, ("private answers", "mwem", "objective"), strict=True):
        assert not _Outline(text).addresses
        assert says in text
        assert "<body" not in text
    assert shown[0].count("<figure>") == 3
    assert shown[1].count("<svg") == len(plan.predictions)


BROWSERS_OWN = ("google", "gvt1.com")  # what Chromium asks for by itself


class _Proxy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        self.send_error(404)

    do_CONNECT = do_GET

    def log_message(self, *args):
        pass


@pytest.fixture
def look(browser, tmp_path):
    """Opens a page: its picture, the console's lines, and the addresses that were asked for."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Proxy)
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def opened(text, width=900, height=1400, flags=()):
        (tmp_path / "page.html").write_text(text, encoding="utf-8")
        server.asked.clear()
        command = [
            *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
            *("--disable-component-update", "--no-first-run", "--hide-scrollbars", "--enable-logging=stderr"),
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--proxy-server=127.0.0.1:{server.server_port}",
            f"--window-size={width},{height}",
            f"--screenshot={tmp_path / 'page.png'}",
            *flags,
            (tmp_path / "page.html").as_uri(),
        ]
        said = subprocess.run(command, capture_output=True, text=True, timeout=120).stderr
        console = [line for line in said.splitlines() if "CONSOLE" in line]
        picture = matplotlib.image.imread(tmp_path / "page.png")[..., :3]
        asked = [url for url in server.asked if not any(host in url for host in BROWSERS_OWN)]
        return picture, console, asked

    yield opened
    server.shutdown()
    server.server_close()


@pytest.mark.browser
def test_it_renders_offline_in_light_and_dark(look):
    text = render_report(make("mwem"), title="A table")
    light, console, asked = look(text)
    dark, *_ = look(text, flags=["--blink-settings=preferredColorScheme=0"])
    assert console == asked == []
    assert light.shape == dark.shape == (1400, 900, 3)
    assert light[5, 5].tolist() == [1, 1, 1]
    assert dark[5, 5].max() < 0.2
    for picture in (light, dark):  # neither blank nor noise: a few per cent of it is ink
        ink = (np.abs(picture - picture[5, 5]).max(axis=2) > 0.3).mean()
        assert 0.01 < ink < 0.5
    main = np.array([0x1F, 0x5F, 0x99]) / 255  # the colour of bars
    assert (np.abs(light - main).max(axis=2) < 0.01).sum() > 5000


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 900])
def test_it_fits_a_phone(look, width):
    """The page is put into a frame, which says on the console how wide its content is."""
    text = render_report(make("measured"), title="A table", repeat="fastmwem release " + "word " * 40)
    frame = text.replace("&", "&amp;").replace('"', "&quot;")
    script = (
        "const f = document.querySelector('iframe');"
        "f.onload = () => console.log('wide', f.contentDocument.documentElement.scrollWidth)"
    )
    _, console, _ = look(
        f'<!doctype html><iframe style="width:{width}px;height:900px;border:0" srcdoc="{frame}"></iframe>'
        f"<script>{script}</script>",
        width=1000,
    )
    assert [int(w) for line in console for w in re.findall(r"wide (\d+)", line)] == [width]


@pytest.mark.browser
def test_a_page_that_asks_or_complains_would_be_caught(look):
    """The negative control."""
    _, console, asked = look(
        '<img src="http://elsewhere.example/x.png"><script>console.error("wrong")</script>'
    )
    assert any("wrong" in line for line in console)
    assert any("elsewhere.example" in url for url in asked)


def test_files_are_what_other_tools_read(release, tmp_path):
    """Arrow tables convert; a query is named by column = value; synthetic rows have values and types."""
    import pandas
    import polars
    import pyarrow.csv

    assert isinstance(release.answers.to_pandas(), pandas.DataFrame)
    assert polars.from_arrow(release.histogram).height > 0
    assert "age=0..9, work=employed" in release.answers["query"].to_pylist()
    write_release(tmp_path, release, DOMAIN, rows=500)
    rows = pyarrow.csv.read_csv(
        tmp_path / "synthetic.csv", convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True)
    )
    assert [str(field.type) for field in rows.schema] == ["int64", "string", "int64"]
    assert set(rows["work"].to_pylist()) <= {*DOMAIN["work"].partition.values, None}
    assert rows["work"].null_count > 0
    assert rows["age"].to_numpy().max() <= 99
    assert len(set(rows["age"].to_pylist())) > 10  # drawn inside their cells
