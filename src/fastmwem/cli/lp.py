"""`fastmwem lp`: a linear program with private numbers in, a solution out."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fastmwem.cli.console import Json, Quiet, note, print_json, print_table, progress
from fastmwem.errors import BoundLooksPrivate, InvalidArgument, check_choice

if TYPE_CHECKING:
    from fastmwem.lp.tables import PeopleFile

_TABLES = (".csv", ".parquet")
_MODELS = (".mps", ".lp")


def command(
    context: typer.Context,
    file: Annotated[
        Path, typer.Argument(help="An MPS or LP file; or rows of people: CSV, Parquet, or baskets (.txt).")
    ],
    private: Annotated[str, typer.Option(help="What is private: rhs, or rows (each a person).")],
    epsilon: Annotated[float, typer.Option(help="The privacy budget's epsilon, above 0.")],
    delta: Annotated[float, typer.Option(help="Its delta, between 0 and 1.")],
    out: Annotated[Path | None, typer.Option(help="The directory to write.")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Only say what would be promised.")] = False,
    sensitivity: Annotated[
        float | None, typer.Option(help="rhs: the most by which a person moves an entry of b.")
    ] = None,
    radius: Annotated[float | None, typer.Option(help="rhs: a bound on the sum of the variables.")] = None,
    equilibrate: Annotated[
        bool, typer.Option("--equilibrate", help="rhs: divide each row by half its range.")
    ] = False,
    one_sided: Annotated[
        bool,
        typer.Option(
            "--one-sided", help="rhs: neighbours move all of b the same way; all rows are <=, or all >=."
        ),
    ] = False,
    baskets: Annotated[
        bool, typer.Option("--baskets", help="rows: FILE holds a basket a line, whatever its name ends in.")
    ] = False,
    header: Annotated[
        bool, typer.Option("--header", help="rows: the first line of a CSV FILE is no person, but names.")
    ] = False,
    items: Annotated[
        Path | None,
        typer.Option(help="rows: the variables, one a line, with their cost after a comma if it is not 1."),
    ] = None,
    rhs: Annotated[
        str | None, typer.Option(help="rows: the column that holds b, or one number.  [default: 1]")
    ] = None,
    sense: Annotated[str, typer.Option(help="rows: packing (A x <= b) or covering (A x >= b).")] = "covering",
    coef_bound: Annotated[float, typer.Option(help="rows: the largest coefficient there may be.")] = 1.0,
    rhs_low: Annotated[float | None, typer.Option(help="rows: the least b there may be.")] = None,
    rhs_high: Annotated[float | None, typer.Option(help="rows: the largest b there may be.")] = None,
    max_violated: Annotated[float | None, typer.Option(help="rows: how many may be violated (s).")] = None,
    max_rows: Annotated[
        int | None, typer.Option(help="rows: a public number that the rows will not exceed.")
    ] = None,
    rows_per_person: Annotated[int, typer.Option(help="rows: of one person, at most.")] = 1,
    neighbours: Annotated[
        str | None,
        typer.Option(help="replace-one or add-remove.  [default: replace-one for rhs, add-remove for rows]"),
    ] = None,
    opt: Annotated[float | None, typer.Option(help="The value of c.x to reach.")] = None,
    opt_grid: Annotated[str | None, typer.Option(help="Or values to search it on, rising: 3,4,5.")] = None,
    alpha: Annotated[float | None, typer.Option(help="The violation that certificates tolerate.")] = None,
    certificate: Annotated[
        bool, typer.Option("--certificate", help="Buy a noisy look at the violations.")
    ] = False,
    rounds: Annotated[
        int | None, typer.Option(help="Rounds T.  [default: chosen from public numbers]")
    ] = None,
    ledger: Annotated[
        Path | None, typer.Option(help="The budget account to charge (see `fastmwem ledger`).")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an earlier release.")] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Solve a linear program whose right-hand side, or whose rows, are private.

    Writes x.csv, privacy.json and report.html. --plan spends nothing and does not look at private numbers.

    \b
    Example:
      fastmwem lp model.mps --private rhs --sensitivity 1e-3 --radius 100 --opt 42 \\
          --epsilon 1 --delta 1e-6 --out solution
      fastmwem lp baskets.txt --private rows --items items.txt --opt 10 --max-violated 3000 \\
          --max-rows 10000 --epsilon 1 --delta 1e-5 --out solution
    """
    from fastmwem.privacy.account_file import Account
    from fastmwem.results.files import check_output, output_directory
    from fastmwem.results.lp_report import FILES, write_lp

    check_choice("private", private, ("rhs", "rows"))
    if out is None and not plan:
        raise InvalidArgument("out is missing: pass --out with the directory to write, or --plan.")
    shared: dict[str, Any] = {
        "epsilon": epsilon,
        "delta": delta,
        "opt": opt,
        "opt_grid": None if opt_grid is None else _numbers(opt_grid),
        "alpha": alpha,
        "certificate": certificate,
        "rounds": "auto" if rounds is None else rounds,
        **({} if neighbours is None else {"neighbours": neighbours}),
    }
    if private == "rhs":
        task: _Rhs | _Rows = _Rhs(file, sensitivity, radius, equilibrate, one_sided, shared)
    else:
        people = {
            "max_violated": max_violated,
            "n_rows_public": max_rows,
            "rows_per_person": rows_per_person,
            "sense": sense,
            "coef_bounds": coef_bound,
        }
        task = _Rows(file, items, (baskets, header), (rhs, rhs_low, rhs_high), people, shared)
    if plan:
        with _warned():
            planned = task.plan()
        _show(planned, json)
        return
    assert out is not None
    check_output(out, overwrite)
    account = None if ledger is None else Account(ledger)
    if not (quiet or json):
        with _warned():
            note(task.plan().verdict)
    with warnings.catch_warnings(), progress("solving", quiet or json) as tick:
        warnings.simplefilter("ignore", BoundLooksPrivate)  # said with the plan
        answer = task.solve(tick)
    with output_directory(out, overwrite) as draft:

        def write() -> None:
            write_lp(draft, answer, task.names, task.candidates, _repeat(context))

        if account is None:
            write()
        else:
            with account.charge(answer.event, f"lp with private {private}, epsilon {epsilon:g}"):
                write()
    if json:
        files = {name: str(out / name) for name in FILES}
        said = {"fun": answer.fun, "alpha": answer.alpha, "message": answer.message, "opt": answer.opt}
        print_json({"out": str(out), "files": files, **said, "privacy": answer.report.to_dict()})
        return
    note(answer.message)
    print_table(f"Written to {out}/", ("file", "what is in it"), list(FILES.items()), text=True)


class _Rhs:
    """A model file whose right-hand side is private."""

    def __init__(
        self,
        file: Path,
        sensitivity: float | None,
        radius: float | None,
        equilibrate: bool,
        one_sided: bool,
        shared: dict[str, Any],
    ) -> None:
        from fastmwem.lp.program import LinearProgram
        from fastmwem.lp.standard import row_names

        if sensitivity is None:
            raise InvalidArgument("sensitivity is missing: pass --sensitivity with --private rhs.")
        if radius is None and shared["opt"] is None:
            raise InvalidArgument(
                "radius is missing: pass --radius, a public bound on the sum of the variables, or --opt."
            )
        self.program = LinearProgram.from_mps(file)
        self.names = self.program.names or tuple(f"x{j}" for j in range(self.program.dim))
        self.candidates = (*row_names(self.program), "c.x")
        self.options = {
            **shared,
            "sensitivity": sensitivity,
            "radius": radius,
            "row_weights": "equilibrate" if equilibrate else None,
            "one_sided": one_sided,
        }

    def plan(self) -> Any:
        from fastmwem.problems.scalar_lp import plan_scalar

        return plan_scalar(self.program, **self.options)

    def solve(self, tick: Any) -> Any:
        from fastmwem.problems.scalar_lp import solve_scalar_private

        return solve_scalar_private(self.program, **self.options, progress=tick)


class _Rows:
    """A file of people."""

    def __init__(
        self,
        file: Path,
        items: Path | None,
        layout: tuple[bool, bool],
        bounds: tuple[str | None, float | None, float | None],
        people: dict[str, Any],
        shared: dict[str, Any],
    ) -> None:
        from fastmwem.lp.tables import Items

        for name, option in (("max_violated", "--max-violated"), ("n_rows_public", "--max-rows")):
            if people[name] is None:
                raise InvalidArgument(f"{option[2:]} is missing: pass {option} with --private rows.")
        if file.suffix in _MODELS:
            raise InvalidArgument(f"{file} is a model: pass --private rhs, or a file of people for rows.")
        rhs, low, high = bounds
        constant = _constant(rhs)
        listed = None if items is None else Items.of(items)
        self.file = _people(file, layout, rhs if constant is None else None, listed)
        self.names = self.candidates = self.file.names
        if constant is not None:
            low, high = (constant if low is None else low), (constant if high is None else high)
        if low is None or high is None:
            raise InvalidArgument("rhs-low and rhs-high are missing: give public bounds of the column of b.")
        self.constant = constant
        costs = [1.0] * len(self.names) if listed is None else list(listed.costs)
        self.options = {**shared, **people, "rhs_bounds": (low, high), "c": costs}

    def plan(self) -> Any:
        from fastmwem.problems.constraint_lp import plan_constraint

        return plan_constraint(**self.options)

    def solve(self, tick: Any) -> Any:
        from fastmwem.problems.constraint_lp import solve_constraint_private

        rows, rhs = self.file.read()
        return solve_constraint_private(
            rows, self.constant if rhs is None else rhs, **self.options, progress=tick
        )


def _people(file: Path, layout: tuple[bool, bool], rhs: str | None, listed: Any) -> PeopleFile:
    from fastmwem.lp.tables import Baskets, PeopleTable

    baskets, header = layout
    if file.suffix in _TABLES and not baskets:
        if file.suffix == ".csv" and listed is None and not header:  # x.csv would show it to the world
            raise InvalidArgument(
                f"header is missing: pass --header if the first line of {file} holds the public names of its "
                "columns, --items FILE to say them yourself, or --baskets if it is a person's like any other."
            )
        return PeopleTable.of(file, rhs, None if listed is None else listed.names)
    if listed is None:
        raise InvalidArgument("items is missing: pass --items with a file of baskets.")
    if rhs is not None:
        raise InvalidArgument(f"rhs must be a number with a file of baskets, got {rhs!r}.")
    return Baskets(file, listed.names)


def _constant(rhs: str | None) -> float | None:
    """One right-hand side for everyone; None if it is the name of a column."""
    try:
        return 1.0 if rhs is None else float(rhs)
    except ValueError:
        return None


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidArgument("opt-grid must be numbers joined by commas, such as 3,4,5.") from None


@contextmanager
def _warned() -> Iterator[None]:
    """What is warned of in here, and is ours, as a note."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", BoundLooksPrivate)
        yield
    for warning in said:
        if issubclass(warning.category, BoundLooksPrivate):
            note(f"warning: {warning.message}")


def _repeat(context: typer.Context) -> str:
    """A command line that makes such a solution again."""
    given = {name: value for name, value in context.params.items() if value not in (None, False)}
    words = ["fastmwem", "lp", str(given.pop("file"))]
    defaults = {p.name: p.default for p in context.command.params}
    for name, value in given.items():
        if value != defaults.get(name) and name not in ("json", "quiet", "overwrite"):
            option = f"--{name.replace('_', '-')}"
            words += (
                [option] if value is True else [option, f"{value:g}" if type(value) is float else str(value)]
            )
    return shlex.join(words)


def _show(plan: Any, json: bool) -> None:
    if json:
        print_json({**asdict(plan), "alpha": plan.alpha, "useful": plan.useful, "verdict": plan.verdict})
        return
    print_table("Plan", ("", ""), plan.facts, text=True)
    print(plan.verdict)
