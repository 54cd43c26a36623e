"""`tools/venv`, which every make target goes through, met by machines that are not ready for it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]

# Stands in for an interpreter: answers the version check with $NEW, has a venv module if $VENV, and makes an
# "environment" whose pip succeeds if $PIP.
PYTHON = """#!/bin/sh
case "$*" in
    --version) echo "Python 3.9.1" ;;
    *version_info*) [ "$NEW" = 1 ] ;;
    *ensurepip*) [ "$VENV" = 1 ] ;;
    *"-m venv"*) for last; do :; done; mkdir -p "$last/bin"; cp "$0" "$last/bin/python"; echo made >>"$LOG" ;;
    *"-m pip"*) echo pip >>"$LOG"; [ "$PIP" = 1 ] ;;
    *__file__*) ;;
esac
"""


@pytest.fixture
def machine(tmp_path):
    """A copy of the set-up on a machine with nothing but the tools a shell has, and the stand-in."""
    (tmp_path / "tools").mkdir()
    shutil.copy(CHECKOUT / "tools" / "venv", tmp_path / "tools")
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (1, 1))
    (tmp_path / "bin").mkdir()
    for name in ("sh", "dirname", "find", "rm", "cat", "mkdir", "cp"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    (tmp_path / "bin" / "python3").write_text(PYTHON)
    (tmp_path / "bin" / "python3").chmod(0o755)

    def make(extra="dev", **environ):
        env = {
            "PATH": str(tmp_path / "bin"),
            "LOG": str(tmp_path / "log"),
            "NEW": "1",
            "VENV": "1",
            "PIP": "1",
        }
        return subprocess.run(
            [tmp_path / "tools" / "venv", ".venv", extra], env=env | environ, capture_output=True, text=True
        )

    make.root = tmp_path
    make.log = lambda: (tmp_path / "log").read_text().split()
    return make


def test_an_old_python_is_one_clear_sentence(machine):
    out = machine(NEW="0")
    assert out.returncode == 1
    assert out.stderr.count("\n") == 1
    assert "Python 3.11 or newer is needed, and this machine has Python 3.9.1" in out.stderr


def test_no_python_is_one_clear_sentence(machine):
    (machine.root / "bin" / "python3").unlink()
    out = machine()
    assert out.returncode == 1
    assert out.stderr.count("\n") == 1
    assert "this machine has no python3" in out.stderr


def test_a_python_without_venv_is_one_clear_sentence(machine):
    out = machine(VENV="0")
    assert out.returncode == 1
    assert out.stderr.count("\n") == 1
    assert "python3-venv" in out.stderr


def test_a_second_run_does_nothing(machine):
    assert machine().returncode == 0
    assert machine().returncode == 0
    assert machine("").returncode == 0
    assert machine.log() == ["made", "pip"]


def test_another_extra_is_added_to_the_environment_in_place(machine):
    machine("")
    machine("dev")
    machine("")
    assert machine.log() == ["made", "pip", "pip"]


@pytest.mark.parametrize("name", ["pyproject.toml", "constraints.txt"])
def test_changed_pins_are_installed(machine, name):
    machine()
    later = (machine.root / ".venv" / ".installed").stat().st_mtime + 10
    os.utime(machine.root / name, (later, later))
    machine()
    assert machine.log() == ["made", "pip"] * 2


def test_a_failed_installation_is_not_taken_for_a_finished_one(machine):
    failed = machine(PIP="0")
    assert failed.returncode == 1
    assert "the installation failed" in failed.stderr
    assert machine().returncode == 0
    assert machine.log() == ["made", "pip", "made", "pip"]
    machine("spark", PIP="0")  # ... and one that fails later voids what it may have broken
    machine("dev")
    assert machine.log()[4:] == ["pip", "made", "pip"]


def test_the_pins_hold_names_and_versions_only():
    lines = (CHECKOUT / "constraints.txt").read_text().splitlines()
    assert len(lines) > 50
    assert [
        line for line in lines if not all(p.strip() for p in line.split("==")) or line.count("==") != 1
    ] == []
    assert [line for line in lines if any(c in line for c in "@/:")] == []


def test_every_package_that_is_asked_for_is_pinned():
    import re
    import tomllib

    def canonical(name):
        return re.sub(r"[-_.]+", "-", name).lower()

    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    asked = project["dependencies"] + [
        r for extra in project["optional-dependencies"].values() for r in extra
    ]
    names = {canonical(re.match(r"[\w.-]+", requirement)[0]) for requirement in asked}
    pinned = {
        canonical(line.split("==")[0]) for line in (CHECKOUT / "constraints.txt").read_text().splitlines()
    }
    assert names <= pinned
