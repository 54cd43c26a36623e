"""Measure what is missing, then draw figures and write the page from what is stored."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fastmwem.errors import check_choice
from fastmwem.lab import EXPERIMENTS, experiment
from fastmwem.lab.experiment import Experiment
from fastmwem.lab.figures import save
from fastmwem.lab.store import Store

__all__ = ["SIZES", "reproduce"]

SIZES = ("tiny", "paper")


def reproduce(
    name: str, size: str, out: Path, progress: Callable[[int, int], None] | None = None
) -> list[Path]:
    """Run experiment `name` (or "all") at `size` into `out`; returns the files that were written.

    Cases whose results are in `out` already are not measured again. `progress` gets (cases done, cases).
    """
    check_choice("name", name, ("all", *EXPERIMENTS))
    check_choice("size", size, SIZES)
    store = Store(out, size)
    wanted = [experiment(each) for each in (EXPERIMENTS if name == "all" else (name,))]
    todo = [(each, case) for each in wanted for case in each.cases(each.configs[size])]
    for done, (each, case) in enumerate(todo):
        config = each.configs[size]
        if not store.has(each.key, config, case):
            store.write(each.key, config, case, each.measure(config, case))
        if progress is not None:
            progress(done + 1, len(todo))
    figures = [draw(each, store, size) for each in wanted]
    return [*figures, write_page(store, size)]


def draw(each: Experiment, store: Store, size: str) -> Path:
    """The figure of one experiment, from the store alone."""
    config = each.configs[size]
    path = store.root / f"{each.name}.svg"
    save(each.draw(config, store.read(each.key, config, each.cases(config))), path)
    return path


def write_page(store: Store, size: str) -> Path:
    """`reproduction.md`, of all experiments that are complete in the store."""
    path = store.root / "reproduction.md"
    path.write_text(page(store, size), encoding="utf-8")
    return path


def page(store: Store, size: str) -> str:
    """The page's text: a table of what the paper says and what was measured, then every figure."""
    complete = [each for each in map(experiment, EXPERIMENTS) if _complete(each, store, size)]
    lines = [
        "# The paper, reproduced",
        "",
        f"Made by `fastmwem reproduce all --size {size}`; every number below is computed from the Parquet",
        "files of that run.",
        "",
        "| experiment | the paper says | we measured | why they differ |",
        "|---|---|---|---|",
    ]
    findings = {}
    for each in complete:
        config = each.configs[size]
        findings[each.name] = each.finding(config, store.read(each.key, config, each.cases(config)))
        cells = (
            f"[{each.name}](#{each.name.lower()})",
            each.paper or "(not shown)",
            findings[each.name],
            each.why,
        )
        lines.append(f"| {' | '.join(cells)} |")
    for each in complete:
        lines += [
            "",
            f"## {each.name}",
            "",
            f"**{each.title}.** {findings[each.name]}",
            "",
            f"![{each.title}]({each.name}.svg)",
            "",
            f"*{each.caption(each.configs[size])}*",
        ]
    return "\n".join([*lines, ""])


def _complete(each: Experiment, store: Store, size: str) -> bool:
    config = each.configs[size]
    return all(store.has(each.key, config, case) for case in each.cases(config))
