"""One thread for BLAS while a model is fitted.

A fit makes thousands of products that are too small to share out. A BLAS with threads shares them out all the
same, and its threads then wait for each other by spinning: on a machine whose cores are busy a fit took ten
times as long, on an idle one no less than with one thread.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["one_blas_thread"]

_LOCK = threading.Lock()
_users = 0
_limit: Any = None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS on one thread inside, as before outside, also where several threads of a process come here."""
    _enter()
    try:
        yield
    finally:
        _leave()


def _enter() -> None:
    global _users, _limit
    from threadpoolctl import threadpool_limits

    with _LOCK:
        _users += 1
        if _users == 1:
            _limit = threadpool_limits(limits=1, user_api="blas")


def _leave() -> None:
    global _users
    with _LOCK:
        _users -= 1
        if _users == 0:
            _limit.restore_original_limits()
