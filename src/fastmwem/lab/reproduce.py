"""Measure what is missing, then draw figures and write the page from what is recorded."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from fastmwem.errors import check_choice
from fastmwem.lab import EXPERIMENTS, find
from fastmwem.lab.experiment import Experiment
from fastmwem.lab.figures import save
from fastmwem.lab.store import Record, Rows, Store

__all__ = ["SIZES", "page", "recorded", "reproduce"]

SIZES = ("tiny", "paper")
PAGE, SHOWN = "reproduction.md", "reproduction"  # the page, and the folder of its figures and records


def reproduce(
    name: str, size: str, out: Path, progress: Callable[[int, int], None] | None = None
) -> list[Path]:
    """Run experiment `name` (or "all") at `size` into `out`; returns the files that were written.

    Cases whose results are in `out` already are not measured again. `progress` gets (cases done, cases).
    """
    check_choice("name", name, ("all", *EXPERIMENTS))
    check_choice("size", size, SIZES)
    store, folder = Store(out / size / "cases"), out / size / SHOWN
    wanted = [find(each) for each in (EXPERIMENTS if name == "all" else (name,))]
    todo = [(each, case) for each in wanted for case in each.cases(each.configs[size])]
    for done, (each, case) in enumerate(todo):
        config = each.configs[size]
        if not store.has(each.key, config, case):
            start = time.process_time()
            rows = each.measure(config, case)
            store.write(each.key, config, case, rows, time.process_time() - start)
        if progress is not None:
            progress(done + 1, len(todo))
    for key in dict.fromkeys(each.key for each in wanted):
        source = find(key)
        config = source.configs[size]
        store.gather(key, config, source.cases(config), folder / f"{key}.parquet")
    written = [draw(each, folder, size) for each in wanted]
    path = folder.parent / PAGE
    path.write_text(page(folder, size), encoding="utf-8")
    return [*written, path]


def recorded(each: Experiment, folder: Path, size: str) -> Rows | None:
    """What the record in `folder` holds of an experiment; None unless it holds all of it."""
    config = each.configs[size]
    cases = each.cases(config)
    record = Record.read(folder / f"{each.key}.parquet")
    return record.rows.among(cases) if record.holds(each.key, config, cases) else None


def draw(each: Experiment, folder: Path, size: str) -> Path:
    """The figure of one experiment, from its record alone."""
    rows = recorded(each, folder, size)
    assert rows is not None, f"{each.name} was measured"
    path = folder / f"{each.name}.svg"
    save(each.draw(each.configs[size], rows), path)
    return path


def page(folder: Path, size: str) -> str:
    """The page's text: a table of what the paper says and what was measured, then every figure."""
    found = [(each, recorded(each, folder, size)) for each in map(find, EXPERIMENTS)]
    shown = [
        (each, each.configs[size], each.finding(each.configs[size], rows))
        for each, rows in found
        if rows is not None
    ]
    lines = [
        "# The paper, reproduced",
        "",
        *_how([each for each, _, _ in shown], folder, size),
        "",
        "| experiment | the paper says | we measured | why they differ |",
        "|---|---|---|---|",
    ]
    for each, _, finding in shown:
        cells = (f"[{each.name}](#{each.name.lower()})", each.paper or "(not shown)", finding, each.why)
        lines.append(f"| {' | '.join(cells)} |")
    for each, config, finding in shown:
        lines += [
            "",
            f"## {each.name}",
            "",
            f"**{each.title}.** {finding}",
            "",
            f"![{each.title}]({SHOWN}/{each.name}.svg)",
            "",
            f"*{each.caption(config)}*",
        ]
    return "\n".join([*lines, ""])


def _how(shown: list[Experiment], folder: Path, size: str) -> list[str]:
    """How the page came to be, what it took, and on what."""
    made = [Record.read(folder / f"{key}.parquet") for key in dict.fromkeys(each.key for each in shown)]
    if not made:
        return ["Nothing has been measured yet."]
    minutes = sum(record.seconds for record in made) / 60
    on = ", ".join(f"{name} {made[-1].made[name]}" for name in ("Python", "numpy", "numba", "faiss-cpu"))
    return [
        f"Made by `fastmwem reproduce all --size {size}`. Every number that was measured is computed",
        "from the Parquet files of that run, which lie beside the figures.",
        f"It took {minutes:,.0f} minutes of one core of a machine with {made[-1].made['cores']} ({on}).",
        "Data are made up and seeds fixed, so nothing here is private.",
    ]
