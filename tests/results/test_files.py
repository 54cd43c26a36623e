"""Output directories: whole or not at all."""

import os

import pytest

from fastmwem.errors import DataError, InvalidArgument
from fastmwem.results.files import MARK, check_output, output_directory, settle


def write(path, text="new", **options):
    with output_directory(path, **options) as draft:
        (draft / MARK).write_text(text)
        assert not (path / MARK).exists() or (path / MARK).read_text() == "old"
        settle(draft)


def leftovers(home):
    return sorted(p.name for p in home.iterdir())


def test_appears_under_its_name_only_when_done(tmp_path):
    write(tmp_path / "a" / "out")
    assert (tmp_path / "a" / "out" / MARK).read_text() == "new"
    assert leftovers(tmp_path / "a") == ["out"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_nothing_is_left_when_the_body_raises(tmp_path, error):
    with pytest.raises(error):  # noqa: PT012, SIM117
        with output_directory(tmp_path / "out") as draft:
            (draft / "half").write_text("x")
            raise error
    assert leftovers(tmp_path) == []


def test_a_full_disk_is_one_sentence(tmp_path):
    with pytest.raises(DataError, match="No space left on device; nothing was released"):  # noqa: SIM117
        with output_directory(tmp_path / "out"):
            raise OSError(28, "No space left on device")
    assert leftovers(tmp_path) == []


def test_overwrites_a_release_and_nothing_else(tmp_path):
    write(tmp_path / "out", "old")
    with pytest.raises(InvalidArgument, match="--overwrite"):
        write(tmp_path / "out")
    write(tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / MARK).read_text() == "new"
    assert leftovers(tmp_path) == ["out"]
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter").write_text("dear")
    (tmp_path / "link").symlink_to(tmp_path / "out")
    for name in ("home", "link"):
        with pytest.raises(InvalidArgument, match="no release"):
            write(tmp_path / name, overwrite=True)
    (tmp_path / "empty").mkdir()
    write(tmp_path / "empty", overwrite=True)


def test_a_failed_swap_brings_the_old_release_back(tmp_path, monkeypatch):
    write(tmp_path / "out", "old")
    real, calls = os.rename, []

    def second_fails(a, b):
        calls.append(a)
        if len(calls) == 2:
            raise OSError(5, "Input/output error")
        real(a, b)

    monkeypatch.setattr(os, "rename", second_fails)
    with pytest.raises(DataError, match="Input/output"):
        write(tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / MARK).read_text() == "old"
    assert [name for name in leftovers(tmp_path) if name != "out"] == []


def test_places_that_cannot_be_written_are_refused_first(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InvalidArgument, match="may write"):
        check_output(tmp_path / "file" / "out")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(InvalidArgument, match="may write"):
        check_output(tmp_path / "out")
