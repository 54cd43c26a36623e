"""Output directories that appear whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fastmwem.errors import DataError, InvalidArgument

__all__ = ["MARK", "check_output", "output_directory", "settle"]

MARK = "privacy.json"  # a directory that holds it is a release, and only that may be overwritten


def check_output(path: str | os.PathLike[str], overwrite: bool = False) -> Path:
    """`path` as a Path, if a release can be written there; asked before anything is spent."""
    path = Path(path)
    if path.exists() or path.is_symlink():
        if not overwrite:
            raise InvalidArgument(f"{str(path)!r} exists: choose another directory, or pass --overwrite.")
        if not path.is_dir() or path.is_symlink() or (any(path.iterdir()) and not (path / MARK).exists()):
            raise InvalidArgument(
                f"{str(path)!r} is no release, so it is not overwritten: choose another directory."
            )
    parent = path.absolute().parent
    while not parent.exists():
        parent = parent.parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise InvalidArgument(f"{str(path)!r} cannot be written: choose a directory that you may write to.")
    return path


@contextmanager
def output_directory(path: str | os.PathLike[str], overwrite: bool = False) -> Iterator[Path]:
    """A directory to write into, which takes the name `path` when the body has ended well.

    Call `settle` when all is written, so that everything is on the disk before the name is. If the body
    raises, nothing is left.
    """
    path = check_output(path, overwrite)
    draft: Path | None = None
    try:
        path.absolute().parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.absolute().parent))
        draft.chmod(0o755)
        yield draft
        _take_name(draft, path)
        _sync(path.absolute().parent)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise DataError(f"{str(path)!r} could not be written: {reason}; nothing was released.") from None
    finally:
        if draft is not None:
            shutil.rmtree(draft, ignore_errors=True)


def settle(draft: Path) -> None:
    """Wait until the files in `draft` are on the disk; a disk that is full says so here at the latest."""
    for file in draft.iterdir():
        _sync(file)
    _sync(draft)


def _take_name(draft: Path, path: Path) -> None:
    if not path.exists():
        os.rename(draft, path)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.absolute().parent))
    os.rename(path, old)
    try:
        os.rename(draft, path)
    except BaseException:
        os.rename(old, path)
        raise
    with suppress(OSError):
        shutil.rmtree(old)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
