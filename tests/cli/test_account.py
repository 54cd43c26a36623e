"""`fastmwem account`, by way of its entry point."""

import json
import math
import subprocess
import sys

import pytest

from fastmwem.cli.main import run


def account(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "fastmwem", "account", *arguments], capture_output=True, text=True
    )


def by_accountant(capsys, *arguments):
    assert run(["account", "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)["accountants"]


def test_the_example_of_the_help_prints_a_table():
    out = account("--rounds", "20000", "--epsilon", "1", "--delta", "1e-3")
    assert out.returncode == 0
    assert [line.split()[0] for line in out.stdout.splitlines()[4:7]] == ["optimal", "zcdp", "paper"]
    assert "T = 20,000 rounds within epsilon 1, delta 0.001" in out.stdout


def test_each_accountant_is_held_to_the_one_proven_bound(capsys):
    lines = by_accountant(capsys, "--rounds", "1000", "--epsilon", "1", "--delta", "1e-3")
    # The figures for eps0 * sqrt(T) at (1, 1e-3), T = 1000.
    assert lines["paper"]["eps0_sqrt_rounds"] == pytest.approx(1 / math.sqrt(math.log(1e3)))
    assert lines["zcdp"]["eps0_sqrt_rounds"] == pytest.approx(0.6893, abs=1e-4)
    assert lines["optimal"]["eps0_sqrt_rounds"] >= 0.97 * 0.7768
    assert lines["paper"]["true_epsilon"] < lines["zcdp"]["true_epsilon"] < 1
    assert 0.999 < lines["optimal"]["true_epsilon"] <= 1
    for line in lines.values():
        assert line["selection_noise"] == pytest.approx(2 / line["eps0"])
        assert line["measurement_noise"] is None


def test_measurements_take_the_rest_of_the_budget(capsys):
    arguments = ("--rounds", "10", "--epsilon", "1", "--delta", "1e-6", "--gaussians", "10", "--share")
    little = by_accountant(capsys, *arguments, "0.1")
    much = by_accountant(capsys, *arguments, "0.9")
    assert set(little) == {"optimal", "zcdp"}
    for name in little:
        assert little[name]["eps0"] < much[name]["eps0"]
        assert little[name]["measurement_noise"] < much[name]["measurement_noise"]


def test_one_accountant_alone(capsys):
    arguments = ("--rounds", "10", "--epsilon", "1", "--delta", "1e-6", "--accountant")
    assert set(by_accountant(capsys, *arguments, "zcdp")) == {"zcdp"}


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *[("--epsilon", bad) for bad in ("0", "-1", "nan", "inf", "one")],
        *[("--delta", bad) for bad in ("0", "1", "-1e-6", "2", "nan")],
        *[("--rounds", bad) for bad in ("0", "-3", "2.5", "nan", "inf", "")],
        *[("--gaussians", bad) for bad in ("-1", "0.5", "nan")],
        *[("--share", bad) for bad in ("0", "1", "nan")],
        ("--accountant", "zcdpp"),
    ],
)
def test_a_bad_number_is_one_sentence_and_exit_code_2(capsys, option, value):
    good = {"--rounds": "10", "--epsilon": "1", "--delta": "1e-3", "--gaussians": "2"}
    arguments = [text for pair in (good | {option: value}).items() for text in pair]
    assert run(["account", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("fastmwem: ")
    assert err.count("\n") == 1
    assert option.strip("-") in err


def test_a_bad_number_through_the_script():
    out = account("--rounds", "0", "--epsilon", "1", "--delta", "1e-3")
    assert (out.returncode, out.stdout) == (2, "")
    assert out.stderr == "fastmwem: rounds must be at least 1, got 0.\n"
