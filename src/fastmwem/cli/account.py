"""`fastmwem account`: what a budget buys, before there is a table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import sqrt
from typing import TYPE_CHECKING, Annotated

import typer

from fastmwem.cli.console import Json, print_json, print_table

if TYPE_CHECKING:
    from fastmwem.privacy.budget import Budget


@dataclass(frozen=True)
class Line:
    """What one accountant allows. Noise is in units of 1/n, for queries with values in [0, 1]."""

    accountant: str
    eps0: float
    eps0_sqrt_rounds: float
    true_epsilon: float  # of these events by the optimal accountant, whoever allowed them
    selection_noise: float  # scale of the Gumbel noise on a score: R/eps0 with R = 2/n
    measurement_noise: float | None  # standard deviation on one query


def command(
    rounds: Annotated[float, typer.Option(help="Rounds T of the exponential mechanism.")],
    epsilon: Annotated[float, typer.Option(help="The whole budget's epsilon, above 0.")],
    delta: Annotated[float, typer.Option(help="The whole budget's delta, between 0 and 1.")],
    gaussians: Annotated[float, typer.Option(help="Gaussian measurements beside the rounds.")] = 0,
    share: Annotated[
        float | None,
        typer.Option(help="The rounds' part of the budget where there are measurements.  [default: 0.5]"),
    ] = None,
    accountant: Annotated[
        str | None, typer.Option(help="Only this one: optimal, zcdp or paper.  [default: all three]")
    ] = None,
    json: Json = False,
) -> None:
    """Show what T rounds may cost within a budget, as each accountant counts.

    eps0 is what one round of the exponential mechanism may spend; the true epsilon is the optimal
    accountant's, whose bound is proven; noise is in units of 1/n, n being the number of people.

    \b
    Example:
      fastmwem account --rounds 20000 --epsilon 1 --delta 1e-3
      fastmwem account --rounds 100 --epsilon 1 --delta 1e-6 --gaussians 100 --share 0.3
    """
    from fastmwem.errors import check_choice, check_whole
    from fastmwem.privacy.accounting import ACCOUNTANTS
    from fastmwem.privacy.budget import Budget

    budget = Budget(epsilon, delta)
    count = check_whole("rounds", rounds)
    measurements = check_whole("gaussians", gaussians, low=0)
    names = ACCOUNTANTS if accountant is None else (check_choice("accountant", accountant, ACCOUNTANTS),)
    if measurements and accountant is None:  # the paper's formula knows no measurements
        names = tuple(name for name in names if name != "paper")
    lines = [_line(name, budget, count, measurements, share) for name in names]
    if json:
        print_json({"rounds": count, **asdict(budget), "gaussians": measurements} | _by_name(lines))
    else:
        _print(lines, budget, count, measurements)


def _line(name: str, budget: Budget, rounds: int, gaussians: int, share: float | None) -> Line:
    from fastmwem.privacy.accounting import accountant
    from fastmwem.privacy.calibrate import calibrate_rounds

    bought = calibrate_rounds(budget, rounds, accountant=name, gaussians=gaussians, share=share)
    return Line(
        accountant=name,
        eps0=bought.eps0,
        eps0_sqrt_rounds=bought.eps0 * sqrt(rounds),
        true_epsilon=accountant("optimal").epsilon(bought.event, budget.delta),
        selection_noise=2 / bought.eps0,
        measurement_noise=bought.noise_multiplier if gaussians else None,
    )


def _by_name(lines: list[Line]) -> dict[str, dict[str, dict[str, float]]]:
    return {
        "accountants": {
            line.accountant: {key: value for key, value in asdict(line).items() if key != "accountant"}
            for line in lines
        }
    }


def _print(lines: list[Line], budget: Budget, rounds: int, gaussians: int) -> None:
    from fastmwem.privacy.budget import rounded_up

    columns = ["accountant", "eps0", "eps0·√T", "true epsilon", "selection noise ×1/n"]
    rows = [
        [
            line.accountant,
            f"{line.eps0:.6g}",
            f"{line.eps0_sqrt_rounds:#.4g}",
            f"{rounded_up(line.true_epsilon):#.4g}",
            f"{line.selection_noise:,.1f}",
        ]
        for line in lines
    ]
    if gaussians:
        columns.append("measurement noise ×1/n")
        rows = [[*row, f"{line.measurement_noise:,.1f}"] for row, line in zip(rows, lines, strict=True)]
    measured = f" and {gaussians:,} Gaussian measurements" if gaussians else ""
    print_table(
        f"T = {rounds:,} rounds{measured} within epsilon {budget.epsilon:g}, delta {budget.delta:g}",
        columns,
        rows,
    )
