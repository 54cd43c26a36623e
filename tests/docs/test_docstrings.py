"""Every public name says what it is and shows an example that runs; every public method says what it does."""

import inspect
from functools import cached_property
from importlib import import_module

import pytest

import fastmwem
from tools.docs_hook import RETURNED

PUBLIC = [name for name in fastmwem.__all__ if not name.startswith("_")]


def returned(where):
    module, _, name = where.rpartition(".")
    return getattr(import_module(f"fastmwem.{module}"), name)


def members(kind):
    """The public methods and properties that fastmwem's own classes give `kind`, by name."""
    described = (property, cached_property, classmethod, staticmethod)
    for owner in kind.__mro__:
        if owner.__module__.startswith("fastmwem."):
            for name, member in vars(owner).items():
                if not name.startswith("_") and (inspect.isfunction(member) or isinstance(member, described)):
                    yield name


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_name_has_an_example(name):
    text = inspect.getdoc(getattr(fastmwem, name))
    assert text
    assert ">>> " in text


THINGS = [*(getattr(fastmwem, name) for name in PUBLIC), *map(returned, RETURNED)]


@pytest.mark.parametrize("thing", THINGS, ids=[getattr(thing, "__name__", str(thing)) for thing in THINGS])
def test_its_methods_say_what_they_do(thing):
    assert inspect.getdoc(thing)
    if inspect.isclass(thing):
        assert not [
            name for name in members(thing) if not inspect.getdoc(inspect.getattr_static(thing, name))
        ]
