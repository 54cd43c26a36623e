"""How inner loops are compiled: numba's `njit`, kept on disk, announced once, and working without a disk too.

Importing this module imports numba (about half a second), so only modules that hold kernels import it, and
the package's public names load those modules on first use.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar, overload

import numba
from numba.core import event

__all__ = ["kernel"]

F = TypeVar("F", bound=Callable[..., Any])


@overload
def kernel(function: F) -> F: ...
@overload
def kernel(**options: Any) -> Callable[[F], F]: ...
def kernel(function: Any = None, **options: Any) -> Any:
    """Compile `function` on its first call, and keep the machine code on disk for later processes.

    Calls go straight to numba's dispatcher and kernels may call kernels; `options` are `njit`'s
    (`parallel=True`, ...). The code is kept beside the source, or in the user's cache directory if that
    place is not writable, or where NUMBA_CACHE_DIR says. Where none of them can be written to (a
    locked-down container), each process compiles for itself instead of failing.

    >>> @kernel
    ... def total(v):
    ...     s = 0.0
    ...     for x in v:
    ...         s += x
    ...     return s
    >>> import numpy as np
    >>> total(np.ones(3))
    3.0
    """
    if function is None:
        return lambda decorated: kernel(decorated, **options)
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError:  # "cannot cache function ...: no locator available", numba has no narrower type
        return numba.njit(**options)(function)


class _Notice(event.Listener):
    """Says once per process that a kernel of ours is being compiled; a kernel found on disk is silent."""

    said = False

    def on_start(self, event: event.Event) -> None:
        details: Any = event.data
        module = details["dispatcher"].py_func.__module__ or ""  # None for functions made by exec
        if not self.said and module.startswith("fastmwem."):
            self.said = True
            # Without a logging set-up, Python prints a warning's bare message to stderr.
            logging.getLogger("fastmwem").warning(
                "compiling for this machine: this takes some seconds, once after an install."
            )

    def on_end(self, event: event.Event) -> None:
        """Nothing: only the start is announced."""


event.register("numba:compile", _Notice())
