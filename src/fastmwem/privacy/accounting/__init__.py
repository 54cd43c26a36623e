"""Accountants: what a composed event costs. One file and one line of the table each."""

from __future__ import annotations

from importlib import import_module

from fastmwem.errors import check_choice
from fastmwem.privacy.accounting.base import Accountant

__all__ = ["ACCOUNTANTS", "Accountant", "accountant"]

_TABLE = {
    "optimal": ("optimal", "OptimalAccountant"),
    "zcdp": ("zcdp", "ZCdpAccountant"),
    "paper": ("paper", "PaperAccountant"),
}
ACCOUNTANTS = tuple(_TABLE)


def accountant(name: str = "optimal") -> Accountant:
    """The accountant called `name`.

    >>> accountant("zcdp")
    accountant('zcdp')
    """
    module, cls = _TABLE[check_choice("accountant", name, ACCOUNTANTS)]
    return getattr(import_module(f"{__name__}.{module}"), cls)()
