"""`fastmwem lp`: a linear program with private numbers in, a solution out."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from fastmwem.cli.console import Json, Quiet, note, print_json, print_table, progress
from fastmwem.errors import InvalidArgument, check_choice


def command(
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
        bool, typer.Option("--one-sided", help="rhs: neighbours move all of b the same way.")
    ] = False,
    items: Annotated[Path | None, typer.Option(help="rows: the public items of baskets, one a line.")] = None,
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
    opt: Annotated[float | None, typer.Option(help="The value of c.x to reach.")] = None,
    opt_grid: Annotated[str | None, typer.Option(help="Or values to search it on, rising: 3,4,5.")] = None,
    alpha: Annotated[float | None, typer.Option(help="The violation that certificates tolerate.")] = None,
    certificate: Annotated[
        bool, typer.Option("--certificate", help="Buy a noisy look at the violations.")
    ] = False,
    rounds: Annotated[
        int | None, typer.Option(help="Rounds T.  [default: chosen from public numbers]")
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
    }
    if private == "rhs":
        task: _Rhs | _Rows = _Rhs(file, sensitivity, radius, equilibrate, one_sided, shared)
    else:
        bounds = (rhs, rhs_low, rhs_high)
        people = {
            "max_violated": max_violated,
            "n_rows_public": max_rows,
            "rows_per_person": rows_per_person,
            "sense": sense,
            "coef_bounds": coef_bound,
        }
        task = _Rows(file, items, bounds, people, shared)
    if plan:
        _show(task.plan(), json)
        return
    assert out is not None
    check_output(out, overwrite)
    if not (quiet or json):
        note(task.plan().verdict)
    with progress("solving", quiet or json) as tick:
        answer = task.solve(tick)
    repeat = shlex.join(["fastmwem", "lp", str(file), "--private", private, "--epsilon", f"{epsilon:g}"])
    with output_directory(out, overwrite) as draft:
        write_lp(draft, answer, task.names, task.candidates, f"{repeat} --delta {delta:g} ...")
    if json:
        files = {name: str(out / name) for name in FILES}
        said = {"fun": answer.fun, "alpha": answer.alpha, "message": answer.message, "opt": answer.opt}
        print_json({"out": str(out), "files": files, **said, "privacy": answer.report.to_dict()})
        return
    note(answer.message)
    print_table(f"Written to {out}/", ("file", "what is in it"), list(FILES.items()), text=True)


class _Rhs:
    """A model file whose right-hand side is private."""

    candidates: tuple[str, ...] = ()

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

        if sensitivity is None:
            raise InvalidArgument("sensitivity is missing: pass --sensitivity with --private rhs.")
        self.program = LinearProgram.from_mps(file)
        self.names = self.program.names or tuple(f"x{j}" for j in range(self.program.dim))
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
        bounds: tuple[str | None, float | None, float | None],
        people: dict[str, Any],
        shared: dict[str, Any],
    ) -> None:
        from fastmwem.lp.tables import read_baskets, read_items, read_people

        for name, option in (("max_violated", "--max-violated"), ("n_rows_public", "--max-rows")):
            if people[name] is None:
                raise InvalidArgument(f"{option[2:]} is missing: pass {option} with --private rows.")
        rhs, low, high = bounds
        constant = _constant(rhs)
        if items is not None:
            self.names = read_items(items)
            self.rhs: Any = None
            self.read = lambda: read_baskets(file, self.names)
        else:
            if file.suffix not in (".csv", ".parquet"):
                raise InvalidArgument("items is missing: pass --items with a file of baskets.")
            rows, self.rhs, self.names = read_people(file, rhs if constant is None else None)
            self.read = lambda: rows
        if self.rhs is None:
            constant = 1.0 if constant is None else constant
            self.rhs, low, high = constant, low if low is not None else constant, high or constant
        if low is None or high is None:
            raise InvalidArgument("rhs-low and rhs-high are missing: give public bounds of the column of b.")
        self.options = {**shared, **people, "rhs_bounds": (low, high), "c": [1.0] * len(self.names)}
        self.candidates = self.names

    def plan(self) -> Any:
        from fastmwem.problems.constraint_lp import plan_constraint

        return plan_constraint(**self.options)

    def solve(self, tick: Any) -> Any:
        from fastmwem.problems.constraint_lp import solve_constraint_private

        return solve_constraint_private(self.read(), self.rhs, **self.options, progress=tick)


def _constant(rhs: str | None) -> float | None:
    try:
        return None if rhs is None else float(rhs)
    except ValueError:
        return None


def _numbers(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InvalidArgument("opt-grid must be numbers joined by commas, such as 3,4,5.") from None


def _show(plan: Any, json: bool) -> None:
    if json:
        print_json({**asdict(plan), "alpha": plan.alpha, "useful": plan.useful, "verdict": plan.verdict})
        return
    rows = [
        (name.replace("_", " "), f"{value:.6g}" if isinstance(value, float) else str(value))
        for name, value in asdict(plan).items()
    ]
    print_table("Plan", ("", ""), rows, text=True)
    print(plan.verdict)
