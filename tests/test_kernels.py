"""Kernels: compiled once per machine, said once, and usable where nothing can be written."""

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import fastmwem

KERNELS = """
from fastmwem.kernels import kernel

@kernel
def double(x):
    return 2 * x

@kernel(fastmath=True)
def quadruple(x):
    return double(double(x))
"""

USE = "import fastmwem.probe_kernels as k; print(k.quadruple(2.0), k.quadruple.stats.cache_path)"


@pytest.fixture
def package(tmp_path):
    """A module of kernels that believes it belongs to fastmwem, and a cache directory for it."""
    (tmp_path / "probe_kernels.py").write_text(KERNELS)
    (tmp_path / "cache").mkdir()
    return tmp_path


def run(package, **environ):
    code = f"import fastmwem; fastmwem.__path__.append({str(package)!r}); {USE}"
    env = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"} | environ
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env)


def test_the_first_process_says_once_that_it_compiles_and_the_next_finds_the_code(package):
    first = run(package, NUMBA_CACHE_DIR=str(package / "cache"))
    assert first.stderr.count("once after an install") == 1
    assert list((package / "cache").rglob("*.nbi"))
    second = run(package, NUMBA_CACHE_DIR=str(package / "cache"))
    assert second.stderr == ""
    assert first.stdout == second.stdout
    assert second.stdout.startswith("8.0 ")


def test_kernels_work_where_no_directory_can_be_written_to(package):
    # A file where each candidate directory would have to be made: refused even to root.
    (package / "__pycache__").write_text("")
    out = run(
        package, HOME=str(package / "probe_kernels.py"), XDG_CACHE_HOME=str(package / "probe_kernels.py")
    )
    assert out.stdout == "8.0 None\n"


def test_every_kernel_goes_through_the_helper():
    source = Path(fastmwem.__file__).parent
    strays = [path for path in source.rglob("*.py") if "import njit" in path.read_text()]
    assert strays == []


def test_functions_of_other_packages_compile_unannounced():
    @numba.njit
    def double(x):
        return 2 * x

    double.py_func.__module__ = None  # as of a function that exec made
    assert double(2.0) == 4.0
