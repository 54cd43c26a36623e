"""constraint-private: dense multiplicative weights with the printed constants and with the corrected ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fastmwem.lab.experiment import Experiment
from fastmwem.lab.figures import axes, curve, legend, ticks
from fastmwem.lab.store import Case, Row, Rows
from fastmwem.queries.base import FloatArray

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["EXPERIMENT", "baskets", "planted"]

SCHEDULES = {
    "paper": ("#D55E00", "the paper's constants"),
    "calibrated": ("#000000", "corrected constants (ours)"),
}
PROBLEMS = ("planted", "baskets")


@dataclass(frozen=True)
class Config:
    people: int = 10_000
    sets: int = 100  # columns
    good: int = 10  # columns that together cover everybody (planted); OPT in both problems
    rounds: tuple[int, ...] = (10, 30, 100, 300, 1_000, 3_000)
    s: tuple[int, ...] = (125, 250, 500, 1_000, 2_000)
    usual_s: tuple[int, int] = (500, 2_000)  # while T varies, planted and baskets
    alpha: float = 0.3
    seeds: int = 3
    epsilon: float = 1.0
    delta: float = 1e-3


def cases(config: Config) -> list[Case]:
    """`rounds` = 0: those that the plan for corrected constants takes, for both, since s varies."""
    varied = [
        {"problem": problem, "s": s, "rounds": rounds}
        for problem, s in zip(PROBLEMS, config.usual_s, strict=True)
        for rounds in config.rounds
    ]
    varied += [{"problem": problem, "s": s, "rounds": 0} for problem in PROBLEMS for s in config.s]
    return [
        {**each, "schedule": schedule, "seed": seed}
        for each in varied
        for schedule in SCHEDULES
        for seed in range(config.seeds)
    ]


def planted(people: int, sets: int, good: int, seed: int) -> FloatArray:
    """Who is in which set: everybody in one of the good ones, in others of them by chance, in few decoys."""
    generator = np.random.default_rng([seed, 0])
    rows = generator.random((people, sets)) < 0.002
    rows[:, :good] = generator.random((people, good)) < 0.08
    rows[np.arange(people), generator.integers(0, good, people)] = True
    return rows.astype(float)


def baskets(people: int, items: int, seed: int) -> FloatArray:
    """Shopping baskets: 1 + geometric many draws, four on average, of items whose popularity is Zipf's."""
    generator = np.random.default_rng([seed, 1])
    popularity = 1.0 / np.arange(1, items + 1)
    sizes = generator.geometric(0.25, people)
    rows = np.zeros((people, items))
    rows[np.repeat(np.arange(people), sizes), _popular(generator, popularity, int(sizes.sum()))] = 1.0
    return rows


def _popular(generator: np.random.Generator, popularity: FloatArray, count: int) -> np.ndarray:
    return generator.choice(len(popularity), count, p=popularity / popularity.sum())


def measure(config: Config, case: Case) -> list[Row]:
    """How far rows fall short: the fraction by more than alpha, and the mean of the s worst (CVaR)."""
    from fastmwem import Randomness, plan_constraint, solve_constraint_private, violations

    seed = case["seed"]
    rows = (
        planted(config.people, config.sets, config.good, seed)
        if case["problem"] == "planted"
        else baskets(config.people, config.sets, seed)
    )
    public: dict[str, Any] = {
        "c": np.ones(config.sets),
        "opt": config.good,
        "sense": "covering",
        "coef_bounds": 1,
        "rhs_bounds": (1, 1),
        "max_violated": case["s"],
        "n_rows_public": config.people,
        "alpha": config.alpha,
        "epsilon": config.epsilon,
        "delta": config.delta,
    }
    ours, printed = (plan_constraint(**public, schedule=schedule) for schedule in ("calibrated", "paper"))
    answer = solve_constraint_private(
        rows,
        np.ones(config.people),
        **public,
        schedule=case["schedule"],
        rounds=case["rounds"] or ours.rounds,
        randomness=Randomness.seeded(seed),
    )

    seen, uniform = (
        violations(rows, np.ones(config.people), x, sense="covering")
        for x in (answer.x, np.full(config.sets, config.good / config.sets))
    )
    return [
        {
            "violated": seen.fraction(config.alpha),
            "worst": seen.cvar(case["s"]),
            "uniform_violated": uniform.fraction(config.alpha),
            "uniform_worst": uniform.cvar(case["s"]),
            "planned": ours.rounds,
            "printed": printed.rounds,
        }
    ]


def draw(config: Config, rows: Rows) -> Figure:
    figure, panels = axes(3, 2)
    violated = f"fraction of rows violated by > {config.alpha:g}"
    for row, problem in enumerate(PROBLEMS):
        part = rows.where(problem=problem)
        by_rounds, by_s = Rows(each for each in part if each["rounds"] > 0), part.where(rounds=0)
        s = by_rounds.values("s")[0]
        shown = (
            (by_rounds, "rounds", "violated", "rounds T", violated, f"s = {s:,}"),
            (by_s, "s", "violated", "rows s that may be violated", violated, "T of our plan for s"),
            (by_s, "s", "worst", "rows s that may be violated", "mean shortfall of the s worst", "the same"),
        )
        for panel, (some, x, y, x_label, y_label, title) in zip(panels[3 * row :], shown, strict=False):
            for name, (colour, label) in SCHEDULES.items():
                dots = {"marker": "o", "markersize": 4}
                curve(panel, some.where(schedule=name), x, y, color=colour, label=label, **dots)
            uniform: dict[str, Any] = {
                "color": "#56B4E9",
                "linestyle": "--",
                "label": "uniform x, without data",
            }
            curve(panel, some, x, f"uniform_{y}", **uniform)
            ticks(panel, sorted(some.values(x)))
            panel.set(ylim=(-0.03, 1.03), xlabel=x_label, ylabel=y_label)
            panel.set_title(f"{problem}, {title}", fontsize=10)
        panels[3 * row].axvline(part.where(s=s).values("planned")[0], color="#555555", linewidth=0.8)
    legend(figure)
    return figure


def finding(config: Config, rows: Rows) -> str:
    parts = []
    for problem, s in zip(PROBLEMS, config.usual_s, strict=True):
        some = rows.where(problem=problem, s=s, rounds=0)
        ours, paper = (some.where(schedule=name) for name in ("calibrated", "paper"))
        parts.append(
            f"{problem}, s = {s:,}, T = {some.values('planned')[0]:,}: {ours.mean('violated'):.3f} and "
            f"{ours.mean('worst'):.3f} with corrected constants, {paper.mean('violated'):.3f} and "
            f"{paper.mean('worst'):.3f} with the printed ones, {some.mean('uniform_violated'):.3f} and "
            f"{some.mean('uniform_worst'):.3f} for the uniform x"
        )
    return (
        f"The fraction of rows violated by more than {config.alpha:g}, and the mean shortfall of the s "
        f"worst: {'; '.join(parts)}. The printed T would be {rows.values('printed')[0]:,} rounds."
    )


def caption(config: Config) -> str:
    return (
        f"{config.people:,} people, {config.sets} columns, OPT = {config.good}, rows A_i x >= 1. Planted: "
        f"{config.good} sets cover everybody. Baskets: Zipf's popularity, four items on average. "
        f"epsilon = {config.epsilon:g}, delta = {config.delta:g}; vertical line: T of our plan, used "
        f"for both on the right; {config.seeds} seeds, bands of one deviation."
    )


EXPERIMENT = Experiment(
    name="constraint-private",
    title="Covering programs whose rows are people",
    paper="",
    why=(
        "The printed sensitivity 3 OPT/(c_min s) is three times what a row can move a score by here, eps0 is "
        "loose, and the printed step is made for the printed T, which the budget cannot carry."
    ),
    configs={
        "tiny": Config(
            people=500, sets=20, good=4, rounds=(10, 100), s=(50, 100), usual_s=(50, 100), seeds=2
        ),
        "paper": Config(),
    },
    cases=cases,
    measure=measure,
    draw=draw,
    finding=finding,
    caption=caption,
)
