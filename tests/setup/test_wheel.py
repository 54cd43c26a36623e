"""The package as users get it: one wheel, no extras, nothing of this checkout."""

import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[2]
pytestmark = pytest.mark.wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, CHECKOUT], check=True
    )
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_the_package_and_its_licence(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert "fastmwem/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert {name.split("/")[0].split("-")[0] for name in names} == {"fastmwem"}


def test_it_works_alone_in_an_empty_environment(wheel, tmp_path):
    venv.create(tmp_path / "venv", with_pip=True)
    binaries = tmp_path / "venv" / "bin"
    subprocess.run([binaries / "pip", "install", "-q", "-c", CHECKOUT / "constraints.txt", wheel], check=True)
    env = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "NUMBA_CACHE_DIR")}

    def fastmwem(*arguments):
        return subprocess.run(
            [binaries / "fastmwem", *arguments], cwd=tmp_path, env=env, capture_output=True, text=True
        )

    first = fastmwem("account", "--rounds", "1000", "--epsilon", "1", "--delta", "1e-6")
    assert first.returncode == 0, first.stderr
    assert "optimal" in first.stdout
    assert first.stderr.count("\n") == 1  # that kernels are compiled, once
    assert fastmwem("account", "--rounds", "1000", "--epsilon", "1", "--delta", "1e-6").stderr == ""

    made = fastmwem("demo", "--out", "demo", "--quiet")
    assert (made.returncode, made.stderr) == (0, "")
    survey = ("demo/survey.csv", "--domain", "demo/domain.toml", "--workload", "marginals:2")
    made = fastmwem("release", *survey, "--epsilon", "1", "--delta", "1e-6", "--out", "released", "--quiet")
    assert (made.returncode, made.stderr) == (0, "")
    assert (tmp_path / "released" / "report.html").exists()
