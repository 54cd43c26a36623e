"""`fastmwem ledger`: the budget account that all releases of one data set share."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmwem.cli.console import Json, Quiet, note, print_json, print_table
from fastmwem.errors import InvalidArgument


def command(
    file: Annotated[str, typer.Argument(help="The account, a file of JSON lines.")],
    create: Annotated[
        bool, typer.Option("--create", help="Make it, with --epsilon and --delta in all.")
    ] = False,
    epsilon: Annotated[float | None, typer.Option(help="The total epsilon, to create it.")] = None,
    delta: Annotated[float | None, typer.Option(help="The total delta, to create it.")] = None,
    accountant: Annotated[
        str, typer.Option(help="zcdp, or optimal if all runs are planned before the first.")
    ] = "zcdp",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Show what a budget account holds and what was spent, or create it.

    Pass the file to `fastmwem release --ledger`: each run is charged before it appears, and refused
    (exit code 3) if the total would be passed.

    \b
    Example:
      fastmwem ledger budget.jsonl --create --epsilon 3 --delta 1e-6
      fastmwem ledger budget.jsonl
    """
    from fastmwem.privacy.account_file import Account
    from fastmwem.privacy.budget import Budget, rounded_up

    if create:
        if epsilon is None or delta is None:
            raise InvalidArgument("epsilon and delta are needed with --create: pass both.")
        Account.create(file, Budget(epsilon, delta), accountant)
        note(f"created {file}.")
    elif epsilon is not None or delta is not None:
        raise InvalidArgument(
            "epsilon and delta of an account never change: leave them out, or pass --create."
        )
    account = Account(file)
    runs, spent = account.runs(), account.spent()
    left = max(0.0, account.budget.epsilon - spent)
    if json:
        print_json(
            {
                "epsilon": account.budget.epsilon,
                "delta": account.budget.delta,
                "spent": spent,
                "left": left,
                "runs": [{"id": run.id, "time": run.time, "what": run.what} for run in runs],
            }
        )
        return
    shown = rounded_up(spent)  # no more is said to be left than there is
    left = max(0.0, account.budget.epsilon - shown)
    title = (
        f"epsilon {account.budget.epsilon:g} at delta {account.budget.delta:g}: "
        f"{shown:g} spent by {len(runs)} run{'s' * (len(runs) != 1)}, {left:.4g} left"
    )
    print_table(title, ("time", "run"), [(run.time, run.what) for run in runs], text=True)
