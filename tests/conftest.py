"""What every test shares."""

import os
from pathlib import Path


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
