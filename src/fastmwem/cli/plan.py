"""`fastmwem plan`: what each method is expected to do, before any data are touched."""

from __future__ import annotations

from typing import Annotated

import typer

from fastmwem.cli.console import Json, print_json, print_table


def command(
    domain: Annotated[str, typer.Option(help="The domain file (TOML).")],
    workload: Annotated[str, typer.Option(help="marginals:3, ranges:age, ...; joined by +.")],
    n: Annotated[int, typer.Option(help="The number of rows, or a public guess of it.")],
    epsilon: Annotated[float, typer.Option(help="The privacy budget's epsilon, above 0.")],
    delta: Annotated[float, typer.Option(help="Its delta, between 0 and 1.")],
    neighbours: Annotated[str, typer.Option(help="replace-one or add-remove.")] = "replace-one",
    rows_per_person: Annotated[int, typer.Option(help="Rows of one person, at most.")] = 1,
    accountant: Annotated[str, typer.Option(help="optimal, zcdp or paper.")] = "optimal",
    json: Json = False,
) -> None:
    """Predict error, time and memory of each method from public numbers; spends nothing.

    \b
    Example:
      fastmwem plan --domain domain.toml --workload marginals:3 --n 48842 --epsilon 1 --delta 1e-6
    """
    from fastmwem.cli.release import plan_rows
    from fastmwem.data.domain import Domain
    from fastmwem.problems.query_release import plan
    from fastmwem.queries.grammar import parse_workload

    asked = parse_workload(workload, Domain.from_toml(domain))
    found = plan(
        asked,
        n=n,
        epsilon=epsilon,
        delta=delta,
        neighbours=neighbours,
        rows_per_person=rows_per_person,
        accountant=accountant,
    )
    if json:
        print_json(found.to_dict())
        return
    title = f"{asked.m:,} queries on {asked.dim:,} cells, n = {n:,}, epsilon = {epsilon:g}, delta = {delta:g}"
    heads = ("method", "max error", "mean error", "rounds", "time", "memory")
    print_table(title, heads, plan_rows(found))
