"""`fastmwem release`: a private table in, a directory with a release out."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fastmwem.cli.console import Json, Quiet, note, print_json, print_table, progress
from fastmwem.errors import InvalidArgument, check_whole

if TYPE_CHECKING:
    from fastmwem.problems.query_release import Plan
    from fastmwem.problems.table_release import Prepared

__all__ = ["command", "plan_rows"]

_NEEDED = {
    "data": "name the table",
    "domain": "pass --domain with a domain file (draft one with `fastmwem domain new`)",
    "workload": "pass --workload, such as marginals:3",
    "epsilon": "pass --epsilon, such as 1",
    "delta": "pass --delta, such as 1e-6",
    "out": "pass --out with the directory to write",
}
_PLACES = ("domain", "out", "engine", "ledger", "support")
_NUMBERS = {
    "epsilon": float,
    "delta": float,
    "max_rows_per_person": int,
    "rounds": int,
    "rows": int,
    "n": int,
}


def command(
    data: Annotated[
        str | None,
        typer.Argument(help="A CSV, Parquet or JSON lines file, or a database URL.", show_default=False),
    ] = None,
    domain: Annotated[str | None, typer.Option(help="The domain file (TOML).")] = None,
    workload: Annotated[
        str | None,
        typer.Option(help="marginals:3, marginals:age,sex, ranges:age, prefixes:age; joined by +."),
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="The privacy budget's epsilon, above 0.")] = None,
    delta: Annotated[float | None, typer.Option(help="Its delta, between 0 and 1.")] = None,
    out: Annotated[str | None, typer.Option(help="The directory to write.")] = None,
    method: Annotated[str | None, typer.Option(help="auto, or one that `fastmwem plan` lists.")] = None,
    rounds: Annotated[
        int | None, typer.Option(help="Rounds T of mwem.  [default: chosen from public numbers]")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(help="Synthetic rows.  [default: as many as the table has]")
    ] = None,
    neighbours: Annotated[
        str | None,
        typer.Option(help="replace-one (n public) or add-remove (n private).  [default: replace-one]"),
    ] = None,
    n: Annotated[
        int | None, typer.Option(help="A public guess of the number of rows, for add-remove.")
    ] = None,
    person: Annotated[str | None, typer.Option(help="The column that says whose row it is.")] = None,
    max_rows_per_person: Annotated[
        int | None, typer.Option(help="Rows of one person that count, at most.")
    ] = None,
    accountant: Annotated[
        str | None, typer.Option(help="optimal, zcdp or paper.  [default: the ledger's, or optimal]")
    ] = None,
    engine: Annotated[str | None, typer.Option(help="duckdb, polars, spark, or a database URL.")] = None,
    support: Annotated[
        str | None,
        typer.Option(help="A PUBLIC table whose cells the model may use, where the domain is too large."),
    ] = None,
    table: Annotated[str | None, typer.Option(help="The table, where DATA is a database.")] = None,
    query: Annotated[str | None, typer.Option(help="Or a SELECT.")] = None,
    ledger: Annotated[
        str | None, typer.Option(help="The budget account to charge (see `fastmwem ledger`).")
    ] = None,
    title: Annotated[str | None, typer.Option(help="The report's title.")] = None,
    config: Annotated[str | None, typer.Option(help="A TOML file with any of these options.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier release.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Release a private table: answers, a histogram, synthetic rows and a report, in one directory.

    Shows what it will do, does it, and says where the files are. The directory appears whole or not at all,
    and a budget account is charged before it appears.

    \b
    Example:
      fastmwem release people.csv --domain domain.toml --workload marginals:3 \\
          --epsilon 1 --delta 1e-6 --out release
      fastmwem release --config release.toml
      fastmwem release visits.parquet --domain domain.toml --workload marginals:2 --person patient \\
          --max-rows-per-person 5 --n 20000 --ledger budget.jsonl --epsilon 0.5 --delta 1e-6 --out release
    """
    given = {
        "data": data,
        "domain": domain,
        "workload": workload,
        "epsilon": epsilon,
        "delta": delta,
        "out": out,
        "method": method,
        "rounds": rounds,
        "rows": rows,
        "neighbours": neighbours,
        "n": n,
        "person": person,
        "max_rows_per_person": max_rows_per_person,
        "accountant": accountant,
        "engine": engine,
        "support": support,
        "table": table,
        "query": query,
        "ledger": ledger,
        "title": title,
    }
    _release(_options(given, config), overwrite, json, quiet)


def _options(given: dict[str, Any], config: str | None) -> dict[str, Any]:
    """The command line's options over the config file's."""
    options = {} if config is None else _read_config(Path(config), set(given))
    options |= {name: value for name, value in given.items() if value is not None}
    for name, fix in _NEEDED.items():
        if name not in options:
            raise InvalidArgument(f"{name} is missing: {fix}.")
    return options


def _read_config(path: Path, known: set[str]) -> dict[str, Any]:
    try:
        options = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidArgument(f"config file {str(path)!r} cannot be read: {error.strerror}.") from None
    except tomllib.TOMLDecodeError as error:
        raise InvalidArgument(f"{path}: this is not TOML: {error}.") from None
    except UnicodeDecodeError:
        raise InvalidArgument(f"{path}: this is not UTF-8 text.") from None
    options = {name.replace("-", "_"): value for name, value in options.items()}
    for name, value in options.items():
        if name not in known:
            raise InvalidArgument(f"{path}: {name!r} is no option of `fastmwem release`; see its --help.")
        kind = _NUMBERS.get(name, str)
        if type(value) is not kind and not (kind is float and type(value) is int):
            raise InvalidArgument(f"{path}: {name} must be {'a number' if kind is not str else 'text'}.")
    return options


def _release(options: dict[str, Any], overwrite: bool, json: bool, quiet: bool) -> None:
    from fastmwem.data.domain import Domain
    from fastmwem.privacy.account_file import Account
    from fastmwem.privacy.budget import Budget
    from fastmwem.problems.table_release import prepare, public_support
    from fastmwem.results.files import check_output, output_directory
    from fastmwem.results.write import FILES, write_release

    budget = Budget(options["epsilon"], options["delta"])
    rows = None if options.get("rows") is None else check_whole("rows", options["rows"])
    out = check_output(options["out"], overwrite)
    account = Account(options["ledger"]) if "ledger" in options else None
    declared = Domain.from_toml(options["domain"])
    names = ("person", "max_rows_per_person", "neighbours", "engine", "table", "query")
    prepared = prepare(options["data"], options["workload"], domain=declared, **_given(options, names))
    run = _given(options, ("method", "rounds", "n", "accountant"))
    if "support" in options:
        run["support"] = public_support(options["support"], declared)
    if account is not None:
        run.setdefault("accountant", account.accountant)
    plan = _plan(prepared, budget, run)
    if not (json or quiet):
        _show(prepared, budget, plan, run.get("method", "auto"))
    with progress("releasing", quiet or json) as tick:
        made, event = prepared.run(budget, account, progress=tick, **run)
    what = f"{options['workload']} by {made.method}, epsilon {budget.epsilon:g}"
    with output_directory(out, overwrite) as draft:
        repeat = _repeat(options)

        def write() -> None:
            write_release(
                draft, made, declared, rows=rows, title=options.get("title", "Private release"), repeat=repeat
            )

        if account is None:
            write()
        else:
            with account.charge(event, what):
                write()
    if json:
        files = {name: str(out / name) for name in FILES}
        said = None if plan is None else plan.to_dict()
        print_json({"out": str(out), "files": files, "plan": said, "privacy": made.report.to_dict()})
        return
    note(made.report.statement)
    print_table(f"Written to {out}/", ("file", "what is in it"), list(FILES.items()), text=True)


def _given(options: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: options[name] for name in names if options.get(name) is not None}


def _plan(prepared: Prepared, budget: Any, run: dict[str, Any]) -> Plan | None:
    """What each method is expected to do; None where there is no public number of rows to go by."""
    from fastmwem.problems.query_release import plan

    n = prepared.n if prepared.n is not None else run.get("n")
    if n is None:
        return None
    options = _given(run, ("rounds", "accountant", "support"))
    return plan(
        prepared.workload,
        n=n,
        epsilon=budget.epsilon,
        delta=budget.delta,
        neighbours=prepared.neighbours,
        rows_per_person=prepared.rows_per_person,
        **options,
    )


def _show(prepared: Prepared, budget: Any, plan: Plan | None, method: str) -> None:
    """What will be done, before it is."""
    note(
        f"{prepared.workload.m:,} queries on {prepared.domain.size:,} cells"
        + (f", {prepared.n:,} rows" if prepared.n is not None else "")
        + f"; budget epsilon {budget.epsilon:g}, delta {budget.delta:g}."
    )
    if plan is not None:
        chosen = plan.chosen if method == "auto" else method
        found = next((p for p in plan.predictions if p.method == chosen), None)
        if found is not None:
            from fastmwem.results.html import small_bytes

            rounds = f", {found.rounds:,} rounds" if found.rounds > 1 else ""
            note(
                f"method {chosen}{rounds}: predicted error {found.max_error:.3g} at most, "
                f"{found.mean_error:.3g} on average; about {max(1, round(found.seconds))} s "
                f"and {small_bytes(found.bytes)} of memory."
            )


def plan_rows(plan: Plan) -> list[tuple[str, ...]]:
    """The table of a plan, one method a line."""
    from fastmwem.results.html import small_bytes

    return [
        (
            f"{p.method} (auto)" if p.method == plan.chosen else p.method,
            f"{p.max_error:.3g}",
            f"{p.mean_error:.3g}",
            f"{p.rounds:,}",
            f"{max(1, round(p.seconds)):,} s",
            small_bytes(p.bytes),
        )
        for p in plan.predictions
    ]


def _repeat(options: dict[str, Any]) -> str:
    """A command line that makes such a release again: of files their names, of addresses no password.

    Where a private table lies is nobody's business who reads the report.
    """
    words = ["fastmwem", "release", _shown(str(options["data"]))]
    for name, value in options.items():
        if name != "data":
            text = f"{value:.12g}" if isinstance(value, float) else str(value)
            words += [f"--{name.replace('_', '-')}", _shown(text) if name in _PLACES else text]
    return shlex.join(words)


def _shown(place: str) -> str:
    return re.sub(r"://[^@/]*@", "://", place) if "://" in place else Path(place).name
