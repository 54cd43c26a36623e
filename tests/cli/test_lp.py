"""`fastmwem lp`, by way of its entry point."""

import csv
import json

import numpy as np
import pytest

from fastmwem.cli.main import run

MPS = """NAME          TWO
ROWS
 N  COST
 L  ONE
 L  BOTH
COLUMNS
    X         COST         1.0   ONE          1.0
    X         BOTH         1.0
    Y         COST         1.0   BOTH         1.0
RHS
    RHS       ONE          0.31715926  BOTH         0.8
ENDATA
"""
BUDGET = ("--epsilon", "1", "--delta", "1e-6")


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.mps"
    path.write_text(MPS)
    return str(path)


@pytest.fixture
def baskets(tmp_path):
    rng = np.random.default_rng(1)
    names = [f"item{j}" for j in range(8)]
    lines = [",".join(rng.choice(names, int(rng.integers(1, 4)), replace=False)) for _ in range(2_000)]
    (tmp_path / "baskets.txt").write_text("\n".join([*lines, "unheard-of", "item0,item0"]))
    (tmp_path / "items.txt").write_text("\n".join(names))
    return [str(tmp_path / "baskets.txt"), "--private", "rows", "--items", str(tmp_path / "items.txt")]


ROWS = ("--opt", "4", "--max-violated", "400", "--max-rows", "2500", *BUDGET)


def test_a_model_with_a_private_right_hand_side(model, tmp_path, capsys):
    out = tmp_path / "out"
    arguments = ["--private", "rhs", "--sensitivity", "1e-4", "--radius", "2", "--opt", "0.5", *BUDGET]
    assert run(["lp", model, *arguments, "--out", str(out)]) == 0
    assert sorted(p.name for p in out.iterdir()) == ["privacy.json", "report.html", "x.csv"]
    with open(out / "x.csv", newline="") as lines:
        rows = list(csv.reader(lines))
    assert [name for name, _ in rows] == ["variable", "X", "Y"]
    assert float(rows[1][1]) + float(rows[2][1]) < 1.1
    said = json.loads((out / "privacy.json").read_text())
    assert said["private"]
    assert said["epsilon"] <= 1
    everything = capsys.readouterr()
    for text in (everything.out, everything.err, (out / "report.html").read_text(), json.dumps(said)):
        assert "0.31715" not in text  # nothing noisy is said to so many digits


def test_the_report_names_the_rows_that_were_picked(tmp_path):
    rows = "".join(f" L R{i}\n" for i in range(400))
    entries = "".join(f" X R{i} {i % 7}\n" for i in range(400)) + "".join(
        f" Y R{i} {i % 5}\n" for i in range(400)
    )
    rhs = "".join(f" RHS R{i} 0.5\n" for i in range(400))
    path = tmp_path / "wide.mps"
    path.write_text(f"NAME WIDE\nROWS\n N COST\n{rows}COLUMNS\n{entries}RHS\n{rhs}ENDATA\n")
    options = ["--private", "rhs", "--sensitivity", "1e-2", "--radius", "2", *BUDGET, "--quiet"]
    assert run(["lp", str(path), *options, "--out", str(tmp_path / "out")]) == 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "picked" in page
    assert ">R" in page
    assert ">row " not in page


def test_baskets_of_people(baskets, tmp_path, capsys):
    out = tmp_path / "out"
    assert run(["lp", *baskets, *ROWS, "--certificate", "--json", "--out", str(out)]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["fun"] == pytest.approx(4)
    assert "fewer than 400 rows" in said["message"]
    assert "2002" not in (out / "report.html").read_text() + (out / "privacy.json").read_text()
    assert "item3" in (out / "report.html").read_text()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_tables_of_people(kind, tmp_path, capsys):
    rng = np.random.default_rng(2)
    table = {"b": rng.uniform(0.5, 1, 500), "u": rng.random(500), "v": rng.random(500)}
    path = tmp_path / f"people.{kind}"
    if kind == "csv":
        lines = ["b,u,v", *(f"{b},{u},{v}" for b, u, v in zip(*table.values(), strict=True)), "much,,1", "1"]
        path.write_text("\n".join(lines))
    else:
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pa.table({**table, "v": [None, *table["v"][1:]]}), path)
    header = ["--header"] if kind == "csv" else []
    more = [
        "--private",
        "rows",
        *header,
        "--rhs",
        "b",
        "--rhs-low",
        "0.5",
        "--rhs-high",
        "1",
        "--sense",
        "packing",
    ]
    assert run(["lp", str(path), *more, *ROWS, "--json", "--out", str(tmp_path / "out")]) == 0
    assert json.loads(capsys.readouterr().out)["fun"] == pytest.approx(4)


def test_a_plan_writes_nothing_and_spends_nothing(model, baskets, tmp_path, capsys):
    assert (
        run(["lp", model, "--private", "rhs", "--sensitivity", "1", "--opt", "0.5", *BUDGET, "--plan"]) == 0
    )
    assert "no better than uniform" in capsys.readouterr().out
    assert run(["lp", "not-there.txt", *baskets[1:], *ROWS, "--plan", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rounds"] > 0


def test_a_plan_of_a_table_reads_its_header_alone(tmp_path, capsys):
    path = tmp_path / "people.csv"
    path.write_bytes(b"u,v,w\n" + b"\xff" * 9)
    assert run(["lp", str(path), "--private", "rows", "--header", *ROWS, "--plan"]) == 0
    assert "rounds T" in capsys.readouterr().out


@pytest.mark.parametrize("more", [("--plan",), ("--out", "out")])
def test_the_first_line_of_a_csv_is_a_person_unless_it_is_said_to_be_names(
    more, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("rare illness,wine\nbread\nbread,milk\n")
    assert run(["lp", "people.csv", "--private", "rows", *ROWS, *more]) == 2
    said = capsys.readouterr()
    assert "header is missing: pass --header" in said.err
    assert "illness" not in said.err + said.out
    assert not (tmp_path / "out").exists()


def test_a_byte_order_mark_belongs_to_no_name(tmp_path, capsys):
    (tmp_path / "people.csv").write_text("u,v\n1,0\n0,1\n", encoding="utf-8-sig")
    (tmp_path / "items.txt").write_text("v\nu\n", encoding="utf-8-sig")
    arguments = ["--private", "rows", "--items", str(tmp_path / "items.txt"), *ROWS, "--plan"]
    assert run(["lp", str(tmp_path / "people.csv"), *arguments]) == 0


def test_items_choose_columns_and_say_what_they_cost(tmp_path, capsys):
    rng = np.random.default_rng(3)
    rows = "\n".join(f"{u},?,{v},{w}" for u, v, w in rng.integers(0, 2, (900, 3)))
    (tmp_path / "people.csv").write_text(f"u,who,v,w\n{rows}\n")
    (tmp_path / "items.txt").write_text("w,2\nu,0.5\n")
    arguments = ["--private", "rows", "--items", str(tmp_path / "items.txt"), *ROWS]
    assert run(["lp", str(tmp_path / "people.csv"), *arguments, "--out", str(tmp_path / "out")]) == 0
    lines = (tmp_path / "out" / "x.csv").read_text().splitlines()[1:]
    x = {name: float(value) for name, value in (line.split(",") for line in lines)}
    assert set(x) == {"w", "u"}
    assert 2 * x["w"] + 0.5 * x["u"] == pytest.approx(4)
    (tmp_path / "items.txt").write_text("w,2\nx\n")
    capsys.readouterr()
    assert run(["lp", str(tmp_path / "people.csv"), *arguments, "--plan"]) == 2
    assert "no column 'x'" in capsys.readouterr().err
    (tmp_path / "items.txt").write_text("w,free\nu\n")
    assert run(["lp", str(tmp_path / "people.csv"), *arguments, "--plan"]) == 2
    assert "a cost above 0" in capsys.readouterr().err


def test_an_account_is_charged_and_refuses_what_it_cannot_cover(baskets, tmp_path, capsys):
    account = str(tmp_path / "budget.jsonl")
    assert run(["ledger", account, "--create", "--epsilon", "1.5", "--delta", "1e-6"]) == 0
    command = ["lp", *baskets, *ROWS, "--ledger", account, "--rounds", "5", "--quiet"]
    assert run([*command, "--out", str(tmp_path / "first")]) == 0
    assert run([*command, "--out", str(tmp_path / "second")]) == 3
    assert not (tmp_path / "second").exists()
    capsys.readouterr()
    assert run(["ledger", account, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert [entry["what"] for entry in said["runs"]] == ["lp with private rows, epsilon 1"]


def test_the_report_says_how_to_repeat_it(baskets, tmp_path, capsys):
    out = tmp_path / "out"
    assert run(["lp", *baskets, *ROWS, "--certificate", "--rounds", "5", "--out", str(out)]) == 0
    page = (out / "report.html").read_text()
    assert "--max-violated 400 --max-rows 2500" in page
    assert "--certificate" in page
    assert "--sense" not in page  # a default


def test_bounds_that_look_read_off_are_named_once(baskets, tmp_path, caplog):
    odd = ["--opt", "4", "--max-violated", "400", "--max-rows", "2002", "--rounds", "5", *BUDGET]
    with caplog.at_level("INFO", logger="fastmwem"):
        assert run(["lp", *baskets, *odd, "--out", str(tmp_path / "out")]) == 0
    assert sum("n_rows_public = 2002" in text for text in caplog.messages) == 1


def test_a_run_that_fails_leaves_no_directory(model, tmp_path, capsys):
    out = tmp_path / "out"
    arguments = [
        "lp",
        model,
        "--private",
        "rhs",
        "--sensitivity",
        "0",
        "--opt",
        "1",
        *BUDGET,
        "--out",
        str(out),
    ]
    assert run(arguments) == 2
    assert "sensitivity must be above 0" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--private", "all"], "private must be one of rhs, rows"),
        (["--private", "rhs"], "sensitivity is missing"),
        (["--private", "rows"], "max-violated is missing"),
        (["--private", "rows", "--max-violated", "2", "--max-rows", "9"], "is a model"),
        (["--private", "rhs", "--sensitivity", "1"], "radius is missing"),
        (["--private", "rhs", "--sensitivity", "1", "--opt-grid", "a,b"], "opt-grid must be numbers"),
    ],
)
def test_errors_are_one_line_that_names_the_option(arguments, words, model, tmp_path, capsys):
    assert run(["lp", model, *arguments, *BUDGET, "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err.strip()
    assert words in said
    assert "\n" not in said


def test_out_is_asked_for(model, capsys):
    assert run(["lp", model, "--private", "rhs", *BUDGET]) == 2
    assert "out is missing" in capsys.readouterr().err
