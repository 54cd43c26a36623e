"""What every test shares: kernels apart for parallel workers, and skips that say what is missing."""

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def pytest_configure(config):
    """Each parallel worker keeps its own compiled kernels.

    Numba's index of a kernel's signatures is not locked: two processes that compile one kernel for two
    signatures at the same moment can leave an index entry that names the other's machine code.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker:
        cache = Path(config.rootpath) / ".pytest_cache" / "kernels" / worker
        cache.mkdir(parents=True, exist_ok=True)
        os.environ.setdefault("NUMBA_CACHE_DIR", str(cache))


def pytest_collection_modifyitems(items):
    missing = {}
    if find_spec("pyspark") is None:
        missing["spark"] = "the spark extra is not installed"
    elif shutil.which("java") is None:
        missing["spark"] = "there is no Java on this machine"
    if not any(map(shutil.which, BROWSERS)):
        missing["browser"] = "there is no Chromium on this machine"
    for item in items:
        for mark, reason in missing.items():
            if item.get_closest_marker(mark):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def browser():
    """The command of a Chromium, for tests marked `browser`."""
    return next(filter(None, map(shutil.which, BROWSERS)))
