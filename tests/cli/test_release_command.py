"""`fastmwem release` from the shell's side: the files, and every way in which its input may be wrong."""

import json
import os
import re
import signal
from importlib.resources import files
from pathlib import Path

import jsonschema
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fastmwem.cli.main import run
from fastmwem.privacy.account_file import Account
from fastmwem.privacy.budget import Budget

DOMAIN = """
[age]
type = "integer"
low = 0
high = 99
width = 20

[sex]
type = "categorical"
values = ["female", "male"]
other = "category"

[seen]
type = "date"
low = 2020-01-01
high = 2020-12-31
unit = "quarter"
null = true
"""
SENTINEL = "Zq7xPrivate"
ROWS = [f"{20 + i % 60},{('female', 'male')[i % 2]},2020-{1 + i % 12:02d}-15" for i in range(200)]
FILES = {
    "answers.parquet",
    "domain.toml",
    "histogram.parquet",
    "privacy.json",
    "release.npz",
    "report.html",
    "synthetic.csv",
}


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("domain.toml").write_text(DOMAIN)
    Path("people.csv").write_text("\n".join(["age,sex,seen", *ROWS]) + "\n")
    Account.create("budget.jsonl", Budget(5, 1e-6), "zcdp")
    return tmp_path


def arguments(**changed):
    options = {
        "data": "people.csv",
        "domain": "domain.toml",
        "workload": "marginals:2",
        "epsilon": "1",
        "delta": "1e-6",
        "out": "out",
        "method": "mwem",
        "rounds": "10",
    } | changed
    words = ["release", options.pop("data")]
    for name, value in options.items():
        if value is not None:
            words += [f"--{name.replace('_', '-')}", value]
    return words


def test_writes_files_that_other_tools_read(home, capsys):
    assert run([*arguments(ledger="budget.jsonl", rows="150"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert {p.name for p in (home / "out").iterdir()} == FILES
    assert set(said["files"]) == FILES
    answers = pq.read_table(home / "out/answers.parquet")
    assert "sex=female" in answers["query"].to_pylist()[0]
    synthetic = pyarrow.csv.read_csv(home / "out/synthetic.csv")
    assert synthetic.num_rows == 150
    assert [str(field.type) for field in synthetic.schema] == ["int64", "string", "date32[day]"]
    assert len(Account("budget.jsonl").runs()) == 1


def test_a_whole_account_can_be_spent_on_one_run(home, capsys):
    """An account counts in zCDP, and a run that is charged to it is calibrated as it counts."""
    Account.create("one.jsonl", Budget(1, 1e-6))
    assert run([*arguments(ledger="one.jsonl"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["privacy"]["accountant"] == "zcdp"
    assert 0.999 < Account("one.jsonl").spent() <= 1
    assert run([*arguments(ledger="one.jsonl", out="again", epsilon="0.01"), "--json"]) == 3


def test_privacy_json_keeps_to_its_schema(home):
    assert run(arguments()) == 0
    schema = json.loads((files("fastmwem.results") / "privacy.schema.json").read_text())
    said = json.loads(Path("out/privacy.json").read_text())
    jsonschema.validate(said, schema)
    assert set(said) == set(schema["properties"])
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(said | {"epsilon": "1"}, schema)


def test_a_config_file_holds_every_option_and_the_command_line_wins(home, capsys):
    lines = {
        "data": "people.csv",
        "domain": "domain.toml",
        "workload": "marginals:1",
        "out": "other",
        "method": "mwem",
    }
    text = "".join(f'{key} = "{value}"\n' for key, value in lines.items())
    Path("release.toml").write_text(text + "epsilon = 1\ndelta = 1e-6\nrounds = 5\n")
    assert run(["release", "--config", "release.toml", "--out", "out"]) == 0
    assert Path("out").is_dir()
    assert not Path("other").exists()
    assert "--workload marginals:1" in Path("out/report.html").read_text()
    assert run(arguments(data=str(home / "people.csv"), out=str(home / "again"))) == 0
    again = Path("again/report.html").read_text()
    assert "fastmwem release people.csv" in again
    assert str(home) not in again  # a reader need not know where the table lies
    capsys.readouterr()
    Path("release.toml").write_text('colour = "blue"')
    assert run(["release", "--config", "release.toml"]) == 2
    assert "'colour' is no option" in capsys.readouterr().err


def test_a_domain_too_large_to_hold_takes_a_public_table_for_its_cells(home, capsys):
    columns = [f"q{j}" for j in range(17)]
    Path("wide.toml").write_text(
        "".join(f'[{name}]\ntype = "integer"\nlow = 0\nhigh = 9\n' for name in columns)
    )
    rows = [",".join(str((i * (j + 3)) % 10) for j in range(17)) for i in range(120)]
    Path("wide.csv").write_text("\n".join([",".join(columns), *rows]) + "\n")
    Path("census.csv").write_text("\n".join([",".join(["year", *columns]), *("1990," + r for r in rows[:7])]))
    asked = {"data": "wide.csv", "domain": "wide.toml", "workload": "marginals:1 + prefixes:q3"}
    assert run(arguments(**asked)) == 2
    assert "support" in capsys.readouterr().err
    assert run(arguments(**asked, support="census.csv", method="direct", rounds=None)) == 0
    assert pq.read_table("out/histogram.parquet").num_rows <= 7
    assert "not represented" in Path("out/privacy.json").read_text()
    assert "--support census.csv" in Path("out/report.html").read_text()
    Path("census.csv").write_text(",".join(columns))
    assert run(arguments(**asked, support="census.csv", out="other")) == 1
    assert "support has no rows" in capsys.readouterr().err


def test_overwrites_only_when_told(home):
    assert run(arguments()) == 0
    first = Path("out/answers.parquet").read_bytes()
    assert run(arguments()) == 2
    assert Path("out/answers.parquet").read_bytes() == first
    assert run([*arguments(), "--overwrite"]) == 0
    assert Path("out/answers.parquet").read_bytes() != first


def write(name, text):
    Path(name).write_text(text)


HEAD = "age,sex,seen\n"
WRONG = {
    "missing file": (lambda: {"data": "none.csv"}, 1, "does not exist"),
    "empty file": (lambda: {"data": write("e.csv", "") or "e.csv"}, 1, "is empty"),
    "header only": (lambda: {"data": write("e.csv", HEAD) or "e.csv"}, 1, "no rows"),
    "wrong delimiter": (
        lambda: {"data": write("e.csv", f"age;sex;seen\n20;{SENTINEL};x") or "e.csv"},
        1,
        "separated by commas",
    ),
    "no header": (lambda: {"data": write("e.csv", f"20,{SENTINEL},x\n") or "e.csv"}, 1, "no column 'age'"),
    "column not in the domain": (
        lambda: {"data": write("e.csv", f"age,sex,seen,{SENTINEL}\n1,male,,{SENTINEL}") or "e.csv"},
        1,
        "1 column that the domain does not declare",
    ),
    "column not in the table": (
        lambda: {"data": write("e.csv", "age,sex\n20,male") or "e.csv"},
        1,
        "no column 'seen'",
    ),
    "domain too large": (
        lambda: {
            "domain": write(
                "big.toml",
                "".join(f'[{c}]\ntype = "integer"\nlow = 0\nhigh = 999999\n' for c in ("age", "sex", "seen")),
            )
            or "big.toml"
        },
        2,
        "1e\\+18 cells|1,000,000,000,000,000,000 cells",
    ),
    "domain file with a mistake": (
        lambda: {"domain": write("d.toml", "[age]\ntype = 'x'") or "d.toml"},
        2,
        "d.toml:2:1: ",
    ),
    "no domain file": (lambda: {"domain": "none.toml"}, 2, "domain new"),
    "epsilon -1": (lambda: {"epsilon": "-1"}, 2, "epsilon must be above 0"),
    "epsilon nan": (lambda: {"epsilon": "nan"}, 2, "epsilon must be above 0"),
    "epsilon in words": (lambda: {"epsilon": "one"}, 2, "--epsilon"),
    "delta 2": (lambda: {"delta": "2"}, 2, "delta must lie"),
    "no epsilon": (lambda: {"epsilon": None}, 2, "pass --epsilon"),
    "workload": (lambda: {"workload": "marginals:99"}, 2, "from 1 to 3"),
    "method": (lambda: {"method": "magic"}, 2, "method must be one of"),
    "rows": (lambda: {"rows": "0"}, 2, "rows must be"),
    "person without bound": (lambda: {"person": "sex"}, 2, "person"),
    "engine": (lambda: {"engine": "sparc"}, 2, "engine must be"),
    "existing directory": (lambda: {"out": str(Path("there").mkdir() or "there")}, 2, "--overwrite"),
    "unwritable directory": (lambda: {"out": "people.csv/out"}, 2, "cannot be written"),
    "ledger exhausted": (
        lambda: Account.create("p.jsonl", Budget(0.1, 1e-6)) and {"ledger": "p.jsonl"},
        3,
        "lower",
    ),
    "ledger corrupt": (lambda: {"ledger": write("c.jsonl", "{}\n") or "c.jsonl"}, 3, "corrupt at line 1"),
    "no ledger": (lambda: {"ledger": "none.jsonl"}, 3, "--create"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_input_is_one_sentence_and_changes_nothing(home, name, capsys):
    make, code, says = WRONG[name]
    changed = make()
    ledger = {} if "ledger" in changed else {"ledger": "budget.jsonl"}
    before = {p: p.read_bytes() for p in home.rglob("*") if p.is_file()}
    assert run(arguments(**ledger, **changed)) == code
    out, err = capsys.readouterr()
    complaint = [line for line in err.splitlines() if "queries on" not in line and "predicted" not in line]
    assert len(complaint) == 1, err

    assert re.search(says, complaint[0]), complaint[0]
    assert SENTINEL not in out + err
    assert {p: p.read_bytes() for p in home.rglob("*") if p.is_file()} == before


@pytest.mark.parametrize(
    "value", [f"1,{SENTINEL},2020-01-01", f"{SENTINEL},male,{SENTINEL}", "nan,male,", "inf,,x", "-1e9,é"]
)
def test_values_that_nobody_declared_go_where_the_domain_says(home, value, capsys):
    """Not an error, which would tell of the row; the release is made, without the value."""
    write("odd.csv", HEAD + "\n".join([*ROWS, value]))
    assert run(arguments(data="odd.csv")) == 0
    out, err = capsys.readouterr()
    assert SENTINEL not in out + err + everything("out")


def everything(folder):
    """All that the files hold, also inside Parquet's compression."""
    text = []
    for path in Path(folder).iterdir():
        text.append(path.read_bytes().decode("latin-1"))
        if path.suffix == ".parquet":
            text.append(str(pq.read_table(path).to_pydict()))
    return "".join(text)


@pytest.mark.parametrize("stop", ["disk full", "ctrl-c", "ctrl-c in the rounds"])
def test_stopped_while_working_leaves_nothing_and_spends_nothing(home, stop, monkeypatch, capsys):
    def fail(*args, **kwargs):
        if stop == "disk full":
            raise OSError(28, "No space left on device")
        os.kill(os.getpid(), signal.SIGINT)
        signal.sigtimedwait([], 1)

    place = "mwem.play" if stop == "ctrl-c in the rounds" else None
    monkeypatch.setattr(
        f"fastmwem.problems.{place}" if place else "fastmwem.results.write.render_report", fail
    )
    before = sorted(os.listdir())
    assert run(arguments(ledger="budget.jsonl")) == (1 if stop == "disk full" else 130)
    err = capsys.readouterr().err
    assert ("No space left on device; nothing was released" if stop == "disk full" else "Ctrl-C") in err
    assert sorted(os.listdir()) == before
    assert Account("budget.jsonl").spent() == 0


_cell = st.one_of(
    st.just(SENTINEL),
    st.sampled_from(
        ["20", "male", "", f"'{SENTINEL}'", f"{SENTINEL}\n{SENTINEL}", f'{SENTINEL}"', "\x00", "é"]
    ),
)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.lists(_cell, min_size=1, max_size=5), min_size=1, max_size=6), quoted=st.booleans())
def test_a_private_value_is_in_no_output(home, rows, quoted, capsys):
    """Bad rows, ragged rows, broken quotes: the sentinel is neither in the files nor in what is said."""
    lines = [",".join(f'"{cell}"' if quoted else cell for cell in row) for row in rows]
    write("odd.csv", HEAD + "\n".join([*ROWS[:5], *lines]))
    code = run([*arguments(data="odd.csv", rounds="3"), "--overwrite"])
    out, err = capsys.readouterr()
    assert SENTINEL not in out + err
    assert "unexpected" not in err
    assert code in (0, 1)
    if code == 0:
        assert SENTINEL not in everything("out")
