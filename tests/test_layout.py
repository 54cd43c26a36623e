"""The package's outer face: what importing it gives and costs."""

import subprocess
import sys

import fastmwem


def test_every_public_name_exists():
    for name in fastmwem.__all__:
        assert getattr(fastmwem, name) is not None


def test_heavy_parts_load_only_when_used():
    heavy = ("ibis", "faiss", "matplotlib", "numba", "scipy", "dp_accounting", "pandas", "pyarrow")
    code = f"import sys, fastmwem; print([h for h in {heavy!r} if h in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
